"""Sites that hold many records, and their answers."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, LargeBinary, String, Text, UniqueConstraint

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "sites",
        Column("study", String(64), ForeignKey("studies.id", ondelete="CASCADE"), primary_key=True),
        Column("index", BigInteger, primary_key=True, autoincrement=False),
        Column("name", String(100), nullable=False),
        Column("request", String(64), nullable=False),
        Column("key", LargeBinary, nullable=False),
        UniqueConstraint("study", "name"),
        UniqueConstraint("study", "request"),
    )
    op.create_table(
        "answers",
        Column("round", Integer, ForeignKey("rounds.serial", ondelete="CASCADE"), primary_key=True),
        Column("index", BigInteger, primary_key=True, autoincrement=False),
        Column("body", Text, nullable=False),
        Column("signature", LargeBinary, nullable=False),
        Column("refused", Integer, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("answers")
    op.drop_table("sites")
