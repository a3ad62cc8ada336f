"""Messages of DAP: what is written is read back, and nothing else is taken for it."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

import pytest

from dpairs.dap.collection import (
    AggregateShareReq,
    CollectionJobReq,
    CollectionJobResp,
    read_aggregate_share,
    read_aggregate_share_req,
    read_collection,
    read_collection_resp,
)
from dpairs.dap.jobs import JobRequest, VerifyInit, VerifyResp, read_answer, read_job, write_answer
from dpairs.dap.reports import (
    Extension,
    HpkeCiphertext,
    HpkeConfig,
    Report,
    ReportError,
    ReportMetadata,
    read_configs,
    read_report,
    read_upload,
    read_upload_errors,
    usable,
    write_configs,
    write_extensions,
    write_upload_errors,
)
from dpairs.errors import BadMessage, TrailingBytes

MUTATIONS = 20_000 if os.environ.get("DPAIRS_VALIDATE") == "1" else 300
ID, OTHER = bytes(range(16)), bytes(range(16, 32))
META = ReportMetadata(ID, 123456, (Extension(0xFF01, b"\x01"),))
SEALED = HpkeCiphertext(7, bytes(32), b"sealed")
REPORT = Report(META, b"public", SEALED, HpkeCiphertext(9, b"k", b"c"))
INIT = VerifyInit(META, b"public", SEALED, b"message")
LATER = VerifyInit(ReportMetadata(OTHER, 5), b"", SEALED, b"m")
COLLECTION = CollectionJobReq()
ASK = AggregateShareReq(COLLECTION, bytes(32), 400, bytes(range(32)))
RESULT = CollectionJobResp(400, 5, 2, SEALED, SEALED)
CONFIGS = [HpkeConfig(1, bytes(32)), HpkeConfig(2, b"k", 0x0010)]
ANSWERS = [VerifyResp(ID, b"message"), VerifyResp(OTHER, error=ReportError.REPORT_REPLAYED)]
JOB = JobRequest(bytes(32), (INIT, LATER))


def job_again(wire: bytes) -> bytes:
    head, inits = read_job(wire, 10)
    start = bytes([head.key_id]) + len(head.agg_param).to_bytes(4, "big") + head.agg_param
    return start + write_extensions(head.extensions) + b"".join(map(bytes, inits))


AGAIN: dict[str, tuple[bytes, Callable[[bytes], bytes]]] = {
    "report": (bytes(REPORT), lambda wire: bytes(read_report(wire))),
    "upload": (bytes(REPORT) * 3, lambda wire: b"".join(map(bytes, read_upload(wire, 9)))),
    "upload errors": (
        write_upload_errors([(ID, ReportError.REPORT_REPLAYED), (OTHER, ReportError.OUTDATED_CONFIG)]),
        lambda wire: write_upload_errors(read_upload_errors(wire)),
    ),
    "keys": (write_configs(CONFIGS), lambda wire: write_configs(read_configs(wire))),
    "job": (bytes(JOB), job_again),
    "answers": (write_answer(ANSWERS), lambda wire: write_answer(read_answer(wire, [ID, OTHER]))),
    "collection": (bytes(COLLECTION), lambda wire: bytes(read_collection(wire))),
    "share request": (bytes(ASK), lambda wire: bytes(read_aggregate_share_req(wire))),
    "share": (bytes(SEALED), lambda wire: bytes(read_aggregate_share(wire))),
    "result": (bytes(RESULT), lambda wire: bytes(read_collection_resp(wire))),
}


def mutated(wire: bytes, rng: random.Random) -> bytes:
    """Flipped, cut, lengthened or shuffled bytes."""
    part = bytearray(wire)
    for _ in range(rng.randrange(1, 4)):
        kind, place = rng.randrange(5), rng.randrange(len(part) + 1)
        if kind == 0 and part:
            part[place % len(part)] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del part[place:]
        elif kind == 2:
            part[place:place] = rng.randbytes(rng.randrange(1, 9))
        elif kind == 3 and part:
            part[place % len(part)] = rng.choice((0, 1, 255))
        else:
            part[place:place] = part[: rng.randrange(len(part) + 1)]
    return bytes(part)


@pytest.mark.parametrize("name", AGAIN)
def test_what_is_written_is_read_back(name):
    wire, again = AGAIN[name]
    assert again(wire) == wire


@pytest.mark.parametrize("name", AGAIN)
def test_mutated_messages_are_refused_or_mean_exactly_their_bytes(name):
    wire, again = AGAIN[name]
    rng, refused = random.Random(f"{name} 1"), 0
    for _ in range(MUTATIONS):
        other = mutated(wire, rng)
        try:
            assert again(other) == other
        except BadMessage:
            refused += 1
    assert refused > MUTATIONS // 10


@pytest.mark.parametrize("name", ["report", "collection", "share request", "share", "result", "keys"])
def test_bytes_after_the_end_are_refused(name):
    wire, again = AGAIN[name]
    with pytest.raises(TrailingBytes):
        again(wire + b"\x00")
    for size in range(len(wire)):
        with pytest.raises(BadMessage):
            again(wire[:size])


def test_the_drafts_own_rules_about_messages():
    def refused(words: str, read: Callable[..., Any], *given: Any) -> None:
        with pytest.raises(BadMessage, match=words):
            read(*given)

    refused("twice", read_job, bytes(JobRequest(bytes(32), (INIT, INIT))), 10)
    refused("at most 1", read_job, bytes(JOB), 1)
    refused("at least one", read_job, bytes(JobRequest(bytes(32), ())), 10)
    swapped = ReportMetadata(ID, 1, (Extension(2, b""), Extension(1, b"")))
    refused("increasing", read_report, bytes(Report(swapped, b"", SEALED, SEALED)))
    refused("other reports", read_answer, write_answer(ANSWERS), [OTHER, ID])
    refused("of kind 1", read_answer, ID + b"\x01", [ID])
    refused("no id twice", read_configs, write_configs([CONFIGS[0], CONFIGS[0]]))
    refused("offers no key", usable, CONFIGS[1:])
    assert usable(reversed(CONFIGS)) is CONFIGS[0]
    # Numbers are big-endian, vectors have their lengths before them.
    assert bytes(Extension(1, b"ab")) == bytes.fromhex("0001 0002 6162")
    assert bytes(SEALED)[:3] == bytes.fromhex("07 0020")
