"""The writer's own connection to PostgreSQL, which stays open from one statement to the next.

A pool takes a fifth of a statement's time to lend a connection and take it back, and its readers may have all
of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import structlog
from sqlalchemy import URL, Connection, create_engine, event

log = structlog.get_logger()


class Line:
    """One connection, on which each statement is a transaction; for one thread at a time."""

    def __init__(
        self,
        url: URL,
        arguments: Mapping[str, Any],
        prepare: Callable[[Any, Any], None],
        ping: Callable[..., None],
        idle: float,
    ) -> None:
        """It is made ready by ``prepare``, and asked for life by ``ping`` if unused for ``idle`` seconds."""
        # The engine commits each statement, not the connection: SQLAlchemy may open another in its place.
        self._engine = create_engine(
            url, connect_args=dict(arguments), isolation_level="AUTOCOMMIT", pool_size=1, max_overflow=0
        )
        event.listen(self._engine, "checkout", ping)
        event.listen(self._engine, "connect", prepare)
        self._idle = idle
        self._used = 0.0
        self._connection: Connection | None = None

    def connection(self) -> Connection:
        now = time.monotonic()
        if self._connection is None or self._connection.invalidated or now - self._used >= self._idle:
            self._let_go()
            self._connection = self._engine.connect()
        self._used = now
        return self._connection

    def at_hand(self) -> Any | None:
        """The driver's connection if it was used just now: nobody has to open it or ask it for life."""
        now = time.monotonic()
        if self._connection is None or self._connection.invalidated or now - self._used >= self._idle:
            return None
        self._used = now
        return self._connection.connection.driver_connection

    def cut(self) -> None:
        """Give up a connection of which nobody knows where it stands."""
        if self._connection is not None:
            try:
                self._connection.invalidate()
            except Exception as error:  # of any driver: the connection is gone either way
                log.warning("a connection broke while it was given up", reason=type(error).__name__)

    def close(self) -> None:
        self._let_go()
        self._engine.dispose()

    def _let_go(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()
