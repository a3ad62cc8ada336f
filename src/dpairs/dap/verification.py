"""Reports verified many at a time: the ping-pong of the VDAF draft, in the messages of DAP.

    leader                                helper
    begin(reports)   ── JobRequest ──>    answer(inits)
    finish(...)      <── answers ───

Each server ends with the same reports, its own sums, and a reason for each report that it refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import BadMessage
from ..vdaf.batch.pingpong import helper_init, leader_continued, leader_init
from ..vdaf.batch.server import Prepared
from ..vdaf.batch.server import Server as Batch
from .buckets import Bucket, checksum
from .jobs import VerifyInit, VerifyResp
from .reports import HpkeCiphertext, Report, ReportError, ReportMetadata
from .sealing import open_share, read_plain
from .task import Task

Mask = NDArray[np.bool_]
Message = TypeVar("Message", Report, VerifyInit)


@dataclass(frozen=True)
class Verified:
    """A batch at its end."""

    buckets: dict[str, Bucket] = field(repr=False)
    """What there is to add, for each class that has any."""
    valid: list[bytes]
    """The ids of the valid reports."""
    refused: dict[bytes, ReportError]


@dataclass(frozen=True, eq=False)
class Begun:
    """The leader's reports that wait for the helper's answers."""

    reports: list[Report] = field(repr=False)
    prepared: Prepared = field(repr=False)
    inits: tuple[VerifyInit, ...] = field(repr=False)
    refused: dict[bytes, ReportError]


class Verifier:
    """One server's side, with its keys."""

    def __init__(self, task: Task, server: int, keys: Mapping[int, bytes], verify_key: bytes) -> None:
        self._task, self._number, self._keys = task, server, dict(keys)
        self._batch = Batch(task.vdaf, verify_key, task.context, server)

    def __repr__(self) -> str:
        return f"Verifier(task={self._task.name[:8]!r}, server={self._number})"

    def begin(self, reports: Sequence[Report]) -> Begun:
        """The leader's first messages about all reports that it can open."""
        opened, shares, refused = self._all_open(reports, lambda report: report.leader)
        ids, publics = [each.metadata.report_id for each in opened], [each.public_share for each in opened]
        prepared, messages = leader_init(self._batch, ids, publics, shares)
        inits = []
        for report, message in zip(opened, messages, strict=True):
            if message is None:
                refused[report.metadata.report_id] = ReportError.VDAF_VERIFY_ERROR
            else:
                inits.append(VerifyInit(report.metadata, report.public_share, report.helper, message))
        return Begun(opened, prepared, tuple(inits), refused)

    def finish(self, begun: Begun, answers: Sequence[VerifyResp]) -> Verified:
        """The leader's end: what both found valid."""
        refused, said = dict(begun.refused), {each.report_id: each for each in answers}
        inbound = list[bytes | None]()
        for report in begun.reports:
            answer = said.get(report.metadata.report_id)
            inbound.append(None if answer is None else answer.payload)
            if answer is not None and answer.error is not None:
                refused[report.metadata.report_id] = answer.error
        valid = leader_continued(self._batch, begun.prepared, inbound)
        metadata = [each.metadata for each in begun.reports]
        return self._end(metadata, begun.prepared, valid, refused)

    def answer(self, inits: Sequence[VerifyInit]) -> tuple[Verified, dict[bytes, bytes]]:
        """The helper's end, and its message about each valid report."""
        opened, shares, refused = self._all_open(inits, lambda init: init.helper)
        metadata = [each.metadata for each in opened]
        ids, publics = [each.report_id for each in metadata], [each.public_share for each in opened]
        verified = helper_init(self._batch, ids, publics, shares, [each.payload for each in opened])
        outbound = {
            name: message for name, message in zip(ids, verified.outbound, strict=True) if message is not None
        }
        return self._end(metadata, verified.prepared, verified.valid, refused), outbound

    def _all_open(
        self, messages: Sequence[Message], mine: Callable[[Message], HpkeCiphertext]
    ) -> tuple[list[Message], list[bytes], dict[bytes, ReportError]]:
        """Those that can be opened, the shares in them, and why others cannot."""
        opened, shares, refused = list[Message](), list[bytes](), dict[bytes, ReportError]()
        for message in messages:
            share = self._open(message.metadata, message.public_share, mine(message))
            if isinstance(share, ReportError):
                refused[message.metadata.report_id] = share
            else:
                opened.append(message)
                shares.append(share)
        return opened, shares, refused

    def _open(self, metadata: ReportMetadata, public: bytes, sealed: HpkeCiphertext) -> bytes | ReportError:
        task, secret = self._task, self._keys.get(sealed.config_id)
        if task.stratum(metadata) is None or len(public) != task.vdaf.public_size:
            return ReportError.INVALID_MESSAGE
        if secret is None:
            return ReportError.HPKE_DECRYPT_ERROR
        try:
            plain = open_share(task, self._number, secret, metadata, public, sealed)
        except BadMessage:
            return ReportError.HPKE_DECRYPT_ERROR
        try:
            return read_plain(plain, task.vdaf.input_size(self._number))
        except BadMessage:
            return ReportError.INVALID_MESSAGE

    def _end(
        self,
        metadata: Sequence[ReportMetadata],
        prepared: Prepared,
        valid: Mask,
        refused: dict[bytes, ReportError],
    ) -> Verified:
        strata = np.array([self._task.stratum(each) for each in metadata], dtype=object)
        buckets = dict[str, Bucket]()
        for name in self._task.study.strata:
            chosen = valid & np.asarray(strata == name, dtype=np.bool_).reshape(valid.shape)
            if chosen.any():
                mine = [metadata[place] for place in np.flatnonzero(chosen).tolist()]
                times = [each.time for each in mine]
                shares = self._batch.aggregate(prepared, chosen)
                marks = checksum(each.report_id for each in mine)
                buckets[name] = Bucket(len(mine), marks, shares, min(times), max(times))
        ids = [each.report_id for each in metadata]
        for report_id, good in zip(ids, valid.tolist(), strict=True):
            if not good:
                refused.setdefault(report_id, ReportError.VDAF_VERIFY_ERROR)
        return Verified(buckets, [ids[place] for place in np.flatnonzero(valid).tolist()], refused)
