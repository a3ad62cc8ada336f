"""What the second round says about a tail that the first one hardly saw.

Of the people beyond twice the last significant distance a share p is thought to lie there at most, and a part
of these, l, beyond the next octave, and so on. The first round seldom knows l. But people of a heavy tail
raise the mean T of the function beyond that distance, up to where it stays level, and the second round
measures how much more that mean is than the pilot's. The l with T(l) that large, if it is more than what was
seen, says how many lie where the function stays level, and what they would add if it went on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from ...errors import BadFile
from ...formats.canonical import agreed
from ...formats.checks import real
from ...statistics.base import LARGEST
from ...statistics.vertices import Vertices, cell_means
from .winsorize import LEAST_LEFT

Vector = NDArray[np.float64]
STEPS, MOST_STEPS = 24, 128


@dataclass(frozen=True)
class Heavier:
    """Corrections of the second round, ascending, and what the tail may add beyond what is thought."""

    corrections: tuple[float, ...] = ()
    added: tuple[float, ...] = ()

    @classmethod
    def of(
        cls,
        grid: Grid,
        masses: Vector,
        values: Vector,
        level: Vector,
        tails: Sequence[tuple[float, tuple[float, ...]]],
        thought: float,
    ) -> Heavier:
        """For the function at vertices, the same kept ``level``, and what is allowed for already.

        ``tails`` are shares beyond the first of some places, each twice as far as the one before.
        """
        vertices, middles = Vertices(grid.axes[0]), np.add(*grid.axes[0].geometry[:2]) / 2
        inside = cell_means(grid, level)
        sides = []
        for share, places in tails:
            went_on, stayed = (np.interp(places, vertices.places, each) for each in (values, level))
            beyond = middles > places[0] if places[-1] > places[0] else middles < places[0]
            seen = float(masses[beyond] @ (inside[beyond] - stayed[0]))
            left = np.linspace(LEAST_LEFT, 1.0, STEPS)[:, None] ** np.arange(len(places))
            left[:, -1] = 0.0
            each_octave = share * -np.diff(left, axis=1)
            mean, more = each_octave @ (stayed[1:] - stayed[0]), each_octave @ (went_on - stayed)[1:]
            rising = np.maximum.accumulate(mean) - seen
            sides.append((rising, np.maximum.accumulate(np.maximum(np.abs(more) - abs(thought), 0.0))))
        if not any(added[-1] > 0 for _, added in sides):
            return cls()
        at = np.unique(np.concatenate([moved for moved, _ in sides]))
        added = np.max([np.interp(at, *side) for side in sides], axis=0)
        return cls(tuple(map(agreed, at.tolist())), tuple(map(agreed, added.tolist())))

    def more(self, correction: float, error: float) -> float:
        """For a correction with this standard error: one more than was measured, as with shares."""
        return float(np.interp(correction + error, self.corrections, self.added)) if self.added else 0.0

    def to_json(self) -> list[list[float]]:
        return [list(self.corrections), list(self.added)]

    @classmethod
    def from_json(cls, spec: Any) -> Heavier:
        """Read it back; everything is checked before it is used."""
        if not isinstance(spec, list) or len(spec) != 2 or not all(isinstance(each, list) for each in spec):
            raise BadFile("what a tail may add is two lists of numbers")
        if len(spec[0]) != len(spec[1]) or not 0 < len(spec[0]) <= MOST_STEPS:
            raise BadFile(f"what a tail may add is two lists of as many numbers, at most {MOST_STEPS}")
        corrections, added = ([real("what a tail may add", one) for one in each] for each in spec)
        if max(map(abs, (*corrections, *added))) > LARGEST or sorted(added) != added or added[0] < 0:
            raise BadFile("what a tail may add grows from 0 or more")
        if sorted(corrections) != corrections:
            raise BadFile("the corrections of a tail ascend")
        return cls(tuple(corrections), tuple(added))


NO_TAIL = Heavier()
