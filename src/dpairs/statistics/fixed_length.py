"""How many standard errors an interval reaches when its centre may also be biased.

An estimate whose error is normal with standard deviation s, around a value that is off by an unknown amount
of at most b, lies within cv s of the truth with probability at least ``level`` for

    cv = the ``level`` quantile of |N(b / s, 1)|,

because a smaller bias of either sign is covered more often. Without bias it is the usual normal quantile,
with much bias it is b / s plus the one-sided quantile: never b and z s added up. Armstrong and Kolesar,
"Optimal inference in a class of regression models" (Econometrica 2018), equation (4) and theorem 3.1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from statistics import NormalDist

FAR = 20.0
"""From so many standard errors on, the other tail is below the least positive double."""


def below(x: float) -> float:
    """P(N(0, 1) < x), exact in its tail."""
    return math.erfc(-x / math.sqrt(2)) / 2


def critical_value(ratio: float, level: float) -> float:
    """The ``level`` quantile of |N(ratio, 1)|, by bisection: a participant's device has no scipy.

    >>> [round(critical_value(ratio, 0.95), 3) for ratio in (0.0, 0.5, 1.0, 4.0)]
    [1.96, 2.181, 2.646, 5.645]
    """
    off, missed = abs(ratio), 1 - level
    least, most = off - NormalDist().inv_cdf(missed), off - NormalDist().inv_cdf(missed / 2)
    if off >= FAR:
        return least
    if off == 0:
        return most
    # P(|N| > c) falls in c; a little room at either end, where the root is when one tail is nothing.
    low, high = least - 1e-6, most + 1e-6
    while True:
        middle = (low + high) / 2
        if not low < middle < high:
            return middle
        if below(off - middle) + below(-off - middle) > missed:
            low = middle
        else:
            high = middle


def reach(standard_error: float, bias: float, level: float) -> float:
    """How far the interval goes either way: cv(b / s) s, which is b when there is no noise.

    >>> reach(0.0, 0.2, 0.95), round(reach(0.1, 0.0, 0.95), 3)
    (0.2, 0.196)
    """
    if not math.isfinite(bias) or not math.isfinite(standard_error):
        return math.inf
    # A noise so small beside the bias that their ratio has no double adds nothing.
    if standard_error <= 1e-300 or standard_error <= bias * 1e-12:
        return bias
    return critical_value(bias / standard_error, level) * standard_error


def relative_reach(estimate: float, deviation: float, least: float, level: float) -> float:
    """How far below an estimate its lower limit lies, as a share of it, if it is told only where it is clear.

    Of an estimate that is normal around m and told only above ``least`` standard deviations, the limit is the
    m at which those that are told exceed this one with probability (1 - level) / 2. Without ``least`` it lies
    a normal quantile below; one that is only just told says next to nothing, and the reach is infinite if m
    may be 0. Fithian, Sun and Taylor, "Optimal inference after model selection" (2014), section 2.

    >>> [round(each * relative_reach(each, 1.0, 3.09, 0.95), 2) for each in (3.5, 4.5, 6.0, 9.0)]
    [inf, 2.97, 2.05, 1.96]
    """
    missed = (1 - level) / 2
    if estimate >= FAR * deviation:
        return NormalDist().inv_cdf(1 - missed) * deviation / estimate
    told = estimate / deviation

    def exceeded(m: float) -> float:
        return below(m - told) / below(m - least)

    if exceeded(0.0) > missed:
        return math.inf
    low, high = 0.0, told
    while low < (middle := (low + high) / 2) < high:
        low, high = (low, middle) if exceeded(middle) > missed else (middle, high)
    return 1 - low / told


def fieller(reaches: Iterable[float]) -> float:
    """How much longer the interval of N/D is than the delta method's: 1 / (1 - g) for every divisor D.

    g is the square of D's ``reach`` z s / D, for its standard error s (Fieller, "Some problems in interval
    estimation", 1954). The interval has no end where D cannot be told from 0.
    """
    slack = 1.0
    for reach in reaches:
        slack = slack / (1 - reach**2) if reach < 1 else math.inf
    return slack
