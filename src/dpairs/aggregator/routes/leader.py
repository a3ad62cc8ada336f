"""What the leader answers: uploads, and collections of the analyst."""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from ...collector.bodies import bounded
from ...dap.reports import Report, ReportError, read_upload, write_upload_errors
from ..problems import answer
from . import check_kind, dap, from_letters, letters, of_analyst, of_anybody, service_of

MOST_AT_ONCE = 1000
"""Reports of an upload."""
people = APIRouter(prefix="/tasks/{task}", route_class=bounded(of_anybody, answer))
analysts = APIRouter(prefix="/tasks/{task}", route_class=bounded(of_analyst, answer))
routers = (people, analysts)


@people.post("/reports")
async def upload(request: Request, task: str) -> Response:
    """Take reports; the answer names those that were refused."""
    service = service_of(request)
    check_kind(request, "upload-req")
    leader, reports = service.leader(task), read_upload(await request.body(), MOST_AT_ONCE)
    latest = service.latest(leader.store.task)
    errors = [leader.check(each, latest) for each in reports]
    good = [each for each, error in zip(reports, errors, strict=True) if error is None]
    if good:
        outcomes = iter(await service.intake.take(leader, good))
        errors = [next(outcomes) if error is None else error for error in errors]
        service.drivers[task].wake(len(good))
    refused = [
        (each.metadata.report_id, error) for each, error in _pairs(reports, errors) if error is not None
    ]
    return dap(write_upload_errors(refused), "upload-errors") if refused else Response(status_code=200)


def _pairs(
    reports: list[Report], errors: list[ReportError | None]
) -> list[tuple[Report, ReportError | None]]:
    return list(zip(reports, errors, strict=True))


@analysts.post("/collection_jobs")
async def collect(request: Request, task: str) -> Response:
    """Ask for the result: it is made once, and the same request finds it again."""
    service = service_of(request)
    check_kind(request, "collection-job-req")
    leader = service.leader(task)
    name = await to_thread.run_sync(leader.collect, await request.body())
    service.drivers[task].wake()
    return await _collected(request, task, name)


@analysts.get("/collection_jobs/{job}")
async def collected(request: Request, task: str, job: str) -> Response:
    """The result, sealed for the analyst; nothing while it is made."""
    return await _collected(request, task, from_letters(job))


async def _collected(request: Request, task: str, name: bytes) -> Response:
    leader = service_of(request).leader(task)
    answer = await to_thread.run_sync(leader.collected, name)
    where = f"{leader.store.task.leader.url}/tasks/{task}/collection_jobs/{letters(name)}"
    if answer is None:
        return Response(status_code=202, headers={"Location": where, "Retry-After": "1"})
    return dap(answer.body, "collection-job-resp", Location=where)
