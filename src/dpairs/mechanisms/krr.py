"""k-ary randomized response: the true bin, or with some probability a uniformly random one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.grids import MAX_BINS
from ..formats.checks import integer
from ..randomness import WORDS, Randomness
from .base import Mechanism
from .thresholds import floor_and_boost, log_above


@dataclass(frozen=True)
class KaryResponse(Mechanism):
    """P(y | x) = (A + B [y = x]) / 2^64 with k A + B = 2^64.

    The redraw probability is beta = k A / 2^64, about k / (k + e^eps - 1) (Algorithm 1 of the paper
    with its first erratum). Best for few cells or large epsilon.

    >>> [round(float(p), 4) for p in KaryResponse.for_epsilon(3, 1.0).pmf(0)]
    [0.5761, 0.2119, 0.2119]
    """

    inputs: int
    floor: int
    name: ClassVar[str] = "krr"

    def __post_init__(self) -> None:
        """Refuse thresholds that are no probabilities."""
        integer("krr inputs", self.inputs, 2, MAX_BINS)
        integer("krr floor", self.floor, 1, (WORDS - 1) // self.inputs)

    @classmethod
    def for_epsilon(cls, inputs: int, epsilon: float) -> KaryResponse:
        """The most accurate thresholds that keep ``epsilon``."""
        return cls(inputs, floor_and_boost(epsilon, integer("krr inputs", inputs, 2, MAX_BINS), 1)[0])

    @property
    def symbols(self) -> int:  # type: ignore[override]
        return self.inputs

    @property
    def boost(self) -> int:
        """The extra weight of the true bin."""
        return WORDS - self.inputs * self.floor

    @cached_property
    def epsilon(self) -> float:
        """ln((A + B) / A)."""
        return log_above(Fraction(self.floor + self.boost, self.floor))

    def pmf(self, bin: int) -> list[Fraction]:
        return [Fraction(self.floor + self.boost * (symbol == bin), WORDS) for symbol in range(self.inputs)]

    def randomize(self, bins: NDArray[np.int64], bits: Randomness) -> NDArray[np.int64]:
        """A symbol for each bin, one 64-bit word each."""
        return self.choose(bins, bits.words(bins.size))

    def choose(self, bins: NDArray[np.int64], words: NDArray[np.uint64]) -> NDArray[np.int64]:
        """The word falls into one of k equal stretches, or behind them all: then the truth."""
        stretch = words // np.uint64(self.floor)
        return np.where(stretch < np.uint64(self.inputs), stretch.view(np.int64), bins)

    @cached_property
    def channel(self) -> NDArray[np.float64]:
        return np.full((self.inputs, self.inputs), self.floor / WORDS) + np.eye(self.inputs) * (
            self.boost / WORDS
        )

    @cached_property
    def decoder(self) -> NDArray[np.float64]:
        """(e_y - beta/k) / (1 - beta)."""
        return (np.eye(self.inputs) - self.floor / WORDS) / (self.boost / WORDS)

    def to_json(self) -> dict[str, Any]:
        return {"name": self.name, "inputs": self.inputs, "floor": str(self.floor)}
