"""The pages and what they load: plain files, all of them served from here."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

WEB = Path(__file__).parent.parent / "web"
SCRIPTS = (WEB / "dpairs", Path(__file__).parents[4] / "js" / "src")
"""The participant's library: where a wheel has it, and where the repository has it."""
router = APIRouter(include_in_schema=False)


@router.get("/")
@router.get("/studies/{study}")
@router.get("/new")
async def analyst_page() -> FileResponse:
    """The analyst's page."""
    return FileResponse(WEB / "analyst.html")


@router.get("/take-part/{study}")
async def participant_page() -> FileResponse:
    """The participant's page."""
    return FileResponse(WEB / "participant.html")


def install(app: FastAPI) -> None:
    """Serve pages, and the files that they load."""
    app.include_router(router)
    app.mount("/static", StaticFiles(directory=WEB / "static"))
    scripts = next((each for each in SCRIPTS if each.is_dir()), None)
    if scripts is not None:
        app.mount("/dpairs", StaticFiles(directory=scripts))
