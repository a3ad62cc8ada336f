"""Distances of skewed values in one round, with even points and with those of a scale: zoo-scaled.csv.

    python -m experiments.zoo.scaled               all of them, 100 runs each
    python -m experiments.zoo.scaled --runs 20     fewer, shown and not kept

Populations of both halves of the zoo that have distances on an interval from 0. The study is what
`Study.create(..., protocol="histogram", rounding="random", n=n)` makes of itself. Each run has fresh people
and fresh noise, the same for both kinds of points.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import dpairs
from dpairs.data.domains import Interval
from dpairs.errors import NotEstimable

from ..exhibits import RESULTS
from .cells import Cell
from .kept_rows import command
from .population import exact
from .populations import POPULATIONS
from .truths import truths

STORE = RESULTS / "zoo-scaled.csv"
RUNS = 100
EPSILONS, SIZES = (1.0, 4.0), (2_000, 20_000, 100_000)
DISTANCES = ("gini_coefficient", "gini_mean_difference", "variance")
SCALES = ("even", "asinh")


@dataclass(frozen=True)
class Scaled:
    """Of all runs of a row; widths are halves of intervals, 0 where none was answered."""

    population: str
    statistic: str
    epsilon: float
    n: int
    points: str
    bins: int
    runs: int
    refused: int
    truth: float
    error: float
    width: float
    covered: float
    covered_sample: float


def cells() -> Iterator[Cell]:
    for of in POPULATIONS.values():
        if isinstance(of.domain, Interval) and of.domain.low == 0:
            for statistic in of.statistics:
                if statistic in DISTANCES:
                    for epsilon in EPSILONS:
                        for n in SIZES:
                            yield Cell(of.name, statistic, "histogram", epsilon, n)


def measured(cell: Cell, points: str, runs: int) -> Scaled:
    domain = cell.of.domain
    if points != "even":
        domain = Interval(domain.low, domain.high, scale=points)
    given: dict[str, Any] = {"protocol": cell.protocol, "epsilon": cell.epsilon, "n": cell.n}
    study = dpairs.Study.create(cell.statistic, domain=domain, rounding="random", **given)
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
        cell.epsilon,
        cell.n,
        points,
        study.protocol.grid.cells,  # type: ignore[attr-defined]
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
        return (measured(cell, points, runs) for cell in cells() for points in SCALES)

    return command("scaled", "Distances of skewed values in one round.", rows, RUNS, STORE, arguments)


if __name__ == "__main__":
    sys.exit(main())
