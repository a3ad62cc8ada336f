"""How alembic runs here: on the connection that it is given."""

from __future__ import annotations

from alembic import context

from dpairs.collector.schema import metadata

context.configure(
    connection=context.config.attributes["connection"], target_metadata=metadata, render_as_batch=True
)
with context.begin_transaction():
    context.run_migrations()
