"""Skewed values on a plain domain and on one with a scale: zoo-scaled.csv.

    python -m experiments.zoo.scaled               all of them, 100 runs each
    python -m experiments.zoo.scaled --runs 20     fewer, shown and not kept

Ranks of two skewed populations, and distances in one round of all populations of both halves of the zoo on
an interval from 0. The study is what `Study.create` makes of itself with `n`, of distances also with
`rounding="random"`. Each run has fresh people and fresh noise, the same with and without a scale.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import dpairs
from dpairs.data.domains import Interval, scaled
from dpairs.errors import NotEstimable

from ..exhibits import RESULTS
from .cells import Cell
from .kept_rows import command
from .population import exact, options_of
from .populations import POPULATIONS
from .truths import truths

STORE = RESULTS / "zoo-scaled.csv"
RUNS = 100
EPSILONS, SIZES = (1.0, 4.0), (2_000, 20_000, 100_000)
DISTANCES = ("gini_coefficient", "gini_mean_difference", "variance")
RANKS = (
    ("money", "kendall_tau:a", "projection"),
    ("skewed-scores", "auc:public", "projection"),
    ("skewed-scores", "auc:public", "tree"),
    ("skewed-scores", "auc:public", "histogram"),
)
RANKED = 20_000
"""People whose ranks are compared."""
SCALES = (None, "asinh")


@dataclass(frozen=True)
class Scaled:
    """Of all runs of a row; widths are halves of intervals, 0 where none was answered."""

    population: str
    statistic: str
    protocol: str
    epsilon: float
    n: int
    scale: str | None
    runs: int
    refused: int
    truth: float
    error: float
    width: float
    covered: float
    covered_sample: float


def cells() -> Iterator[Cell]:
    for name, statistic, protocol in RANKS:
        for epsilon in EPSILONS:
            yield Cell(name, statistic, protocol, epsilon, RANKED)
    for of in POPULATIONS.values():
        if isinstance(of.domain, Interval) and of.domain.low == 0:
            for statistic in of.statistics:
                if statistic in DISTANCES:
                    for epsilon in EPSILONS:
                        for n in SIZES:
                            yield Cell(of.name, statistic, "histogram", epsilon, n)


def measured(cell: Cell, scale: str | None, runs: int) -> Scaled:
    name, options = options_of(cell.statistic)
    given: dict[str, Any] = {"protocol": cell.protocol, "epsilon": cell.epsilon, "n": cell.n, **options}
    if name in DISTANCES:
        given["rounding"] = "random"
    study = dpairs.Study.create(name, domain=scaled(cell.of.domains, scale), **given)
    truth = truths()[f"{cell.population}/{cell.statistic}"]
    rows: list[tuple[float, ...]] = []
    for run in range(runs):
        seed = cell.seed(run)
        data = cell.of.draw(cell.n, seed)
        try:
            estimate = dpairs.simulate(replace(study, seed=seed), data, seed=seed)
        except NotEstimable:
            continue
        own = exact(cell.statistic, data)
        (low, high), (below, above) = (
            estimate.confidence_interval(0.95, of) for of in ("population", "sample")
        )
        rows.append((estimate.value - truth, (high - low) / 2, low <= truth <= high, below <= own <= above))
    off, widths, covered, covered_sample = np.array(rows or [(np.nan, 0.0, np.nan, np.nan)], dtype=float).T
    return Scaled(
        cell.population,
        cell.statistic,
        cell.protocol,
        cell.epsilon,
        cell.n,
        scale,
        runs,
        runs - len(rows),
        truth,
        float(np.sqrt((off**2).mean())),
        float(np.median(widths)),
        float(covered.mean()),
        float(covered_sample.mean()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    def rows(runs: int) -> Iterator[Scaled]:
        return (measured(cell, scale, runs) for cell in cells() for scale in SCALES)

    return command("scaled", "Skewed values with a scale and without.", rows, RUNS, STORE, arguments)


if __name__ == "__main__":
    sys.exit(main())
