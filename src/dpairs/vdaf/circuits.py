"""Validity circuits: which vectors are valid measurements, and how they add up (section 7.4 of the draft).

Every circuit of the draft has one gadget, and all are of two shapes: the gadget on `EachElement`, or a range
check of bits `InChunks` with at most one affine equation beside it. So a circuit is a handful of numbers,
from which the single path here and the compiled one in `dpairs.vdaf.batch` compute the same.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from ..errors import BadParameter
from .arguments import settle
from .fields import Field, Vector
from .gadgets import Gadget, PolynomialOf, Products, gadget_length, wire_length

LARGEST = 2**20
"""Elements that an encoded measurement may have at most."""


@dataclass(frozen=True)
class Circuit(ABC):
    """A measurement is valid when every output of the circuit is zero.

    The wires of the gadget's k-th call are an affine function of the encoded measurement; so are the outputs,
    of the measurement and of the gadget's results. Constants are divided by the number of shares, so that
    the sum over shares is right.
    """

    field: Field

    @property
    @abstractmethod
    def length(self) -> int:
        """Elements of an encoded measurement."""

    @property
    @abstractmethod
    def gadget(self) -> Gadget:
        """The one part of the circuit that is not affine, which proofs are about."""

    @property
    @abstractmethod
    def calls(self) -> int:
        """How often the gadget is called."""

    @property
    def joint(self) -> int:
        """Elements of joint randomness, which measurement and proof depend on alike."""
        return 0

    @property
    @abstractmethod
    def outputs(self) -> int:
        """How many values must be 0 for a measurement to be valid."""

    @property
    def weights(self) -> tuple[int, ...]:
        """Each sum that is aggregated weighs so many neighbouring elements by these."""
        return (1,)

    @property
    def sums(self) -> int:
        """How many numbers are aggregated."""
        return 1

    @abstractmethod
    def encode(self, measurement: Any) -> Vector:
        """The measurement as a vector, or `BadValue`."""

    @abstractmethod
    def wires(self, measurement: Vector, joint: Vector, shares: int) -> Vector:
        """The gadget's inputs, of shape (arity, calls)."""

    @abstractmethod
    def check(self, measurement: Vector, results: Vector, shares: int) -> Vector:
        """The outputs, from the measurement and the gadget's results."""

    @property
    @abstractmethod
    def luck(self) -> Fraction:
        """The chance, over the joint randomness, that the outputs of a given invalid measurement are zero."""

    def truncate(self, measurement: Vector) -> Vector:
        """What is aggregated of an encoded measurement, or of a share of one."""
        bits = len(self.weights)
        table = measurement[: self.sums * bits].reshape(self.sums, bits)
        weighted = (table * self.field.vector(self.weights)).sum(axis=1) % self.field.modulus
        return np.asarray(weighted, dtype=object)

    def decode(self, total: Vector) -> Any:
        """The result, from the sum of all that was aggregated."""
        return [int(element) for element in total]

    @cached_property
    def proof(self) -> int:
        return self.gadget.arity + gadget_length(self.gadget, self.calls)

    @cached_property
    def verifier(self) -> int:
        """Elements that the servers compare for each proof."""
        return self.gadget.arity + 2

    @cached_property
    def query(self) -> int:
        """Random elements that the servers draw for each proof."""
        return 1 + (self.outputs if self.outputs > 1 else 0)

    def soundness_error(self, proofs: int = 1) -> Fraction:
        """The chance, at most, that the servers accept a given invalid measurement, whatever its proof says.

        One proof fails to notice when the joint randomness is lucky, when the random combination of the
        outputs is zero (1/|F|), or when the gadget polynomial sent and the true one, which differ, agree at
        the random point: at most degree (p - 1) of the |F| - p points that are not roots of unity. All
        proofs must fail. Who can try joint randomness offline gains at most a factor of their tries.
        """
        size, p = self.field.modulus, wire_length(self.calls)
        combined = Fraction(1, size) if self.outputs > 1 else Fraction(0)
        missed = Fraction(self.gadget.degree * (p - 1), size - p)
        return min(self.luck + combined + missed, Fraction(1)) ** proofs


@dataclass(frozen=True)
class EachElement(Circuit):
    """The gadget at every element of the measurement; each result is an output."""

    @property
    def calls(self) -> int:
        return self.length

    @property
    def outputs(self) -> int:
        return self.length

    @property
    def minus_element(self) -> bool:
        """Whether the element itself is subtracted from the gadget's result."""
        return False

    @property
    def luck(self) -> Fraction:
        """No joint randomness, no luck."""
        return Fraction(0)

    def wires(self, measurement: Vector, joint: Vector, shares: int) -> Vector:
        """The element on every wire."""
        return np.stack([measurement] * self.gadget.arity)

    def check(self, measurement: Vector, results: Vector, shares: int) -> Vector:
        """The gadget's results, less the element if so."""
        return (results - measurement) % self.field.modulus if self.minus_element else results

    def decode(self, total: Vector) -> int:
        return int(total[0])


@dataclass(frozen=True)
class InChunks(Circuit):
    """Every element is 0 or 1: the sum of r_i^(j+1) x (x - 1) over chunks i and places j is zero.

    A nonzero polynomial in the r_i of total degree at most ``chunk`` is zero with a chance of at most
    chunk / |F|. ``equation`` holds coefficients and a constant of one more output.
    """

    chunk: int

    def __post_init__(self) -> None:
        """Refuse sizes that make no circuit."""
        settle(self, "chunk", "chunk", 1, LARGEST)
        if self.length > LARGEST:
            raise BadParameter(f"an encoded measurement has at most {LARGEST} elements, not {self.length}")

    @property
    def equation(self) -> tuple[tuple[int, ...], int] | None:
        """Coefficients of the measurement, and a constant, that add up to zero."""
        return None

    @property
    def gadget(self) -> Products:
        """A product for each place of a chunk."""
        return Products(self.chunk)

    @property
    def calls(self) -> int:
        """One for each chunk, the last one filled up with zeros."""
        return -(-self.length // self.chunk)

    @property
    def joint(self) -> int:
        return self.calls

    @property
    def outputs(self) -> int:
        """The range check, and the equation."""
        return 1 if self.equation is None else 2

    @property
    def luck(self) -> Fraction:
        """At most degree / p, by Schwartz and Zippel: chances that random r hides a wrong measurement."""
        return Fraction(self.chunk, self.field.modulus)

    def wires(self, measurement: Vector, joint: Vector, shares: int) -> Vector:
        """r^(j+1) x and x - 1 for every place j of a chunk."""
        p = self.field.modulus
        padded = self.field.zeros(self.calls * self.chunk)
        padded[: self.length] = measurement
        table = padded.reshape(self.calls, self.chunk)
        wires = self.field.zeros(2 * self.chunk, self.calls)
        power = joint
        for j in range(self.chunk):
            wires[2 * j] = power * table[:, j] % p
            power = power * joint % p
        wires[1::2] = ((table - self.field.inverse(shares)) % p).T
        return wires

    def check(self, measurement: Vector, results: Vector, shares: int) -> Vector:
        """The sum of the gadget's results, and the equation."""
        p = self.field.modulus
        outputs = [int(results.sum()) % p]
        if self.equation is not None:
            coefficients, constant = self.equation
            total = int((measurement * self.field.vector(coefficients)).sum())
            outputs.append((total + constant * self.field.inverse(shares)) % p)
        return self.field.vector(outputs)


def bit_weights(largest: int) -> tuple[int, ...]:
    """Weights of bits that add up to 0..largest and to nothing else: 1, 2, 4, ..., and what is left.

    >>> bit_weights(5), bit_weights(255)[-1]
    ((1, 2, 2), 128)
    """
    bits = largest.bit_length()
    return (*(2**i for i in range(bits - 1)), largest - (2 ** (bits - 1) - 1))


def bits_of(number: int, largest: int) -> list[int]:
    """The bits of a number in 0..largest, for `bit_weights`."""
    bits = largest.bit_length()
    low = 2 ** (bits - 1) - 1
    last = int(number > low)
    rest = number - last * (largest - low)
    return [*(rest >> i & 1 for i in range(bits - 1)), last]


RANGE_OF_BIT = PolynomialOf((0, -1, 1))
"""x² - x, which is zero for 0 and 1 alone."""
