"""k-ary randomized response inside the circuit, for kernels of few levels."""

from __future__ import annotations

import math
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
from .arithmetic import Bit, Number
from .bits import Bits, Words, from_bits
from .noise import MAX_PRECISION, MIN_PRECISION, Noise, fitting

MAX_KARY = 16
"""Most levels; with more, one bit or Laplace is better and cheaper."""


@dataclass(frozen=True)
class KaryNoise(Noise):
    """k-ary randomized response for k = top + 1 levels: the truth, or one of the others.

    Write k - 1 = 2^j o with o odd. A number r of t random bits is compared with F, 2F, .. oF. At oF and
    above the symbol is the level; else r's stretch and j fair bits choose which of the k - 1 others.
    So P(other) = F / 2^(t + j) each and P(truth) = 1 - o F / 2^t. About o (t - 1) ANDs: 14 for k = 3 at
    t = 15, where j = 1 spares a comparison.
    """

    top: int
    floor: int
    precision: int = 16
    name: ClassVar[str] = "kary"

    def __post_init__(self) -> None:
        """Refuse thresholds that are no probabilities."""
        integer("noise top", self.top, 1, MAX_KARY - 1)
        integer("noise precision", self.precision, MIN_PRECISION, MAX_PRECISION)
        integer("noise floor", self.floor, 1, (2**self.precision - 1) // self.stretches)
        if self.pmf(0)[0] <= self.pmf(0)[1]:
            raise BadParameter("noise that favours a wrong level over the true one cannot be decoded")

    @classmethod
    def for_epsilon(cls, top: int, epsilon: float, precision: int = 16) -> KaryNoise:
        """The most accurate threshold that keeps ``epsilon``."""
        integer("noise precision", precision, MIN_PRECISION, MAX_PRECISION)
        fair, stretches = _odd_part(integer("noise top", top, 1, MAX_KARY - 1))
        floor = math.ceil(2 ** (precision + fair) / (exp_below(epsilon) + top))
        most = math.ceil(Fraction(2 ** (precision + fair), top + 1)) - 1
        return cls(top, fitting(floor, min(most, 2**precision // stretches), epsilon, precision), precision)

    @property
    def fair(self) -> int:
        """j: fair bits that choose within a stretch."""
        return _odd_part(self.top)[0]

    @property
    def stretches(self) -> int:
        """o: stretches of r that give another level."""
        return _odd_part(self.top)[1]

    @property
    def random_bits(self) -> int:
        """The comparison takes t, the choice within a stretch j."""
        return self.precision + self.fair

    @property
    def symbols(self) -> int:
        return self.top + 1

    @cached_property
    def epsilon(self) -> float:
        return log_above(largest_ratio([self.pmf(level) for level in range(self.top + 1)]))

    def build(self, level: Number, random_bits: Sequence[Bit]) -> Number:
        """Add a shift modulo k."""
        space = level.space
        r = space.uniform(random_bits[: self.precision])
        under = [r < place * self.floor for place in range(1, self.stretches + 1)]
        stretch = sum(((~bit).number() for bit in under[:-1]), space.constant(0))
        other = (stretch << self.fair) + 1
        if self.fair:
            other = space.uniform(random_bits[self.precision :]) + other
        moved = level + under[-1].choose(other, space.constant(0))
        wrapped = (moved >= self.symbols).choose(moved - self.symbols, moved)
        return Number(space, wrapped.bits, 0, self.top)

    def ideal(self, levels: Words, random_bits: Bits) -> NDArray[np.int64]:
        r = from_bits(random_bits[: self.precision])
        chosen = from_bits(random_bits[self.precision :]) if self.fair else np.zeros_like(r)
        other = (r // np.uint64(self.floor) << np.uint64(self.fair)) + chosen + np.uint64(1)
        shift = np.where(r < np.uint64(self.floor * self.stretches), other, np.uint64(0))
        return ((levels + shift) % np.uint64(self.symbols)).astype(np.int64)

    def pmf(self, level: int) -> list[Fraction]:
        other = Fraction(self.floor, 2 ** (self.precision + self.fair))
        truth = 1 - self.top * other
        return [truth if symbol == level else other for symbol in range(self.symbols)]

    def worth(self, symbol: int) -> Fraction:
        """(symbol - P(other) (0 + 1 + .. + top)) / (P(truth) - P(other)): unbiased."""
        truth, other = self.pmf(0)[:2]
        return (symbol - other * self.top * self.symbols / 2) / (truth - other)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "top": str(self.top),
            "floor": str(self.floor),
            "precision": self.precision,
        }


def _odd_part(number: int) -> tuple[int, int]:
    """(j, o) with number = 2^j o and o odd."""
    twos = (number & -number).bit_length() - 1
    return twos, number >> twos
