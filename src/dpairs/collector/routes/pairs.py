"""The mailbox: partners exchange sealed messages; the collector gets what it decodes."""

from __future__ import annotations

import asyncio
from typing import Annotated, Literal

from anyio import to_thread
from fastapi import APIRouter, Path, Query, Request
from fastapi.responses import Response
from sqlalchemy import select, tuple_

from ...errors import NotFound, NotYet
from ...garbled.wire import Kind
from ...report import MAX_INDEX
from .. import models, relay, schema
from ..bodies import bounded
from ..live_study import OPEN, LiveStudy
from ..problems import declared
from ..service import Service
from ..tokens import Holder
from . import API, Bearer, OfStudy, Serving, holder_of, of_participant

PREFIX = f"{API}/studies/{{study}}/pairs"
router = APIRouter(prefix=PREFIX, tags=["pairs"], route_class=bounded(of_participant))
Number = Annotated[int, Path(ge=0, le=MAX_INDEX, description="The pair's number.")]
Sent = Literal["offer", "choice", "circuit", "table", "labels"]
Fetched = Literal["offer", "choice", "circuit"]
BODY = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}


@router.get("", responses=declared(401, 403, 404, 422))
async def my_pairs(request: Request, service: Serving, live: OfStudy, _: Bearer) -> models.MyPairs:
    """The pairs that this participant is in, and the partners' public keys."""
    holder = holder_of(request)
    if not live.of_pairs:
        raise NotFound("nobody has a partner in this study")
    if live.state == OPEN:
        raise NotYet("the pairs of this study are not formed yet")
    return await to_thread.run_sync(_pairs, service, live, holder)


def _pairs(service: Service, live: LiveStudy, holder: Holder) -> models.MyPairs:
    strata = len(live.strata)
    mine = []
    people, sizes = schema.people.c, dict(zip(live.strata, live.next_index, strict=True))
    with service.database.reading() as connection:
        for number, role in live.pairs.of(holder.stratum, holder.index, strata):
            garbler, evaluator, turn = live.pairs.people(number)
            stratum, partner = (0, evaluator) if role == "garbler" else (strata - 1, garbler)
            wanted = select(people.key).where(
                people.study == live.id, tuple_(people.stratum, people.index) == (stratum, partner)
            )
            key = connection.execute(wanted).scalar() or b""
            mine.append(
                models.MyPair(
                    number=number,
                    round=turn,
                    role="garbler" if role == "garbler" else "evaluator",
                    partner=partner,
                    key=key.hex(),
                    state=relay.told(relay.state_of(connection, live, number)),
                    people=sizes,
                )
            )
    return models.MyPairs(pairs=mine)


@router.put("/{number}/{kind}", openapi_extra=BODY, responses=declared(401, 403, 404, 409, 422))
async def send_message(
    request: Request, service: Serving, live: OfStudy, number: Number, kind: Sent, _: Bearer
) -> models.Delivered:
    """Leave a message. The same one again changes nothing; another one is refused."""
    holder = holder_of(request)
    which = relay.KINDS[kind]
    await to_thread.run_sync(relay.addressed, live, holder, number, which, True)
    message = relay.Message(live, number, which, await request.body(), service.lease.clock)
    state = await service.writer.do(relay.deliver, message)
    if state == relay.WAITING:  # so it is there
        service.announce(live.id, number, which)
    return models.Delivered(state=state)


@router.get(
    "/{number}/{kind}",
    response_class=Response,
    responses={
        **declared(401, 403, 404, 422),
        200: {"content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}},
    },
)
async def fetch_message(
    request: Request,
    service: Serving,
    live: OfStudy,
    number: Number,
    kind: Fetched,
    _: Bearer,
    wait: Annotated[int, Query(ge=0, le=25, description="Seconds to wait for it.")] = 0,
) -> Response:
    """Fetch the partner's message, sealed as it was sent; wait for it if asked to."""
    holder = holder_of(request)
    which = relay.KINDS[kind]
    await to_thread.run_sync(relay.addressed, live, holder, number, which, False)
    deadline = asyncio.get_running_loop().time() + wait
    while True:
        arrived = service.arrival(live.id, number, which)
        body = await to_thread.run_sync(_fetch, service, live, number, which)
        left = deadline - asyncio.get_running_loop().time()
        if body is not None:
            return Response(body, media_type="application/octet-stream")
        if left <= 0:
            raise NotYet(f"the {kind} of pair {number} has not arrived yet")
        try:
            await asyncio.wait_for(arrived.wait(), left)
        except TimeoutError:
            continue


def _fetch(service: Service, live: LiveStudy, number: int, kind: Kind) -> bytes | None:
    with service.database.reading() as connection:
        return relay.fetch(connection, live, number, kind)
