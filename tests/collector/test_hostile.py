"""Requests of people who mean harm: each is refused with its own status, and leaves no trace."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest

from dpairs.client.gateway import batch
from dpairs.report import Report

from .people import histogram, pairwise, projection, report_json, tree
from .servers import STUDIES, Answer, Caller, begin, collector, enrol, unchanged

ARROW, LINES = "application/vnd.apache.arrow.stream", "application/x-ndjson"
KEY = {"key": "5a" * 32}


@pytest.fixture
def study(here):
    study = histogram()
    begin(here.analyst(), study)
    return study


@pytest.fixture
def me(call, study) -> dict[str, Any]:
    return enrol(call, study.id, 1)


def send(call: Caller, study: Any, given: Any, symbol: int = 1, token: str | None = None) -> Answer:
    path = f"{STUDIES}/{study.id}/reports"
    return call("POST", path, report_json(study, given, symbol), token=token or given["secret"])


# ---------------------------------------------------------------- tokens


def forgeries(secret: str) -> Iterator[str]:
    name, _, mac = secret.rpartition(".")
    yield secret[:-1]
    yield secret[:-1] + ("0" if secret[-1] != "0" else "1")
    yield mac
    yield name
    yield f"{name}."
    yield f"person.0.2.1.{mac}"
    yield f"gateway.0.0.1000.{mac}"
    yield f"{name}.{mac}.{mac}"
    yield "\xff" * 20
    yield "." * 50
    yield "person.0.0.1." + "0" * 40
    yield "x" * 8000


def test_forged_and_cut_secrets_are_not_known(here, call, study, me):
    with unchanged(here.database):
        for token in forgeries(me["secret"]):
            assert send(call, study, me, token=token).error == (401, "NotAllowed")
        for header in (
            "",
            "Bearer",
            "Bearer ",
            "Basic YTpi",
            me["secret"],
            "Bearer\t",
            "Token " + me["secret"],
        ):
            path = f"{STUDIES}/{study.id}/reports"
            answer = call("POST", path, report_json(study, me, 1), Authorization=header)
            assert answer.error == (401, "NotAllowed")
            assert answer.headers["www-authenticate"] == "Bearer"
    assert send(call, study, me).json == {"outcome": "counted"}


def test_a_secret_of_another_study_is_not_known(here, call, study, me):
    other = histogram(2)
    begin(here.analyst(), other)
    there = enrol(call, other.id, 1)
    assert there["index"] == me["index"]
    with unchanged(here.database):
        assert send(call, study, me, token=there["secret"]).error == (401, "NotAllowed")


def test_a_secret_is_for_one_person_and_one_class(here, call, study, me):
    friend = enrol(call, study.id, 2)
    with unchanged(here.database):
        assert send(call, study, friend, token=me["secret"]).error == (403, "NotYours")
    classes = tree()
    begin(here.analyst(), classes)
    positive, negative = (enrol(call, classes.id, n, stratum=name) for n, name in enumerate(classes.strata))
    assert positive["index"] == negative["index"] == 0
    with unchanged(here.database):
        assert send(call, classes, negative, token=positive["secret"]).error == (403, "NotYours")


def test_a_participant_is_no_analyst_and_an_analyst_no_participant(here, call, ask, study, me):
    with unchanged(here.database):
        assert call("GET", STUDIES, token=me["secret"]).error == (401, "NotAllowed")
        assert send(call, study, me, token=here.token).error == (401, "NotAllowed")
    assert ask("GET", STUDIES).status == 200


def routes(call: Caller) -> Iterator[tuple[str, str, list[str]]]:
    """Every route of the API's description: method, path and tags."""
    for path, methods in call("GET", "/openapi.json").json["paths"].items():
        for method, what in methods.items():
            yield method.upper(), path, what.get("tags", [])


def test_every_analyst_s_route_needs_the_token(here, call, study):
    """Whatever the API's description lists; what it should list is counted."""
    mine = [(method, path) for method, path, tags in routes(call) if "analysts" in tags]
    assert len(mine) >= 11
    bodies = {"/plan": {"statistic": "auc"}, "/advance": {"seen": "round 1"}, "/invitations": {"count": 1}}
    with unchanged(here.database):
        for method, path in mine:
            for token in (None, "x", here.token[:-1], here.token + "x", here.token.swapcase(), " "):
                content = bodies.get("/" + path.rpartition("/")[2]) if method == "POST" else None
                answer = call(method, path.replace("{study}", study.id), content, token=token)
                assert answer.error == (401, "NotAllowed"), (method, path)


def test_routes_that_need_no_token_are_few_and_known(here, call):
    study = pairwise()
    begin(here.analyst(), study)
    places = {"{study}": study.id, "{number}": "1", "{kind}": "offer"}
    free = set()
    for method, path, _ in routes(call):
        where = path
        for name, value in places.items():
            where = where.replace(name, value)
        if call(method, where, {} if method in ("POST", "PUT") else None).status != 401:
            free.add((method, path))
    of = f"{STUDIES}/{{study}}"
    assert free == {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
        ("GET", of),
        ("GET", f"{of}/rounds/{{number}}"),
        ("POST", f"{of}/people"),
        ("POST", f"{of}/sites"),
    }


# ---------------------------------------------------------------- reports


def test_another_study_s_report_is_refused_in_both_forms(here, call, study, me):
    other = histogram(2)
    wire = bytes(Report(other, other.strata[0], me["index"], 1))
    path = f"{STUDIES}/{study.id}/reports"
    with unchanged(here.database):
        sent = call("POST", path, report_json(other, me, 1), token=me["secret"])
        assert sent.error == (409, "WrongStudy")
        sent = call("POST", path, body=wire, kind="application/octet-stream", token=me["secret"])
        assert sent.error == (409, "WrongStudy")


@pytest.mark.parametrize("symbol", [-1, 10**3, 2**63, 2**64, 10**30, 1.5, "1", True, None, [1]])
def test_a_symbol_that_no_participant_sends_is_refused(here, call, study, me, symbol):
    with unchanged(here.database):
        assert send(call, study, me, symbol).status == 422


def test_a_wire_form_with_another_symbol_length_or_version_is_refused(here, call, study, me):
    wire = bytes(Report(study, study.strata[0], me["index"], 1))
    path = f"{STUDIES}/{study.id}/reports"
    bad = [wire[:-1], wire + b"\0", b"", b"\0" * len(wire), b"\2" + wire[1:], wire[:-1] + b"\xff"]
    bad += [wire[:9] + b"\7" + wire[10:], wire[:10] + b"\xff" * 8 + wire[18:]]
    with unchanged(here.database):
        for body in bad:
            answer = call("POST", path, body=body, kind="application/octet-stream", token=me["secret"])
            assert answer.status in (409, 422)
            assert answer.error[1] in ("BadValue", "BadParameter", "WrongStudy")
    good = call("POST", path, body=wire, kind="application/octet-stream", token=me["secret"])
    assert good.json == {"outcome": "counted"}


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{", b'"x"', b"\xff", b"[" * 4000, b'{"a":1,"a":1}', b"1" * 5000, b"{}" * 3000],
    ids=range(10),
)
def test_what_is_no_report_is_refused(here, call, study, me, body):
    path = f"{STUDIES}/{study.id}/reports"
    with unchanged(here.database):
        assert call("POST", path, body=body, kind="application/json", token=me["secret"]).status == 422
        assert call("POST", path, body=body, token=me["secret"]).status == 422


def test_a_second_different_report_is_refused_and_the_first_stays(here, call, study, me):
    assert send(call, study, me, 1).json == {"outcome": "counted"}
    with unchanged(here.database):
        assert send(call, study, me, 2).error == (409, "Conflict")
        assert send(call, study, me, 1).json == {"outcome": "again"}
    assert here.analyst().tally(study.id).n == 1


def test_a_closed_study_knows_old_reports_and_takes_no_new_ones(here, call, study, me):
    late = enrol(call, study.id, 2)
    send(call, study, me)
    here.analyst().close(study.id)
    with unchanged(here.database):
        assert send(call, study, late).error == (409, "Closed")
        assert send(call, study, me).json == {"outcome": "again"}
        assert call("POST", f"{STUDIES}/{study.id}/people", {"request": "0" * 32}).error == (409, "Closed")
        assert enrol(call, study.id, 2) == {**late, "asked_now": False}


def test_a_deleted_study_is_not_there(here, call, study, me):
    here.analyst().delete(study.id)
    with unchanged(here.database):
        assert send(call, study, me).error == (404, "NotFound")
        assert call("POST", f"{STUDIES}/{study.id}/people", {"request": "0" * 32}).error == (404, "NotFound")


def test_whoever_acts_in_another_round_is_refused(here, call):
    study = projection()
    begin(here.analyst(), study)
    people = [enrol(call, study.id, n, stratum="positive") for n in range(64)]
    later = next(each for each in people if not each["asked_now"])
    with unchanged(here.database):
        assert send(call, study, later).error == (409, "NotAsked")


# ---------------------------------------------------------------- enrolment


def test_what_is_no_wish_to_enrol_is_refused(here, call, study):
    pairs = pairwise()
    begin(here.analyst(), pairs)
    good = {"request": "0" * 32}
    bad: list[tuple[str, Any]] = [
        (study.id, {}),
        (study.id, {"request": "0" * 31}),
        (study.id, {"request": "0" * 65}),
        (study.id, {"request": "A" * 32}),
        (study.id, {"request": "0" * 32 + "\n"}),
        (study.id, {**good, "index": 0}),
        (study.id, {**good, "stratum": "nobody"}),
        (study.id, {**good, "stratum": "x" * 101}),
        (study.id, {**good, "stratum": 1}),
        (study.id, {**good, **KEY}),
        (study.id, {**good, "code": "x" * 101}),
        (pairs.id, good),
        (pairs.id, {**good, "key": "5a" * 31}),
        (pairs.id, {**good, "key": "zz" * 32}),
    ]
    with unchanged(here.database):
        for where, wish in bad:
            assert call("POST", f"{STUDIES}/{where}/people", wish).status == 422, wish


def test_a_code_is_for_one_person_of_one_study_and_class(here, call):
    study, other = tree(), tree(2)
    analyst = here.analyst()
    for each in (study, other):
        begin(analyst, each, enrolment="invited")
    (code,), (of_class,) = analyst.invite(study.id, 1), analyst.invite(study.id, 1, "positive")
    (elsewhere,) = analyst.invite(other.id, 1)
    path = f"{STUDIES}/{study.id}/people"

    def wish(request: int, **more: Any) -> Answer:
        return call("POST", path, {"request": f"{request:032x}", **more})

    with unchanged(here.database):
        assert wish(1, stratum="positive").error == (401, "NotAllowed")
        for wrong in ("", "aaaa-aaaa-aaaa-aaaa", elsewhere, code[:-1], code + "a", "' or 1=1 --", "\0"):
            assert wish(1, stratum="positive", code=wrong).error == (401, "NotAllowed")
        assert wish(1, stratum="negative", code=of_class).error == (422, "BadValue")
        assert wish(1, code=code).error == (422, "BadValue")
    assert wish(1, stratum="negative", code=code).status == 201
    with unchanged(here.database):
        assert wish(2, stratum="negative", code=code).error == (409, "Conflict")
        assert wish(1, stratum="negative", code=code).status == 201
    # As a person types it.
    assert wish(3, code=f" {of_class.upper()} ").json["stratum"] == "positive"


def test_a_person_cannot_use_a_gateway_s_request_nor_a_gateway_a_person_s(here, call, ask, study):
    enrol(call, study.id, 1)
    path, (name,) = f"{STUDIES}/{study.id}", study.strata
    assert ask("POST", f"{path}/gateways", {"request": f"{2:032x}", "people": {name: 5}}).status == 201
    with unchanged(here.database):
        assert call("POST", f"{path}/people", {"request": f"{2:032x}"}).error == (409, "Conflict")
        wish = {"request": f"{1:032x}", "people": {name: 5}}
        assert ask("POST", f"{path}/gateways", wish).error == (409, "Conflict")


# ---------------------------------------------------------------- gateways


@pytest.fixture
def gateway(here, study) -> dict[str, Any]:
    (given,) = here.analyst().gateway(study.id, {study.strata[0]: 10}).values()
    return given


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


# ---------------------------------------------------------------- names


NAMES = [
    "'; drop table studies; --",
    '<script>alert("x")</script>',
    "{{7*7}}",
    "%s%n%x",
    "\U0001f600 ü",
    "a\nb\tc",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_kept_as_they_are_and_never_run(running, name):
    ask, study = Caller(running.base, running.token), histogram()
    wish = {"title": name, "question": name * 3, "study": json.loads(study.to_json())}
    begun = ask("POST", STUDIES, wish)
    assert begun.status == 201
    for path in (f"{STUDIES}/{study.id}", f"{STUDIES}/{study.id}/progress", STUDIES):
        answer = ask("GET", path)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        found = answer.json
        shown = found[0] if path == STUDIES else found.get("study", found) if "stages" in found else found
        assert shown["title"] == name
    # Where somebody's words come back in an error, they are JSON too.
    answer = ask("POST", f"{STUDIES}/{study.id}/people", {"request": "0" * 32, "stratum": name})
    assert answer.status == 422
    assert answer.headers["content-type"] == "application/json"


def test_a_name_that_a_database_cannot_keep_is_refused(running):
    ask, study = Caller(running.base, running.token), histogram()
    with unchanged(running.database):
        for name in ("a\0b", "", "x" * 201):
            wish = {"title": name, "study": json.loads(study.to_json())}
            assert ask("POST", STUDIES, wish).status == 422
        wish = {"title": "a", "question": "a\0b", "study": json.loads(study.to_json())}
        assert ask("POST", STUDIES, wish).status == 422


def test_what_is_no_study_is_refused(here, ask):
    good = json.loads(histogram().to_json())
    begun = {"title": "a", "study": good}
    bad: list[bytes] = [
        b"",
        b"\xff",
        b"[" * 100_000,
        b'{"title":"a","study":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}",
        b'{"title":"a","study":{"a":NaN}}',
        b'{"title":"a","study":{"a":1e999}}',
        b'{"title":"a","study":{"\\ud800":1}}',
        b'{"title":"\\ud800","study":{}}',
        json.dumps({**begun, "more": 1}).encode(),
        json.dumps({**begun, "people": 0}).encode(),
        json.dumps({**begun, "enrolment": "shut"}).encode(),
        json.dumps({**begun, "study": {**good, "epsilon": -1}}).encode(),
        json.dumps({**begun, "study": {**good, "id": "0" * 64}}).encode(),
        json.dumps(
            {**begun, "study": {**good, "domain": [{"kind": "categories", "values": ["\ud800", "b"]}]}}
        ).encode(),
    ]
    with unchanged(here.database):
        for body in bad:
            answer = ask("POST", STUDIES, body=body, kind="application/json")
            assert answer.status == 422, (body[:80], answer)
            assert answer.error


def test_a_study_of_pairs_that_was_closed_early_can_be_watched(here, ask, call):
    study = pairwise()
    begin(here.analyst(), study)
    alone = enrol(call, study.id, 1, **KEY)
    here.analyst().close(study.id)
    progress = ask("GET", f"{STUDIES}/{study.id}/progress")
    assert progress.status == 200
    assert progress.json["pairs"] is None
    assert call("GET", f"{STUDIES}/{study.id}/pairs", token=alone["secret"]).error == (404, "NotFound")
    path = f"{STUDIES}/{study.id}/pairs/0/offer"
    assert call("GET", path, token=alone["secret"]).error == (404, "NotFound")


# ---------------------------------------------------------------- bodies and paths


def raw(base: str, head: str, *body: bytes) -> bytes:
    """Send bytes as they are until the other side answers; the answer."""
    parts = urlsplit(base)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as line:
        line.sendall(head.encode("latin-1") + b"\r\n\r\n")
        line.setblocking(False)
        answer = b""
        for part in [*body, b""]:
            left = memoryview(part)
            while left:
                try:
                    left = left[line.send(left) :]
                except BlockingIOError:
                    if (found := _peek(line)) is not None:
                        answer += found
                        break
                except (BrokenPipeError, ConnectionResetError):
                    break
            if answer:
                break
        line.setblocking(True)
        line.settimeout(30)
        try:
            while found := line.recv(65536):
                answer += found
        except ConnectionResetError:
            pass
        return answer


def _peek(line: socket.socket) -> bytes | None:
    try:
        return line.recv(65536)
    except BlockingIOError:
        return None
    except ConnectionResetError:
        return b""


def status_of(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:200]
    return int(answer[9:12])


HUGE = 100 * 2**20


@pytest.mark.parametrize("path", ["reports", "people", "batches"])
def test_a_body_that_claims_100_megabytes_is_not_read(here, study, me, gateway, path):
    secret = (gateway if path == "batches" else me)["secret"]
    head = f"POST {STUDIES}/{study.id}/{path} HTTP/1.1\r\nHost: x\r\nContent-Length: {HUGE}"
    head += f"\r\nAuthorization: Bearer {secret}"
    with unchanged(here.database):
        answer = raw(here.base, head)
        assert status_of(answer) == 413
        assert b'"TooLarge"' in answer
        assert b"connection: close" in answer.lower()


@pytest.mark.parametrize("path", ["reports", "batches"])
def test_100_megabytes_in_chunks_are_cut_off(here, study, me, gateway, path):
    secret = (gateway if path == "batches" else me)["secret"]
    head = f"POST {STUDIES}/{study.id}/{path} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked"
    head += f"\r\nAuthorization: Bearer {secret}"
    chunk = b"10000\r\n" + b"x" * 65536 + b"\r\n"
    with unchanged(here.database):
        answer = raw(here.base, head, *[chunk] * (HUGE // 65536))
        assert status_of(answer) == 413
        assert b'"TooLarge"' in answer
    assert Caller(here.base)("GET", "/healthz").status == 200


def test_a_slow_body_is_given_up(sqlite):
    with collector(sqlite, body_seconds=0.3) as slow:
        study = begin(slow.analyst(), histogram())
        head = f"POST {STUDIES}/{study}/people HTTP/1.1\r\nHost: x\r\nContent-Length: 100"
        with unchanged(slow.database):
            answer = raw(slow.base, head, b"{")
            assert status_of(answer) == 408
            assert b'"TooSlow"' in answer
        assert Caller(slow.base)("GET", "/healthz").status == 200


TRICKS = [
    "/static/..%2f..%2fsettings.py",
    "/static/../../settings.py",
    "/static/..%5c..%5csettings.py",
    "/static/%2e%2e/%2e%2e/settings.py",
    "/static/%252e%252e%252fsettings.py",
    "/static//etc/passwd",
    "/static/%00",
    "/static/a%00.js",
    "//etc/passwd",
    "//",
    "/%00",
    "/..",
    "/../../../../etc/passwd",
    "/api/v1/studies/..%2f..%2fmetrics",
    "/api/v1/studies/%00",
    "/api/v1//studies",
    "/api/v1/studies/" + "0" * 63 + "%0a",
    "/api/v1/studies/" + "0" * 64 + "%00",
    "/api/v1/studies/" + "A" * 64,
    "/" + "a" * 20_000,
    "/static/" + "a/" * 3000,
    "/static/" + "a" * 300,
    "/static/%ff%fe",
    "/openapi.json/..",
    "/.git/config",
    "/collector.sqlite",
]


@pytest.mark.parametrize("path", TRICKS, ids=range(len(TRICKS)))
def test_a_trick_with_a_path_finds_nothing(here, path):
    with unchanged(here.database):
        answer = raw(here.base, f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close")
        assert status_of(answer) in (400, 401, 404, 414, 422, 431)
        for word in (b"root:", b"SQLite format", b"class Settings", b"Traceback"):
            assert word not in answer


def test_the_search_for_tricks_would_notice_a_page(here):
    answer = raw(here.base, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close")
    assert status_of(answer) == 200


@pytest.mark.parametrize(
    "head",
    [
        "GET / HTTP/9.9\r\nHost: x",
        "GARBAGE",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: -1",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: " + "9" * 5000,
        "POST /api/v1/studies HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked",
        "GET /healthz HTTP/1.1\r\nHost: x\r\nX: " + "a" * 200_000,
    ],
    ids=range(6),
)
def test_what_is_no_request_does_not_stop_the_collector(here, head):
    answer = raw(here.base, head + "\r\nConnection: close", b"0\r\n\r\n")
    assert not answer or status_of(answer) < 500
    assert Caller(here.base)("GET", "/healthz").status == 200


def test_too_many_requests_are_told_when_to_come_back(sqlite):
    with collector(sqlite, rate=0.001, burst=5) as busy:
        call = Caller(busy.base)
        answers = [call("GET", f"{STUDIES}/{'0' * 64}") for _ in range(8)]
        assert [each.status for each in answers] == [404] * 5 + [429] * 3
        assert answers[-1].error == (429, "TooMany")
        assert int(answers[-1].headers["retry-after"]) >= 1
        # Whoever watches the collector, and whoever comes from elsewhere through the proxy, is answered.
        assert call("GET", "/healthz").status == 200
        assert call("GET", f"{STUDIES}/{'0' * 64}", X_Forwarded_For="198.51.100.7").status == 404


def test_numbers_and_logs_name_nobody(serve, sqlite):
    process = serve(sqlite, "--log-level", "debug")
    study = begin(process.analyst(), histogram())
    call = Caller(process.base)
    address = "198.51.100.77"
    given = enrol(call, study, 1)
    for token in (given["secret"], "forged-secret"):
        answer = call("POST", f"{STUDIES}/{study}/reports", {}, token=token, X_Forwarded_For=address)
        assert answer.status in (401, 422)
    numbers = call("GET", "/metrics").body.decode()
    process.stop()
    log = process.log.read_text()
    assert '"event": "started"' in log  # the log is there to be searched
    for secret in (address, given["secret"], "forged-secret", process.token, "127.0.0.1"):
        assert secret not in log
        assert secret not in numbers
