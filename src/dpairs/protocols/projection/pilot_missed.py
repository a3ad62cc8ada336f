"""People whom a pilot has not found: far more in one place than it has there.

A crowd that lies in one small place is in one node of every level, or in two where nodes meet, and in up to
four boxes of the plane. Each
level by itself may not tell these boxes from noise, and then a pilot spreads the people out. All levels
together can: the measured less the pilot's share around a place, each level weighed by its noise. To look at
many places finds some by chance, so an excess counts only where so many, chosen beforehand, would show it in
one study of twenty (Bonferroni). They are not: who stands out is looked at more closely, so false alarms are
more frequent. These make an interval longer; to miss a crowd gives a wrong one. Few reports that each name
many boxes are no normal noise: the limit is moved by their skewness (Cornish and Fisher, "Moments and
cumulants in the specification of distributions", 1938).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..tree.leaves import Leaves
from ..tree.oracle import Oracle
from .pilot_descent import TINY, WHOLE_LEVELS

Vector = NDArray[np.float64]
CHANCE = 0.05
"""How often one of so many places would stand out by chance, were they chosen beforehand."""
KEPT = 32
"""Places that are looked at more closely."""


@dataclass(frozen=True, eq=False)
class Places:
    """Points of the plane in leaves, a row a column, with the excess around each: precisions times it."""

    points: NDArray[np.float64]
    weighted: Vector
    precision: Vector
    third: Vector
    """The third cumulant of ``weighted``."""

    @classmethod
    def all(cls, leaves: Leaves, widths: Vector) -> Places:
        """The middles and the corners of all boxes of these widths."""
        sides = [
            np.arange(2 * 2.0**bits / width + 1) * width / 2
            for bits, width in zip(leaves.bits, widths, strict=True)
        ]
        points = np.stack([each.reshape(-1) for each in np.meshgrid(*sides, indexing="ij")])
        return cls(points, *np.zeros((3, points.shape[1])))

    @property
    def excess(self) -> Vector:
        return np.asarray(self.weighted / self.precision)

    @property
    def standing_out(self) -> Vector:
        """The excess in standard errors."""
        return np.asarray(self.weighted / np.sqrt(self.precision))

    @property
    def skewness(self) -> Vector:
        return np.asarray(self.third / self.precision**1.5)

    def greatest(self) -> Places:
        """The place that stands out most."""
        return self._some(np.argmax(self.standing_out, keepdims=True))

    def best(self) -> Places:
        return self._some(np.argsort(-self.standing_out, kind="stable")[:KEPT])

    def _some(self, which: NDArray[np.int64]) -> Places:
        return Places(self.points[:, which], self.weighted[which], self.precision[which], self.third[which])

    def halved(self, column: int, width: float) -> Places:
        """For boxes halved to this width: the middle of one is a corner, and both halves have middles."""
        middles = np.flatnonzero(np.rint(self.points[column] / width).astype(np.int64) % 2)
        both = np.concatenate([np.arange(self.weighted.size), middles, middles])
        more = self._some(both)
        more.points[column, self.weighted.size :] += np.repeat([-width / 2, width / 2], middles.size)
        return more

    def measured(
        self,
        level: int,
        oracle: Oracle,
        leaves: Leaves,
        widths: Vector,
        pilot: tuple[Sequence[Vector], Vector],
    ) -> Places:
        """With what one level says."""
        starts, stops = [], []
        for point, width, bits in zip(self.points, widths, leaves.bits, strict=True):
            last = 2.0**bits / width - 1
            starts.append(np.clip(np.ceil(point / width) - 1, 0, last) * width)
            stops.append((np.clip(np.floor(point / width), 0, last) + 1) * width)
        boxes = np.prod((np.array(stops) - starts) / widths[:, None], axis=0)
        excess = _counted(level, oracle, leaves, widths, starts, stops) - _share(pilot, starts, stops)
        # At a very large epsilon there is no noise to speak of, but weights need some.
        precision = 1 / (boxes * max(oracle.noise / oracle.people**2, TINY))
        return Places(
            self.points,
            self.weighted + precision * excess,
            self.precision + precision,
            self.third + precision**3 * third_cumulant(oracle, precision),
        )


def third_cumulant(oracle: Oracle, precision: Any) -> Any:
    """That of the measured share of boxes with this precision.

    Of m symbols a report names one, which stands for a box by chance with probability 1 / m.
    """
    symbols = 2**oracle.parities
    return (1 - 2 / symbols) * symbols * oracle.gain / (oracle.answered * precision)


def _counted(
    level: int, oracle: Oracle, leaves: Leaves, widths: Vector, starts: list[Vector], stops: list[Vector]
) -> Vector:
    """The measured share of the boxes around each place: the first and the last of each column."""
    spare = np.uint64(sum(leaves.bits) - level)
    total = np.zeros(starts[0].size)
    for choice in range(2 ** len(leaves.bits)):
        vertices, there = [], np.ones(total.size, dtype=bool)
        for column, (start, stop, width) in enumerate(zip(starts, stops, widths, strict=True)):
            upper = choice >> column & 1
            vertices.append((stop - width if upper else start).astype(np.uint64))
            there &= (stop - start > width) | (not upper)
        nodes, back = np.unique(leaves.interleave(vertices) >> spare, return_inverse=True)
        total += np.where(there, oracle(nodes)[back], 0.0)
    return total / oracle.people


def _share(pilot: tuple[Sequence[Vector], Vector], starts: list[Vector], stops: list[Vector]) -> Vector:
    """The share of the pilot's people between these leaves; its cells are filled evenly."""
    edges, table = pilot
    inside = []
    for cuts, start, stop in zip(edges, starts, stops, strict=True):
        common = np.minimum(stop[:, None], cuts[1:]) - np.maximum(start[:, None], cuts[:-1])
        inside.append(np.clip(common, 0.0, None) / np.diff(cuts))
    if len(inside) == 1:
        return np.asarray(inside[0] @ table)
    return np.asarray(((inside[0] @ table) * inside[1]).sum(axis=1))


def missed_share(
    strata: Sequence[tuple[Sequence[Oracle], Vector]], leaves: Leaves, edges: Sequence[Vector]
) -> tuple[float, float]:
    """How many more people than the pilot has lie in one place of one or two columns; 0 if by chance.

    As a share of them, of all strata together, each of which has its answers and the pilot's shares; and one
    standard error more.
    """
    from scipy.special import ndtri

    shape = [cuts.size - 1 for cuts in edges]
    pilots = [(oracles, (edges, shares.reshape(shape))) for oracles, shares in strata]
    widths = [2.0 ** np.array(leaves.bits)]
    for column in leaves.turns:
        widths.append(widths[-1] / np.where(np.arange(len(leaves.bits)) == column, 2, 1))
    depth = len(strata[0][0])
    answered = [
        level for level in range(1, depth + 1) if all(oracles[level - 1].answered for oracles, _ in strata)
    ]
    whole = [level for level in answered if level <= WHOLE_LEVELS]
    if not whole:
        return 0.0, 0.0

    def measured(places: Places, level: int) -> Places:
        for oracles, pilot in pilots:
            places = places.measured(level, oracles[level - 1], leaves, widths[level], pilot)
        return places

    places = Places.all(leaves, widths[whole[-1]])
    for level in whole:
        places = measured(places, level)
    looked, greatest = 0, []
    for level in range(whole[-1], depth + 1):
        if level > whole[-1]:
            column = leaves.turns[level - 1]
            places = places.best().halved(column, float(widths[level][column]))
            if level not in answered:
                continue
            places = measured(places, level)
        looked += places.weighted.size
        greatest.append(places.greatest())
    limit = -float(ndtri(CHANCE / looked))
    beyond = [each.standing_out[0] - limit - each.skewness[0] * (limit**2 - 1) / 6 for each in greatest]
    most = int(np.argmax(beyond))
    if beyond[most] <= 0:
        return 0.0, 0.0
    excess, error = float(greatest[most].excess[0]), float(greatest[most].precision[0] ** -0.5)
    return min(excess, 1.0), min(excess + error, 1.0)
