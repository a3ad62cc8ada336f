"""The circuits of the draft, one class for each kind of measurement."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BadParameter, BadValue
from .arguments import listed, settle, whole
from .circuits import (
    LARGEST,
    RANGE_OF_BIT,
    EachElement,
    InChunks,
    bit_weights,
    bits_of,
)
from .fields import Vector
from .gadgets import Gadget, PolynomialOf, Products, wire_length


@dataclass(frozen=True)
class Count(EachElement):
    """0 or 1, added up: x x - x = 0."""

    @property
    def length(self) -> int:
        return 1

    @property
    def gadget(self) -> Gadget:
        return Products(1)

    @property
    def minus_element(self) -> bool:
        """The bit is subtracted from its square."""
        return True

    def encode(self, measurement: Any) -> Vector:
        number = int(measurement) if isinstance(measurement, (bool, np.bool_)) else measurement
        return self.field.vector([whole("the measurement", number, 0, 1, BadValue)])


@dataclass(frozen=True)
class Sum(EachElement):
    """A whole number in 0..largest, added up: each of its bits is 0 or 1."""

    largest: int

    def __post_init__(self) -> None:
        """Refuse a range that the field cannot hold."""
        settle(self, "largest", "the largest measurement", 1, self.field.modulus - 1)

    @property
    def length(self) -> int:
        return self.largest.bit_length()

    @property
    def gadget(self) -> PolynomialOf:
        return RANGE_OF_BIT

    @cached_property
    def weights(self) -> tuple[int, ...]:
        return bit_weights(self.largest)

    def encode(self, measurement: Any) -> Vector:
        number = whole("the measurement", measurement, 0, self.largest, BadValue)
        return self.field.vector(bits_of(number, self.largest))


@dataclass(frozen=True)
class SumVec(InChunks):
    """A list of whole numbers in 0..largest, added up one by one."""

    entries: int
    largest: int

    def __post_init__(self) -> None:
        """Refuse a range that the field cannot hold."""
        settle(self, "entries", "the number of entries", 1, LARGEST)
        settle(self, "largest", "the largest measurement", 1, self.field.modulus - 1)
        super().__post_init__()

    @property
    def length(self) -> int:
        return self.entries * self.largest.bit_length()

    @property
    def sums(self) -> int:
        return self.entries

    @cached_property
    def weights(self) -> tuple[int, ...]:
        """Of the bits of an entry."""
        return bit_weights(self.largest)

    def encode(self, measurement: Any) -> Vector:
        """The bits of all, one entry after the other."""
        numbers = [
            whole("an entry of the measurement", number, 0, self.largest, BadValue)
            for number in listed("the measurement", measurement, self.entries)
        ]
        return self.field.vector(bit for number in numbers for bit in bits_of(number, self.largest))


@dataclass(frozen=True)
class Records(SumVec):
    """Counts in cells of ``largest`` records: entries that add up to as many as were declared."""

    def __post_init__(self) -> None:
        """Refuse as many records as the field could take for others."""
        super().__post_init__()
        if self.entries * self.largest >= self.field.modulus:
            raise BadParameter(f"{self.largest} records in {self.entries} cells are too many for the field")

    @cached_property
    def equation(self) -> tuple[tuple[int, ...], int]:
        """All entries together are the declared number."""
        return self.weights * self.entries, -self.largest

    def encode(self, measurement: Any) -> Vector:
        """The bits of all counts."""
        encoded = super().encode(measurement)
        if sum(int(each) for each in measurement) != self.largest:
            raise BadValue(f"the counts of {self.largest} records must add up to as many")
        return encoded


@dataclass(frozen=True)
class Histogram(InChunks):
    """One of so many cells, counted: bits that add up to one."""

    cells: int

    def __post_init__(self) -> None:
        """Refuse a number of cells that the field cannot tell apart."""
        settle(self, "cells", "the number of cells", 1, min(LARGEST, self.field.modulus - 1))
        super().__post_init__()

    @property
    def length(self) -> int:
        """A bit for each cell."""
        return self.cells

    @property
    def sums(self) -> int:
        return self.cells

    @cached_property
    def equation(self) -> tuple[tuple[int, ...], int]:
        """The bits add up to one."""
        return (1,) * self.cells, -1

    def encode(self, measurement: Any) -> Vector:
        """1 in its cell, 0 elsewhere."""
        cell = whole("the measurement", measurement, 0, self.cells - 1, BadValue)
        encoded = self.field.zeros(self.cells)
        encoded[cell] = 1
        return encoded


@dataclass(frozen=True)
class MultihotCountVec(InChunks):
    """Any set of at most ``most`` cells, counted: bits, and their number in bits."""

    cells: int
    most: int

    def __post_init__(self) -> None:
        """Refuse numbers that the field cannot tell apart."""
        settle(self, "cells", "the number of cells", 1, min(LARGEST, self.field.modulus - 1))
        settle(self, "most", "the largest number of chosen cells", 1, self.cells)
        super().__post_init__()

    @property
    def length(self) -> int:
        """A bit for each cell, and those of the number of ones."""
        return self.cells + self.most.bit_length()

    @property
    def sums(self) -> int:
        return self.cells

    @cached_property
    def equation(self) -> tuple[tuple[int, ...], int]:
        """The ones are as many as the number says."""
        return (1,) * self.cells + tuple(-weight for weight in bit_weights(self.most)), 0

    def encode(self, measurement: Any) -> Vector:
        """Its bits, and how many are one."""
        given = listed("the measurement", measurement, self.cells)
        numbers = [int(bit) if isinstance(bit, (bool, np.bool_)) else bit for bit in given]
        bits = [whole("an entry of the measurement", number, 0, 1, BadValue) for number in numbers]
        if sum(bits) > self.most:
            raise BadValue(f"at most {self.most} entries of the measurement may be 1")
        return self.field.vector([*bits, *bits_of(sum(bits), self.most)])


def best_chunk(length: int) -> int:
    """The chunk length with the shortest proofs for so many bits; the shorter chunk if two are equal.

    Chunks that fill one wire polynomial of 2^e values suffice: any other takes longer chunks for nothing.

    >>> best_chunk(256), best_chunk(4096)
    (18, 66)
    """
    if length < 1:
        raise BadParameter(f"a chunk length is chosen for at least one bit, not for {length}")
    fills = [(1 << e) - 1 for e in range(1, length.bit_length() + 2)]
    candidates = sorted({-(-length // calls) for calls in fills})
    return min(candidates, key=lambda chunk: 2 * chunk + 2 * wire_length(-(-length // chunk)))
