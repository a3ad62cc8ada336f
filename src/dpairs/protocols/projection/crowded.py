"""What pairs may add to tau of whom a pilot cannot tell whether they are ties: see `pilot_crowds`."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Crowded:
    """What pairs in crowds may add to tau."""

    pairs: float = 0.0
    """The share of pairs in one crowd of either column."""
    tied: float = 0.0
    """Of those in one crowd or atom."""
    unit: float = 1.0
    """Tau-a is so many times the value: less than once for tau-b, which counts no ties."""

    def unseen(self, value: float) -> float:
        """How far a value is off at most if pairs in crowds are no ties, and depend as much as the others do.

        Tau-a is made by pairs that are not in one crowd or atom. Pairs in crowds add nothing to it, or as
        much as these.
        """
        if self.pairs <= 0:
            return 0.0
        seen = min(abs(self.unit * value), 1.0)
        strength = 1.0 if self.tied >= 1 else min(seen / (1 - self.tied), 1.0)
        return max(abs(seen - abs(value)), abs(min(seen + self.pairs * strength, 1.0) - abs(value)))


NOBODY = Crowded()
