"""Kernels as circuits: what two people compute of their values before the noise.

A kernel's result is a *level*, a whole number from 0 to ``top``; its real value is offset + step * level.
Each kernel is written twice: `build` makes the circuit, `plain` computes the same levels in numpy. The
garbler's values are x, the evaluator's are y. ``largest`` is the largest encoded value (see `encoding`); a
circuit trusts that both keep to it, as all of this trusts that both follow the protocol.

| kernel | level | ANDs for w bits |
| --- | --- | --- |
| `LessThan` | x < y, a tie counting 0 or a fair random bit | w |
| `Equal` | x = y | w - 1 |
| `Distance` | abs(x - y) | 2w - 1 |
| `SquaredDistance` | (x - y)^2 | about 1.5 w^2 |
| `Concordance` | 1 + sign * sign of two columns | 2 (2w - 1) + 2 |
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from ..formats.checks import choice, integer
from .arithmetic import MAX_BITS, Bit, Number
from .bits import Bits, Words


class PairKernel(ABC):
    """A function of the values of two people, as a circuit and in numpy."""

    columns: ClassVar[int] = 1
    random_bits: ClassVar[int] = 0
    largest: int
    offset: Fraction = Fraction(0)
    step: Fraction = Fraction(1)

    @property
    @abstractmethod
    def top(self) -> int: ...

    @abstractmethod
    def build(self, x: Sequence[Number], y: Sequence[Number], random_bits: Sequence[Bit]) -> Number:
        """The level as a circuit of the columns of both, and of ``self.random_bits`` random bits."""

    @abstractmethod
    def plain(self, x: Words, y: Words, random_bits: Bits) -> Words:
        """The level of each pair: a row of ``x`` and ``y``, a column of ``random_bits``."""

    def value(self, level: float) -> float:
        """The kernel's real value at a level."""
        return float(self.offset) + float(self.step) * level


@dataclass(frozen=True)
class LessThan(PairKernel):
    """AUC's kernel: whether the evaluator's score is the higher one.

    ``ties="half"`` decides a tie by a bit that nobody knows, so its mean is 1/2 and the level stays one
    bit; it costs no gate, because that bit is the comparison's first borrow. ``ties="zero"`` is the paper's.
    """

    largest: int
    ties: str = "half"

    def __post_init__(self) -> None:
        choice("ties", self.ties, ("half", "zero"))
        integer("largest", self.largest, 1, 2**MAX_BITS - 1)

    @property
    def top(self) -> int:
        return 1

    @property
    def random_bits(self) -> int:  # type: ignore[override]
        """One, when ties are tossed."""
        return int(self.ties == "half")

    def build(self, x: Sequence[Number], y: Sequence[Number], random_bits: Sequence[Bit]) -> Number:
        return x[0].less(y[0], tie=random_bits[0] if random_bits else None).number()

    def plain(self, x: Words, y: Words, random_bits: Bits) -> Words:
        won = x[:, 0] < y[:, 0]
        if self.random_bits:
            won |= (x[:, 0] == y[:, 0]) & (random_bits[0] == 1)
        return won.astype(np.uint64)


@dataclass(frozen=True)
class Equal(PairKernel):
    """The collision kernel: whether the two values are the same."""

    largest: int

    @property
    def top(self) -> int:
        return 1

    def build(self, x: Sequence[Number], y: Sequence[Number], random_bits: Sequence[Bit]) -> Number:
        """One AND per bit but one."""
        return (x[0] == y[0]).number()

    def plain(self, x: Words, y: Words, random_bits: Bits) -> Words:
        same: Words = (x[:, 0] == y[:, 0]).astype(np.uint64)
        return same


@dataclass(frozen=True)
class Distance(PairKernel):
    """Gini's kernel, the distance of two values in steps of ``step``."""

    largest: int
    step: Fraction = Fraction(1)

    @property
    def top(self) -> int:
        """As far apart as two values can be."""
        return self.largest

    def build(self, x: Sequence[Number], y: Sequence[Number], random_bits: Sequence[Bit]) -> Number:
        """A subtraction and an addition."""
        return abs(x[0] - y[0])

    def plain(self, x: Words, y: Words, random_bits: Bits) -> Words:
        return np.maximum(x[:, 0], y[:, 0]) - np.minimum(x[:, 0], y[:, 0])


@dataclass(frozen=True)
class SquaredDistance(PairKernel):
    """The variance's kernel (x - y)^2 / 2; ``step`` is half the square of a value's unit."""

    largest: int
    step: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        """Refuse squares of more than 64 bits."""
        integer("largest", self.largest, 1, 2 ** (MAX_BITS // 2) - 1)

    @property
    def top(self) -> int:
        return self.largest**2

    def build(self, x: Sequence[Number], y: Sequence[Number], random_bits: Sequence[Bit]) -> Number:
        distance = abs(x[0] - y[0])
        return distance * distance

    def plain(self, x: Words, y: Words, random_bits: Bits) -> Words:
        distance: Words = np.maximum(x[:, 0], y[:, 0]) - np.minimum(x[:, 0], y[:, 0])
        squared: Words = distance * distance
        return squared


@dataclass(frozen=True)
class Concordance(PairKernel):
    """Kendall's kernel sign(x1 - y1) * sign(x2 - y2); a tie in either column counts 0."""

    largest: int
    columns: ClassVar[int] = 2
    offset: ClassVar[Fraction] = Fraction(-1)  # type: ignore[misc]

    @property
    def top(self) -> int:
        """Discordant, tied, concordant: 0, 1, 2."""
        return 2

    def build(self, x: Sequence[Number], y: Sequence[Number], random_bits: Sequence[Bit]) -> Number:
        """Two comparisons and two tests of equality; the signs are multiplied by XOR."""
        differ = (x[0] != y[0]) & (x[1] != y[1])
        opposed = differ & ((x[0] < y[0]) ^ (x[1] < y[1]))
        return Number(differ.space, [differ.literal, opposed.literal], -1, 1) + 1

    def plain(self, x: Words, y: Words, random_bits: Bits) -> Words:
        above, below = (x > y).astype(np.int64), (x < y).astype(np.int64)
        levels: Words = (1 + (above - below).prod(axis=1)).astype(np.uint64)
        return levels
