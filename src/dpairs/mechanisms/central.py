"""Noise on a sum: the discrete Laplace and the discrete Gaussian distribution, drawn exactly from bits.

No floating point decides anything. A scale is a fraction, an exponential is a race of fair comparisons of
integers, and so the probabilities are those of the definition, not near them (Canonne, Kamath, Steinke, "The
discrete Gaussian for differential privacy", NeurIPS 2020, algorithms 1 to 3).

With integer sums of sensitivity D, `discrete_laplace(D / epsilon)` is epsilon-differentially private: the
ratio of two neighbouring probabilities is exactly exp(D / scale) at most.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from ..randomness import WORDS, Randomness

AT_ONCE = 64
"""Words fetched from a source at a time."""


class Draws:
    """Exact draws from a source of words; words are used in order, one after the other."""

    def __init__(self, bits: Randomness) -> None:
        self._bits = bits
        self._words: list[int] = []

    def _word(self) -> int:
        if not self._words:
            self._words = self._bits.words(AT_ONCE)[::-1].tolist()
        return self._words.pop()

    def below(self, limit: int) -> int:
        """A uniform integer from 0 up to, not including, ``limit``."""
        if limit < WORDS:
            while (number := self._word()) >= WORDS - WORDS % limit:
                pass
            return number % limit
        words = -(-limit.bit_length() // 64)
        span = WORDS**words
        most = span - span % limit
        while True:
            number = 0
            for _ in range(words):
                number = number << 64 | self._word()
            if number < most:
                return number % limit

    def chance(self, numerator: int, denominator: int) -> bool:
        """True with probability ``numerator / denominator``."""
        return self.below(denominator) < numerator

    def exponential_chance(self, numerator: int, denominator: int) -> bool:
        """True with probability exp(-numerator / denominator), for any fraction of at least 0."""
        while numerator > denominator:
            if not self._small_chance(1, 1):
                return False
            numerator -= denominator
        return self._small_chance(numerator, denominator)

    def _small_chance(self, numerator: int, denominator: int) -> bool:
        """For exponents up to 1: stop at the first of chances x, x/2, x/3, ... that fails; odd stops win."""
        step = 1
        while self.below(denominator * step) < numerator:
            step += 1
        return step % 2 == 1

    def laplace(self, scale: Fraction) -> int:
        """P(x) = (e^(1/s) - 1) / (e^(1/s) + 1) e^(-|x| / s) for the scale s."""
        top, bottom = scale.numerator, scale.denominator
        while True:
            within = self.below(top)
            if not self.exponential_chance(within, top):
                continue
            turns = 0
            while self._small_chance(1, 1):
                turns += 1
            size = (within + top * turns) // bottom
            negative = self.chance(1, 2)
            if not (negative and size == 0):
                return -size if negative else size

    def gaussian(self, variance: Fraction) -> int:
        """P(x) proportional to e^(-x^2 / (2 v)) for the parameter v."""
        scale = math.isqrt(int(variance)) + 1
        while True:
            size = self.laplace(Fraction(scale))
            apart = abs(size) - variance / scale
            exponent = apart**2 / (2 * variance)
            if self.exponential_chance(exponent.numerator, exponent.denominator):
                return size


def _check(number: Fraction, what: str) -> None:
    if number <= 0:
        raise BadParameter(f"{what} must be above 0, not {float(number):g}")


def discrete_laplace(scale: Fraction, count: int, bits: Randomness) -> NDArray[np.int64]:
    """``count`` independent draws with P(k) proportional to exp(-|k| / scale), exactly."""
    draws = Draws(bits)
    _check(scale, "a scale")
    return np.array([draws.laplace(scale) for _ in range(count)], dtype=np.int64)


def discrete_gaussian(variance: Fraction, count: int, bits: Randomness) -> NDArray[np.int64]:
    """``count`` independent draws with P(k) proportional to exp(-k^2 / (2 variance)), exactly."""
    draws = Draws(bits)
    _check(variance, "a variance")
    return np.array([draws.gaussian(variance) for _ in range(count)], dtype=np.int64)


def laplace_variance(scale: float) -> float:
    """2 q / (1 - q)^2 with q = exp(-1 / scale).

    >>> round(laplace_variance(10.0), 2)
    199.83
    """
    half = 0.5 / scale
    return 1 / (2 * math.sinh(half) ** 2) if half < 350 else 0.0
