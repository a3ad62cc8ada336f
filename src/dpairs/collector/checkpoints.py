"""SQLite's log is copied into the file by a thread of its own, so that nobody's commit waits for it.

Left to SQLite, the commit that makes the log long copies all of it, flushes twice, and keeps everybody
waiting who comes meanwhile. A passive checkpoint blocks neither readers nor the writer; once it has caught up
with the writer, the log begins again at its start.
"""

from __future__ import annotations

import threading

import structlog
from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

EVERY = 1.0
"""Seconds between two looks."""
TRIES = 4
"""Attempts to catch up with a writer: each has only to copy what was committed during the last one."""
log = structlog.get_logger()


class Checkpoints:
    """The thread, from now until it is closed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._alone = threading.Lock()  # of two checkpoints at once SQLite refuses one without a word
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def empty(self) -> None:
        """Copy everything, and leave nothing in the log: pages stand there as they were before."""
        with self._alone, self._engine.connect() as connection:
            connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")

    def _run(self) -> None:
        seen, failed = -1, False
        with self._engine.connect() as connection:  # its own: SQLite's number counts commits of others
            while not self._ended.wait(EVERY):
                try:
                    with self._alone:
                        seen, failed = self._look(connection, seen), False
                except DBAPIError as error:  # a disk that is full, say: whoever commits meets it, and is told
                    if not failed:
                        log.warning("the log was not copied into the file", reason=str(error.orig))
                    failed = True
                connection.rollback()

    def _look(self, connection: Connection, seen: int) -> int:
        """Copy what was committed since ``seen``, SQLite's number of the data."""
        version = int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())
        for _ in range(TRIES if version != seen else 0):
            _, frames, copied = connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").one()
            if copied == frames:
                break
        return version
