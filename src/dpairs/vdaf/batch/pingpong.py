"""The ping-pong of `dpairs.vdaf.pingpong` for a batch of reports: the same messages, one for each report.

A report that is rejected has no message: None stands in its place, and its bit in ``valid`` is False.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from ...errors import BadMessage, BadParameter
from ..pingpong import Kind, decode, encode, two_servers
from .keccak import Bytes
from .server import Mask, Prepared, Server

Messages = Sequence[bytes | None]


@dataclass(frozen=True, eq=False)
class Verified:
    """The helper's end of a batch: what it keeps, which reports are valid, and what it answers."""

    prepared: Prepared
    valid: Mask
    outbound: list[bytes | None] = field(repr=False)


def leader_init(
    server: Server,
    nonces: Sequence[bytes] | Bytes,
    publics: Sequence[bytes] | Bytes,
    shares: Sequence[bytes] | Bytes,
) -> tuple[Prepared, list[bytes | None]]:
    """The leader begins: what it keeps, and a message for each report that it can read."""
    _place(server, 0)
    prepared = server.verify_init(nonces, publics, shares)
    return prepared, _messages(Kind.INITIALIZE, prepared.verifier_shares, prepared.good)


def helper_init(
    server: Server,
    nonces: Sequence[bytes] | Bytes,
    publics: Sequence[bytes] | Bytes,
    shares: Sequence[bytes] | Bytes,
    inbound: Messages,
) -> Verified:
    """The helper answers the leader's messages."""
    _place(server, 1)
    leaders = _items(inbound, Kind.INITIALIZE, len(nonces))
    prepared = server.verify_init(nonces, publics, shares)
    message, holds = server.combine([leaders, prepared.verifier_shares])
    valid = server.verify_next(prepared, message) & holds
    return Verified(prepared, valid, _messages(Kind.FINISH, message, valid))


def leader_continued(server: Server, prepared: Prepared, inbound: Messages) -> Mask:
    """The leader reads the helper's answers: which reports are valid."""
    _place(server, 0)
    items = _items(inbound, Kind.FINISH, len(prepared))
    answered = np.array([item is not None for item in items], dtype=bool)
    return server.verify_next(prepared, [item or b"" for item in items]) & answered


def _place(server: Server, number: int) -> None:
    two_servers(server.vdaf)
    if server.server != number:
        raise BadParameter(f"the {'helper' if number else 'leader'} is server {number}, not {server.server}")


def _messages(kind: Kind, rows: Bytes, good: Mask) -> list[bytes | None]:
    return [encode(kind, row.tobytes()) if fine else None for row, fine in zip(rows, good, strict=True)]


def _items(wires: Messages, kind: Kind, count: int) -> list[bytes | None]:
    if len(wires) != count:
        raise BadMessage(f"there must be {count} messages, not {len(wires)}")
    items: list[bytes | None] = []
    for wire in wires:
        try:
            items.append(decode(wire, kind)[0] if wire is not None else None)
        except BadMessage:
            items.append(None)
    return items
