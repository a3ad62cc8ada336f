"""What a collector offers, checked against the link: a collector is never believed.

The hash in a link is the id of the first round, so nobody can replace that. A second round must name it and
have the same epsilon, delta, statistic, domains, strata and share.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import BadFile, DpairsError
from ..formats.canonical import canonical
from ..study import Study
from .link import Link
from .transport import Transport, part

API = "/api/v1/studies"


@dataclass(frozen=True)
class Offer:
    """A study in its current round, checked against its link."""

    where: Link
    line: Transport
    state: str
    title: str
    """The collector's words, which promise nothing."""
    study: Study
    """The round that is open."""

    @property
    def first(self) -> Study:
        """The first round, which the link names."""
        return self.study if self.study.first is None else self.study.first


def get_offer(link: str | Link, transport: Transport | None = None) -> Offer:
    """Ask a collector for the study of a link; refuse any other."""
    where = Link.parse(link) if isinstance(link, str) else link
    line = transport or Transport(where.base)
    public = line.json("GET", f"{API}/{where.study}")
    title = public.get("title") if isinstance(public, dict) else None
    study = _read(part(public, "study", dict))
    if study.id != where.study:
        if study.protocol.round == 1:
            raise _another(study, where)
        first = _read(line.json("GET", f"{API}/{where.study}/rounds/1"))
        if first.id != where.study:
            raise _another(first, where)
        study = study.following(first)
    return Offer(where, line, part(public, "state", str), title if isinstance(title, str) else "", study)


def _read(content: Any) -> Study:
    try:
        return Study.from_json(canonical(content))
    except DpairsError:
        raise
    except (ValueError, RecursionError):  # NaN, half a letter, or too deep
        raise BadFile("what the collector offers is not a study's JSON") from None


def _another(study: Study, where: Link) -> BadFile:
    return BadFile(
        f"the collector offers study {study.id[:16]}..., not {where.study[:16]}..., which was asked for"
    )
