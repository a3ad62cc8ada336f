"""Errors as answers: one shape, one sentence, and the status that fits."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.responses import FileResponse, Response

from .. import errors

MISSING = Path(__file__).parent / "web" / "missing.html"
LONGEST = 100
"""Letters of a place in a request that is named."""
STATUS: dict[type[errors.DpairsError], int] = {
    errors.NotAllowed: 401,
    errors.NotYours: 403,
    errors.NotFound: 404,
    errors.NotYet: 404,
    errors.TooSlow: 408,
    errors.Conflict: 409,
    errors.Closed: 409,
    errors.WrongStudy: 409,
    errors.NotAsked: 409,
    errors.AlreadyAnswered: 409,
    errors.NotEnoughData: 409,
    errors.NotEstimable: 409,
    errors.LimitExceeded: 409,
    errors.TooLarge: 413,
    errors.InvalidInput: 422,
    errors.TooMany: 429,
    errors.Unavailable: 503,
    errors.ServiceError: 500,
}
WORDS = {
    401: "No token, or one that is not known.",
    403: "A token for something else.",
    404: "There is no such thing, or not yet.",
    408: "The request took too long to arrive.",
    409: "It contradicts what was done before, or comes too late or too early.",
    413: "The request is too large.",
    422: "The request cannot be used.",
    429: "Too many requests.",
    503: "The collector cannot answer now.",
}


class Problem(BaseModel):
    """Why something was not done."""

    error: str
    """The kind of error: a name of `dpairs.errors`."""
    message: str
    """One sentence."""


def declared(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer besides its result, for the API's description."""
    every = sorted({*statuses, 408, 413, 429, 503})
    return {status: {"model": Problem, "description": WORDS[status]} for status in every}


def status_of(error: errors.DpairsError) -> int:
    """The status of an error: its own, or that of the nearest kind above it."""
    return next((STATUS[kind] for kind in type(error).__mro__ if kind in STATUS), 422)


def answer(error: errors.DpairsError) -> Response:
    """An error as an answer."""
    body = json.dumps({"error": type(error).__name__, "message": str(error)})
    status = status_of(error)
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status in (429, 503):
        headers["Retry-After"] = "1"
    return Response(body, status, headers, "application/json")


def install(app: FastAPI) -> None:
    """Make every error of an app have that shape; what nobody expected is answered by `Limits`."""

    @app.exception_handler(errors.DpairsError)
    async def ours(_: Request, error: errors.DpairsError) -> Response:
        return answer(error)

    @app.exception_handler(RequestValidationError)
    async def invalid(_: Request, error: RequestValidationError) -> Response:
        _let_go(error)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body") or "the request"
        if not place.isprintable() or len(place) > LONGEST:  # names of fields are the sender's
            place = "a field of the request"
        return answer(errors.BadValue(f"{place} cannot be used: {first['msg'].lower()}"))

    @app.exception_handler(HTTPException)
    async def http(request: Request, error: HTTPException) -> Response:
        _let_go(error)
        page = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if error.status_code in (404, 405) and page and not request.url.path.startswith("/api/"):
            return FileResponse(MISSING, 404)
        if error.status_code == 400:
            return answer(errors.BadValue("the request cannot be read as JSON"))
        if error.status_code == 404:
            return answer(errors.NotFound("there is no such page"))
        body = json.dumps({"error": "InvalidInput", "message": f"{error.detail}".lower()})
        return Response(body, error.status_code, error.headers, "application/json")


def _let_go(error: Exception) -> None:
    """Forget what the frames of an error hold.

    A frame of FastAPI's that could not read a body holds the body and, by its own error, itself: it would
    stay in memory until the next search for garbage, which is rare here, and outside of the budget.
    """
    traceback.clear_frames(error.__traceback__)
