"""What many small privacy losses add up to."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from fractions import Fraction

from ..errors import BadParameter
from ..formats.checks import integer, positive, real

ROUNDING = 1e-12
"""More than a few operations on doubles can be off, relatively."""
Loss = tuple[float, float]
"""The epsilon and the delta of one answer."""
EXACT = 1_000_000
"""Most answers whose exact delta is summed up."""


def check_delta(delta: float) -> float:
    """Return ``delta`` if it lies strictly between 0 and 1."""
    number = real("delta", delta)
    if not 0 < number < 1:
        raise BadParameter(f"delta must lie between 0 and 1, not {delta!r}")
    return number


def delta_of(loss: float, times: int, epsilon: float) -> float:
    """The exact delta at ``epsilon`` of ``times`` mechanisms, each losing ``loss`` purely.

    Kairouz, Oh, Viswanath, "The composition theorem for differential privacy" (ICML 2015), Theorem 3.3:
    no composition of such mechanisms is worse than that of randomized responses, whose delta is
    sum over i of C(k, i) (e^((k-i) e0) - e^(eps + i e0))+ / (1 + e^e0)^k.

    >>> delta_of(0.1, 10, 1.0)
    0.0
    """
    return _delta(loss, integer("times", times, 1, 10_000), epsilon)


def _delta(loss: float, count: int, epsilon: float) -> float:
    total = 0.0
    for flips in range(count + 1):
        high, low = (count - flips) * loss, epsilon + flips * loss
        if high <= low:
            break
        log_weight = math.lgamma(count + 1) - math.lgamma(flips + 1) - math.lgamma(count - flips + 1)
        log_weight += high - count * (loss + math.log1p(math.exp(-loss)))
        total += math.exp(log_weight) * -math.expm1(low - high)
    return total


def composed_ratio(most: int, least: int, times: int, delta: float) -> Fraction:
    """The least e^epsilon of ``times`` answers with probabilities in the ratio most : least, at ``delta``.

    The same theorem solved for epsilon, in whole numbers: with p = most and a = least,
    delta (p + a)^k = sum over i of C(k, i) (p^(k-i) a^i - e^eps p^i a^(k-i))+. Positive terms come first, so
    that is the largest sum of first terms, whatever their sign, and each such sum bounds e^eps from below.

    >>> float(composed_ratio(3, 1, 2, 0.25))
    5.0
    """
    count, allowed = integer("times", times, 1, 10_000), Fraction(check_delta(delta))
    whole = allowed * (most + least) ** count
    gained, lost, ratio = 0, 0, Fraction(1)
    for flips in range((count + 1) // 2):
        ways = math.comb(count, flips)
        gained += ways * most ** (count - flips) * least**flips
        lost += ways * most**flips * least ** (count - flips)
        ratio = max(ratio, (gained - whole) / lost)
    return ratio


def advanced_share(epsilon: float, delta: float, times: int) -> float:
    """The paper's share of each of ``times`` levels: eps / (sqrt(k) (1 + sqrt(2 ln(1/delta)))).

    The paper asks for eps <= sqrt(k) ln 2, which is not enough (erratum 15): k e0 (e^e0 - 1) must not exceed
    e0 sqrt(k), so e0 <= ln(1 + 1/sqrt(k)). Both are asked for here, the second as the exact delta where
    that can be computed, and more is refused.
    """
    whole, allowed = positive("epsilon", epsilon), check_delta(delta)
    limit = math.sqrt(times) * math.log(2)
    if whole > limit:
        raise BadParameter(
            f"the paper's composition needs epsilon of at most sqrt({times}) ln 2 = {limit:.4g}, "
            f"not {epsilon:g}; the optimal one has no such limit"
        )
    share = whole / (math.sqrt(times) * (1 + math.sqrt(2 * math.log(1 / allowed))))
    proven = share <= math.log1p(1 / math.sqrt(times))
    if not proven and (times > EXACT or _delta(share, times, whole) > allowed):
        raise BadParameter(
            f"the paper's composition of {times} answers does not keep delta {delta:g} at epsilon "
            f"{epsilon:g}; the optimal one does"
        )
    return share


def optimal_share(epsilon: float, delta: float, times: int) -> float:
    """The largest share whose ``times``-fold composition is (epsilon, delta)-private, never below eps/k.

    >>> share = optimal_share(1.0, 1e-6, 16)
    >>> share > advanced_share(1.0, 1e-6, 16) and delta_of(share, 16, 1.0) <= 1e-6
    True
    """
    whole, allowed = positive("epsilon", epsilon), check_delta(delta) * (1 - 1e-9)
    low, high = whole / times, whole
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, times, whole) <= allowed else (low, middle)
    return low


def filtered_epsilon(losses: Sequence[Loss], slack: float) -> Fraction:
    """The least epsilon at which a privacy filter lets all these answers out.

    The losses may be chosen one after another by somebody who has seen all earlier answers: that is what a
    filter is for, and what composition theorems for losses that are fixed beforehand do not cover.

    Without slack it is their sum: Rogers, Roth, Ullman and Vadhan, "Privacy odometers and filters: pay-as-
    you-go composition" (NeurIPS 2016, arXiv 1605.08294), which introduces filters. With slack = delta' > 0,
    also sqrt(2 ln(1/delta') sum e_i^2) + sum e_i^2 / 2 where that is less: Whitehouse, Ramdas, Rogers and Wu,
    "Fully adaptive composition in differential privacy" (ICML 2023, arXiv 2203.05481), Theorem 1. Its
    conditions: delta' is fixed before the first answer; each answer is (e_i, d_i)-private given the earlier
    ones, with losses known before it is made; and an answer is made only if the bound with it stays within
    the limit, and the sum of all d_i within a delta'' that is fixed too. All together are then (limit, delta'
    + delta'')-private. Exchanges that interleave, as those of pairs do, change nothing: Haney et al.,
    "Concurrent composition for interactive differential privacy with adaptive privacy-loss parameters" (CCS
    2023).

    The less of the two is a filter as well. While the sum is within the limit, no outcome loses more than the
    limit; while the other bound is, Ville's inequality, behind that theorem, holds at all times at once.

    >>> float(filtered_epsilon([(1.0, 0.0), (0.5, 0.0)], 0.0))
    1.5
    """
    total = sum((Fraction(epsilon) for epsilon, _ in losses), Fraction(0))
    if slack == 0 or not losses:
        return total
    exact = sum((Fraction(epsilon) ** 2 for epsilon, _ in losses), Fraction(0))
    squares = float(exact) if exact < sys.float_info.max else math.inf
    bound = math.sqrt(2 * math.log(1 / check_delta(slack)) * squares) + squares / 2
    return min(total, Fraction(bound * (1 + ROUNDING)) if math.isfinite(bound) else total)


def summed_delta(losses: Sequence[Loss]) -> Fraction:
    """The sum of all deltas, exactly."""
    return sum((Fraction(delta) for _, delta in losses), Fraction(0))
