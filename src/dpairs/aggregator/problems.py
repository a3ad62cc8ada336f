"""Errors as problem documents (RFC 9457), with the names that DAP has for them."""

from __future__ import annotations

import json

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException
from starlette.responses import Response

from .. import errors
from ..collector.problems import status_of

URN = "urn:ietf:params:ppm:dap:error:"


def answer(error: errors.DpairsError, task: str | None = None) -> Response:
    """An error as an answer; ``error`` and ``message`` are for programs of this project."""
    kind, status = "about:blank", status_of(error)
    if isinstance(error, errors.Refused):
        kind, status = URN + error.kind, 400
    elif isinstance(error, errors.InvalidInput):
        kind, status = URN + "invalidMessage", 400
    elif isinstance(error, errors.NotFound):
        kind = URN + "unrecognizedTask"
    content = {"type": kind, "status": status, "detail": str(error)}
    content |= {"error": type(error).__name__, "message": str(error)}
    if task is not None:
        content["taskid"] = task
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status in (429, 503):
        headers["Retry-After"] = "1"
    return Response(json.dumps(content), status, headers, "application/problem+json")


def install(app: FastAPI) -> None:
    @app.exception_handler(errors.DpairsError)
    async def ours(request: Request, error: errors.DpairsError) -> Response:
        return answer(error, request.path_params.get("task"))

    @app.exception_handler(HTTPException)
    async def http(_: Request, error: HTTPException) -> Response:
        content = {"type": "about:blank", "status": error.status_code, "detail": str(error.detail).lower()}
        content |= {"error": "NotFound", "message": str(error.detail).lower()}
        return Response(
            json.dumps(content), error.status_code, error.headers, media_type="application/problem+json"
        )
