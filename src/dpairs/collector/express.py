"""Single reports on PostgreSQL, stored from the event loop itself.

Nearly all changes are reports, and most come alone. To wake the writer's thread, to wait until it may run
and to come back to the loop takes as long as PostgreSQL's own work. So the loop sends the statement and reads
the answer, if the writer's turn is free; reports that come meanwhile share the next one.

This way is for what goes well. Everything else is handed over to the thread: an error, a lost lease, reports
that are not new, a connection that must be opened or asked for life, and all that waits when the thread has
something to do.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from .changes import OnCommit, Reading, Statement, Work, settle
from .database import Database
from .lease import TAKEN, Lease, LeaseLost

NAME = "dpairs_at_once"
"""The statement's, on the writer's own connection."""


class Thread(Protocol):
    """The writer's thread, as far as the loop has to do with it."""

    turn: threading.Lock
    """Held by whoever commits: the thread, or the loop."""
    commits: int

    @property
    def wants(self) -> bool:
        """Whether it has something to do, or is about to."""

    def put(self, work: Work) -> None: ...

    def hand_over(self, work: list[Work], error: Exception) -> None:
        """Pass the turn to the thread, which finds out what came of these changes."""


@dataclass
class Flight:
    """A statement that was sent."""

    work: list[Work]
    line: Any
    socket: int
    read: Reading
    began: float
    watched: Callable[[], None]
    results: list[Any] = field(default_factory=list)
    blocked: bool = False
    """Whether some of it still waits to be sent."""


class Express:
    """The loop's way to the database, with at most one statement under way."""

    def __init__(
        self, database: Database, lease: Lease, statement: Statement, thread: Thread, most: int
    ) -> None:
        """A statement takes ``most`` changes."""
        self._database, self._lease, self._statement, self._thread = database, lease, statement, thread
        self._most = most
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flight: Flight | None = None
        self._next: list[Work] = []
        marks = statement.text.count("{}")
        self._text = statement.text.format(*(f"${place + 1}" for place in range(marks)))
        database.prepared[NAME] = self._text

    def serve(self, loop: asyncio.AbstractEventLoop) -> None:
        """Take changes of this loop's; that of Windows cannot wait for a socket of somebody else's."""
        self._loop = None if sys.platform == "win32" else loop

    @property
    def waiting(self) -> int:
        return len(self._next)

    def take(self, work: Work) -> bool:
        """Store a change soon, if this is the way for it."""
        if work[0] is not self._statement.handler or work[2].get_loop() is not self._loop:
            return False
        if self._flight is not None:
            self._next.append(work)
            return True
        if self._thread.wants or not self._thread.turn.acquire(blocking=False):
            return False
        sent = self._send([work])
        if not sent:
            self._thread.turn.release()
        return sent

    def _send(self, work: list[Work]) -> bool:
        """Send the statement for these changes, if that can be done at once."""
        driver = self._database.at_hand()
        items = [item for _, item, _ in work]
        if driver is None or not self._lease.held or any(item.retired for item in items):
            return False
        columns, read = self._statement.begin(items)
        line, began = driver.pgconn, time.monotonic()
        flight = Flight(work, line, line.socket, read, began, self._database.watch(driver))
        self._flight = flight
        try:
            parameters = [*map(str, self._lease.renewal), *columns]
            line.send_query_prepared(NAME.encode(), [each.encode() for each in parameters])
            self._loop_of(flight).add_reader(flight.socket, self._moved)
            self._push(flight)
        except Exception as error:
            self._fail(flight, error)
        return True

    def _moved(self) -> None:
        """Something has arrived, or may be sent."""
        flight = self._flight
        if flight is None:
            return
        try:
            flight.line.consume_input()
            self._push(flight)
            if self._arrived(flight):
                outcomes = self._outcomes(flight)
            else:
                return
        except Exception as error:
            self._fail(flight, error)
            return
        self._land(flight)
        self._lease.committed(flight.began)
        self._thread.commits += 1
        try:
            for outcome in outcomes:
                if isinstance(outcome, OnCommit):
                    outcome.then()
        except Exception:
            self._over(flight, LeaseLost("what was committed could not be counted: it is read again"))
            return
        settle(
            (future, outcome)
            for (*_, future), outcome in zip(flight.work, outcomes, strict=True)
            if outcome is not None
        )
        for work, outcome in zip(flight.work, outcomes, strict=True):
            if outcome is None:
                self._thread.put(work)
        self._go_on()

    def _go_on(self) -> None:
        """Send what has come meanwhile, unless the thread wants its turn."""
        work, self._next = self._next[: self._most], self._next[self._most :]
        if not work or self._thread.wants or not self._send(work):
            self._leave(work)
            self._thread.turn.release()

    def _leave(self, work: list[Work]) -> None:
        """Leave these and all others to the thread, while it cannot end."""
        work, self._next = work + self._next, []
        for each in work:
            self._thread.put(each)

    def _push(self, flight: Flight) -> None:
        blocked = bool(flight.line.flush())
        if blocked and not flight.blocked:
            self._loop_of(flight).add_writer(flight.socket, self._moved)
        elif flight.blocked and not blocked:
            self._loop_of(flight).remove_writer(flight.socket)
        flight.blocked = blocked

    def _arrived(self, flight: Flight) -> bool:
        """Whether the answer is whole."""
        while not flight.line.is_busy():
            result = flight.line.get_result()
            if result is None:
                return True
            flight.results.append(result)
        return False

    def _outcomes(self, flight: Flight) -> list[Any]:
        from psycopg import pq
        from psycopg.errors import error_from_result

        (result,) = flight.results
        if result.status != pq.ExecStatus.TUPLES_OK:
            raise error_from_result(result)
        columns = range(result.nfields)
        cells = [[result.get_value(row, column) for column in columns] for row in range(result.ntuples)]
        rows = [tuple(None if cell is None else int(cell) for cell in row) for row in cells]
        outcomes = flight.read(rows)
        if outcomes is None:
            raise LeaseLost(TAKEN)
        return outcomes

    def _loop_of(self, flight: Flight) -> asyncio.AbstractEventLoop:
        return flight.work[0][2].get_loop()

    def _fail(self, flight: Flight, error: Exception) -> None:
        """Whether the statement was done is not known here."""
        self._land(flight)
        driver = self._database.engine.dialect.loaded_dbapi
        self._over(
            flight, self._database.failure(self._text, error) if isinstance(error, driver.Error) else error
        )

    def _over(self, flight: Flight, error: Exception) -> None:
        self._leave([])
        self._thread.hand_over(flight.work, error)

    def _land(self, flight: Flight) -> None:
        self._flight = None
        loop = self._loop_of(flight)
        loop.remove_reader(flight.socket)
        if flight.blocked:
            loop.remove_writer(flight.socket)
        flight.watched()
