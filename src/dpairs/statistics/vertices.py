"""Kernels between the vertices of bins and whole bins, in closed form.

A function that is known at both ends of every bin, and linear in between, is known everywhere. So a kernel
averaged over the values of a bin, as a function of the *other* person's exact value, is kept as its values
at vertices: two of a bin that holds several values, one of a bin that holds a single one. A vertex never lies
inside another bin, which keeps the formulas short.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.grids import Axis, Grid
from .binned import inside_variance, several

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Vertices:
    """The vertices of an axis' bins, from the lowest to the highest."""

    axis: Axis

    @cached_property
    def bins(self) -> NDArray[np.int64]:
        """The bin of each vertex."""
        return np.repeat(np.arange(self.axis.bins), 1 + several(self.axis))

    @cached_property
    def top(self) -> NDArray[np.bool_]:
        """Which vertices are the upper ones of their bins."""
        return np.concatenate(([False], self.bins[1:] == self.bins[:-1]))

    @cached_property
    def places(self) -> NDArray[np.float64]:
        """The value at each vertex."""
        low, high, _ = self.axis.geometry
        return np.where(self.top, high[self.bins], low[self.bins])

    @property
    def same(self) -> Matrix:
        """The share of each bin's values that equal the vertex's."""
        return self._own(1 / self.axis.geometry[2][self.bins])

    @property
    def below(self) -> Matrix:
        """The share of each bin's values that lie below the vertex's."""
        lower = (self.bins[:, None] > np.arange(self.axis.bins)[None, :]).astype(np.float64)
        return lower + self._own(np.where(self.top, 1 - 1 / self.axis.geometry[2][self.bins], 0.0))

    def _own(self, values: NDArray[np.float64]) -> Matrix:
        matrix = np.zeros((self.bins.size, self.axis.bins))
        matrix[np.arange(self.bins.size), self.bins] = values
        return matrix

    def greater(self, tie: float) -> Matrix:
        """[x > y] + tie [x = y], for x at the vertex and y in the bin."""
        return self.below + tie * self.same

    def less(self, tie: float) -> Matrix:
        """[x < y] + tie [x = y], for x at the vertex and y in the bin."""
        return 1 - self.below - (1 - tie) * self.same

    def order(self) -> Matrix:
        """The sign of x - y."""
        return 2 * self.below + self.same - 1

    def distance(self) -> Matrix:
        return np.abs(self.places[:, None] - self.axis.centres[None, :])

    def half_square(self) -> Matrix:
        """(x - y)^2 / 2."""
        apart = self.places[:, None] - self.axis.centres[None, :]
        return (apart**2 + inside_variance(self.axis)[None, :]) / 2

    def mean(self) -> Matrix:
        """(x + y) / 2."""
        return (self.places[:, None] + self.axis.centres[None, :]) / 2


def vertex_shape(grid: Grid) -> tuple[int, ...]:
    """How many vertices each axis has."""
    return tuple(Vertices(axis).bins.size for axis in grid.axes)


def vertex_cells(grid: Grid) -> NDArray[np.int64]:
    """The cell that each vertex of the cells belongs to."""
    bins = np.meshgrid(*(Vertices(axis).bins for axis in grid.axes), indexing="ij")
    return np.ravel_multi_index([each.reshape(-1) for each in bins], [axis.bins for axis in grid.axes])


def cell_means(grid: Grid, values: NDArray[Any]) -> NDArray[np.float64]:
    """The mean over each cell of a function given at the vertices of all cells and linear in between.

    Of several functions, a row each.
    """
    axes = [Vertices(axis) for axis in grid.axes]
    rows = values.shape[:-1]
    table = values.reshape([*rows, *(vertices.bins.size for vertices in axes)])
    for place, vertices in enumerate(axes, start=len(rows)):
        total = np.add.reduceat(table, np.flatnonzero(~vertices.top), axis=place)
        counts = np.bincount(vertices.bins).astype(np.float64)
        table = total / counts.reshape([-1 if each == place else 1 for each in range(table.ndim)])
    return np.asarray(table.reshape([*rows, -1]), dtype=np.float64)
