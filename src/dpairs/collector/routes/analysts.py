"""The analyst's side: plan, begin, invite, watch, go on, end."""

from __future__ import annotations

import asyncio
import contextlib
import csv
import io
import json
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Literal

from anyio import to_thread
from fastapi import APIRouter, Query
from fastapi.responses import Response, StreamingResponse

from ...errors import BadParameter, DpairsError, NotFound, Unavailable
from ...estimate import Estimate
from ...formats.canonical import canonical
from ...sites import SiteTally
from ...study import Study
from ...tally import Tally
from .. import estimate_history, export, lifecycle, models, relay, views
from ..bodies import bounded
from ..enrolment import EnrolRequest, enrol
from ..live_study import OPEN, LiveStudy, Round
from ..problems import declared
from ..service import Service
from ..tokens import Holder, new_code
from ..wording import check_title, check_words
from . import API, Analyst, OfStudy, of_analyst

router = APIRouter(prefix=API, tags=["analysts"], route_class=bounded(of_analyst))
PARQUET = "application/vnd.apache.parquet"


@router.get("/studies", responses=declared(401))
async def list_studies(service: Analyst) -> list[models.Summary]:
    """All studies, the newest first."""
    return [views.summary(each) for each in reversed(list(service.studies.values()))]


@router.get("/unreadable", responses=declared(401))
async def list_unreadable(service: Analyst) -> list[models.UnreadableStudy]:
    """Stored studies that are not served, and why."""
    return [
        models.UnreadableStudy(id=each.id, title=each.title, reason=each.reason)
        for each in service.unreadable.values()
    ]


@router.post("/studies", status_code=201, responses=declared(401, 409, 422))
async def begin_study(service: Analyst, new: models.NewStudy) -> models.PublicStudy:
    """Begin a study, which is open to people at once; its file never changes afterwards."""
    study = _read(new.study)
    words = _checked(new.words, study)
    check_title(new.title)
    for name, given in (
        ("title", new.title),
        ("question", new.question),
        ("words", words),
        ("study", new.study),
    ):
        check_words(name, given)
    item = lifecycle.Begin(service.studies, study, new.title, new.question, new.enrolment, new.people, words)
    return views.public(await service.writer.do(lifecycle.begin, item), service.settings.public_url)


def _checked(words: models.StudyWords, study: Study) -> dict[str, Any]:
    """Words that name what the study has."""
    strata = set(study.statistic.strata) | {"positive", "negative"}
    for name in words.groups:
        if name not in strata:
            raise BadParameter(f"words name the group {name!r}, which this study does not have")
    for name in words.columns:
        if name not in study.statistic.private_columns:
            raise BadParameter(f"words name the question {name!r}, which this study does not ask")
    return words.model_dump(exclude_defaults=True)


def _read(spec: dict[str, Any]) -> Study:
    try:
        study = Study.from_json(canonical(spec))
        study.to_json().encode()
        return study
    except DpairsError:
        raise
    except (ValueError, RecursionError):  # NaN, half a letter, or too deep for anybody to read
        raise BadParameter("this is not a study's JSON") from None


@router.get("/studies/{study}/progress", responses=declared(401, 404, 422))
async def watch_study(service: Analyst, live: OfStudy) -> models.Progress:
    """How a study stands: enrolled, reports, pairs, the estimate and how it grew."""

    def look() -> models.Progress:
        pairs: dict[str, int] | None = None
        with service.database.reading() as connection:
            histories = [estimate_history.points(connection, each.serial) for each in list(live.rounds)]
            if live.of_pairs and live.state != OPEN:
                with contextlib.suppress(NotFound):  # closed before there were two
                    pairs = relay.drop_outs(connection, live)
        return views.progress(live, service.settings.public_url, histories, pairs)

    return await to_thread.run_sync(look)


@router.post("/studies/{study}/advance", responses=declared(401, 404, 409, 422))
async def advance_study(service: Analyst, live: OfStudy, step: models.Advance) -> models.PublicStudy:
    """Close the round and publish the next, or form the pairs."""
    prepared = None
    if not live.of_pairs and lifecycle.next_step(live) is not None and step.seen == lifecycle.step_of(live):
        # Of the round that is seen here: another click may take the step meanwhile.
        prepared = await to_thread.run_sync(_prepare, live.now)
    await service.writer.do(lifecycle.advance, lifecycle.Step(live, step.seen, prepared))
    return views.public(live, service.settings.public_url)


def _prepare(asked: Round) -> tuple[int, Study]:
    tally = asked.tally
    return tally.n, asked.study.next(tally)


@router.post("/studies/{study}/close", responses=declared(401, 404, 422))
async def close_study(service: Analyst, live: OfStudy) -> models.PublicStudy:
    """Take no more reports. Closing again changes nothing."""
    await service.writer.do(lifecycle.end, lifecycle.End(service.studies, live, False))
    return views.public(live, service.settings.public_url)


@router.delete("/studies/{study}", status_code=204, responses=declared(401, 404, 422))
async def delete_study(service: Analyst, live: OfStudy) -> None:
    """Forget a study with everything that belongs to it."""
    await service.writer.do(lifecycle.end, lifecycle.End(service.studies, live, True))
    # Goes on to its end whether or not somebody waits for the answer.
    await asyncio.shield(asyncio.ensure_future(service.purge(live.id)))


@router.post("/studies/{study}/invitations", status_code=201, responses=declared(401, 404, 409, 422))
async def invite_people(service: Analyst, live: OfStudy, new: models.NewInvitations) -> models.Invitations:
    """Make single-use codes; they are shown this once."""
    if new.stratum is not None and new.stratum not in live.strata:
        raise BadParameter(f"stratum must be {' or '.join(live.strata)}, not {new.stratum!r}")
    stratum = None if new.stratum is None else live.strata.index(new.stratum)
    codes = tuple(new_code() for _ in range(new.count))
    made = await service.writer.do(lifecycle.invite, lifecycle.Invite(live, codes, stratum))
    return models.Invitations(codes=made)


@router.post("/studies/{study}/gateways", status_code=201, responses=declared(401, 404, 409, 422))
async def add_gateway(service: Analyst, live: OfStudy, new: models.NewGateway) -> models.Gateway:
    """Give a gateway its stretch of indices in each stratum, and a secret for each."""
    if live.of_pairs:
        raise BadParameter("people compute in pairs themselves: no gateway can do it for them")
    if live.of_sites:
        raise BadParameter("sites answer for all their records themselves: no gateway is needed")
    people: dict[str, dict[str, Any]] = {}
    for stratum in new.people:
        if stratum not in live.strata:
            raise BadParameter(f"stratum must be {' or '.join(live.strata)}, not {stratum!r}")
    for stratum, count in new.people.items():
        request = EnrolRequest(live, new.request, stratum, count=count)
        holder: Holder = await service.writer.do(enrol, request)
        secret = service.secrets.make(live, holder)
        people[stratum] = {"first": holder.index, "count": holder.count, "secret": secret}
    return models.Gateway(people=people)


@router.get(
    "/studies/{study}/estimate",
    response_class=Response,
    responses={
        **declared(401, 404, 409, 422),
        200: {"content": {"application/json": {"schema": {"type": "object"}}, "text/csv": {}}},
    },
)
async def download_estimate(
    _: Analyst,
    live: OfStudy,
    style: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
) -> Response:
    """The estimate, with its interval and its privacy claim."""
    estimate = await to_thread.run_sync(live.now.estimate)
    if style == "csv":
        return Response(_csv(estimate), media_type="text/csv", headers=_name(live, "estimate.csv"))
    body = json.dumps(estimate.to_json())
    return Response(body, media_type="application/json", headers=_name(live, "estimate.json"))


@router.get(
    "/studies/{study}/tally",
    response_class=Response,
    responses={
        **declared(401, 404, 422),
        200: {"content": {"application/json": {"schema": {"type": "object"}}, "text/csv": {}}},
    },
)
async def download_tally(
    _: Analyst,
    live: OfStudy,
    number: Annotated[int | None, Query(alias="round", ge=1, le=2)] = None,
    style: Annotated[Literal["json", "csv"], Query(alias="format")] = "json",
) -> Response:
    """The tally of a round (by default the current one): `dpairs estimate` reads it."""
    asked = _asked(live, number)
    tally = await to_thread.run_sync(lambda: asked.tally)
    if style == "csv":
        rows = _counts(tally)
        return Response(_table(rows), media_type="text/csv", headers=_name(live, "tally.csv"))
    body = await to_thread.run_sync(tally.to_json)
    return Response(body, media_type="application/json", headers=_name(live, "tally.json"))


@router.get(
    "/studies/{study}/analysis",
    response_class=Response,
    responses={
        **declared(401, 404, 422),
        200: {"content": {"application/json": {"schema": {"type": "object"}}}},
    },
)
async def download_analysis(_: Analyst, live: OfStudy) -> Response:
    """What only the analyst needs of a second round: `dpairs estimate` reads it beside the study's file."""
    body = await to_thread.run_sync(live.study.analysis_to_json)
    if body is None:
        raise NotFound("this round has no analysis of its own: its study and its tally are enough")
    return Response(body, media_type="application/json", headers=_name(live, "study.analysis.json"))


@router.get(
    "/studies/{study}/reports",
    response_class=Response,
    responses={**declared(401, 404, 422), 200: {"content": {PARQUET: {}}}},
)
async def download_reports(
    service: Analyst,
    live: OfStudy,
    number: Annotated[int | None, Query(alias="round", ge=1, le=2)] = None,
    form: Annotated[Literal["reports", "cells"], Query()] = "reports",
    after: Annotated[str | None, Query(pattern=r"^\d{1,4}\.-?\d{1,16}$")] = None,
) -> Response:
    """The reports of a round (by default the current one), as a Parquet file: `dpairs tally` reads it.

    In the form `cells`, where the study has it, it holds what each report counts in, and is counted faster.
    With `after` it is one part, of a quarter of a million reports at most, from that place on: `0.-1` is the
    beginning, and the header `X-Next` names where the next part begins. A part can be asked for again.
    """
    asked, cells = _asked(live, number), form == "cells"
    export.check(asked, cells)
    headers = _name(live, "reports.parquet")
    if service.exporting.locked():
        raise Unavailable("other reports are being downloaded just now; try again in a moment")
    if after is None:
        parts = export.stream(service.database, asked, cells)
        return StreamingResponse(_in_turns(service, live, parts), media_type=PARQUET, headers=headers)
    stratum, _, index = after.partition(".")
    place = int(stratum), int(index)

    async with service.exporting:
        body, end = await to_thread.run_sync(export.one_part, service.database, asked, cells, place)
    _still(service, live)
    if end is not None:
        headers["X-Next"] = f"{end[0]}.{end[1]}"
    return Response(body, media_type=PARQUET, headers=headers)


async def _in_turns(service: Service, live: LiveStudy, parts: Iterator[bytes]) -> AsyncIterator[bytes]:
    """Pieces of an answer that another thread makes, one at a time."""
    async with service.exporting:
        while (piece := await to_thread.run_sync(next, parts, None)) is not None:
            _still(service, live)
            yield piece


def _still(service: Service, live: LiveStudy) -> None:
    """Break off rather than send what is left of a study that is being deleted, or served elsewhere."""
    if service.studies.get(live.id) is not live:
        raise NotFound("this study is not here any more")


def _counts(tally: Tally | SiteTally) -> list[tuple[Any, ...]]:
    """How many reports each stratum has; or records each site, where that is known."""
    if isinstance(tally, Tally):
        return [("stratum", "reports"), *tally.sizes.items()]
    sizes = {site: each.sizes for site, each in tally.answers.items()}
    return [("site", "records"), *((site, "" if n is None else sum(n.values())) for site, n in sizes.items())]


def _asked(live: LiveStudy, number: int | None) -> Round:
    """The round of that number, or the current one."""
    asked = live.now if number is None else live.round(number)
    if asked is None:
        raise BadParameter(f"round {number} has not begun")
    return asked


def _name(live: LiveStudy, what: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{live.id[:16]}-{what}"'}


def _csv(estimate: Estimate) -> str:
    low, high = estimate.confidence_interval()
    row = {
        "study": estimate.study_id,
        "statistic": estimate.statistic,
        "protocol": estimate.protocol,
        "estimator": estimate.estimator,
        "value": repr(estimate.value),
        "standard_error": repr(estimate.standard_error),
        "low_95": repr(low),
        "high_95": repr(high),
        "n": estimate.n,
        "epsilon": repr(estimate.privacy.epsilon),
        "delta": repr(estimate.privacy.delta),
    }
    return _table([tuple(row), tuple(row.values())])


def _table(rows: list[tuple[Any, ...]]) -> str:
    out = io.StringIO()
    csv.writer(out).writerows(rows)
    return out.getvalue()
