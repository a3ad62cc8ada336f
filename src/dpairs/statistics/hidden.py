"""How far a form can lie from its binned value, when nobody knows where in their cells people are.

With p the shares of the cells, cell i may hold its people anyhow. The *general* bound takes every pair of
cells at its worst: p'Rq, with R the largest distance of the kernel from its value on cells. It is sharp for
comparisons, where pairs of different cells cannot be off at all. For |x - y| and (x - y)^2 it is not: pairs
of different cells depend only on where the cells' means d_i are, so shifts of opposite sign cancel, and

    |x - y|:     sum_i 2 p_i d_i (F(below i) - F(above i))   + what pairs within one cell do,
    (x - y)^2/2: sum_i 2 p_i d_i (c_i - mean)   + the cells' own second moments - (sum_i p_i d_i)^2,

with |d_i| <= w_i / 2 for cells of width w_i around c_i. Both are attained by people at ends of their cells.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..data.grids import Axis
from .binned import inside_variance

Vector = NDArray[np.float64]


def below_less_above(masses: Vector) -> Vector:
    """For each bin of an axis, the share of people below it less the share above."""
    upto = np.cumsum(masses)
    signs: Vector = (upto - masses) - (upto[-1] - upto)
    return signs


def widths(axis: Axis) -> Vector:
    low, high, _ = axis.geometry
    return high - low


def within_distance(axis: Axis, masses: Vector) -> float:
    """What pairs within one cell add at most: their mean distance is from 0 to half a width, not a third."""
    wide = widths(axis)
    average = wide / 3 * (1 + 1 / axis.geometry[2])
    return float(masses**2 @ np.maximum(average, wide / 2 - average))


def distance_hidden(axis: Axis, masses: Vector) -> float:
    """Of the mean of |x - y|."""
    return float(masses * widths(axis) @ np.abs(below_less_above(masses))) + within_distance(axis, masses)


def half_square_hidden(axis: Axis, masses: Vector) -> float:
    """Of the mean of (x - y)^2 / 2, which is the variance."""
    wide, centres = widths(axis), axis.centres
    shifts = float(masses * wide @ np.abs(centres - masses @ centres))
    inside = inside_variance(axis)
    # A cell's mean square around its centre lies between 0 and w^2/4, and was taken for its even spread's.
    up, down = float(masses @ (wide**2 / 4 - inside)), float(masses @ inside)
    return shifts + max(up, down + (float(masses @ wide) / 2) ** 2)


def mean_hidden(axis: Axis, masses: Vector) -> float:
    """Of the mean of x."""
    return float(masses @ widths(axis)) / 2


def distance_uneven(axis: Axis, masses: Vector, shares: Vector) -> tuple[float, float]:
    """What the mean of |x - y| may lack, and have, beyond a derivative that is linear within cells.

    That takes pairs within a cell for those of an even spread, a mean distance m. A share s of the cell may
    lie anyhow: two of them are from 0 to w/2 apart, one of them and another from 3m/4 to w/2.
    """
    wide = widths(axis)
    average = wide / 3 * (1 + 1 / axis.geometry[2])
    one, two, further = 2 * shares * (1 - shares), shares**2, np.maximum(wide / 2 - average, 0.0)
    return -float(masses**2 @ ((one / 4 + two) * average)), float(masses**2 @ ((one + two) * further))


def half_square_uneven(axis: Axis, masses: Vector, shares: Vector) -> tuple[float, float]:
    """The same of the mean of (x - y)^2 / 2: of the means of (x - low)(high - x) and of x in a cell.

    The first is from 0 to w^2/4, and for an even spread w^2/6; means that are off lower it, by their square.
    """
    wide, off, inside = widths(axis), masses * shares, inside_variance(axis)
    return -float(off @ inside) - (float(off @ wide) / 2) ** 2, float(off @ (wide**2 / 4 - inside))
