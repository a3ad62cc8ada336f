"""How far liars can move an answer: the most that m replaced reports change, from the counts alone.

The liar sees everything: all reports, all coins, the estimator. He replaces any m reports by others of his
choice; whose they are, and so their stratum and their coins, stays.

*Linear answers*: a report of symbol y adds w(y). Replacing it adds at most max w - w(y), so the m reports
with the largest such gain give the most: **exact**, for as many reports of each symbol as there are.

*U-statistics of reports* (`statistics.ustatistics`): with M(y, z) the kernel of two reports and c the
counts, replacing reports changes c by d, and the sum over pairs by a linear part, which is as above, and by
d'Md. d is a sum of m differences of two symbols, so |d'Md| <= m^2 J with J the largest |(e_z - e_y)' M
(e_z' - e_y')|; and its eigenvalues on differences bound it too, by |d|^2 <= 2 m^2: an **upper bound**. With
two strata the second part is at most m_1 m_2 J <= m^2 J / 4.

*Functions of several of these*: all statistics here are monotone in each form while the others stay, so
over a box of forms they are largest and smallest at corners: an **upper bound**, infinite if a ratio may
lose its value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..errors import NotEstimable
from ..statistics.ustatistics import OneSample, TwoSamples

Vector = NDArray[np.float64]
Group = tuple[Vector, Vector]
"""What one report of each symbol adds to the answer, and how many reports of each symbol there are."""
MANY_SYMBOLS = 256
"""Above so many symbols J is bounded by rows' ranges, and eigenvalues are not computed."""


@dataclass(frozen=True)
class Reach:
    """How far down and how far up an answer can be moved."""

    down: float
    up: float

    def plus(self, other: Reach) -> Reach:
        return Reach(self.down + other.down, self.up + other.up)

    @property
    def middle(self) -> float:
        """Where the middle between the two ends lies, seen from the answer."""
        return 0.0 if self.down == self.up else (self.up - self.down) / 2

    @property
    def half(self) -> float:
        """How far both ends are from the middle."""
        return (self.down + self.up) / 2


def taken(gains: Vector, counts: Vector, most: int) -> float:
    """The sum of the ``most`` largest gains, each as often as it is there."""
    order = np.argsort(-gains, kind="stable")
    there = counts[order].astype(np.float64)
    used = np.clip(most - (np.cumsum(there) - there), 0.0, there)
    return float(used @ gains[order])


def linear(groups: Iterable[Group], most: int) -> Reach:
    """The reach of ``most`` replaced reports of a linear answer; reports stay in their group. Exact."""
    listed = list(groups)
    counts = np.concatenate([there for _, there in listed])
    up = np.concatenate([weights.max() - weights for weights, _ in listed])
    down = np.concatenate([weights - weights.min() for weights, _ in listed])
    return Reach(taken(down, counts, most), taken(up, counts, most))


def of_forms(
    average: OneSample | TwoSamples, strata: Sequence[Vector], most: int
) -> tuple[Reach, list[Vector]]:
    """The reach of a form's estimate, and what a report of each symbol adds to it, by stratum."""
    if len(strata) == 1:
        (counts,) = strata
        n = float(counts.sum())
        reports = average.decoder @ average.kernel @ average.decoder.T / (n * (n - 1))
        symmetric = (reports + reports.T) / 2
        weights = [2 * symmetric @ counts - np.diag(symmetric)]
        second = _second(symmetric, most)
    else:
        first, other = strata
        reports = average.decoder @ average.kernel @ average.decoder.T
        reports /= float(first.sum()) * float(other.sum())
        weights = [reports @ other, first @ reports]
        across = most * most / 4 * _largest(reports)
        second = Reach(across, across)
    first_order = linear(zip(weights, strata, strict=True), most)
    return first_order.plus(second), weights


def _second(reports: Vector, most: int) -> Reach:
    """The least and the largest d'Md of ``most`` replacements in one stratum."""
    bound = most * most * _largest(reports)
    if len(reports) > MANY_SYMBOLS:
        return Reach(bound, bound)
    centred = reports - reports.mean(axis=0)
    centred -= centred.mean(axis=1, keepdims=True)
    values = np.linalg.eigvalsh(centred)
    # Rounding of eigenvalues must not make the bound smaller.
    slack = 1e-12 * float(np.abs(values).max())
    low, high = (2 * most * most * max(float(each) + slack, 0.0) for each in (-values[0], values[-1]))
    return Reach(min(bound, low), min(bound, high))


def _largest(reports: Vector) -> float:
    """J: the largest difference of differences between two pairs of symbols."""
    if len(reports) > MANY_SYMBOLS:
        return 2 * float(np.ptp(reports, axis=1).max())
    return max(float(np.ptp(reports - row, axis=1).max()) for row in reports)


def at_vertices(finish: Callable[[Vector], float], forms: Vector, reaches: Sequence[Reach]) -> Reach:
    """The reach of a finished answer, when each form has its own."""
    value = finish(forms)
    ends = [(form - each.down, form + each.up) for form, each in zip(forms, reaches, strict=True)]
    values = [value]
    for vertex in product(*ends):
        try:
            values.append(finish(np.array(vertex)))
        except NotEstimable:
            # A liar who can take a ratio its denominator can move it as far as he likes.
            return Reach(math.inf, math.inf)
    return Reach(value - min(values), max(values) - value)


def span(values: Vector) -> float:
    return float(np.ptp(values)) if values.size else 0.0
