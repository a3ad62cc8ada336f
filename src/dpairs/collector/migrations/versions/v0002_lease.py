"""A lease for whoever may write, epochs of studies, and what the analyst calls things."""

from __future__ import annotations

from alembic import op
from sqlalchemy import BigInteger, Column, Integer, String, Text

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "lease",
        Column("id", Integer, primary_key=True, autoincrement=False),
        Column("epoch", BigInteger, nullable=False),
        Column("serial", BigInteger, nullable=False),
        Column("holder", String(200)),
        Column("clock", BigInteger, nullable=False),
    )
    op.execute("insert into lease (id, epoch, serial, clock) values (1, 0, 0, 0)")
    # Without an epoch, the secrets of studies that run are what they were.
    for name, kind, value in (("epoch", String(32), ""), ("words", Text, "{}")):
        op.add_column("studies", Column(name, kind, nullable=False, server_default=value))
    # From here on, messages are as old as the time that was served since.
    op.execute("update messages set at = 0")


def downgrade() -> None:
    with op.batch_alter_table("studies") as studies:
        studies.drop_column("words")
        studies.drop_column("epoch")
    op.drop_table("lease")
