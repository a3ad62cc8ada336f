"""What both servers keep of a task. Every change is one transaction, and the same change again does nothing.

Nothing of a task is held in memory: whoever is ended at any moment goes on from the database. A transaction
begins by locking the task's row, so changes of one task follow each other, whoever makes them.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Row, bindparam, delete, insert, select, update
from sqlalchemy.exc import SQLAlchemyError

from ..collector.database import Database, cause
from ..dap.buckets import Bucket
from ..dap.reports import ReportError
from ..dap.task import ROLES, STATES, Task
from ..errors import Conflict, Unavailable
from .schema import buckets, jobs, refusals, reports, tasks

OPEN, CLOSING, CLOSED, RELEASED = STATES
WAITING, IN_JOB, VERIFIED, REFUSED = range(4)
"""The states of a report; the helper knows the last two."""
AT_ONCE = 500
"""Ids in one statement."""


@dataclass(frozen=True)
class TaskState:
    """What a server says about a task, to anybody."""

    state: str
    received: int
    verified: dict[str, int]
    refused: dict[str, int]
    failed: str | None


class Store:
    """One task of one server."""

    def __init__(self, database: Database, task: Task, server: int) -> None:
        self.database, self.task, self.server = database, task, server

    def __repr__(self) -> str:
        return f"Store(task={self.task.name[:8]!r}, role={ROLES[self.server]!r})"

    def accept(self) -> None:
        """Begin a task that the operator has agreed to; one that is there already goes on."""
        with self.database.writing() as connection:
            row = connection.execute(select(tasks).where(tasks.c.id == self.task.id)).one_or_none()
            if row is not None:
                if row.role != self.server:
                    raise Conflict(
                        f"this database belongs to the task's {ROLES[row.role]}, not {ROLES[self.server]}"
                    )
                return
            fresh = {"id": self.task.id, "role": self.server, "file": self.task.to_json()}
            connection.execute(insert(tasks), {**fresh, "state": OPEN, "received": 0})
            empty = Bucket.empty(self.task.vdaf.share_size)
            for place in range(len(self.task.study.strata)):
                connection.execute(insert(buckets), {**self._key(place), **_columns(empty)})

    def _key(self, place: int) -> dict[str, Any]:
        return {"task": self.task.id, "stratum": place}

    @contextlib.contextmanager
    def change(self) -> Iterator[tuple[Connection, Row[Any]]]:
        """A transaction with the task's row, which nobody else changes meanwhile."""
        try:
            with self.database.writing() as connection:
                row = connection.execute(self.database.locked(tasks).where(tasks.c.id == self.task.id)).one()
                yield connection, row
        except SQLAlchemyError as error:
            raise Unavailable(f"the database does not answer now: {cause(error)}") from None

    def row(self) -> Row[Any]:
        with self.look() as connection:
            return connection.execute(select(tasks).where(tasks.c.id == self.task.id)).one()

    @contextlib.contextmanager
    def look(self) -> Iterator[Connection]:
        try:
            with self.database.reading() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise Unavailable(f"the database does not answer now: {cause(error)}") from None

    def set(self, connection: Connection, **values: Any) -> None:
        connection.execute(update(tasks).where(tasks.c.id == self.task.id).values(**values))

    # ------------------------------------------------------------ reports and sums

    def known(self, report_ids: Sequence[bytes], connection: Connection | None = None) -> dict[bytes, Any]:
        """Those of these reports that were seen before."""
        if connection is None:
            with self.look() as opened:
                return self.known(report_ids, opened)
        seen = dict[bytes, Any]()
        columns = (reports.c.id, reports.c.state, reports.c.digest, reports.c.job)
        for start in range(0, len(report_ids), AT_ONCE):
            some = report_ids[start : start + AT_ONCE]
            wanted = select(*columns).where(reports.c.task == self.task.id, reports.c.id.in_(some))
            seen |= {bytes(row.id): row for row in connection.execute(wanted)}
        return seen

    def sums(self, connection: Connection | None = None) -> dict[str, Bucket]:
        """This server's sums, in the order of the classes."""
        if connection is None:
            with self.look() as opened:
                return self.sums(opened)
        wanted = select(buckets).where(buckets.c.task == self.task.id).order_by(buckets.c.stratum)
        return {
            name: Bucket(row.people, bytes(row.checksum), bytes(row.shares), row.first, row.last)
            for name, row in zip(self.task.study.strata, connection.execute(wanted), strict=True)
        }

    def add(self, connection: Connection, more: Mapping[str, Bucket]) -> None:
        before = self.sums(connection)
        for name, bucket in more.items():
            place = self.task.study.strata.index(name)
            mine = (buckets.c.task == self.task.id, buckets.c.stratum == place)
            connection.execute(update(buckets).where(*mine).values(**_columns(before[name].plus(bucket))))

    def count_refused(self, connection: Connection, errors: Iterable[ReportError]) -> None:
        for error, count in Counter(map(int, errors)).items():
            mine = (refusals.c.task == self.task.id, refusals.c.error == error)
            more = update(refusals).where(*mine).values(reports=refusals.c.reports + count)
            if not connection.execute(more).rowcount:
                row = {"task": self.task.id, "error": error, "reports": count}
                connection.execute(insert(refusals), row)

    def mark(self, connection: Connection, report_ids: Sequence[bytes], state: int) -> None:
        """Set the state of stored reports, whose content is then no longer needed."""
        if report_ids:
            connection.execute(
                update(reports)
                .where(reports.c.task == self.task.id, reports.c.id == bindparam("report"))
                .values(state=state, content=None),
                [{"report": each} for each in report_ids],
            )

    def erase(self, connection: Connection, result: bytes) -> None:
        """Release: keep what is sealed, and nothing that could be added up with the other server's."""
        gone = {"secret": None, "heard": None, "products": None, "failed": None}
        self.set(connection, state=RELEASED, result=result, **gone)
        mine = buckets.c.task == self.task.id
        connection.execute(update(buckets).where(mine).values(shares=bytes(self.task.vdaf.share_size)))
        connection.execute(delete(jobs).where(jobs.c.task == self.task.id))
        connection.execute(update(reports).where(reports.c.task == self.task.id).values(content=None))

    def forget(self) -> None:
        """After `erase` is committed: nor is it left in the database's log."""
        try:
            self.database.forget()
        except SQLAlchemyError as error:
            raise Unavailable(f"the database does not answer now: {cause(error)}") from None

    def state(self) -> TaskState:
        with self.look() as connection:
            row = connection.execute(select(tasks).where(tasks.c.id == self.task.id)).one()
            verified = {name: bucket.people for name, bucket in self.sums(connection).items()}
            wanted = select(refusals).where(refusals.c.task == self.task.id)
            refused = {
                ReportError(each.error).name.lower(): each.reports for each in connection.execute(wanted)
            }
        return TaskState(row.state, row.received, verified, refused, row.failed)


def _columns(bucket: Bucket) -> dict[str, Any]:
    names = ("people", "checksum", "shares", "first", "last")
    return {name: getattr(bucket, name) for name in names}


def accepted(database: Database) -> list[tuple[Task, int]]:
    """The tasks that were accepted here, and this server's number in each."""
    with database.reading() as connection:
        rows = connection.execute(select(tasks.c.file, tasks.c.role)).all()
    return [(Task.from_json(row.file), row.role) for row in rows]
