"""U-statistics of reports, and their variance, from nothing but counts of symbols.

A report y decodes to a vector r(y) whose mean is the indicator of the person's cell, so
M(y, y') = r(y)' A r(y') has mean A(x, x'), and the average of M over pairs of reports is itself a
U-statistic: unbiased for that of A. Its variance has two readings.

*Population*: people are a sample, reports are independent and alike, and Hoeffding's formula applies:
Var = 2/(n(n-1)) [2(n-2) zeta_1 + zeta_2]. *Sample*: the people at hand are fixed and only the
randomizers vary, so the part of zeta_1 and zeta_2 that the people themselves cause is taken off.

Every moment below is estimated without bias, by leaving out coinciding reports. So the degenerate
case, where zeta_1 = 0 and only the second-order term is left, needs no special treatment but a floor
at zero.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Variances:
    """Two variances of one estimate: around the population's value, and around this sample's."""

    population: float
    sample: float


@dataclass(frozen=True, eq=False)
class OneSample:
    """The kernel M(y, y') = r(y)' A r(y') between the reports of one stratum.

    What does not depend on the counts is computed once, so that a value takes O(k^2).
    """

    decoder: Matrix
    kernel: Matrix

    @cached_property
    def half(self) -> Matrix:
        """r(y)' A for every symbol y."""
        return self.decoder @ self.kernel

    @cached_property
    def same(self) -> Vector:
        diagonal: Vector = np.einsum("yk,yk->y", self.half, self.decoder)
        return diagonal

    def mean(self, strata: Sequence[Vector]) -> float:
        """The mean of A over ordered pairs of different people, without bias."""
        (counts,) = strata
        n = counts.sum()
        total = counts @ self.decoder
        return float((total @ self.kernel @ total - counts @ self.same) / (n * (n - 1)))

    def variances(self, strata: Sequence[Vector]) -> Variances:
        """The variances of `mean`; infinite below four people, where none can be estimated."""
        if strata[0].sum() < 4:
            return Variances(math.inf, math.inf)
        # Shifting the kernel by a constant changes no variance and saves digits.
        return _one_sample_variances(strata[0], OneSample(self.decoder, self.kernel - self.mean(strata)))


@dataclass(frozen=True, eq=False)
class TwoSamples:
    """The kernel M(y, y') = r(y)' A r(y') between reports of two strata with one mechanism."""

    decoder: Matrix
    kernel: Matrix

    def mean(self, strata: Sequence[Vector]) -> float:
        """The mean of A over pairs of one person of each stratum, without bias."""
        first, second = (counts @ self.decoder / counts.sum() for counts in strata)
        return float(first @ self.kernel @ second)

    def variances(self, strata: Sequence[Vector]) -> Variances:
        """The variances of `mean`; infinite when a stratum has fewer than two people."""
        first, second = strata
        if first.sum() < 2 or second.sum() < 2:
            return Variances(math.inf, math.inf)
        return _two_sample_variances(first, second, TwoSamples(self.decoder, self.kernel - self.mean(strata)))


def _one_sample_variances(counts: Vector, centred: OneSample) -> Variances:
    n = float(counts.sum())
    pairs, triples, quadruples = n * (n - 1), n * (n - 1) * (n - 2), n * (n - 1) * (n - 2) * (n - 3)
    decoder, half, same = centred.decoder, centred.half, centred.same
    reports = half @ decoder.T

    rows = reports @ counts - same
    total = counts @ rows
    squares = float(counts @ reports**2 @ counts - counts @ same**2)
    shared = float(counts @ rows**2) - squares
    disjoint = float(total**2) - 4 * shared - 2 * squares
    centre = disjoint / quadruples
    zeta_1 = max(shared / triples - centre, 0.0)
    zeta_2 = max(squares / pairs - centre, 2 * zeta_1)
    population = 2 / pairs * (2 * (n - 2) * zeta_1 + zeta_2)

    cells, along = counts @ decoder, counts @ half
    half_square = counts @ half**2
    product = counts @ (decoder * half)
    cube = counts @ (decoder * half**2)
    # E (A h)(x)^2 over three different people, and E A(x, x')^2, E (r' A e_x')^2 over two.
    kept_first = float((cells * (along**2 - half_square) - 2 * along * product + 2 * cube).sum()) / triples
    kept_second = OneSample(decoder, centred.kernel**2).mean([counts])
    crossed = float((half_square * cells - cube).sum()) / pairs
    first_order = max(shared / triples - kept_first, 0.0)
    one_sided = max(crossed - kept_second, 0.0)
    both_sided = max(squares / pairs + kept_second - 2 * crossed, 0.0)
    sample = 4 / n * ((n - 2) * first_order + one_sided) / (n - 1) + 2 * both_sided / pairs
    return Variances(population, min(sample, population))


def _two_sample_variances(first: Vector, second: Vector, centred: TwoSamples) -> Variances:
    n, m = float(first.sum()), float(second.sum())
    decoder, kernel = centred.decoder, centred.kernel
    left, right = decoder @ kernel, decoder @ kernel.T
    reports = left @ decoder.T

    rows, columns = reports @ second, first @ reports
    squares = float(first @ reports**2 @ second)
    share_first = float(first @ rows**2) - squares
    share_second = float(second @ columns**2) - squares
    disjoint = float(first @ rows) ** 2 - share_first - share_second - squares
    centre = disjoint / (n * (n - 1) * m * (m - 1))
    mean_first, mean_second = share_first / (n * m * (m - 1)), share_second / (n * (n - 1) * m)
    zeta_10 = max(mean_first - centre, 0.0)
    zeta_01 = max(mean_second - centre, 0.0)
    zeta_11 = max(squares / (n * m) - centre, zeta_10 + zeta_01)
    population = ((m - 1) * zeta_10 + (n - 1) * zeta_01 + zeta_11) / (n * m)

    cells = first @ decoder, second @ decoder
    left_square, right_square = first @ left**2, second @ right**2
    kept_first = float(cells[0] @ ((second @ right) ** 2 - right_square)) / (n * m * (m - 1))
    kept_second = float(cells[1] @ ((first @ left) ** 2 - left_square)) / (n * (n - 1) * m)
    kept_both = TwoSamples(decoder, kernel**2).mean([first, second])
    crossed_first = float(left_square @ cells[1]) / (n * m)
    crossed_second = float(right_square @ cells[0]) / (n * m)
    noise_first = max(mean_first - kept_first, 0.0) * (m - 1) + max(crossed_first - kept_both, 0.0)
    noise_second = max(mean_second - kept_second, 0.0) * (n - 1) + max(crossed_second - kept_both, 0.0)
    both = max(squares / (n * m) + kept_both - crossed_first - crossed_second, 0.0)
    sample = (noise_first + noise_second + both) / (n * m)
    return Variances(population, min(sample, population))
