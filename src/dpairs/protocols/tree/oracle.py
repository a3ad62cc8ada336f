"""The frequency oracle: how many people lie below each node, from the bits of one level.

A person at node q of level l, with row j, sends the sign z = (-1)^<j, q>, flipped with some probability.
With c = 1 / (P(kept) - P(flipped)), the sum of c z (-1)^<j, q> over people is an unbiased count of node q
when rows are uniform over all N = 2^l. Without row 0 it is T with mean (N count - n) / (N - 1), so the
count is ((N - 1) T + n) / N, and the counts of a level sum to n exactly.

With b parities a person sends the signs of b independent rows, as one of m = 2^b symbols kept with
probability p. The report stands for the signs of all m - 1 rows that they span, and the same count holds
with c = 1 / (p m - 1). Seen otherwise, it names an affine space of N / m nodes that holds the person's
node with probability p; such spaces form a 3-design, which gives the variance.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from .counts import DENSE_LEVELS, LevelCounts
from .hadamard import parity, transform

PRODUCTS = 2**24
"""Signs computed at once when nodes are asked one by one."""
FEW = 256
"""Up to so many nodes it is cheaper to ask for them alone than to transform the level."""


@dataclass(frozen=True, eq=False)
class Oracle:
    """Estimated counts of the nodes of one level, scaled from the level's people to all of the stratum's."""

    counts: LevelCounts
    gain: float
    rows: str
    people: int
    parities: int = 1

    @cached_property
    def answered(self) -> int:
        """How many people answered about this level: each is counted at all rows of its report."""
        return self.counts.people // ((1 << self.parities) - 1)

    @property
    def kept(self) -> float:
        """The probability that a report is the truth."""
        return (1 + 1 / self.gain) / float(1 << self.parities)

    @property
    def size(self) -> float:
        """How many nodes the level has."""
        return 2.0**self.counts.level

    @property
    def scale(self) -> float:
        """People of the stratum for each person who answered."""
        return self.people / self.answered if self.answered else 0.0

    @property
    def noise(self) -> float:
        """About the variance of a node's estimate; infinite when nobody answered."""
        if not self.answered:
            return np.inf
        if self.parities > 1:
            kept, other = self.kept, self._chances(self.kept)[2]
            variance = kept * (1 - kept) + (self.size - 1) * other * (1 - other)
            # Which people answer about this level is chance as well, as large as a node's share.
            chosen = self.people / self.size * (self.scale - 1)
            return self.scale**2 * self.answered * variance / (self.size * (kept - other) ** 2) + chosen
        kept = 1.0 if self.rows == "all" else (1 - 1 / self.size) ** 2
        return self.scale**2 * self.answered * self.gain**2 * kept

    def _count(self, sums: NDArray[np.float64]) -> NDArray[np.float64]:
        raw = self.gain * sums
        if self.rows == "others":
            raw = (1 - 1 / self.size) * raw + self.answered / self.size
        return raw * self.scale

    @cached_property
    def _all(self) -> NDArray[np.float64]:
        return self._count(transform(self.counts.every_sign))

    @cached_property
    def _seen(self) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        signs = self.counts.signs
        seen = np.flatnonzero(signs)
        return signs[seen], self.counts.rows[seen]

    def __call__(self, nodes: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The estimated counts of ``nodes``, which ascend."""
        if self.counts.level <= DENSE_LEVELS and nodes.size > FEW:
            everything = self._all
            return everything if nodes.size == everything.size else everything[nodes.view(np.int64)]
        signs, rows = self._seen
        sums = np.zeros(nodes.size)
        together = max(1, PRODUCTS // max(rows.size, 1))
        for start in range(0, nodes.size, together):
            part = nodes[start : start + together, None]
            odd = parity(part & rows[None, :])
            sums[start : start + together] = signs.sum() - 2 * (odd @ signs)
        return self._count(sums)

    def added(self, places: NDArray[np.uint64]) -> NDArray[np.float64]:
        """The estimated counts of all nodes that agree in the bits at ``places``, the highest place first.

        The signs of a row add up to nothing over such nodes unless the row ignores all other bits.
        """
        signs, rows = self._seen
        here = np.zeros_like(rows)
        for place in places:
            here = here << np.uint64(1) | rows >> place & np.uint64(1)
        back = np.zeros_like(rows)
        for step, place in enumerate(places[::-1]):
            back |= (here >> np.uint64(step) & np.uint64(1)) << place
        own = rows == back
        sums = transform(np.bincount(here[own].view(np.int64), signs[own], 2**places.size))
        # A count of each node is made of its sum and of a part that is the same for all.
        boxes = self.size / 2.0**places.size
        return boxes * self._count(sums)

    def below(self, node: int, bits: int) -> NDArray[np.float64]:
        """The estimated counts of all 2^bits nodes of this level below one node that many levels above."""
        signs, rows = self._seen
        odd = parity(rows >> np.uint64(bits) & np.uint64(node)).astype(np.int64)
        ends = (rows & np.uint64((1 << bits) - 1)).view(np.int64)
        return self._count(transform(np.bincount(ends, (1 - 2 * odd) * signs, 1 << bits)))

    def variance(self, weights: NDArray[np.float64], shares: NDArray[np.float64], resampled: bool) -> float:
        """The variance of the sum of ``weights`` times estimates, for nodes with these shares of people.

        Exact: E of the squared weights' transform over rows is known whatever the people's nodes are.
        ``resampled``: the people who answer are a sample, as when users are split across levels;
        otherwise everybody answered and only the noise counts.
        """
        if not self.answered:
            return 0.0
        if self.parities > 1:
            return self._design_variance(weights, shares)
        total, squares = float(weights.sum()), float(weights @ weights)
        if self.rows == "all":
            second, centre = self.gain**2 * squares, 0.0
        else:
            centre = total / self.size
            second = self.gain**2 * (1 - 1 / self.size) * (squares - total * centre)
        if resampled:
            first = (float(weights @ shares) - centre) ** 2
        else:
            first = float(weights**2 @ shares) - 2 * centre * float(weights @ shares) + centre**2
        return self.scale**2 * self.answered * max(second - first, 0.0)

    def _chances(self, kept: float) -> tuple[tuple[float, float], tuple[float, float], float]:
        """That one, and two, other nodes are in a space that holds a given node; that does not; and q.

        q is the probability that a report's space holds a given node other than the person's.
        """
        nodes, inside = self.size, self.size / 2**self.parities
        pairs = (nodes - 1) * max(nodes - 2, 1.0)
        with_it = (inside - 1) / (nodes - 1), (inside - 1) * max(inside - 2, 0.0) / pairs
        without = inside / (nodes - 1), inside * (inside - 1) / pairs
        return with_it, without, kept * with_it[0] + (1 - kept) * without[0]

    def _design_variance(self, weights: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
        """The variance with several parities, from the 3-design of affine spaces; people are a sample."""
        kept = self.kept
        (one, two), (one_out, two_out), other = self._chances(kept)
        rest, squares = weights.sum() - weights, weights @ weights - weights**2
        products = rest**2 - squares
        second = kept * (weights**2 + 2 * one * weights * rest + one * squares + two * products)
        second += (1 - kept) * (one_out * squares + two_out * products)
        first = kept * weights + other * rest
        # Nodes without a weight hold the other people; for them only the rest counts, and that is all.
        total, all_squares = float(weights.sum()), float(weights @ weights)
        elsewhere = 1 - float(shares.sum())
        away = kept * (one * all_squares + two * (total**2 - all_squares))
        away += (1 - kept) * (one_out * all_squares + two_out * (total**2 - all_squares))
        mean = float(shares @ first) + elsewhere * other * total
        variance = float(shares @ second) + elsewhere * away - mean**2
        return self.scale**2 * self.answered * max(variance, 0.0) / (kept - other) ** 2
