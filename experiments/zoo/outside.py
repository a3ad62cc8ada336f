"""Populations that broke intervals after the zoo was written, by somebody who tried others: zoo-outside.csv.

    python -m experiments.zoo.outside               all of them, 200 runs each
    python -m experiments.zoo.outside --runs 20     fewer, shown and not kept

Each run has fresh people and fresh noise, by `projection` where no other protocol is named. Of incomes that
are all 0 there is no true value: nothing but the whole range covers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs
from dpairs.data.domains import Domain, Integers, Interval, Levels

from ..exhibits import RESULTS
from .kept_rows import command

STORE = RESULTS / "zoo-outside.csv"
RUNS, MANY = 200, 400_000
"""Runs of a row, and people of whom the population's value is taken."""
Columns = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Case:
    """People, what is asked of them, and why that was hard."""

    name: str
    statistic: str
    domain: Domain | tuple[Domain, ...]
    epsilon: float
    n: int
    draw: Callable[[np.random.Generator, int], Columns]
    options: Mapping[str, Any] = field(default_factory=dict)

    def study(self, seed: int) -> dpairs.Study:
        given: dict[str, Any] = {"epsilon": self.epsilon, "domain": self.domain, "n": self.n}
        return dpairs.Study.create(
            self.statistic, seed=seed, **{"protocol": "projection", **given, **self.options}
        )

    def exact(self, people: Columns) -> float:
        asked = {name: value for name, value in self.options.items() if name in ("labels", "variant")}
        try:
            return dpairs.exact(self.statistic, people, **asked)
        except dpairs.NotEnoughData:
            return math.nan


@dataclass(frozen=True)
class Outside:
    """Of all runs of a row; widths are halves of intervals."""

    population: str
    statistic: str
    epsilon: float
    n: int
    runs: int
    refused: int
    truth: float
    error: float
    width: float
    covered: float
    covered_sample: float


def far(share: float) -> Callable[[np.random.Generator, int], Columns]:
    """Nearly everybody has 0, this share 3."""
    return lambda rng, n: {"value": 3 * (rng.random(n) < share)}


def scores(positives: float, low: float, high: float) -> Callable[[np.random.Generator, int], Columns]:
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


LISTED, UNIT, TWO = Levels([0, 1, 2, 3]), Interval(0, 1), Levels([0.0, 1.0])
WIDE, NORMAL, EIGHT = Interval(0, 1_000), Interval(-4, 4), Interval(-8, 8)
CHANCE = (Interval(0, 100), NORMAL)
PRIVATE = {"labels": "private"}
ROUNDED = {"protocol": "histogram", "rounding": "random", "bins": 8}
CASES = (
    Case("3 for 1 in 1,000", "variance", LISTED, 8.0, 20_000, far(0.001)),
    Case("3 for 1 in 1,000", "variance", LISTED, 8.0, 2_000, far(0.001)),
    Case("bins=8", "gini_mean_difference", UNIT, 4.0, 5_000, two_leaves, {"bins": 8}),
    Case("1,000 times too wide", "auc", Interval(0, 10_000), 4.0, 5_000, scores(0.5, 3, 5)),
    Case("20,000 times too wide", "auc", Interval(0, 200_000), 4.0, 5_000, scores(0.5, 3, 5)),
    Case("100,000 times too wide", "auc", Interval(0, 1_000_000), 4.0, 5_000, scores(0.5, 3, 5)),
    Case("100,000 times too wide", "auc", Interval(0, 1_000_000), 1.0, 20_000, scores(0.5, 3, 5)),
    Case("20,000 times too wide", "auc", Interval(0, 200_000), 4.0, 5_000, scores(0.5, 3, 5), PRIVATE),
    Case("100,000 times too wide", "auc", Interval(0, 1_000_000), 4.0, 5_000, scores(0.5, 3, 5), PRIVATE),
    Case("narrow classes", "auc", Interval(0, 5_000), 0.5, 2_000, scores(0.5, 1_000, 1_003)),
    Case("lognormal scores", "auc", Interval(0, 1e6), 4.0, 20_000, lognormal),
    Case("lognormal scores", "auc", Interval(0, 1e6), 4.0, 20_000, lognormal, PRIVATE),
    Case("0 and 1", "kendall_tau", (UNIT, Interval(-4, 6)), 4.0, 20_000, two_values, {"variant": "b"}),
    Case("0 and 1", "kendall_tau", (UNIT, Interval(-4, 6)), 4.0, 20_000, two_values, {"variant": "a"}),
    Case("0 and 1, listed", "kendall_tau", (TWO, Interval(-4, 6)), 4.0, 20_000, two_values, {"variant": "b"}),
    Case("few ones", "kendall_tau", (UNIT, Interval(0, 30)), 4.0, 2_000, few_ones, {"variant": "b"}),
    Case("half 0, too wide", "kendall_tau", (WIDE, NORMAL), 4.0, 2_000, half_zeros, {"variant": "a"}),
    Case("half 0, too wide", "kendall_tau", (WIDE, NORMAL), 4.0, 20_000, half_zeros, {"variant": "a"}),
    Case("half 0, too wide", "kendall_tau", (WIDE, NORMAL), 1.0, 20_000, half_zeros, {"variant": "a"}),
    Case("0 by chance", "kendall_tau", CHANCE, 4.0, 20_000, zeros_by_chance, {"variant": "a"}),
    Case("0 by chance", "kendall_tau", CHANCE, 4.0, 20_000, zeros_by_chance, {"variant": "b"}),
    Case("beside", "kendall_tau", (Interval(0, 10), NORMAL), 4.0, 20_000, beside, {"variant": "a"}),
    Case(
        "few counts", "kendall_tau", (Integers(0, 1_000), NORMAL), 8.0, 20_000, few_counts, {"variant": "a"}
    ),
    Case("two clusters", "kendall_tau", (EIGHT, EIGHT), 4.0, 20_000, two_clusters, {"variant": "b"}),
    Case("half 0, Pareto 1.2", "variance", Interval(0, 988), 8.0, 20_000, heavy),
    Case("half 0, Pareto 1.2", "variance", Interval(0, 988), 4.0, 20_000, heavy),
    Case("two scores", "auc", Interval(0, 10), 1.0, 20_000, two_scores, PRIVATE),
    Case("halfway, rounded", "gini_coefficient", Interval(0, 100), 1.0, 20_000, halfway, ROUNDED),
    Case("halfway, rounded", "gini_mean_difference", Interval(0, 100), 0.5, 500, halfway, ROUNDED),
    Case(
        "two far values, 64 bins",
        "gini_mean_difference",
        Interval(1_000, 1_100),
        1.0,
        2_000,
        two_far_values,
        {**ROUNDED, "bins": 64},
    ),
    Case(
        "at both ends, 16 bins",
        "gini_mean_difference",
        UNIT,
        1.0,
        2_000,
        at_both_ends,
        {**ROUNDED, "bins": 16},
    ),
    Case("four scores, too wide", "auc", Interval(0, 100_000), 8.0, 20_000, four_scores),
    Case("four scores, too wide", "auc", Interval(0, 100_000), 8.0, 20_000, four_scores, PRIVATE),
    Case("five scores, too wide", "auc", Interval(0, 5_000_000), 1.0, 10_000, five_scores, PRIVATE),
    Case("tied negatives", "auc", Interval(0, 100), 1.0, 10_000, tied_negatives, PRIVATE),
    Case("a class of five", "auc", UNIT, 1.0, 1_000, lowest),
    Case("a class of fifty", "auc", UNIT, 1.0, 10_000, lowest),
    Case("all have 0", "gini_coefficient", Interval(0, 100_000), 1.0, 20_000, far(0.0)),
    Case("all have 0", "gini_coefficient", Interval(0, 100_000), 8.0, 20_000, far(0.0)),
)


def measured(case: Case, runs: int) -> Outside:
    truth = case.exact(case.draw(np.random.default_rng(0), MANY))
    rows, refused = [], 0
    for run in range(runs):
        people = case.draw(np.random.default_rng(1 + run), case.n)
        try:
            estimate = dpairs.simulate(case.study(run), people, seed=run)
        except (dpairs.NotEstimable, dpairs.NotEnoughData):
            refused += 1
            continue
        own = case.exact(people)
        ends = [estimate.confidence_interval(0.95, of) for of in ("population", "sample")]
        holds = [
            high - low == 1 if math.isnan(true) else low <= true <= high
            for (low, high), true in zip(ends, (truth, own), strict=True)
        ]
        rows.append((estimate.value - truth, (ends[0][1] - ends[0][0]) / 2, *holds))
    off, widths, covered, covered_sample = np.array(rows, dtype=float).T
    kinds = [f":{case.options[name]}" for name in ("labels", "variant") if name in case.options]
    return Outside(
        case.name,
        "".join((case.statistic, *kinds)),
        case.epsilon,
        case.n,
        runs,
        refused,
        truth,
        float(np.sqrt((off**2).mean())),
        float(np.median(widths)),
        float(covered.mean()),
        float(covered_sample.mean()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    def rows(runs: int) -> Iterator[Outside]:
        return (measured(case, runs) for case in CASES)

    return command("outside", "Populations that broke intervals.", rows, RUNS, STORE, arguments)


if __name__ == "__main__":
    sys.exit(main())
