"""Reports are answered before they come to the routes: by that way, too, nobody gets past a check."""

from __future__ import annotations

import asyncio
import socket
import tracemalloc

import pytest
from starlette.requests import Request

from dpairs.collector import bodies

from .people import histogram, report_json
from .servers import STUDIES, Caller, begin, collector, enrol, unchanged


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """One collector for all: nothing that is sent to it changes anything."""
    with collector(f"sqlite:///{tmp_path_factory.mktemp('short') / 'collector.sqlite'}") as made:
        begin(made.analyst(), histogram())
        yield made


@pytest.fixture
def study(here):
    return histogram()


def raw(base: str, *lines: str, body: bytes = b"") -> bytes:
    """What is answered to these lines of a head, until the connection is closed."""
    host, _, port = base.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as line:
        line.sendall("\r\n".join([*lines, "Host: x", "Connection: close", "", ""]).encode() + body)
        answer = b""
        while part := line.recv(65536):
            answer += part
    return answer


@pytest.mark.parametrize(
    "end", ["%0a", "%0A%0a", "%0d", "%00", "%7f", "%C2%85", "%E2%80%A8", "\u00a0", "/", ";x"]
)
@pytest.mark.parametrize("path", ["reports", "people", "batches", "advance"])
def test_a_path_with_an_odd_end_is_nobody_s(here, study, path, end):
    """A pattern's `$` matches before the end of a last line, too."""
    call = Caller(here.base, here.token)
    with unchanged(here.database):
        assert call("POST", f"{STUDIES}/{study.id}/{path}{end}", {"request": "0" * 32}).error == (
            404,
            "NotFound",
        )
        assert call("GET", f"{STUDIES}/{study.id}{end}").status in (404, 422)


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"])
def test_another_method_is_refused_with_its_body(here, study, method):
    head = f"{method} {STUDIES}/{study.id}/reports HTTP/1.1"
    answer = raw(here.base, head, "Content-Length: 2", body=b"{}")
    assert answer[9:12] == b"405"
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    ("lines", "body"),
    [
        (("Content-Length: 2", "Content-Length: 90"), b"{}"),
        (("Content-Length: 2", "Content-Length: 2"), b"{}"),
        (("Content-Length: 2, 2",), b"{}"),
        (("Content-Length: +2",), b"{}"),
        (("Content-Length: 0x2",), b"{}"),
        (("Transfer-Encoding: chunked", "Content-Length: 2"), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked, identity",), b"0\r\n\r\n"),
        (("Transfer-Encoding: xchunked",), b"0\r\n\r\n"),
        (("Transfer-Encoding : chunked",), b"0\r\n\r\n"),
        (("Transfer-Encoding: chunked",), b"-1\r\nx\r\n"),
        (("Transfer-Encoding: chunked",), b"ffffffffffffffffff\r\nx\r\n"),
    ],
)
def test_a_body_of_two_lengths_or_of_none_is_not_read(here, study, lines, body):
    given = enrol(Caller(here.base), study.id, 1)
    token = f"Authorization: Bearer {given['secret']}"
    with unchanged(here.database):
        answer = raw(here.base, f"POST {STUDIES}/{study.id}/reports HTTP/1.1", token, *lines, body=body)
    assert answer[9:12] in (b"400", b"413", b"422")
    assert answer.count(b"HTTP/1.1") == 1


@pytest.mark.parametrize(
    "target", ["?x=1", "host:443", "*", "//", "http://", "http://evil.example:99999/", "\x7f"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "CONNECT", "OPTIONS"])
def test_a_target_that_is_no_path_is_refused(here, method, target):
    answer = raw(here.base, f"{method} {target} HTTP/1.1", "Content-Length: 0")
    assert answer[9:12] in (b"400", b"404", b"405")


def test_a_token_behind_the_body_is_none(here, study):
    given = enrol(Caller(here.base), study.id, 1)
    head = f"POST {STUDIES}/{study.id}/reports HTTP/1.1"
    body = f"2\r\n{{}}\r\n0\r\nAuthorization: Bearer {given['secret']}\r\n\r\n".encode()
    assert raw(here.base, head, "Transfer-Encoding: chunked", body=body)[9:12] == b"401"


def test_nothing_is_asked_for_without_a_token(here, study):
    """Whoever waits for leave to send a body gets a refusal instead."""
    given = enrol(Caller(here.base), study.id, 1)
    head = f"POST {STUDIES}/{study.id}/reports HTTP/1.1"
    waits = ("Expect: 100-continue", "Content-Length: 2")
    assert raw(here.base, head, *waits)[9:12] == b"401"
    allowed = raw(here.base, head, f"Authorization: Bearer {given['secret']}", *waits, body=b"{}")
    assert allowed[9:12] == b"100"


def test_two_tokens_are_one(here, study):
    tokens = [enrol(Caller(here.base), study.id, number) for number in range(2)]
    body = str(report_json(study, tokens[1], 1)).replace("'", '"').encode()
    head = [f"POST {STUDIES}/{study.id}/reports HTTP/1.1", f"Content-Length: {len(body)}"]
    both = [f"Authorization: Bearer {each['secret']}" for each in tokens]
    with unchanged(here.database):
        assert raw(here.base, *head, *both, body=body)[9:12] == b"403"


def test_many_small_pieces_take_the_memory_of_one():
    """Anybody may send this much on every connection, two bytes at a time."""
    pieces = bodies.SMALL // 2

    async def receive() -> dict[str, object]:
        nonlocal pieces
        pieces -= 1
        return {"type": "http.request", "body": bytes([pieces % 256, 1]), "more_body": pieces > 0}

    request = Request({"type": "http", "method": "POST", "headers": []}, receive)
    tracemalloc.start()
    body = asyncio.run(bodies._read(request, bodies.SMALL, 60.0, lambda _: None))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(body) == bodies.SMALL
    assert peak < 6 * bodies.SMALL
