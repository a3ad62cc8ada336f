"""SQLite's log is copied into the file by a thread of its own, so that nobody's commit waits for it.

Left to SQLite, the commit that makes the log long copies all of it, flushes twice, and keeps everybody
waiting who comes meanwhile. A passive checkpoint blocks neither readers nor the writer; once everything is
copied, the next commit begins the log again at its start.

Before SQLite 3.51.3 (https://sqlite.org/wal.html#walresetbug) a checkpoint that starts while a commit does so
may take what is new for copied, and lose it. So a reader is open meanwhile: if it reads from the log, the log
does not begin again; if it reads from the file, as all was copied, SQLite copies nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import structlog
from sqlalchemy import Connection, Engine

EVERY = 8.0
"""Seconds between two looks. Flushes of a copy hold up commits: less than one in a hundred may meet one."""
WAIT = 2.0
"""Seconds to wait for those who read in a log that is to be emptied; later the thread tries again."""
log = structlog.get_logger()


class Checkpoints:
    """The thread, from now until it is closed."""

    def __init__(self, engine: Engine, turn: Callable[[], AbstractContextManager[None]]) -> None:
        """``turn`` keeps others from writing."""
        self._engine, self._turn = engine, turn
        self._copying = threading.Lock()  # of two checkpoints at once SQLite refuses one without a word
        self._ended, self._overdue = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run, name="checkpoints", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def empty(self) -> None:
        """Copy everything, and leave nothing in the log: pages stand there as they were before."""
        deadline = time.monotonic() + WAIT
        while not self._emptied():
            if time.monotonic() > deadline:
                log.warning("the log is emptied later: somebody reads an older state")
                self._overdue.set()
                return
            self._ended.wait(0.01)

    def _emptied(self) -> bool:
        """Try it, without waiting: whoever waits for readers here would keep writers waiting, too."""
        with self._turn(), self._copying, self._engine.connect() as connection:
            usual = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
            connection.exec_driver_sql("PRAGMA busy_timeout=0")
            try:
                return not connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
            finally:
                connection.exec_driver_sql(f"PRAGMA busy_timeout={usual}")

    def _run(self) -> None:
        failed = False
        while not self._ended.wait(EVERY):
            try:
                # Connections of its own: SQLite's number of the data counts commits of others.
                with self._engine.connect() as connection, self._engine.connect() as reader:
                    seen = -1
                    while True:
                        seen = self.look(connection, reader, seen)
                        failed = False
                        if self._ended.wait(EVERY):
                            return
            except Exception as error:  # a disk that is full, say: whoever commits meets it, and is told
                if not failed:
                    log.warning(
                        "the log was not copied into the file", reason=str(getattr(error, "orig", error))
                    )
                failed = True

    def look(self, connection: Connection, reader: Connection, seen: int) -> int:
        """Copy what was committed since ``seen``, SQLite's number of the data, unless it is the same."""
        if self._overdue.is_set() and self._emptied():
            self._overdue.clear()
        version = int(connection.exec_driver_sql("PRAGMA data_version").scalar_one())
        connection.rollback()
        if version == seen:
            return seen
        with self._copying:
            reader.exec_driver_sql("begin")
            try:
                reader.exec_driver_sql("select count(*) from sqlite_master").scalar_one()
                _, frames, copied = connection.exec_driver_sql("PRAGMA wal_checkpoint(PASSIVE)").one()
            finally:
                reader.rollback()
                connection.rollback()
        return version if frames == copied else -1
