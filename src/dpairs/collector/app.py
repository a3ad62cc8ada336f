"""The app: routes around one service."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from anyio import to_thread
from fastapi import FastAPI, Response

from .. import __version__
from . import problems
from .limits import Limits
from .routes import add, analysts, operations, pages, pairs, participants, plans, reports, sites
from .service import Service


def once(make: Callable[[], bytes]) -> Callable[[], Awaitable[bytes]]:
    """What takes long is made at the first request, beside others, and kept."""
    made, lock = list[bytes](), asyncio.Lock()

    async def given() -> bytes:
        async with lock:
            if not made:
                made.append(await to_thread.run_sync(make))
        return made[0]

    return given


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
        openapi_url=None,  # which would write it anew for everybody who asks
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
        add(app, router)
    described = once(lambda: json.dumps(app.openapi()).encode())

    @app.get("/openapi.json", include_in_schema=False)
    async def describe() -> Response:
        return Response(await described(), media_type="application/json")

    pages.install(app)
    app.add_middleware(reports.Reports)
    app.add_middleware(Limits, service=service)
    return app
