"""Single reports, which nearly all requests are.

Routers, dependencies and validation of FastAPI take several times the processor's time of all that a report
needs. So a layer before them asks this one route whether a request is its own, and calls its endpoint.
"""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.routing import Match
from starlette.types import ASGIApp, Receive, Scope, Send

from ...errors import BadValue, DpairsError, NotYours
from ...formats.canonical import parse
from ...report import Report
from .. import intake, models, problems
from ..bodies import answer, bounded, header
from ..live_study import LiveStudy, Round
from . import API, Bearer, StudyPath, holder_of, of_participant

PATH = f"{API}/studies/{{study}}/reports"
OCTETS = "application/octet-stream"
REPORT = {
    "requestBody": {
        "required": True,
        "description": "A report, as JSON or in its wire form.",
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["study", "stratum", "index", "symbol"],
                    "properties": {
                        "study": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
                        "stratum": {"type": "string"},
                        "index": {"type": "integer", "minimum": 0},
                        "symbol": {"type": "integer", "minimum": 0},
                    },
                }
            },
            OCTETS: {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
RECEIPTS = {
    outcome: Response(f'{{"outcome":"{outcome}"}}', media_type="application/json")
    for outcome in (intake.COUNTED, intake.AGAIN)
}
router = APIRouter(tags=["participants"], route_class=bounded(of_participant))


@router.post(
    PATH,
    response_model=models.Receipt,
    openapi_extra=REPORT,
    responses=problems.declared(401, 403, 404, 409, 422),
)
async def send_report(request: Request, study: StudyPath, _: Bearer) -> Response:
    """Send a report. The same one again is accepted and counted once; another one is refused."""
    service, holder = request.app.state.service, holder_of(request)
    live = service.find(study)
    asked, report = _read(live, header(request, b"content-type"), await request.body())
    stratum = live.strata.index(report.stratum)
    if (stratum, report.index) != (holder.stratum, holder.index):
        raise NotYours("this secret belongs to another participant than the report")
    sent = intake.Sent(live, asked, stratum, report.index, report.symbol)
    outcome = await service.writer.do(intake.take, sent)
    service.metrics.received[outcome].inc()
    return RECEIPTS[outcome]


def _read(live: LiveStudy, kind: str, body: bytes) -> tuple[Round, Report]:
    """The report and its round: that of the study it names."""
    if live.of_pairs:
        raise BadValue("nobody answers a study of pairs alone: pairs send messages")
    if kind.partition(";")[0].strip() == OCTETS:
        for asked in reversed(live.rounds):
            if body[1:9] == bytes.fromhex(asked.study.id)[:8]:
                return asked, Report.from_bytes(body, asked.study)
        return live.now, Report.from_bytes(body, live.study)
    spec = parse(body, "the report", 4096)
    for asked in reversed(live.rounds):
        if spec.get("study") == asked.study.id:
            return asked, Report.from_json(spec, asked.study)
    return live.now, Report.from_json(spec, live.study)


async def _endpoint(request: Request) -> Response:
    return await send_report(request, request.path_params["study"], None)


class Reports:
    """An ASGI layer that brings these requests to their endpoint by itself."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = router.routes[0]
        match, matched = route.matches(scope)
        if match is not Match.FULL:
            await self._app(scope, receive, send)
            return
        scope.update(matched)
        scope["route"] = route  # for whoever counts requests by route
        try:
            response = await answer(of_participant, _endpoint, Request(scope, receive, send))
        except DpairsError as error:
            response = problems.answer(error)
        await response(scope, receive, send)
