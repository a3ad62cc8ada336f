"""Skewed values on a plain domain and on one with a scale: zoo-scaled.csv.

    python -m experiments.zoo.scaled               all of them, 100 runs each
    python -m experiments.zoo.scaled --runs 20     fewer, shown and not kept

Ranks of two skewed populations, and distances in one round of all populations of both halves of the zoo on
an interval from 0. The study is what `Study.create` makes of itself with `n`, of distances also with
`rounding="random"`. Each run has fresh people and fresh noise, the same with and without a scale.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dpairs
from dpairs.data.domains import Interval, scaled

from ..exhibits import RESULTS
from .cells import Cell
from .kept_rows import command
from .measure import measure_study
from .population import options_of
from .populations import MONEY, POPULATIONS

STORE = RESULTS / "zoo-scaled.csv"
RUNS = 100
EPSILONS, SIZES = (1.0, 4.0), (2_000, 20_000, 100_000)
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
    """Of all runs of a row; widths are halves of intervals."""

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
                if statistic in MONEY:
                    for epsilon in EPSILONS:
                        for n in SIZES:
                            yield Cell(of.name, statistic, "histogram", epsilon, n)


def measured(cell: Cell, scale: str | None, runs: int) -> Scaled:
    name, options = options_of(cell.statistic)
    given: dict[str, Any] = {"protocol": cell.protocol, "epsilon": cell.epsilon, "n": cell.n, **options}
    if name in MONEY:
        given["rounding"] = "random"
    study = dpairs.Study.create(name, domain=scaled(cell.of.domains, scale), **given)
    found = measure_study(cell, study, math.nan, runs)
    return Scaled(
        cell.population,
        cell.statistic,
        cell.protocol,
        cell.epsilon,
        cell.n,
        scale,
        found.runs,
        found.refused,
        found.truth,
        found.rmse,
        found.width,
        found.covered,
        found.covered_sample,
    )


def main(arguments: Sequence[str] | None = None) -> int:
    def rows(runs: int) -> Iterator[Scaled]:
        return (measured(cell, scale, runs) for cell in cells() for scale in SCALES)

    return command("scaled", "Skewed values with a scale and without.", rows, RUNS, STORE, arguments)


if __name__ == "__main__":
    sys.exit(main())
