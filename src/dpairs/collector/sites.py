"""Sites: each enrols once, by its name and its key, and its first answer to a round counts.

The same answer again changes nothing. Another one is refused, and the analyst sees that it came.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, func, insert, select, update

from ..errors import AlreadyAnswered, BadValue, Closed, Conflict, NotYours
from ..formats.canonical import parse
from ..formats.signatures import is_signed
from ..protocols.base import NUMBERS, REPORTS
from ..protocols.sides import collected
from ..protocols.sites.by_sites import SiteNumbers
from ..sites import SiteAnswer, SiteTally
from ..study import Study
from . import schema
from .changes import OnCommit, one_by_one
from .enrolment import EnrolRequest, invitation, use
from .intake import AGAIN, COUNTED, is_open
from .live_study import AboutStudy, LiveStudy, Round
from .tokens import Holder

SITE = "site"
"""The kind of a site's token."""


@dataclass(frozen=True)
class EnrolledSite:
    index: int
    name: str
    key: bytes


@dataclass
class Kept:
    """What a site answered, and how often it tried to answer otherwise."""

    numbers: SiteNumbers
    refused: int = 0


@dataclass(eq=False)
class SiteRound(Round):
    """A round that sites answer."""

    kept: dict[str, Kept] = field(default_factory=dict)

    def begin(self) -> None:
        self._tally = SiteTally(self.study)
        self.reports = [0]

    def check(self, answer: SiteAnswer) -> None:
        """Refuse a site that this round does not ask, and other sizes than in the round before."""
        with self._lock:
            self._tally.check(answer)

    def keep(self, answer: SiteAnswer, refused: int = 0) -> None:
        with self._lock:
            self._tally.add(answer)
            self.kept[answer.site] = Kept(answer.numbers, refused)
            self.reports = [len(self.kept)]

    def refuse(self, site: str) -> None:
        self.kept[site].refused += 1

    def recount(self, connection: Connection) -> None:
        table = schema.answers.c
        wanted = select(table.body, table.refused).where(table.round == self.serial).order_by(table.index)
        for body, refused in connection.execute(wanted):
            self.keep(SiteAnswer.from_bytes(body, self.study), refused)

    @property
    def tally(self) -> SiteTally:
        with self._lock:
            copy: SiteTally = self._tally + SiteTally(self.study)
            return copy


_KINDS: dict[str, type[Round]] = {REPORTS: Round, NUMBERS: SiteRound}


def new_round(serial: int, study: Study) -> Round:
    return _KINDS[collected(study).sends](serial, study)


def site_round(asked: Round) -> SiteRound:
    if not isinstance(asked, SiteRound):
        raise BadValue("this study asks people, not sites")
    return asked


@dataclass(frozen=True)
class SiteRequest(AboutStudy):
    """A site wants to take part."""

    live: LiveStudy
    request: str
    name: str
    key: bytes
    code: str | None = None


def enrol_sites(connection: Connection, requests: Sequence[SiteRequest]) -> list[Any]:
    """Give each site its place; the same request again gets the same one."""
    return one_by_one(connection, requests, _enrol)


def _enrol(connection: Connection, asked: SiteRequest) -> Any:
    live, table = asked.live, schema.sites.c
    mine = select(table.index, table.name, table.key).where(table.study == live.id)
    known = connection.execute(mine.where(table.request == asked.request)).one_or_none()
    if known is not None:
        site = EnrolledSite(*known)
        if (site.name, site.key) != (asked.name, asked.key):
            raise Conflict("this request was made before, with another name or key")
        return Holder(SITE, 0, site.index)
    if connection.execute(mine.where(table.name == asked.name)).first() is not None:
        raise Conflict(f"a site with the name {asked.name!r} is enrolled already, from another folder")
    if live.study.protocol.round > 1:
        raise Closed("the second round asks only the sites that answered the first")
    code = invitation(connection, EnrolRequest(live, asked.request, code=asked.code), [])
    last = connection.scalar(select(func.max(table.index)).where(table.study == live.id))
    site = EnrolledSite(0 if last is None else last + 1, asked.name, asked.key)
    row = {"study": live.id, "index": site.index, "name": site.name}
    connection.execute(insert(schema.sites), {**row, "request": asked.request, "key": site.key})
    if code is not None:
        use(connection, [{"this_study": live.id, "this_code": code.code, "request": asked.request}])
    return OnCommit(Holder(SITE, 0, site.index), lambda: live.sites.__setitem__(site.index, site))


@dataclass(frozen=True)
class SentAnswer(AboutStudy):
    """An answer that has passed all checks of its own."""

    live: LiveStudy
    round: SiteRound
    index: int
    answer: SiteAnswer
    signature: bytes


def read_answer(live: LiveStudy, holder: Holder, body: str, signature: bytes) -> SentAnswer:
    """An answer of this very site to one of the study's rounds, or one sentence about what is wrong."""
    named = parse(body, "the site's answer").get("study")
    asked = next((each for each in live.rounds if each.study.id == named), live.now)
    answer = SiteAnswer.from_bytes(body, asked.study)
    site = live.sites[holder.index]
    if answer.site != site.name:
        raise NotYours(f"this secret belongs to site {site.name!r}, and the answer to {answer.site!r}")
    if not is_signed(site.key, bytes(answer), signature):
        raise NotYours(f"the answer is not signed with the key that {site.name!r} enrolled with")
    return SentAnswer(live, site_round(asked), holder.index, answer, signature)


def take_answers(connection: Connection, answers: Sequence[SentAnswer]) -> list[Any]:
    return one_by_one(connection, answers, _take)


def _take(connection: Connection, sent: SentAnswer) -> Any:
    table, answer = schema.answers, sent.answer
    body = bytes(answer).decode()
    mine = (table.c.round == sent.round.serial, table.c.index == sent.index)
    known = connection.scalar(select(table.c.body).where(*mine))
    if known == body:
        return AGAIN
    if known is not None:
        connection.execute(update(table).where(*mine).values(refused=table.c.refused + 1))
        refusal = AlreadyAnswered(f"site {answer.site!r} has already given another answer")
        return OnCommit(refusal, lambda: sent.round.refuse(answer.site))
    if not is_open(sent.live, sent.round):
        raise Closed("this round takes no more answers")
    sent.round.check(answer)
    row = {"round": sent.round.serial, "index": sent.index, "body": body, "refused": 0}
    connection.execute(insert(table), {**row, "signature": sent.signature})
    return OnCommit(COUNTED, lambda: sent.round.keep(answer))


def load_sites(connection: Connection, live: LiveStudy) -> None:
    """Who is enrolled, from the table."""
    table = schema.sites.c
    for row in connection.execute(select(table.index, table.name, table.key).where(table.study == live.id)):
        site = EnrolledSite(*row)
        live.sites[site.index] = site
