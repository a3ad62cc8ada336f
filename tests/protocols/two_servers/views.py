"""What each server sees of a multiplication, for real and simulated without the other server's vectors.

The ideal world: whoever follows the protocol computes its share of each product from what it sees, and the
other server's share is the product less that. So a view is enough: a simulator makes one from a server's own
vectors and its own random bits, never looking at the other's vectors.
"""

from dataclasses import dataclass

import numpy as np
import rbcl

from dpairs.garbled import extension
from dpairs.garbled.blocks import from_bytes
from dpairs.garbled.consistency import blocks_of, challenge, hashes
from dpairs.garbled.transfer import CHOICES, MASKED, POINT, choice_pairs, scalar
from dpairs.protocols.two_servers import multiply
from dpairs.protocols.two_servers.goldilocks import MODULUS
from dpairs.randomness import Randomness, SeededRandomness

CONTEXT = b"views"


@dataclass(frozen=True)
class View:
    """One server's vectors, what it was sent, and the share that it computes from that."""

    inbound: tuple[bytes, ...]
    shares: list[int]
    own: np.ndarray
    """The receiver's masks, or the sender's expanded columns: what it knows of the other's messages."""


def both_views(
    u: list[list[int]], v: list[list[int]], receiver_bits: Randomness, sender_bits: Randomness
) -> tuple[View, View]:
    """The receiver's and the sender's view of a real multiplication."""
    sender = multiply.MultiplySender(CONTEXT, v, sender_bits)
    receiver = multiply.MultiplyReceiver(CONTEXT, u, sender.offer, receiver_bits)
    known = known_columns(sender, receiver.reply)
    mine, corrections = sender.finish(receiver.reply)
    theirs = receiver.finish(corrections)
    masks = multiply._hash(corrections[: multiply.KEY], receiver._transfer.finish(b""))
    return View((sender.offer, corrections), theirs, masks), View((receiver.reply,), mine, known)


def simulated_receiver(u: list[list[int]], own: Randomness, bits: Randomness) -> View:
    """The server with u: points are multiples of the generator, a key and corrections are uniform."""
    points = [rbcl.crypto_scalarmult_ristretto255_base(scalar(bits)) for _ in range(extension.BASE)]
    receiver = multiply.MultiplyReceiver(CONTEXT, u, b"".join(points), own)
    count = multiply.BITS * sum(map(len, u))
    key = bits.words(2).astype("<u8").tobytes()
    corrections = key + uniform(count, bits).astype("<u8").tobytes()
    shares = receiver.finish(corrections)
    return View((b"".join(points), corrections), shares, multiply._hash(key, receiver._transfer.finish(b"")))


def simulated_sender(v: list[list[int]], own: Randomness, bits: Randomness) -> View:
    """The server with v: a point, seeds, columns and the hash of the choices are uniform.

    The hashes of the columns are those that its check asks for, which it can compute.
    """
    sender = multiply.MultiplySender(CONTEXT, v, own)
    count = multiply.BITS * sum(map(len, v))
    columns = bits.words(-(-extension.COLUMNS * count // 64) + 2 * extension.COLUMNS).tobytes()
    point = rbcl.crypto_scalarmult_ristretto255_base(scalar(bits))
    masked = bits.words(MASKED * extension.BASE // 8).tobytes()
    said = point + masked + columns[: extension.COLUMNS * ((count + 7) // 8 + 16)]
    together = np.frombuffer(bits.words(2).tobytes(), dtype=np.uint8)
    matrix = rows_of(sender, said, count)
    chi = challenge(CONTEXT, sender.offer + said, blocks_of(matrix.shape[1]))
    chosen = np.negative(sender._transfer._bits)[:, None]
    reply = said + together.tobytes() + (hashes(matrix, chi) ^ (together & chosen)).tobytes()
    known = known_columns(sender, reply)
    shares, _ = sender.finish(reply)
    return View((reply,), shares, known)


def known_columns(sender: multiply.MultiplySender, reply: bytes) -> np.ndarray:
    """The columns that the sender can expand: one of each pair, as it chose."""
    transfer = sender._transfer
    keys = transfer._keys.keys(CONTEXT, reply[:POINT])
    rows = np.zeros((extension.BASE, CHOICES, 2, 2), dtype=np.uint64)
    masked = reply[POINT : POINT + MASKED * extension.BASE]
    rows[:, 1:] = from_bytes(masked, extension.BASE, CHOICES - 1, 2)
    seeds = keys ^ rows[np.arange(extension.BASE), choice_pairs(transfer._bits)]
    return extension._columns(seeds.reshape(extension.COLUMNS, 2), transfer._count)


def rows_of(sender: multiply.MultiplySender, said: bytes, count: int) -> np.ndarray:
    """The sender's columns Q, from a reply without its hashes."""
    _, _, columns, _ = extension._split(said + bytes(extension.HASHES), count)
    return known_columns(sender, said) ^ (columns & np.negative(sender._transfer._bits)[:, None])


def uniform(count: int, bits: Randomness) -> np.ndarray:
    """Uniform elements of the field."""
    found = np.empty(0, dtype=np.uint64)
    while found.size < count:
        words = bits.words(count)
        found = np.concatenate([found, words[words < np.uint64(MODULUS)]])
    return found[:count]


class Blanked(SeededRandomness):
    """Random bits, but for requests of so many words: those are all 0."""

    def __init__(self, seed: int, count: int) -> None:
        super().__init__(seed)
        self._blank = count

    def words(self, count: int) -> np.ndarray:
        drawn = super().words(count)
        return np.zeros_like(drawn) if count == self._blank else drawn


__all__ = ["Blanked", "View", "both_views", "simulated_receiver", "simulated_sender"]
