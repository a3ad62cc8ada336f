"""A statistic's forms as tables of whole numbers: what two servers compute on shared histograms.

With the histogram h of one stratum, the sum of A over ordered pairs of different people is h'Ah - diag(A)'h;
with two strata a and b it is a'Ab. Whole numbers, so that shares modulo a prime add up to them exactly and the
noise can be discrete.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from ...statistics import Statistic

EXACT = (1, 2, 3, 4, 6, 12)
"""Denominators that make tables of signs, ties and levels whole."""
STEPS = 2**20
"""Steps across the range of a kernel that has no such denominator: rounding moves a mean by half a step at most."""
Vector = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class IntegerForm:
    """A kernel between cells: ``unit * table``, rounded to the nearest unit."""

    table: NDArray[np.int64]
    unit: float
    rounding: float
    """The most that rounding moves a mean."""

    def total(self, histograms: Sequence[Vector]) -> int:
        """The sum over all pairs, in units."""
        if len(histograms) == 2:
            first, second = histograms
            return int(first @ (self.table @ second))
        (people,) = histograms
        return int(people @ (self.table @ people)) - int(np.diagonal(self.table) @ people)

    def sensitivity(self, sizes: Sequence[int]) -> int:
        """The most that one person's other value changes `total`, whoever the others are.

        A change in row x to x' moves every pair of that person by at most the largest difference within a
        column; a person is in n - 1 pairs, each counted in both orders, or in as many as the other stratum has.
        """
        rows = int((self.table.max(axis=0) - self.table.min(axis=0)).max())
        if len(sizes) == 1:
            return 2 * (sizes[0] - 1) * rows
        columns = int((self.table.max(axis=1) - self.table.min(axis=1)).max())
        return max(sizes[1] * rows, sizes[0] * columns)


def pairs(sizes: Sequence[int]) -> int:
    """How many pairs `IntegerForm.total` adds up."""
    return sizes[0] * (sizes[0] - 1) if len(sizes) == 1 else sizes[0] * sizes[1]


def integer_forms(statistic: Statistic, grid: Grid) -> tuple[IntegerForm, ...]:
    """The forms of ``statistic`` on the cells of ``grid``."""
    return tuple(_integer(form.matrix) for form in statistic.forms(grid, "average"))


def _integer(matrix: NDArray[np.float64]) -> IntegerForm:
    for bottom in EXACT:
        whole = np.rint(matrix * bottom)
        if np.abs(whole).max() < STEPS and np.array_equal(whole / bottom, matrix):
            return IntegerForm(whole.astype(np.int64), 1 / bottom, 0.0)
    extent = float(matrix.max() - matrix.min()) or 1.0
    # A power of two, so that units multiply without rounding.
    unit = 2.0 ** math.ceil(math.log2(extent / STEPS))
    return IntegerForm(np.rint(matrix / unit).astype(np.int64), unit, unit / 2)


def sizes_of(histograms: Mapping[str, Vector]) -> list[int]:
    return [int(people.sum()) for people in histograms.values()]
