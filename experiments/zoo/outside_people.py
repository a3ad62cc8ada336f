"""People on whom intervals failed after the zoo was written; `outside` names what was asked of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Columns = dict[str, NDArray[Any]]
Draw = Callable[[np.random.Generator, int], Columns]


def far(share: float) -> Draw:
    """Nearly everybody has 0, this share 3."""
    return lambda rng, n: {"value": 3 * (rng.random(n) < share)}


def scores(positives: float, low: float, high: float) -> Draw:
    """Two normal classes around these scores, this share of the people in the second."""

    def draw(rng: np.random.Generator, n: int) -> Columns:
        label = (rng.permutation(n) < round(positives * n)).astype(int)
        return {"score": np.clip(rng.normal(low + (high - low) * label, 1.0), 0, None), "label": label}

    return draw


def lowest(rng: np.random.Generator, n: int) -> Columns:
    """Five positives at the lowest score."""
    label = (rng.permutation(n) < 5 * n // 1000).astype(int)
    return {"score": np.where(label == 1, 0.0, rng.random(n)), "label": label}


def two_leaves(rng: np.random.Generator, n: int) -> Columns:
    """Normal numbers, which two of eight bins hold."""
    return {"value": np.clip(rng.normal(0.3, 0.05, n), 0, 1)}


def lognormal(rng: np.random.Generator, n: int) -> Columns:
    """Scores whose logarithms are normal with deviation 3, two thirds of it apart."""
    label = rng.integers(0, 2, n)
    return {"score": np.minimum(np.exp(rng.normal(2 * label, 3.0)), 1e6), "label": label}


def two_values(rng: np.random.Generator, n: int) -> Columns:
    """A column of 0 and 1, and a normal one that depends on it."""
    x = rng.integers(0, 2, n) * 1.0
    return {"x": x, "y": np.clip(rng.normal(2 * x, 1.0), -4, 6)}


def heavy(rng: np.random.Generator, n: int) -> Columns:
    """Half have 0, the others a Pareto tail of index 1.2, up to the domain's end."""
    return {"value": np.where(rng.random(n) < 0.5, 0.0, np.minimum((1 - rng.random(n)) ** (-1 / 1.2), 988.0))}


def apart(share: float, place: float, others: Callable[[np.random.Generator, int], NDArray[Any]]) -> Draw:
    """A few people have one value far away from the others."""

    def draw(rng: np.random.Generator, n: int) -> Columns:
        return {"value": np.where(rng.random(n) < share, place, others(rng, n))}

    return draw


def rooms(rng: np.random.Generator, n: int) -> NDArray[Any]:
    """Normal numbers around 200."""
    return rng.normal(200, 25, n)


def often_nothing(rng: np.random.Generator, n: int) -> NDArray[Any]:
    """Three in five have 0, the others between 5 and 40."""
    return np.where(rng.random(n) < 0.6, 0.0, rng.uniform(5, 40, n))


def ones(rng: np.random.Generator, n: int) -> NDArray[Any]:
    """Everybody has 1."""
    return np.ones(n)


def debts(rng: np.random.Generator, n: int) -> Columns:
    """What three in ten owe and the others have, with lognormal tails that the domain cuts off."""
    owed, had = 8e3 * np.exp(1.2 * rng.standard_normal(n)), 2e4 * np.exp(1.5 * rng.standard_normal(n))
    owes = rng.random(n) < 0.3
    return {"value": np.where(owes, -np.minimum(owed, 2e5), np.minimum(had, 1e6))}


def waits(rng: np.random.Generator, n: int) -> NDArray[Any]:
    """Whole numbers with a geometric tail, 50 on average."""
    return np.floor(rng.exponential(50, n))


def few_ones(rng: np.random.Generator, n: int) -> Columns:
    """A column of which 3.6% are 1 and the others 0, and a skewed one that depends on it a little."""
    x, other = rng.standard_normal((2, n))
    return {"x": (x > 1.8) * 1.0, "y": np.minimum(np.exp(0.3 * x + math.sqrt(0.91) * other), 30.0)}


def half_zeros(rng: np.random.Generator, n: int) -> Columns:
    """Those who are low in the other column have 0, the others a lognormal number."""
    x, other = rng.standard_normal((2, n))
    y = np.clip(0.6 * x + 0.8 * other, -4, 4)
    return {"x": np.where(x < 0, 0.0, np.minimum(np.exp(x - 0.7), 1000.0)), "y": y}


def zeros_by_chance(rng: np.random.Generator, n: int) -> Columns:
    """Half have 0, whoever they are, the others a lognormal number that depends on the other column."""
    x, other = rng.standard_normal((2, n))
    y = np.clip(0.7 * x + math.sqrt(0.51) * other, -4, 4)
    return {"x": np.where(rng.random(n) < 0.5, 0.0, np.minimum(np.exp(x), 100.0)), "y": y}


def beside(rng: np.random.Generator, n: int) -> Columns:
    """Two values beside each other that many people share, and a tail; all depend on the other column."""
    x, other = rng.standard_normal((2, n))
    values = np.where(x < -0.5, 3.0, np.where(x < 0.5, 3.05, 3.1 + np.minimum(x**2, 6)))
    return {"x": values, "y": np.clip(0.6 * x + 0.8 * other, -4, 4)}


def few_counts(rng: np.random.Generator, n: int) -> Columns:
    """Counts, of which nearly all are 0 to 3, where up to 1,000 are possible."""
    x, other = rng.standard_normal((2, n))
    counts = np.clip(np.round(np.exp(0.8 * x)), 0, 1000).astype(int)
    return {"x": counts, "y": np.clip(0.6 * x + 0.8 * other, -4, 4)}


def two_clusters(rng: np.random.Generator, n: int) -> Columns:
    """Two clusters, within which the columns fall together while the clusters rise (Simpson)."""
    side, x, other = rng.integers(0, 2, n) * 2 - 1, *rng.standard_normal((2, n))
    return {"x": np.clip(3 * side + x, -8, 8), "y": np.clip(3 * side - 0.9 * x + 0.44 * other, -8, 8)}


def two_scores(rng: np.random.Generator, n: int) -> Columns:
    """All but one in a hundred have one of two scores."""
    label = rng.integers(0, 2, n)
    rest = np.clip(rng.normal(2.0 + label, 1.0), 0, 10)
    return {"score": np.where(rng.random(n) < 0.99, rng.choice([2.0, 2.01], n), rest), "label": label}


def halfway(rng: np.random.Generator, n: int) -> Columns:
    """Everybody halfway between two points of random rounding."""
    return {"value": np.full(n, 100 / 14)}


def four_scores(rng: np.random.Generator, n: int) -> Columns:
    """Nine in ten people have one of four scores, of which two lie in one leaf of a domain too wide."""
    label = rng.integers(0, 2, n)
    first = rng.choice([1.0, 2.0, 2.5, 7.0], n, p=[0.4, 0.3, 0.2, 0.1])
    second = rng.choice([1.0, 2.0, 2.5, 7.0], n, p=[0.1, 0.2, 0.3, 0.4])
    rest = np.clip(rng.normal(3.0 + label, 2.0), 0, 10)
    return {"score": np.where(rng.random(n) < 0.9, np.where(label, second, first), rest), "label": label}


def five_scores(rng: np.random.Generator, n: int) -> Columns:
    """Scores from 1 to 5."""
    label = rng.integers(0, 2, n)
    first, second = (rng.choice(5, n, p=p) for p in ([0.3, 0.3, 0.2, 0.1, 0.1], [0.05, 0.1, 0.2, 0.3, 0.35]))
    return {"score": 1.0 + np.where(label, second, first), "label": label}


def tied_negatives(rng: np.random.Generator, n: int) -> Columns:
    """All negatives and three in five positives have one score, the others a little more."""
    label = rng.integers(0, 2, n)
    tied = (label == 0) | (rng.random(n) < 0.6)
    return {"score": np.where(tied, 2.0, 2.0 + rng.exponential(0.3, n)), "label": label}


def two_far_values(rng: np.random.Generator, n: int) -> Columns:
    """Nine in ten have one value, the others one far from it."""
    return {"value": np.where(rng.random(n) < 0.9, 1013.0, 1071.0)}


def at_both_ends(rng: np.random.Generator, n: int) -> Columns:
    """Most people lie near an end."""
    return {"value": rng.beta(0.2, 0.3, n)}


def visits(rng: np.random.Generator, n: int) -> Columns:
    """Small whole numbers, two on average."""
    return {"value": np.minimum(rng.poisson(2.0, n), 31)}


def days_ill(rng: np.random.Generator, n: int) -> Columns:
    """Small whole numbers, a few more for the two in a hundred who were hurt."""
    label = (rng.random(n) < 0.02).astype(int)
    return {"score": np.minimum(rng.poisson(2.0 + 3.0 * label), 31), "label": label}


def times_at_bat(rng: np.random.Generator, n: int) -> Columns:
    """Whole numbers up to 700, of which small ones are frequent and no other one is."""
    return {"value": np.floor(700 * rng.random(n) ** 3).astype(int)}


def few_of_many(values: int) -> Draw:
    """So many values, equally frequent, anywhere among a million."""
    places = np.random.default_rng(5).integers(0, 10**6, values)
    return lambda rng, n: {"value": places[rng.integers(0, values, n)]}


def powers(rng: np.random.Generator, n: int) -> Columns:
    """Half has 1, a quarter 2, an eighth 4, and so on: what few people have decides."""
    return {"value": 2.0 ** np.minimum(rng.geometric(0.5, n) - 1, 23)}


def classes(share: float, of: float, others: float) -> Draw:
    """A share of positives, and whole numbers of these means, or 3 for everybody."""

    def draw(rng: np.random.Generator, n: int) -> Columns:
        label = (np.arange(n) < round(share * n)).astype(int)
        score = np.minimum(rng.poisson(np.where(label == 1, of, others)), 20) if of else np.full(n, 3)
        return {"score": score, "label": label}

    return draw


def sawtooth(teeth: int) -> Draw:
    """The second column rises with the first, and falls back so many times less one."""

    def draw(rng: np.random.Generator, n: int) -> Columns:
        x = rng.random(n)
        return {"x": x, "y": (teeth * x) % 1}

    return draw


def bands(rng: np.random.Generator, n: int) -> Columns:
    """Incomes by bands, most of them low."""
    shares = np.array([30, 25, 18, 12, 8, 4, 2, 1]) / 100
    return {"value": rng.choice([0, 10, 20, 50, 100, 200, 500, 1000], n, p=shares)}


def successes(rng: np.random.Generator, n: int) -> Columns:
    """Of three attempts, each with a chance of 0.3."""
    return {"value": rng.binomial(3, 0.3, n)}


def frequent(shares: NDArray[np.float64]) -> Draw:
    """Categories with these shares."""
    return lambda rng, n: {"value": rng.choice(shares.size, n, p=shares / shares.sum())}


def stays(rng: np.random.Generator, n: int) -> Columns:
    """Days in hospital, 1 to 14, and medicines, of which 100 are possible and few people take 40."""
    days = np.minimum(1 + rng.geometric(0.25, n), 14)
    medicines = rng.poisson(6 + 2.2 * days * rng.gamma(4, 0.25, n))
    return {"x": days, "y": np.minimum(medicines, 100)}


def schooling(rng: np.random.Generator, n: int) -> Columns:
    """Years of it, nine values, and pay by the hour, seven times below what is possible."""
    years = np.array([9, 10, 11, 12, 13, 14, 16, 18, 20])
    x = rng.choice(years, n, p=[0.03, 0.03, 0.04, 0.32, 0.19, 0.1, 0.19, 0.07, 0.03])
    return {"x": x, "y": np.clip(rng.lognormal(2.75 + 0.15 * (x - 13.6), 0.5), 2, 72)}


def grades(rng: np.random.Generator, n: int) -> Columns:
    """Eight grades, and pay of which nobody has a hundredth of what is possible."""
    first, second = rng.standard_normal((2, n))
    pay = 20 * np.exp(0.6 * (0.5 * first + 0.75**0.5 * second))
    return {"x": np.clip(np.rint(1.5 * first + 3), 0, 7).astype(int), "y": pay}


def middle(deviation: float, strength: float) -> Draw:
    """Whole numbers that nearly all lie near the middle of 0 to 1,000, and others of 0 to 50 with them."""

    def draw(rng: np.random.Generator, n: int) -> Columns:
        first, second = rng.standard_normal((2, n))
        both = strength * first + (1 - strength**2) ** 0.5 * second
        x, y = np.rint(503 + deviation * first), np.rint(25 + 8 * both)
        return {"x": np.clip(x, 0, 1000).astype(int), "y": np.clip(y, 0, 50).astype(int)}

    return draw


def squares(rng: np.random.Generator, n: int) -> Columns:
    """A column near 0 for most people, and its square."""
    x = np.minimum(rng.gamma(0.3, 1.0, n), 50.0)
    return {"x": x, "y": x**2}
