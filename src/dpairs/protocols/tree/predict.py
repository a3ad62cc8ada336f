"""The error to expect of a tree: what the noise of every level does to the least-squares shares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Interval
from ...randomness import WORDS
from ..base import Setting
from ..fitted import PRUNED
from ..shape import Prediction, Shape, parts
from .haar import HaarBasis, apart_of, remainder_square

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
    return parts(shape, PRUNED**2 * privacy, shape.sampling(sizes), remainder_square(shape.crossed, errors))


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
        share, apart = masses @ haar.inside, apart_of(haar, masses)
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
        each = kept * (1 - kept) + (size - 1) * other * (1 - other)
        own.append(scale * each / (size * (kept - other) ** 2) / people)
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
