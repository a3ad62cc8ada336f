"""Probabilities as integers out of 2^64, rounded so that the true epsilon never exceeds the asked one.

No floating point decides anything here: e^epsilon is bounded from below by a decimal of 60 digits, and
the integers are rounded in the direction that lowers epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from decimal import Context, Decimal
from fractions import Fraction

from ..errors import BadParameter
from ..formats.checks import positive
from ..randomness import WORDS

_DIGITS = Context(prec=60)
_SLACK = Fraction(1, 10**55)
MAX_EPSILON = 64.0
"""Above this, 64-bit probabilities cannot tell the difference any more."""


def exp_below(epsilon: float) -> Fraction:
    """A fraction just below e^epsilon.

    >>> float(exp_below(1.0))
    2.718281828459045
    """
    exponential = Fraction(_DIGITS.exp(Decimal(min(positive("epsilon", epsilon), MAX_EPSILON))))
    return exponential * (1 - _SLACK)


def log_above(ratio: Fraction) -> float:
    """The smallest float found that is at least ln(ratio)."""
    quotient = _DIGITS.divide(Decimal(ratio.numerator), Decimal(ratio.denominator))
    logarithm = Fraction(_DIGITS.ln(quotient)) + _SLACK / 100
    nearest = float(logarithm)
    return nearest if Fraction(nearest) >= logarithm else math.nextafter(nearest, math.inf)


def floor_and_boost(epsilon: float, symbols: int, favoured: int) -> tuple[int, int]:
    """Integers (A, B): every symbol has weight A, and ``favoured`` symbols of an input have B more.

    A symbol's probability is A or A + B out of 2^64, up to fewer than ``favoured`` leftover words.
    A is rounded up and B down, so (A + B) / A <= e^epsilon.
    """
    ratio = exp_below(epsilon)
    floor = math.ceil(WORDS / (symbols + favoured * (ratio - 1)))
    boost = (WORDS - symbols * floor) // favoured
    if boost <= 0:
        raise BadParameter(f"epsilon {epsilon!r} is too small for {symbols} symbols of 64-bit probabilities")
    return floor, boost


def largest_ratio(rows: Iterable[Iterable[Fraction]]) -> Fraction:
    """The largest ratio of two inputs' probabilities of one symbol: e^epsilon, exactly."""
    worst = Fraction(1)
    for column in zip(*rows, strict=True):
        least = min(column)
        if least <= 0:
            raise BadParameter("a symbol that some input never gives has no finite epsilon")
        worst = max(worst, max(column) / least)
    return worst
