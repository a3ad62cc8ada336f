"""A tree's errors, half by half: how far each node's two halves are told apart, and what that does.

A tree knows how many people there are in all; each node then adds one number, by how much its first half
exceeds its second. Least squares over all levels gives these numbers with independent errors, so the error of
the shares is the sum of these errors times fixed contrasts, Haar's wavelets of the tree. That makes
everything a plan needs a sum over nodes. Nodes with too few people are not looked into by a pilot, and their
number, which the shape knows, is missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Interval
from ..data.grids import CutAxis, Grid
from ..protocols import Tree
from ..protocols.projection.pilot_descent import LEAST
from ..protocols.tree.leaves import Leaves, bits_of
from ..randomness import WORDS

CUT_BITS = 16
"""Levels down to which a value that many people share is followed."""
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HaarBasis:
    """The nodes of a tree over cells: a column of ``contrasts`` for each, half of each half's mean."""

    contrasts: Matrix
    inside: Matrix
    """Which cells lie in each node."""
    level: NDArray[np.int64]
    above: NDArray[np.int64]
    """The number of the node that a node is half of; its own for the root."""

    @classmethod
    def of(cls, grid: Grid) -> HaarBasis:
        """Of a tree that halves the columns in turn, down to the cells."""
        order, depth, widths = _leaves(grid)
        contrasts, inside, levels, above = [], [], [], []
        # The number of the last node that each cell lies in.
        within = np.zeros(grid.cells, dtype=np.int64)
        for level in range(depth):
            nodes, cells = np.unique(order >> (depth - level), return_counts=True)
            for node in nodes[cells > 1].tolist():
                here = order >> (depth - level) == node
                first = here & (order >> (depth - level - 1) == 2 * node)
                second = here & ~first
                if not (first.any() and second.any()):
                    continue
                halves = [half * widths / (half @ widths) for half in (first, second)]
                contrasts.append((halves[0] - halves[1]) / 2)
                inside.append(here.astype(np.float64))
                levels.append(level)
                above.append(int(within[here][0]))
                within[here] = len(levels) - 1
        return cls(np.array(contrasts).T, np.array(inside).T, np.array(levels), np.array(above))


def _leaves(grid: Grid) -> tuple[NDArray[np.int64], int, Vector]:
    """The first leaf of each cell, how many levels tell cells apart, and how wide cells are."""
    (axis, *others) = grid.axes
    if isinstance(axis, CutAxis) and isinstance(axis.domain, Interval) and not others:
        low, high, _ = axis.geometry
        extent = axis.domain.high - axis.domain.low
        starts = np.round((low - axis.domain.low) / extent * 2.0**CUT_BITS).astype(np.int64)
        return starts, CUT_BITS, (high - low) / extent
    bits = tuple(bits_of(each.bins) for each in grid.axes)
    leaves = Leaves(tuple(each.domain for each in grid.axes), bits)
    places = np.indices([each.bins for each in grid.axes]).reshape(len(bits), -1)
    order = leaves.interleave([each.astype(np.uint64) for each in places]).astype(np.int64)
    return order, sum(bits), np.ones(grid.cells)


@dataclass(frozen=True)
class LevelNoise:
    """What a measured node of each level is off, as variances of shares; level 1 first."""

    own: Vector
    """Because answers are random."""
    weighed: Vector
    """What least squares takes for it."""
    chance: float
    """Because only some people answer about a level: times a share; 0 where answers hide that anyway."""

    def differences(self, haar: HaarBasis, masses: Vector) -> tuple[Vector, Vector]:
        """The variance of each node's number; and of a node's share, the root's first."""
        depth = self.own.size
        share, apart = masses @ haar.inside, _apart(haar, masses)
        found, nodes, before = np.zeros(share.size), [0.0], 0.0
        for level in range(depth):
            many = 2.0 ** np.arange(1, depth - level + 1)
            weight = 1 / (many * self.weighed[level:])
            weight /= weight.sum()
            noise = float(weight**2 @ (many * self.own[level:]))
            here = haar.level == level
            found[here] = (
                noise + float(weight @ weight) * self.chance * np.maximum(share - apart**2, 0.0)[here]
            )
            before = (before + float(weight**2 @ (many * self.weighed[level:]))) / 4
            nodes.append(before)
        return found, np.array(nodes)


def _apart(haar: HaarBasis, masses: Vector) -> Vector:
    """By how much the first half of each node exceeds the second."""
    sums: Vector = 2 * (masses @ (np.sign(haar.contrasts) / 2))
    return sums


@lru_cache(maxsize=64)
def level_noise(tree: Tree, people: float) -> LevelNoise:
    """As the oracles of the tree have it."""
    scale = 1.0 if tree.everybody_everywhere else float(tree.depth)
    own, weighed = [], []
    for level in range(1, tree.depth + 1):
        parities, size = min(level, tree.parities), 2.0**level
        gain = WORDS / (tree.responses[parities - 1].boost * (2**parities - 1))
        if parities == 1:
            own.append(scale * gain**2 * (1 - 1 / size) ** 2 / people)
            weighed.append(own[-1])
            continue
        kept, within = (1 + 1 / gain) / 2**parities, size / 2**parities
        other = kept * (within - 1) / (size - 1) + (1 - kept) * within / (size - 1)
        each = kept * (1 - kept) + (size - 1) * other * (1 - other)
        own.append(scale * each / (size * (kept - other) ** 2) / people)
        weighed.append(own[-1] + (scale - 1) / (size * people))
    chance = (scale - 1) / people if tree.parities > 1 else 0.0
    return LevelNoise(np.array(own), np.array(weighed), chance)


def linear_variance(tree: Tree, haar: HaarBasis, masses: Vector, function: Vector, people: float) -> float:
    """The variance of a function's mean over a tree's least-squares shares, beyond the choice of people."""
    variances, _ = level_noise(tree, people).differences(haar, masses)
    return float(variances @ (function @ haar.contrasts) ** 2)


def plain(tree: Tree, haar: HaarBasis, masses: Vector, people: float) -> tuple[Vector, Vector]:
    """Mean and variance of the error of each node's number, as least squares leaves it."""
    variances, _ = level_noise(tree, people).differences(haar, masses)
    return np.zeros_like(variances), variances


def descended(tree: Tree, haar: HaarBasis, masses: Vector, people: float) -> tuple[Vector, Vector]:
    """The same after a descent: clipped where halves would be negative, missed where few people are."""
    from scipy.special import ndtr

    noise = level_noise(tree, people)
    variances, nodes = noise.differences(haar, masses)
    share, apart = masses @ haar.inside, _apart(haar, masses)
    deep = haar.level >= tree.depth
    level = np.minimum(haar.level, tree.depth - 1)
    deviation = np.sqrt(nodes[level] + noise.chance * share * np.maximum(1 - share, 0.0))
    clear = (share - LEAST * np.sqrt(nodes[level + 1])) / np.maximum(deviation, 1e-12)
    seen = np.where(deep, 0.0, ndtr(clear))
    for node in range(seen.size):
        # A node is looked into only if the one above it was.
        seen[node] = min(seen[node], seen[haar.above[node]])
    mean, variance = _clipped(apart, np.sqrt(np.where(deep | (variances <= 0), 1.0, variances)), share)
    return seen * mean - apart, seen * variance + seen * (1 - seen) * mean**2


def above_zero(mean: Vector, deviation: Vector) -> tuple[Vector, Vector]:
    """Mean and variance of the positive part of a normal number."""
    from scipy.special import ndtr

    at = mean / deviation
    density = np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)
    first = mean * ndtr(at) + deviation * density
    second = (mean**2 + deviation**2) * ndtr(at) + mean * deviation * density
    return first, np.maximum(second - first**2, 0.0)


def _clipped(mean: Vector, deviation: Vector, most: Vector) -> tuple[Vector, Vector]:
    """Mean and variance of a normal number that is clipped at -most and most."""
    from scipy.special import ndtr

    def density(at: Vector) -> Vector:
        return np.asarray(np.exp(-(at**2) / 2) / np.sqrt(2 * np.pi))

    low, high = (-most - mean) / deviation, (most - mean) / deviation
    inner = ndtr(high) - ndtr(low)
    ends = ndtr(low), ndtr(-high)
    first = most * (ends[1] - ends[0]) + mean * inner + deviation * (density(low) - density(high))
    second = most**2 * (ends[0] + ends[1]) + (mean**2 + deviation**2) * inner
    second += deviation * ((mean - most) * density(low) - (mean + most) * density(high))
    return first, np.maximum(second - first**2, 0.0)


def rest(crossed: Matrix, errors: Mapping[str, tuple[Vector, Vector]]) -> float:
    """The mean square of e'Ae, or of e'Be of two strata; ``crossed`` is the kernel between contrasts.

    What noise alone adds to the mean is left out: a second round takes it off.
    """
    (mean, variance), *others = errors.values()
    if others:
        other, its = others[0]
        missed = float(mean @ crossed @ other) ** 2
        along = float(variance @ (crossed @ other) ** 2 + its @ (mean @ crossed) ** 2)
        return missed + along + float(variance @ crossed**2 @ its)
    missed = float(mean @ crossed @ mean) ** 2
    return missed + 4 * float(variance @ (crossed @ mean) ** 2) + 2 * float(variance @ crossed**2 @ variance)
