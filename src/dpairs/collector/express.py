"""Single reports on PostgreSQL, stored from the event loop itself.

Nearly all changes are reports, and most come alone. Two changes of threads and a cursor take a tenth of a
millisecond, about as long as PostgreSQL's own work without its flush. So the loop sends the statement and
reads the answer, if the writer's turn is free; reports that come meanwhile share the next one.

This way is for what goes well. Everything else is handed over to the thread: an error, a lost lease, reports
that are not new, a connection that must be opened or asked for life, and all that waits when the thread has
something to do.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from .changes import Handler, Reading, Row, Statement, Work, counted, settle
from .database import Database
from .lease import TAKEN, Lease, LeaseLost

NAME = "dpairs_at_once"
NAME_BYTES = NAME.encode()
"""The statement's, on the writer's own connection."""


class Thread(Protocol):
    """The writer's thread, as far as the loop has to do with it."""

    turn: threading.Lock
    """Held by whoever commits: the thread, or the loop."""

    @property
    def wants(self) -> bool:
        """Whether it has something to do, or is about to."""

    def put(self, work: Work) -> None: ...

    def stored(self, handler: Handler) -> None:
        """Changes of this kind were committed."""

    def hand_over(self, work: list[Work], error: Exception) -> None:
        """Pass the turn to the thread, which finds out what came of these changes."""


@dataclass
class Flight:
    """A statement that was sent."""

    work: list[Work]
    line: Any
    """libpq's connection."""
    read: Reading
    began: float
    results: list[Any] = field(default_factory=list)


class Ear:
    """Tells when something arrives on a connection.

    It stays from one statement to the next, and has a handle of its own: the connection is the thread's to
    close, and the number of a closed one may belong to somebody else.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, line: Any, tell: Callable[[], None]) -> None:
        self.line = line
        self._loop, self._tell = loop, tell
        self._handle = os.dup(line.socket)
        self._writes = False
        loop.add_reader(self._handle, tell)

    def write(self, wanted: bool) -> None:
        """Tell also when something can be sent, or no longer."""
        if wanted and not self._writes:
            self._loop.add_writer(self._handle, self._tell)
        elif self._writes and not wanted:
            self._loop.remove_writer(self._handle)
        self._writes = wanted

    def close(self) -> None:
        self.write(False)
        self._loop.remove_reader(self._handle)
        os.close(self._handle)


class Express:
    """The loop's way to the database, with at most one statement under way."""

    def __init__(
        self, database: Database, lease: Lease, statement: Statement, thread: Thread, most: int
    ) -> None:
        """A statement takes ``most`` changes."""
        from psycopg import Error, OperationalError, errors, pq

        self._database, self._lease, self._statement, self._thread = database, lease, statement, thread
        self._most = most
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flight: Flight | None = None
        self._next: list[Work] = []
        self._ear: Ear | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._rows, self._errors = pq.ExecStatus.TUPLES_OK, errors
        self._error, self._late = Error, OperationalError
        marks = statement.text.count("{}")
        self._text = statement.text.format(*(f"${place + 1}" for place in range(marks)))
        database.prepared[NAME] = self._text

    def serve(self, loop: asyncio.AbstractEventLoop | None) -> None:
        """Take changes of this loop's; that of Windows cannot wait for a socket of somebody else's."""
        self._deafen()
        if self._timer is not None:
            self._timer.cancel()
        self._loop, self._timer = None if sys.platform == "win32" else loop, None

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
        items = [item for _, item, _ in work]
        try:
            driver = self._database.at_hand()
            if driver is None or not self._lease.held or any(item.retired for item in items):
                return False
            columns, read = self._statement.begin(items)
        except Exception:  # the thread meets the same, and says so
            return False
        flight = self._flight = Flight(work, driver.pgconn, read, time.monotonic())
        try:
            parameters = [*map(str, self._lease.renewal), *columns]
            flight.line.send_query_prepared(NAME_BYTES, [each.encode() for each in parameters])
            self._listen(flight)
        except Exception as error:
            self._fail(flight, error)
        return True

    def _moved(self) -> None:
        """Something has arrived, or may be sent."""
        flight = self._flight
        if flight is None:  # the thread uses this connection, or it has ended
            self._deafen()
            return
        try:
            flight.line.consume_input()
            self._listen(flight)
            if not self._arrived(flight):
                return
            outcomes = self._outcomes(flight)
        except Exception as error:
            self._fail(flight, error)
            return
        self._flight = None
        self._lease.committed(flight.began)
        self._thread.stored(self._statement.handler)
        if not counted(outcomes):
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
        for item in work:
            self._thread.put(item)

    def _listen(self, flight: Flight) -> None:
        """Send what is left, and hear what is said; not for ever."""
        loop = flight.work[0][2].get_loop()
        if self._ear is None or self._ear.line is not flight.line:
            self._deafen()
            self._ear = Ear(loop, flight.line, self._moved)
        self._ear.write(bool(flight.line.flush()))
        if self._timer is None:
            self._timer = loop.call_later(self._database.patience, self._look)

    def _look(self) -> None:
        """Give up a statement that takes too long."""
        flight, self._timer = self._flight, None
        if flight is None or self._loop is None:
            return
        left = flight.began + self._database.patience - time.monotonic()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look)
        else:
            self._fail(flight, self._late("the database does not answer"))

    def _deafen(self) -> None:
        if self._ear is not None:
            self._ear.close()
            self._ear = None

    def _arrived(self, flight: Flight) -> bool:
        """Whether the answer is whole."""
        while not flight.line.is_busy():
            result = flight.line.get_result()
            if result is None:
                return True
            flight.results.append(result)
        return False

    def _outcomes(self, flight: Flight) -> list[Any]:
        (result,) = flight.results
        if result.status != self._rows:
            raise self._errors.error_from_result(result)

        def rows() -> list[Row]:
            columns = range(result.nfields)
            cells = [[result.get_value(row, column) for column in columns] for row in range(result.ntuples)]
            return [tuple(None if cell is None else int(cell) for cell in row) for row in cells]

        outcomes = flight.read(result.ntuples, rows)
        if outcomes is None:
            raise LeaseLost(TAKEN)
        return outcomes

    def _fail(self, flight: Flight, error: Exception) -> None:
        """Whether the statement was done is not known here."""
        self._flight = None
        self._over(
            flight, self._database.failure(self._text, error) if isinstance(error, self._error) else error
        )

    def _over(self, flight: Flight, error: Exception) -> None:
        self._deafen()
        self._leave([])
        self._thread.hand_over(flight.work, error)
