"""From a person's values to a leaf of a binary tree over one or several columns.

A column of 2^b bins has b bits, the highest first. Several columns take turns: the tree halves the first,
then the second, and so on, so that each level's nodes are boxes of about equal sides (a k-d tree; in the
order of its leaves, Morton's curve).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Integers, Interval
from ...data.grids import Axis, CutAxis


def bits_of(size: int) -> int:
    """How many bits number ``size`` things."""
    return max(1, (size - 1).bit_length())


def told_by_floats(domain: Interval, bits: int) -> bool:
    """Whether the floats of a domain tell 2^bits bins apart."""
    width = (domain.high - domain.low) / 2.0**bits
    return domain.low + width > domain.low and domain.high - width < domain.high


def leaf_codes(domain: Domain, bits: int, values: Any, column: str) -> NDArray[np.uint64]:
    """The bin of each value among 2^bits."""
    if isinstance(domain, Interval):
        position = domain.check(values, column) - domain.low
        position /= domain.high - domain.low
        position *= 2.0**bits
        return np.minimum(position, 2.0**bits - 1).astype(np.uint64)
    if isinstance(domain, Integers):
        return domain.offsets(values, column) >> np.uint64(bits_of(domain.size) - bits)
    return domain.codes(values, column).view(np.uint64)


@dataclass(frozen=True)
class Leaves:
    """The leaves of a tree over columns with these domains and numbers of bits."""

    domains: tuple[Domain, ...]
    bits: tuple[int, ...]

    @cached_property
    def turns(self) -> tuple[int, ...]:
        """Which column each level halves, the first level first."""
        turns = range(max(self.bits))
        return tuple(place for turn in turns for place, bits in enumerate(self.bits) if turn < bits)

    def codes(self, columns: Sequence[Any], names: Sequence[str]) -> NDArray[np.uint64]:
        parts = [
            leaf_codes(domain, bits, values, name)
            for domain, bits, values, name in zip(self.domains, self.bits, columns, names, strict=True)
        ]
        return self.interleave(parts)

    def interleave(self, parts: Sequence[NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """The leaf of each person, from the bins of all columns."""
        if len(parts) == 1:
            return parts[0]
        left, leaf = list(self.bits), np.zeros(parts[0].size, dtype=np.uint64)
        for place in self.turns:
            left[place] -= 1
            leaf = leaf << np.uint64(1) | parts[place] >> np.uint64(left[place]) & np.uint64(1)
        return leaf

    @property
    def end(self) -> float:
        """One more than the last leaf that holds a value, for a tree of one column."""
        (domain,), (bits,) = self.domains, self.bits
        if isinstance(domain, Interval):
            return 2.0**bits
        return float(-(-domain.size >> (bits_of(domain.size) - bits)))

    def boxes(self, level: int, nodes: NDArray[np.uint64]) -> list[tuple[int, NDArray[np.uint64]]]:
        """For each column, how many bits the nodes of a level fix, and to what."""
        fixed = [0] * len(self.bits)
        values = [np.zeros(nodes.size, dtype=np.uint64) for _ in self.bits]
        for step, place in enumerate(self.turns[:level]):
            bit = nodes >> np.uint64(level - 1 - step) & np.uint64(1)
            values[place] = values[place] << np.uint64(1) | bit
            fixed[place] += 1
        return list(zip(fixed, values, strict=True))

    def extents(self, level: int, nodes: NDArray[np.uint64]) -> NDArray[np.float64]:
        """How much of the domain lies in each node: 0 where a node holds no value at all."""
        extent = np.ones(nodes.size)
        for (fixed, values), domain in zip(self.boxes(level, nodes), self.domains, strict=True):
            if isinstance(domain, Interval):
                extent *= 2.0**-fixed
            else:
                width = 2.0 ** (bits_of(domain.size) - fixed)
                start = values.astype(np.float64) * width
                extent *= np.clip(domain.size - start, 0.0, width) / domain.size
        return extent

    def axis(self, place: int, starts: NDArray[np.float64] | None = None) -> Axis:
        """A column cut at these leaves (the first, 0, included), or at all; listed values stay single."""
        domain, bits = self.domains[place], self.bits[place]
        if not isinstance(domain, (Interval, Integers)):
            return Axis(domain, domain.size)
        cuts = (np.arange(2.0**bits) if starts is None else starts).tolist()
        if isinstance(domain, Interval):
            extent = domain.high - domain.low
            inner = [domain.low + extent * (cut / 2.0**bits) for cut in cuts[1:]]
            return CutAxis.at(domain, [domain.low, *inner, domain.high])
        spare = bits_of(domain.size) - bits
        offsets = [int(cut) << spare for cut in cuts]
        return CutAxis.at(domain, [offset for offset in offsets if offset < domain.size] + [domain.size])
