"""Kernels between the bins of one axis, in closed form: the average kernel and the midpoint kernel.

Bin i covers low..high and holds p equally spaced values (p infinite on an interval). For values that
fall evenly into their bins, the *average* kernel is the mean of f over the two bins; the *midpoint*
kernel is the middle between the largest and the smallest f over the two bins, and its half-distance
is the kernel uncertainty. The derivations are in the documentation's appendix on kernel matrices.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.grids import Axis
from .base import Form

Matrix = NDArray[np.float64]


def order(axis: Axis) -> Matrix:
    """+1 where the row's bin is above the column's, -1 below, 0 in the same bin."""
    index = np.arange(axis.bins)
    signs: Matrix = np.sign(index[:, None] - index[None, :]).astype(np.float64)
    return signs


def product(a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """A kernel between cells of a pair of axes, from kernels between the bins of each."""
    rows, columns = a.shape[0] * b.shape[0], a.shape[1] * b.shape[1]
    paired: NDArray[Any] = (a[:, None, :, None] * b[None, :, None, :]).reshape(rows, columns)
    return paired


def several(axis: Axis) -> NDArray[np.bool_]:
    """Which bins hold more than one value."""
    return axis.geometry[2] > 1


def greater(axis: Axis, tie: float, kernel: str) -> Form:
    """[x > y] + tie [x = y]."""
    matrix = (order(axis) + 1) / 2
    same = 1 / axis.geometry[2]
    # In one bin two values agree with probability 1/p and are otherwise in either order.
    average = (1 - same) / 2 + same * tie
    np.fill_diagonal(matrix, average if kernel == "average" else np.where(several(axis), 0.5, tie))
    return Form(matrix, np.diag(np.where(several(axis), 0.5, 0.0)))


def equal(axis: Axis, kernel: str) -> Form:
    same = 1 / axis.geometry[2] if kernel == "average" else np.where(several(axis), 0.5, 1.0)
    return Form(np.diag(same), np.diag(np.where(several(axis), 0.5, 0.0)))


def distance(axis: Axis, kernel: str) -> Form:
    low, high, points = axis.geometry
    width = high - low
    matrix = np.abs(axis.centres[:, None] - axis.centres[None, :])
    # E|x - y| over p points spread over a width is width (p + 1) / (3 p): a third when p is infinite.
    average = width / 3 * (1 + 1 / points)
    np.fill_diagonal(matrix, average if kernel == "average" else width / 2)
    uncertainty = (width[:, None] + width[None, :]) / 2
    np.fill_diagonal(uncertainty, width / 2)
    return Form(matrix, uncertainty)


def inside_variance(axis: Axis) -> NDArray[np.float64]:
    """The variance of each bin's values."""
    low, high, points = axis.geometry
    # Variance of p points spread over a width: width^2 (p + 1) / (12 (p - 1)); 1/12 when p is infinite.
    width = high - low
    return np.where(several(axis), width**2 / 12 * (1 + 2 / np.maximum(points - 1, 1)), 0.0)


def half_square(axis: Axis, kernel: str) -> Form:
    """(x - y)^2 / 2."""
    low, high, _ = axis.geometry
    width = high - low
    apart = np.abs(axis.centres[:, None] - axis.centres[None, :])
    reach = (width[:, None] + width[None, :]) / 2
    farthest = (apart + reach) ** 2 / 2
    nearest = np.maximum(apart - reach, 0.0) ** 2 / 2
    if kernel == "average":
        inside = inside_variance(axis)
        matrix = (apart**2 + inside[:, None] + inside[None, :]) / 2
    else:
        matrix = (farthest + nearest) / 2
    return Form(matrix, (farthest - nearest) / 2)


def mean(axis: Axis) -> Form:
    """The mean of x as a form of pairs: (x + y) / 2."""
    width = axis.geometry[1] - axis.geometry[0]
    return Form((axis.centres[:, None] + axis.centres[None, :]) / 2, (width[:, None] + width[None, :]) / 4)
