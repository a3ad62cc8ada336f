"""A person takes part: enrols once, is asked once, reports once; called again, it continues."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import BadFile, BadParameter, Unavailable
from ..formats.checks import integer
from ..participant import Participant, check_limits
from ..protocols.base import PAIRS
from ..report import MAX_INDEX, Report
from ..study import Study
from .device import Device, Membership
from .link import Link
from .offer import API, Offer, get_offer
from .transport import Transport, part

Book = Callable[[Study, str], None]
"""Writes an answer of that name into the person's ledger, or refuses."""
STANDS = "this device has answered already; the first answer stands"
Confirm = Callable[[int, str, str], bool | None]
"""Whether the person lets a pair begin: its number, the fingerprints of both keys, this side first. None
leaves it as it was: a pair that was turned down stays so."""


@dataclass(frozen=True)
class Joined:
    """How far this person has come."""

    state: str
    """"counted", "waiting" (for another round, for pairs, or for a partner), "done" or "closed"."""
    index: int
    stratum: str
    message: str
    report: Report | None = None
    pairs: Mapping[int, str] | None = None
    """Each pair's number and how it stands."""
    fingerprints: Mapping[int, tuple[str, str]] | None = None
    """Of each pair the fingerprints of this device's key and of the partner's, as this device knows them."""


def join(
    link: str | Link | Offer,
    values: Mapping[str, Any],
    *,
    stratum: str | None = None,
    code: str | None = None,
    device: Device | None = None,
    limit: float | None = None,
    limit_delta: float | None = None,
    max_epsilon: float | None = None,
    max_delta: float = 0.0,
    transport: Transport | None = None,
    wait: float = 0.0,
    confirm: Confirm | None = None,
) -> Joined:
    """Take part in a collector's study with these values, which stay here.

    Every answer is written into the device's ledger and must stay within the person's limit over all studies:
    epsilon 5 and delta 0 by default. ``limit`` and ``limit_delta`` change it, and the ledger remembers them.
    ``max_epsilon`` and ``max_delta`` refuse this study if it costs more. ``wait`` is how many seconds to wait
    for partners in a study of pairs; ``confirm`` is called before a pair begins, and a pair that is not
    confirmed waits. Call it again with the same device to continue after a crash, in the next round, or when
    the partner has answered.
    """
    offered = link if isinstance(link, Offer) else get_offer(link, transport)
    check_limits(offered.study, max_epsilon, max_delta)
    kept = device or Device()

    def book(study: Study, answer: str) -> None:
        kept.spend(study, answer, limit, limit_delta)

    with kept.study(offered.where.study) as me:
        if not me.began:
            kept.check(offered.study, limit, limit_delta)
        return go_on(offered, me, values, stratum, code, book, wait, confirm)


def go_on(
    offered: Offer,
    me: Membership,
    values: Mapping[str, Any],
    stratum: str | None,
    code: str | None,
    book: Book,
    wait: float = 0.0,
    confirm: Confirm | None = None,
) -> Joined:
    """Take all steps that can be taken now."""
    _check(offered.study, values)
    _enrol(offered, me, stratum, code or offered.where.code)
    return {PAIRS: lambda: _in_pairs(offered, me, values, book, wait, confirm)}.get(
        offered.study.protocol.answered_by, lambda: _report(offered, me, values, book)
    )()


def _check(study: Study, values: Mapping[str, Any]) -> None:
    """Refuse a value outside its domain before anybody is enrolled."""
    names = study.statistic.private_columns
    if set(values) != set(names):
        given = ", ".join(sorted(values)) or "nothing"
        raise BadParameter(f"this study asks for {' and '.join(names)}, but {given} was given")
    for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True):
        if name in values:
            domain.check([values[name]], name)


def _enrol(offered: Offer, me: Membership, stratum: str | None, code: str | None) -> None:
    study = offered.study
    check_collector(offered, me)
    if "secret" in me.data:
        if stratum is not None and stratum != me.data["stratum"]:
            raise BadParameter(f"this device is enrolled as {me.data['stratum']!r}, not as {stratum!r}")
        return
    request: dict[str, Any] = {"request": me.request}
    if stratum is not None:
        request["stratum"] = stratum
    if code is not None:
        request["code"] = code
    if study.protocol.answered_by in _ENROLLED_WITH:
        request |= _ENROLLED_WITH[study.protocol.answered_by](me)
    given = offered.line.json("POST", f"{API}/{offered.where.study}/people", request)
    secret = read_secret(given)
    index = integer("a collector's index", part(given, "index", int), 0, MAX_INDEX)
    enrolled = {"index": index, "stratum": part(given, "stratum", str), "secret": secret}
    enrolled["collector"] = offered.where.base
    if enrolled["stratum"] not in study.statistic.strata:
        raise Unavailable("the collector enrols this device in a class that the study does not have")
    if stratum is not None and enrolled["stratum"] != stratum:
        raise Unavailable("the collector enrols this device in another class than it asked for")
    me.data |= enrolled
    me.save()


def check_collector(offered: Offer, me: Membership) -> None:
    """A secret is for the collector that gave it: anybody can serve a study of the same id."""
    if "secret" in me.data and me.data.get("collector", offered.where.base) != offered.where.base:
        raise BadParameter(f"this device is enrolled at {me.data['collector']}, not at {offered.where.base}")


def read_secret(given: Any) -> str:
    """The secret that a collector gives at enrolment."""
    secret = part(given, "secret", str)
    if not (secret.isascii() and secret.isprintable() and 0 < len(secret) < 1000):
        raise Unavailable("the collector gives a secret that cannot be sent")
    return secret


def _report(offered: Offer, me: Membership, values: Mapping[str, Any], book: Book) -> Joined:
    study = offered.study
    index, stratum = me.data["index"], me.data["stratum"]
    sent = me.data.get("report")
    if sent is None:
        if offered.state == "closed":
            return Joined("closed", index, stratum, "the study takes no more reports")
        if not study.asks(stratum, index):
            later = study.protocol.round < study.protocol.rounds
            if not later:
                return Joined("closed", index, stratum, "this person's round is over, and no report was sent")
            return Joined("waiting", index, stratum, "this person is asked in the next round: come back then")
        answer = Participant(study, index, stratum, max_delta=study.delta).report(**values)
        # Written down before it leaves: from now on only this very report is ever sent.
        me.data["report"] = sent = {"study": study.id, "wire": bytes(answer).hex()}
        me.save()
    # By its whole id: a report names its study by 64 bits only.
    asked = next((each for each in (study, offered.first) if each.id == sent["study"]), None)
    if asked is None:
        raise BadFile("the collector no longer offers the round that this device has answered")
    report = Report.from_bytes(bytes.fromhex(sent["wire"]), asked)
    again = bool(me.data.get("counted"))
    if not again:
        book(asked, me.answer)
        path = f"{API}/{offered.where.study}/reports"
        offered.line.bytes("POST", path, bytes(report), me.data["secret"])
        me.data["counted"] = True
        me.save()
    return Joined("counted", index, stratum, STANDS if again else "the report is counted", report)


def _in_pairs(*given: Any) -> Joined:
    from .peer import take_part  # cryptography, which only pairs need

    return take_part(*given)


def _pair_key(me: Membership) -> dict[str, str]:
    from .sealing import public_key

    return {"key": public_key(me.key("x25519")).hex()}


_ENROLLED_WITH = {PAIRS: _pair_key}
"""What a device says of itself when it enrols."""
