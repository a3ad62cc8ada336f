"""Batches of people who mean harm: nothing is read past its end, unpacked, or held without permission."""

from __future__ import annotations

import io
import json
import os
import resource
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pytest

from dpairs.client.gateway import batch
from dpairs.collector import batches
from dpairs.collector.batches import ARROW, LINES, read_batch
from dpairs.errors import BadFile, BadValue, DpairsError

from .people import histogram, report_json
from .servers import STUDIES, VALIDATE, Caller, begin, collector, enrol, unchanged, until

STUDY = {"dpairs-study": "0" * 64}
MUTATIONS = 20_000 if VALIDATE else 2_000
GROWTH = 64 * 2**20
"""Bytes of memory that all mutations together may add."""


def stream(table: pa.Table, **options: Any) -> bytes:
    out = pa.BufferOutputStream()
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), **STUDY})
    with pa.ipc.new_stream(out, table.schema, options=pa.ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


def good(rows: int = 1237) -> bytes:
    return batch(histogram(), np.arange(rows), np.arange(rows) % 4)


def read(body: bytes) -> tuple[str, Any, Any]:
    return read_batch(ARROW, body, "everybody")


def test_what_a_gateway_sends_is_read_as_it_is():
    for kind in (np.int8, np.uint8, np.int64, np.uint64):
        study, indices, symbols = read(batch(histogram(), np.arange(5), np.arange(5).astype(kind)))
        assert study == histogram().id
        assert indices.tolist() == symbols.tolist() == [0, 1, 2, 3, 4]
    assert read(good(0))[1].size == 0


def schema_of(body: bytes) -> tuple[bytearray, int]:
    """A stream whose first table, of the schema, can be changed; and where that table lies."""
    data, start = bytearray(body), 8
    root = start + struct.unpack_from("<I", data, start)[0]
    slots = root - struct.unpack_from("<i", data, root)[0]
    header = root + struct.unpack_from("<H", data, slots + 4 + 2 * 2)[0]
    return data, header + struct.unpack_from("<I", data, header)[0]


def test_numbers_with_the_other_order_of_bytes_are_refused():
    data, table = schema_of(good())
    slots = table - struct.unpack_from("<i", data, table)[0]
    orders, fields = slots + 4, struct.unpack_from("<H", data, slots + 6)[0]
    assert struct.unpack_from("<H", data, orders)[0] == 0
    struct.pack_into("<H", data, orders, fields)  # any number but 0
    with pytest.raises(BadValue, match="lowest byte"):
        read(bytes(data))


def test_narrow_indices_are_refused_before_they_are_widened():
    """32 MiB of single bytes took 800 MB, where 96 were counted."""
    for kind in (pa.uint8(), pa.int16(), pa.int32()):
        column = pa.array(np.zeros(5), kind)
        with pytest.raises(BadValue, match="64 bits"):
            read(stream(pa.table({"index": column, "symbol": column})))


def test_columns_that_share_their_bytes_are_refused():
    table = pa.table({"index": np.arange(1000), "symbol": np.arange(1000)})
    body = bytearray(stream(table))
    places = struct.pack("<qq", 8000, 8000)
    at = body.rindex(places)
    body[at : at + 16] = struct.pack("<qq", 0, 8000)
    with pytest.raises(BadValue, match="share"):
        read(bytes(body))


def test_several_parts_are_one_batch():
    table = pa.table({"index": np.arange(10), "symbol": np.arange(10)}).replace_schema_metadata(STUDY)
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema) as writer:
        for part in table.to_batches(max_chunksize=3):
            writer.write_batch(part)
    assert read(bytes(out.getvalue()))[1].tolist() == list(range(10))


def test_a_row_count_beyond_the_rows_is_refused():
    body, count = good(), struct.pack("<q", 1237)
    # The batch's length, and those of its two columns.
    places = [place for place in range(len(body) - 8) if body[place : place + 8] == count][:3]
    assert len(places) == 3
    for rows in (1238, 1_001_237, 2**40, 2**62, -1):
        patched = bytearray(body)
        for place in places:
            patched[place : place + 8] = struct.pack("<q", rows)
        with pytest.raises((BadValue, BadFile)):
            read(bytes(patched))


def test_a_buffer_that_is_shorter_than_its_rows_gives_no_words_of_the_heap():
    body = good(4)
    size, short = struct.pack("<q", 32), 0
    places = [place for place in range(len(body) - 8) if body[place : place + 8] == size]
    for place in places:
        patched = body[:place] + struct.pack("<q", 8) + body[place + 8 :]
        try:
            _, indices, symbols = read(patched)
        except (BadValue, BadFile):
            short += 1
            continue
        # It was where a column begins: what is read is of the body itself.
        words = {struct.unpack_from("<q", patched, at)[0] for at in range(len(patched) - 7)}
        assert {*indices.tolist(), *symbols.tolist()} <= words
    assert short >= 2


def refused() -> Iterator[tuple[str, bytes]]:
    numbers = pa.array(np.zeros(1000, dtype=np.int64))
    both = {"index": numbers, "symbol": numbers}
    yield "dictionary", stream(pa.table({**both, "symbol": numbers.dictionary_encode()}))
    yield "other dictionary", stream(pa.table({**both, "more": pa.array(["x"] * 1000).dictionary_encode()}))
    yield "third column", stream(pa.table({**both, "more": numbers}))
    yield "other order", stream(pa.table({"symbol": numbers, "index": numbers}))
    yield (
        "one column twice",
        stream(pa.table([numbers, numbers, numbers], names=["index", "symbol", "index"])),
    )
    for codec in ("lz4", "zstd"):
        yield codec, stream(pa.table(both), compression=codec)
    yield "version 4", stream(pa.table(both), metadata_version=pa.ipc.MetadataVersion.V4)
    for kind in (pa.float64(), pa.string(), pa.large_string(), pa.bool_(), pa.date32(), pa.duration("s")):
        yield str(kind), stream(pa.table({**both, "symbol": pa.array([None] * 1000, kind)}))
    yield "list", stream(pa.table({**both, "symbol": pa.array([[1]] * 1000)}))
    yield "struct", stream(pa.table({**both, "symbol": pa.array([{"a": 1}] * 1000)}))
    yield "run ends", stream(pa.table({**both, "symbol": pa.RunEndEncodedArray.from_arrays([1000], [1])}))
    yield "nulls", stream(pa.table({**both, "symbol": pa.array([1] * 999 + [None])}))
    field = pa.field("symbol", pa.int64(), metadata={"ARROW:extension:name": "mine"})
    schema = pa.schema([("index", pa.int64()), field])
    yield "extension", stream(pa.table([numbers, numbers], schema=schema))
    many = pa.table({f"c{number}": pa.array([1]) for number in range(3000)})
    yield "many columns", stream(many)


def test_everything_but_two_plain_columns_is_refused():
    for name, body in refused():
        try:
            read(body)
        except (BadValue, BadFile):
            continue
        pytest.fail(f"{name} was read")


def test_a_dictionary_that_stands_for_gigabytes_is_not_unpacked():
    """A dictionary batch may be compressed by itself: 66 KB stood for 2.2 GB."""
    zeros = pa.array(np.zeros(2**24, dtype=np.int64))
    bomb = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), zeros)
    number = pa.array([1], pa.int64())
    table = pa.table({"index": number, "symbol": number, "more": bomb})
    packed, plain = (
        list(pa.ipc.MessageReader.open_stream(stream(table, compression=codec))) for codec in ("zstd", None)
    )
    # The dictionary of one stream, with the rows of the other, which are not compressed.
    body = (
        b"".join(bytes(each.serialize()) for each in (*packed[:2], plain[2])) + b"\xff\xff\xff\xff" + bytes(4)
    )
    assert len(body) < 2**20
    before = psutil.Process().memory_info().rss
    with pytest.raises(BadValue):
        read(body)
    assert psutil.Process().memory_info().rss - before < 32 * 2**20


def mutated(rng: np.random.Generator, sources: list[bytes]) -> bytes:
    """A valid stream with a few bytes, words or stretches changed, cut, doubled or moved."""
    body = bytearray(sources[rng.integers(len(sources))])
    for _ in range(int(rng.integers(1, 5))):
        place = int(rng.integers(len(body)))
        # Most of the sense is in the heads.
        place = place if rng.random() < 0.3 else min(place, int(rng.integers(1, 700)))
        how = rng.integers(7)
        if how == 0:
            body[place] ^= 1 << int(rng.integers(8))
        elif how == 1:
            body[place : place + 8] = struct.pack("<q", int(rng.choice(WORDS)))
        elif how == 2:
            body[place : place + 4] = struct.pack("<i", int(rng.integers(-(2**31), 2**31)))
        elif how == 3:
            del body[place : place + int(rng.integers(1, 64))]
        elif how == 4:
            body[place:place] = body[place : place + int(rng.integers(1, 256))]
        elif how == 5:  # every count of rows at once, as somebody who knows the format would
            more = struct.pack("<q", int(rng.choice([41, 1040, 10**6, 2**40])))
            body = body.replace(struct.pack("<q", 40), more)
        else:
            other = sources[rng.integers(len(sources))]
            body = body[:place] + bytearray(other[int(rng.integers(len(other))) :])
        if not body:
            break
    return bytes(body)


WORDS = [0, 1, -1, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, -(2**63), 8, 16, 1000, 10**6]


def test_mutations_of_streams_neither_crash_nor_grow():
    """Each in this process, whose address space is bounded: reading past an end or unpacking would end it."""
    rng = np.random.default_rng(18)
    sources = [good(rows) for rows in (0, 1, 40)] + [body for _, body in refused() if len(body) < 5000]
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    for body in sources:  # whatever is loaded once is loaded now
        with pytest.raises(DpairsError) if body in sources[3:] else open(os.devnull):
            read(body)
    before = psutil.Process().memory_info()
    resource.setrlimit(resource.RLIMIT_AS, (before.vms + 512 * 2**20, hard))
    outcomes = {"read": 0, "refused": 0}
    try:
        for _ in range(MUTATIONS):
            try:
                _, indices, symbols = read(mutated(rng, sources))
                assert indices.size == symbols.size <= 10**6
                outcomes["read"] += 1
            except (BadValue, BadFile):
                outcomes["refused"] += 1
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    print(f"{MUTATIONS} mutations: {outcomes}")
    assert outcomes["refused"] > MUTATIONS / 4
    assert outcomes["read"] > MUTATIONS / 50
    assert psutil.Process().memory_info().rss - before.rss < GROWTH


# ---------------------------------------------------------------- over HTTP


@pytest.fixture
def study(here):
    study = histogram()
    begin(here.analyst(), study)
    return study


def head_of(path: str, size: int, token: str = "") -> bytes:
    lines = [f"POST {path} HTTP/1.1", "Host: x", f"Content-Type: {LINES}", f"Content-Length: {size}"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


def connected(base: str) -> socket.socket:
    host, _, port = base.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def test_only_gateways_send_batches(here, call, study):
    me = enrol(call, study.id, 1)
    body = batch(study, np.array([me["index"]]), np.array([1]))
    with unchanged(here.database):
        answer = call("POST", f"{STUDIES}/{study.id}/batches", body=body, kind=ARROW, token=me["secret"])
        assert answer.error == (403, "NotYours")


def test_nothing_is_buffered_without_a_token(here, study):
    """30 connections with 60 MiB each took 2 GB; now the head alone is enough to refuse them."""
    before = psutil.Process().memory_info().rss
    part = b"{}\n" * 2**18

    def flood(path: str) -> bytes:
        with connected(here.base) as line:
            line.sendall(head_of(path, 60 * 2**20))
            try:
                for _ in range(8):
                    line.sendall(part)
            except OSError:
                pass
            return line.recv(4096)

    paths = [f"{STUDIES}/{study.id}/batches", "/nothing/batches", f"{STUDIES}/{'0' * 64}/batches"]
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(flood, paths * 10))
    assert all(not each or each[9:12] in (b"401", b"404", b"405") for each in answers)
    assert psutil.Process().memory_info().rss - before < 100 * 2**20
    assert here.service.budget.used == 0


def test_all_large_bodies_share_one_budget(sqlite):
    with collector(sqlite, body_memory=8 * 2**20) as small:
        study = histogram()
        begin(small.analyst(), study)
        (given,) = small.analyst().gateway(study.id, {study.strata[0]: 10}).values()
        path = f"{STUDIES}/{study.id}/batches"
        with connected(small.base) as first, connected(small.base) as second:
            first.sendall(head_of(path, 4 * 2**20, given["secret"]) + b"x" * 2**21)
            until(lambda: small.service.budget.used >= 5 * 2**20, "a half sent body")
            second.sendall(head_of(path, 4 * 2**20, given["secret"]) + b"x" * 2**21)
            answer = second.recv(4096)
            assert answer[9:12] == b"503"
            assert b"retry-after" in answer.lower()
            # Small requests need none of it.
            enrol(Caller(small.base), study.id, 1)
        until(lambda: small.service.budget.used == 0, "the budget's return")


def test_lines_are_parsed_while_others_are_answered(here, study, monkeypatch):
    """60 MiB of lines stalled everybody for 5 seconds: whoever parses them at once holds the interpreter."""
    sizes: list[int] = []

    def loads(text: bytes) -> Any:
        sizes.append(len(text))
        return json.loads(text)

    monkeypatch.setattr(batches, "json", SimpleNamespace(loads=loads))
    (given,) = here.analyst().gateway(study.id, {study.strata[0]: 10**6}).values()
    row = json.dumps(report_json(study, {"stratum": study.strata[0], "index": 0}, 1)).encode() + b"\n"
    bodies = [b"{}\n" * (20 * 2**20 // 3), row * (20 * 2**20 // len(row))]
    call, done, longest = Caller(here.base), threading.Event(), 0.0

    def send() -> None:
        for body in bodies:
            answer = call(
                "POST", f"{STUDIES}/{study.id}/batches", body=body, kind=LINES, token=given["secret"]
            )
            assert answer.status == 422
        done.set()

    with ThreadPoolExecutor(1) as pool:
        sending = pool.submit(send)
        while not done.is_set() and not sending.done():
            began = time.monotonic()
            Caller(here.base)("GET", "/healthz")
            longest = max(longest, time.monotonic() - began)
        sending.result()
    assert longest < 1.0
    assert sum(sizes) > 20 * 2**20
    assert max(sizes) < 2**17


def test_a_line_without_an_end_is_refused():
    with pytest.raises(BadFile):
        read_batch(LINES, b"x" * 2**20, "everybody")
    assert read_batch(LINES, b"", "everybody")[1].size == 0
    rows = io.BytesIO()
    for index in range(3000):
        rows.write(
            json.dumps({"study": "s", "stratum": "everybody", "index": index, "symbol": 1}).encode() + b"\n"
        )
    assert read_batch(LINES, rows.getvalue(), "everybody")[1].tolist() == list(range(3000))
