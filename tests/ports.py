"""Ports that nobody listens on at the moment."""

from __future__ import annotations

import socket
from contextlib import ExitStack


def free_ports(count: int) -> list[int]:
    """All different: one that is closed before the next is asked for may come again."""
    with ExitStack() as held:
        lines = [held.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [int(line.getsockname()[1]) for line in lines]


def free_port() -> int:
    return free_ports(1)[0]
