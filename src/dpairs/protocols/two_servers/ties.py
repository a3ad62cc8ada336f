"""How many of the pairs in one bin have equal values: tau-b divides by those that have not.

Two servers count pairs of one bin, a share u of all. If bins hold one value, these are the equal ones. A bin
of m values has from u / m (people lie evenly) to u (all at one value), and of an interval from none:
nothing that is counted tells equal values from near ones. The best guess is what u has beyond people who
lie evenly in the coarse cells.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from ...errors import NotEstimable
from ...statistics import Statistic
from .coarse import coarsened
from .standing_out import hiding_places, widths

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Ties:
    """Forms with the fewest equal pairs that are possible, with the likeliest number, and with the most."""

    least: Vector
    likely: Vector
    most: Vector
    fewer: float = 0.0
    """By how much the share of a sample, in which nobody meets themselves, may be below the fewest."""

    @property
    def middle(self) -> Vector:
        return (self.least + self.most) / 2

    def bias(self, statistic: Statistic, sizes: Mapping[str, int]) -> float:
        """How far the value may lie off the likeliest one; of a single form, off its middle."""
        if self.likely.size == 1:
            steep = abs(float(statistic.finish(self.middle, sizes).gradient[0]))
            return steep * float(self.most[0] - self.least[0]) / 2
        value = statistic.finish(self.likely, sizes).value
        if np.array_equal(self.least, self.most):
            return 0.0
        try:
            ends = [statistic.finish(each, sizes).value for each in (self.least, self.most)]
        except NotEstimable:
            return math.inf
        return max(abs(end - value) for end in ends)

    def stretch(self, statistic: Statistic, sizes: Mapping[str, int]) -> float:
        """The slope along the first form, as a multiple of that with the fewest equal pairs."""
        here, there = (statistic.finish(each, sizes).gradient[0] for each in (self.likely, self.least))
        return abs(float(here / there))


def ties_of(
    statistic: Statistic,
    grid: Grid,
    forms: Vector,
    coarse: Grid,
    shares: Vector | None,
    variance: float,
    people: int,
) -> Ties:
    """From forms that have pairs of one bin for equal ones, and noisy shares of people in coarse cells."""
    least, likely, most = forms.copy(), forms.copy(), forms.copy()
    hiding, fewer = hiding_places(grid) if statistic.same_bin else [], 0.0
    for form, place in statistic.same_bin.items():
        if place in hiding:
            shared = max(float(forms[form]), 0.0)
            even = 0.0 if shares is None else _evenly(grid, coarse, place, shares, variance)
            alone = float((1 / grid.axes[place].geometry[2]).min())
            least[form] = shared * alone
            most[form], likely[form] = shared, max(shared - (1 - alone) * even, least[form])
            # h people of a bin of m values have at least h (h / m - 1) / 2 equal pairs.
            fewer = (1 - alone) / max(people - 1, 1)
    return Ties(least, likely, most, fewer)


def ties_of_counts(
    statistic: Statistic, grid: Grid, forms: Vector, counts: Vector, variance: float, people: int
) -> Ties:
    """The same from noisy counts of all cells, by merging neighbours."""
    if not statistic.same_bin:
        return Ties(forms, forms, forms)
    coarse, place = coarsened(grid)
    merged = np.bincount(place, counts, coarse.cells)
    noise = variance * grid.cells / coarse.cells / people**2
    return ties_of(statistic, grid, forms, coarse, merged / people, noise, people)


def counted_kernels(statistic: Statistic, grid: Grid) -> list[Vector]:
    """The kernels of a statistic's forms between cells, with pairs of one bin for equal ones."""
    kernels = [form.matrix for form in statistic.forms(grid, "average")]
    sizes = [axis.bins for axis in grid.axes]
    for form, place in statistic.same_bin.items():
        kernel: Vector = np.ones((1, 1))
        for at, cells in enumerate(sizes):
            alike = np.eye(cells) if at == place else np.ones((cells, cells))
            kernel = np.kron(kernel, alike).astype(np.float64)
        kernels[form] = kernel
    return kernels


def _evenly(grid: Grid, coarse: Grid, place: int, shares: Vector, variance: float) -> float:
    """Pairs that share a bin if people lie evenly in coarse cells, by shares with that much noise on each."""
    table = shares.reshape([axis.bins for axis in coarse.axes])
    along = table.sum(axis=tuple(at for at in range(table.ndim) if at != place))
    noise = variance * table.size / along.size
    bins = widths(coarse.axes[place]) / float(widths(grid.axes[place]).mean())
    return max(float(((along**2 - noise) / np.maximum(bins, 1.0)).sum()), 0.0)
