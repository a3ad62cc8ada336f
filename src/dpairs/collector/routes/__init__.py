"""The API, by who uses it."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Path, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from ..live_study import LiveStudy
from ..service import Service

API = "/api/v1"
bearer = HTTPBearer(auto_error=False, description="The analyst's token, or a participant's secret.")
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]


def service_of(request: Request) -> Service:
    """The collector that a request came to."""
    service: Service = request.app.state.service
    return service


Collector = Annotated[Service, Depends(service_of)]


def token_of(request: Request) -> str | None:
    """The bearer token of a request, if any."""
    return bearer_token(request.headers.get("authorization", ""))


def bearer_token(header: str) -> str | None:
    """The token of an Authorization header."""
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() == "bearer" and token.strip() else None


def analyst(service: Collector, credentials: Bearer) -> Service:
    """The collector, for its analyst only."""
    service.check_analyst(credentials.credentials if credentials is not None else None)
    return service


Analyst = Annotated[Service, Depends(analyst)]
StudyPath = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="The study's id.")]


def study_of(service: Collector, study: StudyPath) -> LiveStudy:
    """The study that a path names."""
    return service.find(study)


OfStudy = Annotated[LiveStudy, Depends(study_of)]
