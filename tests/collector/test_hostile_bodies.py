"""Bodies, paths and numbers of requests that mean harm."""

from __future__ import annotations

import gc
import socket
from urllib.parse import urlsplit

import pytest
from starlette.requests import Request

from .people import histogram
from .servers import STUDIES, Caller, begin, collector, enrol, unchanged, until


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


def held() -> bool:
    # To ask each of a million objects takes ten times as long as to ask each of their types.
    return any(issubclass(kind, Request) for kind in set(map(type, gc.get_objects())))


@pytest.mark.parametrize("body", [b"[" * 60_000, b"\xff" * 60_000, b"{" + b" " * 60_000])
def test_a_body_that_is_no_json_does_not_stay_in_memory(call, study, body):
    """It was in a circle with its own error, until a rare search for garbage: 480 of 1 MiB held 1 GB."""
    path = f"{STUDIES}/{study.id}/people"
    gc.collect()
    gc.freeze()  # `held` looks at what comes from now on, not at a million older objects
    gc.disable()
    try:
        for _ in range(5):
            assert call("POST", path, body=body, kind="application/json").status == 422
        until(lambda: not held(), "the end of requests", 5)
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["a\nb", "x" * 1000, "\u202e\u200b"])
def test_names_of_fields_do_not_spoil_the_sentence(call, study, name):
    answer = call("POST", f"{STUDIES}/{study.id}/people", {"request": "0" * 32, name: 1})
    assert answer.error == (422, "BadValue")
    assert answer.json["message"].startswith("a field of the request cannot be used")
