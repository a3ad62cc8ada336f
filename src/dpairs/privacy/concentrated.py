"""Gaussian noise: from concentrated privacy to (epsilon, delta), and back.

Discrete Gaussian noise of parameter v on integers of squared L2 sensitivity D is D / (2 v)-concentrated, and
concentrated losses add up (Canonne, Kamath, Steinke, "The discrete Gaussian for differential privacy",
NeurIPS 2020, theorem 14; Bun, Steinke, TCC 2016, lemma 1.7).
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache


def delta_of(rho: float, epsilon: float) -> float:
    """The least delta that a rho-concentrated mechanism is known to have at ``epsilon``.

    inf over alpha > 1 of exp((alpha - 1)(alpha rho - epsilon)) / (alpha - 1) (1 - 1 / alpha)^alpha (the same
    paper, corollary 13 and proposition 12). Every alpha gives a valid bound, so the search need not be exact.
    """

    def bound(order: float) -> float:
        return (order - 1) * (order * rho - epsilon) - math.log(order - 1) + order * math.log1p(-1 / order)

    low, high = 1 + 1e-9, max(2.0, (epsilon + 1) / (2 * rho) * 2 + 2)
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(200):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if bound(left) < bound(right):
            high = right
        else:
            low = left
    return min(1.0, math.exp(min(bound((low + high) / 2), 0.0)))


@lru_cache(maxsize=64)
def rho_for(epsilon: float, delta: float) -> Fraction:
    """The largest loss, to 2^-40, whose `delta_of` is at most ``delta``; kept, as each claim asks for it."""
    low, high = 0, int((epsilon + 1) * 2**40)
    while high - low > 1:
        middle = (low + high) // 2
        if delta_of(middle / 2**40, epsilon) <= delta:
            low = middle
        else:
            high = middle
    return Fraction(low, 2**40)
