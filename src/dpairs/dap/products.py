"""A step of our own, not of DAP: inner products of the two servers' sums, before anything is released.

    leader                                        helper
    CloseReq(people, checksums)   ──────────>     the batch is closed; offer of transfers
    reply                         ──────────>     corrections; its shares of the products
    its shares of the products

All messages of a server follow from 32 secret bytes that are drawn for this exchange, and from what the other
one sent, so a server that was ended says the same again. Nobody answers two different messages with the same
secret: two answers to different offers, or to different replies, would give the sums away.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from ..formats.checks import exact_size
from ..garbled.extension import ExtensionSender
from ..protocols.two_servers.multiply import BITS, KEY, MultiplyReceiver, MultiplySender
from ..randomness import SecretStream
from .buckets import Bucket
from .collection import CHECKSUM
from .presentation import Reader, number
from .task import HELPER, LEADER, Task


@dataclass(frozen=True)
class CloseReq:
    """Which reports the batch has at the leader, class by class."""

    people: tuple[int, ...]
    checksums: tuple[bytes, ...]

    def __bytes__(self) -> bytes:
        pairs = zip(self.people, self.checksums, strict=True)
        return b"".join(number(people, 8) + checksum for people, checksum in pairs)

    @classmethod
    def of(cls, buckets: Mapping[str, Bucket]) -> CloseReq:
        sums = buckets.values()
        return cls(tuple(each.people for each in sums), tuple(each.checksum for each in sums))


def read_close(wire: bytes, task: Task) -> CloseReq:
    reader = Reader(wire, "a request to close the batch")
    pairs = [(reader.number(8), reader.take(CHECKSUM)) for _ in task.study.strata]
    reader.end()
    return CloseReq(tuple(people for people, _ in pairs), tuple(each for _, each in pairs))


def _shares(buckets: Mapping[str, Bucket]) -> dict[str, list[int]]:
    return {name: bucket.vector for name, bucket in buckets.items()}


def needed(task: Task) -> bool:
    """Whether the task's result needs any products."""
    return bool(_lengths(task))


def _lengths(task: Task) -> int:
    """Elements of all vectors together."""
    size = task.vdaf.circuit.sums
    empty = {name: [0] * size for name in task.study.strata}
    return sum(len(vector) for vector in task.protocol.multiplicands(LEADER, empty))


def reply_size(task: Task) -> int:
    """Bytes of the leader's reply."""
    return ExtensionSender.sizes(BITS * _lengths(task))[1]


def corrections_size(task: Task) -> int:
    """Bytes of the helper's corrections."""
    return KEY + 8 * BITS * _lengths(task)


def offer_size() -> int:
    """Bytes of the helper's offer."""
    return ExtensionSender.sizes(BITS)[0]


def _context(task: Task, buckets: Mapping[str, Bucket]) -> bytes:
    return b"dpairs product/" + task.id + bytes(CloseReq.of(buckets))


def _stream(secret: bytes, context: bytes) -> SecretStream:
    return SecretStream(hashlib.sha256(b"dpairs product/" + secret + context).digest())


class HelperProducts:
    """The helper's side; the same secret says the same again."""

    def __init__(self, task: Task, buckets: Mapping[str, Bucket], secret: bytes) -> None:
        context = _context(task, buckets)
        vectors = task.protocol.multiplicands(HELPER, _shares(buckets))
        self._sender = MultiplySender(context, vectors, _stream(secret, context))
        self.offer = self._sender.offer

    def __repr__(self) -> str:
        return "HelperProducts()"

    def correct(self, reply: bytes) -> tuple[list[int], bytes]:
        """The helper's shares of the products, and its last message. Only ever for one reply."""
        return self._sender.finish(reply)


class LeaderProducts:
    """The leader's side. Only ever for one offer."""

    def __init__(self, task: Task, buckets: Mapping[str, Bucket], secret: bytes, offer: bytes) -> None:
        context = _context(task, buckets)
        vectors = task.protocol.multiplicands(LEADER, _shares(buckets))
        # Another offer meets other bits, also if a database that was set back has forgotten the first one.
        stream = _stream(secret, context + hashlib.sha256(offer).digest())
        self._receiver = MultiplyReceiver(context, vectors, offer, stream)
        self.reply = self._receiver.reply

    def __repr__(self) -> str:
        return "LeaderProducts()"

    def finish(self, corrections: bytes) -> list[int]:
        """The leader's shares of the products."""
        return self._receiver.finish(corrections)


def check_offer(offer: bytes) -> None:
    exact_size(offer, offer_size(), "an offer of transfers")
