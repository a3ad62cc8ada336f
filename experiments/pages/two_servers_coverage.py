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
LARGE = 400_000
"""People whose exact value stands for the population's, five times."""
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
    "gini: even": lambda r, n: {"value": 1e5 * r.random(n)},
    "variance: normal": lambda r, n: {"value": r.normal(0.5, 0.15, n).clip(0, 1)},
    "entropy: ten values": lambda r, n: {"value": r.choice(10, n, p=np.arange(1, 11) / 55)},
}
ASKED: dict[str, tuple[str, dict[str, Any]]] = {
    "auc": ("auc", {"domain": UNIT}),
    "tau": ("kendall_tau", {"domain": (dpairs.Interval(-4, 4),) * 2}),
    "gini": ("gini_coefficient", {"domain": dpairs.Interval(0, 1e5)}),
    "variance": ("variance", {"domain": UNIT}),
    "entropy": ("collision_entropy", {"domain": dpairs.Integers(0, 9)}),
}
SIZES, EPSILONS = (100, 300, 1000, 10_000), (0.5, 1.0, 3.0)


def settings(quick: bool) -> list[Setting]:
    """Every shape in every size at epsilon 1, and 1,000 people at others."""
    sizes = SIZES[:1] if quick else SIZES
    pairs = [(n, 1.0) for n in sizes] + [(1000, loss) for loss in EPSILONS if loss != 1 and not quick]
    return [{"shape": shape, "people": n, "epsilon": loss} for shape in SHAPES for n, loss in pairs]


@cache
def _population(shape: str) -> float:
    statistic, _ = ASKED[shape.partition(":")[0]]
    count = LARGE // 10 if statistic == "kendall_tau" else LARGE
    return float(
        np.mean(
            [dpairs.exact(statistic, SHAPES[shape](np.random.default_rng(900 + i), count)) for i in range(5)]
        )
    )


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """One study of the planner's parameters."""
    shape, count, loss = str(setting["shape"]), int(setting["people"]), float(setting["epsilon"])
    statistic, options = ASKED[shape.partition(":")[0]]
    people = SHAPES[shape](np.random.default_rng([seed, count, list(SHAPES).index(shape)]), count)
    n = len(next(iter(people.values())))
    study = dpairs.Study.create(statistic, protocol="two_servers", epsilon=loss, n=n, seed=0, **options)
    try:
        estimate = dpairs.simulate(study, people, seed=seed)
    except dpairs.NotEstimable:
        return []
    truth, population = dpairs.exact(statistic, people), _population(shape)
    low, high = estimate.confidence_interval()
    least, most = estimate.confidence_interval(target="sample")
    return [
        {
            "value": estimate.value,
            "truth": truth,
            "in_pop": int(low <= population <= high),
            "in_sample": int(least <= truth <= most),
        }
    ]


EXPERIMENT = Experiment(
    "two-servers-coverage", "Intervals of two servers for awkward people", settings, measure, runs=100
)


@table("two_servers_coverage")
def coverage() -> Table:
    """Shares of runs in which a 95% interval covers, population and sample."""
    found, rows = results("two-servers-coverage"), []
    columns = [(n, 1.0) for n in SIZES] + [(1000, loss) for loss in EPSILONS if loss != 1]
    for shape in found.values("shape"):
        cells = []
        for n, loss in columns:
            part = found.where(shape=shape, people=n, epsilon=loss)
            both = (part.column("in_pop"), part.column("in_sample")) if len(part) else None
            cells.append("-" if both is None else f"{both[0].mean():.0%}, {both[1].mean():.0%}")
        rows.append([shape, *cells])
    head = ("people", *(f"{n:,}" if loss == 1 else f"{n:,}, epsilon {loss:g}" for n, loss in columns))
    return Table("Coverage of the population's and of the sample's value by 95% intervals", head, rows)
