"""Of the page on two servers: how often intervals cover, for people of awkward shapes."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs

from ..exhibits import results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row

Data = dict[str, NDArray[Any]]
UNIT = dpairs.Interval(0, 1)
LARGE = 1_000_000
"""People whose exact value stands for the population's, twice."""
ATOMS = np.array([0.1, 0.3, 0.5, 0.7, 0.9])


def _two(first: NDArray[np.float64], second: NDArray[np.float64]) -> Data:
    score = np.concatenate([first, second]).clip(0, 1)
    return {"score": score, "label": np.repeat([1, 0], [first.size, second.size])}


def _plane(x: NDArray[np.float64], y: NDArray[np.float64]) -> Data:
    return {"x": x.clip(-4, 4), "y": y.clip(-4, 4)}


def _normal(rng: np.random.Generator, n: int, rho: float) -> Data:
    x = rng.normal(size=n)
    return _plane(x, rho * x + math.sqrt(1 - rho**2) * rng.normal(size=n))


def _bent(rng: np.random.Generator, n: int) -> Data:
    x = rng.normal(size=n)
    return _plane(x, np.abs(x) - 1 + 0.5 * rng.normal(size=n))


def _hidden(rng: np.random.Generator, n: int, positive: float, apart: float) -> Data:
    label = (rng.random(n) < positive).astype(np.int64)
    return {"score": rng.normal(0.45 + apart * label, 0.15).clip(0, 1), "label": label}


def _heavy(rng: np.random.Generator, n: int) -> Data:
    x = rng.normal(size=n)
    y, both = 0.7 * x + math.sqrt(0.51) * rng.normal(size=n), np.sqrt(2 / rng.chisquare(2, n))
    return _plane(0.5 * x * both, 0.5 * y * both)


def _clusters(rng: np.random.Generator, n: int) -> Data:
    centre = np.array([[-2.0, 1.0], [0.0, -1.5], [2.0, 2.0]])[rng.integers(0, 3, n)]
    return _plane(*(centre + 0.4 * rng.normal(size=(n, 2))).T)


def _one_sided(rng: np.random.Generator, n: int) -> Data:
    x = rng.exponential(1.0, n)
    return _plane(x - 4, x * rng.gamma(2, 0.5, n) - 4)


SHAPES: dict[str, Any] = {
    "auc: normals": lambda r, n: _two(r.normal(0.55, 0.15, n), r.normal(0.45, 0.15, n)),
    "auc: two humps": lambda r, n: _two(
        np.where(r.random(n) < 0.5, r.normal(0.2, 0.05, n), r.normal(0.8, 0.05, n)), r.normal(0.5, 0.1, n)
    ),
    "auc: far apart": lambda r, n: _two(r.normal(0.7, 0.1, n), r.normal(0.4, 0.1, n)),
    "auc: narrow": lambda r, n: _two(r.normal(0.505, 0.01, n), r.normal(0.5, 0.01, n)),
    "auc: five values": lambda r, n: _two(
        r.choice(ATOMS, n, p=[0.05, 0.1, 0.2, 0.3, 0.35]), r.choice(ATOMS, n, p=[0.3, 0.3, 0.2, 0.1, 0.1])
    ),
    "auc: a spike at 0": lambda r, n: _two(r.beta(0.5, 3, n), r.beta(0.3, 5, n)),
    "auc: few positives": lambda r, n: _two(
        r.normal(0.6, 0.15, max(n // 10, 30)), r.normal(0.45, 0.15, 2 * n - max(n // 10, 30))
    ),
    "tau: rho 0.5": lambda r, n: _normal(r, n, 0.5),
    "tau: rho -0.9": lambda r, n: _normal(r, n, -0.9),
    "tau: independent": lambda r, n: _normal(r, n, 0.0),
    "tau: bent": _bent,
    "labels: three in ten": lambda r, n: _hidden(r, n, 0.3, 0.1),
    "gini: even": lambda r, n: {"value": 1e5 * r.random(n)},
    "variance: normal": lambda r, n: {"value": r.normal(0.5, 0.15, n).clip(0, 1)},
    "entropy: ten values": lambda r, n: {"value": r.choice(10, n, p=np.arange(1, 11) / 55)},
}
LATER: dict[str, Any] = {
    "auc: skewed": lambda r, n: _two(r.beta(5, 2, n), r.beta(2, 5, n)),
    "auc: other widths": lambda r, n: _two(r.normal(0.5, 0.05, n), r.normal(0.5, 0.2, n)),
    "auc: two decimals": lambda r, n: _two(
        r.normal(0.6, 0.2, n).clip(0, 1).round(2), r.normal(0.5, 0.2, n).clip(0, 1).round(2)
    ),
    "auc: lognormal": lambda r, n: _two(np.exp(r.normal(-2.5, 0.6, n)), np.exp(r.normal(-3, 0.8, n))),
    "auc: half at 0.5": lambda r, n: _two(
        np.where(r.random(n) < 0.5, 0.5, r.beta(2, 1, n)), np.where(r.random(n) < 0.5, 0.5, r.random(n))
    ),
    "auc: many negatives": lambda r, n: _two(
        r.normal(0.6, 0.1, max(n // 20, 30)), r.normal(0.5, 0.1, 2 * n - max(n // 20, 30))
    ),
    "auc: reversed": lambda r, n: _two(r.normal(0.4, 0.12, n), r.normal(0.6, 0.12, n)),
    "labels: one in ten": lambda r, n: _hidden(r, n, 0.1, 0.2),
    "tau: heavy tails": _heavy,
    "tau: three clusters": _clusters,
    "tau: rho 0.97": lambda r, n: _normal(r, n, 0.97),
    "tau: one-sided": _one_sided,
    "gini: incomes": lambda r, n: {"value": np.exp(r.normal(9.8, 0.6, n)).clip(0, 1e5)},
    "variance: two ends": lambda r, n: {"value": r.beta(0.5, 0.5, n)},
    "entropy: mostly one value": lambda r, n: {"value": r.choice(10, n, p=[0.73, *[0.03] * 9])},
}
"""Held back until the first ones covered; what they showed then led to bounds for who stands out of cells."""
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "auc": ("auc", {"domain": UNIT}),
    "tau": ("kendall_tau", {"domain": (dpairs.Interval(-4, 4),) * 2}),
    "labels": ("auc", {"domain": UNIT, "labels": "private"}),
    "gini": ("gini_coefficient", {"domain": dpairs.Interval(0, 1e5)}),
    "variance": ("variance", {"domain": UNIT}),
    "entropy": ("collision_entropy", {"domain": dpairs.Integers(0, 9)}),
}
SIZES, EPSILONS = (100, 300, 1000, 10_000), (0.5, 1.0, 3.0)
COLUMNS: list[tuple[int, float, str]] = [
    *((n, 1.0, "value") for n in SIZES),
    *((1000, loss, "value") for loss in EPSILONS if loss != 1),
    (1000, 1.0, "two rounds"),
]
"""People (of each class), epsilon, and what is released."""
LATER_COLUMNS = [(300, 1.0, "value"), (10_000, 1.0, "value"), (1000, 3.0, "value"), (1000, 1.0, "two rounds")]
"""Of the shapes that were looked at later, fewer, to save time."""
WAYS: dict[str, dict[str, Any]] = {"value": {}, "two rounds": {"rounds": 2}}
TOGETHER = 25
"""Studies in a row of the results."""


def settings(quick: bool) -> list[Setting]:
    """Every shape in every column, and those looked at later in a few."""
    return [
        {"shape": shape, "people": n, "epsilon": loss, "way": way}
        for shapes, columns in ((SHAPES, COLUMNS), (LATER, LATER_COLUMNS))
        for shape in shapes
        for n, loss, way in (columns[:1] if quick else columns)
    ]


@cache
def _population(shape: str) -> float:
    """The mean over a million people, twice: within a twentieth of what 10,000 people's value varies."""
    statistic, _ = ASKED[shape.partition(":")[0]]
    people = ({**SHAPES, **LATER}[shape](np.random.default_rng(900 + i), LARGE) for i in range(2))
    return float(np.mean([dpairs.exact(statistic, each) for each in people]))


@cache
def _study(shape: str, n: int, loss: float, way: str) -> dpairs.Study:
    statistic, options = ASKED[shape.partition(":")[0]]
    return dpairs.Study.create(
        statistic, protocol="two_servers", epsilon=loss, n=n, seed=0, **options, **WAYS[way]
    )


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """Studies of the planner's parameters, each with people and noise of its own."""
    shape, way = str(setting["shape"]), str(setting["way"])
    count, loss = int(setting["people"]), float(setting["epsilon"])
    place = [list(ASKED).index(shape.partition(":")[0]), *shape.encode()]
    bits = np.random.default_rng([seed, count, round(10 * loss), list(WAYS).index(way), *place])
    made, population, sample, refused = 0, 0, 0, 0
    for _ in range(TOGETHER):
        people = {**SHAPES, **LATER}[shape](bits, count)
        study = _study(shape, len(next(iter(people.values()))), loss, way)
        try:
            estimate = dpairs.simulate(study, people, seed=int(bits.integers(2**63)))
        except dpairs.NotEstimable:
            refused += 1
            continue
        low, high = estimate.confidence_interval()
        least, most = estimate.confidence_interval(target="sample")
        made += 1
        population += low <= _population(shape) <= high
        sample += least <= dpairs.exact(study.statistic, people) <= most
    return [{"studies": made, "refused": refused, "in_pop": int(population), "in_sample": int(sample)}]


EXPERIMENT = Experiment(
    "two-servers-coverage", "Intervals of two servers for awkward people", settings, measure, runs=8
)


def shares(shape: str, n: int, loss: float, way: str) -> tuple[float, float] | None:
    """How often intervals cover the population's value and the sample's."""
    part = results("two-servers-coverage").where(shape=shape, people=n, epsilon=loss, way=way)
    made = part.column("studies").sum() if len(part) else 0.0
    if not made:
        return None
    return float(part.column("in_pop").sum() / made), float(part.column("in_sample").sum() / made)


@table("two_servers_coverage")
def coverage() -> Table:
    """Shares of studies in which a 95% interval covers, population and sample."""
    rows = []
    for shape in (*SHAPES, *LATER):
        cells = []
        for column in COLUMNS:
            both = shares(shape, *column)
            cells.append("-" if both is None else f"{both[0]:.1%}, {both[1]:.1%}")
        rows.append([f"{shape} (looked at later)" if shape in LATER else shape, *cells])
    head = ("people", *(_head(*column) for column in COLUMNS))
    return Table("Coverage of the population's and of the sample's value by 95% intervals", head, rows)


def _head(n: int, loss: float, way: str) -> str:
    return f"{n:,}" + (f", epsilon {loss:g}" if loss != 1 else "") + (f", {way}" if way != "value" else "")
