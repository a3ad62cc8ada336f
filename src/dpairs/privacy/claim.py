"""The privacy claim: what is promised, to whom, and why it holds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class PrivacyClaim:
    """What a study promises each person.

    ``epsilon`` is the exact loss of the mechanism used, derived from its integer thresholds and never
    above ``epsilon_asked``; of a first round it is ``epsilon_asked``, which the second may lose.
    """

    epsilon: float
    epsilon_asked: float
    delta: float
    neighbours: str
    rounds: int
    trust: str
    theorem: str
    not_promised: tuple[str, ...]
    kind: str = "local"
    """Whom it protects from: "local", everybody; "computational", everybody of limited computing power."""

    def __str__(self) -> str:
        pure = f"{self.epsilon:.6g}-" if self.delta == 0 else f"({self.epsilon:.6g}, {self.delta:.3g})-"
        return f"{pure}{self.kind} differential privacy for {self.neighbours}; {self.trust}; {self.theorem}"

    def to_json(self) -> dict[str, Any]:
        """The claim as plain values."""
        return asdict(self)


def local_claim(
    epsilon: float,
    epsilon_asked: float,
    delta: float,
    columns: tuple[str, ...],
    theorem: str,
    rounds: int = 1,
) -> PrivacyClaim:
    """The claim of a protocol in which each person's device randomizes once and trusts nobody.

    With several rounds, each person acts in one of them.
    """
    return PrivacyClaim(
        epsilon=epsilon,
        epsilon_asked=epsilon_asked,
        delta=delta,
        neighbours=f"any change of one person's {' and '.join(columns)}",
        rounds=rounds,
        trust="nobody is trusted: each person's device randomizes before anything leaves it",
        theorem=theorem,
        not_promised=(
            "that several studies of the same value add up to no more than one",
            "that people answer truthfully",
            "that taking part, or a public class, stays secret",
        ),
    )
