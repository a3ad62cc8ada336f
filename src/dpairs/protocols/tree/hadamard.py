"""Hadamard rows: the sign (-1)^<j, q> of row j at place q, one at a time and all at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def parity(words: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """Whether each word has an odd number of ones."""
    if hasattr(np, "bitwise_count"):
        return np.bitwise_count(words) & np.uint8(1)
    folded = words.copy()
    for shift in (32, 16, 8, 4, 2, 1):
        folded ^= folded >> np.uint64(shift)
    return (folded & np.uint64(1)).astype(np.uint8)


def transform(values: NDArray[Any]) -> NDArray[np.float64]:
    """The sum over j of values[j] (-1)^<j, q>, for every q, in O(N log N).

    Six steps of the butterfly at a time are one product with the 64 x 64 Hadamard matrix.

    >>> transform(np.array([1, 0, 0, 0, 0, 0, 2, 0])).tolist()
    [3.0, 3.0, -1.0, -1.0, -1.0, -1.0, 3.0, 3.0]
    """
    size = values.size
    result = values.astype(np.float64)
    done = 1
    while done < size:
        step = min(64, size // done)
        result = np.matmul(_matrix(step), result.reshape(-1, step, done)).reshape(size)
        done *= step
    return result


def _matrix(size: int) -> NDArray[np.float64]:
    places = np.arange(size, dtype=np.uint64)
    return 1.0 - 2.0 * parity(places[:, None] & places[None, :]).astype(np.float64)
