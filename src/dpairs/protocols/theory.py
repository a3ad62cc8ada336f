r"""The paper's bounds and parameter choices of its sections 3, 4 and 5, one function for each theorem.

"Private Protocols for U-Statistics in the Local Model and Beyond" (Bell, Bellet, Gascon, Kulkarni,
AISTATS 2020). Kernels have values in [0, 1] unless said otherwise; ``beta`` is the probability of a
uniformly random answer. Where the paper's text is wrong, the corrected statement is computed and the
docstring names the erratum.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from ..formats.checks import integer, positive, real
from ..privacy.composition import advanced_share

MAX_PEOPLE = 2**62


def redraw_probability(k: int, epsilon: float) -> float:
    """Beta = k / (k + e^eps - 1), for which k-ary randomized response is epsilon-private (Algorithm 1).

    Erratum 1: the true bin is sent with probability 1 - beta + beta/k, not 1 - beta.

    >>> round(redraw_probability(2, 1.0), 4)
    0.5379
    """
    cells = integer("k", k, 1, MAX_PEOPLE)
    return cells / (cells + math.expm1(min(positive("epsilon", epsilon), 700.0)))


def ustatistic_variance(n: int, zeta_1: float, zeta_2: float) -> float:
    """Hoeffding's variance of a U-statistic: 2/(n(n-1)) (2(n-2) zeta_1 + zeta_2) (section 2).

    Erratum 5: zeta_1 is the variance of the projection E[f(x_1, X_2) | x_1].
    """
    people = integer("n", n, 2, MAX_PEOPLE)
    return 2 / (people * (people - 1)) * (2 * (people - 2) * zeta_1 + zeta_2)


def krr_variance(n: int, epsilon: float, kernel: NDArray[np.float64], cells: NDArray[np.float64]) -> float:
    """Lemma "discretevariance": the exact variance of the estimate from k-ary randomized response.

    ``kernel`` is the symmetric k x k matrix A, ``cells`` the distribution D of people over the cells.
    """
    k = len(cells)
    beta = redraw_probability(k, epsilon)
    reports = (1 - beta) * cells + beta / k
    along = kernel @ cells
    first = float(reports @ along**2 - (reports @ along) ** 2)
    shifted = (np.eye(k) - beta / k) @ kernel
    inner = shifted**2 @ reports - (shifted @ reports) ** 2
    second = float(reports @ inner)
    people = integer("n", n, 2, MAX_PEOPLE)
    pairs = people * (people - 1) / 2
    return ((2 * people - 3) / (1 - beta) ** 2 * first + second / (1 - beta) ** 4) / pairs


def krr_variance_bound(n: int, k: int, epsilon: float) -> float:
    """Theorem "discrete-case": Var <= 1/(n (1-beta)^2) + (1+beta)^2 / (2 n (n-1) (1-beta)^4)."""
    people = integer("n", n, 2, MAX_PEOPLE)
    beta = redraw_probability(k, epsilon)
    return 1 / (people * (1 - beta) ** 2) + (1 + beta) ** 2 / (2 * people * (people - 1) * (1 - beta) ** 4)


def krr_variance_approximation(n: int, k: int, epsilon: float) -> float:
    """The corollary's approximation for small epsilon: (1 + k/eps)^2 / n + (1 + k/eps)^4 / (2 n^2)."""
    people, ratio = integer("n", n, 2, MAX_PEOPLE), 1 + k / positive("epsilon", epsilon)
    return ratio**2 / people + ratio**4 / (2 * people**2)


def lipschitz_quantization_bound(k: int, lipschitz: float) -> float:
    """Lemma "lip": squared error of binning [0, 1] into k bins for an L-Lipschitz kernel: L^2 / k^2.

    Erratum 6: the printed L^2/(2 k^2) is too small by a factor of two, since both arguments move by
    up to 1/k inside their bins, so the kernel by up to 2 L/k, and half of that is the midpoint's error.
    """
    return (real("lipschitz", lipschitz) / integer("k", k, 1, MAX_PEOPLE)) ** 2


def smooth_quantization_bound(diameter: float, density_lipschitz: float) -> float:
    """Lemma for smooth data: squared error 4 L^2 D^2 (1 + L^2 D^2) with bins of diameter D.

    L is the Lipschitz constant of the data's density, and the kernel is the average kernel.
    """
    move = real("density_lipschitz", density_lipschitz) * positive("diameter", diameter)
    return 4 * move**2 * (1 + move**2)


def mse_bound_lipschitz_kernel(n: int, k: int, epsilon: float, lipschitz: float) -> float:
    """Theorem "dphist-main", first part: variance bound plus quantization of a Lipschitz kernel."""
    return krr_variance_bound(n, k, epsilon) + lipschitz_quantization_bound(k, lipschitz)


def mse_bound_smooth_data(n: int, k: int, epsilon: float, density_lipschitz: float) -> float:
    """Theorem "dphist-main", second part: variance bound plus quantization of smooth data."""
    return krr_variance_bound(n, k, epsilon) + smooth_quantization_bound(1 / k, density_lipschitz)


def best_bins(n: int, epsilon: float, lipschitz: float = 1.0, columns: int = 1, apart: int = 1) -> int:
    """Corollary "dphist-main": k = n^(1/4) sqrt(L eps), rounded, at least 2: bins of each column.

    L is the kernel's or the density's Lipschitz constant. Meant for eps <= 1; above, it asks for more
    bins than needed but stays usable.

    The paper has one column. With m ``columns`` of b bins each there are b^m cells, whose diameter is
    sqrt(m) / b, so (b^m c)^2 / (n eps^2) + m L^2 / b^2 is to be made small, where c is the number of values
    of further columns that are kept ``apart``: b^(m + 1) = sqrt(n) L eps / c.

    >>> best_bins(200_000, 1.0), best_bins(200_000, 1.0, columns=2)
    (21, 8)
    """
    people = integer("n", n, 1, MAX_PEOPLE)
    slope = real("lipschitz", lipschitz)
    if slope < 0:
        raise BadParameter(f"lipschitz must be at least 0, not {lipschitz!r}")
    whole = math.sqrt(people) * slope * positive("epsilon", epsilon) / integer("apart", apart, 1, MAX_PEOPLE)
    return max(2, round(math.pow(whole, 1 / (integer("columns", columns, 1, 64) + 1))))


def mse_order(n: int, epsilon: float, lipschitz: float = 1.0) -> float:
    """Corollary "dphist-main": the order of the MSE at the best k: L / (sqrt(n) eps), no constant."""
    return real("lipschitz", lipschitz) / (
        math.sqrt(integer("n", n, 1, MAX_PEOPLE)) * positive("epsilon", epsilon)
    )


# ---------------------------------------------------------------- section 4: AUC by trees


def oracle_gain(epsilon: float) -> float:
    """What undoes the flips of a randomized sign: c = (e^eps + 1) / (e^eps - 1).

    >>> round(oracle_gain(1.0), 4)
    2.164
    """
    return 1 / math.tanh(positive("epsilon", epsilon) / 2)


def oracle_variance(n: int, count: float, epsilon: float) -> float:
    """Lemma "fomse", corrected: the exact variance of a node's count from n people is n c^2 - count.

    Erratum 3: the printed 4 n e^eps / (e^eps - 1)^2 leaves out that each person answers about one row
    only, and is too small.

    >>> round(oracle_variance(20_000, 330.0, 1.0))
    93324
    """
    return n * oracle_gain(epsilon) ** 2 - count


def oracle_variance_others(n: int, count: float, epsilon: float, level: int) -> float:
    """The same without row 0, N = 2^level: ((N-1)/N)^2 [n c^2 - count - (n - count)/(N-1)^2]."""
    size = 2.0 ** integer("level", level, 1, 64)
    return (1 - 1 / size) ** 2 * (n * oracle_gain(epsilon) ** 2 - count - (n - count) / (size - 1) ** 2)


def oracle_covariance_others(n: int, counts: tuple[float, float], epsilon: float, level: int) -> float:
    """The covariance of two nodes' counts without row 0; with all rows it is zero."""
    size = 2.0 ** integer("level", level, 1, 64)
    both = counts[0] + counts[1]
    raw = (both - n * oracle_gain(epsilon) ** 2) / (size - 1) - (n - both) / (size - 1) ** 2
    return (1 - 1 / size) ** 2 * raw


def recursed_bound(positives: int, negatives: int, depth: int, constant: float, factor: float) -> float:
    """Lemma "recursed": at most (sqrt(n+) + sqrt(n-)) / (2 (sqrt(a) - 1) sqrt(C alpha)) nodes a level.

    ``constant`` is C, for which C n alpha is the variance of a node's count; ``factor`` is a.
    """
    people = math.sqrt(positives) + math.sqrt(negatives)
    return people / (2 * (math.sqrt(factor) - 1) * math.sqrt(constant * depth))


def tree_mse_bound(positives: int, negatives: int, depth: int, constant: float, factor: float) -> float:
    """Theorem "aucacc" for the AUC (the theorem's bound on the sum over pairs, over (n+ n-)^2)."""
    n, least = positives + negatives, min(positives, negatives)
    rest = 21 * math.sqrt(2 * n * constant * depth) / (math.sqrt(factor) - 1)
    return constant * depth**2 * (2 * n + (4 * factor + 1) * least + rest) / (positives * negatives)


def tree_mse_bound_zero(positives: int, negatives: int, depth: int, constant: float, factor: float) -> float:
    """The bound of the variant that gives discarded nodes zero."""
    n, least = positives + negatives, min(positives, negatives)
    rest = math.sqrt(2 * n * constant * depth) / (math.sqrt(factor) - 1)
    return constant * depth**2 * (2 * n + (8 * factor + 2) * least + rest) / (positives * negatives)


def tree_factor(positives: int, negatives: int, depth: int, constant: float) -> float:
    """The first corollary's a = (1 + sqrt(21/8) (2 C n alpha / n_min^2)^(1/4))^2."""
    n, least = positives + negatives, min(positives, negatives)
    root = math.sqrt(math.sqrt(2 * constant * n * depth / least**2))
    return (1 + math.sqrt(21 / 8) * root) ** 2


def tree_factor_zero(positives: int, negatives: int, depth: int, constant: float) -> float:
    """The second corollary's a = (1 + sqrt(sqrt(2 C alpha n) / (16 n_min)))^2."""
    n, least = positives + negatives, min(positives, negatives)
    return (1 + math.sqrt(math.sqrt(2 * constant * depth * n) / (16 * least))) ** 2


TREE_ORDERS = {
    "budget": "alpha^3 / (n eps^2)",
    "budget-advanced": "alpha^2 log(1/delta) / (n eps^2)",
    "users, around the sample": "alpha^3 / (n eps^2)",
    "users, around the population": "alpha^2 / (n eps^2)",
}
"""The paper's table of the orders of the MSE, upper bounds, by splitting."""


def pairs_variance(n: int, pairs: int, zeta_1: float, zeta_2: float, group: int | None = None) -> float:
    """Theorem "subsampling" without noise: n people, each in ``pairs`` random pairs (Blom's formula).

    zeta_1 is the variance of E[f(x, X)] over x (erratum 5), zeta_2 that of f(X, X'). Where people meet only
    within a ``group`` of so many, two of them meet again more often, and the group takes n's place inside.
    """
    people, rounds = integer("n", n, 3, MAX_PEOPLE), integer("pairs", pairs, 1, MAX_PEOPLE)
    again = (rounds - 1) / (integer("group", people if group is None else group, 2, people) - 1)
    shared = 2 * (rounds - 1 - again) * zeta_1
    return 2 / (rounds * people) * (shared + (1 + again) * zeta_2)


def pairs_mse(
    n: int, pairs: int, zeta_1: float, zeta_2: float, noise: float, group: int | None = None
) -> float:
    """The same with noise of variance ``noise`` in each of the ``pairs`` n / 2 pairs."""
    return pairs_variance(n, pairs, zeta_1, zeta_2, group) + 2 * noise / (pairs * n)


def pairs_laplace_noise(n: int, pairs: int, epsilon: float) -> float:
    """The theorem's noise term for a kernel in [0, 1], corrected: 4 P / (n eps^2) (erratum 4)."""
    people = integer("n", n, 2, MAX_PEOPLE)
    return 4 * integer("pairs", pairs, 1, MAX_PEOPLE) / (people * positive("epsilon", epsilon) ** 2)


def best_pairs(
    n: int, epsilon: float, zeta_1: float, zeta_2: float, noise: Callable[[float], float], most: int = 64
) -> int:
    """The number of pairs of least MSE; ``noise(share)`` is a pair's noise variance at that epsilon.

    >>> best_pairs(10_000, 0.5, 0.08, 0.25, lambda share: 2 / share**2)
    1
    >>> best_pairs(10_000, 10.0, 0.08, 0.25, lambda share: 2 / share**2)
    2
    """
    loss, limit = positive("epsilon", epsilon), integer("most", most, 1, MAX_PEOPLE)
    return min(
        range(1, limit + 1), key=lambda pairs: pairs_mse(n, pairs, zeta_1, zeta_2, noise(loss / pairs))
    )


def pairs_excess(n: int, pairs: int, zeta_1: float, zeta_2: float) -> float:
    """How far random permutations are from the best choice of pairs: 2 (P-1) (z2 - 2 z1) / (P n (n-1))."""
    people, rounds = integer("n", n, 2, MAX_PEOPLE), integer("pairs", pairs, 1, MAX_PEOPLE)
    return 2 / (rounds * people) * (rounds - 1) / (people - 1) * (zeta_2 - 2 * zeta_1)


def all_pairs_noise(n: int, epsilon: float, delta: float) -> float:
    """The paper's baseline: all pairs, Laplace noise for a kernel in [0, 1], by advanced composition."""
    people = integer("n", n, 3, MAX_PEOPLE)
    return 2 / advanced_share(epsilon, delta, people - 1) ** 2 * 2 / (people * (people - 1))


def zetas(kernel: NDArray[np.float64], masses: NDArray[np.float64]) -> tuple[float, float]:
    """zeta_1 and zeta_2 of a kernel's matrix on cells that hold these shares of people."""
    along = kernel @ masses
    mean = float(masses @ along)
    return float(masses @ along**2) - mean**2, float(masses @ kernel**2 @ masses) - mean**2
