"""A client's side: a study arrives in a request of texts, one answer leaves, and the same one ever after.

The state is a mapping of texts that the tool keeps for the client. It holds the answers and a ledger, so that
whoever asks again gets the same bytes, and whoever asks more than the client allows gets nothing.

The server chooses the study, and with it what fits. So whether a record fits must not be an answer of its
own: numbers outside the study's domain are moved to its ends. A client whose records do not fit for another
reason says only that, once, and answers no more; the reason, which may name a record, stays in its log.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, MutableMapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..data.columns import array_of
from ..data.domains import Integers, Interval
from ..data.tables import Table, is_table, whole
from ..errors import AlreadyAnswered, BadFile, BadParameter, BadValue, NotAsked
from ..participant import Participant, check_limits
from ..privacy.ledger import LIMIT, Ledger
from ..protocols.base import PERSON_COLUMN, SITE_COLUMN
from ..sites import SiteAnswer, exact_numbers
from ..study import Study

LEDGER, ANSWER, SECOND, UNFIT = "ledger", "answer ", "second ", "unfit"
SAID = "this client's records do not fit the study: its own log says why"
"""All that leaves of an error which may be about a record."""
log = logging.getLogger(__name__)


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
    client's studies lose more than ``limit``, or have a delta of more than ``max_delta`` together. With a
    ``site`` its folder keeps answers and ledger instead. Records with a column `person` are answered for in
    studies that protect persons only.
    """
    first = Study.from_json(_text(request, "first")) if "first" in request else None
    study = Study.from_json(_text(request, "study"), first=first)
    check_limits(study, max_epsilon, max_delta)
    if UNFIT in state:
        raise BadParameter("this client's records did not fit a study before: it answers no more")
    allowed = (limit, max_delta)
    try:
        if study.protocol.of_sites and site is not None:
            return _reply(study, bytes(site.answer(study, _fitted(study, data), keep=keep)).decode())
        kept = state.get(ANSWER + study.id)
        if kept is None:
            kept = _made(study, _fitted(study, data), state, name, request, allowed, keep)
            # Kept before it leaves: from now on only this very answer is ever sent.
            state[ANSWER + study.id] = kept
    except NotAsked as error:
        return {"study": study.id, "waiting": str(error)}
    except BadValue as error:
        log.warning("no answer to study %s: %s", study.id[:16], error)
        state[UNFIT] = study.id
        raise BadValue(SAID) from None
    return _reply(study, str(kept))


def _fitted(study: Study, data: Any) -> Table:
    """The study's columns, with numbers moved into their domains."""
    statistic = study.statistic
    names = statistic.columns
    beside = study.protocol.record_columns
    names = (*names, *beside[1:])
    if beside == (SITE_COLUMN,) and is_table(data) and _has(data, PERSON_COLUMN):
        raise BadParameter("this client's records belong to persons, and the study protects single records")
    if is_table(data) and not all(_has(data, name) for name in names):
        raise BadParameter(f"this client does not have all of {', '.join(names)}, which the study asks for")
    table = whole(data, names)
    for name, domain in zip(statistic.domain_columns, study.domains, strict=True):
        if isinstance(domain, (Interval, Integers)):
            moved = inside(domain, table[name], name)
            outside = int((moved != table[name]).sum())
            if outside:
                log.warning("%d of %d values of %s were moved into %r", outside, moved.size, name, domain)
            table[name] = moved
    return table


def _has(data: Any, column: str) -> bool:
    try:
        return bool(whole(data, (column,)))
    except BadValue:
        return False


def inside(domain: Interval | Integers, values: Any, column: str) -> NDArray[Any]:
    """Numbers at the end of the domain that they lie beyond."""
    numbers = array_of(values, column)
    if numbers.dtype.kind in "iu" and isinstance(domain, Integers):
        # In a type that holds both ends.
        numbers = numbers.astype(np.int64 if domain.high < 2**63 else np.uint64)
    return np.asarray(np.clip(numbers, domain.low, domain.high))


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
    allowed: tuple[float | None, float],
    keep: bool,
) -> str:
    begun = study if study.first is None else study.first
    if study.protocol.round > 1:
        before = state.get(SECOND + begun.id)
        if before not in (None, study.id):
            raise AlreadyAnswered(
                "another second round of this study was answered: a further answer would reveal more"
            )
    if study.protocol.of_sites:
        made = _of_site(study, begun, data, state, name, keep)
    else:
        made = _of_person(study, data, request)
    limit, delta = allowed
    before = Ledger.from_json(state[LEDGER]) if LEDGER in state else Ledger(LIMIT)
    # Half of a ledger's delta is for its studies.
    ledger = Ledger(before.limit if limit is None else limit, 2 * delta, before.spent)
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
        raise BadParameter(
            f"a {study.protocol.name} study asks clients with one record each; sites have many"
        )
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
