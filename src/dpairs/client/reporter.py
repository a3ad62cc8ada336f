"""A person takes part: enrols once, is asked once, reports once; begun again, it goes on where it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import BadFile, BadParameter, DpairsError, LimitExceeded, Unavailable
from ..formats.canonical import canonical
from ..participant import Participant
from ..report import Report
from ..study import Study
from .device import Device, Membership
from .link import Link
from .transport import Transport, part

API = "/api/v1/studies"


@dataclass(frozen=True)
class Joined:
    """How far this person's part has come."""

    state: str
    """"counted", "waiting" (for another round, for pairs, or for a partner), "done" or "closed"."""
    index: int
    stratum: str
    message: str
    report: Report | None = None
    pairs: Mapping[int, str] | None = None
    """Each pair's number and how it stands."""
    safety: Mapping[int, str] | None = None
    """Each pair's safety number: it is the same on the partner's device, unless somebody sits between."""


def join(
    link: str | Link,
    values: Mapping[str, Any],
    *,
    stratum: str | None = None,
    code: str | None = None,
    device: Device | None = None,
    limit: float | None = None,
    max_epsilon: float | None = None,
    transport: Transport | None = None,
    wait: float = 0.0,
) -> Joined:
    """Take part in a collector's study with these values, which stay here.

    ``limit`` is the person's limit over all studies, kept in the device's ledger; ``max_epsilon`` refuses
    this study if it loses more. ``wait`` is how many seconds to wait for partners in a study of pairs. Call
    it again, with the same device, to go on after a crash, in the next round, or when the partner answered.
    """
    where = Link.parse(link) if isinstance(link, str) else link
    line = transport or Transport(where.base)
    public = line.json("GET", f"{API}/{where.study}")
    study = read_study(where.study, part(public, "study", dict))
    offered = Offer(where, line, part(public, "state", str), study)
    loss = offered.study.epsilon
    if max_epsilon is not None and loss > max_epsilon:
        raise LimitExceeded(
            f"this study loses epsilon {loss:g}, above this person's limit of {max_epsilon:g}"
        )
    kept = device or Device()
    kept.check(study, limit)
    with kept.study(where.study) as me:
        return go_on(offered, me, values, stratum, code, lambda study: kept.spend(study, limit), wait)


@dataclass(frozen=True)
class Offer:
    """What a collector offers: a study as it stands now."""

    where: Link
    line: Transport
    state: str
    study: Study


def go_on(
    offered: Offer,
    me: Membership,
    values: Mapping[str, Any],
    stratum: str | None,
    code: str | None,
    spend: Callable[[Study], None],
    wait: float = 0.0,
) -> Joined:
    """Take all steps that can be taken now."""
    _check(offered.study, values)
    _enrol(offered.line, offered.where, me, offered.study, stratum, code or offered.where.code)
    if offered.study.protocol.in_pairs is not None:
        from .peer import take_part

        return take_part(offered.line, offered.where, me, offered.study, values, spend, wait)
    return _report(offered, me, values, spend)


def read_study(wanted: str, content: Any) -> Study:
    """The study that a collector offers; refused unless it belongs to the one that was asked for."""
    try:
        study = Study.from_json(canonical(content))
    except DpairsError:
        raise
    except (ValueError, RecursionError):  # NaN, half a letter, or too deep
        raise BadFile("what the collector offers is not a study's JSON") from None
    if study.first_id != wanted:
        raise BadFile(
            f"the collector offers study {study.first_id[:16]}..., not {wanted[:16]}..., which was asked for"
        )
    return study


def _check(study: Study, values: Mapping[str, Any]) -> None:
    """Refuse a value outside its domain before anybody is enrolled."""
    names = study.statistic.private_columns
    if set(values) != set(names):
        given = ", ".join(sorted(values)) or "nothing"
        raise BadParameter(f"this study asks for {' and '.join(names)}, but {given} was given")
    for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True):
        if name in values:
            domain.check([values[name]], name)


def _enrol(
    line: Transport, where: Link, me: Membership, study: Study, stratum: str | None, code: str | None
) -> None:
    if "secret" in me.data:
        if stratum is not None and stratum != me.data["stratum"]:
            raise BadParameter(f"this device is enrolled as {me.data['stratum']!r}, not as {stratum!r}")
        return
    wish: dict[str, Any] = {"request": me.request}
    if stratum is not None:
        wish["stratum"] = stratum
    if code is not None:
        wish["code"] = code
    if study.protocol.in_pairs is not None:
        from .sealing import public_key

        wish["key"] = public_key(me.key("x25519")).hex()
    given = line.json("POST", f"{API}/{where.study}/people", wish)
    secret = part(given, "secret", str)
    if not (secret.isascii() and secret.isprintable() and 0 < len(secret) < 1000):
        raise Unavailable("what should be a collector gives a secret that cannot be sent")
    enrolled = {"index": part(given, "index", int), "stratum": part(given, "stratum", str), "secret": secret}
    if enrolled["stratum"] not in study.statistic.strata:
        raise Unavailable("what should be a collector enrols in a class that the study does not have")
    me.data |= enrolled
    me.save()


def _report(
    offered: Offer, me: Membership, values: Mapping[str, Any], spend: Callable[[Study], None]
) -> Joined:
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
        answer = Participant(study, index, stratum).report(**values)
        # Written down before it leaves: from now on only this very report is ever sent.
        me.data["report"] = sent = {
            "study": study.id,
            "round": study.protocol.round,
            "wire": bytes(answer).hex(),
        }
        me.save()
    asked = study if sent["study"] == study.id else _round(offered, sent["round"])
    report = Report.from_bytes(bytes.fromhex(sent["wire"]), asked)
    if not me.data.get("counted"):
        spend(asked)
        path = f"{API}/{offered.where.study}/reports"
        offered.line.bytes("POST", path, bytes(report), me.data["secret"])
        me.data["counted"] = True
        me.save()
    return Joined("counted", index, stratum, "the report is counted", report)


def _round(offered: Offer, number: int) -> Study:
    """The study of an earlier round, in which this person acted."""
    path = f"{API}/{offered.where.study}/rounds/{number}"
    return read_study(offered.where.study, offered.line.json("GET", path))
