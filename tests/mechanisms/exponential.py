"""A bound on e^epsilon by another route than the code under test takes, and exact noise on whole numbers."""

from fractions import Fraction
from functools import cache

import numpy as np


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


def laplace_pmf(scale: float, reach: int) -> np.ndarray:
    """P(k) = tanh(1 / (2 scale)) exp(-|k| / scale) for k from -reach to reach."""
    places = np.abs(np.arange(-reach, reach + 1))
    return np.asarray(np.tanh(0.5 / scale) * np.exp(-places / scale))
