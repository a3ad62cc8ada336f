"""Collectors that are busy, silent, or answer what no collector answers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from dpairs.client import Device, Link, Transport, join
from dpairs.client import transport as transport_module
from dpairs.errors import (
    Conflict,
    DpairsError,
    TooLarge,
    Unavailable,
)

from ..collector.people import histogram, pairwise
from .answering import VALUE


class Fake:
    """A server that answers as it is told, one answer after another; the last one again and again."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes]] = []
        self.seen: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                outer.seen.append(f"{self.command} {self.path}")
                status, body = outer.answers.pop(0) if len(outer.answers) > 1 else outer.answers[0]
                if status == 0:  # hangs up
                    self.close_connection = True
                    return
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = _answer  # noqa: N815

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.base = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def fake() -> Iterator[Fake]:
    made = Fake()
    yield made
    made.stop()


@pytest.fixture
def pauses(monkeypatch) -> list[float]:
    """Waits take no time, and are noted."""
    found: list[float] = []
    now = [0.0]

    class Clock:
        @staticmethod
        def sleep(seconds: float) -> None:
            found.append(seconds)
            now[0] += seconds

        @staticmethod
        def monotonic() -> float:
            return now[0]

    monkeypatch.setattr(transport_module, "time", Clock)
    return found


@pytest.mark.parametrize("status", [0, 408, 429, 502, 503, 504])
def test_a_busy_collector_is_asked_again_ever_more_patiently(fake, pauses, status):
    fake.answers = [(status, b"")] * 6 + [(200, b'{"fine": 1}')]
    assert Transport(fake.base).json("GET", "/x") == {"fine": 1}
    assert len(fake.seen) == 7
    assert len(pauses) == 6
    for attempt, pause in enumerate(pauses):
        assert 0.5 * 0.05 * 2**attempt <= pause < 1.5 * 0.05 * 2**attempt


@pytest.mark.parametrize("status", [0, 503])
def test_patience_ends_in_one_sentence(fake, pauses, status):
    fake.answers = [(status, b"")]
    with pytest.raises(Unavailable) as caught:
        Transport(fake.base, patience=30.0).json("GET", "/x")
    assert 20 < sum(pauses) <= 30
    assert max(pauses) < 7.5
    assert "\n" not in str(caught.value)
    assert fake.base in str(caught.value)


def test_nobody_there_and_no_answer_are_retried_and_then_one_sentence(pauses):
    import socket

    with socket.create_server(("127.0.0.1", 0)) as silent:
        base = f"http://127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(Unavailable, match="cannot be reached"):
            Transport(base, patience=0.2, timeout=0.1).json("GET", "/x")
    assert pauses
    pauses.clear()
    with pytest.raises(Unavailable, match="cannot be reached"):
        Transport(base, patience=5.0).json("GET", "/x")
    assert len(pauses) > 5


@pytest.mark.parametrize("status", [301, 400, 401, 404, 409, 418])
def test_other_refusals_are_not_repeated(fake, pauses, status):
    fake.answers = [(status, b"<html>")]
    with pytest.raises(Unavailable, match=f"status {status}"):
        Transport(fake.base).json("GET", "/x")
    assert len(fake.seen) == 1
    assert pauses == []


def test_an_error_of_the_collector_is_raised_as_what_it_is(fake):
    fake.answers = [(409, b'{"error": "Conflict", "message": "twice"}')]
    with pytest.raises(Conflict, match="twice"):
        Transport(fake.base).json("GET", "/x")
    for odd in (
        b'{"error": "__doc__", "message": ""}',
        b'{"error": "annotations"}',
        b'{"error": []}',
        b"[]",
        b"5",
    ):
        fake.answers = [(409, odd)]
        with pytest.raises(Unavailable):
            Transport(fake.base).json("GET", "/x")


def test_an_answer_without_end_is_cut(fake):
    fake.answers = [(200, b"x" * 1001), (200, b"x" * 1000)]
    line = Transport(fake.base, most=1000)
    with pytest.raises(TooLarge):
        line.bytes("GET", "/x")
    assert len(line.bytes("GET", "/x")) == 1000


def test_an_answer_that_trickles_in_is_given_up(fake, monkeypatch):
    """Every look at the clock takes ten seconds: 64 KiB in that time are too few, however patient one is."""
    now = iter(range(0, 10**6, 10))
    clock = SimpleNamespace(monotonic=lambda: float(next(now)), sleep=lambda _: None)
    monkeypatch.setattr(transport_module, "time", clock)
    fake.answers = [(200, b"x" * 2**22)]
    with pytest.raises(Unavailable, match="too slowly"):
        Transport(fake.base, patience=30.0).bytes("GET", "/x")
    # The control: a short answer is none the worse.
    fake.answers = [(200, b'{"fine": 1}')]
    assert Transport(fake.base, patience=30.0).json("GET", "/x") == {"fine": 1}


def test_json_without_end_is_not_parsed(fake, monkeypatch):
    monkeypatch.setattr(transport_module, "MAX_JSON", 1000)
    fake.answers = [(200, b'["' + b"x" * 1000 + b'"]')]
    with pytest.raises(TooLarge, match="JSON"):
        Transport(fake.base).json("GET", "/x")


def public(of: Any, **changes: Any) -> bytes:
    good = {"study": json.loads(of.to_json()), "state": "open", "title": "T", "promise": "P"}
    return json.dumps({**good, **changes}).encode()


STUDY = histogram(3)
GARBLED = [
    [(200, b"")],
    [(200, b"<html>")],
    [(200, b"[]")],
    [(200, b"5")],
    [(200, b"{}")],
    [(200, b'{"study": 5, "state": "open"}')],
    [(200, public(STUDY, study=[]))],
    [(200, b'{"study": {"a": NaN}, "state": "open", "title": "", "promise": ""}')],
    [(200, b'{"study": {"\\ud800": 1}, "state": "open", "title": "", "promise": ""}')],
    [(200, b'{"study": ' + b'{"a":' * 500 + b"1" + b"}" * 500 + b"}")],
    [(200, b'{"study": ' + b"[" * 100_000)],
    [(200, public(histogram(4)))],
    [(200, public(STUDY)), (201, b"[]")],
    [(200, public(STUDY)), (201, b'{"index": "0", "stratum": "everybody", "secret": "x"}')],
    [(200, public(STUDY)), (201, b'{"index": -1, "stratum": "everybody", "secret": "x"}')],
    [(200, public(STUDY)), (201, b'{"index": 0, "stratum": "nobody", "secret": "x"}')],
    [(200, public(STUDY)), (201, b'{"index": 0, "stratum": "everybody", "secret": "a\\r\\nb: c"}')],
    [(200, public(STUDY)), (201, b'{"index": 0, "stratum": "everybody", "secret": "\\u20ac"}')],
    [(200, public(STUDY)), (201, b'{"index": 0, "stratum": "everybody", "secret": ""}')],
]


@pytest.mark.parametrize("answers", GARBLED, ids=range(len(GARBLED)))
def test_answers_that_no_collector_gives_end_in_one_sentence(fake, tmp_path, answers, pauses):
    fake.answers = answers
    with pytest.raises(DpairsError) as caught:
        join(Link(fake.base, STUDY.id), VALUE, device=Device(tmp_path), transport=Transport(fake.base))
    assert "\n" not in str(caught.value)
    # Nothing of the person's was sent.
    assert not [each for each in fake.seen if each.endswith("/reports")]


PAIR = {"number": 0, "role": "garbler", "partner": 1, "key": "ab" * 32, "state": "waiting"}
BAD_PAIRS: list[Any] = [
    None,
    [],
    {"pairs": 5},
    {"pairs": [5]},
    {"pairs": [{}]},
    {"pairs": [{**PAIR, "people": []}]},
    {"pairs": [{**PAIR, "people": {"everybody": "2"}}]},
    {"pairs": [{**PAIR, "people": {"everybody": 2}, "key": "zz" * 32}]},
    {"pairs": [{**PAIR, "people": {"everybody": 2}, "key": ""}]},
    {"pairs": [{**PAIR, "people": {"everybody": 2}, "number": "0"}]},
    {"pairs": [{**PAIR, "people": {"everybody": 2}, "role": "neither"}]},
    {"pairs": [{**PAIR, "people": {"everybody": 10**30}}]},
    {"pairs": [{**PAIR, "people": {"everybody": -1}}]},
]


@pytest.mark.parametrize("answer", BAD_PAIRS, ids=range(len(BAD_PAIRS)))
def test_pairs_that_no_collector_names_end_in_one_sentence(fake, tmp_path, answer, pauses):
    study = pairwise(3)
    enrolled = b'{"index": 0, "stratum": "everybody", "secret": "x"}'
    fake.answers = [(200, public(study)), (201, enrolled), (200, json.dumps(answer).encode())]
    with pytest.raises(DpairsError) as caught:
        join(
            Link(fake.base, study.id),
            {"x": 1, "y": 1},
            device=Device(tmp_path),
            transport=Transport(fake.base),
        )
    assert "\n" not in str(caught.value)
    assert not [each for each in fake.seen if each.startswith("PUT")]


BAD_LINKS = [
    "",
    "x",
    "http://",
    "ftp://host/take-part/" + "0" * 64,
    "http://host/take-part/" + "0" * 63,
    "http://host/take-part/" + "g" * 64,
    "http:///take-part/" + "0" * 64,
    "http://[/take-part/" + "0" * 64,
    "javascript:alert(1)",
    "http://host:99999/take-part/" + "0" * 64,
    "http://host:x/take-part/" + "0" * 64,
    "http://" + "a" * 300 + "/take-part/" + "0" * 64,
    "http://a..b/take-part/" + "0" * 64,
]


@pytest.mark.parametrize("link", BAD_LINKS, ids=range(len(BAD_LINKS)))
def test_a_link_that_leads_nowhere_is_refused_in_one_sentence(tmp_path, link, pauses):
    with pytest.raises(DpairsError) as caught:
        join(link, VALUE, device=Device(tmp_path))
    assert "\n" not in str(caught.value)
