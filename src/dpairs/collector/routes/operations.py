"""What operators ask: whether it lives, whether it can work, and numbers."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter
from fastapi.responses import Response

from ... import __version__
from ...errors import Unavailable
from .. import models
from ..lease import Renewal, renew
from ..problems import declared
from . import Serving

router = APIRouter(tags=["operations"])
PATIENCE = 5.0
"""Seconds that a write may take for a collector to be ready."""


@router.get("/healthz", responses=declared())
async def health() -> models.Health:
    """Whether the collector lives: whoever gets no answer here should start it anew."""
    return models.Health(status="ok", version=__version__)


@router.get("/readyz", responses=declared())
async def ready(service: Serving) -> models.Health:
    """Whether it can work: a write to the database was just committed. A standby is not ready."""
    service.check()
    try:
        async with asyncio.timeout(PATIENCE):
            await service.writer.do(renew, Renewal())
    except TimeoutError:
        raise Unavailable(f"the database does not store anything within {PATIENCE:g} seconds") from None
    if service.writer.full:  # a write of a single row may fit where others do not
        raise Unavailable("there is no space left to store what people send")
    return models.Health(status="ok", version=__version__)


@router.get(
    "/metrics", response_class=Response, responses={**declared(), 200: {"content": {"text/plain": {}}}}
)
async def metrics(service: Serving) -> Response:
    """Counts and times for Prometheus: nothing about a single person."""
    return Response(await service.metrics.text(), media_type="text/plain; version=0.0.4")
