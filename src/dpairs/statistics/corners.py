"""Kernels between the corners of bins and whole bins, in closed form.

A function that is known at both ends of every bin, and linear in between, is known everywhere. So a kernel
averaged over the values of a bin, as a function of the *other* person's exact value, is kept as its values
at corners: two of a bin that holds several values, one of a bin that holds a single one. A corner never lies
inside another bin, which keeps the formulas short.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..axes import Axis, Grid
from .binned import inside_variance, several

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Corners:
    """The corners of an axis' bins, from the lowest to the highest."""

    axis: Axis

    @cached_property
    def bins(self) -> NDArray[np.int64]:
        """The bin of each corner."""
        return np.repeat(np.arange(self.axis.bins), 1 + several(self.axis))

    @cached_property
    def top(self) -> NDArray[np.bool_]:
        """Which corners are the upper ones of their bins."""
        return np.concatenate(([False], self.bins[1:] == self.bins[:-1]))

    @cached_property
    def places(self) -> NDArray[np.float64]:
        """The value at each corner."""
        low, high, _ = self.axis.geometry
        return np.where(self.top, high[self.bins], low[self.bins])

    @property
    def same(self) -> Matrix:
        """The share of each bin's values that equal the corner's."""
        return self._own(1 / self.axis.geometry[2][self.bins])

    @property
    def below(self) -> Matrix:
        """The share of each bin's values that lie below the corner's."""
        lower = (self.bins[:, None] > np.arange(self.axis.bins)[None, :]).astype(np.float64)
        return lower + self._own(np.where(self.top, 1 - 1 / self.axis.geometry[2][self.bins], 0.0))

    def _own(self, values: NDArray[np.float64]) -> Matrix:
        matrix = np.zeros((self.bins.size, self.axis.bins))
        matrix[np.arange(self.bins.size), self.bins] = values
        return matrix

    def greater(self, tie: float) -> Matrix:
        """[x > y] + tie [x = y], for x at the corner and y in the bin."""
        return self.below + tie * self.same

    def less(self, tie: float) -> Matrix:
        """[x < y] + tie [x = y], for x at the corner and y in the bin."""
        return 1 - self.below - (1 - tie) * self.same

    def order(self) -> Matrix:
        """The sign of x - y."""
        return 2 * self.below + self.same - 1

    def distance(self) -> Matrix:
        """|x - y|."""
        return np.abs(self.places[:, None] - self.axis.centres[None, :])

    def half_square(self) -> Matrix:
        """(x - y)^2 / 2."""
        apart = self.places[:, None] - self.axis.centres[None, :]
        return (apart**2 + inside_variance(self.axis)[None, :]) / 2

    def mean(self) -> Matrix:
        """(x + y) / 2."""
        return (self.places[:, None] + self.axis.centres[None, :]) / 2


def corner_shape(grid: Grid) -> tuple[int, ...]:
    """How many corners each axis has."""
    return tuple(Corners(axis).bins.size for axis in grid.axes)


def cell_means(grid: Grid, values: NDArray[Any]) -> NDArray[np.float64]:
    """The mean over each cell of a function given at the corners of all cells and linear in between."""
    table = values.reshape(corner_shape(grid))
    for place, axis in enumerate(grid.axes):
        corners = Corners(axis)
        total = np.add.reduceat(table, np.flatnonzero(~corners.top), axis=place)
        counts = np.bincount(corners.bins).astype(np.float64)
        table = total / counts.reshape([-1 if each == place else 1 for each in range(table.ndim)])
    return np.asarray(table.reshape(-1), dtype=np.float64)
