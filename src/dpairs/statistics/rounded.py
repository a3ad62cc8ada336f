"""What random rounding adds to means of distances: from nothing to an amount that the points' shares bound.

Points i and i + 1 lie at distance w_i, and somebody a fraction u through that interval is rounded up with
probability u. Of the people in interval i a share a_i of everybody goes up and b_i goes down, so the points
have the shares q_j = a_{j-1} + b_j. The mean of x is kept. So is |x - y| of two people in different
intervals. Of two people in one interval at u and v it becomes w_i (u (1 - v) + v (1 - u)) on average, which
is w_i |u - v| and an excess of 2 w_i min(u, v) (1 - max(u, v)). For given a_i and b_i the excess is largest
if all are at one place:

    |x - y|:     0 <= excess <= 2 sum_i w_i a_i b_i,
    (x - y)^2/2: 0 <= excess = mean of w_i^2 u (1 - u) <= sum_i w_i^2 a_i b_i / (a_i + b_i).

How the q_j are divided into a and b is not known, so the bounds are the largest over all divisions. Both are
q'Eq for a matrix E that depends on q only through which division is the worst: so they are forms, and have
standard errors as forms do.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..data.grids import Axis

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
STEPS = np.linspace(0.0, 1.0, 65)
"""Slopes of tangents among which the least bound is looked for: any of them gives a bound."""


def distance_excess(axis: Axis, masses: Vector) -> Matrix:
    """The E of the largest 2 sum_i w_i a_i b_i.

    It is linear in each b_j alone, so it is largest where every point has its people from one side: twice
    the largest sum of w_j q_j q_{j+1} over pairs of neighbours that share no point.
    """
    best = [0.0, 0.0]
    # In units of the widest interval, so that none of several even ones looks larger by its last digit.
    for product in (masses[:-1] * masses[1:] * (axis.gaps / axis.gaps.max())).tolist():
        best.append(max(best[-1], best[-2] + product))
    matrix: Matrix = np.zeros((masses.size, masses.size))
    points = masses.size
    while points > 1:
        paired = best[points] > best[points - 1]
        if paired:
            matrix[points - 2, points - 1] = matrix[points - 1, points - 2] = axis.gaps[points - 2]
        points -= 1 + paired
    return matrix


def half_square_excess(axis: Axis, masses: Vector) -> Matrix:
    """The E of the largest sum_i w_i^2 a_i b_i / (a_i + b_i)."""
    most = rounding_variances(masses, axis.gaps**2)
    return np.add.outer(most, most) / 2


def rounding_variances(masses: Vector, squares: Vector) -> Vector:
    """The c for which the largest sum_i s_i a_i b_i / (a_i + b_i) is at most sum_j q_j c_j; s_i are squares.

    This is concave, and ab / (a + b) is the least t^2 a + (1 - t)^2 b. So it is the least value, over all
    t_i in [0, 1], of sum_j q_j max(s_{j-1} t_{j-1}^2, s_j (1 - t_j)^2), which is found along the line.
    """
    upper, lower = np.multiply.outer(squares, STEPS**2), np.multiply.outer(squares, (1 - STEPS) ** 2)
    least, origins = masses[0] * lower[0], []
    for j in range(1, len(squares)):
        sums = least[:, None] + masses[j] * np.maximum.outer(upper[j - 1], lower[j])
        origins.append(sums.argmin(axis=0))
        least = sums.min(axis=0)
    path = [int((least + masses[-1] * upper[-1]).argmin())]
    for origin in reversed(origins):
        path.append(int(origin[path[-1]]))
    t = STEPS[path[::-1]]
    most: Vector = np.maximum(np.append(0.0, squares * t**2), np.append(squares * (1 - t) ** 2, 0.0))
    return most
