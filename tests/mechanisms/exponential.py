"""A bound on e^epsilon by another route than the code under test takes."""

from fractions import Fraction


def exp_lower_bound(epsilon: float) -> Fraction:
    """A rational below e^epsilon by its own route: the Taylor series, every term of which is positive."""
    exponent, term, total = Fraction(epsilon), Fraction(1), Fraction(0)
    for step in range(1, 160):
        total += term
        term = term * exponent / step
    return total
