"""The consistency check of the transfer extension: every column must hold the same choices.

An evaluator who puts other bits into one column than into another learns, from what fails later, bits of the
garbler's delta, and with delta the garbler's input. So it proves that it did not. Roy, "SoftSpokenOT", CRYPTO
2022 (ePrint 2022/192), found the proof of the first such check wrong (Keller, Orsini, Scholl, "Actively
secure OT extension with optimal overhead", CRYPTO 2015); this is the check that replaced it (Figure 10 of the
corrected version, ePrint 2015/546), which sends one hash for each column instead of one for all.

A column is cut into blocks y_1, ..., y_m of 128 bits, elements of GF(2^128), and ends with a block r of
random choices. Its hash is H(y) = r + chi_1 y_1 + ... + chi_m y_m. The evaluator sends X = H(choices), which
r hides, and V_i = H(T_i) for each column i; the garbler asks of each column that H(Q_i) = V_i + delta_i X.

**What passes.** A column whose hash of the choices is not X passes for one value of delta_i only: the
evaluator guessed that bit, and is caught with probability 1/2. The columns that pass for both values have
choices with one hash, X. There are at most 512 possible vectors of choices (a base transfer has four outcomes
for its two columns), fixed before chi is known, and two different ones have the same hash with probability
2^-128; so but for a chance of 2^18 / 2^128 = 2^-110 all these columns hold the same choices. Whoever passes
has therefore used one set of choices, but for columns whose bits of delta were guessed: s bits with
probability 2^-s. All of delta (127 unknown bits) is no easier to get than by guessing.

chi is a hash of the context and of all that was sent before (Fiat and Shamir, in the random oracle model), so
the exchange keeps its three messages, and 2^-110 is the chance for each hash that a cheater computes. A
session whose check failed is over: with the same delta a second guess would be free.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

BLOCK = 16
"""Bytes of a block; a column ends with one block of random choices."""
BITS = 8 * BLOCK
_REDUCTION = 0x87
"""x^128 = x^7 + x^2 + x + 1."""
Columns = NDArray[np.uint8]


def challenge(context: bytes, transcript: bytes, blocks: int) -> list[int]:
    """One element of GF(2^128) for each block of choices, from all that was sent before."""
    seed = hashlib.sha256(transcript).digest()
    stream = hashlib.shake_256(b"dpairs consistency" + context + seed).digest(BLOCK * blocks)
    return [int.from_bytes(stream[place : place + BLOCK], "little") for place in range(0, len(stream), BLOCK)]


def blocks_of(size: int) -> int:
    """Blocks of a column of ``size`` bytes, without its last."""
    return -(-(size - BLOCK) // BLOCK)


def hashes(columns: Columns, chi: list[int]) -> Columns:
    """H of each row: the last block, plus every other block times its element of ``chi``."""
    body, last = columns[:, :-BLOCK], columns[:, -BLOCK:]
    padded = np.zeros((len(columns), BLOCK * len(chi)), dtype=np.uint8)
    padded[:, : body.shape[1]] = body
    total = np.unpackbits(last, axis=1, bitorder="little").astype(np.float32)
    for place, element in enumerate(chi):
        block = padded[:, BLOCK * place : BLOCK * (place + 1)]
        # Sums of at most 128 bits are exact in single precision.
        total += np.unpackbits(block, axis=1, bitorder="little").astype(np.float32) @ _times(element)
    odd = total.astype(np.int64) & 1
    return np.packbits(odd.astype(np.uint8), axis=1, bitorder="little")


def _times(element: int) -> NDArray[np.float32]:
    """The matrix over GF(2) of the product with ``element``: row k is the element times x^k."""
    rows, power = [], element
    for _ in range(BITS):
        rows.append(power.to_bytes(BLOCK, "little"))
        power <<= 1
        power ^= (1 << BITS | _REDUCTION) * (power >> BITS)
    packed = np.frombuffer(b"".join(rows), dtype=np.uint8).reshape(BITS, BLOCK)
    return np.unpackbits(packed, axis=1, bitorder="little").astype(np.float32)
