"""The task's file where a page looks for it: beside the page, whoever hosts both."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from ...errors import NotFound
from . import service_of

router = APIRouter()


@router.get("/two-servers/{name}/task.json")
async def task_file(request: Request, name: str) -> Response:
    """The file that both operators accepted, by the id in a link."""
    for store in service_of(request).stores.values():
        if store.task.id.hex() == name:
            return Response(store.task.to_json(), media_type="application/json")
    raise NotFound("there is no such task here")
