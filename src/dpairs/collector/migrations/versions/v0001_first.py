"""Every table of version 1; later versions only add to them."""

from __future__ import annotations

from alembic import op
from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Text,
    UniqueConstraint,
)

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def _of(table: str) -> ForeignKey:
    return ForeignKey(f"{table}.{'id' if table == 'studies' else 'serial'}", ondelete="CASCADE")


def upgrade() -> None:
    op.create_table(
        "meta", Column("name", String(40), primary_key=True), Column("value", LargeBinary, nullable=False)
    )
    op.create_table(
        "studies",
        Column("id", String(64), primary_key=True),
        Column("title", Text, nullable=False),
        Column("question", Text, nullable=False),
        Column("state", String(10), nullable=False),
        Column("enrolment", String(10), nullable=False),
        Column("expected", BigInteger),
        Column("created", BigInteger, nullable=False),
    )
    op.create_table(
        "rounds",
        Column("serial", Integer, primary_key=True, autoincrement=True),
        Column("study", String(64), _of("studies"), nullable=False),
        Column("number", SmallInteger, nullable=False),
        Column("body", Text, nullable=False),
        UniqueConstraint("study", "number"),
    )
    op.create_index("ix_rounds_study", "rounds", ["study"])
    op.create_table(
        "people",
        Column("study", String(64), _of("studies"), primary_key=True),
        Column("stratum", SmallInteger, primary_key=True),
        Column("index", BigInteger, primary_key=True, autoincrement=False),
        Column("count", BigInteger, nullable=False),
        Column("request", String(64), nullable=False),
        Column("key", LargeBinary),
        UniqueConstraint("study", "request", "stratum"),
    )
    op.create_table(
        "invitations",
        Column("study", String(64), _of("studies"), primary_key=True),
        Column("code", LargeBinary(32), primary_key=True),
        Column("stratum", SmallInteger),
        Column("request", String(64)),
    )
    op.create_table(
        "reports",
        Column("round", Integer, _of("rounds"), primary_key=True),
        Column("stratum", SmallInteger, primary_key=True),
        Column("index", BigInteger, primary_key=True, autoincrement=False),
        Column("symbol", BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "messages",
        Column("study", String(64), _of("studies"), primary_key=True),
        Column("pair", BigInteger, primary_key=True, autoincrement=False),
        Column("kind", SmallInteger, primary_key=True),
        Column("body", LargeBinary, nullable=False),
        Column("at", BigInteger, nullable=False),
    )
    op.create_table(
        "failures",
        Column("study", String(64), _of("studies"), primary_key=True),
        Column("pair", BigInteger, primary_key=True, autoincrement=False),
        Column("reason", String(10), nullable=False),
    )
    op.create_table(
        "growth",
        Column("round", Integer, _of("rounds"), primary_key=True),
        Column("reports", BigInteger, primary_key=True, autoincrement=False),
        Column("at", BigInteger, nullable=False),
        Column("value", Float),
        Column("standard_error", Float),
    )


def downgrade() -> None:
    for table in (
        "growth",
        "failures",
        "messages",
        "reports",
        "invitations",
        "people",
        "rounds",
        "studies",
        "meta",
    ):
        op.drop_table(table)
