"""Domains that are too wide: the function is kept level beyond the people whom the pilot saw.

A distance from the pilot's median is significant while the share of people beyond it is, by its own
standard error, or could be a quarter of all. People beyond the last such distance lie in the next octaves,
up to twice or four times as far, for the most part: what the pilot saw further out counts as if it lay
there, so that noise has no reach. Values of another octave (or several, where that is cheaper) still count
as what they are; values beyond, as if they lay at its end. The function's range, and with it the noise, is
that of the people and not of the domain.

What lies beyond is allowed for as a bias: the share that twice the last significant distance may leave out,
one standard error more than was measured. It falls to a quarter with each octave, as the tails of all
distributions with a variance do in the long run (Chebyshev), or as slowly as it was seen to fall (`_left`),
and is no more than was measured there and one standard error. That is an assumption. Without one no study of
so few people could rule out that one in a hundred has everything. Where to end is chosen by the quarter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Levels
from ...data.grids import Axis
from ...statistics.vertices import Vertices
from .pilot_cells import Parts

Vector = NDArray[np.float64]
Beyond = tuple[Vector, Vector]
SIGNIFICANT, SURE = 2.0, 3.3
"""Standard errors of a share that is seen; and of one that is seen beyond a distance where nothing was, which
happens by chance at one of 2,000 distances, of which a domain has some ten."""
MOST = 0.25
"""The share beyond a distance that the pilot must rule out before anything is cut there. Half of it must be
seen beyond some nearer distance, or the people's own scale is not known."""
LEAST_LEFT = 0.25
"""What is left of a share after another octave, of distributions that just have a variance."""
NEAR, FEWEST, OCTAVES = 2, 3, 8
"""Octaves from the last distance beyond which people surely lie: where the pilot ends; where the function
does at least; and at most, where that is cheaper than what it leaves out."""


@dataclass(frozen=True)
class Ends:
    """The leaves that values are moved between, and what may lie beyond: shares and leaves."""

    low: float
    high: float
    sure: tuple[float, float]
    """Where the pilot's people are moved to: what it saw further out is as good as noise."""
    beyond: tuple[tuple[float, float], ...] = ()
    means: tuple[tuple[float, float], ...] = ()
    """What the mean leaf is at least, measured without bias, each with its standard error: see `Tail.least`.

    The first is that of people who are moved to the sure ends, at the middle of their nodes."""
    heavier: tuple[tuple[float, float], ...] = ()
    """What may lie beyond if the tail falls no faster than it was seen to."""
    tails: tuple[tuple[float, tuple[float, ...]], ...] = ()
    """Shares beyond the first of some leaves, each twice as far from the median as the one before."""


@dataclass(frozen=True, eq=False)
class Tail:
    """Shares above each terminal node's end or below it, measured without bias, and their standard errors."""

    starts: Vector
    stops: Vector
    shares: Vector
    repeated: NDArray[np.float64]
    """The same from imagined rounds, a row each."""

    def mean(self, low: float, high: float) -> tuple[float, float]:
        """The mean leaf of people who are moved between two leaves, without bias, and its standard error.

        A pilot is a distribution: noise far away is people there, and never less than nobody. Its mean is
        too large for that. This one may be negative.
        """
        middle = (np.clip(self.starts, low, high) + np.clip(self.stops, low, high)) / 2
        return float(self.shares @ middle), float(np.std(self.repeated @ middle, ddof=1))

    def least(self) -> tuple[tuple[float, float], ...]:
        """What the mean leaf is at least: that of people at the lower ends of their nodes, and up to a leaf.

        That leaf is 1, 2, 4 and so on to the last. Noise far away counts less for a nearer one.
        """
        last = float(self.stops[-1])
        leaves = np.minimum(2.0 ** np.arange(np.ceil(np.log2(max(last, 2.0))) + 1), last)
        below = np.minimum(self.starts[:, None], leaves)
        means, errors = self.shares @ below, np.std(self.repeated @ below, axis=0, ddof=1)
        return tuple(zip(means.tolist(), errors.tolist(), strict=True))

    def listed(self, levels: Domain) -> tuple[tuple[float, float], ...]:
        """The mean of evenly spaced values, each a leaf, and what it is at least, as `Ends.means`."""
        if not isinstance(levels, Levels):
            return ()
        first, *_, last = map(float, levels.values)
        gap = (last - first) / (levels.size - 1)
        mean, error = self.mean(0.0, float(levels.size))
        # A value lies at the beginning of its leaf, not in the middle.
        leaves = (mean - 0.5, error), *self.least()
        return tuple((first + gap * leaf, gap * error) for leaf, error in leaves)

    def reaches(self, median: float, limit: float) -> tuple[float, float, Beyond]:
        """How far from the median people lie for sure, and at most about what share lies twice as far.

        And distances from there on, with the largest shares beyond them.
        """
        side = 1 if limit > median else -1
        shares, repeated, edges = self.shares, self.repeated, self.starts
        if side < 0:
            shares, repeated, edges = shares[::-1], repeated[:, ::-1], self.stops[::-1]
        beyond = np.cumsum(shares[::-1])[::-1]
        noise = np.std(np.cumsum(repeated[:, ::-1], axis=1)[:, ::-1], axis=0, ddof=1)
        whole = abs(limit - median)
        # The distances from one leaf to the domain's end, each twice the one before.
        octaves = np.arange(int(np.log2(max(whole, 2.0))), -1, -1)
        distances: Vector = np.asarray(whole / 2.0**octaves, dtype=np.float64)
        # A node that a distance ends in counts as beyond it.
        at = np.maximum(np.searchsorted(side * (edges - median), distances, side="right") - 1, 0)
        reached = distances < whole
        above, error = np.where(reached, beyond[at], 0.0), np.where(reached, noise[at], 0.0)
        seen = above > SIGNIFICANT * error
        unbroken = int(np.argmin(seen)) if not seen.all() else seen.size
        sure = np.flatnonzero(above > SURE * error)
        # To see nobody is no reason to cut where the pilot would not have seen many; nor is it where nobody
        # is seen apart from the median: a column of zeros says nothing about how far the others lie.
        # Whoever lies beyond a distance lies beyond every nearer one, so a bound there holds here.
        apart = float(np.max(above - SURE * error)) > MOST / 2
        most_here = above + SIGNIFICANT * error
        if apart:
            few = np.minimum.accumulate(most_here) <= MOST
        else:
            few = np.logical_and.accumulate((most_here <= 0)[::-1])[::-1]
        last = max(unbroken, int(sure[-1]) + 1 if sure.size else 0, int(np.argmax(few)))
        if last == seen.size:
            return whole, 0.0, (distances[-1:], np.zeros_like(distances[-1:]))
        most = max(float(above[last]), 0.0) + float(error[last])
        most_here = np.minimum.accumulate(np.maximum(above, 0.0) + error)[last:]
        falling = most * _left(above[: last + 1], error[: last + 1]) ** np.arange(most_here.size)
        further = distances[last:], np.asarray(np.minimum(np.minimum(most_here, falling), 1.0))
        return max(float(distances[last]) / 2, 1.0), min(most, 1.0), further


def _left(shares: Vector, errors: Vector) -> float:
    """How much of a share beyond a distance lies beyond twice that, further out than these distances.

    A quarter, or more if people were seen to lie so. Shares of lognormal and all lighter tails fall ever
    faster from octave to octave, Pareto's as fast as ever: so at least as they did from any distance beyond
    which people surely lie to the last.
    """
    nearer = shares[:-1]
    sure = nearer > SURE * errors[:-1]
    seen = max(float(shares[-1]), 0.0) / np.where(sure, nearer, 1.0)
    each_octave = seen ** (1 / np.arange(nearer.size, 0, -1))
    return max(float(np.min(each_octave, initial=1.0, where=sure)), LEAST_LEFT)


def possible_ends(parts: Parts, tail: Tail, end: float) -> list[Ends]:
    """From one octave beyond the last significant ends to the whole domain."""
    places = np.unique(np.concatenate([parts.starts[0], [end]]))
    median = float(np.interp(0.5, parts.cumulated(0, places, end), places))
    reached = [(limit, *tail.reaches(median, limit)) for limit in (0.0, end)]
    # A side that is no longer than the other one is wide costs nothing.
    wide = max(far for _, far, *_ in reached)
    sides = [(limit, wide, most, further) for limit, _, most, further in reached]
    near = wide * 2**NEAR
    sure = float(np.floor(max(median - near, 0.0))), float(np.ceil(min(median + near, end)))
    means = tail.mean(*sure), *tail.least()
    tails = tuple(
        (most, tuple(_octaves(median, limit, far)))
        for limit, far, most, _ in sides
        if most > 0 and abs(limit - median) > 2 * far
    )
    possible = []
    for octaves in range(FEWEST, OCTAVES + 1):
        limits: list[float] = []
        beyond: list[tuple[float, float]] = []
        heavier: list[tuple[float, float]] = []
        for limit, far, most, further in sides:
            side, whole = (1 if limit > median else -1), abs(limit - median)
            cut = median + side * min(far * 2**octaves, whole)
            limits.append(float(np.floor(cut) if side < 0 else np.ceil(cut)))
            # Of the share beyond 2 far, three quarters lie in the first octave, and a quarter of that next.
            for octave in range(octaves, OCTAVES + FEWEST):
                if far * 2**octave < whole:
                    place = median + side * min(far * 2 ** (octave + 1), whole)
                    beyond.append((0.75 * most * 0.25 ** (octave - 1), place))
                    here, next_one = (_largest(further, far * 2**each) for each in (octave, octave + 1))
                    last = far * 2 ** (octave + 1) >= whole
                    heavier.append((here if last else here - next_one, place))
        possible.append(Ends(limits[0], limits[1], sure, tuple(beyond), means, tuple(heavier), tails))
        if limits == [0.0, end]:
            break
    return possible


def _octaves(median: float, limit: float, far: float) -> list[float]:
    """The places from twice ``far`` from the median to the limit, each twice as far as the one before."""
    whole, side = abs(limit - median), (1 if limit > median else -1)
    places: list[float] = []
    while not places or abs(places[-1] - median) < whole:
        far = min(2 * far, whole)
        places.append(median + side * far if far < whole else limit)
    return places


def _largest(beyond: Beyond, distance: float) -> float:
    """The largest share beyond a distance, by the last of those that are known."""
    distances, shares = beyond
    return float(shares[max(int(np.searchsorted(distances, distance, side="right")) - 1, 0)])


def moved(masses: Vector, first: int, last: int) -> Vector:
    """Shares of cells with those outside ``first .. last - 1`` moved to the nearest inside."""
    inside = np.zeros_like(masses)
    inside[first:last] = masses[first:last]
    inside[first] += masses[:first].sum()
    inside[last - 1] += masses[last:].sum()
    return inside


def levelled(axis: Axis, values: Vector, first: int, last: int) -> Vector:
    """A function at vertices, kept level outside the bins ``first .. last - 1``."""
    bins = Vertices(axis).bins
    inside = np.flatnonzero((bins >= first) & (bins < last))
    return np.asarray(values[np.clip(np.arange(bins.size), inside[0], inside[-1])])


def left_out(
    axis: Axis, values: Vector, ends: tuple[int, int], beyond: Sequence[tuple[float, float]]
) -> float:
    """What people beyond the ends would add to the mean of the function, if it went on: at most so much."""
    vertices = Vertices(axis)
    level = levelled(axis, values, *ends)
    total = 0.0
    for share, place in beyond:
        went_on, stayed = (float(np.interp(place, vertices.places, each)) for each in (values, level))
        total += share * (went_on - stayed)
    return total
