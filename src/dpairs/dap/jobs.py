"""Messages of the aggregation (section 4.5) of a VDAF with one round: a request and its answer."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from ..errors import BadMessage
from .presentation import Reader, number, opaque
from .reports import (
    REPORT_ID,
    Extension,
    HpkeCiphertext,
    ReportError,
    ReportMetadata,
    read_extensions,
    report_error,
    write_extensions,
)

LEADER_SELECTED_BATCH_ID = 1
"""The one extension of a job."""
BATCH_ID = 32


@dataclass(frozen=True)
class VerifyInit:
    """The helper's part of a report, and the leader's first message about it."""

    metadata: ReportMetadata
    public_share: bytes = field(repr=False)
    helper: HpkeCiphertext = field(repr=False)
    payload: bytes = field(repr=False)

    def __bytes__(self) -> bytes:
        share = bytes(self.metadata) + opaque(self.public_share, 4) + bytes(self.helper)
        return share + opaque(self.payload, 4)

    @classmethod
    def read(cls, reader: Reader) -> VerifyInit:
        metadata, public = ReportMetadata.read(reader), reader.opaque(4)
        return cls(metadata, public, HpkeCiphertext.read(reader), reader.opaque(4, 1))


@dataclass(frozen=True)
class JobRequest:
    """AggregationJobInitReq of DAP: the leader's first messages about the reports of a batch."""

    batch_id: bytes
    inits: tuple[VerifyInit, ...]
    key_id: int = 0
    agg_param: bytes = b""

    def __bytes__(self) -> bytes:
        extensions = write_extensions([Extension(LEADER_SELECTED_BATCH_ID, self.batch_id)])
        head = number(self.key_id, 1) + opaque(self.agg_param, 4) + extensions
        return head + b"".join(map(bytes, self.inits))


@dataclass(frozen=True)
class JobHead:
    """What stands before a job's reports."""

    key_id: int
    agg_param: bytes
    extensions: tuple[Extension, ...]


def read_job(wire: bytes, most: int) -> tuple[JobHead, tuple[VerifyInit, ...]]:
    """An AggregationJobInitReq, in parts: its head is judged by itself."""
    reader = Reader(wire, "an aggregation job")
    head = JobHead(reader.number(1), reader.opaque(4), read_extensions(reader, "an aggregation job"))
    inits = list[VerifyInit]()
    while reader.left:
        if len(inits) == most:
            raise BadMessage(f"an aggregation job has at most {most} reports here")
        inits.append(VerifyInit.read(reader))
    if not inits:
        raise BadMessage("an aggregation job has at least one report")
    if len({each.metadata.report_id for each in inits}) != len(inits):
        raise BadMessage("an aggregation job has a report twice")
    return head, tuple(inits)


class RespKind(IntEnum):
    """The kinds of a VerifyResp."""

    CONTINUE = 0
    FINISH = 1
    REJECT = 2


@dataclass(frozen=True)
class VerifyResp:
    """The helper's answer about one report: its message, or why it refuses the report."""

    report_id: bytes
    payload: bytes | None = field(default=None, repr=False)
    error: ReportError | None = None

    def __bytes__(self) -> bytes:
        if self.payload is not None:
            return self.report_id + number(RespKind.CONTINUE, 1) + opaque(self.payload, 4)
        return self.report_id + number(RespKind.REJECT, 1) + number(self.error or 0, 1)


def write_answer(answers: Iterable[VerifyResp]) -> bytes:
    """AggregationJobResp of DAP: one answer for each report, in the order of the request."""
    return b"".join(map(bytes, answers))


def read_answer(wire: bytes, report_ids: Iterable[bytes]) -> list[VerifyResp]:
    """The answers about exactly these reports, in this order."""
    reader, answers = Reader(wire, "an answer to an aggregation job"), []
    for report_id in report_ids:
        if reader.take(REPORT_ID) != report_id:
            raise BadMessage("an answer to an aggregation job is about other reports than the request")
        kind = reader.number(1)
        if kind == RespKind.CONTINUE:
            answers.append(VerifyResp(report_id, reader.opaque(4, 1)))
        elif kind == RespKind.REJECT:
            answers.append(VerifyResp(report_id, error=report_error(reader)))
        else:
            raise BadMessage(f"an answer about a report is of kind {kind}, which this VDAF has not")
    reader.end()
    return answers
