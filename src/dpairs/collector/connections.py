"""Connections: a request's head is small and arrives soon, or the connection is closed.

Uvicorn bounds neither. Whoever sends a head without an end, or half of one on many connections, would hold
memory and sockets for as long as they like.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD = 2**16
"""Bytes of a request's line and headers."""
HEAD_SECONDS = 10.0
"""How long the head may take, from the first byte, or from when the connection was made."""
MOST_CONNECTIONS = 4096
"""Open at once; beyond it whoever has waited longest without a whole head makes room."""
OTHER_FILES = 128
"""Files that connections leave to the database and to everything else."""
FRAMED = (b"content-length", b"transfer-encoding")
"""Headers of a request that has a body."""
MOST_AHEAD = 16
"""Requests on one connection that wait for the answer to an earlier one."""


class BoundedProtocol(HttpToolsProtocol):
    """Uvicorn's protocol with bounds on a request's head."""

    waiting: dict[BoundedProtocol, None] = {}  # noqa: RUF012  of one event loop, oldest first
    _timer: asyncio.TimerHandle | None = None
    _size = 0
    """Bytes since the last that belonged to a body: of a head, or of what may follow a body in pieces."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            idle = next(iter(self.waiting), self)
            self.waiting.pop(idle, None)
            idle.transport.abort()
        if not transport.is_closing():
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_ended()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._timer is None and not getattr(self.cycle, "more_body", False):
            self._await_head()
        self._size += len(data)
        super().data_received(data)
        if self._size > MOST_HEAD:
            self._refuse(b"431 Request Header Fields Too Large", "TooLarge", self._too_large())

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._timer is None:  # one of several requests that came at once
            self._await_head()

    def on_headers_complete(self) -> None:
        if self.transport.is_closing():  # what came with a request that was refused
            return
        if sum(len(name) + len(value) + 4 for name, value in self.headers) + len(self.url) > MOST_HEAD:
            self._refuse(b"431 Request Header Fields Too Large", "TooLarge", self._too_large())
            return
        if self.parser.should_upgrade() and any(name in FRAMED for name, _ in self.headers):
            # The parser takes what follows for another protocol's, and then for the next request.
            self._refuse(
                b"400 Bad Request", "InvalidInput", "a request that asks for another protocol has no body"
            )
            return
        if len(self.pipeline) >= MOST_AHEAD:
            self.transport.close()
            return
        self._head_ended()
        super().on_headers_complete()
        # What follows a body in pieces is no part of the head: a token there would be nobody's to check.
        self.headers = []

    def on_body(self, body: bytes) -> None:
        self._size = 0
        if self.cycle is not None:
            super().on_body(body)

    def on_message_complete(self) -> None:
        self._size = 0
        if self.cycle is not None:
            super().on_message_complete()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.cycle.response_complete and not self.transport.is_closing():
            self.waiting.setdefault(self, None)

    def send_400_response(self, msg: str) -> None:
        if not self.transport.is_closing():
            self._refuse(b"400 Bad Request", "InvalidInput", "this is not a request of HTTP")

    def _too_large(self) -> str:
        return f"the head of a request has at most {MOST_HEAD} bytes here"

    def _await_head(self) -> None:
        self._head_ended()
        self._timer = self.loop.call_later(HEAD_SECONDS, self._too_slow)
        self.waiting[self] = None

    def _head_ended(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._size = 0
        self.waiting.pop(self, None)

    def _too_slow(self) -> None:
        said = f"the head of a request must arrive within {HEAD_SECONDS:g} seconds"
        self._refuse(b"408 Request Timeout", "TooSlow", said)

    def _refuse(self, status: bytes, kind: str, said: str) -> None:
        self._head_ended()
        if self.transport.is_closing():
            return
        body = json.dumps({"error": kind, "message": said}).encode()
        head: list[bytes] = [
            b"HTTP/1.1 " + status,
            b"content-type: application/json",
            b"content-length: %d" % len(body),
            b"connection: close",
        ]
        self.transport.write(b"\r\n".join([*head, b"", body]))
        self.transport.close()


def most_connections() -> int:
    """Fewer where the system allows this process fewer files."""
    try:
        import resource
    except ImportError:
        return MOST_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    return min(MOST_CONNECTIONS, max(files // 2, files - OTHER_FILES))


def options() -> dict[str, Any]:
    """What a collector's server is given besides its app."""
    return {
        "http": BoundedProtocol,
        "ws": "none",
        "access_log": False,  # it would name addresses
        "log_config": None,
        "log_level": "error",  # anybody can send what is no request, as often as they like
        "server_header": False,
        "timeout_keep_alive": 30,
    }
