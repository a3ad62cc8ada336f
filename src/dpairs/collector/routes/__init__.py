"""The API, by who uses it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from ..bodies import SMALL, header
from ..live_study import LiveStudy
from ..service import Service
from ..tokens import Holder

API = "/api/v1"
bearer = HTTPBearer(auto_error=False, description="The analyst's token, or a participant's secret.")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


def add(app: FastAPI, router: APIRouter) -> None:
    """Serve a router's own routes: `include_router` would read every signature again at the first request."""
    app.router.routes.extend(router.routes)


async def service_of(request: Request) -> Service:
    """The collector that a request came to."""
    service: Service = request.app.state.service
    return service


Serving = Annotated[Service, Depends(service_of)]


def of_anybody(_: Service, __: Request) -> int:
    """Admits everybody, with a small body."""
    return SMALL


def of_analyst(service: Service, request: Request) -> int:
    service.check_analyst(token_of(request))
    return service.settings.body_limit


def of_participant(service: Service, request: Request) -> int:
    """Admits who has a participant's secret of the study that the path names."""
    live = service.find(request.path_params["study"])
    request.state.holder = service.secrets.participant(live, token_of(request))
    return service.settings.body_limit


def of_gateway(service: Service, request: Request) -> int:
    """Admits who has a gateway's secret of the study that the path names."""
    live = service.find(request.path_params["study"])
    request.state.holder = service.secrets.gateway(live, token_of(request))
    return service.settings.batch_limit


def of_site(service: Service, request: Request) -> int:
    """Admits who has a site's secret of the study that the path names."""
    live = service.find(request.path_params["study"])
    request.state.holder = service.secrets.site(live, token_of(request))
    return service.settings.body_limit


def holder_of(request: Request) -> Holder:
    """Whom the request's secret belongs to: the route has admitted it."""
    holder: Holder = request.state.holder
    return holder


def token_of(request: Request) -> str | None:
    """The bearer token of a request, if any."""
    return bearer_token(header(request, b"authorization"))


def bearer_token(header: str) -> str | None:
    """The token of an Authorization header."""
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


async def analyst(service: Serving, credentials: Bearer) -> Service:
    """The collector, for its analyst only."""
    service.check_analyst(credentials.credentials if credentials is not None else None)
    return service


Analyst = Annotated[Service, Depends(analyst)]
StudyPath = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The study's id.")]


async def study_of(service: Serving, study: StudyPath) -> LiveStudy:
    """The study that a path names."""
    return service.find(study)


OfStudy = Annotated[LiveStudy, Depends(study_of)]
