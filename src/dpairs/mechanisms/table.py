"""A mechanism given by its table: any probabilities that are integers out of 2^32."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import BadFile, BadParameter
from ..formats.checks import fields, integer, required
from ..randomness import Randomness
from .base import Mechanism, decoder
from .thresholds import exp_below, log_above

TOTAL = 2**32
"""Probabilities are integers out of TOTAL."""
MAX_INPUTS, MAX_SYMBOLS = 256, 1024
INSIDE = 2.0**-17
"""How far probabilities are moved from their bounds before rounding, so that rounding has room."""


@dataclass(frozen=True, eq=False)
class TableResponse(Mechanism):
    """P(y | x) = weights[x, y] / 2^32; ``prior`` is the distribution that decoding is best for."""

    weights: NDArray[np.int64] = field(repr=False)
    prior: NDArray[np.float64] = field(repr=False)
    name: ClassVar[str] = "table"

    def __post_init__(self) -> None:
        """Refuse weights that are no probabilities."""
        if self.weights.ndim != 2:
            raise BadParameter("a mechanism's table has a row for each input and a column for each symbol")
        integer("table inputs", self.inputs, 2, MAX_INPUTS)
        integer("table symbols", self.symbols, 2, MAX_SYMBOLS)
        if self.weights.min() < 1 or not (self.weights.sum(axis=1) == TOTAL).all():
            raise BadParameter("the weights of each input must be at least 1 and add up to 2^32")
        if self.prior.shape != (self.inputs,) or self.prior.min() < 0 or not self.prior.sum() > 0:
            raise BadParameter("a mechanism's prior has a share for each input, none below 0")

    @classmethod
    def rounded(
        cls, channel: NDArray[np.float64], prior: NDArray[np.float64], epsilon: float
    ) -> TableResponse:
        """The nearest table with exact privacy: a row of ``channel`` for each input."""
        # Towards the mean of all inputs, which loses nothing: then no entry is at its bound.
        inside = (1 - INSIDE) * channel + INSIDE * channel.mean(axis=0)
        low = np.ceil(inside.min(axis=0) * TOTAL).astype(np.int64)
        ratio = exp_below(epsilon)
        high = np.array([int(each * ratio) for each in low.tolist()], dtype=np.int64)
        weights = np.clip(np.round(inside * TOTAL).astype(np.int64), low, high)
        for row in weights:
            _settle(row, low, high)
        # Laid out as a table that was read back: sums in another order differ in last digits.
        return cls(np.ascontiguousarray(weights), prior)

    @property
    def inputs(self) -> int:  # type: ignore[override]
        """How many rows there are."""
        return int(self.weights.shape[0])

    @property
    def symbols(self) -> int:  # type: ignore[override]
        """How many columns there are."""
        return int(self.weights.shape[1])

    @cached_property
    def epsilon(self) -> float:
        """The logarithm of the largest ratio within a column."""
        low, high = self.weights.min(axis=0).tolist(), self.weights.max(axis=0).tolist()
        return log_above(max(Fraction(most, least) for most, least in zip(high, low, strict=True)))

    def pmf(self, bin: int) -> list[Fraction]:
        return [Fraction(weight, TOTAL) for weight in self.weights[bin].tolist()]

    @cached_property
    def channel(self) -> NDArray[np.float64]:
        return self.weights / TOTAL

    @cached_property
    def decoder(self) -> NDArray[np.float64]:
        """Unbiased for all, and best for the prior."""
        return decoder(self.channel, self.prior / self.prior.sum())

    @cached_property
    def _ends(self) -> NDArray[np.uint64]:
        """Where each symbol's stretch ends, one input after another on one line."""
        ends = np.cumsum(self.weights, axis=1) + np.arange(self.inputs)[:, None] * TOTAL
        return ends.reshape(-1).astype(np.uint64)

    def randomize(self, bins: NDArray[np.int64], bits: Randomness) -> NDArray[np.int64]:
        """The upper half of a word falls into a symbol's stretch."""
        place = (bits.words(bins.size) >> np.uint64(32)) + bins.astype(np.uint64) * np.uint64(TOTAL)
        return np.searchsorted(self._ends, place, side="right") - bins * self.symbols

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "symbols": self.symbols,
            "weights": self.weights.reshape(-1).tolist(),
            "prior": self.prior.tolist(),
        }

    @classmethod
    def from_json(cls, spec: Mapping[str, Any]) -> TableResponse:
        names = ("symbols", "weights", "prior")
        fields(f"mechanism {cls.name!r}", spec, ("name", *names))
        required(f"mechanism {cls.name!r}", spec, names)
        symbols, weights, prior = (
            integer("symbols", spec["symbols"], 2, MAX_SYMBOLS),
            spec["weights"],
            spec["prior"],
        )
        good = isinstance(weights, list) and all(type(each) is int and 0 < each < TOTAL for each in weights)
        if not good or not isinstance(prior, list) or len(weights) != symbols * len(prior):
            raise BadFile("a mechanism's table has a weight below 2^32 for each input and symbol")
        if not all(type(each) in (int, float) and 0 <= each <= 1 for each in prior):
            raise BadFile("a mechanism's prior is a list of shares")
        table = np.array(weights, dtype=np.int64).reshape(len(prior), symbols)
        return cls(table, np.array(prior, dtype=np.float64))


def _settle(row: NDArray[np.int64], low: NDArray[np.int64], high: NDArray[np.int64]) -> None:
    """Move weights within their bounds until they add up."""
    missing = TOTAL - int(row.sum())
    room = high - row if missing > 0 else row - low
    for place in np.argsort(-room, kind="stable").tolist():
        if missing == 0:
            return
        moved = min(abs(missing), int(room[place]))
        row[place] += moved if missing > 0 else -moved
        missing += -moved if missing > 0 else moved
    if missing:
        raise BadParameter("this channel cannot be rounded to 32-bit probabilities")
