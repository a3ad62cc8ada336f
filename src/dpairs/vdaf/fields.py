"""Prime fields with roots of unity, and vectors over them as numpy arrays of Python integers.

Python integers, because they have any length: the same code serves 64 bits, 128 bits and the tiny fields of
the tests. Arithmetic is numpy's on arrays of objects, reduced with ``%``. Whoever has thousands of vectors
uses `dpairs.vdaf.batch`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadMessage, BadParameter
from ..formats.checks import exact_size

Vector = NDArray[np.object_]


@dataclass(frozen=True)
class Field:
    """Integers modulo a prime, with a generator of a subgroup whose order is a power of two.

    >>> FIELD64.modulus == 2**64 - 2**32 + 1, FIELD128.modulus == 2**128 - 7 * 2**66 + 1
    (True, True)
    """

    name: str
    modulus: int
    size: int
    """Bytes of an encoded element."""
    generator: int
    order: int

    def __repr__(self) -> str:
        return self.name

    def vector(self, elements: Iterable[Any]) -> Vector:
        """An array of integers, reduced."""
        reduced = [int(element) % self.modulus for element in elements]
        return np.array(reduced, dtype=object) if reduced else np.empty(0, dtype=object)

    def zeros(self, *shape: int) -> Vector:
        zero = np.empty(shape, dtype=object)
        zero.fill(0)
        return zero

    def inverse(self, element: int) -> int:
        """The x with x element = 1 modulo p; zero has none."""
        return pow(int(element), -1, self.modulus)

    def root(self, n: int) -> int:
        """The principal n-th root of unity, n a power of two."""
        if n < 1 or n & (n - 1) or n > self.order:
            raise BadParameter(
                f"{self.name} has roots of unity of order 1, 2, 4, ... {self.order}, not of {n}"
            )
        return pow(self.generator, self.order // n, self.modulus)

    def roots(self, n: int) -> Vector:
        """The first n powers of the principal n-th root of unity."""
        return _roots(self, n)

    def encode(self, vector: Vector) -> bytes:
        """Every element in little-endian order."""
        return b"".join(int(element).to_bytes(self.size, "little") for element in vector)

    def decode(self, wire: bytes, length: int, what: str) -> Vector:
        """A vector of that length from exactly its bytes."""
        exact_size(wire, self.size * length, what)
        elements = [int.from_bytes(wire[i : i + self.size], "little") for i in range(0, len(wire), self.size)]
        for place, element in enumerate(elements):
            if element >= self.modulus:
                raise BadMessage(f"element {place} of {what} is not below the modulus of {self.name}")
        return self.vector(elements)


FIELD64 = Field("Field64", 2**32 * 4294967295 + 1, 8, pow(7, 4294967295, 2**32 * 4294967295 + 1), 2**32)
FIELD128 = Field(
    "Field128",
    2**66 * 4611686018427387897 + 1,
    16,
    pow(7, 4611686018427387897, 2**66 * 4611686018427387897 + 1),
    2**66,
)


@lru_cache(maxsize=64)
def _roots(field: Field, n: int) -> Vector:
    root, powers = field.root(n), [1]
    for _ in range(n - 1):
        powers.append(powers[-1] * root % field.modulus)
    vector = field.vector(powers)
    vector.flags.writeable = False
    return vector
