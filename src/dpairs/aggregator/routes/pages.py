"""A task's page, and what it loads: plain files, which somebody else can host just as well."""

from __future__ import annotations

import shutil
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import FileResponse, Response

from ...collector.limits import HEADERS, Headers
from ...collector.routes import add
from ...collector.routes.pages import ASK_AGAIN, SCRIPTS, WEB, Files
from ...dap.task import Task
from ...errors import BadFile, NotFound
from ..store import Store
from . import service_of

PAGE = WEB / "two_servers.html"
PARTS = ("shared", "participant", "two_servers")
"""Folders of scripts that the page loads."""
router = APIRouter()


def _store(request: Request, name: str) -> Store:
    for store in service_of(request).stores.values():
        if store.task.id.hex() == name:
            return store
    raise NotFound("there is no such task here")


@router.get("/two-servers/{name}/task.json")
async def task_file(request: Request, name: str) -> Response:
    """The file that both operators accepted, by the id in a link."""
    return Response(_store(request, name).task.to_json(), media_type="application/json")


@router.get("/two-servers/{name}")
async def page(request: Request, name: str) -> Response:
    _store(request, name)
    return FileResponse(PAGE, headers=ASK_AGAIN)


def install(app: FastAPI) -> None:
    """Serve the page and its files."""
    add(app, router)
    app.mount("/static", Files(directory=WEB / "static"))
    app.mount("/dpairs", Files(directory=_scripts()))


def _scripts() -> Path:
    return next(each for each in SCRIPTS if each.is_dir())


def headers(tasks: list[Task]) -> Headers:
    """A page may ask its own server, and the two servers of its task."""
    origins = sorted({"/".join(each.url.split("/")[:3]) for task in tasks for each in task.operators})
    policy = dict(HEADERS)[b"content-security-policy"].decode()
    policy = policy.replace("connect-src 'self'", " ".join(["connect-src 'self'", *origins]))
    return [(b"content-security-policy", policy.encode()), *HEADERS[1:]]


def export(task: Task, folder: Path) -> None:
    """Everything that somebody else needs to host a task's page, at the root of an address."""
    place = folder / "two-servers" / task.id.hex()
    try:
        place.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(PAGE, place / "index.html")
        (place / "task.json").write_text(task.to_json(), encoding="utf-8")
        static = folder / "static"
        for part in PARTS:
            shutil.copytree(WEB / "static" / part, static / part, dirs_exist_ok=True)
        for name in ("style.css", "icon.svg"):
            shutil.copyfile(WEB / "static" / name, static / name)
        shutil.copytree(_scripts(), folder / "dpairs", dirs_exist_ok=True)
    except OSError as error:
        raise BadFile(f"the page cannot be written to {folder}: {error.strerror or error}") from None
