"""The history of an estimate with its interval, which may hold a bias and ends at the statistic's range."""

from __future__ import annotations

from alembic import op
from sqlalchemy import Column, Float

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

Z = 1.959963984540054
"""Standard errors from the value to the end of an interval without a bias, as the chart drew it before."""


def upgrade() -> None:
    op.add_column("growth", Column("low", Float))
    op.add_column("growth", Column("high", Float))
    op.execute(f"update growth set low = value - {Z} * standard_error, high = value + {Z} * standard_error")  # noqa: S608
    op.drop_column("growth", "standard_error")


def downgrade() -> None:
    op.add_column("growth", Column("standard_error", Float))
    op.execute(f"update growth set standard_error = (high - low) / {2 * Z}")  # noqa: S608
    op.drop_column("growth", "low")
    op.drop_column("growth", "high")
