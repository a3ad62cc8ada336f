"""Section 3: quantization and k-ary randomized response."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...errors import BadParameter
from ...formats.checks import integer, positive, real

MAX_PEOPLE = 2**62


def slope_of(name: str, value: float) -> float:
    """A Lipschitz constant: a number of at least 0."""
    number = real(name, value)
    if number < 0:
        raise BadParameter(f"{name} must be at least 0, not {value!r}")
    return number


def moments_of(zeta_1: float, zeta_2: float) -> tuple[float, float]:
    """The two variances of a symmetric kernel: 0 <= 2 zeta_1 <= zeta_2."""
    first, second = real("zeta_1", zeta_1), real("zeta_2", zeta_2)
    if first < 0 or 2 * first > second * (1 + 1e-9) + 1e-12:
        raise BadParameter(f"zeta_1 must lie between 0 and half of zeta_2, not {zeta_1!r} and {zeta_2!r}")
    return first, second


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
    people, (first, second) = integer("n", n, 2, MAX_PEOPLE), moments_of(zeta_1, zeta_2)
    return 2 / (people * (people - 1)) * (2 * (people - 2) * first + second)


def krr_variance(n: int, epsilon: float, kernel: NDArray[np.float64], cells: NDArray[np.float64]) -> float:
    """Lemma "discretevariance": the exact variance of the estimate from k-ary randomized response.

    ``kernel`` is the symmetric k x k matrix A, ``cells`` the distribution D of people over the cells.
    """
    k = len(cells)
    if np.shape(kernel) != (k, k) or not np.allclose(kernel, np.transpose(kernel)):
        raise BadParameter(f"the kernel must be a symmetric matrix of {k} x {k}")
    if np.min(cells) < 0 or not math.isclose(float(np.sum(cells)), 1.0, rel_tol=1e-9):
        raise BadParameter("the cells must be a distribution: none below 0, and 1 together")
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
    """The corollary's approximation: (1 + k/eps)^2 / n + (1 + k/eps)^4 / (2 n^2).

    It is the bound's limit for small eps and large n, and no bound itself: it takes e^eps - 1 for eps, n - 1
    for n, and (1 + beta)^2 for 1, which is up to 4. At k = 10, eps = 0.01 and n = 10^6 it is 1.5 of the
    bound's 3.
    """
    people, ratio = integer("n", n, 2, MAX_PEOPLE), 1 + k / positive("epsilon", epsilon)
    return ratio**2 / people + ratio**4 / (2 * people**2)


def lipschitz_quantization_bound(k: int, lipschitz: float) -> float:
    """Lemma "lip": squared error of binning [0, 1] into k bins for an L-Lipschitz kernel: L^2 / k^2.

    Erratum 6: the printed L^2/(2 k^2) is too small by a factor of two, since both arguments move by
    up to 1/k inside their bins, so the kernel by up to 2 L/k, and half of that is the midpoint's error.
    """
    return (slope_of("lipschitz", lipschitz) / integer("k", k, 1, MAX_PEOPLE)) ** 2


def smooth_quantization_bound(diameter: float, density_lipschitz: float) -> float:
    """Lemma for smooth data: squared error 4 L^2 D^2 (1 + L^2 D^2) with bins of diameter D.

    L is the Lipschitz constant of the data's density, and the kernel is the average kernel.
    """
    move = slope_of("density_lipschitz", density_lipschitz) * positive("diameter", diameter)
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
    slope = slope_of("lipschitz", lipschitz)
    whole = math.sqrt(people) * slope * positive("epsilon", epsilon) / integer("apart", apart, 1, MAX_PEOPLE)
    return max(2, round(math.pow(whole, 1 / (integer("columns", columns, 1, 64) + 1))))


def mse_order(n: int, epsilon: float, lipschitz: float = 1.0) -> float:
    """Corollary "dphist-main": the order of the MSE at the best k: L / (sqrt(n) eps), no constant."""
    return slope_of("lipschitz", lipschitz) / (
        math.sqrt(integer("n", n, 1, MAX_PEOPLE)) * positive("epsilon", epsilon)
    )
