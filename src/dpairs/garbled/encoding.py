"""Fixed-point encoding: a value of a domain as an unsigned integer that goes into a circuit.

>>> from dpairs import Integers, Interval
>>> code = FixedPoint.of(Interval(-1, 1), bits=8)
>>> code.largest, code.encode([-1.0, 0.0, 1.0], "score").tolist()
(255, [0, 128, 255])
>>> FixedPoint.of(Integers(10, 110), bits=32).largest
100
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain, Integers, Interval
from ..errors import BadParameter
from ..formats.checks import integer
from .arithmetic import MAX_BITS

_MANTISSA = 53
"""Bits of a float."""


@dataclass(frozen=True)
class FixedPoint:
    """Values of ``domain`` as integers from 0 to ``largest``; neighbours are ``unit`` apart.

    Integers, levels and categories are counted from their first value, exactly. An interval is cut into
    ``largest`` equal steps and a value goes to the nearest end of its step: at most half a unit is lost.
    """

    domain: Domain
    largest: int

    @classmethod
    def of(cls, domain: Domain, bits: int) -> FixedPoint:
        """All ``bits`` for an interval; else as many as the domain has values, at most 2^bits."""
        most = 2 ** integer("bits", bits, 1, MAX_BITS) - 1
        if isinstance(domain, Interval):
            return cls(domain, most)
        if domain.size - 1 > most:
            raise BadParameter(f"the domain has {domain.size} values, which {bits} bits cannot tell apart")
        return cls(domain, domain.size - 1)

    @property
    def unit(self) -> Fraction:
        """How far apart two neighbouring values are; 1 when the values are no numbers."""
        if isinstance(self.domain, Interval):
            return (Fraction(self.domain.high) - Fraction(self.domain.low)) / self.largest
        return Fraction(1)

    @property
    def spaced(self) -> bool:
        """Whether neighbouring codes are neighbouring values, as numbers without gaps are."""
        return isinstance(self.domain, (Interval, Integers))

    def encode(self, values: Any, column: str) -> NDArray[np.uint64]:
        """The integer of each value."""
        if isinstance(self.domain, Integers):
            return self.domain.offsets(values, column)
        if not isinstance(self.domain, Interval):
            return self.domain.codes(values, column).astype(np.uint64)
        numbers = self.domain.check(values, column)
        # Halves first: the extent of an interval of 1e300 must not overflow.
        share = (numbers / 2 - self.domain.low / 2) / (self.domain.high / 2 - self.domain.low / 2)
        bits = self.largest.bit_length()
        if bits <= _MANTISSA:
            return np.round(share * self.largest).astype(np.uint64)
        # A float has no more than 53 bits; repeating the first of them fills the rest, up to the largest.
        steps = np.round(share * (2**_MANTISSA - 1)).astype(np.uint64)
        filled: NDArray[np.uint64] = steps << np.uint64(bits - _MANTISSA) | steps >> np.uint64(
            2 * _MANTISSA - bits
        )
        return filled
