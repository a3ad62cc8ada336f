"""Four populations on which intervals failed before there was a zoo, 30,000 people each: zoo-named.csv.

    python -m experiments.zoo.named               all of them, 400 runs each
    python -m experiments.zoo.named --runs 20     fewer, shown and not kept

The study is what `Study.create(..., protocol="projection", n=30_000)` makes of itself, and what a plan
recommends that is given another sample of the population. Each run has fresh people and fresh noise. Errors
are root mean squares, around the population's value and around that of the people drawn. Limits are the same
if the distribution were known and everybody were asked in the second round.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import dpairs
from dpairs.data.domains import scaled
from dpairs.protocols.projection.first_round import Projection

from ..exhibits import RESULTS
from ..limits import one_symbol
from .cells import Cell
from .kept_rows import command
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
    study: str
    runs: int
    truth: float
    wanted: float
    limit: float
    limit_sample: float
    error: float
    error_sample: float
    bias: float
    covered: float
    covered_sample: float


Made = tuple[str, dpairs.Study, str | None]
"""What a row calls a study, the study, and its estimator."""


def own_study(cell: Cell, scale: str | None = None) -> Made:
    """What two rounds make of themselves."""
    name, options = options_of(cell.statistic)
    given: dict[str, Any] = {"protocol": cell.protocol, "epsilon": cell.epsilon, "n": cell.n, **options}
    study = dpairs.Study.create(name, domain=scaled(cell.of.domains, scale), **given)
    assert isinstance(study.protocol, Projection)
    words = "projection" if scale is None else f"projection, scale={scale}"
    return f"{words}, {study.protocol.share} of 64 first", study, None


def planned(cell: Cell) -> Made:
    """What is recommended to somebody who has data of similar people."""
    name, options = options_of(cell.statistic)
    like = cell.of.draw(cell.n, cell.seed(RUNS + 1))
    asked: dict[str, Any] = {"epsilon": cell.epsilon, "n": cell.n, **options}
    option = dpairs.plan(name, domain=cell.of.domain, like=like, **asked).options[0]
    parameters = [f"{key}={value}" for key, value in option.parameters.items() if key != "n"]
    return " ".join(["planned:", option.protocol, *parameters]), option.study, option.estimator


def studies(cell: Cell) -> Iterator[Made]:
    """Of money also on a scale, which two rounds take for ranks."""
    yield own_study(cell)
    if cell.population == "money":
        yield own_study(cell, "asinh")
    yield planned(cell)


def measured(cell: Cell, wanted: float, made: Made, runs: int) -> Named:
    (name, _), (words, study, estimator) = options_of(cell.statistic), made
    truth = truths()[f"{cell.population}/{cell.statistic}"]
    rows = []
    for run in range(runs):
        seed = cell.seed(run)
        data = cell.of.draw(cell.n, seed)
        estimate = dpairs.simulate(replace(study, seed=seed), data, seed=seed, estimator=estimator)
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
        words,
        runs,
        truth,
        wanted,
        *one_symbol(name, cell.of.domain, cell.of.draw(cell.n, cell.seed(runs)), cell.epsilon),
        float(np.sqrt((off**2).mean())),
        float(np.sqrt((off_sample**2).mean())),
        float(off.mean()),
        float(covered.mean()),
        float(covered_sample.mean()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    def rows(runs: int) -> Iterator[Named]:
        return (measured(cell, wanted, made, runs) for cell, wanted in ROWS.items() for made in studies(cell))

    return command("named", "Four awkward populations.", rows, RUNS, STORE, arguments)


if __name__ == "__main__":
    sys.exit(main())
