"""The tables of one server: ids of reports, sealed reports that wait, its own shares until the release."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Connection,
    Engine,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    insert,
    inspect,
    select,
    text,
)

from ..collector.database import MIGRATING
from ..errors import Unavailable

VERSION = 1
metadata = MetaData()

version = Table("aggregator", metadata, Column("version", Integer, primary_key=True, autoincrement=False))

tasks = Table(
    "tasks",
    metadata,
    Column("id", LargeBinary(32), primary_key=True),
    Column("role", SmallInteger, nullable=False),
    Column("file", Text, nullable=False),
    Column("state", String(10), nullable=False),
    Column("received", BigInteger, nullable=False),
    Column("request", LargeBinary),
    Column("failed", String(300)),
    Column("close", LargeBinary),
    Column("secret", LargeBinary),
    Column("heard", LargeBinary),
    Column("products", LargeBinary),
    Column("result", LargeBinary),
)
"""``request``: what was asked for the result. ``failed``: why it could not be given. ``close``: which reports
the closed batch has. ``secret``, ``heard``, ``products``: of the exchange for products, what its randomness
follows from, what the other server said (its offer, or the hash of its reply), and this server's shares; they
are erased with the release. ``result``: what is sealed for the analyst."""

reports = Table(
    "reports",
    metadata,
    Column("task", LargeBinary(32), ForeignKey("tasks.id"), primary_key=True),
    Column("id", LargeBinary(16), primary_key=True),
    Column("state", SmallInteger, nullable=False),
    Column("job", LargeBinary(16)),
    Column("digest", LargeBinary(16)),
    Column("content", LargeBinary),
    Index("reports_by_state", "task", "state"),
    Index("reports_by_job", "task", "job"),
)
"""Every report that a server has seen, once. ``content``: at the leader, sealed, until it is verified."""

jobs = Table(
    "jobs",
    metadata,
    Column("task", LargeBinary(32), ForeignKey("tasks.id"), primary_key=True),
    Column("id", LargeBinary(16), primary_key=True),
    Column("done", Boolean, nullable=False),
    Column("answer", LargeBinary),
)
"""Aggregation jobs. ``answer``: what the helper said, and says again."""

buckets = Table(
    "buckets",
    metadata,
    Column("task", LargeBinary(32), ForeignKey("tasks.id"), primary_key=True),
    Column("stratum", SmallInteger, primary_key=True, autoincrement=False),
    Column("people", BigInteger, nullable=False),
    Column("checksum", LargeBinary(32), nullable=False),
    Column("shares", LargeBinary, nullable=False),
    Column("first", BigInteger, nullable=False),
    Column("last", BigInteger, nullable=False),
)
"""This server's sums; the shares are erased with the release."""

refusals = Table(
    "refusals",
    metadata,
    Column("task", LargeBinary(32), ForeignKey("tasks.id"), primary_key=True),
    Column("error", SmallInteger, primary_key=True, autoincrement=False),
    Column("reports", BigInteger, nullable=False),
)


def create(engine: Engine) -> None:
    """Make the tables in an empty database; refuse another version's, and a collector's."""
    with engine.begin() as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("begin immediate")
        else:
            connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": MIGRATING})
        _create(connection)


def _create(connection: Connection) -> None:
    there = set(inspect(connection).get_table_names())
    if version.name not in there:
        if there & (set(metadata.tables) | {"alembic_version"}):
            raise Unavailable(
                "the database belongs to another program: a server of a task needs one of its own"
            )
        metadata.create_all(connection)
        connection.execute(insert(version), {"version": VERSION})
    stored = connection.execute(select(version.c.version)).scalar_one()
    if stored != VERSION:
        raise Unavailable(f"the database has version {stored}; this program knows version {VERSION}")
