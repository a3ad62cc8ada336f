"""Enrolment: who gets which index. The same request again gets the same answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from ..errors import BadValue, Closed, Conflict, DpairsError, NotAllowed
from ..report import MAX_INDEX
from . import schema
from .running import OPEN, Running
from .tokens import Holder, hashed
from .writer import After

INVITED = "invited"
ENROLMENTS = ("open", INVITED)


@dataclass(frozen=True)
class Wish:
    """Somebody wants to take part: a person, or a gateway for ``count`` people."""

    running: Running
    request: str
    """A name that the asking side made up at random: it makes a lost answer harmless."""
    stratum: str | None = None
    code: str | None = None
    key: bytes | None = None
    count: int = 1


def enrol(connection: Connection, wishes: Sequence[Wish]) -> list[Any]:
    """Give each wish its index."""
    known = _known(connection, wishes)
    free: dict[tuple[str, int], int] = {}
    rows: list[dict[str, Any]] = []
    used: list[dict[str, Any]] = []
    found: list[Any] = []
    for wish in wishes:
        running = wish.running
        named = (running.id, wish.request, wish.stratum if wish.count > 1 else None)
        try:
            if named in known:
                found.append(known[named])
                continue
            others = running.strata if wish.count == 1 else (None,)
            if any((running.id, wish.request, other) in known for other in others):
                raise Conflict("this request was made before, by a gateway or by a person")
            code = _invitation(connection, wish, used)
            stratum = _stratum(running, wish, code)
            place = (running.id, stratum)
            first = _next(running, stratum, free.get(place, running.next_index[stratum]))
            if first + wish.count > MAX_INDEX:
                raise Closed("this study has no more indices to give")
        except DpairsError as error:
            found.append(error)
            continue
        free[place] = first + wish.count
        kind = "person" if wish.count == 1 else "gateway"
        known[named] = Holder(kind, stratum, first, wish.count)
        rows.append(
            {
                "study": running.id,
                "stratum": stratum,
                "index": first,
                "count": wish.count,
                "request": wish.request,
                "key": wish.key,
            }
        )
        if code is not None:
            used.append({"this_study": running.id, "this_code": code.code, "request": wish.request})
        found.append(After(known[named], _Given(running, stratum, first + wish.count)))
    if rows:
        connection.execute(insert(schema.people), rows)
    if used:
        table = schema.invitations
        matches = (table.c.study == bindparam("this_study"), table.c.code == bindparam("this_code"))
        connection.execute(update(table).where(*matches), used)
    return found


@dataclass(frozen=True)
class _Given:
    running: Running
    stratum: int
    end: int

    def __call__(self) -> None:
        self.running.next_index[self.stratum] = max(self.running.next_index[self.stratum], self.end)


def _known(connection: Connection, wishes: Sequence[Wish]) -> dict[tuple[str, str, str | None], Holder]:
    table, found = schema.people, {}
    for running in {wish.running for wish in wishes}:
        requests = [wish.request for wish in wishes if wish.running is running]
        columns = (table.c.request, table.c.stratum, table.c.index, table.c.count)
        wanted = select(*columns).where(table.c.study == running.id, table.c.request.in_(requests))
        for request, stratum, index, count in connection.execute(wanted):
            kind, name = ("person", None) if count == 1 else ("gateway", running.strata[stratum])
            found[running.id, request, name] = Holder(kind, stratum, index, count)
    return found


def _invitation(connection: Connection, wish: Wish, used: list[dict[str, Any]]) -> Any:
    if wish.running.state != OPEN:
        raise Closed("nobody can enrol in this study any more")
    if wish.running.enrolment != INVITED or wish.count > 1:
        return None
    if wish.code is None:
        raise NotAllowed("this study takes invited people only: a code is needed")
    table = schema.invitations
    secret = hashed(wish.code.strip().lower())
    wanted = select(table).where(table.c.study == wish.running.id, table.c.code == secret)
    row = connection.execute(wanted).one_or_none()
    if row is None:
        raise NotAllowed("this code does not belong to this study")
    if row.request is not None or any(each["this_code"] == secret for each in used):
        raise Conflict("this code was used before, and a code is for one person")
    return row


def _stratum(running: Running, wish: Wish, invitation: Any) -> int:
    strata = running.strata
    given = wish.stratum
    if invitation is not None and invitation.stratum is not None:
        if given is not None and given != strata[invitation.stratum]:
            raise BadValue(f"this code is for somebody of {strata[invitation.stratum]!r}")
        return int(invitation.stratum)
    if given is None and len(strata) == 1:
        return 0
    if given is None:
        raise BadValue(f"say which stratum this person is of: {' or '.join(strata)}")
    if given not in strata:
        raise BadValue(f"stratum must be {' or '.join(strata)}, not {given!r}")
    return strata.index(given)


def _next(running: Running, stratum: int, index: int) -> int:
    """The next index: in a second round, of somebody who is asked in it."""
    if running.study.protocol.round > 1:
        name = running.strata[stratum]
        while not running.study.asks(name, index):
            index += 1
    return index
