"""What anybody may look at: keys, tasks and their state."""

from __future__ import annotations

from dataclasses import asdict

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from ... import __version__
from ...dap.reports import write_configs
from ...dap.task import ROLES
from ...errors import NotFound
from ..store import Store
from . import dap, service_of

router = APIRouter()


@router.get("/hpke_config")
async def keys(request: Request) -> Response:
    """The key that shares are sealed for."""
    body = write_configs(service_of(request).keys.configs)
    return dap(body, "hpke-config-list", **{"Cache-Control": "max-age=3600"})


def _store(request: Request, task: str) -> Store:
    store = service_of(request).stores.get(task)
    if store is None:
        raise NotFound("there is no such task here")
    return store


@router.get("/tasks/{task}")
async def file(request: Request, task: str) -> Response:
    """Our own: the file that both operators accepted."""
    return Response(_store(request, task).task.to_json(), media_type="application/json")


@router.get("/tasks/{task}/state")
async def state(request: Request, task: str) -> dict[str, object]:
    """Our own: how far the task is at this server."""
    store = _store(request, task)
    progress = await to_thread.run_sync(store.state)
    return {"role": ROLES[store.server], "name": store.task.operators[store.server].name, **asdict(progress)}


@router.get("/healthz")
async def health() -> dict[str, str]:
    return {"status": "ok", "version": __version__}


@router.get("/readyz")
async def ready(request: Request) -> dict[str, str]:
    """Whether the database can be read."""
    for store in service_of(request).stores.values():
        await to_thread.run_sync(store.row)
    return {"status": "ok", "version": __version__}


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    return Response(service_of(request).metrics.text(), media_type="text/plain; version=0.0.4")
