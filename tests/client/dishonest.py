"""A collector that serves what it likes: a double of the transport, which keeps what devices send."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from dpairs import Study
from dpairs.client import Transport
from dpairs.errors import NotFound

BASE = "http://dishonest.example"
Serve = Callable[[str, str, "bytes | None"], Any]


class Dishonest(Transport):
    """Answers by ``serve(method, path, body)``: bytes as they are, errors raised, anything else as JSON."""

    def __init__(self, serve: Serve) -> None:
        super().__init__(BASE, patience=0.0)
        self._serve = serve
        self.sent: list[tuple[str, bytes]] = []
        """Reports and messages that left a device: the path and the body."""

    @property
    def reports(self) -> list[bytes]:
        return [body for path, body in self.sent if path.endswith("/reports")]

    def bytes(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        token: str | None = None,
        kind: str = "application/octet-stream",
    ) -> bytes:
        if body is not None and not path.endswith("/people"):
            self.sent.append((path, body))
        answer = self._serve(method, path, body)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, bytes) else json.dumps(answer).encode()


def link_to(study: str) -> str:
    return f"{BASE}/take-part/{study}"


def serving(
    now: Study, first: Study | None = None, *, index: int = 0, stratum: str | None = None, **more: Any
) -> Serve:
    """A collector at which ``now`` is open, whose first round is said to be ``first``."""
    group = stratum or now.statistic.strata[0]

    def serve(method: str, path: str, body: bytes | None) -> Any:
        if path.endswith("/people"):
            return {"index": index, "stratum": group, "secret": "s"}
        if path.endswith("/rounds/1"):
            return NotFound("no") if first is None else json.loads(first.to_json())
        if path.endswith("/reports"):
            return {"outcome": "counted"}
        return {
            "study": json.loads(now.to_json()),
            "state": "open",
            "title": "T",
            "promise": "epsilon 0.0001",
            **more,
        }

    return serve
