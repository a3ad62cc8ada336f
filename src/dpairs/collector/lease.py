"""The right to write: one row that every transaction changes first, so that only one collector can commit.

The row holds an epoch, which grows by one whenever a collector takes over, and a serial, which grows by one
with every commit of the holder. A transaction begins with

    update lease set serial = serial + 1 where epoch = MINE and serial = LAST

and is refused when no row is left to change. The database holds a lock on the row until the transaction ends,
so nobody takes over between this statement and the commit (fencing), and a serial that is read back tells
whether a commit whose answer was lost has happened.

No clock of a database is believed. A standby takes over when epoch and serial have not moved for `TERM`
seconds of its own, and a holder that could not commit for as long stops answering before that: it counts from
before its last commit, the standby from after it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import structlog
from sqlalchemy import Connection, select, update

from ..errors import Unavailable
from . import schema
from .database import Database, direct

TERM = 4.0
"""Seconds without a commit after which a standby takes over."""
RENEW = 1.0
"""Seconds without a commit after which the holder makes an empty one."""
FROZEN = """select pg_terminate_backend(pid)
    from pg_locks join pg_stat_activity using (pid)
    where database = (select oid from pg_database where datname = current_database())
    and relation = 'lease'::regclass and mode = 'RowExclusiveLock' and wait_event = 'ClientRead'
    and clock_timestamp() - state_change > {} * interval '1 second'"""
"""Ends sessions that have changed the row and whose clients have said nothing since."""
RENEWAL = "update lease set serial = {}, clock = {} where epoch = {} and serial = {}"
TAKEN = "another collector has taken over this database: this one has stopped writing"
STANDBY = "this collector is a standby: another one serves this database"
log = structlog.get_logger()


class LeaseLost(Unavailable):
    """Another collector has taken over, so nothing may be written here."""


@dataclass(frozen=True)
class Seen:
    """The row as it was at a moment of this process."""

    epoch: int
    serial: int
    released: bool
    at: float


class Lease:
    """One collector's part in the row; the writer's thread changes it, or its loop or keeper."""

    def __init__(self, database: Database, holder: str) -> None:
        self._database, self._holder = database, holder
        self._epoch, self._serial, self._highest = 0, 0, 0
        self._until = 0.0
        self._seen: Seen | None = None
        self._service, self._then = 0.0, time.monotonic()
        self.alone = threading.Lock()
        self.held = False
        """Set by the writer when all is loaded."""
        self.set_back = False
        """Whether commits that were seen here are gone: somebody put an older copy in their place."""

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    def valid(self) -> bool:
        """Whether nobody else can have taken over yet, so that what is in memory may be shown."""
        # Where a locked file keeps others away, a disk that is full need not keep readers away, too.
        return self.held and (self._database.is_sqlite or time.monotonic() < self._until)

    @property
    def since(self) -> float:
        """Seconds since the last commit began."""
        return time.monotonic() - (self._until - TERM)

    @property
    def clock(self) -> int:
        """Seconds that collectors have served this database: a clock that nobody can set."""
        return int(self._service + (time.monotonic() - self._then))

    def take(self) -> bool:
        """Take over if the holder has let go or shows no life; else look again later."""
        now = time.monotonic()
        with self._database.writing() as connection:
            row = connection.execute(self._database.locked(schema.lease, skip=True)).one_or_none()
            locked = row is None
            row = connection.execute(select(schema.lease)).one() if row is None else row
            seen = Seen(row.epoch, row.serial, row.holder is None, now)
            self.set_back = self.set_back or row.serial < self._highest  # serials only grow
            self._highest = max(self._highest, row.serial)
            if self._seen is None or (self._seen.epoch, self._seen.serial) != (seen.epoch, seen.serial):
                self._seen = seen
            # Whoever gave up what it holds need not wait for itself: the new epoch ends what it began before.
            mine = (row.epoch, row.holder) == (self._epoch, self._holder)
            free = seen.released or mine or self._database.is_sqlite or now - self._seen.at >= TERM
            if locked:
                # By somebody who lives, whose last commit is under way, or who was frozen or cut off within
                # a transaction: of these PostgreSQL would wait for some without an end.
                direct(connection, FROZEN, [TERM])
            if locked or not free:
                return False
            connection.execute(
                update(schema.lease).values(epoch=row.epoch + 1, serial=row.serial + 1, holder=self._holder)
            )
        self.set_back = self.set_back or row.serial < self._serial
        self._epoch, self._serial, self._until = row.epoch + 1, row.serial + 1, now + TERM
        self._service, self._then, self._seen = float(row.clock), now, None
        return True

    @property
    def renewal(self) -> tuple[int, int, int, int]:
        """For `RENEWAL`: a serial number more, now, and the epoch and serial that must still stand there."""
        return self._serial + 1, self.clock, self._epoch, self._serial

    def renew(self, connection: Connection) -> None:
        """The first statement of every transaction that writes."""
        if direct(connection, RENEWAL, self.renewal).rowcount != 1:
            raise LeaseLost(TAKEN)

    def committed(self, began: float) -> None:
        """The transaction that began then is on the disk."""
        self._serial += 1
        self._until = began + TERM

    def settle(self) -> bool:
        """Whether a transaction whose commit failed is in the database after all; if not, it never will be.

        The row's lock makes this wait for a transaction that the server has begun. A statement that is still
        on its way there has no lock yet: it finds another serial, two further, where no commit leads.
        """
        serial = self._serial
        with self._database.writing() as connection:
            row = connection.execute(self._database.locked(schema.lease)).one()
            if row.epoch != self._epoch or not serial <= row.serial <= serial + 2:
                raise LeaseLost(TAKEN)
            done = bool(row.serial == serial + 1)
            if not done and not self._database.is_sqlite:
                serial += 2
                connection.execute(update(schema.lease).values(serial=serial))
        self._serial = serial
        return done

    def lose(self) -> None:
        self.held = False
        self._until = 0.0

    def release(self) -> None:
        """Let a standby take over at once."""
        if not self.held:
            return
        with self._database.writing() as connection:
            self.renew(connection)
            connection.execute(update(schema.lease).values(holder=None))
        self.lose()


@dataclass(frozen=True)
class Renewal:
    """A change of nothing but the lease, which shows that the database stores what it is given."""

    rows: ClassVar[int] = 1
    retired: ClassVar[bool] = False


def renew(_: Connection, items: Sequence[Renewal]) -> list[Any]:
    """Nothing more than every transaction does."""
    return [None] * len(items)


def renew_at_once(connection: Connection, renewal: Sequence[int], items: Sequence[Any]) -> list[Any] | None:
    return [None] * len(items) if direct(connection, RENEWAL, renewal).rowcount == 1 else None
