"""How much a kernel can vary whose mean and range are known."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Bounded:
    """A kernel's mean over pairs of people, and the range of its values."""

    mean: float
    low: float
    high: float

    @property
    def variance(self) -> float:
        """The most it can be (Bhatia and Davis)."""
        return max((self.mean - self.low) * (self.high - self.mean), 0.0)
