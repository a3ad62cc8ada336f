"""Transfer extension: 64 public-key transfers become any number, by symmetric cryptography alone.

Ishai, Kilian, Nissim, Petrank, "Extending oblivious transfers efficiently", CRYPTO 2003, in the form for
labels with one difference: the garbler's secret choice in the base transfers *is* delta. The evaluator
expands pairs of seeds into columns T_0, T_1 of a bit matrix and sends U = T_0 XOR T_1 XOR (its bits); the
garbler, who has one seed of each pair, gets rows Q with Q_i = T_i XOR bit_i delta. So Q_i is the zero label
of bit i and T_i the active one: nothing is masked and nothing else is sent (correlated transfer of Asharov,
Lindell, Schneider, Zohner, "More efficient oblivious transfer and extensions for faster secure
computation", CCS 2013).

The roles of the base transfers are reversed, so they are of the kind in which the receiver (here the
garbler) speaks first: three messages in all, as without extension. The evaluator proves that all columns hold
the same choices: see `consistency`. A garbler can only choose delta, which is its own.
"""

from __future__ import annotations

import hashlib
import hmac

import numpy as np
from numpy.typing import NDArray

from ..errors import BadMessage, OutOfOrder
from ..randomness import Randomness
from .blocks import Labels, from_bytes, to_bytes
from .consistency import BLOCK, blocks_of, challenge, hashes
from .transfer import (
    CHOICES,
    MASKED,
    POINT,
    DirectReceiver,
    DirectSender,
    KeyReceiver,
    KeySender,
    checked,
    choice_pairs,
    fresh_delta,
    hashed_anchors,
    points,
)

COLUMNS = 128
BASE = COLUMNS // 2
"""Base transfers: each carries the seeds of two columns."""
PROOF = BLOCK * COLUMNS + BLOCK * (COLUMNS + 1)
"""Bytes of the consistency check, at the end of a reply: a block of each column, a hash of the choices, and a
hash of each column."""
HASHES = BLOCK * (COLUMNS + 1)
BREAK_EVEN = 145
"""Above so many bits the extension takes over: it saves time from about 136 bits on, bytes from 257."""


class ExtensionSender:
    """The garbler's side: receiver of the base transfers."""

    def __init__(self, context: bytes, count: int, bits: Randomness) -> None:
        self._context, self._count, self._over = context, count, False
        self._delta = fresh_delta(bits)
        self._bits = np.unpackbits(np.frombuffer(to_bytes(self._delta), dtype=np.uint8), bitorder="little")
        self._keys = KeyReceiver(choice_pairs(self._bits), hashed_anchors(context), bits)
        self.offer = b"".join(self._keys.points)

    def __repr__(self) -> str:
        return f"ExtensionSender(count={self._count})"

    def finish(self, reply: bytes) -> tuple[Labels, Labels, bytes]:
        """Zero labels of the receiver's bits, delta, and nothing to send."""
        if self._over:
            raise OutOfOrder("this exchange is over: its choices did not fit together")
        public, masked, columns, proof = _split(reply, self._count)
        keys = self._keys.keys(self._context, checked(public))
        choices = choice_pairs(self._bits)
        rows = np.zeros((BASE, CHOICES, 2, 2), dtype=np.uint64)
        rows[:, 1:] = from_bytes(masked, BASE, CHOICES - 1, 2)
        seeds = keys ^ rows[np.arange(BASE), choices]
        matrix = _columns(seeds.reshape(COLUMNS, 2), self._count)
        chosen = np.negative(self._bits)[:, None]
        matrix ^= columns & chosen
        chi = challenge(self._context, self.offer + reply[: len(reply) - HASHES], blocks_of(matrix.shape[1]))
        expected = proof[1:] ^ (proof[0] & chosen)
        if not hmac.compare_digest(hashes(matrix, chi).tobytes(), expected.tobytes()):
            # A second try with the same delta would be a free guess at its bits.
            self._over = True
            raise BadMessage("the choices of this transfer do not fit together")
        return _rows(matrix[:, :-BLOCK], self._count), self._delta, b""

    @staticmethod
    def sizes(count: int) -> tuple[int, int, int]:
        """Bytes of the offer, the reply and the masked labels."""
        return POINT * BASE, POINT + MASKED * BASE + COLUMNS * ((count + 7) // 8) + PROOF, 0


class ExtensionReceiver:
    """The evaluator's side: sender of the base transfers."""

    def __init__(self, context: bytes, choices: NDArray[np.uint8], offer: bytes, bits: Randomness) -> None:
        self._count = choices.size
        base = KeySender(context, bits)
        keys = base.keys(points(offer), hashed_anchors(context))
        # The seeds of choice 0 are the first key; those of choice 1 are fresh.
        zero = keys[:, 0]
        one = bits.words(2 * COLUMNS).reshape(BASE, 2, 2)
        sent = np.array([[one[:, 0], zero[:, 1]], [zero[:, 0], one[:, 1]], [one[:, 0], one[:, 1]]])
        masked = keys[:, 1:] ^ sent.transpose(2, 0, 1, 3)
        matrix = _columns(zero.reshape(COLUMNS, 2), self._count)
        other = _columns(one.reshape(COLUMNS, 2), self._count)
        # Random choices at the end hide the others in the hash of all.
        mask = bits.words(2).astype("<u8").tobytes()
        packed = np.frombuffer(np.packbits(choices, bitorder="little").tobytes() + mask, dtype=np.uint8)
        self._labels = _rows(matrix[:, :-BLOCK], self._count)
        sent_columns = matrix ^ other ^ packed
        body, ends = sent_columns[:, :-BLOCK].tobytes(), sent_columns[:, -BLOCK:].tobytes()
        said = base.public + to_bytes(masked) + body + ends
        chi = challenge(context, offer + said, blocks_of(packed.size))
        self.reply = said + hashes(packed[None, :], chi).tobytes() + hashes(matrix, chi).tobytes()

    def __repr__(self) -> str:
        return f"ExtensionReceiver(count={self._count})"

    def finish(self, masked: bytes) -> Labels:
        """The labels of the chosen bits, known since the reply."""
        return self._labels


def _size(count: int) -> int:
    """Bytes of a column: the choices, and a block of random ones."""
    return (count + 7) // 8 + BLOCK


def _split(reply: bytes, count: int) -> tuple[bytes, bytes, NDArray[np.uint8], NDArray[np.uint8]]:
    """The base transfers' point and seeds, the columns, and the hashes: the choices' first."""
    start, size = POINT + MASKED * BASE, _size(count) - BLOCK
    rest = np.frombuffer(reply[start:], dtype=np.uint8)
    body, ends, proof = np.split(rest, [COLUMNS * size, COLUMNS * (size + BLOCK)])
    columns = np.concatenate([body.reshape(COLUMNS, size), ends.reshape(COLUMNS, BLOCK)], axis=1)
    return reply[:POINT], reply[POINT:start], columns, proof.reshape(COLUMNS + 1, BLOCK)


def _columns(seeds: Labels, count: int) -> NDArray[np.uint8]:
    """Each seed expanded to ``count`` bits and a block, by SHAKE-128."""
    size, stream = _size(count), to_bytes(seeds)
    rows = (stream[place : place + 16] for place in range(0, len(stream), 16))
    expanded = b"".join(hashlib.shake_128(b"dpairs column" + row).digest(size) for row in rows)
    return np.frombuffer(expanded, dtype=np.uint8).reshape(len(seeds), size).copy()


def _rows(matrix: NDArray[np.uint8], count: int) -> Labels:
    """The transposed bit matrix: a block for each transfer."""
    bits = np.unpackbits(matrix, axis=1, count=count, bitorder="little")
    packed = np.packbits(np.ascontiguousarray(bits.T), axis=1, bitorder="little")
    return from_bytes(packed.tobytes(), count)


Sender = DirectSender | ExtensionSender
Receiver = DirectReceiver | ExtensionReceiver


def sender(context: bytes, count: int, bits: Randomness) -> Sender:
    """The cheaper way to send the labels of ``count`` bits."""
    kind = DirectSender if count <= BREAK_EVEN else ExtensionSender
    return kind(context, count, bits)


def receiver(context: bytes, choices: NDArray[np.uint8], offer: bytes, bits: Randomness) -> Receiver:
    """The other side of `sender`."""
    kind = DirectReceiver if choices.size <= BREAK_EVEN else ExtensionReceiver
    return kind(context, choices, offer, bits)


def sizes(count: int) -> tuple[int, int, int]:
    """Bytes of the offer, the reply and the masked labels for ``count`` bits."""
    return (DirectSender if count <= BREAK_EVEN else ExtensionSender).sizes(count)


def proof_size(count: int) -> int:
    """Bytes at the end of a reply that prove it, and on which nothing else depends."""
    return 0 if count <= BREAK_EVEN else PROOF
