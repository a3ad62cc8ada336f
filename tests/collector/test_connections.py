"""Heads of requests: small and soon, or the connection is closed."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from http.client import HTTPResponse

import pytest

from dpairs.collector import connections

from .people import histogram
from .servers import STUDIES, Caller, begin, stored_symbols, until


def connected(base: str) -> socket.socket:
    host, _, port = base.removeprefix("http://").partition(":")
    return socket.create_connection((host, int(port)), timeout=30)


def test_a_head_without_an_end_is_cut_off_and_holds_nobody_up(here):
    """40 MiB of header blocked others for 6 seconds."""
    with connected(here.base) as line:
        line.sendall(b"GET / HTTP/1.1\r\nX: ")
        sent, longest, answer = 0, 0.0, b""
        try:
            while sent < 40 * 2**20:
                sent += line.send(b"a" * 2**16)
                began = time.monotonic()
                assert Caller(here.base)("GET", "/healthz").status == 200
                longest = max(longest, time.monotonic() - began)
        except OSError:
            pass
        with contextlib.suppress(OSError):
            answer = line.recv(4096)
    assert sent <= 8 * 2**20
    assert longest < 1.0
    assert not answer or answer[9:12] == b"431"


def test_a_head_of_many_lines_is_refused_in_the_one_form(here):
    with connected(here.base) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 11_000 + b"\r\n")
        answer = line.recv(65536)
    assert answer[9:12] == b"431"
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "TooLarge"


def test_what_is_no_request_is_refused_in_the_one_form(here):
    with connected(here.base) as line:
        line.sendall(b"GARBAGE\r\n\r\n")
        answer = line.recv(65536)
    assert answer[9:12] == b"400"
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "InvalidInput"


def test_half_sent_requests_are_closed_and_others_are_answered(here, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    lines = [connected(here.base) for _ in range(300)]
    for number, line in enumerate(lines):
        line.sendall(b"GET /healthz HTTP/1.1\r\nHo" if number % 2 else b"")
    began = time.monotonic()
    assert Caller(here.base)("GET", "/healthz").status == 200
    assert time.monotonic() - began < 2
    for line in lines:
        line.settimeout(10)
        answer = line.recv(4096)
        assert not answer or answer[9:12] == b"408"
        line.close()


def test_a_second_request_that_is_half_sent_on_a_kept_connection_is_closed(here, monkeypatch):
    monkeypatch.setattr(connections, "HEAD_SECONDS", 0.5)
    with connected(here.base) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        first = HTTPResponse(line)  # which reads the whole answer: its body may come by itself
        first.begin()
        assert (first.status, json.loads(first.read())["status"]) == (200, "ok")
        line.sendall(b"GET /hea")
        line.settimeout(10)
        assert line.recv(4096)[9:12] == b"408"


def test_too_many_connections_make_room_for_new_ones(here, monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 20)
    monkeypatch.setattr(connections, "HEAD_SECONDS", 120.0)  # which would make room, too
    lines = [connected(here.base) for _ in range(60)]
    assert Caller(here.base)("GET", "/healthz").status == 200
    until(lambda: len(here.connections) <= 21, "room", 10)
    for line in lines:
        line.close()


def kept(base: str) -> socket.socket:
    """A connection that had an answer and stays open."""
    line = connected(base)
    with contextlib.suppress(OSError):
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
        line.recv(4096)
    return line


def test_connections_that_are_kept_for_nothing_make_room(here, monkeypatch):
    """Whoever asked once and then kept silent counted as busy, and any number could be held."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 20)
    lines = [kept(here.base) for _ in range(60)]
    assert Caller(here.base)("GET", "/healthz").status == 200
    until(lambda: len(here.connections) <= 21, "room", 10)
    for line in lines:
        line.close()


def test_as_many_connections_as_the_system_has_files_for(monkeypatch):
    resource = pytest.importorskip("resource")
    for files, most in ((1024, 896), (100, 50), (10**6, 4096), (resource.RLIM_INFINITY, 4096)):
        monkeypatch.setattr(resource, "getrlimit", lambda _, files=files: (files, files))
        assert connections.most_connections() == most


@pytest.mark.parametrize("piece", [b"a" * 2**16, b"a: bbbbbbbbbbbbbbbbb\r\n" * 2000], ids=["one", "many"])
def test_what_follows_a_body_in_pieces_has_an_end(here, piece):
    """40 MiB of trailers were kept, without a token, and held others up."""
    with connected(here.base) as line:
        head = b"GET /healthz HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        line.sendall(head + b"1\r\nx\r\n0\r\nX: " + b"y\r\n" * (b"\n" in piece))
        sent = 0
        with contextlib.suppress(OSError):
            while sent < 40 * 2**20:
                sent += line.send(piece)
    assert sent <= 8 * 2**20
    assert Caller(here.base)("GET", "/healthz").status == 200


def test_requests_do_not_queue_up_on_one_connection(here, monkeypatch):
    """A quarter of a megabyte held 14,000 requests, each of which takes kilobytes."""
    longest = 0
    usual = connections.BoundedProtocol.on_headers_complete

    def looked(protocol: connections.BoundedProtocol) -> None:
        nonlocal longest
        usual(protocol)
        longest = max(longest, len(protocol.pipeline))

    monkeypatch.setattr(connections.BoundedProtocol, "on_headers_complete", looked)
    with connected(here.base) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\n\r\n" * 10)
        line.settimeout(10)
        answers = b""
        while answers.count(b"HTTP/1.1 200") < 10:
            answers += line.recv(2**16)
    with connected(here.base) as line, contextlib.suppress(OSError):
        line.sendall(b"GET /readyz HTTP/1.1\r\n\r\n" * 10_000)
        while line.recv(2**16):
            pass
    assert 0 < longest <= connections.MOST_AHEAD
    assert Caller(here.base)("GET", "/healthz").status == 200


def test_a_batch_that_breaks_off_is_not_taken_for_a_whole_one(here):
    study = histogram()
    begin(here.analyst(), study)
    asked = {"request": "0" * 32, "people": {"everybody": 10}}
    path = f"{STUDIES}/{study.id}"
    given = Caller(here.base, here.token)("POST", f"{path}/gateways", asked).json["people"]["everybody"]
    rows = [{"study": study.id, "stratum": "everybody", "index": place, "symbol": 0} for place in range(10)]
    body = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    refused = here.service.metrics.answered
    seen: list[int] = []

    def answered(route: str, method: str, status: int, seconds: float) -> None:
        refused(route, method, status, seconds)
        if route.endswith("/batches"):
            seen.append(status)

    here.service.metrics.answered = answered
    with connected(here.base) as line:
        head = f"POST {path}/batches HTTP/1.1\r\nAuthorization: Bearer {given['secret']}\r\n"
        head += f"Content-Type: application/x-ndjson\r\nContent-Length: {len(body) + 1000}\r\n\r\n"
        line.sendall(head.encode() + body)
    until(lambda: seen, "the end of the request", 10)
    assert stored_symbols(here.database) == {}


@pytest.mark.parametrize("way", ["Content-Length: 35", "Transfer-Encoding: chunked"])
@pytest.mark.parametrize("head", ["POST /api/v1/plan", "GET /healthz", "CONNECT /healthz"])
def test_a_body_is_not_taken_for_the_next_request(here, head, way):
    """Behind a proxy that passes these headers on, it would be answered as somebody else's request."""
    hidden = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
    with connected(here.base) as line:
        lines = [f"{head} HTTP/1.1", "Host: x", "Upgrade: websocket", "Connection: Upgrade", way, "", ""]
        line.sendall("\r\n".join(lines).encode())
        answer = line.recv(65536)
        with contextlib.suppress(OSError):
            line.sendall(hidden)
            while part := line.recv(65536):
                answer += part
    assert answer[9:12] == b"400"
    assert answer.count(b"HTTP/1.1 ") == 1


def test_who_would_rather_speak_another_protocol_is_answered_in_this_one(here):
    with connected(here.base) as line:
        line.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n")
        assert line.recv(65536)[9:12] == b"200"
