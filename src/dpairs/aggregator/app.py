"""The app of one server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from .. import __version__
from ..collector.limits import Limits
from ..collector.routes import add
from ..dap.task import LEADER
from . import problems
from .routes import helper, leader, pages, public
from .service import Aggregator


def create_app(service: Aggregator) -> FastAPI:
    """The web application of a leader or of a helper."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        await service.start()
        yield
        await service.stop()

    app = FastAPI(
        title="dpairs server",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.state.service = service
    problems.install(app)
    for router in (*leader.routers,) if service.server == LEADER else (helper.router,):
        add(app, router)
    add(app, public.router)
    pages.install(app)
    # A page that somebody else hosts asks both servers; nothing here knows cookies.
    app.add_middleware(
        CORSMiddleware,
        allow_origins=["*"],
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type"],
        expose_headers=["location"],
    )
    tasks = [store.task for store in service.stores.values()]
    app.add_middleware(Limits, service=service, headers=pages.headers(tasks))
    return app
