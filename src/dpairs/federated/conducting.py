"""The server's side: every round of a study asked of a tool's clients, and the estimate from their answers.

A reply is believed only as far as it can be checked: it must answer the round that was asked, in the name of
the client that sent it. What cannot be used is left out and said, and never stops the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..errors import BadFile, BadParameter, DpairsError
from ..estimate import Estimate
from ..formats.display import printable
from ..protocols.base import NUMBERS, REPORTS
from ..report import Report
from ..sites import SiteAnswer, SiteTally
from ..study import Study
from ..tally import Tally

Client: TypeAlias = int | str
"""A client as its tool names it."""
Request: TypeAlias = dict[str, str]
Ask: TypeAlias = Callable[[Mapping[Client, Request]], Iterable[tuple[Client, Mapping[str, object]]]]
"""Sends a request to each client by its number, and yields what came back."""
Read: TypeAlias = Callable[[Study, Client, str, int], Report | SiteAnswer]
"""Makes a client's answer from a reply's text, if the client of that number can have given it."""
SENTENCE = 500
"""Letters of a client's reason that are kept."""


@dataclass(frozen=True)
class Outcome:
    """The estimate, who answered in the last round, and why other replies were left out."""

    estimate: Estimate
    answered: tuple[Client, ...]
    refused: dict[Client, str]


def site_of(client: Client) -> str:
    """The name under which a client answers, and no other."""
    return f"client-{client}" if isinstance(client, int) else client


def conduct(study: Study, clients: Iterable[Client], ask: Ask) -> Outcome:
    """Ask all rounds of ``study``; a client that drops out of a round is not asked again."""
    if study.protocol.round != 1 or study.protocol.has_crypto:
        raise BadParameter("a federated tool conducts a first round that sites or people answer alone")
    kind, read = _ANSWERS[study.protocol.sends]
    asked = sorted(set(clients), key=str)
    numbers = {client: place for place, client in enumerate(asked)}
    refused: dict[Client, str] = {}
    now = study
    while True:
        request = {"study": now.to_json()} | ({} if now == study else {"first": study.to_json()})
        requests = {client: {**request, "index": str(numbers[client])} for client in asked}
        tally = kind(now)
        answered = _collect(now, tally, read, requests, ask, refused)
        if now.protocol.round == now.protocol.rounds:
            return Outcome(tally.estimate(), tuple(sorted(answered, key=str)), refused)
        now = study.next(tally)
        # Where each acts in one round, those who said nothing yet are left.
        again = study.protocol.asks_again
        asked = [client for client in asked if (client in answered) == again and client not in refused]


def _collect(
    study: Study,
    tally: Any,
    read: Read,
    requests: Mapping[Client, Request],
    ask: Ask,
    refused: dict[Client, str],
) -> set[Client]:
    answered: set[Client] = set()
    for client, reply in ask(requests):
        try:
            if client not in requests or client in answered:
                raise BadFile("nobody asked for this reply")
            if "refused" in reply:
                raise BadFile(f"the client refused: {printable(str(reply['refused'])[:SENTENCE])}")
            if reply.get("study") != study.id:
                raise BadFile("the reply is to another study")
            if "waiting" in reply:
                continue
            wire = reply.get("answer")
            if not isinstance(wire, str):
                raise BadFile("the reply has no answer")
            tally.add(read(study, client, wire, int(requests[client]["index"])))
            answered.add(client)
        except DpairsError as error:
            refused[client] = str(error)
    return answered


def _site_answer(study: Study, client: Client, wire: str, index: int) -> SiteAnswer:
    answer = SiteAnswer.from_bytes(wire, study)
    if answer.site != site_of(client):
        raise BadFile(f"the reply is in the name of {answer.site!r}, not of {site_of(client)!r}")
    return answer


def _report(study: Study, client: Client, wire: str, index: int) -> Report:
    try:
        report = Report.from_bytes(bytes.fromhex(wire), study)
    except ValueError as error:
        raise BadFile(f"the reply is not a report: {error}") from None
    if report.index != index:
        raise BadFile(f"the reply belongs to participant {report.index}, not to {index}")
    return report


_ANSWERS: dict[str, tuple[type[Tally | SiteTally], Read]] = {
    REPORTS: (Tally, _report),
    NUMBERS: (SiteTally, _site_answer),
}
