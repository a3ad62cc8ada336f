"""The requests that the servers answer: of DAP, of our own steps, and what anybody may look at."""

from __future__ import annotations

import base64
import hmac

from fastapi import Request
from starlette.responses import Response

from ...collector.bodies import SMALL
from ...collector.routes import bearer_token
from ...dap.products import needed, reply_size
from ...errors import NotAllowed, Refused
from ..service import Aggregator

DAP = "application/ppm-dap"


def service_of(request: Request) -> Aggregator:
    service: Aggregator = request.app.state.service
    return service


def token_of(request: Request) -> str | None:
    return bearer_token(request.headers.get("authorization", ""))


def of_anybody(service: Aggregator, request: Request) -> int:
    """Admits reports of everybody, of a size that this task's reports have."""
    leader = service.leader(request.path_params["task"])
    return max(service.settings.body_limit, 1000 + leader.store.task.vdaf.report_size)


def of_analyst(service: Aggregator, request: Request) -> int:
    service.check_analyst(service.leader(request.path_params["task"]), token_of(request))
    return SMALL


def of_leader(service: Aggregator, request: Request) -> int:
    """Admits who shows the token that the operators agreed on."""
    name = request.path_params["task"]
    task, token = service.helper(name).store.task, token_of(request)
    if token is None or not hmac.compare_digest(token.encode(), service.recipes[name].token.encode()):
        raise NotAllowed("this needs the leader's token, as a bearer token")
    return max(service.settings.batch_limit, reply_size(task) if needed(task) else 0)


def check_kind(request: Request, message: str) -> None:
    """Refuse a body of another kind."""
    kind, *parameters = (part.strip() for part in request.headers.get("content-type", "").split(";"))
    if kind.lower() != DAP or f"message={message}" not in parameters:
        raise Refused(f"the content must be of the type {DAP};message={message}", "invalidMessage")


def dap(body: bytes, message: str, **headers: str) -> Response:
    return Response(body, 200, headers, f"{DAP};message={message}")


def letters(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


def from_letters(given: str) -> bytes:
    """The id of a resource in a path."""
    try:
        return base64.b64decode(given + "=" * (-len(given) % 4), altchars=b"-_", validate=True)
    except ValueError:
        raise Refused("there is no such resource here", "invalidMessage") from None
