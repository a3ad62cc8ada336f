"""Which way the interval of a mean over pairs must lean: its error and its standard error go together.

Means of distances are concave in the shares of people: near their largest value they are flat, and noise that
takes a mean too high also takes its standard error too low. Its interval then lies above the truth, while one
around a mean that is too low is too long. Let g(y) = E M(y, Y) - theta for reports y, let
psi(y, y') = M(y, y') - theta - g(y) - g(y') for pairs of them, and

    A = 8 E g^3 / n^2,   B = 8 E g(1) g(2) psi(1, 2) / n^2,   C = 8 E psi(1, 2) psi(2, 3) psi(3, 1) / n^3.

The mean has the third cumulant A + 3 B + C, and its covariance with its variance V's estimate is A + 2 B + C.
In the expansion of the studentized mean (Helmers, "On the Edgeworth expansion and the bootstrap approximation
for a Studentized U-statistic", Annals of Statistics 1991) the interval of z standard errors either way then
moves down by

    -((2 z^2 + 1) A / 6 + (z^2 + 1) (2 B + C) / 4) / V.

C is ours: V is 4 E g^2 / n there, and C of a smaller order. With it the formula is right for -(x + e)^2 with
normal e of deviation s at every x, also at 0 where g is 0: the interval of x goes z s either way from x + e,
so that of -x^2 around -(x + e)^2 + s^2 moves by (z^2 + 1) s^2.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .ustatistics import OneSample

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Lean:
    """A / V and (2 B + C) / V."""

    skewness: float
    curvature: float

    def down(self, z: float) -> float:
        """How far both ends of an interval should lie further down than z s either way; below 0: up.

        >>> round(Lean(0.0, -4.0).down(1.96), 2)
        4.84
        """
        return -((2 * z**2 + 1) / 6 * self.skewness + (z**2 + 1) / 4 * self.curvature)


def lean(counts: Vector, average: OneSample, variance: float) -> Lean:
    """The lean of `average.mean`, whose ``variance`` is given; of four people or more.

    The moments are estimated without coinciding reports, around the mean that was found. B is noisy just
    where the variance is small, but it has the sign of C: psi of a concave mean is negative definite. So it
    is 0 where it seems to have the other, and A is 0 where the g are.
    """
    n = float(counts.sum())
    if variance <= 0:
        return Lean(0.0, 0.0)
    reports = average.half @ average.decoder.T - average.mean([counts])
    same = np.diagonal(reports)
    squares = reports**2
    rows = reports @ counts - same
    rows_of_squares = squares @ counts - same**2
    rows_of_cubes = (squares * reports) @ counts - same**3
    paths = (reports * counts) @ reports

    weighed = counts * rows
    stars = float(counts @ (rows**3 - 3 * rows * rows_of_squares + 2 * rows_of_cubes))
    triangles = float(
        counts @ (paths * reports) @ counts - 3 * counts @ (same * np.diagonal(paths)) + 2 * counts @ same**3
    )
    # i - j - k - l, without those where i is k, l is j, or i is l.
    chains = float(weighed @ reports @ weighed - weighed @ (same * rows))
    chains += float(counts @ rows_of_cubes) - 2 * float(weighed @ rows_of_squares) - triangles
    quadruples = n * (n - 1) * (n - 2) * (n - 3)
    first = 8 * stars / quadruples / n**2 if counts @ (rows**2 - rows_of_squares) > 0 else 0.0
    third = 8 * triangles / (n * (n - 1) * (n - 2)) / n**3
    second = 8 * chains / quadruples / n**2
    return Lean(first / variance, (2 * (second if second * third > 0 else 0.0) + third) / variance)
