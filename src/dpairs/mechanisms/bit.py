"""One randomized bit of a bounded number: stochastic rounding and randomized response in one draw."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import BadValue
from ..formats.checks import integer
from ..randomness import WORDS, Randomness
from .thresholds import floor_and_boost, log_above


@dataclass(frozen=True)
class BitResponse:
    """P(1 | v) = T(v) / 2^64 with T(v) = A + round(v B), for v in [0, 1], and 2 A + B = 2^64.

    Every threshold lies between A and A + B, so e^epsilon = (A + B) / A whatever v is and however
    v B was rounded. The decoded bit (see `decode`) has mean v and variance c^2/4 - (v - 1/2)^2
    with c = (e^eps + 1) / (e^eps - 1).
    """

    floor: int
    name: ClassVar[str] = "bit"
    symbols: ClassVar[int] = 2

    def __post_init__(self) -> None:
        """Refuse thresholds that are no probabilities."""
        integer("bit floor", self.floor, 1, WORDS // 2 - 1)

    @classmethod
    def for_epsilon(cls, epsilon: float) -> BitResponse:
        """The most accurate thresholds that keep ``epsilon``."""
        return cls(floor_and_boost(epsilon, 2, 1)[0])

    @property
    def boost(self) -> int:
        """The distance between the thresholds of 0 and of 1."""
        return WORDS - 2 * self.floor

    @cached_property
    def epsilon(self) -> float:
        """ln((A + B) / A)."""
        return log_above(Fraction(self.floor + self.boost, self.floor))

    def threshold(self, value: float) -> int:
        """T(v): the word count that answers 1."""
        return int(self._thresholds(np.array([value], dtype=np.float64))[0])

    def _thresholds(self, values: NDArray[np.float64]) -> NDArray[np.uint64]:
        if values.size and not (values.min() >= 0 and values.max() <= 1):
            raise BadValue("a number sent as one bit must lie in [0, 1]")
        # v B with 32 bits of v: the product of two integers, exact, and 1 maps to B itself.
        steps = np.round(values * 2.0**32).astype(np.uint64)
        high, low = divmod(self.boost, 2**32)
        scaled = steps * np.uint64(high) + (steps * np.uint64(low) >> np.uint64(32))
        return scaled + np.uint64(self.floor)

    def pmf(self, value: float) -> list[Fraction]:
        """Exact probabilities of 0 and 1."""
        one = Fraction(self.threshold(value), WORDS)
        return [1 - one, one]

    def randomize(self, values: NDArray[np.float64], bits: Randomness) -> NDArray[np.int64]:
        """A bit for each value, one 64-bit word each."""
        return (bits.words(values.size) < self._thresholds(values)).astype(np.int64)

    @cached_property
    def decode(self) -> NDArray[np.float64]:
        """What the symbols 0 and 1 are worth: their mean is the value sent."""
        return np.array([-self.floor / self.boost, (self.floor + self.boost) / self.boost])

    def variances(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The variance of the decoded bit of each value, without the rounding of its threshold."""
        zero, one = self.decode
        return np.asarray((values - zero) * (one - values), dtype=np.float64)

    def variance(self, value: float) -> float:
        """The variance of the decoded bit of ``value``."""
        zero, one = self.decode.tolist()
        chance = float(self.pmf(value)[1])
        return float(chance * (1 - chance) * (one - zero) ** 2)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "floor": str(self.floor)}
