"""What the analyst decides: a study begins, goes on, ends, and is deleted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, delete, insert, update

from ..errors import BadParameter, Closed, Conflict, DpairsError, NotEnoughData
from ..study import Study
from . import schema
from .live_study import CLOSED, OPEN, PAIRING, LiveStudy, Round
from .tokens import hashed
from .writer import OnCommit


@dataclass(frozen=True)
class Begin:
    studies: dict[str, LiveStudy]
    study: Study
    title: str
    question: str
    enrolment: str
    expected: int | None


@dataclass(frozen=True)
class Step:
    """The next step of a study, from the step that the analyst saw."""

    live: LiveStudy
    seen: str


@dataclass(frozen=True)
class End:
    """The last step: no more reports, or nothing of the study is kept at all."""

    studies: dict[str, LiveStudy]
    live: LiveStudy
    forget: bool


@dataclass(frozen=True)
class Invite:
    live: LiveStudy
    codes: tuple[str, ...]
    stratum: int | None


def step_of(live: LiveStudy) -> str:
    """The step a study is at, as a word: an analyst who clicks twice takes one step."""
    if live.state != OPEN:
        return live.state
    return "enrolment" if live.of_pairs else f"round {live.study.protocol.round}"


def next_step(live: LiveStudy) -> str | None:
    if live.state != OPEN:
        return None
    if live.of_pairs:
        return "form pairs"
    return None if live.last_round else f"publish round {live.study.protocol.round + 1}"


def _each(connection: Connection, items: Sequence[Any], one: Any) -> list[Any]:
    found: list[Any] = []
    for item in items:
        try:
            found.append(one(connection, item))
        except DpairsError as error:
            found.append(error)
    return found


def begin(connection: Connection, items: Sequence[Begin]) -> list[Any]:
    return _each(connection, items, _begin)


def _begin(connection: Connection, item: Begin) -> Any:
    study = item.study
    if study.id in item.studies:
        raise Conflict("this very study is here already; another one needs another public seed")
    if study.protocol.round != 1:
        raise BadParameter("a study begins with its first round; later ones follow from its tally here")
    if study.protocol.shared is not None:
        raise BadParameter("a collector is one server: a two_servers study needs two, see `dpairs server`")
    created = int(time.time())
    row: dict[str, Any] = {"id": study.id, "title": item.title, "question": item.question, "state": OPEN}
    row |= {"enrolment": item.enrolment, "expected": item.expected, "created": created}
    connection.execute(insert(schema.studies), row)
    serial = _add_round(connection, study.id, study)
    strata = len(study.statistic.strata)
    live = LiveStudy(**row, rounds=[Round(serial, study)], next_index=[0] * strata)
    return OnCommit(live, lambda: item.studies.__setitem__(study.id, live))


def _add_round(connection: Connection, of: str, study: Study) -> int:
    row = {"study": of, "number": study.protocol.round, "body": study.to_json()}
    key = connection.execute(insert(schema.rounds), row).inserted_primary_key
    if key is None:
        raise NotEnoughData("the round could not be stored")
    return int(key[0])


def advance(connection: Connection, items: Sequence[Step]) -> list[Any]:
    """Close a round and publish the next, or form the pairs."""
    return _each(connection, items, _advance)


def _advance(connection: Connection, item: Step) -> Any:
    live = item.live
    if item.seen != step_of(live):
        raise Conflict(f"this study is at {step_of(live)!r} by now, not at {item.seen!r}")
    if next_step(live) is None:
        raise Closed(f"nothing follows {step_of(live)!r} but the end: close the study")
    if live.of_pairs:
        least = 2 if len(live.strata) == 1 else 1
        if min(live.next_index) < least:
            raise NotEnoughData(f"too few people are enrolled to form a pair: {_enrolled(live)}")
        connection.execute(_state(live, PAIRING))
        return OnCommit(live, lambda: setattr(live, "state", PAIRING))
    study = live.study.next(live.now.tally)
    following = Round(_add_round(connection, live.id, study), study)
    return OnCommit(live, lambda: live.rounds.append(following))


def _enrolled(live: LiveStudy) -> str:
    return ", ".join(f"{n} {name}" for name, n in zip(live.strata, live.next_index, strict=True))


def _state(live: LiveStudy, state: str) -> Any:
    return update(schema.studies).where(schema.studies.c.id == live.id).values(state=state)


def end(connection: Connection, items: Sequence[End]) -> list[Any]:
    """Close studies, or delete them."""
    return _each(connection, items, _end)


def _end(connection: Connection, item: End) -> Any:
    live = item.live
    if not item.forget:
        connection.execute(_state(live, CLOSED))
        return OnCommit(live, lambda: setattr(live, "state", CLOSED))
    serials = [each.serial for each in live.rounds]
    for table in (schema.reports, schema.growth):
        connection.execute(delete(table).where(table.c.round.in_(serials)))
    for table in (schema.messages, schema.failures, schema.invitations, schema.people, schema.rounds):
        connection.execute(delete(table).where(table.c.study == live.id))
    connection.execute(delete(schema.studies).where(schema.studies.c.id == live.id))

    def forget() -> None:
        live.state = CLOSED
        item.studies.pop(live.id, None)

    return OnCommit(live, forget)


def invite(connection: Connection, items: Sequence[Invite]) -> list[Any]:
    """Store the hashes of codes."""
    return _each(connection, items, _invite)


def _invite(connection: Connection, item: Invite) -> list[str]:
    if item.live.state != OPEN:
        raise Closed("nobody can enrol in this study any more, so nobody is invited")
    study = item.live.id
    rows = [{"study": study, "code": hashed(code), "stratum": item.stratum} for code in item.codes]
    connection.execute(insert(schema.invitations), rows)
    return list(item.codes)
