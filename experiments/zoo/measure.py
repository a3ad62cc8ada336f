"""What happens in one cell: how often intervals cover, how far values lie off, how wide intervals are."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

import dpairs
from dpairs.errors import NotEnoughData, NotEstimable

from .cells import Cell
from .population import exact
from .truths import truths

LEVEL = 0.95


@dataclass(frozen=True)
class Outcome:
    """Of all runs of a cell; widths are halves of intervals.

    ``oracle`` is the half-width that covers the population's value in 95% of these runs: what somebody who
    knew the estimator's distribution would give.
    """

    runs: int
    refused: int
    truth: float
    covered: float
    covered_sample: float
    bias: float
    rmse: float
    predicted: float
    standard_error: float
    bias_bound: float
    width: float
    oracle: float
    reason: str = field(default="")


def measure(cell: Cell, runs: int, first: int = 0) -> Outcome:
    """So many runs of the plan's study, each with fresh people and fresh noise."""
    option = cell.option()
    return measure_study(cell, option.study, option.error, runs, first)


def measure_study(cell: Cell, planned: dpairs.Study, predicted: float, runs: int, first: int = 0) -> Outcome:
    """The same of any study of the cell's people."""
    truth = truths()[f"{cell.population}/{cell.statistic}"]
    rows: list[tuple[float, ...]] = []
    reason, refused = "", 0
    for run in range(first, first + runs):
        seed = cell.seed(run)
        data = cell.of.draw(cell.n, seed)
        study = replace(planned, seed=seed)
        try:
            estimate = dpairs.simulate(study, data, seed=seed)
        except (NotEstimable, NotEnoughData) as error:
            reason, refused = str(error), refused + 1
            continue
        low, high = estimate.confidence_interval(LEVEL)
        below, above = estimate.confidence_interval(LEVEL, "sample")
        own = exact(cell.statistic, data)
        rows.append(
            (
                estimate.value,
                low <= truth <= high,
                below <= own <= above,
                estimate.standard_error,
                estimate.bias,
                (high - low) / 2,
            )
        )
    if not rows:
        rows = [(math.nan,) * 6]
    value, covered, sample, stated, bound, width = np.array(rows, dtype=float).T
    off = value - truth
    return Outcome(
        runs,
        refused,
        truth,
        float(covered.mean()),
        float(sample.mean()),
        float(off.mean()),
        float(np.sqrt((off**2).mean())),
        predicted,
        float(np.median(stated)),
        float(np.median(bound)),
        float(np.median(width)),
        float(np.quantile(np.abs(off), LEVEL)),
        reason,
    )
