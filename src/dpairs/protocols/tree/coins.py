"""Which level and which Hadamard row a participant of a tree study answers about."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...randomness.coins import WORDS_IN_BLOCK, Coins, Purpose, below

ROWS = ("others", "all")
"""Row 0 is +1 everywhere and says only how many people there are, which is known: "others" leaves it out."""


def even_levels(coins: Coins, stratum: int, first: int, count: int, depth: int) -> NDArray[np.int64]:
    """A level from 1 to ``depth`` for each index, every level once in each block of ``depth`` indices.

    Block b's order is that of ``depth`` public words: index b * depth + r has the level whose word is
    the r-th smallest.
    """
    blocks = -(-depth // WORDS_IN_BLOCK)
    start, end = first // depth, -(-(first + count) // depth)
    words = coins.words(Purpose.LEVEL, stratum, start * blocks, (end - start) * blocks)
    order = np.argsort(words.reshape(end - start, blocks * WORDS_IN_BLOCK)[:, :depth], axis=1, kind="stable")
    levels = order.reshape(-1) + 1
    return levels[first - start * depth :][:count]


def independent_levels(words: NDArray[np.uint64], depth: int) -> NDArray[np.int64]:
    """A level from 1 to ``depth`` for each participant's words, on its own."""
    return below(words[:, 1], np.array(depth, dtype=np.uint64)).astype(np.int64) + 1


def row(word: NDArray[np.uint64], level: NDArray[np.int64] | int, rows: str) -> NDArray[np.uint64]:
    """A row of the level's Hadamard matrix: uniform over all, or over all but row 0."""
    level = np.asarray(level)
    if rows == "all":
        return _top(word, level)
    few = np.minimum(level, 32).astype(np.uint64)
    small = below(word, (np.uint64(1) << few) - np.uint64(1)) + np.uint64(1)
    if level.max(initial=0) <= 32:
        return small
    # Beyond 32 levels row 0 comes up less than once in 2^32, and becomes row 1.
    return np.where(level <= 32, small, np.maximum(_top(word, level), np.uint64(1)))


def _top(word: NDArray[np.uint64], level: NDArray[np.int64]) -> NDArray[np.uint64]:
    """The highest ``level`` of 64 bits, as a number below 2^level."""
    return word >> (64 - level).astype(np.uint64)


def every_row(
    coins: Coins, stratum: int, first: int, count: int, depth: int, rows: str
) -> NDArray[np.uint64]:
    """A row of every level for each index: an array of ``count`` rows and ``depth`` columns."""
    blocks = -(-depth // WORDS_IN_BLOCK)
    words = coins.words(Purpose.EVERY_ROW, stratum, first * blocks, count * blocks)
    return row(words.reshape(count, blocks * WORDS_IN_BLOCK)[:, :depth], np.arange(1, depth + 1), rows)


def independent_rows(words: NDArray[np.uint64], level: NDArray[np.int64]) -> NDArray[np.uint64]:
    """As many rows as columns of ``words``, linearly independent, spanning a uniformly random space.

    Each next row is a random one that is 0 at the highest ones ("pivots") of the rows before. Every space
    has the same number of such bases, so none is preferred. Levels must have as many bits as rows.
    """
    first = row(words[:, 0], level, "others")
    rows, pivots = [first], [_highest(first)]
    for column in range(1, words.shape[1]):
        short = row(words[:, column], level - column, "others")
        # Make room for a 0 at each pivot, the lowest first.
        for pivot in np.sort(np.stack(pivots, axis=1), axis=1).T:
            low = (np.uint64(1) << pivot) - np.uint64(1)
            short = (short & ~low) << np.uint64(1) | short & low
        rows.append(short)
        pivots.append(_highest(short))
    return np.stack(rows, axis=1)


def _highest(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The place of the highest 1."""
    upper = numbers >> np.uint64(32)
    large = upper > 0
    # Halves of 32 bits are floats without rounding, whose exponent tells the place.
    _, exponents = np.frexp(np.where(large, upper, numbers).astype(np.float64))
    places: NDArray[np.uint64] = (np.maximum(exponents - 1, 0) + 32 * large).astype(np.uint64)
    return places
