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

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

FAR = 20.0
"""From so many standard errors on, the other tail is below the least positive double."""


def critical_value(ratio: float, level: float) -> float:
    """The ``level`` quantile of |N(ratio, 1)|.

    >>> [round(critical_value(ratio, 0.95), 3) for ratio in (0.0, 0.5, 1.0, 4.0)]
    [1.96, 2.181, 2.65, 5.645]
    """
    off, missed = abs(ratio), 1 - level
    least, most = off - float(ndtri(missed)), off - float(ndtri(missed / 2))
    if off >= FAR:
        return least
    if off == 0:
        return most
    # P(|N| > c) = P(N(0, 1) < off - c) + P(N(0, 1) < -off - c), exact in the tails; a little room at either
    # end, where the root is when one of the two tails is nothing.
    found: float = brentq(
        lambda c: ndtr(off - c) + ndtr(-off - c) - missed, least - 1e-6, most + 1e-6, xtol=1e-14, rtol=1e-14
    )
    return found


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
