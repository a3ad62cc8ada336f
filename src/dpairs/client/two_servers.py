"""Taking part in a task of two servers, and collecting its result: over DAP, from Python.

The link names a task by the hash of its file, so nobody can offer another one: study, operators, addresses
and the analyst's key are all part of it. What leaves the device is a share sealed for each server; both go to
the leader, which can open one of them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from operator import index
from typing import Any

from ..dap.collection import CollectionJobReq, read_collection_resp
from ..dap.participant import make_report
from ..dap.reports import HpkeConfig, ReportError, read_configs, read_report, read_upload_errors, usable
from ..dap.result import open_release
from ..dap.task import ROLES, STATES, Task, analyst_token
from ..errors import BadFile, BadParameter, Closed, NotYet, Refused
from ..formats.checks import choice
from ..participant import check_limits, private_columns
from ..randomness import SystemRandomness
from ..release import Release
from ..study import Study
from .device import Device, Membership
from .link import TASK
from .reporter import STANDS, Book, Joined
from .transport import Transport

KIND = "application/ppm-dap;message="
NO_INDEX = 0
"""Nobody has a number in a task."""
SEES = (
    "sees when a report arrives and its public class, opens the share that is sealed for it, and passes the "
    "other one on",
    "gets reports from the leader, and opens the share that is sealed for it",
)
"""What the leader and the helper can see."""
PAGE = (
    "A page that one of the two servers hosts protects only against a curious server: it could serve a page "
    "that sends more. This program, or a page that somebody else hosts, does not come from either of them."
)


@dataclass(frozen=True)
class TaskOffer:
    """A task, checked against its link, and lines to both servers."""

    task: Task
    lines: tuple[Transport, Transport]

    @property
    def study(self) -> Study:
        return self.task.study

    @cached_property
    def configs(self) -> list[HpkeConfig]:
        """The key of each server, asked of each server itself."""
        return [usable(read_configs(line.bytes("GET", "/hpke_config"))) for line in self.lines]


def get_task(link: str, patience: float = 60.0) -> TaskOffer:
    """Ask the server of a link for the task; refuse any other."""
    match = TASK.fullmatch(link.strip())
    if match is None:
        raise BadParameter(
            f"a link looks like https://HOST/two-servers/TASK, with 64 digits, not {link[:120]!r}"
        )
    where = Transport(match[1], patience=patience)
    task = Task.from_json(where.bytes("GET", f"/two-servers/{match[2]}/task.json"))
    if task.id.hex() != match[2]:
        raise BadFile(
            f"{match[1]} offers task {task.id.hex()[:16]}..., not {match[2][:16]}..., which was asked for"
        )
    one, two = (Transport(each.url, patience=patience) for each in task.operators)
    return TaskOffer(task, (one, two))


def link_of(task: Task) -> str:
    """The link that people are given."""
    return f"{task.leader.url}/two-servers/{task.id.hex()}"


def join_task(
    offered: TaskOffer,
    values: Mapping[str, Any],
    *,
    stratum: str | None = None,
    device: Device | None = None,
    limit: float | None = None,
    limit_delta: float | None = None,
    max_epsilon: float | None = None,
    max_delta: float = 0.0,
) -> Joined:
    """Take part in a task with these values; again, with the same device, to send the same report again."""
    check_limits(offered.study, max_epsilon, max_delta)
    kept = device or Device()
    with kept.study(offered.task.id.hex()) as me:
        if not me.began:
            kept.check(offered.study, limit, limit_delta)
        return send(
            offered, me, values, stratum, lambda study, answer: kept.spend(study, answer, limit, limit_delta)
        )


def send(
    offered: TaskOffer, me: Membership, values: Mapping[str, Any], stratum: str | None, book: Book
) -> Joined:
    """Make the one report of this person, and send it until it is taken."""
    task = offered.task
    if "sealed" not in me.data:
        group = _stratum(task, stratum)
        cell = int(task.protocol.measure(group, private_columns(task.study, values))[0])
        made = make_report(task, offered.configs, group, cell, int(time.time()), SystemRandomness())
        # Written down before it leaves: from now on only this very report is ever sent.
        me.data["sealed"] = {"wire": bytes(made).hex(), "stratum": group}
        me.save()
    wire, group = bytes.fromhex(me.data["sealed"]["wire"]), str(me.data["sealed"]["stratum"])
    report = read_report(wire)
    again = bool(me.data.get("counted"))
    if not again:
        book(task.study, me.answer)
        path = f"/tasks/{task.name}/reports"
        refused = read_upload_errors(offered.lines[0].bytes("POST", path, wire, kind=f"{KIND}upload-req"))
        if refused:
            _explain(refused[0][1])
        me.data["counted"] = True
        me.save()
    name = report.metadata.report_id.hex()
    taken = f"the sealed report {name[:8]}... was taken by the leader"
    return Joined("counted", NO_INDEX, group, STANDS if again else taken)


def _stratum(task: Task, given: str | None) -> str:
    if given is None and len(task.study.strata) > 1:
        raise BadParameter(f"say which class this person belongs to: {' or '.join(task.study.strata)}")
    return task.study.strata[0] if given is None else choice("stratum", given, task.study.strata)


def _explain(error: ReportError) -> None:
    if error == ReportError.BATCH_COLLECTED:
        raise Closed("the study takes no more reports")
    raise Refused(f"the leader refuses the report: {error.name.lower()}", "reportRefused")


def collect_result(task: Task, secret: bytes, wait: float = 60.0, patience: float = 60.0) -> Release:
    """Ask the leader for the result, and open it with the analyst's secret."""
    line, token, request = (
        Transport(task.leader.url, patience=patience),
        analyst_token(secret),
        CollectionJobReq(),
    )
    path = f"/tasks/{task.name}/collection_jobs"
    body, headers = line.answer("POST", path, bytes(request), token, f"{KIND}collection-job-req")
    where, deadline = headers.get("location", ""), time.monotonic() + wait
    if not body and not where.startswith(f"{task.leader.url}/tasks/"):
        raise BadFile("the leader does not say where the result will be")
    while not body:
        if time.monotonic() > deadline:
            raise NotYet("the two servers are still computing the result: ask again later")
        time.sleep(0.2)
        body = line.bytes("GET", where.removeprefix(task.leader.url), token=token)
    return open_release(task, secret, request, read_collection_resp(body))


def server_states(task: Task, patience: float = 10.0) -> list[tuple[str, str, str, int, int]]:
    """Each server's name, role and state, and how many reports it says it verified and refused."""
    return [
        (operator.name, role, *_state(Transport(operator.url, patience=patience), task, operator.name))
        for operator, role in zip(task.operators, ROLES, strict=True)
    ]


def _state(line: Transport, task: Task, name: str) -> tuple[str, int, int]:
    said = line.json("GET", f"/tasks/{task.name}/state")
    try:
        verified, refused = (sum(map(index, said[part].values())) for part in ("verified", "refused"))
        if said["state"] in STATES:
            return said["state"], verified, refused
    except (TypeError, KeyError, AttributeError):
        pass
    raise BadFile(f"{name} does not answer as a server of a task does")
