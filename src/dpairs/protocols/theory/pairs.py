"""Section 5: pairs of people who compute together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from ...errors import BadParameter
from ...formats.checks import integer, positive
from ...privacy.composition import advanced_share
from .generic import MAX_PEOPLE, moments_of


def pairs_variance(n: int, pairs: int, zeta_1: float, zeta_2: float, group: int | None = None) -> float:
    """Theorem "subsampling" without noise: n people, each in ``pairs`` random pairs (Blom's formula).

    zeta_1 is the variance of E[f(x, X)] over x (erratum 5), zeta_2 that of f(X, X'). Where people meet only
    within a ``group`` of so many, two of them meet again more often, and the group takes n's place inside.
    """
    people, pairings = integer("n", n, 3, MAX_PEOPLE), integer("pairs", pairs, 1, MAX_PEOPLE)
    first, second = moments_of(zeta_1, zeta_2)
    again = (pairings - 1) / (integer("group", people if group is None else group, 2, people) - 1)
    shared = 2 * (pairings - 1 - again) * first
    return 2 / (pairings * people) * (shared + (1 + again) * second)


def uncoordinated_variance(n: int, pairs: int, zeta_1: float, zeta_2: float) -> float:
    """Each person draws P/2 others, without coordination (appendix, "optimality of subsampling schemes").

    Blom's formula 4 / (P n)^2 (f_1 zeta_1 + f_2 zeta_2). With p = P / (2 (n - 1)) a pair {i, j} is drawn
    2 p times on average, of mean square 2 p + 2 p^2, so f_2 = P n (1 + p) / 2; and a person is in P / 2 plus
    a binomial number of pairs, of mean square P^2 + P (1 - p) / 2, so f_1 = P n (P - 1 - p + (1 - p) / 2).
    """
    people, drawn = integer("n", n, 3, MAX_PEOPLE), integer("pairs", pairs, 2, MAX_PEOPLE)
    if drawn % 2 or drawn // 2 > people - 1:
        raise BadParameter(f"pairs must be even and at most 2 (n - 1) = {2 * (people - 1)}, not {pairs}")
    first, second = moments_of(zeta_1, zeta_2)
    share = drawn / 2 / (people - 1)
    sharing = drawn * people * (drawn - 1 - share + (1 - share) / 2)
    same = drawn * people * (1 + share) / 2
    return 4 / (drawn * people) ** 2 * (sharing * first + same * second)


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
    people, pairings = integer("n", n, 2, MAX_PEOPLE), integer("pairs", pairs, 1, MAX_PEOPLE)
    first, second = moments_of(zeta_1, zeta_2)
    return 2 / (pairings * people) * (pairings - 1) / (people - 1) * (second - 2 * first)


def all_pairs_noise(n: int, epsilon: float, delta: float) -> float:
    """The paper's baseline: all pairs, Laplace noise for a kernel in [0, 1], by advanced composition."""
    people = integer("n", n, 3, MAX_PEOPLE)
    return 2 / advanced_share(epsilon, delta, people - 1) ** 2 * 2 / (people * (people - 1))


def zetas(kernel: NDArray[np.float64], masses: NDArray[np.float64]) -> tuple[float, float]:
    """zeta_1 and zeta_2 of a kernel's matrix on cells that hold these shares of people."""
    along = kernel @ masses
    mean = float(masses @ along)
    return float(masses @ along**2) - mean**2, float(masses @ kernel**2 @ masses) - mean**2
