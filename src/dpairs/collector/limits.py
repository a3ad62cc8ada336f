"""What every request passes: how many, how large, how slow; and the headers of every answer.

The whole body is read here, bounded in size and time, before anything looks at it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import DpairsError, TooLarge, TooMany, TooSlow, Unavailable
from . import problems
from .routes import API, bearer_token

if TYPE_CHECKING:
    from .service import Service

ADDRESSES = 100_000
"""Addresses that are remembered at once."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'none'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = [
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
]
NO_STORE = (b"cache-control", b"no-store")
UNLIMITED = ("/healthz", "/metrics")
REPORTS = re.compile(f"^{API}/studies/([0-9a-f]{{64}})/reports$")
REPORTS_ROUTE = f"{API}/studies/{{study}}/reports"
TakeReport = Callable[["Service", str, str | None, str, bytes], Awaitable[Response]]
"""From the study's id, the token, the content type and the body to the answer."""


class Limits:
    """An ASGI layer around the app."""

    def __init__(self, app: ASGIApp, service: Service, report: TakeReport) -> None:
        self._app, self._service, self._report = app, service, report
        self._settings = service.settings
        self._buckets: dict[str, tuple[float, float]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, route = time.perf_counter(), 500, ""

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ())) + HEADERS
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append(NO_STORE)
                message["headers"] = headers
            await send(message)

        try:
            try:
                self._count(scope)
                body = await self._read(scope, receive)
            except (TooMany, TooLarge, TooSlow) as error:
                response = problems.answer(error)
                # What is left of a body that is not read would be taken for the next request.
                response.headers["connection"] = "close"
                await response(scope, receive, respond)
                return
            try:
                async with asyncio.timeout(self._settings.answer_seconds):
                    found = REPORTS.match(scope["path"]) if scope["method"] == "POST" else None
                    if found is not None:
                        route = REPORTS_ROUTE
                        await (await self._take(scope, found[1], body))(scope, receive, respond)
                    else:
                        await self._app(scope, _replay(body, receive), respond)
            except TimeoutError:
                await problems.answer(Unavailable("the answer took too long"))(scope, receive, respond)
        finally:
            route = route or getattr(scope.get("route"), "path", "other")
            method = scope["method"] if route != "other" else "-"
            self._service.metrics.answered(route, method, status, time.perf_counter() - began)

    async def _take(self, scope: Scope, study: str, body: bytes) -> Response:
        """A report, which is what nearly all requests are, without the way through all routes."""
        token, kind = "", ""
        for name, value in scope["headers"]:
            if name == b"authorization":
                token = value.decode("latin-1")
            elif name == b"content-type":
                kind = value.decode("latin-1")
        try:
            return await self._report(self._service, study, bearer_token(token), kind, body)
        except DpairsError as error:
            return problems.answer(error)

    def _count(self, scope: Scope) -> None:
        """Refuse an address that asks too often. Addresses are kept for some seconds, in memory only."""
        rate, burst = self._settings.rate, self._settings.burst
        client = scope.get("client")
        if rate == 0 or client is None or scope["path"] in UNLIMITED:
            return
        now = time.monotonic()
        left, then = self._buckets.get(client[0], (float(burst), now))
        left = min(float(burst), left + (now - then) * rate)
        if left < 1:
            raise TooMany("there were too many requests from this address; try again in a moment")
        if len(self._buckets) >= ADDRESSES:
            full = [each for each, (_, then) in self._buckets.items() if (now - then) * rate > burst]
            for each in full or list(self._buckets)[: ADDRESSES // 2]:
                del self._buckets[each]
        self._buckets[client[0]] = (left - 1, now)

    async def _read(self, scope: Scope, receive: Receive) -> bytes:
        if scope["method"] in ("GET", "HEAD", "DELETE", "OPTIONS"):
            limit = 65536
        else:
            batch = scope["path"].endswith("/batches")
            limit = self._settings.batch_limit if batch else self._settings.body_limit
        for name, value in scope["headers"]:
            if name == b"content-length" and (not value.isdigit() or int(value) > limit):
                raise TooLarge(f"a request has at most {limit} bytes here")
        parts, size = [], 0
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        break
                    part = message.get("body", b"")
                    size += len(part)
                    if size > limit:
                        raise TooLarge(f"a request has at most {limit} bytes here")
                    parts.append(part)
                    if not message.get("more_body", False):
                        break
        except TimeoutError:
            seconds = self._settings.body_seconds
            raise TooSlow(f"a request must arrive within {seconds:g} seconds") from None
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    given = False

    async def again() -> Message:
        nonlocal given
        if not given:
            given = True
            return {"type": "http.request", "body": body, "more_body": False}
        return await receive()

    return again
