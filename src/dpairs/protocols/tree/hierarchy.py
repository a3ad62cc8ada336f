"""A tree of estimates made consistent by least squares, level by level, for one class.

Every node of an explored tree has a measurement y with the variance v of its level; the number at the
root is known. Going up, a node's measurement is averaged with the sum of its children, weighted by
their precision; going down, what a node's children lack or exceed is shared among them by their
variance. The result is the generalized least-squares solution (Hay, Rastogi, Miklau, Suciu, "Boosting
the accuracy of differentially private histograms through consistency", VLDB 2010, for equal variances).

Levels are stored without gaps: the children of the expanded nodes of one level, in order, are the nodes
of the next. The solution is linear in the measurements, and `adjoint` runs it backwards: from the weights
of a linear function of the solution to its weights of the measurements, which give its variance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Level:
    """The explored nodes of one level, and which of them have their children in the next."""

    nodes: NDArray[np.uint64]
    expanded: NDArray[np.bool_]


def children(nodes: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Both children of each node, in order."""
    left = nodes << np.uint64(1)
    return np.stack([left, left | np.uint64(1)], axis=1).reshape(-1)


@dataclass(frozen=True, eq=False)
class Weights:
    """How measurements of explored levels are weighed: their noise says it, whatever was measured."""

    levels: list[Level]
    variances: list[Vector]
    """Of each node from its own measurement and those below it."""
    own: list[Vector]
    """The weight of a node's own measurement against its children's sum."""
    shares: list[NDArray[np.float64]]
    """What each of two children takes of what both lack."""

    @classmethod
    def of(cls, levels: list[Level], noise: list[float]) -> Weights:
        """``noise`` is the variance of each level's measurements, the root's unused."""
        last = len(levels) - 1
        variances, own = [np.zeros(1)] * (last + 1), [np.ones(1)] * (last + 1)
        for depth in range(last, 0, -1):
            level = levels[depth]
            own[depth], variances[depth] = np.ones(level.nodes.size), np.full(level.nodes.size, noise[depth])
            if depth < last and level.expanded.any():
                below = of_both(variances[depth + 1])
                own[depth][level.expanded] = _weight(noise[depth], below)
                variances[depth][level.expanded] = _parallel(noise[depth], below)
        return cls(levels, variances, own, [np.ones((1, 1)), *map(_shares, variances[1:])])

    def solve(self, measured: list[Vector], total: float) -> Solution:
        """The estimates of all nodes, from a vector for each level but the root, or rows of such vectors."""
        last = len(self.levels) - 1
        rows = measured[-1].shape[:-1]
        sums: list[Vector] = [np.empty(0)] * (last + 1)
        for depth in range(last, 0, -1):
            sums[depth] = measured[depth].copy()
            expanded = self.levels[depth].expanded
            if depth < last and expanded.any():
                below = of_both(sums[depth + 1])
                weight = self.own[depth][expanded]
                # A side of weight 0 was never measured, and its number is none.
                sums[depth][..., expanded] = np.where(
                    weight > 0, weight * measured[depth][..., expanded], 0.0
                ) + np.where(weight < 1, (1 - weight) * below, 0.0)
        estimates = [np.full((*rows, 1), total)]
        for depth in range(1, last + 1):
            parents = estimates[depth - 1][..., self.levels[depth - 1].expanded]
            pair = sums[depth].reshape(*rows, -1, 2)
            lacking = parents - of_both(sums[depth])
            estimates.append((pair + self.shares[depth] * lacking[..., None]).reshape(*rows, -1))
        return Solution(estimates, self)


@dataclass(frozen=True, eq=False)
class Solution:
    """The least-squares estimates of all explored nodes of one class (or several, a row each), root first."""

    estimates: list[Vector]
    weights: Weights

    @property
    def levels(self) -> list[Level]:
        return self.weights.levels

    @property
    def variances(self) -> list[Vector]:
        return self.weights.variances

    def ends(self, order: NDArray[np.int64]) -> Vector:
        """The estimates of the nodes without children, in this order."""
        pairs = zip(self.estimates, self.levels, strict=True)
        return np.concatenate([each[..., ~level.expanded] for each, level in pairs], axis=-1)[..., order]

    def adjoint(self, weights: list[Vector]) -> list[Vector]:
        """Weights of the measurements, from weights of the estimates (root first, the root's unused)."""
        own = self.weights.own
        carried = [each.copy() for each in weights]
        upward = [np.zeros_like(each) for each in weights]
        for depth in range(len(self.levels) - 1, 0, -1):
            parents = self.levels[depth - 1].expanded
            pair = carried[depth].reshape(-1, 2)
            common = of_both((self.weights.shares[depth] * pair).reshape(-1))
            upward[depth] += (pair - common[:, None]).reshape(-1)
            carried[depth - 1][parents] += common
        measured = [np.zeros_like(each) for each in weights]
        for depth in range(1, len(self.levels)):
            measured[depth] = own[depth] * upward[depth]
            expanded = self.levels[depth].expanded
            if depth + 1 < len(self.levels):
                passed = ((1 - own[depth]) * upward[depth])[expanded]
                upward[depth + 1] += np.repeat(passed, 2)
        return measured


def least_squares(levels: list[Level], measured: list[Vector], noise: list[float], total: float) -> Solution:
    """Solve for all nodes; ``measured`` and ``noise`` have one entry for each level, the root's unused."""
    return Weights.of(levels, noise).solve(measured, total)


def _shares(variances: Vector) -> NDArray[np.float64]:
    pair = variances.reshape(-1, 2)
    # A child that nobody measured takes all that is lacking; two of them share it alike.
    unmeasured = np.isinf(pair)
    weight = np.where(unmeasured[:, :1] | unmeasured[:, 1:], unmeasured.astype(np.float64), pair)
    shares: NDArray[np.float64] = weight / of_both(weight.reshape(-1))[:, None]
    return shares


def of_both(nodes: Vector) -> Vector:
    """The sum of each two children; numpy's own sum over an axis of two takes several times as long."""
    return nodes[..., ::2] + nodes[..., 1::2]


def _weight(noise: float, below: Vector) -> Vector:
    """The weight of a measurement against a sum: the other's share of both variances."""
    if np.isinf(noise):
        return np.zeros_like(below)
    return np.where(np.isinf(below), 1.0, below / np.where(np.isinf(below), 1.0, noise + below))


def _parallel(noise: float, below: Vector) -> Vector:
    """The variance of the weighted average of two."""
    with np.errstate(divide="ignore"):
        return 1 / (1 / np.float64(noise) + 1 / below)
