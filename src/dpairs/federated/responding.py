"""A client's side: a study arrives in a request of texts, one answer leaves, and the same one ever after.

The state is a mapping of texts that the tool keeps for the client. It holds the answers and a ledger, so that
whoever asks again gets the same bytes, and whoever asks more than the client allows gets nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from typing import Any, Protocol

import numpy as np

from ..data.tables import whole
from ..errors import AlreadyAnswered, BadFile, BadValue, NotAsked
from ..participant import Participant, check_limits
from ..privacy.ledger import LIMIT, Ledger
from ..sites import SiteAnswer, exact_numbers
from ..study import Study

LEDGER, ANSWER, SECOND = "ledger", "answer ", "second "


class Answering(Protocol):
    """A site that keeps its own answers, such as `dpairs.client.Site`."""

    def answer(self, study: Study, data: Any, *, keep: bool = False) -> SiteAnswer: ...


def respond(
    request: Mapping[str, str],
    data: Any,
    state: MutableMapping[str, Any],
    name: str,
    *,
    max_epsilon: float,
    max_delta: float = 0.0,
    limit: float | None = None,
    keep: bool = False,
    site: Answering | None = None,
) -> dict[str, str]:
    """The reply to a request: an answer, or that this client is not asked in this round.

    A study that loses more than ``max_epsilon`` is refused, and so is one that would make all of this
    client's studies lose more than ``limit``. With a ``site`` its folder keeps answers and ledger instead.
    """
    first = Study.from_json(_text(request, "first")) if "first" in request else None
    study = Study.from_json(_text(request, "study"), first=first)
    check_limits(study, max_epsilon, max_delta)
    if study.protocol.by_sites is not None and site is not None:
        return _reply(study, bytes(site.answer(study, data, keep=keep)).decode())
    kept = state.get(ANSWER + study.id)
    if kept is None:
        try:
            kept = _made(study, data, state, name, request, limit, keep)
        except NotAsked as error:
            return {"study": study.id, "waiting": str(error)}
        # Kept before it leaves: from now on only this very answer is ever sent.
        state[ANSWER + study.id] = kept
    return _reply(study, str(kept))


def _reply(study: Study, answer: str) -> dict[str, str]:
    return {"study": study.id, "answer": answer}


def _text(request: Mapping[str, str], name: str) -> str:
    value = request.get(name)
    if not isinstance(value, str):
        raise BadFile(f"a request of a study has the text {name!r}")
    return value


def _made(
    study: Study,
    data: Any,
    state: MutableMapping[str, Any],
    name: str,
    request: Mapping[str, str],
    limit: float | None,
    keep: bool,
) -> str:
    begun = study if study.first is None else study.first
    if study.protocol.round > 1:
        before = state.get(SECOND + begun.id)
        if before not in (None, study.id):
            raise AlreadyAnswered(
                "another second round of this study was answered: a further answer would reveal more"
            )
    if study.protocol.by_sites is not None:
        made = _of_site(study, begun, data, state, name, keep)
    else:
        made = _of_person(study, data, request)
    ledger = Ledger.from_json(state[LEDGER]) if LEDGER in state else Ledger(LIMIT if limit is None else limit)
    # Both rounds of a study are one entry: its claim is for both.
    ledger.spend(begun, name)
    state[LEDGER] = ledger.to_json()
    if study.protocol.round > 1:
        state[SECOND + begun.id] = study.id
    return made


def _of_site(study: Study, begun: Study, data: Any, state: Mapping[str, Any], name: str, keep: bool) -> str:
    if study != begun:
        before = state.get(ANSWER + begun.id)
        if before is None:
            raise NotAsked(f"{name} did not answer the first round, so the second does not ask it")
        if SiteAnswer.from_bytes(before, begun).numbers.sizes != exact_numbers(study, data, keep).sizes:
            raise BadValue(
                "the records differ from those of the first round: answer both rounds with the same ones"
            )
    return bytes(SiteAnswer.of(study, name, data, keep=keep)).decode()


def _of_person(study: Study, data: Any, request: Mapping[str, str]) -> str:
    """The report of a client with one record, at the index that the server gave it."""
    table = whole(data, study.statistic.columns)
    if {len(values) for values in table.values()} != {1}:
        raise BadValue(f"a {study.protocol.name} study asks clients with one record each; sites have many")
    index = _text(request, "index")
    if not (index.isdecimal() and index.isascii() and len(index) < 16):
        raise BadFile("a client's index is a whole number")
    stratum, columns = next(
        (stratum, columns) for stratum, columns in study.statistic.split(table) if len(columns[0])
    )
    values = {
        name: np.asarray(column).tolist()[0]
        for name, column in zip(study.statistic.private_columns, columns, strict=True)
    }
    report = Participant(study, int(index), stratum, max_delta=study.delta).report(**values)
    return bytes(report).hex()
