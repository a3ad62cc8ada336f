"""Numbers as rows of bits and back: a row for each bit, lowest first, and a column for each instance."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Words: TypeAlias = NDArray[np.uint64]
Bits: TypeAlias = NDArray[np.uint8]


def bits_of(words: Words, width: int) -> Bits:
    """The lowest ``width`` bits of each word.

    >>> bits_of(np.array([6, 1], dtype=np.uint64), 3).tolist()
    [[0, 1], [1, 0], [1, 0]]
    """
    octets = np.ascontiguousarray(words, dtype="<u8").view(np.uint8).reshape(words.size, 8)
    return np.ascontiguousarray(np.unpackbits(octets, axis=1, count=width, bitorder="little").T)


def from_bits(rows: Bits) -> Words:
    """The numbers whose bits are the rows.

    >>> from_bits(np.array([[0, 1], [1, 0], [1, 0]], dtype=np.uint8)).tolist()
    [6, 1]
    """
    octets = np.zeros((rows.shape[1], 8), dtype=np.uint8)
    packed = np.packbits(rows.T, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    return octets.view("<u8")[:, 0].astype(np.uint64, copy=False)


def tape_bits(tape: Words, count: int) -> Bits:
    """The first ``count`` bits of each row of a tape of words: bit i is bit i mod 64 of word i // 64."""
    octets = np.ascontiguousarray(tape, dtype="<u8").view(np.uint8)
    return np.ascontiguousarray(np.unpackbits(octets, axis=1, count=count, bitorder="little").T)


def tape_words(count: int) -> int:
    """Words that hold ``count`` bits."""
    return (count + 63) // 64
