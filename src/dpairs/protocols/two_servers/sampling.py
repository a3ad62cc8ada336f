"""The variance of sampling people, and what binning does, from coarse noisy counts.

The released value contains neither: the variance is a cubic form of the histogram. Coarse counts give the
influence function psi; by Hoeffding's decomposition the statistic's sampling variance is the sum over strata of
Var(psi) / n, and a second-order term. Within a fine bin people are told apart no more: if they lie evenly
there, that moves the statistic by a variance of E Var(psi within a bin) / n.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers, Interval
from ...data.grids import Axis, CutAxis, Grid
from ...errors import NotEstimable
from ...statistics import Statistic
from ...statistics.linear import Linear
from ...statistics.vertices import Vertices, cell_means
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
    cut = sum(isinstance(axis.domain, (Interval, Integers)) for axis in grid.axes)
    per_axis = max(2, round(cells ** (1 / max(cut, 1))))
    axes, runs = zip(*(coarse_axis(axis, per_axis) for axis in grid.axes), strict=True)
    place = np.zeros(1, dtype=np.int64)
    for axis, run in zip(axes, runs, strict=True):
        place = (place[:, None] * axis.bins + run[None, :]).reshape(-1)
    return Grid(tuple(axes)), place


@dataclass(frozen=True, eq=False)
class Rough:
    """Rough distributions of the strata on coarse cells, and what the statistic does around them."""

    statistic: Statistic
    grid: Grid
    counts: Mapping[str, NDArray[np.int64]]
    """As released: noisy, and perhaps below 0."""
    sizes: Mapping[str, int]
    variance: float
    """Of the noise of each count."""
    finer: float
    """The largest coarse bin's width in fine bins, as a fraction below 1: 1 / (fine bins in a coarse one)."""

    @cached_property
    def masses(self) -> dict[str, Vector]:
        """The nearest distributions."""
        return {name: on_simplex(people / self.sizes[name]) for name, people in self.counts.items()}

    @cached_property
    def linear(self) -> Linear:
        return self.statistic.linearizer(self.grid).at(self.masses, self.sizes)

    @cached_property
    def sampling(self) -> float:
        """The variance over samples of people, in the unit of psi."""
        return self._sampling(self.masses)

    def _sampling(self, masses: Mapping[str, Vector]) -> float:
        functions = self.statistic.linearizer(self.grid).at(masses, self.sizes).functions
        return sum(
            _moments(self.grid, function, masses[name])[0] / self.sizes[name]
            for name, function in functions.items()
        )

    @cached_property
    def doubt(self) -> float:
        """The standard deviation of `sampling` under the noise of the counts, by differences.

        People are moved from every cell to all others; a step is one standard deviation, so that what a
        projection onto distributions cuts off is cut off here too.
        """
        total, step = 0.0, math.sqrt(self.variance)
        for name, people in self.counts.items():
            for cell in range(people.size):
                moved = people.astype(np.float64)
                moved[cell] += step
                masses = {**self.masses, name: on_simplex(moved / self.sizes[name])}
                try:
                    total += (self._sampling(masses) - self.sampling) ** 2
                except NotEstimable:
                    return math.inf
        return math.sqrt(total)

    @cached_property
    def binning(self) -> float:
        """The variance that people's places within fine bins cause, in the unit of psi."""
        first = sum(
            _moments(self.grid, function, self.masses[name])[1] / self.sizes[name]
            for name, function in self.linear.functions.items()
        )
        return first * self.finer**2


def _moments(grid: Grid, heights: Vector, masses: Vector) -> tuple[float, float]:
    """The variance of a function that is linear between the vertices of cells, and its part within cells.

    By two-point Gauss quadrature on every axis, exact for squares of linear functions.
    """
    ends = [Vertices(axis) for axis in grid.axes]
    table = heights.reshape([vertices.bins.size for vertices in ends])
    offset = 0.5 / math.sqrt(3)
    mass = masses.reshape([axis.bins for axis in grid.axes])
    square = 0.0
    for corner in np.ndindex(*([2] * len(ends))):
        values = table
        for place, (vertices, side) in enumerate(zip(ends, corner, strict=True)):
            first = np.flatnonzero(~vertices.top)
            last = np.append(first[1:], vertices.bins.size) - 1
            through = 0.5 + (offset if side else -offset)
            values = (1 - through) * np.take(values, first, axis=place) + through * np.take(
                values, last, axis=place
            )
        square += float((mass * values**2).sum()) / 2 ** len(ends)
    means = cell_means(grid, heights)
    mean, between = float(masses @ means), float(masses @ means**2)
    return max(square - mean**2, 0.0), max(square - between, 0.0)
