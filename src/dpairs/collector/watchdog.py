"""A database that does not answer: after some seconds the connection is cut, so that nobody waits for ever.

A server that is frozen, or a network that swallows what is sent, leaves a client waiting in a read without an
end. PostgreSQL's own limits are counted by that server, and so do not help here.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import structlog

LOOK = 0.5
log = structlog.get_logger()


class Watchdog:
    """Cuts connections of psycopg that are in use for longer than they should be."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[int, tuple[float, int]] = {}
        """By connection: when to cut it, and its socket."""
        self._ended = threading.Event()
        threading.Thread(target=self._run, name="watchdog", daemon=True).start()

    @contextlib.contextmanager
    def watch(self, driver: Any, seconds: float) -> Iterator[None]:
        """Cut this connection if what follows takes longer."""
        with contextlib.ExitStack() as stack:
            # A handle of our own: the number of a closed one may belong to somebody else.
            try:
                handle = os.dup(driver.pgconn.socket)
            except Exception as error:
                # Broken already: whoever uses it is told so. The driver's words may hold an address.
                log.warning("a connection is not watched", reason=type(error).__name__)
                yield
                return
            stack.callback(os.close, handle)
            with self._lock:
                self._watched[handle] = (time.monotonic() + seconds, handle)
            try:
                yield
            finally:
                with self._lock:
                    del self._watched[handle]

    def close(self) -> None:
        self._ended.set()

    def _run(self) -> None:
        while not self._ended.wait(LOOK):
            now = time.monotonic()
            with self._lock:
                for deadline, handle in self._watched.values():
                    if now > deadline:
                        with contextlib.suppress(OSError), socket.socket(fileno=os.dup(handle)) as line:
                            line.shutdown(socket.SHUT_RDWR)
