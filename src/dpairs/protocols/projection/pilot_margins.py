"""Each column of a plane by itself: what all answers about boxes say about one column.

The boxes of a level that lie between the same two values of one column add up to a node of that column's own
tree. Of the signs that people sent, exactly those rows that ignore the other column say something about it.
So rows about one column, about the other and about both together are different ones, and their errors are
independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..tree.leaves import Leaves
from ..tree.oracle import Oracle
from .pilot_descent import TINY, Explored, explore
from .winsorize import SURE


@dataclass(frozen=True, eq=False)
class MarginOracle:
    """Estimated counts of one column's nodes of one level, from plane levels that halve it as often."""

    depth: int
    """How often the column is halved."""
    people: int
    sources: tuple[tuple[Oracle, NDArray[np.uint64]], ...]
    """Levels of the plane, and the place of each of the column's bits in their nodes, the highest first."""

    @property
    def answered(self) -> int:
        """How many people answered about these levels."""
        return sum(oracle.answered for oracle, _ in self.sources)

    @property
    def parities(self) -> int:
        return max((oracle.parities for oracle, _ in self.sources), default=1)

    @property
    def scale(self) -> float:
        """People for each person who answered."""
        return self.people / self.answered if self.answered else 0.0

    @cached_property
    def _noises(self) -> NDArray[np.float64]:
        """The variance of a node by each plane level: that of a box for each box in it."""
        boxes = [oracle.noise * oracle.size / 2.0**self.depth for oracle, _ in self.sources]
        # At a very large epsilon there is no noise to speak of, but weights need some.
        return np.maximum(boxes, TINY * self.people**2)

    @property
    def noise(self) -> float:
        """About the variance of a node's estimate; infinite when nobody answered."""
        return float(1 / (1 / self._noises).sum()) if self.answered else np.inf

    @cached_property
    def _all(self) -> NDArray[np.float64]:
        total = np.zeros(2**self.depth)
        weights = 1 / self._noises
        for (oracle, places), weight in zip(self.sources, weights / weights.sum(), strict=True):
            if weight > 0:
                total += weight * oracle.added(places)
        return total

    def __call__(self, nodes: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The estimated counts of ``nodes``."""
        return self._all[nodes.view(np.int64)]


def margins(oracles: Sequence[Oracle], leaves: Leaves) -> list[Explored]:
    """The explored tree of every column, whose nodes are split where people surely are.

    A node of one column has the noise of all boxes in it, so its depths see nothing but values that many
    people share. To split such a value's node by noise would move people from it to beside it.
    """
    explored = []
    for place, (domain, bits) in enumerate(zip(leaves.domains, leaves.bits, strict=True)):
        sources: list[list[tuple[Oracle, NDArray[np.uint64]]]] = [[] for _ in range(bits)]
        for level, oracle in enumerate(oracles, start=1):
            steps = np.flatnonzero(np.array(leaves.turns[:level]) == place)
            if steps.size and oracle.answered:
                sources[steps.size - 1].append((oracle, (level - 1 - steps).astype(np.uint64)))
        own = [
            MarginOracle(depth, oracles[0].people, tuple(each)) for depth, each in enumerate(sources, start=1)
        ]
        explored.append(explore(own, Leaves((domain,), (bits,)), SURE))
    return explored
