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
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Spread:
    """Two variances of one estimate: around the population's value, and around this sample's."""

    population: float
    sample: float


def one_sample_mean(counts: Vector, decoder: Matrix, kernel: Matrix) -> float:
    """The mean of A over ordered pairs of different people, estimated from one stratum's counts."""
    n = counts.sum()
    total = counts @ decoder
    twice_same = counts @ ((decoder @ kernel) * decoder).sum(axis=1)
    return float((total @ kernel @ total - twice_same) / (n * (n - 1)))


def two_sample_mean(counts: tuple[Vector, Vector], decoders: tuple[Matrix, Matrix], kernel: Matrix) -> float:
    """The mean of A over pairs of one person of each of two strata."""
    first, second = (count @ decoder / count.sum() for count, decoder in zip(counts, decoders, strict=True))
    return float(first @ kernel @ second)


def one_sample_spread(counts: Vector, decoder: Matrix, kernel: Matrix) -> Spread:
    """The variances of `one_sample_mean`; infinite below four people, where none can be estimated."""
    n = float(counts.sum())
    if n < 4:
        return Spread(math.inf, math.inf)
    pairs, triples, quadruples = n * (n - 1), n * (n - 1) * (n - 2), n * (n - 1) * (n - 2) * (n - 3)
    # Shifting the kernel by a constant changes no variance and saves digits.
    kernel = kernel - one_sample_mean(counts, decoder, kernel)
    half = decoder @ kernel
    reports = half @ decoder.T
    same = np.diagonal(reports)

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
    square_kernel = kernel**2
    kept_second = one_sample_mean(counts, decoder, square_kernel)
    crossed = float((half_square * cells - cube).sum()) / pairs
    first_order = max(shared / triples - kept_first, 0.0)
    one_sided = max(crossed - kept_second, 0.0)
    both_sided = max(squares / pairs + kept_second - 2 * crossed, 0.0)
    sample = 4 / n * ((n - 2) * first_order + one_sided) / (n - 1) + 2 * both_sided / pairs
    return Spread(population, min(sample, population))


def two_sample_spread(
    counts: tuple[Vector, Vector], decoders: tuple[Matrix, Matrix], kernel: Matrix
) -> Spread:
    """The variances of `two_sample_mean`; infinite when a stratum has fewer than two people."""
    n, m = float(counts[0].sum()), float(counts[1].sum())
    if n < 2 or m < 2:
        return Spread(math.inf, math.inf)
    kernel = kernel - two_sample_mean(counts, decoders, kernel)
    left, right = decoders[0] @ kernel, decoders[1] @ kernel.T
    reports = left @ decoders[1].T

    rows, columns = reports @ counts[1], counts[0] @ reports
    squares = float(counts[0] @ reports**2 @ counts[1])
    share_first = float(counts[0] @ rows**2) - squares
    share_second = float(counts[1] @ columns**2) - squares
    disjoint = float(counts[0] @ rows) ** 2 - share_first - share_second - squares
    centre = disjoint / (n * (n - 1) * m * (m - 1))
    mean_first, mean_second = share_first / (n * m * (m - 1)), share_second / (n * (n - 1) * m)
    zeta_10 = max(mean_first - centre, 0.0)
    zeta_01 = max(mean_second - centre, 0.0)
    zeta_11 = max(squares / (n * m) - centre, zeta_10 + zeta_01)
    population = ((m - 1) * zeta_10 + (n - 1) * zeta_01 + zeta_11) / (n * m)

    cells = counts[0] @ decoders[0], counts[1] @ decoders[1]
    left_square, right_square = counts[0] @ left**2, counts[1] @ right**2
    kept_first = float(cells[0] @ ((counts[1] @ right) ** 2 - right_square)) / (n * m * (m - 1))
    kept_second = float(cells[1] @ ((counts[0] @ left) ** 2 - left_square)) / (n * (n - 1) * m)
    kept_both = two_sample_mean(counts, decoders, kernel**2)
    crossed_first = float(left_square @ cells[1]) / (n * m)
    crossed_second = float(right_square @ cells[0]) / (n * m)
    first = max(mean_first - kept_first, 0.0) * (m - 1) + max(crossed_first - kept_both, 0.0)
    second = max(mean_second - kept_second, 0.0) * (n - 1) + max(crossed_second - kept_both, 0.0)
    both = max(squares / (n * m) + kept_both - crossed_first - crossed_second, 0.0)
    sample = (first + second + both) / (n * m)
    return Spread(population, min(sample, population))
