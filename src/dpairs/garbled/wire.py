"""The messages of a pair: one head for all, and what is checked before a message is used.

    version 1 | kind 1 | study 8 | pair 8 | link 16 | payload

The *link* chains the messages: it is a hash of the pair, of the circuit and of every payload before. The
next reader, at the latest the collector, notices a message that is altered, missing or from another exchange.
All payloads have a fixed length that follows from the circuit.
"""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Container
from dataclasses import dataclass
from enum import IntEnum

from ..errors import BadMessage, BadParameter, OutOfOrder, Replayed, TrailingBytes, WrongPartner, WrongStudy
from ..formats.checks import integer

VERSION = 1
LINK = 16
HEAD = struct.Struct(">BB8s8s16s")
_PAIR = struct.Struct(">QQQ")
_MAX_INDEX = 2**53 - 1


class Kind(IntEnum):
    """Who says what to whom, in this order."""

    OFFER = 1  # garbler to evaluator: the transfers begin
    CHOICE = 2  # evaluator to garbler: its bits, hidden
    CIRCUIT = 3  # garbler to evaluator: labels and tables
    LABELS = 4  # evaluator to collector: output labels
    TABLE = 5  # garbler to collector: what they mean


@dataclass(frozen=True)
class Pair:
    """Which two people of which study, and in which pairing. All of it is public."""

    study: str
    garbler: int
    evaluator: int
    pairing: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no study's id or no index."""
        try:
            whole = len(bytes.fromhex(self.study)) == 32
        except (TypeError, ValueError):
            whole = False
        if not whole:
            raise BadParameter(f"a pair's study must be an id of 64 hexadecimal digits, not {self.study!r}")
        for name in ("garbler", "evaluator", "pairing"):
            integer(f"the pair's {name}", getattr(self, name), 0, _MAX_INDEX)
        if self.garbler == self.evaluator:
            raise BadParameter("a pair is made of two different people")

    @property
    def name(self) -> bytes:
        """Eight bytes for the head."""
        return hashlib.sha256(_PAIR.pack(self.garbler, self.evaluator, self.pairing)).digest()[:8]

    def context(self, circuit: bytes) -> bytes:
        """What every hash of this pair starts from: the full study id, the people, and the circuit."""
        people = _PAIR.pack(self.garbler, self.evaluator, self.pairing)
        return derive(b"context", bytes([VERSION]) + bytes.fromhex(self.study) + people + circuit)


def derive(purpose: bytes, secret: bytes) -> bytes:
    """A hash for one purpose."""
    return hashlib.sha256(b"dpairs pair/" + purpose + b"/" + secret).digest()


def follow(link: bytes, payload: bytes) -> bytes:
    """The link after a message."""
    return derive(b"link", link + hashlib.sha256(payload).digest())


def frame(kind: Kind, pair: Pair, link: bytes, payload: bytes) -> bytes:
    return HEAD.pack(VERSION, kind, bytes.fromhex(pair.study)[:8], pair.name, link[:LINK]) + payload


def unframe(
    wire: bytes, kind: Kind, pair: Pair, link: bytes | None, size: int, seen: Container[Kind] = ()
) -> tuple[bytes, bytes]:
    """The payload and the link of a message, or the error that says why it cannot be used.

    Nothing of the payload is looked at, and nothing is allocated for it, before all of the head fits.
    ``link`` is None where the reader cannot know it.
    """
    if not isinstance(wire, bytes):
        raise BadMessage(f"a message must be bytes, not {type(wire).__name__}")
    if len(wire) < HEAD.size:
        raise BadMessage(f"a message has a head of {HEAD.size} bytes; this one has {len(wire)} in all")
    version, number, study, name, tied = HEAD.unpack_from(wire)
    if version != VERSION:
        raise BadMessage(f"this message has version {version}; this program knows version {VERSION}")
    if study != bytes.fromhex(pair.study)[:8]:
        raise WrongStudy(f"this message belongs to study {study.hex()}..., not to {pair.study[:16]}...")
    if name != pair.name:
        raise WrongPartner("this message belongs to another pair of this study")
    if number not in Kind.__members__.values():
        raise BadMessage(f"there is no message of kind {number}")
    if number != kind:
        given = Kind(number)
        if given in seen:
            raise Replayed(f"a message of kind {given.name} was used before")
        raise OutOfOrder(f"a message of kind {kind.name} was expected, not {given.name}")
    if link is not None and not hmac.compare_digest(tied, link[:LINK]):
        raise Replayed(
            f"this message of kind {kind.name} belongs to another exchange, or one before it was altered"
        )
    if len(wire) < HEAD.size + size:
        raise BadMessage(f"a message of kind {kind.name} has {HEAD.size + size} bytes here, not {len(wire)}")
    if len(wire) > HEAD.size + size:
        raise TrailingBytes(f"{len(wire) - HEAD.size - size} bytes follow the end of this message")
    return wire[HEAD.size :], tied
