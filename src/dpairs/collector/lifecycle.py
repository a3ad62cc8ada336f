"""What the analyst decides: a study begins, goes on, ends, and is deleted."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, delete, func, insert, select, update

from ..errors import BadParameter, Closed, Conflict, NotEnoughData
from ..protocols.sides import collected
from ..randomness import secret_bytes
from ..study import Study
from . import schema
from .changes import OnCommit, one_by_one
from .live_study import CLOSED, DELETED, OPEN, PAIRING, AboutStudy, LiveStudy
from .sites import new_round
from .tokens import hashed

PURGED = 20_000
"""Rows of a deleted study that go in one transaction."""


@dataclass(frozen=True)
class Begin:
    studies: dict[str, LiveStudy]
    study: Study
    title: str
    question: str
    enrolment: str
    expected: int | None
    words: dict[str, Any] = field(default_factory=dict)
    rows = 1
    retired = False


@dataclass(frozen=True)
class Step(AboutStudy):
    """The next step of a study, from the step that the analyst saw."""

    live: LiveStudy
    seen: str
    prepared: tuple[int, Study] | None = None
    """The next round's study as it follows from so many reports: to compute it must hold nobody up."""


@dataclass(frozen=True)
class End(AboutStudy):
    """The last step: no more reports, or the study is not there any more."""

    studies: dict[str, LiveStudy]
    live: LiveStudy
    forget: bool


@dataclass(frozen=True)
class Purge:
    """Some rows of a deleted study."""

    study: str
    rows = PURGED
    retired = False


@dataclass(frozen=True)
class Invite(AboutStudy):
    live: LiveStudy
    codes: tuple[str, ...]
    stratum: int | None

    @property
    def rows(self) -> int:  # type: ignore[override]
        return len(self.codes)


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


def begin(connection: Connection, items: Sequence[Begin]) -> list[Any]:
    return one_by_one(connection, items, _begin)


def _begin(connection: Connection, item: Begin) -> Any:
    study = item.study
    if study.id in item.studies:
        raise Conflict("this study is already here; a second one needs another public seed")
    if study.protocol.round != 1:
        raise BadParameter("a study begins with its first round; later ones follow from its tally here")
    collected(study)
    table = schema.studies.c
    stored = connection.scalar(select(table.state).where(table.id == study.id))
    if stored == DELETED:
        raise Conflict("this study is being deleted; try again in a moment")
    if stored is not None:
        raise Conflict("this study is already stored here, but cannot be read")
    created = int(time.time())
    row: dict[str, Any] = {"id": study.id, "title": item.title, "question": item.question, "state": OPEN}
    row |= {"enrolment": item.enrolment, "expected": item.expected, "created": created}
    row |= {"epoch": secret_bytes(16).hex(), "words": item.words}
    connection.execute(insert(schema.studies), {**row, "words": json.dumps(item.words)})
    serial = _add_round(connection, study.id, study)
    strata = len(study.statistic.strata)
    live = LiveStudy(**row, rounds=[new_round(serial, study)], next_index=[0] * strata)
    return OnCommit(live, lambda: item.studies.__setitem__(study.id, live))


def _add_round(connection: Connection, of: str, study: Study) -> int:
    row = {"study": of, "number": study.protocol.round, "body": study.to_json()}
    key = connection.execute(insert(schema.rounds), row).inserted_primary_key
    if key is None:
        raise NotEnoughData("the round could not be stored")
    return int(key[0])


def advance(connection: Connection, items: Sequence[Step]) -> list[Any]:
    """Close a round and publish the next, or form the pairs."""
    return one_by_one(connection, items, _advance)


def _advance(connection: Connection, item: Step) -> Any:
    live = item.live
    if item.seen != step_of(live):
        raise Conflict(f"this study is at {step_of(live)!r} by now, not at {item.seen!r}")
    if next_step(live) is None:
        raise Closed(f"{step_of(live)!r} is the last step: close the study")
    if live.of_pairs:
        least = 2 if len(live.strata) == 1 else 1
        if min(live.next_index) < least:
            raise NotEnoughData(f"too few people are enrolled to form a pair: {_enrolled(live)}")
        connection.execute(_state(live, PAIRING))
        return OnCommit(live, lambda: setattr(live, "state", PAIRING))
    # Reports that came since it was prepared would not be in it.
    ready = item.prepared is not None and item.prepared[0] == sum(live.now.reports)
    study = item.prepared[1] if item.prepared and ready else live.study.next(live.now.tally)
    following = new_round(_add_round(connection, live.id, study), study)
    return OnCommit(live, lambda: live.rounds.append(following))


def _enrolled(live: LiveStudy) -> str:
    return ", ".join(f"{n} {name}" for name, n in zip(live.strata, live.next_index, strict=True))


def _state(live: LiveStudy, state: str) -> Any:
    return update(schema.studies).where(schema.studies.c.id == live.id).values(state=state)


def end(connection: Connection, items: Sequence[End]) -> list[Any]:
    """Close studies, or begin to delete them."""
    return one_by_one(connection, items, _end)


def _end(connection: Connection, item: End) -> Any:
    live = item.live
    if not item.forget:
        connection.execute(_state(live, CLOSED))
        return OnCommit(live, lambda: setattr(live, "state", CLOSED))
    connection.execute(_state(live, DELETED))

    def forget() -> None:
        live.state = DELETED
        live.retired = True  # SQLite gives the number of its round to another study
        item.studies.pop(live.id, None)

    return OnCommit(live, forget)


def purge(connection: Connection, items: Sequence[Purge]) -> list[Any]:
    """Delete some rows of deleted studies; of each, whether there are more."""
    return [_purge(connection, item.study) for item in items]


def _purge(connection: Connection, study: str) -> bool:
    state, mine = schema.studies.c.state, schema.studies.c.id == study
    if connection.scalar(select(state).where(mine)) != DELETED:
        return False  # it went before, and may have begun anew
    left = PURGED
    rounds = connection.scalars(select(schema.rounds.c.serial).where(schema.rounds.c.study == study)).all()
    stretches: list[tuple[Table, Any, Any]] = []
    for serial in rounds:
        for table, order in (
            (schema.reports, schema.reports.c.index),
            (schema.estimate_history, schema.estimate_history.c.reports),
            (schema.answers, schema.answers.c.index),
        ):
            stretches += [(table, table.c.round == serial, order)]
    for table, order in (
        (schema.messages, schema.messages.c.pair),
        (schema.failures, schema.failures.c.pair),
        (schema.invitations, schema.invitations.c.code),
        (schema.people, schema.people.c.index),
        (schema.sites, schema.sites.c.index),
    ):
        stretches.append((table, table.c.study == study, order))
    for table, mine, order in stretches:
        while left > 0 and (gone := _delete_some(connection, table, mine, order, left)):
            left -= gone
    if left <= 0:
        return True
    connection.execute(delete(schema.rounds).where(schema.rounds.c.study == study))
    connection.execute(delete(schema.studies).where(schema.studies.c.id == study))
    return False


def _delete_some(
    connection: Connection, table: Table, mine: ColumnElement[bool], order: Any, most: int
) -> int:
    """Delete about so many rows, the first in the order of their keys; how many went."""
    wanted = [mine]
    if "stratum" in table.primary_key.columns:
        first = connection.scalar(select(func.min(table.c.stratum)).where(mine))
        wanted.append(table.c.stratum == first)
    end = connection.scalar(select(order).where(*wanted).order_by(order).offset(most).limit(1))
    if end is not None:
        wanted.append(order < end)
    return connection.execute(delete(table).where(*wanted)).rowcount


def invite(connection: Connection, items: Sequence[Invite]) -> list[Any]:
    """Store the hashes of codes."""
    return one_by_one(connection, items, _invite)


def _invite(connection: Connection, item: Invite) -> list[str]:
    if item.live.state != OPEN:
        raise Closed("nobody can enrol in this study any more, so nobody is invited")
    study = item.live.id
    rows = [{"study": study, "code": hashed(code), "stratum": item.stratum} for code in item.codes]
    connection.execute(insert(schema.invitations), rows)
    return list(item.codes)
