"""Inner products of a vector at one server with a vector at the other, in shares, by oblivious transfer.

Gilboa, "Two party RSA key generation", CRYPTO 1999, section 4.1: <u, v> is the sum over elements i and bits j
of u_ij 2^j v_i, so one transfer for each bit of u yields it. The transfers are those of the extension in
`garbled`: the sender has a block Q and a difference D, the receiver T = Q if its bit is 0 and Q xor D if it
is 1. Hashed with its number as a tweak and reduced modulo p, H(Q) masks what the sender has to add:

    sender -> receiver:   c = H(Q) - H(Q xor D) + 2^j v_i
    receiver:             H(T) + bit c        which is H(Q) + bit 2^j v_i
    sender:               -H(Q)

The sender sees what an extension's sender sees, pseudorandom columns; the receiver sees c, masked by H of the
block that it does not know (correlation robustness; H is TMMO, see `garbled.blocks`). Masks are 128 bits
reduced modulo p, within 2^-64 of uniform. Both servers are taken to follow the protocol.

    MultiplySender(context, v)   ── offer ──>   MultiplyReceiver(context, u, offer)
    finish(reply)               <── reply ──
                                 ── corrections ──>   finish(corrections)
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import BadMessage, BadParameter, OutOfOrder
from ...formats.checks import exact_size
from ...garbled.blocks import Buffer, Labels, permutation
from ...garbled.extension import ExtensionReceiver, ExtensionSender
from ...randomness import Randomness
from .goldilocks import MODULUS, Words, add, doublings, reduce, subtract, total

BITS = 64
KEY = 16
MOST = 2**16
"""Elements of all vectors together: 2^22 transfers."""
_AT_ONCE = 2**16
"""Blocks hashed together."""


def _elements(vectors: Sequence[Sequence[int]]) -> tuple[Words, list[int]]:
    """All vectors one after the other, and where each ends."""
    lengths = [len(vector) for vector in vectors]
    if not 0 < sum(lengths) <= MOST or min(lengths) < 1:
        raise BadParameter(f"vectors to multiply have from 1 to {MOST} elements together")
    joined = [element for vector in vectors for element in vector]
    if not all(0 <= element < MODULUS for element in joined):
        raise BadParameter("vectors to multiply hold elements of Field64")
    return np.array(joined, dtype=np.uint64), np.cumsum(lengths).tolist()


def _hash(key: bytes, labels: Labels) -> Words:
    """H(label, number) modulo p: a mask for each transfer, with fixed-key AES as a tweakable hash."""
    encrypt, masks = permutation(key), []
    for start in range(0, len(labels), _AT_ONCE):
        part = np.ascontiguousarray(labels[start : start + _AT_ONCE])
        inner, outer = Buffer(len(part)), Buffer(len(part))
        encrypt(part.data.cast("B"), inner.room(part.nbytes))
        once = inner.shaped(len(part))
        tweaked = once.copy()
        tweaked[:, 0] ^= np.arange(start, start + len(part), dtype=np.uint64)
        encrypt(tweaked.data.cast("B"), outer.room(part.nbytes))
        twice = outer.shaped(len(part)) ^ once
        masks.append(reduce(twice[:, 0], twice[:, 1]))
    return np.concatenate(masks)


def _products(words: Words, ends: Sequence[int]) -> list[int]:
    """The sum over each vector's transfers."""
    return [total(part) for part in np.split(words, [BITS * end for end in ends[:-1]])]


class MultiplySender:
    """The server that holds the vectors v."""

    def __init__(self, context: bytes, vectors: Sequence[Sequence[int]], bits: Randomness) -> None:
        self._elements, self._ends = _elements(vectors)
        self._bits, self._done = bits, False
        self._transfer = ExtensionSender(context, BITS * self._elements.size, bits)
        self.offer = self._transfer.offer

    def __repr__(self) -> str:
        return f"MultiplySender(elements={self._elements.size})"

    def finish(self, reply: bytes) -> tuple[list[int], bytes]:
        """This server's share of each product, and the corrections for the other."""
        if self._done:
            raise OutOfOrder("this multiplication is over")
        exact_size(reply, ExtensionSender.sizes(BITS * self._elements.size)[1], "a reply of the transfers")
        self._done = True
        zero, delta, _ = self._transfer.finish(reply)
        key = self._bits.words(KEY // 8).astype("<u8").tobytes()
        masks = _hash(key, zero)
        other = _hash(key, zero ^ delta)
        shifted = doublings(self._elements, BITS).reshape(-1)
        corrections = add(subtract(masks, other), shifted)
        shares = [(MODULUS - product) % MODULUS for product in _products(masks, self._ends)]
        return shares, key + corrections.astype("<u8", copy=False).tobytes()


class MultiplyReceiver:
    """The server that holds the vectors u."""

    def __init__(
        self, context: bytes, vectors: Sequence[Sequence[int]], offer: bytes, bits: Randomness
    ) -> None:
        self._elements, self._ends = _elements(vectors)
        self._choices: NDArray[np.uint8] = np.unpackbits(
            self._elements.astype("<u8", copy=False).view(np.uint8), bitorder="little"
        )
        exact_size(offer, ExtensionSender.sizes(self._choices.size)[0], "an offer of transfers")
        self._transfer = ExtensionReceiver(context, self._choices, offer, bits)
        self.reply = self._transfer.reply

    def __repr__(self) -> str:
        return f"MultiplyReceiver(elements={self._elements.size})"

    def finish(self, corrections: bytes) -> list[int]:
        """This server's share of each product."""
        size = KEY + 8 * self._choices.size
        exact_size(corrections, size, "the corrections of a multiplication")
        masks = _hash(corrections[:KEY], self._transfer.finish(b""))
        given = np.frombuffer(corrections[KEY:], dtype="<u8").astype(np.uint64, copy=False)
        if (given >= np.uint64(MODULUS)).any():
            raise BadMessage("a correction of a multiplication is not below the modulus of Field64")
        return _products(add(masks, given * self._choices.astype(np.uint64)), self._ends)
