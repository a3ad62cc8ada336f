"""Arithmetic modulo p = 2^64 - 2^32 + 1 (the VDAF draft's Field64) on arrays of 64-bit words.

2^64 = 2^32 - 1 and 2^96 = -1 modulo p, so a number of 128 bits is reduced by a subtraction and an addition.
All functions take and return numbers below p, and branch on nothing secret.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
MODULUS = 2**64 - 2**32 + 1
_P = np.uint64(MODULUS)
_WRAP = np.uint64(2**32 - 1)
"""2^64 modulo p."""
_HALF = np.uint64(32)


def _below(words: Words) -> Words:
    """A word that may be up to p too large."""
    return words - _P * (words >= _P)


def add(a: Words, b: Words) -> Words:
    total = a + b
    return _below(total + _WRAP * (total < a))


def subtract(a: Words, b: Words) -> Words:
    difference: Words = a - b - _WRAP * (a < b)
    return difference


def reduce(low: Words, high: Words) -> Words:
    """``low + 2^64 high``: within 2^-64 of uniform if both words are.

    >>> reduce(np.array([5], dtype=np.uint64), np.array([2**32], dtype=np.uint64)).tolist()
    [4]
    """
    upper, lower = high >> _HALF, high & _WRAP
    return add(subtract(_below(low), upper), lower * _WRAP)


def total(words: Words) -> int:
    """The sum modulo p; halves of words are added apart, so that 2^31 of them cannot overflow."""
    return (int((words >> _HALF).sum()) * 2**32 + int((words & _WRAP).sum())) % MODULUS


def doublings(words: Words, count: int) -> Words:
    """Row i, column j: 2^j times element i."""
    table = np.empty((words.size, count), dtype=np.uint64)
    current = words
    for j in range(count):
        table[:, j] = current
        current = add(current, current)
    return table
