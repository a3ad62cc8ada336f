"""How much noise each released number gets, so that all together keep the claim.

Each server adds noise for the *whole* claim by itself: what the other one adds is then not needed for
privacy, and its variance comes on top. Losses of discrete Laplace noise add up in epsilon, those of
discrete Gaussian noise in rho (see `privacy.concentrated`). Shares are fractions, rounded down.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadParameter
from ...formats.checks import choice, positive, real
from ...mechanisms.central import discrete_gaussian, discrete_laplace, laplace_variance
from ...privacy.concentrated import rho_for
from ...randomness import Randomness

LAPLACE, GAUSSIAN = "laplace", "gaussian"
SERVERS = 2
BUDGET_FIELDS = ("noise", "epsilon", "delta")
FINEST = 2**24
"""Shares of a loss are multiples of 1/FINEST."""


@dataclass(frozen=True)
class Query:
    """Numbers that are released together: how many, and how far one person's other value moves them all.

    ``reach`` is the L1 sensitivity, ``square`` the squared L2 sensitivity; ``share`` of the loss goes here.
    """

    entries: int
    reach: int
    square: int
    share: Fraction

    @classmethod
    def number(cls, sensitivity: int, share: Fraction) -> Query:
        return cls(1, sensitivity, sensitivity**2, share)

    @classmethod
    def counts(cls, cells: int, share: Fraction) -> Query:
        """One person leaves a cell and enters another."""
        return cls(cells, 2, 2, share)


@dataclass(frozen=True)
class NoiseBudget:
    """A loss, and the kind of noise that keeps to it."""

    noise: str
    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        """Refuse a delta where none is needed, and none where one is."""
        choice("noise", self.noise, (LAPLACE, GAUSSIAN))
        positive("epsilon", self.epsilon)
        real("delta", self.delta)
        if self.noise == LAPLACE and self.delta != 0:
            raise BadParameter("noise='laplace' has no delta: leave it out, or take noise='gaussian'")
        if self.noise == GAUSSIAN and not 0 < self.delta < 0.5:
            raise BadParameter(
                f"noise='gaussian' needs a delta between 0 and 0.5, such as 1e-9, not {self.delta!r}"
            )

    def to_json(self) -> dict[str, Any]:
        return {"noise": self.noise, "epsilon": self.epsilon, "delta": self.delta}

    @classmethod
    def from_json(cls, spec: Mapping[str, Any]) -> NoiseBudget:
        return cls(spec["noise"], real("epsilon", spec["epsilon"]), real("delta", spec["delta"]))

    @cached_property
    def total(self) -> Fraction:
        """All of epsilon, or the rho that (epsilon, delta) allows."""
        return Fraction(self.epsilon) if self.noise == LAPLACE else rho_for(self.epsilon, self.delta)

    def loss(self, share: Fraction) -> Fraction:
        """A share of it, rounded down."""
        part = Fraction(math.floor(self.total * share * FINEST), FINEST)
        if part <= 0:
            raise BadParameter(
                f"a share of {float(share):.3g} of epsilon {self.epsilon:g} is too little to use"
            )
        return part

    def spent(self, queries: Sequence[Query]) -> Fraction:
        """The loss of all queries together."""
        return sum((self.loss(query.share) for query in queries), Fraction(0))

    def scale(self, query: Query) -> Fraction:
        """The scale of Laplace noise, or the variance parameter of Gaussian noise."""
        loss = self.loss(query.share)
        return Fraction(query.reach) / loss if self.noise == LAPLACE else Fraction(query.square) / (2 * loss)

    def draw(self, query: Query, bits: Randomness) -> NDArray[np.int64]:
        """One server's noise, which alone keeps the whole claim."""
        if query.reach == 0:
            return np.zeros(query.entries, dtype=np.int64)
        kind = discrete_laplace if self.noise == LAPLACE else discrete_gaussian
        return kind(self.scale(query), query.entries, bits)

    def variance(self, query: Query, draws: int = SERVERS) -> float:
        """Of one released number with so many draws of noise on it: one of each server.

        A discrete Gaussian's variance is at most its parameter (the same paper, corollary 9).
        """
        if query.reach == 0:
            return 0.0
        scale = float(self.scale(query))
        return draws * (laplace_variance(scale) if self.noise == LAPLACE else scale)
