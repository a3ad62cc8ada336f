"""Four populations on which intervals failed before there was a zoo, 30,000 people each: zoo-named.csv.

    python -m experiments.zoo.named               all of them, 400 runs each
    python -m experiments.zoo.named --runs 20     fewer, shown and not kept

The study is what `Study.create(..., protocol="projection", n=30_000)` makes of itself. Each run has fresh
people and fresh noise. Errors are root mean squares, around the population's value and around that of the
people drawn.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

import dpairs
from dpairs.protocols.projection.first_round import Projection

from ..exhibits import RESULTS
from .cells import Cell
from .population import exact, options_of
from .truths import truths

STORE = RESULTS / "zoo-named.csv"
PEOPLE, RUNS = 30_000, 400
ROWS = {
    Cell("zeros-92-lognormal", "gini_mean_difference", "projection", 4.0, PEOPLE): 180.0,
    Cell("money", "kendall_tau:a", "projection", 4.0, PEOPLE): 0.008,
    Cell("age-and-hours", "kendall_tau:a", "projection", 4.0, PEOPLE): 0.005,
    Cell("income-domain-10-wide", "gini_coefficient", "projection", 1.0, PEOPLE): 0.03,
}
"""Each with the largest error that is wanted."""


@dataclass(frozen=True)
class Named:
    """Of all runs of a row."""

    population: str
    statistic: str
    epsilon: float
    runs: int
    share: int
    truth: float
    wanted: float
    error: float
    error_sample: float
    bias: float
    covered: float
    covered_sample: float


def measured(cell: Cell, wanted: float, runs: int) -> Named:
    name, options = options_of(cell.statistic)
    given: dict[str, Any] = {"protocol": cell.protocol, "epsilon": cell.epsilon, "n": cell.n, **options}
    study = dpairs.Study.create(name, domain=cell.of.domain, **given)
    assert isinstance(study.protocol, Projection)
    truth = truths()[f"{cell.population}/{cell.statistic}"]
    rows = []
    for run in range(runs):
        seed = cell.seed(run)
        data = cell.of.draw(cell.n, seed)
        estimate = dpairs.simulate(replace(study, seed=seed), data, seed=seed)
        own = exact(cell.statistic, data)
        (low, high), (below, above) = (
            estimate.confidence_interval(0.95, of) for of in ("population", "sample")
        )
        rows.append(
            (estimate.value - truth, estimate.value - own, low <= truth <= high, below <= own <= above)
        )
    off, off_sample, covered, covered_sample = np.array(rows, dtype=float).T
    return Named(
        cell.population,
        cell.statistic,
        cell.epsilon,
        runs,
        study.protocol.share,
        truth,
        wanted,
        float(np.sqrt((off**2).mean())),
        float(np.sqrt((off_sample**2).mean())),
        float(off.mean()),
        float(covered.mean()),
        float(covered_sample.mean()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    words = argparse.ArgumentParser(
        "python -m experiments.zoo.named", description="Four awkward populations."
    )
    words.add_argument("--runs", type=int, default=RUNS, help="of each row")
    given = words.parse_args(arguments)
    found = []
    for cell, wanted in ROWS.items():
        found.append(asdict(measured(cell, wanted, given.runs)))
        print(
            *(f"{value:.4g}" if isinstance(value, float) else value for value in found[-1].values()),
            flush=True,
        )
    if given.runs >= RUNS:
        with STORE.open("w", newline="", encoding="utf-8") as kept:
            lines = csv.DictWriter(kept, found[0], lineterminator="\n")
            lines.writeheader()
            lines.writerows({name: _short(value) for name, value in row.items()} for row in found)
    return 0


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value


if __name__ == "__main__":
    sys.exit(main())
