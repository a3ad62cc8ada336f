"""The mailbox of pairs: sealed messages between partners, and the two that the collector decodes.

Offer, choice and circuit are sealed by one partner for the other (see `dpairs.client.sealing`); here they are
bytes of a certain length. The table and the labels are for the collector: when both are there the pair is
decoded, its symbol counted, and all its messages deleted, in one transaction.

A pair whose output cannot be decoded is dropped, and neither partner is told: both hear "done", as if it had
been counted. A garbler can make a pair fail for certain values of the evaluator (selective failure), and any
other answer would tell it whether the value is one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, delete, insert, select

from ..errors import Closed, Conflict, DpairsError, NotFound, NotYours, TooLarge
from ..garbled.session import PairDecoder, message_sizes
from ..garbled.wire import Kind
from ..protocols.sides import in_pairs
from . import schema
from .changes import OnCommit
from .live_study import CLOSED, PAIRING, AboutStudy, LiveStudy
from .tokens import Holder

SEALED = 64
"""Bytes that sealing may add."""
KINDS = {kind.name.lower(): kind for kind in Kind}
SENDER = {Kind.OFFER: "garbler", Kind.CHOICE: "evaluator", Kind.CIRCUIT: "garbler"}
SENDER |= {Kind.TABLE: "garbler", Kind.LABELS: "evaluator"}
TO_PARTNER = (Kind.OFFER, Kind.CHOICE, Kind.CIRCUIT)
WAITING, DONE, REFUSED = "waiting", "done", "refused"
EXPIRED = 1000
"""Pairs that expire in one transaction."""


@dataclass(frozen=True)
class Message(AboutStudy):
    """A message of a pair, from whom it must be from."""

    live: LiveStudy
    pair: int
    kind: Kind
    body: bytes
    at: int
    """When it came, by the clock of the lease, which nobody can set ahead."""


@dataclass(frozen=True)
class Expiry:
    """Pairs whose oldest message came before then are over."""

    before: int
    untouched: tuple[str, ...] = ()
    """Studies of which nothing is changed."""
    rows = 1
    retired = False


def addressed(live: LiveStudy, holder: Holder, number: int, kind: Kind, sends: bool) -> None:
    """Refuse a message that is not this person's to send, or to fetch."""
    if live.state not in (PAIRING, CLOSED):
        raise NotFound("the pairs of this study are not formed yet")
    garbler, evaluator, _ = live.pairs.people(number)
    role = SENDER[kind] if sends else {"garbler": "evaluator", "evaluator": "garbler"}[SENDER[kind]]
    strata = len(live.strata)
    person = (strata - 1, garbler) if role == "garbler" else (0, evaluator)
    if (holder.stratum, holder.index) != person or not (sends or kind in TO_PARTNER):
        raise NotYours(f"this message of pair {number} is not yours to {'send' if sends else 'fetch'}")


def size_limit(live: LiveStudy, kind: Kind) -> int:
    """The most bytes that a message of this kind can have."""
    return message_sizes(in_pairs(live.study).function)[kind] + (SEALED if kind in TO_PARTNER else 0)


def deliver(connection: Connection, messages: Sequence[Message]) -> list[Any]:
    """Store messages, and decode the pairs that are complete."""
    return [_safely(connection, each) for each in messages]


def _safely(connection: Connection, message: Message) -> Any:
    try:
        return _deliver(connection, message)
    except DpairsError as error:
        return error


def _deliver(connection: Connection, message: Message) -> Any:
    live, number = message.live, message.pair
    if len(message.body) > size_limit(live, message.kind):
        raise TooLarge(
            f"a message of kind {message.kind.name.lower()} has at most "
            f"{size_limit(live, message.kind)} bytes here, not {len(message.body)}"
        )
    state = state_of(connection, live, number)
    if told(state) == DONE:
        return DONE
    if state != WAITING or live.state != PAIRING:
        raise Closed(f"pair {number} takes no more messages: {state if state != WAITING else 'it is closed'}")
    table = schema.messages
    mine = (table.c.study == live.id, table.c.pair == number)
    there = {row.kind: row.body for row in connection.execute(select(table).where(*mine))}
    before = there.get(message.kind)
    if before is not None:
        if before == message.body:
            return WAITING
        raise Conflict(f"another message of this kind was sent for pair {number} before")
    row = {"study": live.id, "pair": number, "kind": int(message.kind), "body": message.body}
    connection.execute(insert(table), {**row, "at": message.at})
    there[message.kind] = message.body
    if Kind.TABLE not in there or Kind.LABELS not in there:
        return WAITING
    connection.execute(delete(table).where(*mine))
    try:
        symbol = _decode(live, number, there[Kind.TABLE], there[Kind.LABELS])
    except DpairsError:
        connection.execute(insert(schema.failures), {"study": live.id, "pair": number, "reason": REFUSED})
        return DONE
    report = {"round": live.now.serial, "stratum": 0, "index": number, "symbol": symbol}
    connection.execute(insert(schema.reports), report)
    one = np.array([number]), np.array([symbol])
    return OnCommit(DONE, lambda: live.now.count(0, *one))


def _decode(live: LiveStudy, number: int, table: bytes, labels: bytes) -> int:
    pair = live.pairs.pairs.pair(live.study.id, number, len(live.strata))
    return PairDecoder(in_pairs(live.study).function, pair).decode(table, labels)


def state_of(connection: Connection, live: LiveStudy, number: int) -> str:
    """Whether a pair is waiting, done, refused or expired."""
    reports, failures = schema.reports.c, schema.failures.c
    done = select(reports.index).where(
        reports.round == live.now.serial, reports.stratum == 0, reports.index == number
    )
    if connection.execute(done).first() is not None:
        return DONE
    failed = select(failures.reason).where(failures.study == live.id, failures.pair == number)
    return connection.execute(failed).scalar() or WAITING


def told(state: str) -> str:
    """What a partner hears of a pair's state: a refused pair looks like one that was counted."""
    return DONE if state == REFUSED else state


def fetch(connection: Connection, live: LiveStudy, number: int, kind: Kind) -> bytes | None:
    """A message, if it is there."""
    table = schema.messages.c
    wanted = select(table.body).where(table.study == live.id, table.pair == number, table.kind == int(kind))
    body: bytes | None = connection.execute(wanted).scalar()
    return body


def expire(connection: Connection, expiries: Sequence[Expiry]) -> list[Any]:
    """Delete the messages of pairs whose oldest message is too old; such pairs are over. Some at a time."""
    table, expired = schema.messages, []
    for expiry in expiries:
        late = (table.c.at < expiry.before, table.c.study.not_in(expiry.untouched))
        old = select(table.c.study, table.c.pair).where(*late).distinct().limit(EXPIRED)
        rows = connection.execute(old).all()
        for study, pair in rows:
            connection.execute(delete(table).where(table.c.study == study, table.c.pair == pair))
            connection.execute(insert(schema.failures), {"study": study, "pair": pair, "reason": "expired"})
        expired.append(len(rows))
    return expired


def drop_outs(connection: Connection, live: LiveStudy) -> dict[str, int]:
    """How the pairs stand: done, refused, expired, and for the others whose turn it is."""
    counts: dict[str, int] = {"pairs": len(live.pairs), "done": live.now.reports[0]}
    failures = schema.failures.c
    for (reason,) in connection.execute(select(failures.reason).where(failures.study == live.id)):
        counts[reason] = counts.get(reason, 0) + 1
    table = schema.messages.c
    kinds: dict[int, set[int]] = {}
    for pair, kind in connection.execute(select(table.pair, table.kind).where(table.study == live.id)):
        kinds.setdefault(pair, set()).add(kind)
    begun = {"garbler": 0, "evaluator": 0}
    for seen in kinds.values():
        begun[_turn(seen)] += 1
    rest = counts["pairs"] - counts["done"] - counts.get("refused", 0) - counts.get("expired", 0)
    counts["waiting for the garbler"] = begun["garbler"] + rest - len(kinds)
    counts["waiting for the evaluator"] = begun["evaluator"]
    return counts


def _turn(seen: set[int]) -> str:
    """Who has to send next, in the order of the messages."""
    for kind in (Kind.OFFER, Kind.CHOICE, Kind.CIRCUIT, Kind.TABLE, Kind.LABELS):
        if kind not in seen:
            return SENDER[kind]
    return "evaluator"
