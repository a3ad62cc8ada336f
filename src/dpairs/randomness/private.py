"""The only source of private random bits.

Everything random that protects a person is drawn here, as 64-bit words, from the operating system, or
from a key that was. Two other sources exist for work that protects nobody: a seeded one for simulations
and a tape for test vectors. All are passed in explicitly; nothing in dpairs draws from a global generator.
"""

from __future__ import annotations

import hashlib
import os
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter, TapeExhausted
from ..formats.checks import integer

WORDS: int = 2**64
"""How many values a word takes. Probabilities are integer multiples of 1/WORDS."""
KEY = 32
"""Bytes of a secret key."""


class Randomness(Protocol):
    """A source of uniform 64-bit words."""

    def words(self, count: int) -> NDArray[np.uint64]: ...


class SystemRandomness:
    """Words from the operating system: what a participant uses."""

    def words(self, count: int) -> NDArray[np.uint64]:
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


class SeededRandomness:
    """Reproducible words for simulations and tests.

    Never for a real person: anybody who knows the seed can undo the noise.

    >>> SeededRandomness(7).words(2).tolist() == SeededRandomness(7).words(2).tolist()
    True
    """

    def __init__(self, seed: int) -> None:
        """Start the sequence that belongs to ``seed`` (a non-negative integer)."""
        self._generator = np.random.SFC64(integer("seed", seed, 0, 2**128 - 1))

    def words(self, count: int) -> NDArray[np.uint64]:
        return self._generator.random_raw(count)


class TapeRandomness:
    r"""Words read from given bytes, little-endian: what makes byte-exact test vectors possible.

    >>> TapeRandomness(bytes(15) + b"\x01").words(2).tolist()
    [0, 72057594037927936]
    """

    def __init__(self, tape: bytes) -> None:
        """Read ``tape`` from its first byte on."""
        self._tape = bytes(tape)
        self._read = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` words, or `TapeExhausted`."""
        end = self._read + 8 * count
        if end > len(self._tape):
            left = len(self._tape) - self._read
            raise TapeExhausted(f"the tape has {left} bytes left and {8 * count} are needed")
        chunk = self._tape[self._read : end]
        self._read = end
        return np.frombuffer(chunk, dtype="<u8").astype(np.uint64, copy=False)


class SecretStream:
    """Words that follow from a secret key: a device uses them to repeat a step after a crash.

    SHAKE-256 of the key and a counter. Without the key nobody can tell the words from random ones.
    """

    def __init__(self, key: bytes) -> None:
        """Start the sequence that belongs to ``key``."""
        if len(key) != KEY:
            raise BadParameter(f"a secret key has {KEY} bytes, not {len(key)}")
        self._key = key
        self._used = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        block = hashlib.shake_256(b"dpairs stream/" + self._key + self._used.to_bytes(8, "big"))
        self._used += 1
        return np.frombuffer(block.digest(8 * count), dtype="<u8").astype(np.uint64, copy=False)


def source(seed: int | None) -> Randomness:
    """The operating system's bits, or a seeded simulation's when ``seed`` is given."""
    return SystemRandomness() if seed is None else SeededRandomness(seed)


def public_seed() -> int:
    """A fresh 128-bit public seed for a study: not secret, only unlike every other study's."""
    return int.from_bytes(os.urandom(16), "big")


def secret_bytes(count: int = KEY) -> bytes:
    """Bytes from the operating system for keys, tokens and codes."""
    return os.urandom(count)
