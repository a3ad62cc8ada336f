"""Batches of gateways that mean harm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from dpairs.client.gateway import batch

from .people import histogram, pairwise, report_json
from .sending import send
from .servers import STUDIES, begin, unchanged

ARROW, LINES = "application/vnd.apache.arrow.stream", "application/x-ndjson"


def arrow(study: Any, compression: str | None = None, **columns: Any) -> bytes:
    table = pa.table(columns).replace_schema_metadata({"dpairs-study": study.id})
    out = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(out, table.schema, options=options) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


def test_a_batch_stays_within_the_gateway_s_stretch(here, call, study, me, gateway):
    first = gateway["first"]
    path = f"{STUDIES}/{study.id}/batches"
    with unchanged(here.database):
        for index in (me["index"], first - 1, first + 10, 2**53 - 1):
            rows = json.dumps(report_json(study, {**me, "index": index}, 1)).encode()
            answer = call("POST", path, body=rows, kind=LINES, token=gateway["secret"])
            assert answer.error == (403, "NotYours")
            table = arrow(study, index=[first, index], symbol=[1, 1])
            answer = call("POST", path, body=table, kind=ARROW, token=gateway["secret"])
            assert answer.error == (403, "NotYours")
        body = batch(study, np.array([first]), np.array([1]))
        assert call("POST", path, body=body, kind=ARROW, token=me["secret"]).error == (403, "NotYours")
        assert call("POST", path, body=body, kind=ARROW).error == (401, "NotAllowed")
        # It is no person either.
        sent = send(call, study, {**me, "index": first}, token=gateway["secret"])
        assert sent.error == (403, "NotYours")


def test_a_batch_of_another_study_or_round_is_refused(here, call, study, gateway):
    path, other = f"{STUDIES}/{study.id}/batches", histogram(2)
    with unchanged(here.database):
        body = batch(other, np.array([gateway["first"]]), np.array([1]))
        answer = call("POST", path, body=body, kind=ARROW, token=gateway["secret"])
        assert answer.error == (409, "WrongStudy")
        rows = json.dumps({**report_json(other, {"stratum": "everybody", "index": gateway["first"]}, 1)})
        answer = call("POST", path, body=rows.encode(), kind=LINES, token=gateway["secret"])
        assert answer.error == (409, "WrongStudy")


@pytest.mark.parametrize("compression", ["lz4", "zstd"])
def test_a_small_batch_that_stands_for_millions_is_not_unpacked(here, call, study, gateway, compression):
    path = f"{STUDIES}/{study.id}/batches"
    bomb = arrow(
        study, compression, index=np.zeros(10**7, dtype=np.int64), symbol=np.zeros(10**7, dtype=np.int64)
    )
    assert len(bomb) < 10**6
    with unchanged(here.database):
        answer = call("POST", path, body=bomb, kind=ARROW, token=gateway["secret"])
        assert answer.error == (422, "BadValue")
        assert "compressed" in answer.json["message"]
    # The same rows without compression are read.
    good = arrow(study, index=[gateway["first"]], symbol=[1])
    assert call("POST", path, body=good, kind=ARROW, token=gateway["secret"]).status == 200


def bad_tables(study: Any, first: int) -> Iterator[bytes]:
    good = arrow(study, index=[first], symbol=[1])
    yield b""
    yield b"garbage"
    yield good[:-10][: len(good) // 2]
    yield b"\xff\xff\xff\xff\x00\x00\x00\x7f" + good[8:]
    yield arrow(study, index=[first])
    yield arrow(study, index=[first], other=[1])
    yield arrow(study, index=[float(first)], symbol=[1])
    yield arrow(study, index=[first], symbol=[1.0])
    yield arrow(study, index=[first, None], symbol=[1, 1])
    yield arrow(study, index=[first], symbol=pa.array([None], pa.int64()))
    yield arrow(study, index=["0"], symbol=["1"])
    yield arrow(study, index=[True], symbol=[True])
    yield arrow(study, index=[first, first], symbol=[1, 1])
    yield arrow(study, index=[first], symbol=[-1])
    yield arrow(study, index=[first], symbol=[1000])
    yield arrow(study, index=[-1], symbol=[1])
    yield arrow(study, index=pa.array([2**64 - 1], pa.uint64()), symbol=[1])
    yield arrow(study, index=[first], symbol=pa.array([2**64 - 1], pa.uint64()))
    yield arrow(study, index=pa.array([[first]], pa.list_(pa.int64())), symbol=[1])
    yield arrow(study, index=pa.array([first], pa.int64()).dictionary_encode(), symbol=[1])


def test_a_table_that_is_no_batch_is_refused(here, call, study, gateway):
    path = f"{STUDIES}/{study.id}/batches"
    with unchanged(here.database):
        for number, body in enumerate(bad_tables(study, gateway["first"])):
            answer = call("POST", path, body=body, kind=ARROW, token=gateway["secret"])
            assert answer.status in (403, 409, 422), (number, answer)
            assert answer.error


def test_numbers_that_claim_far_more_than_is_there_do_no_harm(here, call, study, gateway):
    good = arrow(study, index=[gateway["first"]], symbol=[1])
    path, refused = f"{STUDIES}/{study.id}/batches", 0
    for place in range(8, len(good) - 8, 12):
        body = good[:place] + b"\xff\xff\xff\x7f\xff\xff\xff\x7f" + good[place + 8 :]
        answer = call("POST", path, body=body, kind=ARROW, token=gateway["secret"])
        assert answer.status in (200, 403, 409, 422), (place, answer)
        refused += answer.status != 200  # else the damage hit a byte that nobody reads
    assert refused > 10
    assert here.analyst().tally(study.id).n <= 10


def test_lines_that_are_no_batch_are_refused(here, call, study, gateway):
    path = f"{STUDIES}/{study.id}/batches"
    row = report_json(study, {"stratum": study.strata[0], "index": gateway["first"]}, 1)
    good = json.dumps(row).encode()
    bad = [
        b"garbage",
        good + b"\n" + b"{",
        good + b"\n" + good,
        good + b"\n\n" + good,
        b"[" * 10_000,
        b"\xff\xfe",
        b"1\n2",
        json.dumps({**row, "more": 1}).encode(),
        json.dumps({**row, "index": 1.0}).encode(),
        json.dumps({**row, "index": True}).encode(),
        json.dumps({**row, "symbol": 10**30}).encode(),
        json.dumps({**row, "symbol": -1}).encode(),
        json.dumps({**row, "symbol": 1000}).encode(),
        json.dumps({**row, "stratum": "x"}).encode(),
        json.dumps({**row, "study": 5}).encode(),
        json.dumps({**row, "study": {"a": 1}}).encode(),
        good + b"]",
    ]
    with unchanged(here.database):
        for body in bad:
            answer = call("POST", path, body=body, kind=LINES, token=gateway["secret"])
            assert answer.status == 422, (body, answer)
            assert answer.error
        for kind in ("", "text/plain", "application/json", "x" * 3000):
            answer = call("POST", path, body=good, kind=kind, token=gateway["secret"])
            assert answer.status == 422


def test_no_gateway_takes_part_in_pairs_or_more_people_than_there_are_indices(here, ask):
    pairs = pairwise()
    begin(here.analyst(), pairs)
    with unchanged(here.database):
        wish = {"request": "0" * 32, "people": {"everybody": 5}}
        assert ask("POST", f"{STUDIES}/{pairs.id}/gateways", wish).error == (422, "BadParameter")
        for people in ({}, {"nobody": 5}, {"everybody": 1}, {"everybody": 10**10}, {"everybody": 2.5}):
            answer = ask("POST", f"{STUDIES}/{pairs.id}/gateways", {**wish, "people": people})
            assert answer.status == 422
