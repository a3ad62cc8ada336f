"""Points inside the cells of a grid, at which a custom kernel is averaged or searched for its extremes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Integers
from ..data.grids import Axis, Grid

MAX_NODES = 2**14
MAX_VALUES = 32
Nodes = tuple[NDArray[np.float64], NDArray[np.float64]]


def orders(grid: Grid) -> list[int]:
    """Quadrature nodes per axis: as many as the budget of kernel evaluations allows."""
    for order in (8, 6, 4, 3):
        nodes = math.prod(1 if axis.single else order for axis in grid.axes) * grid.cells
        if nodes <= MAX_NODES:
            break
    return [order] * len(grid.axes)


def average_nodes(axis: Axis, order: int) -> Nodes:
    """Gauss-Legendre nodes on each continuous bin; the values themselves on a discrete one.

    A bin of more than `MAX_VALUES` integers is represented by as many of them, evenly spread.
    """
    low, high, points = axis.geometry
    if axis.single:
        return low[:, None], np.ones((axis.bins, 1))
    if isinstance(axis.domain, Integers):
        steps = np.arange(int(min(points.max(), MAX_VALUES)))
        used = np.minimum(points, MAX_VALUES)[:, None]
        inside = steps[None, :] < used
        offsets = np.floor((np.minimum(steps, used - 1) + 0.5) * points[:, None] / used)
        return low[:, None] + offsets, inside / used
    roots, weights = np.polynomial.legendre.leggauss(order)
    unit = (roots + 1) / 2
    return low[:, None] + (high - low)[:, None] * unit, np.broadcast_to(weights / 2, (axis.bins, order))


def split_nodes(axis: Axis, parts: int, order: int) -> Nodes:
    """The same on each of so many equal parts of a continuous bin; a discrete one has its values already."""
    if axis.single or isinstance(axis.domain, Integers):
        return average_nodes(axis, order)
    low, high, _ = axis.geometry
    roots, weights = np.polynomial.legendre.leggauss(order)
    unit = ((np.arange(parts)[:, None] + (roots + 1) / 2) / parts).reshape(-1)
    shares = np.tile(weights / 2 / parts, parts)
    return low[:, None] + (high - low)[:, None] * unit, np.broadcast_to(shares, (axis.bins, shares.size))


def extreme_nodes(axis: Axis) -> Nodes:
    """Evenly spaced values from one end of each bin to the other."""
    low, high, _ = axis.geometry
    if axis.single:
        return low[:, None], np.ones((axis.bins, 1))
    unit = np.linspace(0, 1, 5)
    if isinstance(axis.domain, Integers):
        return low[:, None] + np.floor((high - low)[:, None] * unit), np.ones((axis.bins, 5))
    # A bin's upper end belongs to the next bin, where a kernel with a jump has another value.
    inside = np.minimum(low[:, None] + (high - low)[:, None] * unit, np.nextafter(high, -np.inf)[:, None])
    return inside, np.ones((axis.bins, 5))


def cell_nodes(sides: list[Nodes]) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """The nodes of a grid's cells from the nodes of its axes' bins."""
    if len(sides) == 1:
        return [sides[0][0]], sides[0][1]
    (x, weight_x), (y, weight_y) = sides
    shape = (x.shape[0], y.shape[0], x.shape[1], y.shape[1])
    cells, nodes = shape[0] * shape[1], shape[2] * shape[3]
    flat = [
        np.broadcast_to(side, shape).reshape(cells, nodes)
        for side in (x[:, None, :, None], y[None, :, None, :])
    ]
    weights = weight_x[:, None, :, None] * weight_y[None, :, None, :]
    return flat, np.ascontiguousarray(weights).reshape(cells, nodes)
