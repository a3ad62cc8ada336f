"""Your own kernels: a table of levels, or an expression of circuit numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter
from ..formats.checks import integer
from .arithmetic import MAX_BITS, Bit, Number, Space
from .bits import Bits, Words, bits_of, from_bits
from .circuit import EVALUATOR, GARBLER, Circuit
from .kernels import PairKernel

MAX_TABLE = 64
"""Largest side of a table that is looked up inside a circuit."""


@dataclass(frozen=True)
class Table(PairKernel):
    """Any kernel of few values: level ``table[x][y]``."""

    table: tuple[tuple[int, ...], ...]
    offset: Fraction = Fraction(0)
    step: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        """Refuse a table that is not square or not of levels."""
        side = integer("the side of the table", len(self.table), 2, MAX_TABLE)
        if any(len(row) != side for row in self.table):
            raise BadParameter("a kernel's table must be square")
        for row in self.table:
            for entry in row:
                integer("a level of the table", entry, 0, 2**32 - 1)
        if self.top == 0:
            raise BadParameter("a kernel whose levels are all 0 has nothing to compute")

    @classmethod
    def of(cls, matrix: NDArray[np.float64], levels: int = 2**10) -> Table:
        """A table of real numbers, each moved to the nearest of ``levels`` + 1 equal steps."""
        low, high = float(matrix.min()), float(matrix.max())
        if not low < high:
            raise BadParameter("a kernel whose values are all the same has nothing to compute")
        steps = np.round((matrix - low) / (high - low) * integer("levels", levels, 1, 2**32 - 1))
        rows = tuple(tuple(int(entry) for entry in row) for row in steps.tolist())
        return cls(rows, Fraction(low), (Fraction(high) - Fraction(low)) / levels)

    @property
    def largest(self) -> int:  # type: ignore[override]
        return len(self.table) - 1

    @cached_property
    def top(self) -> int:
        return max(max(row) for row in self.table)

    def build(self, x: Sequence[Number], y: Sequence[Number], random_bits: Sequence[Bit]) -> Number:
        width = len(y[0].bits)
        place = Number(x[0].space, y[0].bits + x[0].bits, 0, 2 ** (2 * width) - 1)
        padded = [entry for row in self.table for entry in (*row, *[0] * (2**width - len(row)))]
        return place.lookup(padded + [0] * (2 ** (2 * width) - len(padded)))

    def plain(self, x: Words, y: Words, random_bits: Bits) -> Words:
        levels = np.array(self.table, dtype=np.uint64)
        chosen: Words = levels[x[:, 0].astype(np.intp), y[:, 0].astype(np.intp)]
        return chosen


@dataclass(frozen=True)
class Expression(PairKernel):
    """Any kernel that ``formula`` writes with circuit numbers: one argument for each side.

    An argument is a `Number`, or a tuple of them when there are several columns. The result may be a bit or
    a number; a negative one is moved up so that its levels start at 0.

    >>> close = Expression(lambda a, b: abs(a - b) < 10, largest=255)
    >>> close.top, close.plain(np.array([[7]], dtype=np.uint64), np.array([[16]], dtype=np.uint64), None)
    (1, array([1], dtype=uint64))
    """

    formula: Callable[..., Number | Bit]
    largest: int
    columns: int = 1  # type: ignore[misc]
    step: Fraction = Fraction(1)

    def _made(self) -> tuple[Space, Number]:
        space = Space()
        x = [space.number(GARBLER, self.largest) for _ in range(self.columns)]
        y = [space.number(EVALUATOR, self.largest) for _ in range(self.columns)]
        return space, self._result(x, y)

    def _result(self, x: Sequence[Number], y: Sequence[Number]) -> Number:
        result = self.formula(*((x[0], y[0]) if self.columns == 1 else (tuple(x), tuple(y))))
        return result.number() if isinstance(result, Bit) else result

    @cached_property
    def _circuit(self) -> tuple[Circuit, int, int]:
        space, value = self._made()
        if value.high - value.low >= 2**MAX_BITS:
            raise BadParameter(f"a kernel of more than {MAX_BITS} bits is too large")
        level = value - value.low
        return space.compile(level), value.low, level.high

    @property
    def offset(self) -> Fraction:  # type: ignore[override]
        """The smallest value, at level 0."""
        return self.step * self._circuit[1]

    @property
    def top(self) -> int:
        return self._circuit[2]

    def build(self, x: Sequence[Number], y: Sequence[Number], random_bits: Sequence[Bit]) -> Number:
        result = self._result(x, y)
        return result - result.low

    def plain(self, x: Words, y: Words, random_bits: Bits) -> Words:
        """The formula's circuit, run in the clear."""
        width = self.largest.bit_length()
        rows = [bits_of(side[:, column], width) for side in (x, y) for column in range(self.columns)]
        return from_bits(self._circuit[0].run(np.concatenate(rows)))
