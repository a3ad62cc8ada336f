"""Cells that are narrow where a sample's people are, so that a plan sees their atoms and their tails.

Every column is halved again and again, as a tree does it, always where most people are, so that no cell holds
many of them unless they share one value.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain, Integers, Interval
from ..data.grids import Axis, CutAxis
from ..protocols.tree.haar import CUT_BITS
from ..protocols.tree.leaves import bits_of, leaf_codes

Codes = NDArray[np.int64]


def sample_axis(domain: Domain, columns: Sequence[NDArray[np.generic]], first: int, most: int) -> Axis:
    """An axis of at most ``most`` cells for each stratum's values, of 2^first equal ones to begin with."""
    if not isinstance(domain, (Interval, Integers)):
        return Axis(domain, domain.size)
    bits = CUT_BITS if isinstance(domain, Interval) else min(bits_of(domain.size), CUT_BITS)
    codes = [np.sort(leaf_codes(domain, bits, each, "the sample").astype(np.int64)) for each in columns]
    starts = halved([each for each in codes if each.size], bits, min(first, bits), most)
    if isinstance(domain, Interval):
        extent = domain.high - domain.low
        edges = [domain.low + extent * (start / 2.0**bits) for start in starts]
        return CutAxis.at(domain, [*edges, domain.high])
    shift = bits_of(domain.size) - bits
    offsets = [start << shift for start in starts if start << shift < domain.size]
    return CutAxis.at(domain, [*offsets, domain.size])


def halved(codes: Sequence[Codes], bits: int, first: int, most: int) -> list[int]:
    """Where the cells begin, when the fullest is halved until there are ``most`` or all hold one code."""

    def share(start: int, level: int) -> float:
        end = start + (1 << (bits - level))
        return max(
            float(np.searchsorted(each, end) - np.searchsorted(each, start)) / each.size for each in codes
        )

    def entry(start: int, level: int) -> tuple[float, int, int]:
        return -share(start, level), start, level

    waiting = [entry(place << (bits - first), first) for place in range(1 << first)]
    heapq.heapify(waiting)
    done: list[int] = []
    while waiting and len(waiting) + len(done) < most:
        weight, start, level = heapq.heappop(waiting)
        if level == bits or weight == 0:
            done.append(start)
            continue
        half = 1 << (bits - level - 1)
        heapq.heappush(waiting, entry(start, level + 1))
        heapq.heappush(waiting, entry(start + half, level + 1))
    return sorted([*done, *(start for _, start, _ in waiting)])
