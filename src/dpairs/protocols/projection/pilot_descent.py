"""From the noisy levels of one stratum's tree to a distribution, from the root down."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers, Interval
from ..tree.hierarchy import Level, Solution, children, least_squares
from ..tree.leaves import Leaves
from .pilot import PublicNoise
from .pilot_boxes import Boxes
from .pilot_cells import Parts, column_ends
from .winsorize import Tail

Vector = NDArray[np.float64]
WHOLE_LEVELS = 10
"""Levels explored whole; below, only where people are."""
LEAST = 1.0
"""A node is split when its share is above so many standard errors of its halves' estimates."""
TINY = 1e-24


@dataclass(frozen=True, eq=False)
class Descent:
    """The share of people in every explored node, and which were split; of several rounds, a row each."""

    levels: list[Level]
    masses: list[Vector]
    into: list[NDArray[np.bool_]]
    leaves: Leaves
    boxes: list[Boxes]
    apart: tuple[int, ...] = ()
    """The levels of the plane whose boxes were told apart, not shared out alike."""

    def _ended(self) -> Iterator[NDArray[np.bool_]]:
        """The nodes of each level that were reached and not split."""
        alive = np.ones(1, dtype=bool)
        for level, into in zip(self.levels, self.into, strict=True):
            yield alive & ~into
            alive = np.repeat(into[..., level.expanded], 2, axis=-1)

    def together(self, leaves: bool) -> float:
        """The share of pairs that lie in one part; single ``leaves`` count as parts or not."""
        depth = sum(self.leaves.bits)
        ended = zip(self.masses, self._ended(), strict=True)
        shares = [masses[where] for level, (masses, where) in enumerate(ended) if leaves or level < depth]
        return float(sum((masses**2).sum() for masses in shares))

    def _within(self, last: int) -> float:
        """The share of pairs that lie in one box of a level, or in one part above it."""
        alive, total = np.ones(1, dtype=bool), 0.0
        for level, masses, into in zip(self.levels[:last], self.masses, self.into, strict=False):
            total += float((masses[alive & ~into] ** 2).sum())
            alive = np.repeat((alive & into)[level.expanded], 2)
        return total + float((self.masses[last][alive] ** 2).sum())

    def local_concordance(self) -> float:
        """About what pairs that were not told apart add to tau, beyond what the function knows of them.

        A box that was halved in both columns has four quarters. Of its pairs in opposite quarters, those of
        the rising diagonal are concordant and those of the falling one are not. On the last level that was
        told apart, the ratio r of their difference to their sum stands for pairs within one box of it, if
        most of these are in boxes that show it.

        Within such a box both columns are taken to have nothing to do with each other. The function then sees
        2/3 of Spearman's coefficient of the people there. Tau less that is at most a third, by Daniels'
        inequality |3 tau - 2 rho| <= 1 ("Rank correlation and population models", 1950): a third for people
        on a line, and r - (4 / pi) asin(sin(pi r / 2) / 2) for normal columns, where it is of third order
        in r (Kruskal, "Ordinal measures of association", 1958). From nothing to twice that is missing.
        """
        for last in reversed(self.apart):
            rising, falling, held = self._diagonals(last)
            within = self._within(last)
            if held > within / 2:
                ratio = (rising - falling) / (rising + falling)
                return missed_within(ratio, within)
        return 0.0

    def _diagonals(self, last: int) -> tuple[float, float, float]:
        """Pairs in opposite quarters of boxes two levels up, by their diagonal; and pairs within one quarter.

        Boxes with fewer of them than half of what evenly spread people have hold nearly everybody in one
        quarter or in two beside each other, and show no more than noise.
        """
        if last < 2 or self.leaves.turns[last - 2] == self.leaves.turns[last - 1]:
            return 0.0, 0.0, 0.0
        level, below = self.levels[last - 2], self.levels[last - 1]
        both = (self.into[last - 1] & below.expanded).reshape(-1, 2).all(axis=1)
        halved = np.flatnonzero(both & self.into[last - 2][level.expanded])
        place = np.cumsum(below.expanded) - 1
        quarters = self.masses[last].reshape(-1, 2)
        left, right = quarters[place[2 * halved]], quarters[place[2 * halved + 1]]
        rising, falling = left[:, 0] * right[:, 1], left[:, 1] * right[:, 0]
        shown = rising + falling > (left + right).sum(axis=1) ** 2 / 16
        held = float((left[shown] ** 2).sum() + (right[shown] ** 2).sum())
        return float(rising[shown].sum()), float(falling[shown].sum()), held

    @cached_property
    def parts(self) -> Parts:
        """The boxes that were not split: of several rounds, in any of them, with shares of 0 in others."""
        starts, widths, shares = [], [], []
        for boxes, masses, ended in zip(self.boxes, self.masses, self._ended(), strict=True):
            ended = ended & boxes.there
            kept = ended.reshape(-1, ended.shape[-1]).any(axis=0)
            starts.append(boxes.starts[:, kept])
            widths.append(np.broadcast_to(boxes.widths[:, None], starts[-1].shape))
            shares.append(np.where(ended, masses, 0.0)[..., kept])
        return Parts(*(np.concatenate(each, axis=-1) for each in (starts, widths, shares)))


class NodeCounts(Protocol):
    """What is known of the nodes of one level: see `tree.oracle.Oracle`."""

    @property
    def people(self) -> int: ...

    @property
    def answered(self) -> int: ...

    @property
    def parities(self) -> int: ...

    @property
    def scale(self) -> float: ...

    @property
    def noise(self) -> float: ...

    def __call__(self, nodes: NDArray[np.uint64]) -> Vector: ...


@dataclass(frozen=True, eq=False)
class Explored:
    """The explored levels of a tree with the noise of each (variances of shares), and their solution."""

    levels: list[Level]
    noise: list[float]
    chance: list[float]
    """How far a share is off because only some people answer about a level, relative to its own variance."""
    solution: Solution
    leaves: Leaves
    boxes: list[Boxes]
    least: float = LEAST

    def descend(self) -> Descent:
        return self.read(self.solution)

    def read(self, solution: Solution) -> Descent:
        """The distribution that these estimates are made."""
        return descend(solution, self.leaves, self.boxes, self.least)

    @property
    def answered(self) -> list[int]:
        """The levels that somebody answered about."""
        return [number for number in range(1, len(self.levels)) if np.isfinite(self.noise[number])]

    def imagine(self, truth: Sequence[Vector], normals: Sequence[Vector]) -> Solution:
        """The shares that would be estimated if these of every level were true, with other noise.

        ``normals`` are rows of standard normal numbers for the nodes of each answered level, a row a round.
        """
        rounds = normals[0].shape[0]
        measured = [np.broadcast_to(masses, (rounds, masses.size)) for masses in truth]
        for number, drawn in zip(self.answered, normals, strict=True):
            masses = truth[number]
            spread = self.noise[number] + self.chance[number] * masses * (1 - masses)
            error = drawn * np.sqrt(spread)
            if masses.size == 2**number:
                # The counts of a whole level add up to the people there are: their errors to nothing.
                error -= error.sum(axis=-1, keepdims=True) * spread / spread.sum()
            measured[number] = masses + error
        return self.solution.weights.solve(measured, 1.0)

    @property
    def ends(self) -> list[float]:
        """One more than the last leaf of each column."""
        return column_ends(self.leaves)

    def terminal(self, solution: Solution) -> Parts:
        """The nodes without children, with their shares as they were measured: some below nothing."""
        starts, widths, shares = [], [], []
        for boxes, level, estimates in zip(self.boxes, self.levels, solution.estimates, strict=True):
            kept = ~level.expanded & boxes.there
            starts.append(boxes.starts[:, kept])
            widths.append(np.broadcast_to(boxes.widths[:, None], starts[-1].shape))
            shares.append(estimates[..., kept])
        return Parts(*(np.concatenate(each, axis=-1) for each in (starts, widths, shares)))

    def tail(self, imagined: Solution) -> Tail:
        """The shares of the nodes without children, in order (one column), here and in imagined rounds."""
        starts, stops = [], []
        for number, level in enumerate(self.levels):
            width = 2.0 ** (sum(self.leaves.bits) - number)
            low = level.nodes[~level.expanded].astype(np.float64) * width
            starts.append(low)
            stops.append(np.minimum(low + width, self.leaves.end))
        order = np.argsort(np.concatenate(starts))

        def shares(solution: Solution) -> Vector:
            pairs = zip(solution.estimates, solution.levels, strict=True)
            return np.concatenate([each[..., ~level.expanded] for each, level in pairs], axis=-1)[..., order]

        first, last = (np.concatenate(each)[order] for each in (starts, stops))
        return Tail(first, last, shares(self.solution), shares(imagined))


def explore(oracles: Sequence[NodeCounts], leaves: Leaves, least: float = LEAST) -> Explored:
    """Solve on all nodes of the upper levels, and below on the children of nodes worth looking into."""
    depth, people = len(oracles), oracles[0].people
    # A level that nobody answered about says nothing as long as nothing below it does.
    answered = [level for level, oracle in enumerate(oracles, start=1) if oracle.answered]
    top = max((level for level in answered if level <= WHOLE_LEVELS), default=min(answered, default=1))
    levels = [
        Level(np.arange(2**level, dtype=np.uint64), np.full(2**level, level < top))
        for level in range(top + 1)
    ]
    measured = [np.empty(0)]
    measured += [oracle(level.nodes) / people for oracle, level in zip(oracles, levels[1:], strict=False)]
    # At a very large epsilon there is no noise to speak of, but weights need some.
    noise = [0.0] + [max(oracle.noise / people**2, TINY) for oracle in oracles]
    boxes = [Boxes.of(leaves, number, level) for number, level in enumerate(levels)]
    while True:
        solution = least_squares(levels, measured, noise[: len(levels)], 1.0)
        # The next level that somebody answered about.
        after = next((level for level in range(len(levels), depth + 1) if np.isfinite(noise[level])), None)
        if after is None:
            break
        found = descend(solution, leaves, boxes, least)
        into = _alive(found) & (found.masses[-1] > least * np.sqrt(noise[after]))
        if not into.any():
            break
        while len(levels) <= after:
            levels[-1] = Level(levels[-1].nodes, into)
            below = children(levels[-1].nodes[into])
            measured.append(oracles[len(levels) - 1](below) / people)
            levels.append(Level(below, np.zeros(below.size, dtype=bool)))
            boxes.append(Boxes.of(leaves, len(levels) - 1, levels[-1]))
            into = np.ones(below.size, dtype=bool)
    # One sign's noise is there whoever answers; a report of several signs leaves the choice of people bare.
    chance = [0.0] + [max(each.scale - 1, 0.0) / people if each.parities > 1 else 0.0 for each in oracles]
    return Explored(levels, noise[: len(levels)], chance, solution, leaves, boxes, least)


def imagined(
    known: Sequence[tuple[Explored, Sequence[Vector]]], noise: PublicNoise, rounds: int
) -> list[Solution]:
    """So many rounds of every explored tree, if the shares beside it were true."""
    counts = [[truth[number].size for number in each.answered] for each, truth in known]
    normals = iter(noise.rounds([count for each in counts for count in each], rounds))
    return [
        each.imagine(truth, list(islice(normals, len(own))))
        for (each, truth), own in zip(known, counts, strict=True)
    ]


def missed_within(ratio: float, within: float) -> float:
    """Twice what such a share of pairs adds to tau beyond the function, if their own tau is ``ratio``."""
    return 2 * within * (ratio - 4 / math.pi * math.asin(math.sin(math.pi * ratio / 2) / 2))


def _alive(found: Descent) -> NDArray[np.bool_]:
    """The nodes of the last level whose ancestors were all split."""
    alive = np.ones(1, dtype=bool)
    for level, into in zip(found.levels[:-1], found.into[:-1], strict=True):
        alive = np.repeat((alive & into)[level.expanded], 2)
    return alive


def descend(solution: Solution, leaves: Leaves, boxes: list[Boxes], least: float = LEAST) -> Descent:
    """Share out each node's people among its halves."""
    rows = solution.estimates[0].shape[:-1]
    masses, into = [np.ones((*rows, 1))], []
    plane = len(leaves.bits) > 1 and all(isinstance(each, (Interval, Integers)) for each in leaves.domains)
    alive, apart = np.ones((*rows, 1), dtype=bool), []
    for number in range(1, len(solution.levels)):
        expanded, here = solution.levels[number - 1].expanded, boxes[number]
        pair = solution.estimates[number].reshape(*rows, -1, 2)
        noise = solution.variances[number].reshape(-1, 2)
        mass = masses[-1][..., expanded]
        looked = alive[..., expanded] & (mass > least * np.sqrt(noise.max(axis=1)))
        measured = (mass + pair[..., 0] - pair[..., 1]) / 2
        if plane:
            whole, first, off = (
                np.where(looked, each, 0.0) for each in (mass, measured, noise.sum(axis=1) / 4)
            )
            measured, told = told_apart(whole, first, off, here.slabs)
            if np.all(told):
                apart.append(number)
        measured = np.clip(measured, 0.0, mass)
        left = np.where(looked & here.halved, measured, mass * here.even)
        masses.append(np.stack([left, mass - left], axis=-1).reshape(*rows, -1))
        entered = np.zeros((*rows, expanded.size), dtype=bool)
        entered[..., expanded] = looked
        into.append(entered)
        alive = np.repeat(looked, 2, axis=-1)
    into.append(np.zeros((*rows, solution.levels[-1].nodes.size), dtype=bool))
    return Descent(solution.levels, masses, into, leaves, boxes, tuple(apart))


def told_apart(
    mass: Vector, left: Vector, noise: Vector, slabs: NDArray[np.int64]
) -> tuple[Vector, NDArray[np.bool_]]:
    """The people in the first halves of a level's boxes, as measured or all boxes of a slab alike; and which.

    Boxes of one slab lie between the same two values of the column that is halved, and differ in the other.
    If both columns had nothing to do with each other there, a slab's boxes would be shared out alike, as its
    sum is. Let D be how far boxes are measured from that. What a derivative at the pilot misses is a
    quadratic form of the pilot's errors: to share boxes alike costs up to sum D^2 less what noise adds to it,
    and to take the measured shares costs the form of their noise, of standard deviation
    sqrt(2 sum noise^2), both times the same kernel. The smaller is chosen for the level. Boxes that nobody
    looked into have zeros.
    """
    whole, given, total = (_by_slab(each, slabs) for each in (mass, left, noise))
    people = np.where(whole > 0, whole, 1.0)
    share = mass / people
    alike = np.clip(given / people, 0.0, 1.0) * mass
    by_noise = (noise * (1 - 2 * share) + share**2 * total).sum(axis=-1)
    beyond = ((left - alike) ** 2).sum(axis=-1) - by_noise
    told = np.asarray(beyond > np.sqrt(2 * (noise**2).sum(axis=-1)))
    return np.where(told[..., None], left, alike), told


def _by_slab(values: Vector, slabs: NDArray[np.int64]) -> Vector:
    """The sum over each box's slab."""
    if not slabs.size:
        return values
    count = int(slabs.max()) + 1
    rows = values.reshape(-1, slabs.size)
    places = np.arange(rows.shape[0])[:, None] * count + slabs
    sums = np.bincount(places.reshape(-1), rows.reshape(-1), rows.shape[0] * count)
    return np.asarray(sums[places].reshape(values.shape))
