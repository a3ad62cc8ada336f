"""What both of two rounds agree on: how the loss is split between a pilot and the sums that follow it."""

from __future__ import annotations

from fractions import Fraction
from typing import ClassVar

from ...errors import BadParameter
from ..base import Protocol
from .budget import NoiseBudget

NO_ANSWER = "this is the first of two rounds: the answer comes from the second, see Study.next"


class Noisy(Protocol):
    """A round whose loss is a budget for noise."""

    budget: NoiseBudget

    @property
    def delta(self) -> float:  # type: ignore[override]
        return self.budget.delta

    def check_statistic(self) -> None:
        """Refuse domains that do not fit, and distances between classes, of which cells may hide anything."""
        self.statistic.check_domains(self.domains)
        if self.statistic.needs == "numeric" and len(self.statistic.strata) > 1:
            raise BadParameter(
                f"{self.statistic.name} is about distances between classes, which {self.name} cannot "
                "bound: take protocol='projection', 'histogram' or 'pairwise'"
            )


class TwoRounds(Noisy):
    """One of two rounds that everybody acts in."""

    split: float
    """The pilot's share of the loss."""
    asks_again: ClassVar[bool] = True

    def check_split(self) -> None:
        if not 0.01 <= self.split <= 0.9:
            raise BadParameter(
                f"split, the pilot's share of epsilon, must be from 0.01 to 0.9, not {self.split!r}"
            )

    @property
    def epsilon(self) -> float:
        return self.budget.epsilon if self.budget.delta else self.losses[self.round - 1]

    @property
    def losses(self) -> tuple[float, ...]:
        pilot = Fraction(self.split)
        return float(self.budget.loss(pilot)), float(self.budget.loss(1 - pilot))

    @property
    def terms(self) -> tuple[object, ...]:
        """What a second round may not change."""
        return self.split, self.budget

    def continues(self, first: Protocol) -> bool:
        """Whether whoever answered ``first`` loses no more by this round than was agreed to."""
        return isinstance(first, TwoRounds) and first.terms == self.terms
