"""The app: routes around one service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from .. import __version__
from . import problems
from .limits import Limits
from .routes import analysts, operations, pages, pairs, participants, plans, reports, sites
from .service import Service


def create_app(service: Service) -> FastAPI:
    """The web application of a collector."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="dpairs collector",
        version=__version__,
        summary="Pairwise statistics (AUC, Kendall's tau, Gini, ...) of people who keep their data.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
        telemetry={"tracing": False, "metrics": False, "logs": False},  # it would send addresses elsewhere
        redirect_slashes=False,  # a redirect would send people to whatever Host the request names
    )
    app.state.service = service
    problems.install(app)
    for router in (
        reports.router,
        *participants.routers,
        pairs.router,
        *sites.routers,
        analysts.router,
        plans.router,
        operations.router,
    ):
        app.include_router(router)
    pages.install(app)
    app.add_middleware(reports.Reports)
    app.add_middleware(Limits, service=service)
    return app
