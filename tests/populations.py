"""Populations on at most 16 cells whose statistics are known exactly, to sample people from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

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
