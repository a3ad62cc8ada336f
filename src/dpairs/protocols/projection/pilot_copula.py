"""How two columns depend, as one number: the correlation of a Gaussian copula over their own shares.

A pilot of the plane from boxes alone has the noise of every box in it. What a derivative at a pilot misses is
quadratic in the pilot's errors, and a pilot of the right shape but for one number has hardly any. Whether
the people have that shape is looked at: let E be the measured dependence less the copula's, and Q = E'AE with
the kernel A of pairs in order, less its mean in imagined rounds. If Q is more than noise, boxes are taken as
they were measured. If not, the remainder may still be as large as the noise of Q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...formats.canonical import agreed

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
STRONGEST = 0.999
"""The largest correlation that is told from 1."""
PRECISE = 1e-7
"""How precisely the correlation is found."""
TINY = 1e-12
PLACES, WEIGHTS = np.polynomial.legendre.leggauss(8)


@dataclass(frozen=True, eq=False)
class Copula:
    """Gaussian copulas over these marginal shares of the bins of both columns."""

    first: Vector
    second: Vector

    @cached_property
    def _inside(self) -> tuple[Matrix, Matrix]:
        """Normal numbers inside each bin of the first column, and the shares that they stand for."""
        from scipy.special import ndtri

        ends = _cumulated(self.first)
        middle, half = (ends[1:] + ends[:-1]) / 2, (ends[1:] - ends[:-1]) / 2
        inside = np.clip(middle[:, None] + half[:, None] * PLACES, TINY, 1 - TINY)
        return ndtri(inside), half[:, None] * WEIGHTS

    @cached_property
    def _edges(self) -> Vector:
        """The normal numbers at the ends of the second column's bins."""
        from scipy.special import ndtri

        return np.asarray(ndtri(_cumulated(self.second)))

    @cached_property
    def scores(self) -> tuple[Vector, Vector]:
        """Of each bin, the share of people below less the share above."""
        return scores(self.first), scores(self.second)

    def shares(self, correlation: float) -> Matrix:
        """Of all cells: exact in the second column, by Gauss' rule in the first."""
        from scipy.special import ndtr

        at, weights = self._inside
        deviation = math.sqrt(1 - correlation**2)
        below = ndtr((self._edges[None, None, :] - correlation * at[:, :, None]) / deviation)
        return np.diff(np.einsum("ik,ikj->ij", weights, below), axis=1)

    def concordance(self, shares: Matrix) -> float:
        """Both columns' scores together, beyond what the shares' own marginals make of them."""
        first, second = self.scores
        rows, columns = shares.sum(axis=1), shares.sum(axis=0)
        return float(first @ shares @ second) - float(first @ rows) * float(second @ columns)

    def correlation(self, measured: Matrix) -> float:
        """That of the copula with the measured concordance, which grows with it."""
        from scipy.optimize import brentq

        wanted = self.concordance(measured)

        def beyond(correlation: float) -> float:
            return self.concordance(self.shares(correlation)) - wanted

        for end in (-STRONGEST, STRONGEST):
            if end * beyond(end) <= 0:
                return end
        return agreed(float(brentq(beyond, -STRONGEST, STRONGEST, xtol=PRECISE)))

    def missed(self, measured: Matrix, shares: Matrix) -> float:
        """E'AE of the measured dependence less that of ``shares``."""
        return form(dependence(measured) - dependence(shares))


def form(error: Matrix) -> float:
    """The sum over pairs of cells in the same order in both columns, less that over opposite pairs."""
    return float((error * _ordered(_ordered(error.T).T)).sum())


def beyond_function(tau: float) -> float:
    """Tau less 2/3 of Spearman's coefficient, which is all that a function of independent columns sees of it.

    At most a third, by Daniels' inequality |3 tau - 2 rho| <= 1 ("Rank correlation and population models",
    1950): a third for people on a curve. For normal columns it is tau - (4 / pi) asin(sin(pi tau / 2) / 2),
    which is of third order in tau (Kruskal, "Ordinal measures of association", 1958).

    >>> [round(beyond_function(tau), 3) for tau in (0.0, 0.3, 0.9, 1.0)]
    [0.0, 0.008, 0.242, 0.333]
    """
    return tau - 4 / math.pi * math.asin(math.sin(math.pi * tau / 2) / 2)


def dependence(shares: Matrix) -> Matrix:
    """What the shares of cells are beyond the product of their own marginals."""
    return np.asarray(shares - np.outer(shares.sum(axis=1), shares.sum(axis=0)))


def _cumulated(shares: Vector) -> Vector:
    ends: Vector = np.clip(np.concatenate([[0.0], np.cumsum(shares)]), 0.0, 1.0)
    ends[-1] = 1.0
    return ends


def scores(shares: Vector) -> Vector:
    """Of each bin, the share of people below less the share above: exactly 0 where one bin has everybody."""
    return np.asarray(2 * np.cumsum(shares) - shares - shares.sum())


def _ordered(table: Matrix) -> Matrix:
    """For each row, the sum of the rows below it less those above."""
    reached = np.cumsum(table, axis=0)
    return np.asarray(2 * reached - table - reached[-1])
