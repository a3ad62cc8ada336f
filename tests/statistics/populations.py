"""Populations whose statistics are known exactly, to sample people from: on few cells, and continuous."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import stats

import dpairs


@dataclass(frozen=True)
class Population:
    """A statistic, how to draw n people, and the statistic's value in the population."""

    name: str
    statistic: Any
    domain: Any
    draw: Callable[[np.random.Generator, int], dict[str, np.ndarray]]
    truth: float
    options: Mapping[str, Any] = field(default_factory=dict)

    def study(self, epsilon: float, **more: Any) -> dpairs.Study:
        return dpairs.Study.create(
            self.statistic, epsilon=epsilon, domain=self.domain, seed=1, **self.options, **more
        )


def _geometric(k: int, ratio: float) -> np.ndarray:
    weights = ratio ** np.arange(k)
    return weights / weights.sum()


def _one(name: str, statistic: Any, k: int, weights: np.ndarray, truth: float, **options: Any) -> Population:
    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        return {"value": rng.choice(k, n, p=weights)}

    return Population(name, statistic, dpairs.Levels(range(k)), draw, truth, options)


def _auc(labels: str, ties: str = "half") -> Population:
    k, share = 16, 0.4
    low, high = _geometric(k, 0.9), _geometric(k, 0.9)[::-1].copy()
    below = np.concatenate(([0.0], np.cumsum(low)[:-1]))
    truth = float(high @ (below + (low / 2 if ties == "half" else 0)))
    if labels == "private":
        k = 8
        low, high = low.reshape(8, 2).sum(1), high.reshape(8, 2).sum(1)
        below = np.concatenate(([0.0], np.cumsum(low)[:-1]))
        truth = float(high @ (below + low / 2))

    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        label = (rng.random(n) < share).astype(int)
        score = np.where(label == 1, rng.choice(k, n, p=high), rng.choice(k, n, p=low))
        return {"score": score, "label": label}

    domain = dpairs.Levels(range(k))
    return Population(f"auc-{labels}-{ties}", "auc", domain, draw, truth, {"labels": labels, "ties": ties})


def _kendall(variant: str, cells: np.ndarray, name: str) -> Population:
    k = len(cells)
    sign = np.sign(np.arange(k)[:, None] - np.arange(k)[None, :])
    flat = cells.reshape(-1)
    truth = float(flat @ np.kron(sign, sign) @ flat)
    if variant == "b":
        truth /= np.sqrt((1 - (cells.sum(1) ** 2).sum()) * (1 - (cells.sum(0) ** 2).sum()))

    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        x, y = np.divmod(rng.choice(k * k, n, p=flat), k)
        return {"x": x, "y": y}

    levels = dpairs.Levels(range(k))
    return Population(name, "kendall_tau", (levels, levels), draw, truth, {"variant": variant})


def _linked(k: int = 4) -> np.ndarray:
    index = np.arange(k)
    cells = np.exp(-np.abs(index[:, None] - index[None, :]))
    return cells / cells.sum()


def _gini(k: int) -> tuple[np.ndarray, float, float]:
    weights = _geometric(k, 0.8)
    index = np.arange(k)
    return weights, float(weights @ np.abs(index[:, None] - index[None, :]) @ weights), float(weights @ index)


def _signs() -> Population:
    """sign(x) sign(y) sign(x') sign(y') for independent fair x, y: its first-order term vanishes."""
    levels = dpairs.Levels([-2, -1, 1, 2])
    kernel = dpairs.Kernel(
        lambda a, b: np.sign(a[0]) * np.sign(a[1]) * np.sign(b[0]) * np.sign(b[1]),
        range=(-1, 1),
        domain=(levels, levels),
    )

    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        return {"x": rng.choice([-2, -1, 1, 2], n), "y": rng.choice([-2, -1, 1, 2], n)}

    return Population("degenerate-signs", kernel, (levels, levels), draw, 0.0)


def populations() -> dict[str, Population]:
    """All of them, by name."""
    weights, difference, mean = _gini(12)
    skewed, flat = _geometric(10, 0.7), np.full(10, 0.1)
    index = np.arange(12)
    spread = float(weights @ index**2 - (weights @ index) ** 2)
    listed = [
        _auc("public"),
        _auc("public", "zero"),
        _auc("private"),
        _kendall("a", _linked(), "tau-a"),
        _kendall("b", _linked(), "tau-b"),
        _kendall("a", np.full((4, 4), 1 / 16), "tau-a-independent"),
        _one("gini-mean-difference", "gini_mean_difference", 12, weights, difference),
        _one("gini-coefficient", "gini_coefficient", 12, weights, difference / (2 * mean)),
        _one("variance", "variance", 12, weights, spread),
        _one("entropy", "collision_entropy", 10, skewed, float(-np.log((skewed**2).sum()))),
        # At the uniform distribution every value is equally likely to be met: zeta_1 = 0.
        _one("degenerate-entropy", "collision_entropy", 10, flat, float(np.log(10))),
        _signs(),
    ]
    return {population.name: population for population in listed}


# ---------------------------------------------------------------- for the projection protocol


def clipped_normals_auc() -> float:
    """P(X > Y) + P(X = Y) / 2 for normals around 0.6 and 0.4, clipped to [0, 1]: ties only at the ends."""
    first, second = stats.norm(0.6, 0.15), stats.norm(0.4, 0.15)
    grid = np.linspace(0, 1, 200_001)
    middle = (grid[1:] + grid[:-1]) / 2
    inside = float(np.diff(first.cdf(grid)) @ second.cdf(middle))
    return inside + first.sf(1) * (1 - second.sf(1) / 2) + first.cdf(0) * second.cdf(0) / 2


def _normals(labels: str) -> Population:
    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        label = (rng.random(n) < 0.5).astype(int)
        return {"score": np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1), "label": label}

    truth, options = clipped_normals_auc(), {"labels": labels}
    return Population(f"normals-{labels}", "auc", dpairs.Interval(0, 1), draw, truth, options)


def _bivariate_normal(correlation: float = 0.5) -> Population:
    """Its tau is 2/pi asin(correlation); values are clipped where one in 16,000 lies."""

    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        x, other = rng.normal(size=(2, n))
        y = correlation * x + np.sqrt(1 - correlation**2) * other
        return {"x": np.clip(x, -4, 4), "y": np.clip(y, -4, 4)}

    ends = dpairs.Interval(-4, 4)
    truth = float(2 / np.pi * np.arcsin(correlation))
    return Population("tau-a-normal", "kendall_tau", (ends, ends), draw, truth, {"variant": "a"})


def _lognormal() -> Population:
    """Incomes: e^(0.7 Z) up to 10, in tenths; the mean difference is twice the integral of F (1 - F)."""
    grid = np.linspace(0, 10, 200_001)
    below = stats.lognorm(0.7).cdf((grid[1:] + grid[:-1]) / 2)
    truth = float(2 * (below * (1 - below)).mean())

    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        return {"value": np.minimum(rng.lognormal(0, 0.7, n), 10) / 10}

    return Population("gini-lognormal", "gini_mean_difference", dpairs.Interval(0, 1), draw, truth)


def continuous() -> dict[str, Population]:
    """What the projection protocol is measured on: numbers, and ratings of five levels."""
    listed = [
        _normals("public"),
        _normals("private"),
        _kendall("a", _linked(5), "tau-a-ratings"),
        _bivariate_normal(),
        _lognormal(),
    ]
    return {population.name: population for population in listed}
