"""What every mechanism offers: a bin goes in, a small integer symbol comes out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..errors import NotEstimable
from ..randomness import Randomness


class Mechanism(ABC):
    """A local randomizer with finitely many inputs and outputs and an exact distribution.

    ``epsilon`` is derived from the integer thresholds, never asserted: for any two inputs x, x' and
    every symbol y, P(y | x) <= e^epsilon P(y | x').
    """

    name: ClassVar[str]
    inputs: int
    symbols: int

    @property
    @abstractmethod
    def epsilon(self) -> float:
        """The exact privacy loss, rounded up to a float."""

    @abstractmethod
    def pmf(self, bin: int) -> list[Fraction]:
        """The exact probabilities of all symbols for one input."""

    @abstractmethod
    def randomize(self, bins: NDArray[np.int64], bits: Randomness) -> NDArray[np.int64]:
        """A symbol for each bin, one 64-bit word each."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """The JSON form, integer thresholds included."""

    @cached_property
    def channel(self) -> NDArray[np.float64]:
        """The probabilities as floats: a row for each input, a column for each symbol."""
        return np.array([[float(p) for p in self.pmf(index)] for index in range(self.inputs)])

    @cached_property
    def decoder(self) -> NDArray[np.float64]:
        """Unbiased decoding: row y estimates the indicator of the input, and each row sums to 1."""
        return decoder(self.channel)


def decoder(channel: NDArray[np.float64], prior: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """The unbiased decoder of least variance at a prior; without one, when all inputs are equally likely.

    R = D^-1 Q' (Q D^-1 Q')^-1 with D the symbols' probabilities: Q R = I, and among all such R it
    has the least total variance (generalized least squares; McKenna, Maity, Mazumdar, Miklau,
    "A workload-adaptive mechanism for linear queries under local differential privacy", VLDB 2020).
    """
    marginal: NDArray[Any] = channel.mean(axis=0) if prior is None else prior @ channel
    scaled = channel / marginal
    one = np.eye(len(channel))
    try:
        rough: NDArray[np.float64] = np.linalg.solve(scaled @ channel.T, scaled).T
    except np.linalg.LinAlgError:
        rough = np.zeros_like(channel.T)
    # One Newton step towards Q R = I: at epsilon 0.01 the system is ill-conditioned.
    fine = rough @ (2 * one - channel @ rough)
    if np.abs(channel @ fine - one).max() > 1e-6:
        raise NotEstimable("epsilon is so small that double precision cannot decode the reports")
    return fine


def count_variance(mechanism: Mechanism) -> float:
    """The exact variance a report adds to one cell's count, on average over cells equally filled.

    With n people in k equal cells, a cell's estimated count has n times this variance around its
    true count.
    """
    weights = mechanism.decoder
    second = mechanism.channel.mean(axis=0) @ weights**2
    return float(second.mean() - 1 / mechanism.inputs)
