"""What the helper answers, to the leader alone: aggregation, our own steps for products, and its share."""

from __future__ import annotations

from functools import partial

from anyio import to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from ...collector.bodies import bounded
from ...dap.jobs import VerifyInit
from ...dap.verification import Verified
from ...errors import Refused
from ..problems import answer
from ..workers import helper_job
from . import check_kind, dap, from_letters, letters, of_leader, service_of

router = APIRouter(prefix="/tasks/{task}", route_class=bounded(of_leader, answer))


@router.post("/aggregation_jobs")
async def aggregate(request: Request, task: str) -> Response:
    """Verify the reports of a job; the same job again gets the same answer."""
    service = service_of(request)
    check_kind(request, "aggregation-job-init-req")
    helper, recipe = service.helper(task), service.recipes[task]

    def verify(inits: list[VerifyInit]) -> tuple[Verified, dict[bytes, bytes]]:
        return service.workers.call(helper_job, recipe, inits)

    latest = service.latest(helper.store.task)
    answered = await to_thread.run_sync(partial(helper.aggregate, await request.body(), latest, verify))
    return dap(answered.body, "aggregation-job-resp", Location=_where(request, task, answered.id))


@router.get("/aggregation_jobs/{job}")
async def aggregated(request: Request, task: str, job: str) -> Response:
    """What a job was answered."""
    answer = await to_thread.run_sync(service_of(request).helper(task).answered, from_letters(job))
    if answer is None:
        raise Refused("there is no such aggregation job here", "unrecognizedAggregationJob")
    return dap(answer.body, "aggregation-job-resp")


@router.post("/products")
async def close(request: Request, task: str) -> Response:
    """Our own: close the batch, and offer transfers."""
    check_kind(request, "dpairs-close-req")
    helper = service_of(request).helper(task)
    return dap(await to_thread.run_sync(helper.close, await request.body()), "dpairs-products-offer")


@router.post("/products/reply")
async def correct(request: Request, task: str) -> Response:
    """Our own: the end of the transfers."""
    check_kind(request, "dpairs-products-reply")
    helper = service_of(request).helper(task)
    return dap(await to_thread.run_sync(helper.correct, await request.body()), "dpairs-products-corrections")


@router.post("/aggregate_shares")
async def share(request: Request, task: str) -> Response:
    """This server's share of the result, sealed for the analyst."""
    check_kind(request, "aggregate-share-req")
    helper = service_of(request).helper(task)
    answered = await to_thread.run_sync(helper.share, await request.body())
    return dap(answered.body, "aggregate-share", Location=_where(request, task, answered.id))


def _where(request: Request, task: str, name: bytes) -> str:
    """The address of a resource, below the one that this server has in the task."""
    url = service_of(request).helper(task).store.task.helper.url
    return f"{url}{request.url.path}/{letters(name)}"
