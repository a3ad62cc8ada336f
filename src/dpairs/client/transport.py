"""Requests to a collector, repeated with growing pauses while it cannot be reached or is busy.

urllib3's own `Retry` counts attempts. Here a person, or a gateway, waits for a given number of seconds, and
then gets the collector's own sentence.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any, TypeVar

import urllib3

from .. import errors
from ..randomness import secret_bytes

BUSY = (408, 429, 502, 503, 504)
FAILED, FAILURES = 500, 3
"""A failure may pass: it is tried so often."""
FIRST, LONGEST = 0.05, 5.0
"""Seconds before the second attempt, and between late ones."""
MAX_ANSWER = 512 * 2**20
"""Bytes of an answer that are read."""
MAX_JSON = 64 * 2**20
"""Bytes of JSON that are parsed: in memory they are many times as long."""
PIECE = 2**16
BEGUN = 10.0
"""Seconds that an answer may take at least, once it has begun."""
SLOWEST = 10_000
"""Bytes in a second that are waited for beyond one's patience."""
JSON = "application/json"
T = TypeVar("T")


class Transport:
    """A connection to one collector.

    ``patience`` is the number of seconds before a request raises `Unavailable`, ``most`` the number of bytes
    that an answer may have. All requests of this package may be repeated: the collector acts on each once.
    """

    def __init__(
        self, base: str, *, patience: float = 60.0, timeout: float = 60.0, most: int = MAX_ANSWER
    ) -> None:
        self.base = base.rstrip("/")
        self._patience, self._most = patience, most
        self._pool = urllib3.PoolManager(
            maxsize=4, retries=False, timeout=urllib3.Timeout(connect=10.0, read=timeout)
        )

    def __repr__(self) -> str:
        return f"Transport({self.base!r})"

    def json(
        self, method: str, path: str, content: Mapping[str, Any] | None = None, token: str | None = None
    ) -> Any:
        """A request with JSON both ways."""
        body = None if content is None else json.dumps(content).encode()
        answer = self.bytes(method, path, body, token, JSON)
        if len(answer) > MAX_JSON:
            raise errors.TooLarge(f"{self.base} answers with more than {MAX_JSON} bytes of JSON")
        try:
            return json.loads(answer) if answer else None
        except (ValueError, RecursionError):
            raise errors.Unavailable(f"{self.base} answers, but not as a collector does") from None

    def answer(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        token: str | None = None,
        kind: str = "application/octet-stream",
    ) -> tuple[bytes, Mapping[str, str]]:
        """The same, with the answer's headers, whose names are in small letters."""
        headers = {} if body is None else {"Content-Type": kind}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        deadline = time.monotonic() + self._patience
        attempt = 0
        while True:
            problem: errors.DpairsError
            asked_to_wait = 0.0
            try:
                response = self._pool.request(
                    method,
                    self.base + path,
                    body=body,
                    headers=headers,
                    redirect=False,
                    preload_content=False,
                    # Nobody asked for compressed bytes, which may be a thousand times as long.
                    decode_content=False,
                )
                answer = _body(response, self.base, self._patience, self._most)
                if response.status < 300:
                    return answer, {name.lower(): value for name, value in response.headers.items()}
                problem = _problem(self.base, response.status, answer)
                if response.status not in BUSY and (response.status != FAILED or attempt + 1 >= FAILURES):
                    raise problem
                asked_to_wait = _seconds(response.headers.get("retry-after"))
            except urllib3.exceptions.LocationValueError:
                raise errors.BadParameter(f"{self.base!r} is not an address") from None
            except urllib3.exceptions.HTTPError as error:
                problem = errors.Unavailable(f"{self.base} cannot be reached: {_reason(error)}")
            pause = min(LONGEST, FIRST * 2 ** min(attempt, 20)) * (0.5 + secret_bytes(1)[0] / 256)
            pause = max(pause, asked_to_wait)
            if time.monotonic() + pause > deadline:
                raise problem
            time.sleep(pause)
            attempt += 1

    def bytes(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        token: str | None = None,
        kind: str = "application/octet-stream",
    ) -> bytes:
        """A request with bytes both ways; the collector's error is raised here with its own type."""
        return self.answer(method, path, body, token, kind)[0]


def part(answer: Any, name: str, kind: type[T]) -> T:
    """A part of an answer in JSON, or one sentence if it is not there or of another kind."""
    value = answer.get(name) if isinstance(answer, dict) else None
    if type(value) is not kind:
        raise errors.Unavailable(f"the collector's answer lacks {name}")
    return value


def _body(response: urllib3.BaseHTTPResponse, base: str, patience: float, most: int) -> bytes:
    """The bytes of an answer: not without end, and not one by one for ever."""
    began, size, parts = time.monotonic(), 0, []
    try:
        while piece := response.read1(PIECE):
            parts.append(piece)
            size += len(piece)
            if size > most:
                raise errors.TooLarge(f"{base} answers with more than {most} bytes")
            # Who does not try again still waits for an answer that has begun.
            if time.monotonic() - began > max(patience, BEGUN) + size / SLOWEST:
                raise errors.Unavailable(f"{base} answers too slowly")
    except errors.DpairsError:
        response.close()
        raise
    response.release_conn()
    return b"".join(parts)


def _problem(base: str, status: int, answer: bytes) -> errors.DpairsError:
    """The collector's error, of its own type."""
    try:
        said = json.loads(answer)
        kind = getattr(errors, said["error"])
        if issubclass(kind, errors.DpairsError):
            problem: errors.DpairsError = kind(str(said["message"])[:1000])
            if isinstance(problem, errors.Refused):
                problem.kind = str(said["type"]).rpartition(":")[2][:40]
            return problem
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        pass
    return errors.Unavailable(f"{base} answers with status {status}, and not as a collector does")


def _seconds(header: str | None) -> float:
    """The pause that a server asks for, if it says so in seconds; whoever asks for hours is not believed."""
    return min(LONGEST, float(header)) if header is not None and header.strip().isdecimal() else 0.0


def _reason(error: Exception) -> str:
    reason = getattr(error, "reason", error)
    return str(reason).rpartition(": ")[2][:120] or type(error).__name__
