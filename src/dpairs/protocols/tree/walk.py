"""The walk of both classes' trees: what the AUC is made of, and what is left unexplored.

A node whose estimated counts are too small to be worth splitting is discarded, and half of the product
of its counts stands for its part; the other nodes are recursed into. At a leaf a tie counts as asked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from .hierarchy import Solution, children

Vector = NDArray[np.float64]
Query = Callable[[int, NDArray[np.uint64]], tuple[Vector, Vector]]
"""Estimates of both classes at given nodes of a level."""
Keep = Callable[[Vector, Vector], NDArray[np.bool_]]
"""Which nodes, with these estimates of both classes, are worth recursing into."""


def worth(floors: tuple[Vector | float, Vector | float], factor: float) -> Keep:
    """The paper's rule: max(h+, f+) max(h-, f-) >= tau, with f = sqrt(a v) / 2 and tau = a sqrt(v+ v-).

    ``floors`` are the variances v of the two classes' nodes and ``factor`` is a.
    """
    first, second = floors
    least = np.sqrt(factor * np.asarray(first)) / 2, np.sqrt(factor * np.asarray(second)) / 2
    threshold = factor * np.sqrt(np.asarray(first) * np.asarray(second))
    return lambda h, g: np.maximum(h, least[0]) * np.maximum(g, least[1]) >= threshold


@dataclass
class Walk:
    """What a walk found: the sum over pairs, the weights it gave to estimates, and where it ended."""

    total: float = 0.0
    recursed: list[int] = field(default_factory=list)
    discarded: list[int] = field(default_factory=list)
    parts: list[tuple[int, NDArray[np.uint64], Vector, Vector, bool]] = field(default_factory=list)
    """(level, nodes, counts of the positives, counts of the negatives, discarded?)."""
    weights: tuple[list[Vector], list[Vector]] = field(default_factory=lambda: ([], []))
    """The gradients of ``total``, for the estimates of each class, level by level from the first on."""
    estimates: tuple[list[Vector], list[Vector]] = field(default_factory=lambda: ([], []))
    """The estimates that the weights belong to."""


def walk_raw(query: Query, keep: Keep, depth: int, sizes: tuple[int, int], tie: float, credit: float) -> Walk:
    """The paper's walk on unconnected levels: a discarded node counts through its children's sums.

    ``credit`` is what a discarded node's pairs are worth: 1/2, or 0 in the paper's variant.
    """
    walk = Walk()
    nodes = np.zeros(1, dtype=np.uint64)
    above, below = np.array([float(sizes[0])]), np.array([float(sizes[1])])
    for level in range(depth):
        kept = np.ones(1, dtype=bool) if level == 0 else keep(above, below)
        left = ~kept
        walk.recursed.append(int(kept.sum()))
        walk.discarded.append(int(left.sum()))
        parents, nodes = nodes, children(nodes)
        above, below = query(level + 1, nodes)
        first, second = above.reshape(-1, 2), below.reshape(-1, 2)
        sums = first[:, 0] + first[:, 1], second[:, 0] + second[:, 1]
        walk.total += credit * float((sums[0] * sums[1])[left].sum())
        walk.total += float((first[kept, 1] * second[kept, 0]).sum())
        weights = np.zeros_like(first), np.zeros_like(second)
        weights[0][left], weights[1][left] = credit * sums[1][left, None], credit * sums[0][left, None]
        weights[0][kept, 1], weights[1][kept, 0] = second[kept, 0], first[kept, 1]
        if level + 1 == depth:
            weights[0][kept] += tie * second[kept]
            weights[1][kept] += tie * first[kept]
        for side, (weight, estimate) in enumerate(zip(weights, (above, below), strict=True)):
            walk.weights[side].append(weight.reshape(-1))
            walk.estimates[side].append(estimate)
        walk.parts.append((level, parents[left], sums[0][left], sums[1][left], True))
        nodes = nodes.reshape(-1, 2)[kept].reshape(-1)
        above, below = first[kept].reshape(-1), second[kept].reshape(-1)
    walk.total += tie * float((above * below).sum())
    walk.parts.append((depth, nodes, above, below, False))
    return walk


def walk_solution(
    positive: Solution, negative: Solution, kept: list[NDArray[np.bool_]], depth: int, tie: float
) -> Walk:
    """The walk on consistent trees; a node whose children were not explored is discarded."""
    h, g = positive.estimates, negative.estimates
    walk = Walk(weights=([np.zeros_like(each) for each in h], [np.zeros_like(each) for each in g]))
    weights = walk.weights
    alive = np.ones(1, dtype=bool)
    for level in range(len(h)):
        expanded = positive.levels[level].expanded
        recursed = alive & kept[level] & expanded
        ended, leaf = alive & ~recursed, level == depth
        credit = tie if leaf else 0.5
        walk.total += credit * float((h[level] * g[level])[ended].sum())
        weights[0][level][ended] += credit * g[level][ended]
        weights[1][level][ended] += credit * h[level][ended]
        walk.recursed.append(int(recursed.sum()))
        walk.discarded.append(0 if leaf else int(ended.sum()))
        nodes = positive.levels[level].nodes
        walk.parts.append((level, nodes[ended], h[level][ended], g[level][ended], not leaf))
        if level + 1 == len(h):
            break
        into = recursed[expanded]
        first, second = h[level + 1].reshape(-1, 2), g[level + 1].reshape(-1, 2)
        walk.total += float((first[into, 1] * second[into, 0]).sum())
        weights[0][level + 1].reshape(-1, 2)[into, 1] += second[into, 0]
        weights[1][level + 1].reshape(-1, 2)[into, 0] += first[into, 1]
        alive = np.repeat(into, 2)
    return walk
