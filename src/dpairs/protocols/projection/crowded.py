"""What pairs may add to tau of whom a pilot cannot tell whether they are ties: see `pilot_crowds`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ...errors import BadFile
from ...formats.checks import real
from ...statistics.base import TWO_SIDED


@dataclass(frozen=True)
class Crowded:
    """What pairs in crowds may add to tau."""

    pairs: float = 0.0
    """The share of pairs in one crowd of either column."""
    tied: float = 0.0
    """Of those in one crowd or atom."""
    unit: float = 1.0
    """Tau-a is so many times the value: less than once for tau-b, which counts no ties."""

    @classmethod
    def from_json(cls, spec: Any) -> Crowded:
        if not isinstance(spec, list) or len(spec) != 3:
            raise BadFile("what crowds may add is three numbers")
        numbers = [real("share of pairs in crowds", each) for each in spec]
        for number in numbers:
            if not 0 <= number <= 1:
                raise BadFile(f"a share of pairs in crowds lies between 0 and 1, not at {number:g}")
        return cls(*numbers)

    def unseen(self, value: float, error: float) -> float:
        """How far a value is off at most if pairs in crowds are no ties, and depend as much as the others do.

        Tau-a is made by pairs that are not in one crowd or atom. Pairs in crowds add nothing to it, or as
        much as these, which are known with this standard error of the value: where nearly all pairs are in
        crowds, that may be anything.
        """
        if self.pairs <= 0:
            return 0.0
        seen, apart = self.unit * value, max(1 - self.tied, 0.0)
        reach = TWO_SIDED * self.unit * error
        ends = [seen]
        for other in (min(seen - reach, 0.0), max(seen + reach, 0.0)):
            strength = min(abs(other) / apart, 1.0) if apart > 0 else 1.0
            ends.append(min(max(seen + math.copysign(self.pairs * strength, other), -1.0), 1.0))
        return max(abs(end - value) for end in ends)


NOBODY = Crowded()
