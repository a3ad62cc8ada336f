"""The two servers' messages about one report: the ping-pong of section 5.7.1 of the draft, for Prio3.

    leader                      helper
    leader_init      ── initialize(verifier share) ──>  helper_init, which finishes or rejects
    leader_continued <── finish(verifier message) ────

Every function takes bytes and returns a state. Hostile bytes lead to `Rejected`, never to an exception; a
wrong key or context is the caller's mistake and raises `BadParameter`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from ..errors import BadMessage, BadParameter, OutOfOrder, TrailingBytes
from .prio3 import Prio3, VerifyState

_LENGTH = struct.Struct(">I")


class Kind(IntEnum):
    """The first byte of a message."""

    INITIALIZE = 0
    CONTINUE = 1
    FINISH = 2


_ITEMS = {Kind.INITIALIZE: 1, Kind.CONTINUE: 2, Kind.FINISH: 1}


@dataclass(frozen=True)
class Continued:
    """The leader waits for the helper's answer to ``outbound``."""

    state: VerifyState = field(repr=False)
    outbound: bytes = field(repr=False)


@dataclass(frozen=True)
class Finished:
    """The report is valid, and this is the server's share of it; ``outbound`` is still to be sent, if any."""

    out_share: bytes = field(repr=False)
    outbound: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Rejected:
    """The report is not used, and why."""

    reason: str


def encode(kind: Kind, *items: bytes) -> bytes:
    r"""A message: its kind, and each item with its length.

    >>> encode(Kind.FINISH, b"seed")
    b'\x02\x00\x00\x00\x04seed'
    """
    return bytes([kind]) + b"".join(_LENGTH.pack(len(item)) + item for item in items)


def decode(wire: Any, kind: Kind) -> list[bytes]:
    """The items of a message of that kind."""
    if not isinstance(wire, bytes) or not wire:
        raise BadMessage("a message between servers must have at least one byte")
    if wire[0] != kind:
        raise OutOfOrder(f"a message of kind {kind.name} was expected, not of kind {wire[0]}")
    items, place = [], 1
    for _ in range(_ITEMS[kind]):
        start = place + _LENGTH.size
        if len(wire) < start:
            raise BadMessage(f"a message of kind {kind.name} ends within a length")
        place = start + _LENGTH.unpack_from(wire, place)[0]
        if len(wire) < place:
            raise BadMessage(f"a message of kind {kind.name} ends before its item does")
        items.append(wire[start:place])
    if len(wire) > place:
        raise TrailingBytes(f"{len(wire) - place} bytes follow the end of a message of kind {kind.name}")
    return items


def leader_init(
    vdaf: Prio3, key: bytes, context: bytes, nonce: bytes, public: bytes, share: bytes
) -> Continued | Rejected:
    two_servers(vdaf)
    try:
        state, verifier = vdaf.verify_init(key, context, 0, nonce, public, share)
    except BadMessage as error:
        return Rejected(str(error))
    return Continued(state, encode(Kind.INITIALIZE, verifier))


def helper_init(
    vdaf: Prio3, key: bytes, context: bytes, nonce: bytes, public: bytes, share: bytes, inbound: bytes
) -> Finished | Rejected:
    """The helper answers the leader's first message, and has finished when it sends its answer."""
    two_servers(vdaf)
    try:
        state, verifier = vdaf.verify_init(key, context, 1, nonce, public, share)
        (leaders,) = decode(inbound, Kind.INITIALIZE)
        message = vdaf.verifier_shares_to_message(context, [leaders, verifier])
        return Finished(vdaf.verify_next(state, message), encode(Kind.FINISH, message))
    except BadMessage as error:
        return Rejected(str(error))


def leader_continued(vdaf: Prio3, state: Continued, inbound: bytes) -> Finished | Rejected:
    """The leader reads the helper's answer."""
    if not isinstance(state, Continued):
        raise OutOfOrder("only a leader that waits for the helper's answer can read it")
    try:
        (message,) = decode(inbound, Kind.FINISH)
        return Finished(vdaf.verify_next(state.state, message))
    except BadMessage as error:
        return Rejected(str(error))


def two_servers(vdaf: Prio3) -> None:
    """Refuse a VDAF that is not for two servers: ping-pong has one message back and forth."""
    if vdaf.shares != 2:
        raise BadParameter(f"ping-pong is for two servers, not for {vdaf.shares}")
