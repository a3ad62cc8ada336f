"""From the noisy levels of one stratum's tree to a distribution, from the root down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers, Interval
from ...errors import NotEnoughData
from ..tree.hierarchy import Level, Solution, children, least_squares
from ..tree.leaves import Leaves
from .pilot import PublicNoise
from .pilot_boxes import Boxes
from .pilot_cells import Parts, column_ends
from .winsorize import SIGNIFICANT, Tail

Vector = NDArray[np.float64]
WHOLE_LEVELS = 10
"""Levels explored whole; below, only where people are."""
FAR = 8
"""A walk goes on over up to so many levels that nobody answered about."""
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
    """The levels of the plane whose boxes differ by more than noise."""

    def reached(self) -> Iterator[NDArray[np.bool_]]:
        """The nodes of each level whose ancestors were all split."""
        alive = np.ones(1, dtype=bool)
        for level, into in zip(self.levels, self.into, strict=True):
            yield alive
            alive = np.repeat((alive & into)[..., level.expanded], 2, axis=-1)

    def _ended(self) -> Iterator[NDArray[np.bool_]]:
        """The nodes of each level that were reached and not split."""
        return (alive & ~into for alive, into in zip(self.reached(), self.into, strict=True))

    def together(self, leaves: bool) -> float:
        """The share of pairs that lie in one part; single ``leaves`` count as parts or not."""
        depth = sum(self.leaves.bits)
        ended = zip(self.masses, self._ended(), strict=True)
        shares = [masses[where] for level, (masses, where) in enumerate(ended) if leaves or level < depth]
        return float(sum((masses**2).sum() for masses in shares))

    def _told(self) -> tuple[Vector, Vector, Vector]:
        """First leaves and widths (a row a column) and shares of boxes of the last level that surely differ.

        Parts above it are boxes too. A level shows how people depend only if one does that has at most two
        halvings of each column less: else it has noise. The first halving has nothing to tell apart. Below
        the levels that are explored whole not all boxes are seen.
        """
        last = 1
        for level in self.apart:
            last = level if level <= min(last + 4, WHOLE_LEVELS) else last
        starts, widths, shares = [], [], []
        alive = np.ones(1, dtype=bool)
        for number in range(last + 1):
            into, boxes = self.into[number], self.boxes[number]
            kept = (alive if number == last else alive & ~into) & boxes.there
            starts.append(boxes.starts[:, kept])
            widths.append(np.broadcast_to(boxes.widths[:, None], starts[-1].shape))
            shares.append(self.masses[number][kept])
            alive = np.repeat((alive & into)[self.levels[number].expanded], 2)
        return np.concatenate(starts, axis=1), np.concatenate(widths, axis=1), np.concatenate(shares)

    def beside(self) -> float:
        """The share of pairs whose boxes lie beside or above each other, or in one: not told apart in both.

        Of two boxes that lie in each other in a column, people of the wider one are so often in the other.
        """
        starts, widths, shares = self._told()
        apart = np.ones((shares.size, shares.size))
        for start, width in zip(starts, widths, strict=True):
            ends = start + width
            common = np.minimum(ends[:, None], ends) - np.maximum(start[:, None], start)
            apart *= 1 - np.clip(common, 0.0, None) / np.maximum(width[:, None], width)
        return float(shares @ (1 - apart) @ shares)

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
    """Of each level: see `chance_of`."""
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
            variance = self.noise[number] + self.chance[number] * masses * (1 - masses)
            error = drawn * np.sqrt(variance)
            if masses.size == 2**number:
                # The counts of a whole level add up to the people there are: their errors to nothing.
                error -= error.sum(axis=-1, keepdims=True) * variance / variance.sum()
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
        order, first, last = self.line
        return Tail(first, last, *(each.ends(order) for each in (self.solution, imagined)))

    @cached_property
    def line(self) -> tuple[NDArray[np.int64], Vector, Vector]:
        """The order of the nodes without children in one column, with their first leaves and ends."""
        starts, stops = [], []
        for number, level in enumerate(self.levels):
            width = 2.0 ** (sum(self.leaves.bits) - number)
            low = level.nodes[~level.expanded].astype(np.float64) * width
            starts.append(low)
            stops.append(np.minimum(low + width, self.leaves.end))
        order = np.argsort(np.concatenate(starts))
        return order, np.concatenate(starts)[order], np.concatenate(stops)[order]


def explore(oracles: Sequence[NodeCounts], leaves: Leaves, least: float = LEAST) -> Explored:
    """Solve on all nodes of the upper levels, and below on the children of nodes worth looking into."""
    depth, people = len(oracles), oracles[0].people
    # A level that nobody answered about says nothing as long as nothing below it does.
    answered = [level for level, oracle in enumerate(oracles, start=1) if oracle.answered]
    top = max((level for level in answered if level <= WHOLE_LEVELS), default=0)
    if not top:
        raise NotEnoughData("too few people answered in the first round: none about where most people are")
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
        if after is None or after - len(levels) >= FAR:
            break
        descent = descend(solution, leaves, boxes, least)
        *_, alive = descent.reached()
        into = alive & (descent.masses[-1] > least * np.sqrt(noise[after]))
        if not into.any():
            break
        while len(levels) <= after:
            levels[-1] = Level(levels[-1].nodes, into)
            below = children(levels[-1].nodes[into])
            measured.append(oracles[len(levels) - 1](below) / people)
            levels.append(Level(below, np.zeros(below.size, dtype=bool)))
            boxes.append(Boxes.of(leaves, len(levels) - 1, levels[-1]))
            into = np.ones(below.size, dtype=bool)
    chance = [0.0] + [chance_of(each) for each in oracles]
    return Explored(levels, noise[: len(levels)], chance, solution, leaves, boxes, least)


def chance_of(oracle: NodeCounts) -> float:
    """How far a share is off because only some people answer about a level, relative to its own variance.

    One sign's noise is there whoever answers; a report of several signs leaves the choice of people bare.
    """
    return max(oracle.scale - 1, 0.0) / oracle.people if oracle.parities > 1 else 0.0


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
            measured, clear = told_apart(whole, first, off, here.slabs)
            if np.all(clear):
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
    """The people in the first halves of a level's boxes, as measured or all boxes of a slab alike.

    And whether they surely differ, of several rounds in each.

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
    chance = np.sqrt(2 * (noise**2).sum(axis=-1))
    told = np.asarray(beyond > chance)
    return np.where(told[..., None], left, alike), np.asarray(beyond > SIGNIFICANT * chance)


def _by_slab(values: Vector, slabs: NDArray[np.int64]) -> Vector:
    """The sum over each box's slab."""
    if not slabs.size:
        return values
    count = int(slabs.max()) + 1
    rows = values.reshape(-1, slabs.size)
    places = np.arange(rows.shape[0])[:, None] * count + slabs
    sums = np.bincount(places.reshape(-1), rows.reshape(-1), rows.shape[0] * count)
    return np.asarray(sums[places].reshape(values.shape))
