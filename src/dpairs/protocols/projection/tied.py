"""Ties that a first round did not see make the divisor of tau-b smaller: how far, the interval allows for.

The value is tau-a over sqrt((1 - T_x)(1 - T_y)), T being the share of tied pairs in a column, with as many
ties as the pilot has. There may be as many as `pilot_ties` leaves room for, up to P_x and P_y. Then the value
is times sqrt((1 - T_x)(1 - T_y) / ((1 - P_x)(1 - P_y))) what it is: it lies further from 0, if tau-a stays.
Limits that are missed independently of each other, those of P_x, of P_y and of the value, are joined by the
root of the sum of squares of how far they lie from what was measured (Zou and Donner, "Construction of
confidence limits about effect measures: a general approach", 2008).

The value's noise is divided by the same divisor, and what the pilot took for dependence within a tied crowd
is none. So the end beyond 0 is the greatest that any way to share the limit out between both gives.

Tau-a is less by what ties take, which is no chance: a bias beside the others, of another cause.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any

import numpy as np

from ...errors import BadFile
from ...formats.canonical import agreed
from ...formats.checks import real
from ...statistics import Statistic
from ...statistics.base import LARGEST, TWO_SIDED
from ...statistics.fixed_length import reach
from ..base import Answer
from .pilot_ties import Room

LEVEL = 0.95
"""Of the interval that is made longer."""
ANGLES = np.linspace(0, math.pi / 2, 91)
"""Ways to share a limit out between noise and ties."""
LARGEST_FACTOR = 1e3
"""Of an interval that is the whole range anyhow."""


@dataclass(frozen=True)
class UnseenTies:
    """How many times the value is what it could be, if there are as many ties as there is room for."""

    most: float = 1.0
    """By the upper limits of both columns' room."""
    least: float = 1.0
    """If atoms that are wider than a leaf hold no ties at all: no more than once."""
    left: float = 1.0
    """What unseen ties leave of tau-a, or of the dividend of tau-b: no more than all of it."""
    crowded: float = 0.0
    """The share of tau-a that pairs hold which the first round does not surely tell apart, at most."""

    @classmethod
    def of(
        cls,
        statistic: Statistic,
        forms: np.ndarray[Any, np.dtype[np.float64]],
        room: Sequence[Room | None],
    ) -> UnseenTies:
        """From the pilot's forms, and what there is room for in each column.

        Of tau-a, ties in nodes of shares p take the sum of p^3, if the mean sign in the other column grows as
        two people's ranks in this one are further apart: it is 3 tau t for a distance t, of which pairs in
        one node, p^2 of all, have p / 3 on average. Tau-b lies nearer to 0 without ties than with them.
        """
        crowded = agreed(min(sum(bound.most_cubes for bound in room if bound), 1.0))
        if not statistic.same_bin:
            left = max(1 - sum(bound.cubes for bound in room if bound), 0.0)
            return cls(left=agreed(left), crowded=crowded)
        likely = off = fewer = taken = 0.0
        for form, column in statistic.same_bin.items():
            bound = room[column] if room else None
            if bound is None:
                continue
            seen = float(forms[form])
            shares = (
                max(seen - bound.doubted, 0.0),
                seen,
                max(bound.pairs, seen),
                max(bound.pairs + TWO_SIDED * bound.error, seen),
            )
            low, here, middle, high = (math.log1p(statistic.tied([share])) for share in shares)
            fewer += here - low
            likely += middle - here
            off = math.hypot(off, high - middle)
            taken += bound.cubes * (1 - seen / shares[-1])
        left = max(1 - taken, 0.0)
        return cls(agreed(math.exp(likely + off)), agreed(math.exp(-fewer)), agreed(left), crowded)

    def allowed(self, answer: Answer, at_ends: float = 0.0) -> Answer:
        """With an interval that also holds for more ties than the pilot has; the value stays.

        If the second round shows this share of the people ``at_ends`` of the pilot (see `Analysis`), it does
        not tell them from each other. They hold as much of tau-a as the first round leaves room for, but no
        more than all pairs of whom one is there. All of that may be missing, or too much.
        """
        if self == NO_TIES or not math.isfinite(answer.bias):
            return answer
        size, around = abs(answer.value), reach(answer.standard_error, answer.bias, LEVEL)
        ties, shorter = self, 0.0
        if self.most == 1:
            # What ties take from tau-a is a bias, of another cause than the others.
            bias = math.hypot(answer.bias, (1 - self.left) * size)
            shorter = reach(answer.standard_error, bias, LEVEL) - around
        further = max(math.hypot(around, (self.most - 1) * size), self._end(0.0, around)) - around
        if at_ends > 0:
            hidden = min(self.crowded, at_ends * (2 - at_ends), 1 - 1 / LARGEST_FACTOR)
            most = 1 + math.hypot(self.most - 1, hidden / (1 - hidden))
            ties = replace(self, most=most, left=min(self.left, 1 - hidden))
            further = max(further, ties._end(-size, around) - (around + size))
            shorter = max(shorter, math.hypot(around, hidden * size) - around)
        # Beyond 1 there is nothing to allow for.
        further = min(further, max(1 - size, 0.0))
        nearer = max(ties._end(size * self.least, around) - (around - size), (1 - self.least) * size, shorter)
        return replace(
            answer,
            centre=answer.value + math.copysign(1.0, answer.value) * (further - nearer) / 2,
            bias=answer.bias + (further + nearer) / 2,
        )

    def _end(self, size: float, around: float) -> float:
        """How far beyond 0 the interval of a value of this size ends: on its own side if the size is below 0.

        With a part c of the noise's limit and a part s of that of ties, c^2 + s^2 = 1, the dividend has lost
        a part s of what ties take, and the divisor is smaller by a part s.
        """
        noise, ties = np.cos(ANGLES), np.sin(ANGLES)
        dividend = around * noise - size * (1 - (1 - self.left) * ties * (size > 0))
        return float((dividend * (1 + (self.most - 1) * ties)).max())

    def to_json(self) -> list[float]:
        """As older files have it where the later numbers say nothing."""
        numbers = list(astuple(self))
        while len(numbers) > 2 and numbers[-1] == astuple(NO_TIES)[len(numbers) - 1]:
            numbers.pop()
        return numbers

    @classmethod
    def from_json(cls, spec: Any) -> UnseenTies:
        """Read it back; everything is checked before it is used."""
        if not isinstance(spec, list) or not 2 <= len(spec) <= 4:
            raise BadFile("what ties may do is four numbers, or two in older files")
        numbers = [real("what ties may do", number) for number in spec]
        most, *shares = numbers
        if not 1 <= most <= LARGEST or min(shares) < 0 or max(shares) > 1:
            raise BadFile(
                "more ties multiply a value by 1 or more, fewer by 0 to 1; shares of tau-a are 0 to 1"
            )
        return cls(*numbers)


NO_TIES = UnseenTies()
