"""The tables. Symbols, counts and public things only: no table has a place for a value or an address."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
    UniqueConstraint,
)

metadata = MetaData()

meta = Table(
    "meta",
    metadata,
    Column("name", String(40), primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
"""The key of participants' secrets, the epoch of the database, and the hash of the analyst's token."""

lease = Table(
    "lease",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("epoch", BigInteger, nullable=False),
    Column("serial", BigInteger, nullable=False),
    Column("holder", String(200)),
    Column("clock", BigInteger, nullable=False),
)
"""One row: who may write, how many commits there were, and the seconds that were served. See `lease`."""

studies = Table(
    "studies",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("title", Text, nullable=False),
    Column("question", Text, nullable=False),
    Column("state", String(10), nullable=False),
    Column("enrolment", String(10), nullable=False),
    Column("expected", BigInteger),
    Column("created", BigInteger, nullable=False),
    Column("epoch", String(32), nullable=False),
    Column("words", Text, nullable=False),
)
"""A study with all its rounds; its id is the first round's."""

rounds = Table(
    "rounds",
    metadata,
    Column("serial", Integer, primary_key=True, autoincrement=True),
    Column("study", ForeignKey("studies.id", ondelete="CASCADE"), nullable=False, index=True),
    Column("number", SmallInteger, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("study", "number"),
)

people = Table(
    "people",
    metadata,
    Column("study", ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("stratum", SmallInteger, primary_key=True),
    Column("index", BigInteger, primary_key=True, autoincrement=False),
    Column("count", BigInteger, nullable=False),
    Column("request", String(64), nullable=False),
    Column("key", LargeBinary),
    UniqueConstraint("study", "request", "stratum"),
)
"""Who has which index: a person, or a gateway's stretch of ``count``; in pairs, with a public key."""

invitations = Table(
    "invitations",
    metadata,
    Column("study", ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("code", LargeBinary(32), primary_key=True),
    Column("stratum", SmallInteger),
    Column("request", String(64)),
)
"""Hashes of single-use codes, and which request used each."""

reports = Table(
    "reports",
    metadata,
    Column("round", Integer, primary_key=True, autoincrement=False),
    Column("stratum", SmallInteger, primary_key=True),
    Column("index", BigInteger, primary_key=True, autoincrement=False),
    Column("symbol", BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
"""One symbol of one participant in one round. Without a time: when somebody answered is nobody's business.

The round is no foreign key: to look it up for every row takes PostgreSQL three times what storing the rows
takes. Only the holder of the lease writes: it stores reports of rounds that it has, and deletes a round after
its reports.
"""

sites = Table(
    "sites",
    metadata,
    Column("study", ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("index", BigInteger, primary_key=True, autoincrement=False),
    Column("name", String(100), nullable=False),
    Column("request", String(64), nullable=False),
    Column("key", LargeBinary, nullable=False),
    UniqueConstraint("study", "name"),
    UniqueConstraint("study", "request"),
)
"""Sites that hold many records, by name, each with its public key."""

answers = Table(
    "answers",
    metadata,
    Column("round", ForeignKey("rounds.serial", ondelete="CASCADE"), primary_key=True),
    Column("index", BigInteger, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("signature", LargeBinary, nullable=False),
    Column("refused", Integer, nullable=False),
)
"""One noisy answer of one site in one round, and how often another one was refused."""

messages = Table(
    "messages",
    metadata,
    Column("study", ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("pair", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", SmallInteger, primary_key=True),
    Column("body", LargeBinary, nullable=False),
    Column("at", BigInteger, nullable=False),
)
"""The mailbox: sealed messages of pairs that are not done."""

failures = Table(
    "failures",
    metadata,
    Column("study", ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
    Column("pair", BigInteger, primary_key=True, autoincrement=False),
    Column("reason", String(10), nullable=False),
)
"""Pairs that cannot be done any more: refused or expired."""

estimate_history = Table(
    "estimate_history",
    metadata,
    Column("round", ForeignKey("rounds.serial", ondelete="CASCADE"), primary_key=True),
    Column("reports", BigInteger, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("value", Float),
    Column("low", Float),
    Column("high", Float),
)
"""The estimate and its 95% interval as they were at so many reports."""
