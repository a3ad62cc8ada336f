"""The pages and what they load: plain files, all of them served from here."""

from __future__ import annotations

import functools
import io
import os
from pathlib import Path
from typing import Any

import segno
from anyio import to_thread
from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

from ...errors import NotFound
from . import Serving, add

WEB = Path(__file__).parent.parent / "web"
SCRIPTS = (WEB / "dpairs", Path(__file__).parents[4] / "js" / "src")
"""The participant's library: where a wheel has it, and where the repository has it."""
ASK_AGAIN = {"Cache-Control": "no-cache"}
"""Browsers keep files, and ask whether they are still the same: a new version is seen at once."""
router = APIRouter(include_in_schema=False)


class Files(StaticFiles):
    """Files that browsers may keep."""

    def file_response(self, full_path: Any, stat_result: os.stat_result, *args: Any, **more: Any) -> Response:
        """A file, or that it has not changed."""
        response = super().file_response(full_path, stat_result, *args, **more)
        response.headers.update(ASK_AGAIN)
        return response


@router.get("/")
@router.get("/new")
async def analyst_page() -> FileResponse:
    """Open to everybody: what it shows, it asks for with the analyst's token."""
    return FileResponse(WEB / "analyst.html", headers=ASK_AGAIN)


@router.get("/studies/{study}")
async def study_page(service: Serving, study: str) -> FileResponse:
    """The analyst's page of a study; it says so itself when there is none."""
    return FileResponse(WEB / "analyst.html", _status(service.studies, study), headers=ASK_AGAIN)


@router.get("/take-part/{study}")
async def participant_page(service: Serving, study: str) -> FileResponse:
    """The participant's page; it says so itself when there is no such study."""
    return FileResponse(WEB / "participant.html", _status(service.studies, study), headers=ASK_AGAIN)


@router.get("/take-part/{study}/code.svg")
async def link_code(service: Serving, study: str) -> Response:
    """The study's link as a QR code."""
    live = service.find(study)
    if not service.settings.public_url:
        raise NotFound("this collector does not know where people reach it: it needs a public_url")
    async with service.drawing:
        picture = await to_thread.run_sync(_code, f"{service.settings.public_url}/take-part/{live.id}")
    return Response(picture, media_type="image/svg+xml")


@functools.lru_cache(1024)
def _code(link: str) -> bytes:
    """A picture takes as long as a hundred reports, and anybody may ask for it: each is drawn once."""
    picture = io.BytesIO()
    segno.make(link, error="m").save(picture, kind="svg", scale=5, border=4, title=f"QR code of {link}")
    return picture.getvalue()


def _status(studies: dict[str, Any], study: str) -> int:
    return 200 if study in studies else 404


def install(app: FastAPI) -> None:
    """Serve pages, and the files that they load."""
    add(app, router)
    app.mount("/static", Files(directory=WEB / "static"))
    scripts = next((each for each in SCRIPTS if each.is_dir()), None)
    if scripts is not None:
        app.mount("/dpairs", Files(directory=scripts))
