"""Reports without a reference to their round, which PostgreSQL looked up for every row of a batch."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, ForeignKey, Integer, SmallInteger

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _rebuild(Column("round", Integer, primary_key=True, autoincrement=False))
    else:
        op.drop_constraint("reports_round_fkey", "reports", type_="foreignkey")


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        _rebuild(Column("round", Integer, ForeignKey("rounds.serial", ondelete="CASCADE"), primary_key=True))
    else:
        op.create_foreign_key(
            "reports_round_fkey", "reports", "rounds", ["round"], ["serial"], ondelete="CASCADE"
        )


def _rebuild(first: Column[int]) -> None:
    """SQLite changes no constraint of a table: it is written anew, in its order."""
    op.create_table(
        "reports_anew",
        first,
        Column("stratum", SmallInteger, primary_key=True),
        Column("index", BigInteger, primary_key=True, autoincrement=False),
        Column("symbol", BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.execute(
        'insert into reports_anew select round, stratum, "index", symbol from reports order by 1, 2, 3'
    )
    op.drop_table("reports")
    op.rename_table("reports_anew", "reports")
