"""A person takes part: enrols once, is asked once, reports once; begun again, it goes on where it was."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..errors import BadParameter, LimitExceeded, Unavailable
from ..participant import Participant
from ..protocols.pairwise import Pairwise
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
    with (device or Device()).study(where.study) as me:
        public = line.json("GET", f"{API}/{where.study}")
        study = me.load_study(part(public, "study", dict))
        if max_epsilon is not None and study.epsilon > max_epsilon:
            raise LimitExceeded(
                f"this study loses epsilon {study.epsilon:g}, above this person's limit of {max_epsilon:g}"
            )
        _check(study, values)
        spend = _Spending(device or Device(), limit)
        _enrol(line, where, me, study, stratum, code or where.code)
        if isinstance(study.protocol, Pairwise):
            from .peer import take_part

            return take_part(line, where, me, study, values, spend, wait)
        return _report(line, where, me, study, values, spend, part(public, "state", str))


@dataclass(frozen=True)
class _Spending:
    """The person's ledger, asked before anything leaves."""

    device: Device
    limit: float | None

    def __call__(self, study: Study) -> None:
        self.device.spend(study, self.limit)


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
    if isinstance(study.protocol, Pairwise):
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
    line: Transport,
    where: Link,
    me: Membership,
    study: Study,
    values: Mapping[str, Any],
    spend: _Spending,
    state: str,
) -> Joined:
    index, stratum = me.data["index"], me.data["stratum"]
    sent = me.data.get("report")
    if sent is None:
        if state == "closed":
            return Joined("closed", index, stratum, "the study takes no more reports")
        if not study.asks(stratum, index):
            later = study.protocol.round < study.protocol.rounds
            if not later:
                return Joined("closed", index, stratum, "this person's round is over, and no report was sent")
            return Joined("waiting", index, stratum, "this person is asked in the next round: come back then")
        answer = Participant(study, index, stratum).report(**values)
        # Written down before it leaves: from now on only this very report is ever sent.
        me.data["report"] = sent = {"study": study.to_json(), "wire": bytes(answer).hex()}
        me.save()
    asked = Study.from_json(sent["study"])
    report = Report.from_bytes(bytes.fromhex(sent["wire"]), asked)
    if not me.data.get("counted"):
        spend(asked)
        line.bytes("POST", f"{API}/{where.study}/reports", bytes(report), me.data["secret"])
        me.data["counted"] = True
        me.save()
    return Joined("counted", index, stratum, "the report is counted", report)
