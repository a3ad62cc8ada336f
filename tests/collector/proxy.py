"""A bad network between a collector and PostgreSQL: it delays, swallows, refuses, or cuts after COMMIT."""

from __future__ import annotations

import contextlib
import re
import socket
import threading
import time
from pathlib import Path

COMMIT = b"COMMIT\x00"
FENCED = re.compile(rb"P.{4}([^\0]*)\0with fence as", re.DOTALL)
"""A statement that is a transaction of its own, and the name under which it is prepared, if any."""


class Proxy:
    """Listens on a port of its own; ``mode`` is pass, delay, swallow or refuse."""

    def __init__(self, server: Path) -> None:
        self._server = server
        self._line = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self._line.getsockname()[1]
        self.mode = "pass"
        self.cut_commits = 0
        """How many of the next commits reach the server without their answers coming back."""
        self.cut = 0
        """How many were cut so far."""
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def address(self, name: str = "postgres") -> str:
        return f"postgresql+psycopg://postgres@127.0.0.1:{self.port}/{name}"

    def sever(self) -> None:
        """Cut all connections."""
        with self._lock:
            lines, self._open = self._open, set()
        for line in lines:
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self.mode = "refuse"
        with contextlib.suppress(OSError):
            self._line.shutdown(socket.SHUT_RDWR)
        self._line.close()
        self.sever()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._line.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            try:
                if self.mode == "refuse":
                    raise OSError
                server.connect(str(self._server))
            except OSError:
                client.close()
                server.close()
                continue
            with self._lock:
                self._open |= {client, server}
            for source, target in ((client, server), (server, client)):
                threading.Thread(target=self._pump, args=(source, target, client), daemon=True).start()

    def _pump(self, source: socket.socket, target: socket.socket, client: socket.socket) -> None:
        prepared: set[bytes] = set()
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.mode == "delay":
                    time.sleep(0.2)  # this is the network, not a wait for something
                if self.mode == "swallow":
                    continue
                if source is client and _commits(data, prepared) and self._take_cut():
                    # The answer has nowhere to go: the server commits, and nobody hears of it.
                    client.shutdown(socket.SHUT_RD)
                    client.setsockopt(
                        socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00"
                    )
                    self._forget(client)
                    client.close()
                target.sendall(data)
        for line in (source, target):
            self._forget(line)
            with contextlib.suppress(OSError):
                line.shutdown(socket.SHUT_RDWR)
            line.close()

    def _take_cut(self) -> bool:
        with self._lock:
            if self.cut_commits == 0:
                return False
            self.cut_commits -= 1
            self.cut += 1
            return True

    def _forget(self, line: socket.socket) -> None:
        with self._lock:
            self._open.discard(line)


def _commits(data: bytes, prepared: set[bytes]) -> bool:
    """Whether a message asks for a commit; statements of this connection that do are noted by their names."""
    parsed = FENCED.search(data)
    if parsed and parsed[1]:
        prepared.add(parsed[1])
        return False
    return bool(parsed) or COMMIT in data or any(b"\0" + name + b"\0" in data for name in prepared)
