"""What every request passes: how many, how slow an answer; and the headers of every answer."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol

import structlog
from sqlalchemy.exc import SQLAlchemyError
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..errors import NotFound, ServiceError, TooMany, Unavailable
from . import problems
from .database import cause
from .rates import Rates
from .settings import Settings

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
UNLIMITED = ("/healthz", "/readyz", "/metrics")
Headers = list[tuple[bytes, bytes]]
log = structlog.get_logger()


class Limited(Protocol):
    """A service, as far as limits go."""

    @property
    def settings(self) -> Settings: ...

    @property
    def metrics(self) -> Any: ...


class Limits:
    """An ASGI layer around the app."""

    def __init__(self, app: ASGIApp, service: Limited, headers: Headers = HEADERS) -> None:
        self._app, self._service, self._headers = app, service, headers
        self._seconds = service.settings.answer_seconds
        self._rates = Rates(service.settings.rate, service.settings.burst)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0
        loop = asyncio.get_running_loop()
        moved = loop.time()
        # Whoever asks for the head of an answer gets it: the server leaves its body out.
        scope = {**scope, "method": "GET"} if scope["method"] == "HEAD" else scope
        # Answers are whole: what goes on from a place, such as an export, is asked for in the address.
        if scope["method"] == "GET":
            scope["headers"] = [header for header in scope["headers"] if header[0] != b"range"]

        async def respond(message: Message) -> None:
            nonlocal status, moved
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = list(message.get("headers", ())) + self._headers
                if not any(name == b"cache-control" for name, _ in headers):
                    headers.append(NO_STORE)
                message["headers"] = headers
            # An answer may be long; what must not stop is its progress.
            if loop.time() - moved > self._seconds / 8:
                moved = loop.time()
                timeout.reschedule(moved + self._seconds)
            await send(message)

        try:
            async with asyncio.timeout(self._seconds) as timeout:
                response = await self._answer(scope, receive, respond)
            if response is not None and status == 0:
                moved = loop.time()
                async with asyncio.timeout(self._seconds) as timeout:
                    await response(scope, receive, respond)
        except TimeoutError:
            if status == 0:
                async with asyncio.timeout(self._seconds) as timeout:
                    await problems.answer(Unavailable("the answer took too long"))(scope, receive, respond)
            else:
                log.warning("an answer was cut off", seconds=self._seconds)
        finally:
            route = getattr(scope.get("route"), "path", "other")
            method = scope["method"] if route != "other" else "-"
            self._service.metrics.answered(route, method, status or 500, time.perf_counter() - began)

    async def _answer(self, scope: Scope, receive: Receive, respond: Send) -> Response | None:
        """Let the app answer, or return what to say in its place."""
        client = scope.get("client")
        try:
            if client is not None and scope["path"] not in UNLIMITED:
                self._rates.count(client[0])
            if not scope["path"].isprintable():  # routes would take one with a line's end for theirs
                return problems.answer(NotFound("there is no such page"))
            await self._app(scope, receive, respond)
        except TooMany as error:
            return problems.answer(error)
        except SQLAlchemyError as error:
            log.error("the database failed", reason=cause(error))
            return problems.answer(Unavailable("the database does not answer now; try again"))
        except Exception as error:
            log.exception("an answer failed", reason=type(error).__name__)
            return problems.answer(ServiceError("something failed here, and was logged"))
        return None
