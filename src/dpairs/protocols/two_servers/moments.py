"""How a function that is linear between the vertices of cells varies over people who lie evenly in cells."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Axis, Grid
from ...statistics.vertices import Vertices

Vector = NDArray[np.float64]


@lru_cache(maxsize=64)
def cell_ends(axis: Axis) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The first and the last vertex of every bin."""
    vertices = Vertices(axis)
    first = np.flatnonzero(~vertices.top)
    return first, np.append(first[1:], vertices.bins.size) - 1


def moments(grid: Grid, heights: Vector, masses: Vector) -> tuple[float, float]:
    """The variance of a function that is linear between the vertices of cells, and its part within cells."""
    points = _points(grid, heights)
    square, means = float(masses @ (points**2).mean(axis=1)), points.mean(axis=1)
    mean, between = float(masses @ means), float(masses @ means**2)
    return max(square - mean**2, 0.0), max(square - between, 0.0)


def variances_within(grid: Grid, heights: Vector) -> Vector:
    """Its variance within every cell."""
    return np.asarray(_points(grid, heights).var(axis=1))


def _points(grid: Grid, heights: Vector) -> Vector:
    """Its values at the points of two-point Gauss quadrature on every axis, exact for squares of such."""
    ends = [cell_ends(axis) for axis in grid.axes]
    values = heights.reshape([int(last[-1]) + 1 for _, last in ends])
    offset = 0.5 / math.sqrt(3)
    for place, (first, last) in enumerate(ends):
        low, high = np.take(values, first, axis=place), np.take(values, last, axis=place)
        values = np.stack([low + (0.5 + side) * (high - low) for side in (-offset, offset)], axis=-1)
    return np.asarray(values.reshape(grid.cells, -1))
