"""Grids with fewer cells than the bins that people are in: what is counted, and neighbours merged."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers, Interval
from ...data.grids import Axis, CutAxis, Grid
from ...statistics.binned import several
from .standing_out import cut_places, widths

LEAST_LINE, MOST_LINE = 8, 256
LEAST_PLANE, MOST_PLANE = 4, 32
"""Cells of one axis of numbers, and of each of two."""


def coarse_axis(axis: Axis, cells: int, inner: bool = False) -> tuple[Axis, NDArray[np.int64]]:
    """The axis cut into at most ``cells`` runs of its bins, and each bin's run.

    Runs are of equal length, or ``inner``: shorter in the middle, at equal chances of the bell-shaped
    distribution u^3 (10 - 15 u + 6 u^2). People may fill a domain or its middle third; such runs tell them
    apart in either case.
    """
    domain = axis.domain
    if axis.bins <= cells or not isinstance(domain, (Interval, Integers)):
        return axis, np.arange(axis.bins)
    run = np.arange(axis.bins) * cells // axis.bins
    if inner:
        middles = (np.arange(axis.bins) + 0.5) / axis.bins
        chances = middles**3 * (10 - 15 * middles + 6 * middles**2)
        # Numbered anew, since the outermost bin of few may hold several runs.
        run = np.unique((chances * cells).astype(np.int64), return_inverse=True)[1].reshape(-1)
        cells = int(run[-1]) + 1
    starts = np.searchsorted(run, np.arange(cells))
    if isinstance(domain, Interval):
        edges = [*axis.geometry[0][starts].tolist(), domain.high]
    else:
        edges = [*(axis.offsets[start] for start in starts.tolist()), domain.size]
    return CutAxis.at(domain, edges), run


def coarse_grid(grid: Grid, per_axis: int) -> tuple[Grid, NDArray[np.int64]]:
    """A grid of so many cells of each axis of numbers, and the coarse cell of every cell."""
    inner = len(cut_places(grid)) > 1
    axes, runs = zip(*(coarse_axis(axis, per_axis, inner) for axis in grid.axes), strict=True)
    return Grid(tuple(axes)), _places_of(axes, runs)


def finer(coarse: Axis, fine: Axis, order: float = 1.0) -> NDArray[np.float64]:
    """Of every coarse cell: what its bins do, as a share of what the cell does if that grows like w^order.

    That is the sum of (v / w)^(order + 1) over those bins, of width v, that hold several values: a bin of one
    value hides nothing. With order 1 it is the chance that two people who lie evenly in the cell share a bin.
    """
    wide, low = widths(coarse), fine.geometry[0]
    cell = np.searchsorted(coarse.geometry[0], low, side="right") - 1
    shares = np.where(several(fine), widths(fine), 0.0) / wide[cell]
    return np.bincount(cell, weights=shares ** (order + 1), minlength=coarse.bins).astype(np.float64)


def coarse_cells(grid: Grid, people: int, noise: float) -> int:
    """Cells of an axis at which noise hides as much of psi as cells do: an even number.

    Noise of standard deviation s on every count moves a distribution function at the median by
    s sqrt(m / 2) / n with m cells, or with m^2 cells of two columns by s m / (2 n), which tau counts four
    times; cells hide half of what is within one, 1 / (2 m). Noise below 1 is as good as none.
    """
    noise = max(noise, 1.0)
    if len(cut_places(grid)) > 1:
        best, least, most = math.sqrt(people / (4 * noise)), LEAST_PLANE, MOST_PLANE
    else:
        others = math.prod(
            axis.bins for axis in grid.axes if not isinstance(axis.domain, (Interval, Integers))
        )
        best, least, most = (people / (noise * math.sqrt(2 * others))) ** (2 / 3), LEAST_LINE, MOST_LINE
    return min(max(2 * int(best / 2), least), most)


def _places_of(axes: Sequence[Axis], runs: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    place = np.zeros(1, dtype=np.int64)
    for axis, run in zip(axes, runs, strict=True):
        place = (place[:, None] * axis.bins + run[None, :]).reshape(-1)
    return place


def coarsened(grid: Grid) -> tuple[Grid, NDArray[np.int64]]:
    """The grid with neighbouring bins of numbers merged, and the merged cell of every cell."""
    axes, runs = zip(*(coarse_axis(axis, -(-axis.bins // 2)) for axis in grid.axes), strict=True)
    return Grid(tuple(axes)), _places_of(axes, runs)
