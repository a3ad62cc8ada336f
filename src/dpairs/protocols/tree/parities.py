"""Several signs of one level in one report: how many, how they are packed, and what they stand for."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...mechanisms.thresholds import MAX_EPSILON
from .hadamard import parity

MAX_PARITIES = 6
OCCUPIED = 64
"""Nodes of the level by which several columns choose how many parities they send."""


def best_parities(epsilon: float, depth: int, columns: int = 1) -> int:
    """How many parities to send: the number whose worse variance, of an empty or a full node, is least.

    Few nodes may hold everybody, so the usual choice, which looks at empty nodes only, is not safe. Several
    columns, of more than one bit, take the number whose variances of all nodes of a level have the least sum,
    one node being full: what a pilot misses adds up what all nodes are off. A level of more nodes would take
    one parity more at some epsilons, for 12% less variance at most, and a collector keeps twice as many rows.
    """
    ratio = math.exp(min(epsilon, MAX_EPSILON))

    def variance(parities: int) -> float:
        symbols = 1 << parities
        kept, other = ratio / (ratio + symbols - 1), 1 / symbols
        full, empty = kept * (1 - kept), other * (1 - other)
        return (max(full, empty) if columns < 2 else full + (OCCUPIED - 1) * empty) / (kept - other) ** 2

    return min(range(1, min(MAX_PARITIES, depth) + 1), key=variance)


def packed(bits: NDArray[Any]) -> NDArray[np.uint64]:
    """The number that each row of bits spells, its first bit the lowest."""
    numbers = np.zeros(len(bits), dtype=np.uint64)
    for place, column in enumerate(bits.T):
        numbers |= column.astype(np.uint64) << np.uint64(place)
    return numbers


def spanned(
    rows: NDArray[np.uint64], symbols: NDArray[np.uint64]
) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]:
    """All rows that each report's rows span but row 0, and the report's sign of each."""
    every = [np.zeros(len(rows), dtype=np.uint64)]
    for row in rows.T:
        every += [other ^ row for other in every]
    bits = [parity(symbols & np.uint64(chosen)) for chosen in range(1, len(every))]
    return np.concatenate(every[1:]), np.concatenate(bits)
