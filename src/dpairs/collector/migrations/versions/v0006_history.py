"""The history of an estimate under its own name."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

OLD, NEW = "growth", "estimate_history"


def upgrade() -> None:
    _rename(OLD, NEW)


def downgrade() -> None:
    _rename(NEW, OLD)


def _rename(before: str, after: str) -> None:
    op.rename_table(before, after)
    if op.get_bind().dialect.name == "postgresql":
        # A table's constraints keep the name that it had.
        for constraint in ("pkey", "round_fkey"):
            op.execute(f"alter table {after} rename constraint {before}_{constraint} to {after}_{constraint}")
