"""Public coins: random numbers that a participant and the analyst can both recompute.

Philox4x64-10, the counter-based generator as numpy has it, keyed by the study. The numbers of a
participant depend on nothing but the study, the stratum and the participant's index, so they are at
random access on one device and in bulk at the collector. They protect nobody and are no secret.

Layout: participant i of stratum s has, for a purpose p, the four words of the block that follows the
counter (i, s, p, 0). In numpy: ``Philox(key=key, counter=[i, s, p, 0]).random_raw(4)``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

WORDS_IN_BLOCK = 4
GAP, SPAN = 1024, 2**18
"""Coins of so many absent people are made in passing; and of so many people at once at most."""


@dataclass(frozen=True)
class Coins:
    """The public coins of one study."""

    key: tuple[int, int]

    @classmethod
    def of(cls, study_id: str) -> Coins:
        """Keyed by the first 128 bits of the study's id."""
        return cls((int(study_id[:16], 16), int(study_id[16:32], 16)))

    def words(self, purpose: int, stratum: int, first: int, count: int) -> NDArray[np.uint64]:
        """A row of four words for each of the ``count`` consecutive indices from ``first``.

        >>> coins = Coins.of("00" * 32)
        >>> (coins.words(0, 1, 5, 3)[2] == coins.words(0, 1, 7, 1)[0]).all()
        np.True_
        """
        generator = np.random.Philox(
            key=np.array(self.key, dtype=np.uint64),
            counter=np.array([first, stratum, purpose, 0], dtype=np.uint64),
        )
        return generator.random_raw(WORDS_IN_BLOCK * count).reshape(count, WORDS_IN_BLOCK)


def below(words: NDArray[np.uint64], limit: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """floor(word * limit / 2^64): a number in 0 .. limit-1, for limits of at most 2^32.

    Each number has the probability 1/limit but for a part of at most limit/2^64 of it.

    >>> below(np.array([0, 2**63, 2**64 - 1], dtype=np.uint64), np.array([10], dtype=np.uint64)).tolist()
    [0, 5, 9]
    """
    half = np.uint64(32)
    low = (words & np.uint64(2**32 - 1)) * limit >> half
    return (words >> half) * limit + low >> half


def windows(ascending: NDArray[np.int64]) -> Iterator[tuple[slice, int, NDArray[np.bool_]]]:
    """Stretches of consecutive numbers that hold all of ``ascending``: which, the first, who is there.

    Coins come cheapest for consecutive indices, and the indices of those who answered have few gaps.

    >>> [(part.stop, first, there.tolist()) for part, first, there in windows(np.array([5, 6, 8]))]
    [(3, 5, [True, True, False, True])]
    """
    start = 0
    steps = np.diff(ascending)
    breaks = np.append(np.flatnonzero(steps > GAP) + 1, ascending.size)
    for end in breaks.tolist():
        while start < end:
            first = int(ascending[start])
            stop = int(np.searchsorted(ascending[start:end], first + SPAN)) + start
            there = np.zeros(int(ascending[stop - 1]) - first + 1, dtype=bool)
            there[ascending[start:stop] - first] = True
            yield slice(start, stop), first, there
            start = stop
