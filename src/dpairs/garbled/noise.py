"""Noise made inside the circuit, from random bits that neither party knows.

Every random bit is the XOR of one bit of each party, so it is uniform as long as one of the two is honest
about its own. A biased bit compares a number of ``precision`` random bits with a public threshold, which
costs one AND per bit but one. All probabilities are integers out of a power of two: `pmf` is exact, epsilon
is derived from it and rounded up.

Noise turns a *level* (0 .. top, see `kernels`) into a *symbol* (0 .. symbols - 1). `worth` decodes a symbol
into an estimate of the level.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from ..formats.checks import integer
from ..mechanisms.thresholds import exp_below, largest_ratio, log_above
from .arithmetic import MAX_BITS, Bit, Number
from .bits import Bits, Words, from_bits

MAX_TOP = 2**MAX_BITS - 1
MIN_PRECISION, MAX_PRECISION = 2, 64


class Noise(ABC):
    """From a kernel's level to a symbol, with an exact distribution.

    For any two levels and every symbol y, P(y | level) <= e^epsilon P(y | other level) + delta.
    """

    name: ClassVar[str]
    delta: ClassVar[float] = 0.0
    top: int
    precision: int

    @property
    @abstractmethod
    def random_bits(self) -> int:
        """Random bits that the circuit needs; each costs one transfer of the evaluator's bit."""

    @property
    @abstractmethod
    def symbols(self) -> int:
        """How many outputs there are."""

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The exact privacy loss, rounded up to a float."""

    @abstractmethod
    def build(self, level: Number, random_bits: Sequence[Bit]) -> Number:
        """The symbol as a circuit of the level and of ``self.random_bits`` random bits."""

    @abstractmethod
    def ideal(self, levels: Words, random_bits: Bits) -> NDArray[np.int64]:
        """The symbols that the circuit gives for these random bits (a row each), computed directly."""

    @abstractmethod
    def pmf(self, level: int) -> list[Fraction]:
        """The exact probabilities of all symbols."""

    @abstractmethod
    def worth(self, symbol: int) -> Fraction:
        """The level that a symbol stands for, on average."""

    @cached_property
    def decode(self) -> NDArray[np.float64]:
        return np.array([float(self.worth(symbol)) for symbol in range(self.symbols)])

    def bias(self, level: int) -> Fraction:
        """How far the decoded symbol's mean lies from the level, exactly."""
        mean = sum((p * self.worth(symbol) for symbol, p in enumerate(self.pmf(level))), Fraction(0))
        return mean - level

    def chances(self, level: int) -> NDArray[np.float64]:
        """`pmf` as floats, each within half a unit in the last place."""
        return np.array([float(p) for p in self.pmf(level)])

    def variance(self, level: int) -> float:
        """The variance of the decoded symbol, in squared levels."""
        chances = self.chances(level)
        mean = float(chances @ self.decode)
        return float(chances @ (self.decode - mean) ** 2)

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The JSON form, integer thresholds included."""


def below(random_bits: Sequence[Bit], threshold: int) -> Bit:
    """Whether the number made of ``random_bits`` is below a public threshold: P = threshold / 2^bits."""
    return random_bits[0].space.uniform(random_bits) < threshold


@dataclass(frozen=True)
class BitNoise(Noise):
    """One bit: stochastic rounding of the level, then randomized response.

    With g bits so that top <= 2^g, u uniform below 2^g and r uniform below 2^t, the symbol is
    (u < level) XOR (r < A): P(1 | v) = A/2^t + (v / 2^g) (1 - 2 A / 2^t), affine in v, so decoding is
    unbiased. A level of one bit needs no u: plain randomized response, t - 1 ANDs. Else g more.
    """

    top: int
    floor: int
    precision: int = 16
    name: ClassVar[str] = "response"

    def __post_init__(self) -> None:
        """Refuse thresholds that are no probabilities."""
        integer("noise top", self.top, 1, MAX_TOP)
        integer("noise precision", self.precision, MIN_PRECISION, MAX_PRECISION)
        integer("noise floor", self.floor, 1, 2 ** (self.precision - 1) - 1)

    @classmethod
    def for_epsilon(cls, top: int, epsilon: float, precision: int = 16) -> BitNoise:
        """The most accurate threshold that keeps ``epsilon``."""
        integer("noise precision", precision, MIN_PRECISION, MAX_PRECISION)
        share = Fraction(top, 2 ** (integer("noise top", top, 1, MAX_TOP) - 1).bit_length())
        floor = math.ceil(2**precision * share / (exp_below(epsilon) - 1 + 2 * share))
        return cls(top, fitting(floor, 2 ** (precision - 1) - 1, epsilon, precision), precision)

    @property
    def rounding(self) -> int:
        """g: random bits that round the level to one bit."""
        return (self.top - 1).bit_length()

    @property
    def random_bits(self) -> int:
        """The response takes t, the rounding g."""
        return self.precision + self.rounding

    @property
    def symbols(self) -> int:
        return 2

    @cached_property
    def epsilon(self) -> float:
        """From the two extreme levels: the probabilities of all others lie between theirs."""
        return log_above(largest_ratio([self.pmf(0), self.pmf(self.top)]))

    def build(self, level: Number, random_bits: Sequence[Bit]) -> Number:
        """Two comparisons and an XOR."""
        flipped = below(random_bits[: self.precision], self.floor)
        if self.top == 1:
            return (Bit(level.space, level.bits[0]) ^ flipped).number()
        rounded = level.space.uniform(random_bits[self.precision :]) < level
        return (rounded ^ flipped).number()

    def ideal(self, levels: Words, random_bits: Bits) -> NDArray[np.int64]:
        flipped = from_bits(random_bits[: self.precision]) < np.uint64(self.floor)
        rounded = levels == 1 if self.top == 1 else from_bits(random_bits[self.precision :]) < levels
        return (rounded ^ flipped).astype(np.int64)

    def pmf(self, level: int) -> list[Fraction]:
        """Exact probabilities of 0 and 1."""
        flip = Fraction(self.floor, 2**self.precision)
        one = flip + Fraction(level, 2**self.rounding) * (1 - 2 * flip)
        return [1 - one, one]

    def worth(self, symbol: int) -> Fraction:
        """(symbol - A/2^t) 2^g / (1 - 2 A/2^t): unbiased."""
        flip = Fraction(self.floor, 2**self.precision)
        return (symbol - flip) * (1 << self.rounding) / (1 - 2 * flip)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "top": str(self.top),
            "floor": str(self.floor),
            "precision": self.precision,
        }


def fitting(floor: int, most: int, epsilon: float, precision: int) -> int:
    """The threshold, unless rounding it to the safe side leaves nothing to tell."""
    if floor > most:
        raise BadParameter(f"epsilon {epsilon!r} is too small for probabilities of {precision} bits")
    return floor
