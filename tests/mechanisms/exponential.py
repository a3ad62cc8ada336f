"""A bound on e^epsilon by another route than the code under test takes."""

from fractions import Fraction
from functools import cache


@cache
def exp_lower_bound(epsilon: float) -> Fraction:
    """A rational below e^epsilon by its own route: the Taylor series, every term of which is positive.

    By Horner's rule on whole numbers: 1 + x / 1 (1 + x / 2 (1 + ...)), rounded down to 300 bits.
    """
    over, under = Fraction(epsilon).as_integer_ratio()
    top, bottom = 1, 1
    for step in range(158, 0, -1):
        top, bottom = bottom * under * step + over * top, bottom * under * step
    return Fraction(top * 2**300 // bottom, 2**300)
