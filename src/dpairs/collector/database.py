"""Opening the database: one collector at a time, the schema brought up to date, commits that last."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import alembic.command
import alembic.config
from sqlalchemy import Connection, Engine, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError

from ..errors import BadParameter, Unavailable
from .schema import metadata

LOCK = 0x6470616972730001
"""The advisory lock that a collector holds in PostgreSQL."""
PATIENCE = 10.0
"""Seconds to wait for a collector that was just stopped to let go."""


class Database:
    """An engine, and the promise that no other collector uses the same database.

    Tallies live in memory beside the tables, so a second process would count wrongly.
    """

    def __init__(self, address: str) -> None:
        try:
            url = make_url(address)
            if url.get_backend_name() not in ("sqlite", "postgresql"):
                raise BadParameter(f"a collector stores in sqlite or postgresql, not {url.drivername}")
            self.is_sqlite = url.get_backend_name() == "sqlite"
            if self.is_sqlite and url.database in (None, "", ":memory:"):
                raise BadParameter("a collector needs a file to store in: sqlite:///FILE")
            options: dict[str, Any] = {"connect_args": {"timeout": 30}} if self.is_sqlite else {}
            self.engine = create_engine(url, pool_pre_ping=not self.is_sqlite, **options)
        except ModuleNotFoundError as error:
            raise BadParameter(
                f"{url.drivername} needs {error.name}, which is not here: install the extra 'postgresql' "
                f"of dpairs, which postgresql+psycopg uses"
            ) from None
        except (ArgumentError, NoSuchModuleError) as error:
            raise BadParameter(f"the database's address cannot be used: {_first_line(error)}") from None
        if self.is_sqlite:
            event.listen(self.engine, "connect", _durable)
        self._lock_file: IO[bytes] | None = None
        self._lock_line: Connection | None = None
        try:
            self._lock(url.database or "")
            migrate(self.engine)
            if not self.is_sqlite:
                self._outwait()
        except DBAPIError as error:
            self.close()
            raise Unavailable(f"the database cannot be used: {_first_line(error.orig)}") from None
        except OSError as error:
            self.close()
            raise Unavailable(f"the database cannot be used: {error.strerror or error}") from None
        except BaseException:
            self.close()
            raise

    def _lock(self, name: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not (self._lock_sqlite(name) if self.is_sqlite else self._lock_postgresql()):
            if time.monotonic() > deadline:
                raise Unavailable("another collector uses this database: one process serves one database")
            time.sleep(0.1)

    def _lock_sqlite(self, name: str) -> bool:
        try:
            import fcntl
        except ImportError:  # elsewhere the documentation has to do
            return True
        if self._lock_file is None:
            self._lock_file = Path(f"{name}.lock").open("ab")  # noqa: SIM115  held while the collector runs
        try:
            fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _lock_postgresql(self) -> bool:
        if self._lock_line is None:
            self._lock_line = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        return bool(self._lock_line.scalar(text("select pg_try_advisory_lock(:key)"), {"key": LOCK}))

    def _outwait(self) -> None:
        """Wait for what the server may still be committing for a collector that has died."""
        with self.engine.begin() as connection:
            tables = ", ".join(metadata.tables)
            connection.execute(text(f"lock table {tables} in share row exclusive mode"))

    @contextlib.contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection for looking things up."""
        with self.engine.connect() as connection:
            yield connection

    def close(self) -> None:
        if self._lock_line is not None:
            self._lock_line.close()
        self.engine.dispose()
        if self._lock_file is not None:
            self._lock_file.close()


def migrate(engine: Engine) -> None:
    """Bring the schema up to date; a newer one than this program knows is refused."""
    config = alembic.config.Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            # Python begins no transaction before `create table`; a start that is cut off must leave nothing.
            connection.exec_driver_sql("begin immediate")
        config.attributes["connection"] = connection
        try:
            alembic.command.upgrade(config, "head")
        except alembic.util.CommandError as error:
            raise Unavailable(
                f"the database was made by another version of dpairs: {_first_line(error)}"
            ) from None


def _durable(connection: Any, _: Any) -> None:
    """A commit has reached the disk when it returns, and readers do not wait for the writer."""
    cursor = connection.cursor()
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "busy_timeout=30000"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _first_line(error: Any) -> str:
    return str(error).strip().splitlines()[0][:200]
