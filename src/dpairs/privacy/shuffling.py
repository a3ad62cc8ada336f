"""What a shuffler adds: the central privacy of n reports when nobody knows which report is whose.

The n reports may differ only in their symbols: one stratum, one round, the same public coins
(`Protocol.crowd`). A tree's level and row are public, and a person alone with them gains nothing.

Feldman, McMillan, Talwar, "Hiding among the clones: a simple and nearly optimal analysis of privacy
amplification by shuffling" (FOCS 2021): n reports of an epsilon_0-private randomizer, shuffled, are
(epsilon, delta)-private with delta the hockey-stick divergence of two simple distributions. With C ~
Bin(n - 1, e^-epsilon_0), A ~ Bin(C, 1/2) and a coin that shows 1 with probability e^epsilon_0 / (1 +
e^epsilon_0), they are those of (A + coin, C - A + 1 - coin) and of the same with the coin turned over.

This is information for an analyst: a study's own claim never rests on a shuffler.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..formats.checks import integer, positive
from .composition import check_delta

TAIL = 1e-3
"""Of delta: the part that is spent on clones too rare to be summed over."""
MAX_PEOPLE = 10**12
SUMMANDS = 4000
"""Numbers of clones that are summed over one by one."""


@lru_cache(maxsize=1)
def _clones(rare: float, n: int, tail: float) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Numbers of clones, and their probabilities: the same at every epsilon that a search tries."""
    # scipy is imported here: a participant's device never computes this.
    from scipy.stats import binom

    low, high = (int(binom.ppf(end, n - 1, rare)) for end in (tail / 2, 1 - tail / 2))
    # Where there are many, in steps: delta falls with the number of clones, so a step's lower end bounds it.
    step = max(1, (high - low) // SUMMANDS)
    clones = np.arange(max(low, 0), high + 1, step)
    ends = np.minimum(clones + step - 1, high)
    return clones, binom.cdf(ends, n - 1, rare) - binom.cdf(clones - 1, n - 1, rare)


def shuffled_delta(epsilon_0: float, n: int, epsilon: float, tail: float = 1e-16) -> float:
    """An upper bound on delta for n shuffled reports."""
    from scipy.special import bdtrc

    rare, grow = math.exp(-epsilon_0), math.exp(epsilon)
    keep = 1 / (1 + rare)
    clones, weight = _clones(rare, n, tail)
    # The ratio (p j + q (c + 1 - j)) / (q j + p (c + 1 - j)) grows with j, and exceeds e^epsilon from here.
    first = np.ceil((clones + 1.0) * (grow * keep - (1 - keep)) / ((2 * keep - 1) * (grow + 1)) - 1e-12)
    # P(A >= j) and P(A >= j - 1), for A + coin >= j with the coin at 0 and at 1.
    without, with_it = (
        np.where(place <= 0, 1.0, np.where(place > clones, 0.0, bdtrc(np.maximum(place - 1, 0), clones, 0.5)))
        for place in (first, first - 1)
    )
    one = keep * with_it + (1 - keep) * without
    other = (1 - keep) * with_it + keep * without
    return float((weight * np.maximum(one - grow * other, 0.0)).sum()) + tail


def shuffled_epsilon(epsilon_0: float, n: int, delta: float) -> float:
    """The central epsilon of n shuffled reports at ``delta``; never above epsilon_0, which it is for one.

    >>> shuffled_epsilon(1.0, 10_000, 1e-6) < 0.1
    True
    """
    loss, people = positive("epsilon_0", epsilon_0), integer("n", n, 1, MAX_PEOPLE)
    allowed = check_delta(delta)
    if people == 1:
        return loss
    low, high = 0.0, loss
    for _ in range(40):
        middle = (low + high) / 2
        enough = shuffled_delta(loss, people, middle, TAIL * allowed) <= allowed
        low, high = (low, middle) if enough else (middle, high)
    return high
