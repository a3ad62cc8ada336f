"""Sites that hold many records: they enrol by name and key, and answer for all their records at once."""

from __future__ import annotations

from anyio import to_thread
from fastapi import APIRouter, Request

from ...errors import BadParameter
from ...protocols.sites.numbers import site_name
from .. import models
from ..bodies import bounded
from ..problems import declared
from ..sites import SiteRequest, enrol_sites, read_answer, take_answers
from ..tokens import Holder
from . import API, Bearer, OfStudy, Serving, holder_of, of_anybody, of_site

PREFIX = f"{API}/studies/{{study}}"
anybody = APIRouter(prefix=PREFIX, tags=["sites"], route_class=bounded(of_anybody))
enrolled = APIRouter(prefix=PREFIX, tags=["sites"], route_class=bounded(of_site))
routers = (anybody, enrolled)
"""By whom they admit."""


@anybody.post("/sites", status_code=201, responses=declared(401, 404, 409, 422))
async def enrol_site(service: Serving, live: OfStudy, request: models.EnrolSite) -> models.SiteSecret:
    """Become a site of the study; the same request again gets the same answer."""
    if not live.of_sites:
        raise BadParameter("this study asks people, not sites")
    given = SiteRequest(
        live, request.request, site_name(request.name), bytes.fromhex(request.key), request.code
    )
    holder: Holder = await service.writer.do(enrol_sites, given)
    return models.SiteSecret(index=holder.index, secret=service.secrets.make(live, holder))


@enrolled.post("/answers", responses=declared(401, 403, 404, 409, 422))
async def send_answer(
    request: Request, service: Serving, live: OfStudy, sent: models.NewAnswer, _: Bearer
) -> models.Receipt:
    """Send a site's answer. The same one again is accepted and counted once; another one is refused."""
    signature = bytes.fromhex(sent.signature)
    answer = await to_thread.run_sync(read_answer, live, holder_of(request), sent.answer, signature)
    outcome = await service.writer.do(take_answers, answer)
    service.metrics.received[outcome].inc()
    return models.Receipt(outcome=outcome)
