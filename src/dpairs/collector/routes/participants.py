"""Taking part: read the study, enrol, report for many."""

from __future__ import annotations

import json
from functools import partial
from typing import Annotated, Any

import numpy as np
from anyio import to_thread
from fastapi import APIRouter, Path, Request

from ...errors import BadParameter, BadValue, NotYet, NotYours, WrongStudy
from .. import intake, models, views
from ..batches import read_batch
from ..bodies import bounded
from ..enrolment import EnrolRequest, enrol
from ..live_study import OPEN, PAIRING, LiveStudy
from ..problems import declared
from ..tokens import Holder
from . import API, Bearer, OfStudy, Serving, holder_of, of_anybody, of_gateway

PREFIX, TAGS = f"{API}/studies/{{study}}", ["participants"]
gateways = APIRouter(prefix=PREFIX, tags=[*TAGS], route_class=bounded(of_gateway))
anybody = APIRouter(prefix=PREFIX, tags=[*TAGS], route_class=bounded(of_anybody))
routers = (gateways, anybody)
"""By whom they admit."""
BATCH = {
    "requestBody": {
        "required": True,
        "description": "Reports of one stratum: a line of JSON each, or an Arrow stream with the columns "
        "index and symbol and the study's id in its metadata.",
        "content": {
            "application/x-ndjson": {"schema": {"type": "string"}},
            "application/vnd.apache.arrow.stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}


@anybody.get("", responses=declared(404, 422))
async def read_study(service: Serving, live: OfStudy) -> models.PublicStudy:
    """The study, its question, and what it promises."""
    return views.public(live, service.settings.public_url)


@anybody.get("/rounds/{number}", responses=declared(404, 422))
async def read_round(live: OfStudy, number: Annotated[int, Path(ge=1, le=2)]) -> dict[str, Any]:
    """The study of one round: all that a device, or whoever checks an estimate, needs."""
    asked = live.round(number)
    if asked is None:
        raise NotYet(f"round {number} has not begun")
    return dict(json.loads(asked.study.to_json()))


@anybody.post("/people", status_code=201, responses=declared(401, 404, 409, 422))
async def enrol_person(service: Serving, live: OfStudy, request: models.Enrol) -> models.Enrolled:
    """Become a participant; the same request again gets the same answer."""
    if live.of_sites:
        raise BadParameter("this study asks sites, not people: a site enrols with `dpairs site`")
    if live.of_pairs and request.key is None:
        raise BadParameter("in a study of pairs a participant enrols with a public key")
    if not live.of_pairs and request.key is not None:
        raise BadParameter("this study has no pairs, so it needs no public key")
    key = None if request.key is None else bytes.fromhex(request.key)
    given = EnrolRequest(live, request.request, request.stratum, request.code, key)
    holder: Holder = await service.writer.do(enrol, given)
    return models.Enrolled(
        index=holder.index,
        stratum=live.strata[holder.stratum],
        secret=service.secrets.make(live, holder),
        asked_now=_asked_now(live, holder),
    )


def _asked_now(live: LiveStudy, holder: Holder) -> bool:
    if live.of_pairs:
        return live.state == PAIRING
    return live.state == OPEN and live.study.asks(live.strata[holder.stratum], holder.index)


@gateways.post(
    "/batches",
    response_model=models.BatchReceipt,
    openapi_extra=BATCH,
    responses=declared(401, 403, 404, 409, 422),
)
async def send_batch(request: Request, service: Serving, live: OfStudy, _: Bearer) -> dict[str, int]:
    """Send many reports of a gateway's participants. What was counted before is not counted again."""
    holder = holder_of(request)
    if live.of_pairs:
        raise BadValue("nobody answers a study of pairs alone: pairs send messages")
    stratum = live.strata[holder.stratum]
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    body = await request.body()
    # In another thread, and in slices: reading 64 MB must not hold everybody else up.
    named, indices, symbols = await to_thread.run_sync(read_batch, kind, body, stratum)
    if indices.size > holder.count:
        raise BadValue(f"a batch of this gateway has at most {holder.count} rows: one for each participant")
    asked = next((each for each in live.rounds if each.study.id == named), None)
    if asked is None:
        raise WrongStudy(f"this batch belongs to study {named[:16]}..., not to {live.study.id[:16]}...")
    outside = np.flatnonzero((indices < holder.index) | (indices >= holder.index + holder.count))
    if outside.size:
        row = int(outside[0])
        raise NotYours(
            f"row {row} belongs to participant {int(indices[row])}, whom this gateway does not report for"
        )
    check = partial(intake.checked_batch, live, asked, holder.stratum, indices, symbols)
    batch = await to_thread.run_sync(check)
    outcome: dict[str, int] = {}
    # Stored slice by slice, so that others get their turns. Whoever is cut off sends all of it again.
    for part in batch.slices():
        stored: dict[str, int] = await service.writer.do(intake.take_batches, part)
        for name, count in stored.items():
            outcome[name] = outcome.get(name, 0) + count
            service.metrics.received[name].inc(count)
    return outcome
