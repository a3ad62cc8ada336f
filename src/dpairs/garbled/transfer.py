"""Oblivious transfer: the evaluator gets the labels of its own bits, the garbler does not learn the bits.

One transfer carries two bits: the receiver chooses one of four keys. Two protocols, which differ only in the
public points that mark the four choices (the *anchors* C_0 = 0, C_1, C_2, C_3):

* Chou and Orlandi, "The simplest protocol for oblivious transfer", LATINCRYPT 2015: the sender publishes
  A = aG first, and C_j = jA.
* Naor and Pinkas, "Efficient oblivious transfer protocols", SODA 2001 (after Bellare and Micali 1989): the
  C_j are hashed to the group, so that nobody knows their logarithms, and the receiver may speak first.

Either way the receiver sends P = bG + C_c, which is uniform whatever c is; the key of choice j is a hash of
a(P - C_j); and b A is the one that the receiver can compute (computational Diffie-Hellman, random oracle).

**Semi-honest**: both are taken to follow the protocol. Against those who do not, it promises nothing.

The group is ristretto255 (RFC 9496) of libsodium, through `rbcl`: PyNaCl does not bind it, pysodium needs a
libsodium on the system. Every point received is checked. Keys are bound to the pair's context, to the
sender's point, to the receiver's point, and to the position.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import rbcl
from numpy.typing import NDArray

from ..errors import BadMessage
from ..randomness import Randomness
from .blocks import COLOUR, Labels, from_bytes, to_bytes

POINT = 32
KEY = 32
CHOICES = 4
IDENTITY = bytes(POINT)
_NO_POINT = "a transfer holds bytes that are not a point of the group"
MASKED = 3 * KEY
"""Bytes for two bits in the sender's last message: the labels of choice 0 are its key and need none."""


def checked(point: bytes) -> bytes:
    """The point, if it is one and not the neutral element."""
    if point == IDENTITY or _high(point) or not rbcl.crypto_core_ristretto255_is_valid_point(point):
        raise BadMessage(_NO_POINT)
    return point


def times(secret: bytes, point: bytes) -> bytes:
    """A multiple of a point that came from outside, checked like `checked`: libsodium does most of it."""
    if _high(point):
        raise BadMessage(_NO_POINT)
    try:
        return bytes(rbcl.crypto_scalarmult_ristretto255(secret, point))
    except RuntimeError:
        raise BadMessage(_NO_POINT) from None


def _high(point: bytes) -> bool:
    """Whether the highest bit is set, which RFC 9496 refuses and some versions of libsodium overlook."""
    return point[-1] >= 0x80


def points(data: bytes) -> list[bytes]:
    """Split into points, not yet checked."""
    return [data[place : place + POINT] for place in range(0, len(data), POINT)]


def scalar(bits: Randomness) -> bytes:
    """A uniform scalar, from 512 random bits."""
    return bytes(rbcl.crypto_core_ristretto255_scalar_reduce(bits.words(8).astype("<u8").tobytes()))


def multiples(point: bytes) -> list[bytes]:
    """0, 1, 2 and 3 times a point."""
    double = rbcl.crypto_core_ristretto255_add(point, point)
    return [IDENTITY, point, double, rbcl.crypto_core_ristretto255_add(double, point)]


def hashed_anchors(context: bytes) -> list[bytes]:
    """Points of which nobody knows the logarithm."""
    seeds = [hashlib.sha512(b"dpairs anchor" + context + bytes([j])).digest() for j in range(1, CHOICES)]
    return [IDENTITY, *(rbcl.crypto_core_ristretto255_from_hash(seed) for seed in seeds)]


class KeySender:
    """Holds four keys for each transfer; ``public`` is A."""

    def __init__(self, context: bytes, bits: Randomness) -> None:
        self._context = context
        self._secret = scalar(bits)
        self.public: bytes = rbcl.crypto_scalarmult_ristretto255_base(self._secret)

    def keys(self, chosen: Sequence[bytes], anchors: Sequence[bytes] | None = None) -> Labels:
        """Four keys of two blocks for each of the receiver's points; by default the anchors are jA."""
        minus = rbcl.crypto_core_ristretto255_sub
        if anchors is None:
            offsets = multiples(times(self._secret, self.public))[1:]
        else:
            offsets = [times(self._secret, anchor) for anchor in anchors[1:]]
        keys = []
        for place, point in enumerate(chosen):
            first = times(self._secret, point)
            four = (first, *(minus(first, offset) for offset in offsets))
            keys += [_key(self._context, self.public, point, place, shared) for shared in four]
        return from_bytes(b"".join(keys), len(chosen), CHOICES, 2)


class KeyReceiver:
    """Holds one key for each transfer; ``points`` go to the sender."""

    def __init__(self, choices: Sequence[int], anchors: Sequence[bytes], bits: Randomness) -> None:
        base, plus = rbcl.crypto_scalarmult_ristretto255_base, rbcl.crypto_core_ristretto255_add
        self._secrets = [scalar(bits) for _ in choices]
        # Choice 0 adds the neutral element, so that every choice takes the same work.
        self.points: list[bytes] = [
            plus(base(secret), anchors[choice]) for secret, choice in zip(self._secrets, choices, strict=True)
        ]

    def keys(self, context: bytes, public: bytes) -> Labels:
        """The chosen key of each transfer."""
        pairs = enumerate(zip(self._secrets, self.points, strict=True))
        stream = b"".join(
            _key(context, public, point, place, times(secret, public)) for place, (secret, point) in pairs
        )
        return from_bytes(stream, len(self.points), 2)


def _key(context: bytes, public: bytes, point: bytes, place: int, shared: bytes) -> bytes:
    return hashlib.sha256(b"".join((context, public, point, place.to_bytes(4, "big"), shared))).digest()


def choice_pairs(bits: NDArray[np.uint8]) -> list[int]:
    """Two bits for each transfer; an odd one is paired with a 0."""
    padded = np.append(bits, np.zeros(bits.size % 2, dtype=np.uint8))
    choices: list[int] = (padded[::2] + 2 * padded[1::2]).tolist()
    return choices


def fresh_delta(bits: Randomness) -> Labels:
    """A secret difference of labels: random, its colour 1."""
    delta = bits.words(2).copy()
    delta[1] |= COLOUR
    return delta


class DirectSender:
    """The garbler's side of one Chou-Orlandi transfer per two bits."""

    def __init__(self, context: bytes, count: int, bits: Randomness) -> None:
        self._count = count
        self._keys = KeySender(context, bits)
        self._delta = fresh_delta(bits)
        self.offer = self._keys.public

    def __repr__(self) -> str:
        return f"DirectSender(count={self._count})"

    def finish(self, reply: bytes) -> tuple[Labels, Labels, bytes]:
        """Zero labels of the receiver's bits, delta, and the masked labels to send."""
        keys = self._keys.keys(points(reply))
        zero = keys[:, 0]
        masked = keys[:, 1:] ^ zero[:, None] ^ _pattern(self._delta)
        return zero.reshape(-1, 2)[: self._count], self._delta, to_bytes(masked)

    @staticmethod
    def sizes(count: int) -> tuple[int, int, int]:
        """Bytes of the offer, the reply and the masked labels."""
        transfers = (count + 1) // 2
        return POINT, POINT * transfers, MASKED * transfers


class DirectReceiver:
    def __init__(self, context: bytes, choices: NDArray[np.uint8], offer: bytes, bits: Randomness) -> None:
        self._context, self._offer, self._count = context, checked(offer), choices.size
        self._choices = choice_pairs(choices)
        self._keys = KeyReceiver(self._choices, multiples(offer), bits)
        self.reply = b"".join(self._keys.points)

    def __repr__(self) -> str:
        return f"DirectReceiver(count={self._count})"

    def finish(self, masked: bytes) -> Labels:
        """The labels of the chosen bits."""
        keys = self._keys.keys(self._context, self._offer)
        rows = np.zeros((len(self._choices), CHOICES, 2, 2), dtype=np.uint64)
        rows[:, 1:] = from_bytes(masked, len(self._choices), CHOICES - 1, 2)
        labels = keys ^ rows[np.arange(len(self._choices)), self._choices]
        return labels.reshape(-1, 2)[: self._count]


def _pattern(delta: Labels) -> Labels:
    """What the choices 1, 2 and 3 add to the zero labels of the two bits."""
    none = np.zeros(2, dtype=np.uint64)
    return np.array([[delta, none], [none, delta], [delta, delta]])
