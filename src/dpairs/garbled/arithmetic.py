"""Whole numbers made of circuit bits, used like Python's integers.

A `Number` knows the smallest and largest value it can take, so a result is exactly as wide as it must be
and nothing ever overflows. Numbers that can be negative are in two's complement. Costs are in AND gates for
operands of w bits: ``+`` and ``-`` w, comparison w, ``==`` w - 1, ``abs`` w - 1, choosing w.

>>> space = Space()
>>> x, y = space.number(GARBLER, 255), space.number(EVALUATOR, 255)
>>> abs(x - y)
Number(0..255, 8 bits)
>>> space.compile(abs(x - y)).ands
15
"""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import BadParameter
from ..formats.checks import integer
from .circuit import EVALUATOR, FALSE, GARBLER, TRUE, Builder, Circuit, Literal

MAX_BITS = 64
"""The widest input of one party."""


class Space:
    """Where the numbers of one circuit live."""

    def __init__(self) -> None:
        self.builder = Builder()

    def number(self, party: str, largest: int) -> Number:
        """An input of one party, from 0 to ``largest``."""
        width = integer("largest", largest, 1, 2**MAX_BITS - 1).bit_length()
        return Number(self, [self.builder.input(party) for _ in range(width)], 0, largest)

    def random_bit(self) -> Bit:
        """A random bit that neither party knows: the XOR of one bit of each."""
        return Bit(self, self.builder.input(GARBLER)) ^ Bit(self, self.builder.input(EVALUATOR))

    def constant(self, value: int) -> Number:
        """A number that everybody knows."""
        bits = [value >> place & 1 for place in range(_width(value, value))]
        return Number(self, bits, value, value)

    def uniform(self, random_bits: Sequence[Bit]) -> Number:
        """The number whose binary digits are ``random_bits``, lowest first."""
        return Number(self, [bit.literal for bit in random_bits], 0, 2 ** len(random_bits) - 1)

    def compile(self, *outputs: Number | Bit) -> Circuit:
        """The circuit that gives these outputs, lowest bit first."""
        bits = [[out.literal] if isinstance(out, Bit) else out.bits for out in outputs]
        return self.builder.compile([literal for each in bits for literal in each])


class Bit:
    """One bit of a circuit, with ``&``, ``|``, ``^`` and ``~``."""

    def __init__(self, space: Space, literal: Literal) -> None:
        self.space = space
        self.literal = literal

    def __repr__(self) -> str:
        return "Bit()"

    def __xor__(self, other: Bit) -> Bit:
        return Bit(self.space, self.space.builder.xor(self.literal, other.literal))

    def __and__(self, other: Bit) -> Bit:
        return Bit(self.space, self.space.builder.and_(self.literal, other.literal))

    def __or__(self, other: Bit) -> Bit:
        return ~(~self & ~other)

    def __invert__(self) -> Bit:
        return Bit(self.space, self.literal ^ 1)

    def number(self) -> Number:
        """The number 0 or 1."""
        return Number(self.space, [self.literal], 0, 1)

    def choose(self, yes: Number, no: Number) -> Number:
        """``yes`` where this bit is 1, else ``no``: one AND per bit in which they may differ."""
        low, high = min(yes.low, no.low), max(yes.high, no.high)
        builder, width = self.space.builder, _width(low, high)
        pairs = zip(yes.extended(width), no.extended(width), strict=True)
        bits = [builder.xor(b, builder.and_(self.literal, builder.xor(a, b))) for a, b in pairs]
        return Number(self.space, bits, low, high)


class Number:
    """A whole number between ``low`` and ``high``; bits lowest first, two's complement if low < 0."""

    def __init__(self, space: Space, bits: Sequence[Literal], low: int, high: int) -> None:
        self.space = space
        self.low, self.high = low, high
        self.bits = list(bits[: _width(low, high)])

    def __repr__(self) -> str:
        return f"Number({self.low}..{self.high}, {len(self.bits)} bits)"

    def extended(self, width: int) -> list[Literal]:
        """The bits, widened to ``width`` without a change of value."""
        last = self.bits[-1] if self.low < 0 else FALSE
        return (self.bits + [last] * width)[:width]

    def _other(self, value: Number | int) -> Number:
        return self.space.constant(value) if isinstance(value, int) else value

    def _sum(self, other: Number, flip: int, carry: Literal, low: int, high: int) -> Number:
        """Add (other XOR flip) and a carry, modulo 2^width."""
        width, builder = _width(low, high), self.space.builder
        bits = []
        for place, (a, b) in enumerate(zip(self.extended(width), other.extended(width), strict=True)):
            a_carry = builder.xor(a, carry)
            bits.append(builder.xor(a_carry, b ^ flip))
            if place < width - 1:
                carry = builder.xor(carry, builder.and_(a_carry, builder.xor(b ^ flip, carry)))
        return Number(self.space, bits, low, high)

    def __add__(self, value: Number | int) -> Number:
        other = self._other(value)
        return self._sum(other, 0, FALSE, self.low + other.low, self.high + other.high)

    __radd__ = __add__

    def __sub__(self, value: Number | int) -> Number:
        other = self._other(value)
        return self._sum(other, 1, TRUE, self.low - other.high, self.high - other.low)

    def __rsub__(self, value: int) -> Number:
        return self._other(value) - self

    def __neg__(self) -> Number:
        return 0 - self

    def less(self, value: Number | int, tie: Bit | None = None) -> Bit:
        """Whether self < value; a tie gives ``tie`` (0 by default), at no further cost."""
        other = self._other(value)
        signed = min(self.low, other.low) < 0
        width = max(len(self.bits) + (self.low >= 0), len(other.bits) + (other.low >= 0)) - (not signed)
        builder = self.space.builder
        borrow = FALSE if tie is None else tie.literal
        a_bits, b_bits = self.extended(width), other.extended(width)
        if signed:  # the sign's place counts the other way round
            a_bits[-1], b_bits[-1] = b_bits[-1], a_bits[-1]
        for a, b in zip(a_bits, b_bits, strict=True):
            both = builder.and_(builder.xor(a ^ 1, borrow), builder.xor(b, borrow))
            borrow = builder.xor(borrow, both)
        return Bit(self.space, borrow)

    def __lt__(self, value: Number | int) -> Bit:
        return self.less(value)

    def __gt__(self, value: Number | int) -> Bit:
        return self._other(value).less(self)

    def __le__(self, value: Number | int) -> Bit:
        return ~(self > value)

    def __ge__(self, value: Number | int) -> Bit:
        return ~(self < value)

    def __ne__(self, value: object) -> Bit:  # type: ignore[override]
        if not isinstance(value, (Number, int)):
            raise BadParameter("a circuit number can be compared with a number only")
        other = self._other(value)
        width = max(len(self.bits) + (self.low >= 0), len(other.bits) + (other.low >= 0))
        builder = self.space.builder
        pairs = zip(self.extended(width), other.extended(width), strict=True)
        layer = [literal for a, b in pairs if (literal := builder.xor(a, b)) != FALSE] or [FALSE]
        while len(layer) > 1:  # a tree: as many ANDs as a chain, and fewer levels
            pairs = zip(layer[::2], layer[1::2], strict=False)
            merged = [builder.and_(a ^ 1, b ^ 1) ^ 1 for a, b in pairs]
            layer = merged + layer[len(layer) & ~1 :]
        return Bit(self.space, layer[0])

    def __eq__(self, value: object) -> Bit:  # type: ignore[override]
        return ~(self != value)

    __hash__ = None  # type: ignore[assignment]

    @property
    def negative(self) -> Bit:
        """Whether the number is below zero."""
        return Bit(self.space, self.bits[-1] if self.low < 0 else FALSE)

    def __abs__(self) -> Number:
        """(z + s) XOR s, with s the sign repeated (paper, appendix on implementing 2PC)."""
        if self.low >= 0:
            return self
        sign, high = self.negative.literal, max(-self.low, self.high)
        builder, width = self.space.builder, _width(0, high)
        repeated = Number(self.space, [sign], -1, 0)
        shifted = self._sum(repeated, 0, FALSE, 0, 2**width - 1)
        return Number(self.space, [builder.xor(bit, sign) for bit in shifted.bits], 0, high)

    def sign(self) -> Number:
        return Number(self.space, [(self != 0).literal, self.negative.literal], -1, 1)

    def __mul__(self, value: Number | int) -> Number:
        """Shift and add; exact for either sign, since all is modulo 2^width."""
        other = self._other(value)
        ends = [a * b for a in (self.low, self.high) for b in (other.low, other.high)]
        low, high = min(ends), max(ends)
        width, builder = _width(low, high), self.space.builder
        mine = self.extended(width) if low < 0 else self.bits
        total = self.space.constant(0)
        for place, bit in enumerate(other.extended(width) if low < 0 else other.bits):
            row = [builder.and_(bit, each) for each in mine[: width - place]]
            part = Number(self.space, [FALSE] * place + row, 0, 2 ** (place + len(row)) - 1)
            top = min(total.high + part.high, 2**width - 1)
            total = total._sum(part, 0, FALSE, 0, top)
        return Number(self.space, total.extended(width), low, high)

    __rmul__ = __mul__

    def __rshift__(self, places: int) -> Number:
        """The floor of self / 2^places; free."""
        last = [self.bits[-1] if self.low < 0 else FALSE]
        return Number(self.space, self.bits[places:] + last, self.low >> places, self.high >> places)

    def __lshift__(self, places: int) -> Number:
        """2^places times the number; free."""
        return Number(self.space, [FALSE] * places + self.bits, self.low << places, self.high << places)

    def clamp(self, low: int, high: int) -> Number:
        """The nearest number between ``low`` and ``high``."""
        constant, result = self.space.constant, self
        if result.high > high:
            result = (result > high).choose(constant(high), result)._bounded(result.low, high)
        if result.low < low:
            result = (result < low).choose(constant(low), result)._bounded(low, result.high)
        return result

    def _bounded(self, low: int, high: int) -> Number:
        """The same number, when it is known to lie between these."""
        return Number(self.space, self.bits, low, high)

    def lookup(self, table: Sequence[int]) -> Number:
        """``table[self]``, by a tree of choices from the lowest bit up."""
        if self.low < 0 or self.high >= len(table):
            raise BadParameter(f"a table of {len(table)} entries cannot be read at {self.low}..{self.high}")
        row = [self.space.constant(entry) for entry in table[: self.high + 1]]
        for literal in self.bits:
            bit = Bit(self.space, literal)
            odd = [*row[1::2], *row[-1:]]  # beyond the end any entry will do
            row = [bit.choose(yes, no) for no, yes in zip(row[::2], odd, strict=False)]
        return row[0]._bounded(min(table), max(table))


def _width(low: int, high: int) -> int:
    """Bits that hold every number from ``low`` to ``high``."""
    return max(1, high.bit_length()) if low >= 0 else max((~low).bit_length(), max(high, 0).bit_length()) + 1
