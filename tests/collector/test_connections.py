"""Heads of requests: small and soon, or the connection is closed."""

from __future__ import annotations

import contextlib
import json
import socket
import time

from dpairs.collector import connections

from .servers import (
    Caller,
)


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
        assert line.recv(65536)[9:12] == b"200"
        line.sendall(b"GET /hea")
        line.settimeout(10)
        assert line.recv(4096)[9:12] == b"408"


def test_too_many_connections_make_room_for_new_ones(here, monkeypatch):
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 20)
    lines = [connected(here.base) for _ in range(60)]
    assert Caller(here.base)("GET", "/healthz").status == 200
    for line in lines:
        line.close()
