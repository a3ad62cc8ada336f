"""Enrolment: who gets which index. The same request again gets the same answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, bindparam, insert, select, update

from ..errors import BadValue, Closed, Conflict, DpairsError, NotAllowed
from ..report import MAX_INDEX
from . import schema
from .changes import OnCommit
from .live_study import OPEN, AboutStudy, LiveStudy
from .tokens import Holder, hashed

INVITED = "invited"


@dataclass(frozen=True)
class EnrolRequest(AboutStudy):
    """Somebody wants to take part: a person, or a gateway for ``count`` people."""

    live: LiveStudy
    request: str
    """A name that the asking side made up at random: it makes a lost answer harmless."""
    stratum: str | None = None
    code: str | None = None
    key: bytes | None = None
    count: int = 1


def enrol(connection: Connection, requests: Sequence[EnrolRequest]) -> list[Any]:
    """Give each request its index."""
    known = _known(connection, requests)
    free: dict[tuple[str, int], int] = {}
    rows: list[dict[str, Any]] = []
    used: list[dict[str, Any]] = []
    outcomes: list[Any] = []
    for request in requests:
        live = request.live
        named = (live.id, request.request, request.stratum if request.count > 1 else None)
        try:
            if named in known:
                outcomes.append(known[named])
                continue
            others = live.strata if request.count == 1 else (None,)
            if any((live.id, request.request, other) in known for other in others):
                raise Conflict("this request was made before, by a gateway or by a person")
            code = invitation(connection, request, used)
            stratum = _stratum(live, request, code)
            place = (live.id, stratum)
            first = _next(live, stratum, free.get(place, live.next_index[stratum]))
            if first + request.count > MAX_INDEX:
                raise Closed("this study has no more indices to give")
        except DpairsError as error:
            outcomes.append(error)
            continue
        free[place] = first + request.count
        kind = "person" if request.count == 1 else "gateway"
        known[named] = Holder(kind, stratum, first, request.count)
        rows.append(
            {
                "study": live.id,
                "stratum": stratum,
                "index": first,
                "count": request.count,
                "request": request.request,
                "key": request.key,
            }
        )
        if code is not None:
            used.append({"this_study": live.id, "this_code": code.code, "request": request.request})
        outcomes.append(OnCommit(known[named], _Given(live, stratum, first + request.count)))
    if rows:
        connection.execute(insert(schema.people), rows)
    if used:
        use(connection, used)
    return outcomes


def use(connection: Connection, used: Sequence[Mapping[str, Any]]) -> None:
    """Mark codes of invitations as used: each by one request."""
    table = schema.invitations
    matches = (table.c.study == bindparam("this_study"), table.c.code == bindparam("this_code"))
    connection.execute(update(table).where(*matches), used)


@dataclass(frozen=True)
class _Given:
    live: LiveStudy
    stratum: int
    end: int

    def __call__(self) -> None:
        self.live.next_index[self.stratum] = max(self.live.next_index[self.stratum], self.end)


def _known(
    connection: Connection, requests: Sequence[EnrolRequest]
) -> dict[tuple[str, str, str | None], Holder]:
    table, holders = schema.people, {}
    for live in {request.live for request in requests}:
        names = [request.request for request in requests if request.live is live]
        columns = (table.c.request, table.c.stratum, table.c.index, table.c.count)
        wanted = select(*columns).where(table.c.study == live.id, table.c.request.in_(names))
        for request, stratum, index, count in connection.execute(wanted):
            kind, name = ("person", None) if count == 1 else ("gateway", live.strata[stratum])
            holders[live.id, request, name] = Holder(kind, stratum, index, count)
    return holders


def invitation(connection: Connection, request: EnrolRequest, used: Sequence[Mapping[str, Any]]) -> Any:
    """The invitation that a request comes with, where one is needed."""
    if request.live.state != OPEN:
        raise Closed("nobody can enrol in this study any more")
    if request.live.enrolment != INVITED or request.count > 1:
        return None
    if request.code is None:
        raise NotAllowed("this study takes invited people only: a code is needed")
    table = schema.invitations
    secret = hashed(request.code.strip().lower())
    wanted = select(table).where(table.c.study == request.live.id, table.c.code == secret)
    row = connection.execute(wanted).one_or_none()
    if row is None:
        raise NotAllowed("this code does not belong to this study")
    if row.request is not None or any(each["this_code"] == secret for each in used):
        raise Conflict("this code was used before, and a code is for one person")
    return row


def _stratum(live: LiveStudy, request: EnrolRequest, invitation: Any) -> int:
    strata = live.strata
    given = request.stratum
    if invitation is not None and invitation.stratum is not None:
        if given is not None and given != strata[invitation.stratum]:
            raise BadValue(f"this code is for somebody in {strata[invitation.stratum]!r}")
        return int(invitation.stratum)
    if given is None and len(strata) == 1:
        return 0
    if given is None:
        raise BadValue(f"say which class this person belongs to: {' or '.join(strata)}")
    if given not in strata:
        raise BadValue(f"stratum must be {' or '.join(strata)}, not {given!r}")
    return strata.index(given)


def _next(live: LiveStudy, stratum: int, index: int) -> int:
    """The next index: in a second round, of somebody who is asked in it."""
    if live.study.protocol.round > 1:
        name = live.strata[stratum]
        while not live.study.asks(name, index):
            index += 1
    return index
