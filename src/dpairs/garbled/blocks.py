"""AES on arrays of 128-bit blocks: the hash of the gates, and labels from a seed.

**The hash.** H(x, i) = E(E(x) XOR i) XOR E(x), with E = AES-128 under a key of this pair alone (TMMO of
Guo, Katz, Wang, Yu, "Efficient and secure multiparty computation from fixed-key block ciphers", IEEE S&P
2020: tweakable circular correlation robust for a random permutation, which is what half-gates need). One key
for all pairs of the world would let an attacker reuse p cipher calls against every garbled gate at once;
that is the attack of Guo, Katz, Wang, Weng, Yu, "Better concrete security for half-gates garbling (in the
multi-instance setting)", CRYPTO 2020. Their remedy is that no permutation serves many instances. They take
the tweak as the key, a key schedule for each gate; here each pair has a fresh random key, so that calls
against one key say nothing about another, and the advantage is of order p * (hashes of one pair) / 2^128
instead of p * (hashes of all pairs) / 2^128. The tweak holds the gate, so that all gates of a level (and all
instances of a batch, told apart in the tweak's upper half) are hashed by two calls of AES in ECB mode,
which only here is no mode of encryption but the bare permutation.

In a batch, many instances in one process share a key: its bound counts the hashes of that chunk.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

Labels: TypeAlias = NDArray[np.uint64]
"""128-bit blocks: the last axis has the lower and the upper word."""
BLOCK = 16
COLOUR = np.uint64(1 << 63)
"""The bit of a block's upper word that tells the two labels of a wire apart."""


def permutation(key: bytes) -> Callable[[memoryview, memoryview], int]:
    """AES under one key, from memory to memory; the target needs room for one block more."""
    # The bare permutation, block by block: nothing is hidden by it, so this is no mode of encryption.
    cipher = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # noqa: S305
    return cipher.update_into


class Buffer:
    """Memory for blocks that is used again and again."""

    def __init__(self, blocks: int) -> None:
        # OpenSSL's binding wants room for a block more, since other modes may write one.
        self._words: Labels = np.empty(2 * (blocks + 1), dtype=np.uint64)
        self._bytes = self._words.data.cast("B")

    def room(self, size: int) -> memoryview:
        """The first ``size`` bytes and the spare block."""
        return self._bytes[: size + BLOCK]

    def shaped(self, *shape: int) -> Labels:
        """The buffer's start as an array of blocks."""
        return self._words[: 2 * math.prod(shape)].reshape(*shape, 2)


def expand(seed: bytes, blocks: int) -> Labels:
    """``blocks`` pseudorandom blocks: AES in counter mode under the seed."""
    cipher = Cipher(algorithms.AES(seed), modes.CTR(bytes(BLOCK))).encryptor()
    stream = cipher.update(bytes(BLOCK * blocks))
    return np.frombuffer(stream, dtype="<u8").astype(np.uint64, copy=False).reshape(blocks, 2)


def to_bytes(labels: Labels) -> bytes:
    return labels.astype("<u8", copy=False).tobytes()


def from_bytes(data: bytes, *shape: int) -> Labels:
    return np.frombuffer(data, dtype="<u8").astype(np.uint64, copy=False).reshape(*shape, 2)
