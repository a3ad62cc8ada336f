"""The error to expect of a tree: what the noise of every level does to the least-squares shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers, Interval
from ...randomness import WORDS
from ...statistics.auc import TIES
from ..base import Setting
from ..fitted import PRUNED
from ..shape import Prediction, Shape, parts
from .haar import HaarBasis, apart_of, remainder_square
from .leaves import bits_of

if TYPE_CHECKING:
    from .answers import TreeAnswers
    from .protocol import Tree

Vector = NDArray[np.float64]


def candidates(setting: Setting) -> Iterator[dict[str, Any]]:
    if setting.statistic.order_ties is None:
        return
    leaves = {"n": setting.n} if isinstance(setting.domains[0], Interval) else {}
    yield leaves
    if setting.epsilon > 1:
        yield {"answer": "several-bits"} | leaves


def predict(tree: Tree, shape: Shape, sizes: Mapping[str, int]) -> Prediction:
    haar = shape.haar
    privacy = sum(
        linear_variance(tree, haar, shape.masses[name], shape.functions[name], people)
        for name, people in sizes.items()
    )
    errors = {name: plain(tree, haar, shape.masses[name], people) for name, people in sizes.items()}
    # People are split across levels, so a level's share of them is a sample of its own.
    second = remainder_square(shape.crossed, errors)
    bias = 0.0 if shape.assumed else leaf_bias(tree, shape)
    return parts(shape, PRUNED**2 * privacy, shape.sampling(sizes), second, bias=bias)


def leaf_bias(tree: Tree, shape: Shape) -> float:
    """What the interval allows for pairs within one leaf: all of them may be won, or none."""
    axis, (h, g) = shape.grid.axes[0], shape.masses.values()
    low, high, _ = axis.geometry
    domain = tree.domains[0]
    if isinstance(domain, Interval):
        start, leaves = (low - domain.low) / (domain.high - domain.low), 2.0**tree.depth
        wide = (high - low) / (domain.high - domain.low) * leaves
    elif isinstance(domain, Integers) and bits_of(domain.size) > tree.depth:
        start, leaves = (low - domain.low) / 2.0 ** bits_of(domain.size), 2.0**tree.depth
        wide = (high - low + 1) / 2.0 ** (bits_of(domain.size) - tree.depth)
    else:
        return 0.0
    # Several cells in one leaf, or several leaves in one cell, in which people lie evenly.
    leaf = np.floor(start * leaves).astype(np.int64)
    alone = wide > 1
    _, place = np.unique(np.where(alone, -1 - np.arange(leaf.size), leaf), return_inverse=True)
    together = (
        np.bincount(place, h) * np.bincount(place, g) / np.maximum(np.bincount(place, wide * alone), 1.0)
    )
    tie = TIES[tree.statistic.order_ties or "half"]
    return shape.scale * float(together.sum()) * max(tie, 1 - tie)


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
        (noise, alike, nodes), here = self._levels, haar.level < self.own.size
        share, apart, level = masses @ haar.inside, apart_of(haar, masses), haar.level[here]
        variance = np.zeros(share.size)
        variance[here] = noise[level] + (alike * self.chance)[level] * np.maximum(share - apart**2, 0.0)[here]
        return variance, nodes

    @cached_property
    def _levels(self) -> tuple[Vector, Vector, Vector]:
        """Of each level: the noise of least squares, its sum of squared weights, the variance of a share."""
        noise, alike, nodes, before = [], [], [0.0], 0.0
        for level in range(self.own.size):
            many = 2.0 ** np.arange(1, self.own.size - level + 1)
            weight = 1 / (many * self.weighed[level:])
            weight /= weight.sum()
            noise.append(float(weight**2 @ (many * self.own[level:])))
            alike.append(float(weight @ weight))
            before = (before + float(weight**2 @ (many * self.weighed[level:]))) / 4
            nodes.append(before)
        return np.array(noise), np.array(alike), np.array(nodes)


@lru_cache(maxsize=64)
def level_noise(tree: TreeAnswers, people: float) -> LevelNoise:
    """As the oracles of the tree have it."""
    scale = 1.0 if tree.everybody_everywhere else float(tree.groups)
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
        variance = kept * (1 - kept) + (size - 1) * other * (1 - other)
        own.append(scale * variance / (size * (kept - other) ** 2) / people)
        weighed.append(own[-1] + (scale - 1) / (size * people))
    chance = (scale - 1) / people if tree.parities > 1 else 0.0
    return LevelNoise(np.array(own), np.array(weighed), chance)


def linear_variance(
    tree: TreeAnswers, haar: HaarBasis, masses: Vector, function: Vector, people: float
) -> float:
    """The variance of a function's mean over a tree's least-squares shares, beyond the choice of people."""
    variances, _ = level_noise(tree, people).differences(haar, masses)
    return float(variances @ (function @ haar.contrasts) ** 2)


def plain(tree: TreeAnswers, haar: HaarBasis, masses: Vector, people: float) -> tuple[Vector, Vector]:
    """Mean and variance of the error of each node's number, as least squares leaves it."""
    variances, _ = level_noise(tree, people).differences(haar, masses)
    return np.zeros_like(variances), variances
