"""The variance of sampling people, from coarse noisy counts.

The released value does not contain it: it is a cubic form of the histogram. Coarse counts give the influence
function psi and its variance over people; by Hoeffding's decomposition the statistic's sampling variance is
sum over strata of Var(psi) / n, and a second-order term that the kernel's own variance bounds.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers, Interval
from ...data.grids import Axis, CutAxis, Grid
from ...statistics import Statistic
from ...statistics.vertices import Vertices
from ..projection.pilot import on_simplex

Vector = NDArray[np.float64]


def coarse_axis(axis: Axis, cells: int) -> tuple[Axis, NDArray[np.int64]]:
    """The axis cut into at most ``cells`` runs of its bins, and each bin's run."""
    domain = axis.domain
    if axis.bins <= cells or not isinstance(domain, (Interval, Integers)):
        return axis, np.arange(axis.bins)
    run = np.arange(axis.bins) * cells // axis.bins
    starts = np.searchsorted(run, np.arange(cells))
    low, _, points = axis.geometry
    if isinstance(domain, Interval):
        edges = [*low[starts].tolist(), domain.high]
    else:
        reached = np.concatenate(([0.0], np.cumsum(points))).astype(int)
        edges = [*reached[starts].tolist(), domain.size]
    return CutAxis.at(domain, edges), run


def coarse_grid(grid: Grid, cells: int) -> tuple[Grid, NDArray[np.int64]]:
    """A grid of about ``cells`` cells over the same domains, and the coarse cell of every cell."""
    per_axis = max(2, round(cells ** (1 / len(grid.axes))))
    axes, runs = zip(*(coarse_axis(axis, per_axis) for axis in grid.axes), strict=True)
    place = np.zeros(1, dtype=np.int64)
    for axis, run in zip(axes, runs, strict=True):
        place = (place[:, None] * axis.bins + run[None, :]).reshape(-1)
    return Grid(tuple(axes)), place


def influence_variances(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], sizes: Mapping[str, int]
) -> dict[str, float]:
    """Var(psi) of every stratum when people lie evenly within the cells of ``grid``."""
    linear = statistic.linearizer(grid).at(masses, sizes)
    return {
        stratum: _variance(grid, function, masses[stratum]) for stratum, function in linear.functions.items()
    }


def _variance(grid: Grid, heights: Vector, masses: Vector) -> float:
    """Of a function that is linear between the vertices of cells."""
    moments = [_moments(grid, heights, masses, power) for power in (1, 2)]
    return max(moments[1] - moments[0] ** 2, 0.0)


def _moments(grid: Grid, heights: Vector, masses: Vector, power: int) -> float:
    """E psi^power by two-point Gauss quadrature on every axis, exact for squares of linear functions."""
    ends = [Vertices(axis) for axis in grid.axes]
    table = heights.reshape([vertices.bins.size for vertices in ends])
    offset = 0.5 / np.sqrt(3)
    total, shape = 0.0, [axis.bins for axis in grid.axes]
    mass = masses.reshape(shape)
    for corner in np.ndindex(*([2] * len(ends))):
        values = table
        for place, (vertices, side) in enumerate(zip(ends, corner, strict=True)):
            first = np.flatnonzero(~vertices.top)
            last = np.append(first[1:], vertices.bins.size) - 1
            through = 0.5 + (offset if side else -offset)
            values = (1 - through) * np.take(values, first, axis=place) + through * np.take(
                values, last, axis=place
            )
        total += float((mass * values**power).sum()) / 2 ** len(ends)
    return total


def shares(counts: NDArray[np.int64]) -> Vector:
    """Noisy counts as a distribution: the nearest one."""
    people = counts.astype(np.float64)
    return on_simplex(people / max(people.sum(), 1.0))
