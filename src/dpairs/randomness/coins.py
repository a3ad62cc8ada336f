"""Public coins: random numbers that a participant and the analyst can both recompute.

Philox4x64-10, the counter-based generator as numpy has it, keyed by the study. The numbers of a
participant depend only on the study, the stratum and the participant's index: one device computes its
own, and a collector everybody's at once. They protect nobody and are not secret.

Layout: participant i of stratum s has, for a purpose p, the four words of the block that follows the
counter (i, s, p, 0). In numpy: ``Philox(key=key, counter=[i, s, p, 0]).random_raw(4)``.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

WORDS_IN_BLOCK = 4
GAP, SPAN = 1024, 2**18
"""Coins of so many absent people are made in passing; and of so many people at once at most."""
MULTIPLIERS = (0xD2E7470EE14C6C93, 0xCA5A826395121157)
STEPS = (0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B)
ROUNDS = 10
"""Of Philox4x64-10: Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011."""
FEW = 1024
"""Blocks that take so little time that other threads may wait for them."""
_HALF, _LOW = np.uint64(32), np.uint64(2**32 - 1)


class Purpose(IntEnum):
    """What a participant's coins decide: every purpose has its own words."""

    ROW = 0
    LEVEL = 1
    EVERY_ROW = 2
    MORE_ROWS = 3
    ROUND = 4
    IMAGINED = 5
    PAIRING = 6


class _Generator(threading.local):
    """A thread's own Philox, moved to a counter: that takes a fifth of the time to make a new one."""

    def __init__(self) -> None:
        self._bits = np.random.Philox(0)
        self._state: Any = self._bits.state

    def at(self, key: tuple[int, int], counter: tuple[int, int, int, int]) -> np.random.Philox:
        self._state["state"]["key"][:] = key
        self._state["state"]["counter"][:] = counter
        self._bits.state = self._state
        return self._bits


_GENERATOR = _Generator()


@dataclass(frozen=True)
class Coins:
    """The public coins of one study."""

    key: tuple[int, int]

    @classmethod
    def of(cls, study_id: str) -> Coins:
        """Keyed by the first 128 bits of the study's id."""
        return cls((int(study_id[:16], 16), int(study_id[16:32], 16)))

    def words(self, purpose: Purpose, stratum: int, first: int, count: int) -> NDArray[np.uint64]:
        """A row of four words for each of the ``count`` consecutive indices from ``first``.

        >>> coins = Coins.of("00" * 32)
        >>> (coins.words(0, 1, 5, 3)[2] == coins.words(0, 1, 7, 1)[0]).all()
        np.True_
        """
        bits = _GENERATOR.at(self.key, (first, stratum, purpose, 0))
        if count <= FEW:
            return bits.random_raw(WORDS_IN_BLOCK * count).reshape(count, WORDS_IN_BLOCK)
        # The same words, while other threads go on.
        return np.random.Generator(bits).integers(
            2**64 - 1, size=(count, WORDS_IN_BLOCK), dtype=np.uint64, endpoint=True
        )

    def words_at(self, purpose: Purpose, stratum: int, indices: NDArray[np.int64]) -> NDArray[np.uint64]:
        """What `words` gives for each of these indices, which may lie far apart: a row of four words.

        >>> coins = Coins.of("00" * 32)
        >>> far = [coins.words(1, 2, index, 1)[0] for index in (7, 2**40)]
        >>> bool((coins.words_at(1, 2, np.array([7, 2**40])) == far).all())
        True
        """
        # numpy's generator adds one to its counter before each block.
        first = indices.astype(np.uint64) + np.uint64(1)
        counter = [first, np.full_like(first, stratum), np.full_like(first, purpose), np.zeros_like(first)]
        keys = list(self.key)
        for _ in range(ROUNDS):
            high0, low0 = _product(counter[0], MULTIPLIERS[0])
            high1, low1 = _product(counter[2], MULTIPLIERS[1])
            counter = [
                high1 ^ counter[1] ^ np.uint64(keys[0]),
                low1,
                high0 ^ counter[3] ^ np.uint64(keys[1]),
                low0,
            ]
            keys = [(key + step) % 2**64 for key, step in zip(keys, STEPS, strict=True)]
        return np.stack(counter, axis=1)


def _product(words: NDArray[np.uint64], by: int) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The upper and the lower 64 bits of each product."""
    high, low = words >> _HALF, words & _LOW
    by_high, by_low = np.uint64(by >> 32), np.uint64(by & 2**32 - 1)
    middle = high * by_low + (low * by_low >> _HALF)
    other = low * by_high + (middle & _LOW)
    return high * by_high + (middle >> _HALF) + (other >> _HALF), words * np.uint64(by)


def below(words: NDArray[np.uint64], limit: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """floor(word * limit / 2^64): a number in 0 .. limit-1, for limits of at most 2^32.

    Each number has probability 1/limit, with a relative error of at most limit/2^64.

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
