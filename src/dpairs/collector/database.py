"""Opening the database: the schema brought up to date, commits that last, waits that end."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, cast

from sqlalchemy import URL, Connection, Engine, Select, Table, create_engine, event, make_url, select, text
from sqlalchemy.exc import (
    ArgumentError,
    DBAPIError,
    DisconnectionError,
    IntegrityError,
    NoSuchModuleError,
    SQLAlchemyError,
)

from ..errors import BadParameter, Unavailable
from .checkpoints import Checkpoints
from .line import Line
from .watchdog import Watchdog

MIGRATING = 0x6470616972730002
"""The advisory lock of whoever brings the schema up to date."""
PATIENCE = 10.0
"""Seconds to wait for a collector that was just stopped to let go."""
STUCK = 8.0
"""Seconds after which a connection to PostgreSQL in use is given up."""
LONG = 600.0
"""The same, of one that reads everything."""
IDLE = 1.0
"""Seconds after which a connection that nobody used is asked for life before it is used again."""
PING = 3.0
"""Seconds that it has to show it."""
LOG_PAGES = 2**14
"""Pages of SQLite's log, 64 MiB, at which a commit copies them into the file by itself, if `Checkpoints` have
not done so; a longer log is cut when it begins again."""
PAGE = 4096
BUSY = 30.0
"""Seconds to wait for others who use a file of SQLite's."""
NO_SPACE = "53100"
"""PostgreSQL's code of a full disk."""
MARKS = {"sqlite": "?", "postgresql": "%s"}
"""What stands for a parameter in a statement, by dialect."""
POSTGRESQL = {
    "client_encoding": "UTF8",  # a database without an encoding would give bytes for text
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 8000,
    # While a standby is promoted, an address may still lead to a server that only reads.
    "target_session_attrs": "read-write",
}
OPTIONS = {
    # A collector that is frozen within a transaction, or whose machine is gone, must not keep a standby from
    # taking over.
    "idle_in_transaction_session_timeout": 5000,
    "tcp_keepalives_idle": 5,
    "tcp_keepalives_interval": 2,
    "tcp_keepalives_count": 3,
    "lock_timeout": 5000,
    "synchronous_commit": "on",  # what is acknowledged is on the disk
    "timezone": "UTC",
}
"""Settings of a session, before those that the address may name."""


class Database:
    """An engine; a file in SQLite is locked for one process as long as it is open."""

    def __init__(self, where: str | URL, schema: Callable[[Engine], None] | None = None) -> None:
        """Open it, and let ``schema`` make the tables; by default the collector's."""
        url = address(where)
        self.is_sqlite = url.get_backend_name() == "sqlite"
        if self.is_sqlite and url.database in (None, "", ":memory:"):
            raise BadParameter("a collector needs a file to store in: sqlite:///FILE")
        if self.is_sqlite:
            # One file has one lock, by whatever links it is reached.
            self._file = os.path.realpath(url.database or "")
            url = url.set(database=self._file)
        arguments = {"timeout": BUSY} if self.is_sqlite else {**POSTGRESQL, "options": _session(url)}
        self.engine = create_engine(url, connect_args=arguments)
        self._watchdog = Watchdog()
        self._line: Line | None = None
        self.prepared: dict[str, str] = {}
        """Statements, by the names under which the writer's own connection knows them."""
        if self.is_sqlite:
            event.listen(self.engine, "connect", _durable)
        else:
            event.listen(self.engine, "checkin", _note)
            event.listen(self.engine, "checkout", self._ping)
            self._line = Line(url, arguments, self._prepare, self._ping, IDLE)
        self._checkpoints: Checkpoints | None = None
        self._turn = threading.Lock()
        self._lock_file: IO[bytes] | None = None
        try:
            if self.is_sqlite:
                self._lock()
                _private(self._file)
                self._identity = _identity(self._file)
            (schema or migrate)(self.engine)
            if self.is_sqlite:
                self._checkpoints = Checkpoints(self.engine, self._alone)
        except DBAPIError as error:
            self.close()
            raise Unavailable(f"the database cannot be used: {cause(error)}") from None
        except OSError as error:
            self.close()
            raise Unavailable(f"the database cannot be used: {error.strerror or error}") from None
        except BaseException:
            self.close()
            raise

    def _lock(self) -> None:
        try:
            import fcntl
        except ImportError:  # elsewhere the lease alone has to do
            return
        descriptor = os.open(f"{self._file}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        self._lock_file = os.fdopen(descriptor, "ab")
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                fcntl.flock(self._lock_file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Unavailable(
                        "another collector uses this database: one process serves one database"
                    ) from None
                time.sleep(0.1)

    def _ping(self, driver: Any, record: Any, _: Any) -> None:
        """Give up a pooled connection that shows no life; the pool then opens another one."""
        if time.monotonic() - record.info.get("used", -IDLE) < IDLE:
            return
        try:
            with self._watchdog.watch(driver, PING):
                driver.execute("select 1")
                driver.rollback()
        except Exception:
            raise DisconnectionError from None

    def _prepare(self, driver: Any, _: Any) -> None:
        with self._watchdog.watch(driver, PING):
            for name, statement in self.prepared.items():
                result = driver.pgconn.prepare(name.encode(), statement.encode())
                if result.error_message:
                    raise self.engine.dialect.loaded_dbapi.OperationalError(result.error_message.decode())

    def locked(self, table: Table, skip: bool = False) -> Select[Any]:
        """The rows of a table, which nobody else changes before this transaction ends."""
        # SQLite's transactions that write are alone from their beginning.
        return select(table) if self.is_sqlite else select(table).with_for_update(skip_locked=skip)

    @contextlib.contextmanager
    def reading(self, long: bool = False) -> Iterator[Connection]:
        """A connection for looking things up; a long look is not cut off while the database answers."""
        with self._connected(LONG if long else STUCK) as connection:
            if long and not self.is_sqlite:  # it keeps nobody from anything
                direct(connection, "set local idle_in_transaction_session_timeout = 0")
            yield connection

    @contextlib.contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, committed at the end."""
        with self.transaction() as connection:
            yield connection
            connection.commit()

    @contextlib.contextmanager
    def transaction(self, long: bool = False) -> Iterator[Connection]:
        """A transaction that ends with nothing done unless it is committed; a long one may take any time."""
        with self._alone(), self._connected(math.inf if long else STUCK) as connection:
            if self.is_sqlite and _identity(self._file) != self._identity:
                raise Unavailable("the database's file was replaced or removed: restart the collector")
            connection.begin()
            if self.is_sqlite:
                direct(connection, "begin immediate")
            try:
                yield connection
            except DBAPIError as error:
                # A server may refuse to write and yet show life: others are to be found in its place.
                if not self.is_sqlite and not isinstance(error, IntegrityError):
                    connection.invalidate()
                    self.engine.dispose()
                raise

    @contextlib.contextmanager
    def _connected(self, seconds: float) -> Iterator[Connection]:
        """A connection of the pool, cut off if it takes longer, and given back within that time, too."""
        connection = self.engine.connect()
        with self._watched(connection, seconds), connection:
            yield connection

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Threads that write to a file of SQLite's take turns; a log that is emptied takes one, too."""
        if not self.is_sqlite:
            yield
            return
        if not self._turn.acquire(timeout=BUSY):
            raise Unavailable("the database is busy; try again")
        try:
            yield
        finally:
            self._turn.release()

    @contextlib.contextmanager
    def statements(self) -> Iterator[Connection]:
        """The writer's own connection to PostgreSQL, on which each statement is a transaction."""
        try:
            connection = cast(Line, self._line).connection()
        except SQLAlchemyError:
            self.engine.dispose()  # whose idle connections may be all that a server allows
            raise
        with self._watched(connection, STUCK):
            yield connection

    def at_hand(self) -> Any | None:
        """The driver's connection of `statements`, if nobody has to wait for it."""
        return None if self._line is None else self._line.at_hand()

    @property
    def patience(self) -> float:
        """Seconds after which a statement is given up."""
        return STUCK

    def cut(self) -> None:
        """Give up the connection of `statements`, of which nobody knows where it stands."""
        if self._line is not None:
            self._line.cut()

    def failure(self, statement: str, error: Exception) -> DBAPIError:
        """An error of the driver's as one of SQLAlchemy's."""
        base = self.engine.dialect.loaded_dbapi.Error
        return DBAPIError.instance(statement, None, error, base, dialect=self.engine.dialect)  # type: ignore[return-value]

    @contextlib.contextmanager
    def _watched(self, connection: Connection, seconds: float) -> Iterator[None]:
        if self.is_sqlite:
            yield
            return
        with self._watchdog.watch(connection.connection.driver_connection, seconds):
            yield

    def forget(self) -> None:
        """Empty SQLite's log, where pages stand as they were before they were overwritten."""
        if self._checkpoints is not None:
            self._checkpoints.empty()

    def close(self) -> None:
        self._watchdog.close()
        if self._checkpoints is not None:
            self._checkpoints.close()
        if self._line is not None:
            self._line.close()
        self.engine.dispose()
        if self._lock_file is not None:
            self._lock_file.close()


def _session(url: URL) -> str:
    """Ours first, so that those of the address hold."""
    theirs = url.query.get("options", "")
    ours = [f"-c {name}={value}" for name, value in OPTIONS.items()]
    return " ".join([*ours, *([theirs] if isinstance(theirs, str) else theirs)])


def address(where: str | URL) -> URL:
    """An address of a kind of database that a collector can store in, with its driver at hand."""
    try:
        url = make_url(where)
    except ArgumentError as error:
        raise BadParameter(f"the database's address cannot be used: {cause(error)}") from None
    except ValueError:
        raise BadParameter("the database's address cannot be used: it is not an address") from None
    if url.get_backend_name() not in ("sqlite", "postgresql"):
        raise BadParameter(f"a collector stores in sqlite or postgresql, not {url.drivername}")
    try:
        url.get_dialect().import_dbapi()
    except ModuleNotFoundError as error:
        raise BadParameter(
            f"{url.drivername} needs {error.name}: pip install 'dpairs[postgresql]', which "
            "postgresql+psycopg uses"
        ) from None
    except NoSuchModuleError as error:
        raise BadParameter(f"the database's address cannot be used: {cause(error)}") from None
    return url


def migrate(engine: Engine) -> None:
    """Bring the schema up to date; a newer one than this program knows is refused."""
    import alembic.command  # the two servers do without it
    import alembic.config

    config = alembic.config.Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            # Python begins no transaction before `create table`; a start that is cut off must leave nothing.
            connection.exec_driver_sql("begin immediate")
        else:
            connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": MIGRATING})
        config.attributes["connection"] = connection
        try:
            alembic.command.upgrade(config, "head")
        except alembic.util.CommandError as error:
            raise Unavailable(f"the database was made by another version of dpairs: {cause(error)}") from None


def direct(connection: Connection, statement: str, parameters: Sequence[Any] = ()) -> Any:
    """The driver's cursor of a statement that is part of every commit, with ``{}`` for each parameter.

    SQLAlchemy takes longer over such a statement than the database does. Errors are its own.
    """
    text = statement.format(*[MARKS[connection.dialect.name]] * len(parameters))
    cursor = connection.connection.cursor()
    with driven(connection, text):
        cursor.execute(text, parameters)
    return cursor


@contextlib.contextmanager
def driven(connection: Connection, statement: str) -> Iterator[None]:
    """Errors of the driver's as SQLAlchemy's, and a connection that is lost given up."""
    dialect = connection.dialect
    try:
        yield
    except dialect.loaded_dbapi.Error as error:
        if dialect.is_disconnect(error, connection.connection, None):
            connection.invalidate(error)
        raise DBAPIError.instance(
            statement, None, error, dialect.loaded_dbapi.Error, dialect=dialect
        ) from error


def full(error: BaseException) -> bool:
    """Whether something could not be stored for want of space."""
    said = getattr(error, "orig", None) or error
    return (
        getattr(said, "errno", None) == errno.ENOSPC
        or getattr(said, "sqlstate", None) == NO_SPACE
        or getattr(said, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
    )


def _private(file: str) -> None:
    """Make the file for its owner only: it holds the key of everybody's secrets."""
    if Path(file).is_dir():
        return
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    for name in (file, f"{file}-wal", f"{file}-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.chmod(name, 0o600)


def _identity(file: str) -> tuple[int, int]:
    """Which file a name stands for: what is written to one that has lost its name is lost with it."""
    try:
        status = os.stat(file)
    except OSError:
        return 0, 0
    return status.st_dev, status.st_ino


def _durable(connection: Any, _: Any) -> None:
    """A commit has reached the disk when it returns, readers do not wait, what is deleted is overwritten."""
    cursor = connection.cursor()
    settings = ["journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON", "secure_delete=ON"]
    settings += [f"wal_autocheckpoint={LOG_PAGES}", f"journal_size_limit={LOG_PAGES * PAGE}"]
    for setting in settings:
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _note(_: Any, record: Any) -> None:
    record.info["used"] = time.monotonic()


def cause(error: BaseException) -> str:
    """What a database said, in one line: without the statement and what was to be stored."""
    said = str(getattr(error, "orig", None) or error).strip()
    return f"{type(error).__name__}: {said.splitlines()[0][:200]}" if said else type(error).__name__
