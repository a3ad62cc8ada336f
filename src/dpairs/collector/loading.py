"""From the tables into memory: each study by itself, so that one that cannot be read spoils no other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog
from pydantic import ValidationError
from sqlalchemy import Connection, func, select
from sqlalchemy.exc import SQLAlchemyError

from ..errors import BadFile, DpairsError
from ..formats.canonical import parse
from ..formats.checks import choice
from ..study import Study
from . import schema
from .live_study import CLOSED, DELETED, OPEN, PAIRING, LiveStudy, Round
from .models import StudyWords
from .sites import load_sites, new_round

log = structlog.get_logger()


@dataclass(frozen=True)
class Unreadable:
    """A stored study that is not served: nothing of it is changed until somebody has looked."""

    id: str
    title: str
    reason: str


@dataclass(frozen=True)
class Loaded:
    """All studies but those of which a part is deleted already."""

    studies: dict[str, LiveStudy] = field(default_factory=dict)
    unreadable: dict[str, Unreadable] = field(default_factory=dict)


def load(connection: Connection) -> Loaded:
    """All studies, from the tables."""
    loaded, table = Loaded(), schema.studies
    whole = select(table).where(table.c.state != DELETED).order_by(table.c.created)
    for row in connection.execute(whole).mappings().all():
        try:
            loaded.studies[row["id"]] = _study(connection, row)
        except (SQLAlchemyError, MemoryError):  # of the database or the machine, not of this study
            raise
        except Exception as error:
            reason = str(error) if isinstance(error, DpairsError) else f"{type(error).__name__}: {error}"
            reason = " ".join(reason.split())[:300]
            log.error("a study cannot be read, and is not served", study=row["id"], reason=reason)
            loaded.unreadable[row["id"]] = Unreadable(row["id"], row["title"], reason)
            connection.rollback()
    return loaded


def _study(connection: Connection, row: Mapping[Any, Any]) -> LiveStudy:
    table = schema.rounds.c
    wanted = select(table.serial, table.number, table.body).where(table.study == row["id"])
    rounds: list[Round] = []
    for serial, number, body in connection.execute(wanted.order_by(table.number)):
        rounds.append(new_round(serial, Study.from_json(body)))
        if (len(rounds), rounds[-1].study.protocol.round) != (number, number):
            raise BadFile(f"the study of round {number} is stored as that of another round")
    if not rounds:
        raise BadFile("no round of it is stored")
    if rounds[0].study.id != row["id"]:
        raise BadFile(f"what is stored in its place is study {rounds[0].study.id[:16]}...")
    choice("state", row["state"], (OPEN, PAIRING, CLOSED))
    choice("enrolment", row["enrolment"], ("open", "invited"))
    strata = len(rounds[0].study.statistic.strata)
    live = LiveStudy(**{**row, "words": _words(row["words"])}, rounds=rounds, next_index=[0] * strata)
    last = func.max(schema.people.c.index + schema.people.c.count)
    enrolled = select(schema.people.c.stratum, last).where(schema.people.c.study == live.id)
    for stratum, end in connection.execute(enrolled.group_by(schema.people.c.stratum)):
        if not 0 <= stratum < strata:
            raise BadFile(f"people of stratum {stratum} are enrolled; the study has {strata}")
        live.next_index[stratum] = end
    load_sites(connection, live)
    for number, asked in enumerate(rounds):
        if number:
            # What only the analyst needs of an earlier round follows from its reports.
            asked.recall(rounds[number - 1])
        asked.recount(connection)
    return live


def _words(text: str) -> dict[str, Any]:
    words = parse(text, "what it calls things")
    try:
        StudyWords.model_validate(words)
    except ValidationError:
        raise BadFile("what it calls things is stored in another form than this program knows") from None
    return words


def half_deleted(connection: Connection) -> list[str]:
    """Studies whose rows are still to go."""
    table = schema.studies.c
    return list(connection.scalars(select(table.id).where(table.state == DELETED)))
