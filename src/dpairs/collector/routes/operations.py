"""What operators ask: whether it works, and numbers."""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter
from fastapi.responses import Response
from sqlalchemy import text
from sqlalchemy.exc import SQLAlchemyError

from ... import __version__
from ...errors import Unavailable
from .. import models
from ..problems import declared
from ..service import Service
from . import Collector

router = APIRouter(tags=["operations"])


@router.get("/healthz", responses=declared())
async def health(service: Collector) -> models.Health:
    """Whether the collector answers and its database, too."""
    await to_thread.run_sync(_ask, service)
    return models.Health(status="ok", version=__version__)


def _ask(service: Service) -> None:
    try:
        with service.database.reading() as connection:
            connection.execute(text("select 1"))
    except SQLAlchemyError:
        raise Unavailable("the database does not answer") from None


@router.get(
    "/metrics", response_class=Response, responses={**declared(), 200: {"content": {"text/plain": {}}}}
)
async def metrics(service: Collector) -> Response:
    """Numbers for Prometheus."""
    return Response(service.metrics.text(), media_type="text/plain; version=0.0.4")
