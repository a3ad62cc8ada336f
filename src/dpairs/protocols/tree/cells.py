"""The cells of a tree study: the level, the row and the bit that a one-bit report counts in, as one number.

The code of level l, row r and bit b is (((1 << l) | r) << 1) | b: in binary a one, the row in l digits, and
the bit. A file of cells can be counted without coins; whether its cells are right is what the coins tell,
also for people who are far from each other.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...randomness.coins import WORDS_IN_BLOCK, Coins, Purpose
from ..counts import Cells

MAX_DEPTH = 61
"""Deeper trees have codes of 2^63 and more, which the files' numbers do not hold."""
SCATTERED = 32
"""From so many times as many indices as people on, each person's coins are made alone."""
Words = NDArray[np.uint64]


def cells(depth: int, rows: str) -> Cells:
    """All codes of a tree; row 0 of a level has none where nobody is asked about it.

    >>> cells(2, "others")
    Cells(first=4, last=15, holes=(4, 5, 8, 9))
    """
    zero_rows = tuple(2 << level | bit for level in range(1, depth + 1) for bit in (0, 1))
    return Cells(4, (4 << depth) - 1, zero_rows if rows == "others" else ())


def encoded(levels: NDArray[np.int64], rows: Words, bits: NDArray[np.int64]) -> NDArray[np.int64]:
    """The code of each level, row and bit.

    >>> encoded(np.array([3]), np.array([5], dtype=np.uint64), np.array([1])).tolist() == [0b1_101_1]
    True
    """
    return ((np.int64(1) << levels) | rows.view(np.int64)) << 1 | bits


def decoded(codes: NDArray[np.int64], depth: int) -> tuple[NDArray[np.int64], Words, NDArray[np.uint8]]:
    """The level, row and bit of each code."""
    levels = np.searchsorted(np.int64(4) << np.arange(depth), codes, side="right")
    rows = codes >> 1 ^ np.int64(1) << levels
    return levels, rows.view(np.uint64), (codes & 1).astype(np.uint8)


def scattered(indices: NDArray[np.int64]) -> bool:
    """Whether these ascending indices are too far apart for coins made in a stretch."""
    return bool(indices.size and int(indices[-1]) - int(indices[0]) >= SCATTERED * indices.size)


def even_levels_at(coins: Coins, stratum: int, indices: NDArray[np.int64], depth: int) -> NDArray[np.int64]:
    """What `even_levels` gives for each of these indices."""
    blocks = -(-depth // WORDS_IN_BLOCK)
    group, place = np.divmod(indices, depth)
    counters = (group[:, None] * blocks + np.arange(blocks)).reshape(-1)
    words = coins.words_at(Purpose.LEVEL, stratum, counters).reshape(indices.size, blocks * WORDS_IN_BLOCK)
    order = np.argsort(words[:, :depth], axis=1, kind="stable")
    return order[np.arange(indices.size), place] + 1
