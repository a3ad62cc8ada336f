"""Studies of two rounds of every statistic, with people."""

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dpairs
from dpairs import (
    Categories,
    Integers,
    Interval,
    Kernel,
    Levels,
    Study,
    Tally,
    simulate_tally,
)
from dpairs.simulate import simulate_round

SIGMAS = 4.5
"""A right estimate is further away with probability 7e-6, for a fresh seed."""
UNIT = Interval(0, 1)
FIVE = Levels(range(5))
SECOND: dict[str, tuple[str, list[list[Any]]]] = {
    "auc": ("auc", [[[v]] for v in np.linspace(0, 1, 21).tolist()]),
    "auc, private": ("auc, private", [[[v], [y]] for v in (0.0, 0.2, 0.7, 1.0) for y in (0, 1)]),
    "tau-b, ratings": ("tau-b, ratings", [[[x], [y]] for x in range(5) for y in range(5)]),
    "entropy": ("entropy", [[[v]] for v in range(8)]),
    "vus": ("vus", [[[v]] for v in np.linspace(0, 1, 21).tolist()]),
    "kernel in the plane": ("kernel in the plane", [[[x], [y]] for x in (0.0, 0.4, 1.0) for y in (0.1, 1.0)]),
}


def _near(a: Any, b: Any) -> Any:
    return np.exp(-3 * np.abs(a - b))


def _agree(a: Any, b: Any) -> Any:
    return np.abs(a[0] - b[0]) * np.abs(a[1] - b[1])


NEAR = Kernel(_near, range=(0, 1), domain=UNIT, label="near")
AGREE = Kernel(_agree, range=(0, 1), domain=(UNIT, UNIT), label="apart in both")


@dataclass(frozen=True, eq=False)
class Case:
    statistic: Any
    domain: Any
    draw: Callable[[np.random.Generator, int], dict[str, np.ndarray]]
    options: dict[str, Any] = field(default_factory=dict)
    protocol: dict[str, Any] = field(default_factory=dict)

    @functools.cache  # noqa: B019 - cases live as long as the tests, and a kernel's table takes half a second
    def study(self, epsilon: float = 2.0, seed: int = 1, **more: Any) -> Study:
        return Study.create(
            self.statistic,
            protocol="projection",
            epsilon=epsilon,
            domain=self.domain,
            seed=seed,
            **self.options,
            **self.protocol,
            **more,
        )

    def exact(self, table: dict[str, np.ndarray]) -> float:
        return dpairs.exact(self.statistic, table, domain=self.domain, **self.options)


def scores(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    label = (rng.random(n) < 0.4).astype(int)
    return {"score": np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1), "label": label}


def rounded(scale: int) -> Callable[[np.random.Generator, int], dict[str, np.ndarray]]:
    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        table = scores(rng, n)
        return {**table, "score": np.round(table["score"] * scale).astype(np.int64)}

    return draw


def plane(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    x = rng.normal(0.5, 0.15, n)
    return {"x": np.clip(x, 0, 1), "y": np.clip(0.6 * x + 0.2 + rng.normal(0, 0.12, n), 0, 1)}


def ratings(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {name: np.minimum((5 * values).astype(int), 4) for name, values in plane(rng, n).items()}


def incomes(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {"value": np.minimum(rng.lognormal(0, 0.7, n), 10) / 10}


def whole_incomes(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {"value": np.round(incomes(rng, n)["value"] * 10**6).astype(np.int64)}


def colours(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {"value": rng.choice(8, n, p=np.array([8, 7, 6, 5, 4, 3, 2, 1]) / 36)}


def classes(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    label = rng.integers(0, 3, n)
    return {"score": np.clip(rng.normal(0.3 + 0.2 * label, 0.15), 0, 1), "label": label}


CASES: dict[str, Case] = {
    "auc": Case("auc", UNIT, scores),
    "auc, ties zero": Case("auc", UNIT, scores, {"ties": "zero"}),
    "auc, levels": Case("auc", Levels(range(11)), rounded(10)),
    "auc, levels, ties zero": Case("auc", Levels(range(11)), rounded(10), {"ties": "zero"}),
    "auc, integers": Case("auc", Integers(0, 10**6), rounded(10**6)),
    "auc, many levels": Case("auc", Levels(range(301)), rounded(300)),
    "auc, histogram pilot": Case("auc", UNIT, scores, {}, {"pilot": "histogram", "bins": 16}),
    "auc, private": Case("auc", UNIT, scores, {"labels": "private"}),
    "auc, private, ties zero": Case("auc", UNIT, scores, {"labels": "private", "ties": "zero"}),
    "auc, private, levels": Case("auc", Levels(range(11)), rounded(10), {"labels": "private"}),
    "auc, private, levels, ties zero": Case(
        "auc", Levels(range(11)), rounded(10), {"labels": "private", "ties": "zero"}
    ),
    "mann_whitney": Case("mann_whitney", UNIT, scores),
    "mann_whitney, private": Case("mann_whitney", UNIT, scores, {"labels": "private"}),
    "mann_whitney, private, levels": Case(
        "mann_whitney", Levels(range(11)), rounded(10), {"labels": "private"}
    ),
    "tau-a": Case("kendall_tau", (UNIT, UNIT), plane),
    "tau-b": Case("kendall_tau", (UNIT, UNIT), plane, {"variant": "b"}),
    "tau-a, ratings": Case("kendall_tau", (FIVE, FIVE), ratings),
    "tau-b, ratings": Case("kendall_tau", (FIVE, FIVE), ratings, {"variant": "b"}),
    "gini mean difference": Case("gini_mean_difference", UNIT, incomes),
    "gini mean difference, integers": Case("gini_mean_difference", Integers(0, 10**6), whole_incomes),
    "gini coefficient": Case("gini_coefficient", UNIT, incomes),
    "gini coefficient, levels": Case("gini_coefficient", Levels(range(8)), colours),
    "variance": Case("variance", UNIT, incomes),
    "variance, deep": Case("variance", UNIT, incomes, {}, {"bins": 2**20}),
    "variance, levels": Case("variance", Levels(range(8)), colours),
    "entropy": Case("collision_entropy", Categories(range(8)), colours),
    "entropy, integers": Case("collision_entropy", Integers(0, 7), colours),
    "vus": Case("vus", UNIT, classes),
    "vus, ties zero": Case("vus", UNIT, classes, {"ties": "zero"}),
    "kernel": Case(NEAR, None, lambda rng, n: incomes(rng, min(n, 8000)), {}, {"bins": 64}),
    "kernel in the plane": Case(AGREE, None, lambda rng, n: plane(rng, min(n, 8000)), {}, {"bins": 8}),
    "tau-a, 8 x 8": Case("kendall_tau", (UNIT, UNIT), plane, {}, {"bins": 8}),
    "tau-b, 8 x 8": Case("kendall_tau", (UNIT, UNIT), plane, {"variant": "b"}, {"bins": 8}),
}


def asked_indices(study: Study, stratum: str, count: int) -> list[int]:
    """The first ``count`` people of a stratum who are asked."""
    asked = study.protocol.asked(study.coins, study.strata.index(stratum), 0, 64 * count)
    assert asked is not None
    return np.flatnonzero(asked)[:count].tolist()


@functools.cache
def second_study(name: str, epsilon: float) -> Study:
    case = CASES[name]
    return simulate_tally(case.study(epsilon), case.draw(np.random.default_rng(3), 6000), seed=1).study


def first_tally(study: Study, table: dict[str, np.ndarray], seed: int = 3) -> Tally:
    return simulate_round(study, table, seed)
