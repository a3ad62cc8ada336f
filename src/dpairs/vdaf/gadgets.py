"""Gadgets: the part of a validity circuit that is not affine, applied to many places at once.

A gadget maps ``wires`` of shape (arity, ...) to shape (...). Applied to the values of polynomials at enough
points, it gives the values of the gadget polynomial there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from .fields import Field, Vector
from .polynomials import next_power_of_2


class Gadget(Protocol):
    """A polynomial in ``arity`` variables, of total degree ``degree``."""

    @property
    def arity(self) -> int:
        """How many wires one call takes."""

    @property
    def degree(self) -> int:
        """How much longer the gadget polynomial is than a wire."""

    def apply(self, field: Field, wires: Vector) -> Vector:
        """The results, from wires along the first axis."""
        ...


@dataclass(frozen=True)
class Products:
    """x0 x1 + x2 x3 + ...: ``ParallelSum(Mul(), count)`` of the draft; with one product its ``Mul``."""

    count: int = 1

    @property
    def arity(self) -> int:
        """Two wires for each product."""
        return 2 * self.count

    @property
    def degree(self) -> int:
        return 2

    def apply(self, field: Field, wires: Vector) -> Vector:
        """The sum of the products."""
        return np.asarray((wires[::2] * wires[1::2]).sum(axis=0) % field.modulus, dtype=object)


@dataclass(frozen=True)
class PolynomialOf:
    """c0 + c1 x + c2 x² + ...: ``PolyEval`` of the draft. The last coefficient is not zero."""

    coefficients: tuple[int, ...]

    @property
    def arity(self) -> int:
        return 1

    @property
    def degree(self) -> int:
        return len(self.coefficients) - 1

    def apply(self, field: Field, wires: Vector) -> Vector:
        """Its value, by Horner's rule."""
        value = np.asarray(wires[0] * 0, dtype=object)
        for coefficient in reversed(self.coefficients):
            value = (value * wires[0] + coefficient) % field.modulus
        return value


def wire_length(calls: int) -> int:
    """Values of a wire polynomial: the seed and one for each call, up to a power of two."""
    return next_power_of_2(1 + calls)


def gadget_length(gadget: Gadget, calls: int) -> int:
    """Values of the gadget polynomial that a proof holds: as many as its degree needs."""
    return gadget.degree * (wire_length(calls) - 1) + 1
