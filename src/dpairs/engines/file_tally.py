"""What an engine finds: a tally, what became of the rows, and which files could not be used."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from ..tally import Tally

COUNTED = "counted"
ELSEWHERE = "of another study"
UNKNOWN, INDEX, SYMBOL = "of an unknown stratum", "index out of range", "symbol out of range"
ROUND, REPEATED, CONTRADICTORY = "of another round", "repeated", "contradictory"


@dataclass
class FileTally:
    """A tally of report files, what became of the rows, and which files could not be used."""

    tally: Tally
    reasons: Counter[str] = field(default_factory=Counter)
    """Rows by what became of them. They add up to all rows of the files that were read.

    ``repeated`` are rows beyond the first of the same person; ``contradictory`` are people whose rows do not
    all have one symbol, of whom no row is counted.
    """
    refused: tuple[str, ...] = ()

    def add(self, other: FileTally) -> None:
        """Count what another part found."""
        self.tally = self.tally + other.tally if self.tally.n else other.tally
        self.reasons += other.reasons

    def note(self, numbers: Mapping[str, int]) -> None:
        """Count rows under reasons, those of which there are any."""
        self.reasons.update({reason: number for reason, number in numbers.items() if number})
