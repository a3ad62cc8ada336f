"""What the second round says about people beyond the end of the function.

The first round thinks that a share p lies there at most, and allows for what these would add if the function
went on. They have its greatest value, v = 1, for which some symbols are likelier than for v = 0: the more so
the greater v is, P(v) = P(0) + (P(1) - P(0)) t(v) for a rising t from 0 to 1. So if a share P of all answers
are such symbols, at most (P - P(0)) / (P(1) - P(0)) of the people lie beyond the end. Where that is less than
p, so is what they add.
"""

from __future__ import annotations

import math
from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadFile
from ...formats.canonical import agreed
from ...mechanisms import ScalarResponse
from ...statistics.vertices import Vertices
from ..counts import DenseCounts
from .pilot import Narrowed
from .reading import two_numbers

Vector = NDArray[np.float64]
LEVEL = 1e-9
"""Of a function's range, less than two of its steps are apart."""


@dataclass(frozen=True)
class Far:
    """The share that is thought to lie beyond the end, and what is allowed for it: a part of the bias."""

    share: float = 0.0
    bias: float = 0.0

    @classmethod
    def of(cls, vertices: Vertices, level: Vector, ends: Narrowed, allowed: float) -> Far:
        """Nobody, unless all people whom it is ``allowed`` for have the greatest value of the function."""
        places = [place for _, place in ends.heavier]
        values = np.interp(places, vertices.places, level)
        if not places or values.min() < level.max() - LEVEL * np.ptp(level):
            return NOBODY_FAR
        return cls(agreed(sum(share for share, _ in ends.heavier)), agreed(abs(allowed)))

    def less(self, mechanism: ScalarResponse, answers: DenseCounts) -> float:
        """How much less they add, by the answers of the second round."""
        if self.share <= 0:
            return 0.0
        return self.bias * max(1 - most_at_top(mechanism, answers) / self.share, 0.0)

    def to_json(self) -> list[float]:
        return list(astuple(self))

    @classmethod
    def from_json(cls, spec: Any, bias: float) -> Far:
        """Read it back; everything is checked before it is used."""
        share, part = two_numbers("share far away and what it adds", spec)
        if not 0 <= share <= 1 or not 0 <= part <= bias:
            raise BadFile("people far away are a share from 0 to 1, and what they add is a part of the bias")
        return cls(share, part)


NOBODY_FAR = Far()


def most_at_top(mechanism: ScalarResponse, answers: DenseCounts) -> float:
    """The share of people with the greatest value, v = 1: at most so many, by one standard error.

    Of a count k, the mean with (k - mean)^2 = mean is k + 1/2 + sqrt(k + 1/4), also where k is 0. A count
    below what nobody there would give is chance.
    """
    none, all_of_them = (np.array(mechanism.pmf(value), dtype=np.float64) for value in (0.0, 1.0))
    likelier = all_of_them > none
    at_none, at_all = float(none[likelier].sum()), float(all_of_them[likelier].sum())
    count = max(float(answers.array[likelier].sum()), at_none * answers.people)
    most = count + 0.5 + math.sqrt(count + 0.25)
    return (most / answers.people - at_none) / (at_all - at_none)
