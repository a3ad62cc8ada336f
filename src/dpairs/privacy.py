"""The privacy claim: what is promised, to whom, and on what it rests."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class PrivacyClaim:
    """What a study promises each person.

    ``epsilon`` is the exact loss of the mechanism used, derived from its integer thresholds and never
    above ``epsilon_asked``.
    """

    epsilon: float
    epsilon_asked: float
    delta: float
    neighbours: str
    rounds: int
    trust: str
    theorem: str
    not_promised: tuple[str, ...]

    def __str__(self) -> str:
        """One sentence for people."""
        pure = f"{self.epsilon:.6g}-" if self.delta == 0 else f"({self.epsilon:.6g}, {self.delta:.3g})-"
        return f"{pure}local differential privacy for {self.neighbours}; {self.trust}; {self.theorem}"

    def to_json(self) -> dict[str, Any]:
        """The claim as plain values."""
        return asdict(self)
