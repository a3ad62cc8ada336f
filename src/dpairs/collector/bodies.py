"""Bodies of requests: read only from those who may send them, within bounds of size, time and memory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Protocol

from fastapi import Request
from fastapi.routing import APIRoute
from starlette.responses import Response

from ..errors import BadFile, DpairsError, TooLarge, TooSlow, Unavailable
from . import problems
from .settings import Settings

SMALL = 2**16
"""Bytes that anybody may send. More is read from those alone whose token is known, out of the budget."""
COPIES = 3
"""How often a large body is in memory at its worst: as it arrives, whole, and as numbers."""
Admit = Callable[[Any, Request], int]
"""How many bytes this request may have: it looks at the head alone, and raises for whoever may send none."""
Handle = Callable[[Request], Coroutine[Any, Any, Response]]

Refuse = Callable[[DpairsError], Response]


class Budget:
    """The memory of all large bodies together."""

    def __init__(self, size: int) -> None:
        self._size, self._used = size, 0

    @property
    def used(self) -> int:
        return self._used

    def take(self, size: int) -> None:
        if self._used + size > self._size:
            raise Unavailable("too much is being sent at once; try again in a moment")
        self._used += size

    def give_back(self, size: int) -> None:
        self._used -= size


class Bounding(Protocol):
    """A service, as far as bodies go."""

    @property
    def settings(self) -> Settings: ...

    @property
    def budget(self) -> Budget: ...


def bounded(admit: Admit, refuse: Refuse = problems.answer) -> type[APIRoute]:
    """Routes that admit a request by its head before they read its body; ``refuse`` words a refusal."""

    class Bounded(APIRoute):
        def get_route_handler(self) -> Handle:
            return partial(answer, admit, super().get_route_handler(), refuse=refuse)

    return Bounded


async def answer(
    admit: Admit, handle: Handle, request: Request, *, refuse: Refuse = problems.answer
) -> Response:
    """Admit a request by its head, read its body, and only then handle it."""
    service: Bounding = request.app.state.service
    try:
        limit = admit(service, request)
    except DpairsError as error:
        return _unread(request, refuse(error))
    if request.method not in ("POST", "PUT"):
        return await handle(request)
    taken = 0

    def take(size: int) -> None:
        nonlocal taken
        service.budget.take(size)
        taken += size

    try:
        try:
            # FastAPI takes the body from here when it is read already.
            request._body = await _read(request, limit, service.settings.body_seconds, take)
        except DpairsError as error:
            return _unread(request, refuse(error))
        return await handle(request)
    finally:
        service.budget.give_back(taken)


def header(request: Request, name: bytes) -> str:
    """A header by its name in small letters, without a table of all of them; empty if it is missing."""
    return next((value for key, value in request.scope["headers"] if key == name), b"").decode("latin-1")


def _unread(request: Request, response: Response) -> Response:
    if request.method in ("POST", "PUT"):
        # What is left of a body that is not read would be taken for the next request.
        response.headers["connection"] = "close"
    return response


async def _read(request: Request, limit: int, seconds: float, take: Callable[[int], None]) -> bytes:
    declared = header(request, b"content-length")
    if declared and (not declared.isdecimal() or int(declared[:20]) > limit):
        raise TooLarge(f"a request has at most {limit} bytes here")
    # One buffer: a list of pieces of two bytes each would take twenty times their memory.
    body, size, counted = bytearray(), 0, SMALL
    try:
        async with asyncio.timeout(seconds):
            while True:
                message = await request.receive()
                if message["type"] == "http.disconnect":
                    raise BadFile("the request broke off before its end")
                part = message.get("body", b"")
                size += len(part)
                if size > limit:
                    raise TooLarge(f"a request has at most {limit} bytes here")
                if size > counted:
                    take(COPIES * (size - counted))
                    counted = size
                more = message.get("more_body", False)
                if not more and not body:
                    return bytes(part)
                body += part
                if not more:
                    return bytes(body)
    except TimeoutError:
        raise TooSlow(f"a request must arrive within {seconds:g} seconds") from None
