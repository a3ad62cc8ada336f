"""Backups: a whole collector in one file, whichever database it has; and back, with a new epoch.

What happened after a backup is gone when it is restored. Indices that were given meanwhile are given again,
to other people. So a restored database gets a new epoch: every secret that was given before is void, and
whoever asks again with the request that is stored gets the same index with a new secret.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Table,
    create_engine,
    delete,
    func,
    insert,
    inspect,
    select,
    text,
)
from sqlalchemy.exc import SQLAlchemyError

from ..errors import BadFile, Conflict, Unavailable
from . import schema
from .database import Database, address, cause, migrate
from .lease import Lease
from .tokens import renew_epoch

SLICE = 10_000
"""Rows that are copied at once."""
COPIED = tuple(table for table in schema.metadata.sorted_tables if table is not schema.lease)


def back_up(database: str, file: str | os.PathLike[str]) -> dict[str, int]:
    """Copy everything as it is at one moment, also while a collector runs; how many rows each table has."""
    place = Path(file)
    if place.exists():
        raise BadFile(f"the backup {place} already exists; a backup never overwrites another")
    url = address(database)
    if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
        raise BadFile(f"there is no database {url.database}")
    part = place.with_name(f".{place.name}.part")
    part.unlink(missing_ok=True)
    options: dict[str, Any] = (
        {} if url.get_backend_name() == "sqlite" else {"isolation_level": "REPEATABLE READ"}
    )
    source = create_engine(url, **options)
    copy: Database | None = None
    try:
        copy = Database(_file(part))
        with source.connect() as reading, copy.engine.begin() as writing:
            if source.dialect.name == "sqlite":
                reading.exec_driver_sql("begin")  # one moment for all tables
            if _version(reading) != _version(writing):
                raise BadFile(
                    f"{url.database} was made by another version of dpairs: back it up with that one, or "
                    "start a collector of this version first, which updates an older database"
                )
            rows = {table.name: _copy(reading, writing, table) for table in COPIED}
        copy.close()
        with contextlib.closing(sqlite3.connect(part)) as line:
            line.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        part.replace(place)
        return rows
    except (SQLAlchemyError, sqlite3.Error) as error:
        raise Unavailable(f"the database cannot be backed up: {cause(error)}") from None
    except OSError as error:
        raise BadFile(f"the backup {place} cannot be written: {error.strerror or error}") from None
    finally:
        source.dispose()
        if copy is not None:
            copy.close()
        for name in ("", "-wal", "-shm", ".lock"):
            Path(f"{part}{name}").unlink(missing_ok=True)


def restore(file: str | os.PathLike[str], database: str) -> dict[str, int]:
    """Fill an empty database from a backup, under a new epoch; how many rows each table has."""
    place = Path(file)
    if not place.is_file():
        raise BadFile(f"there is no backup {place}")
    log = Path(f"{place}-wal")
    if log.is_file() and log.stat().st_size:
        raise BadFile(f"{place} is a database in use, whose last changes are in {log}: use dpairs backup")
    with tempfile.TemporaryDirectory() as folder:
        # A backup of an older version is brought up to date in a copy.
        old = Path(folder) / "backup.sqlite"
        shutil.copyfile(place, old)
        source = create_engine(_file(old))
        into = Database(database)
        try:
            _check_backup(source, place)
            migrate(source)
            lease = Lease(into, "restore")
            if not lease.take():
                raise Conflict("a collector uses this database: stop it before you restore")
            with source.connect() as reading, into.transaction(long=True) as writing:
                lease.renew(writing)
                if writing.scalar(select(func.count()).select_from(schema.studies)):
                    raise Conflict("this database has studies: a backup is restored into an empty one")
                writing.execute(delete(schema.meta))
                copied = {table.name: _copy(reading, writing, table) for table in COPIED}
                renew_epoch(writing)
                _count_on(writing)
                writing.commit()
            lease.committed(0.0)
            lease.held = True
            lease.release()
            return copied
        except SQLAlchemyError as error:
            raise BadFile(f"the backup {place} cannot be restored: {cause(error)}") from None
        finally:
            source.dispose()
            into.close()


def _check_backup(source: Engine, place: Path) -> None:
    """Refuse an empty file, and a database of something else, before they replace anything."""
    with source.connect() as reading:
        known = inspect(reading).has_table("meta") and set(reading.scalars(select(schema.meta.c.name)))
    if not known or not {"key", "analyst"} <= known:
        raise BadFile(f"{place} is not a backup of a collector")


def _version(reading: Connection) -> str | None:
    """The schema's, as its last change has it."""
    there = inspect(reading).has_table("alembic_version")
    return reading.scalar(text("select version_num from alembic_version")) if there else None


def _file(path: Path) -> URL:
    """The address of a file, whatever letters its name has."""
    return URL.create("sqlite", database=str(path))


def _count_on(connection: Connection) -> None:
    """Let PostgreSQL go on counting rounds after those that were copied."""
    if connection.dialect.name == "postgresql":
        counter = "pg_get_serial_sequence('rounds', 'serial')"
        last = "coalesce((select max(serial) from rounds), 0) + 1"
        connection.exec_driver_sql(f"select setval({counter}, {last}, false)")


def _copy(reading: Connection, writing: Connection, table: Table) -> int:
    count = 0
    for rows in _slices(reading, table):
        writing.execute(insert(table), rows)
        count += len(rows)
    return count


def _slices(reading: Connection, table: Table) -> Iterator[list[dict[str, Any]]]:
    result = reading.execution_options(stream_results=True).execute(select(table))
    for rows in result.mappings().partitions(SLICE):
        yield [dict(row) for row in rows]
