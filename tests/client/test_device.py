"""A person's device: crashes, limits, other processes, and collectors that misbehave."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dpairs.client import Device, Link, Transport, join
from dpairs.client import transport as transport_module
from dpairs.client.device import Membership
from dpairs.errors import (
    BadFile,
    BadParameter,
    BadValue,
    Conflict,
    DpairsError,
    LimitExceeded,
    TooLarge,
    Unavailable,
)
from dpairs.formats import files

from ..collector.people import histogram, pairwise, projection, tree
from ..collector.servers import contents, stored_symbols
from ..processes import ENVIRONMENT, dpairs

VALUE = {"value": 2}


class Crash(BaseException):
    """The device stops here, whatever the code would like to do about it."""


def crash_at(monkeypatch: pytest.MonkeyPatch, moment: int) -> list[str]:
    """Stop at the n-th step: before or after a request, or before or after a file is written."""
    steps: list[str] = []

    def step(name: str) -> None:
        steps.append(name)
        if len(steps) == moment:
            raise Crash(name)

    request, write = Transport.bytes, files.write

    def asking(self: Transport, method: str, path: str, *more: Any, **options: Any) -> bytes:
        step(f"before {method} {path[-12:]}")
        answer = request(self, method, path, *more, **options)
        step(f"after {method} {path[-12:]}")
        return answer

    def writing(path: Any, content: bytes, what: str, **more: Any) -> None:
        step(f"before writing {what}")
        write(path, content, what, **more)
        step(f"after writing {what}")

    monkeypatch.setattr(Transport, "bytes", asking)
    monkeypatch.setattr(files, "write", writing)
    return steps


def test_a_device_that_crashes_at_any_step_sends_one_report(here, tmp_path):
    study = histogram()
    link = here.analyst().begin(study, "Crashes")
    moments, crashed = 0, True
    while crashed:
        moments += 1
        device = Device(tmp_path / f"device{moments}")
        with pytest.MonkeyPatch.context() as patch:
            steps = crash_at(patch, moments)
            try:
                join(link, VALUE, device=device, limit=5.0, transport=here.transport())
                crashed = False
            except Crash:
                pass
        before = json.loads(path.read_text()) if (path := device.home / f"{study.id}.json").exists() else {}
        joined = [join(link, VALUE, device=device, limit=5.0, transport=here.transport()) for _ in range(2)]
        assert [each.state for each in joined] == ["counted", "counted"]
        reports = [each.report for each in joined if each.report is not None]
        sent = [bytes(each) for each in reports]
        assert sent[0] == sent[1]
        # What was written down before the crash is what was sent after it.
        if "report" in before:
            assert before["report"]["wire"] == sent[0].hex()
        assert stored_symbols(here.database)[1, 0, joined[0].index] == reports[0].symbol
        assert list(json.loads((device.home / "ledger.json").read_text())["spent"]) == [study.id]
    assert moments > 12
    assert len(steps) == moments - 1
    assert here.analyst().tally(study.id).n == moments
    assert len(contents(here.database)["people"]) == moments  # nobody was enrolled twice


def pair_of(here: Any, tmp_path: Path, seed: int) -> tuple[str, list[Device]]:
    study = pairwise(seed)
    link = here.analyst().begin(study, "A pair that crashes")
    devices = [Device(tmp_path / f"{seed}-{who}") for who in range(2)]
    for device in devices:
        join(link, {"x": 1, "y": 2}, device=device, transport=here.transport())
    here.analyst().advance(study.id)
    return link, devices


def test_a_pair_whose_devices_crash_at_any_step_computes_once(here, tmp_path):
    """In each round another step of either device is its last; both go on afterwards."""
    seed, longest = 100, 0
    for moment in range(1, 60, 3):
        link, devices = pair_of(here, tmp_path, seed := seed + 1)
        study = Link.parse(link).study
        reached = False
        for _ in range(3):
            for device in devices:
                with pytest.MonkeyPatch.context() as patch:
                    steps = crash_at(patch, moment)
                    try:
                        join(link, {"x": 1, "y": 2}, device=device, transport=here.transport())
                    except Crash:
                        reached = True
                    longest = max(longest, len(steps))
                join(link, {"x": 1, "y": 2}, device=device, transport=here.transport())
        found = [join(link, {"x": 1, "y": 2}, device=each, transport=here.transport()) for each in devices]
        assert [list((each.pairs or {}).values()) for each in found] == [["done"], ["done"]]
        (mine,), (theirs,) = ((each.fingerprints or {}).values() for each in found)
        assert mine == theirs[::-1]
        assert here.analyst().tally(study).n == 1
        if not reached:
            break
    assert longest > 10
    assert contents(here.database)["messages"] == []


STEP = """
import sys
from dpairs.client import Device, Transport, join
link, home = sys.argv[1:]
line = Transport(link.partition("/take-part")[0])
print(join(link, {"x": 3, "y": 1}, device=Device(home), transport=line).state)
"""


def test_each_step_of_a_pair_in_a_process_of_its_own(here, tmp_path):
    link, devices = pair_of(here, tmp_path, 50)
    states = []
    for _ in range(3):
        for device in devices:
            done = subprocess.run(
                [sys.executable, "-c", STEP, link, str(device.home)],
                capture_output=True,
                text=True,
                check=True,
                env=ENVIRONMENT,
                timeout=60,
            )
            states.append(done.stdout.strip())
        if states[-2:] == ["done", "done"]:
            break
    assert states[-2:] == ["done", "done"]
    assert here.analyst().tally(Link.parse(link).study).n == 1


KILLED = """
import os, signal, sys
from dpairs.client import Device, Transport, join
link, home, moment = sys.argv[1:]
real = Transport.bytes
def asking(self, method, path, *more, **options):
    if moment == "before" and path.endswith("/reports"):
        os.kill(os.getpid(), signal.SIGKILL)
    answer = real(self, method, path, *more, **options)
    if moment == "after" and path.endswith("/reports"):
        os.kill(os.getpid(), signal.SIGKILL)
    return answer
Transport.bytes = asking
join(link, {"value": 2}, device=Device(home))
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_killed_process_is_continued_by_another(here, tmp_path, moment):
    study = histogram()
    link = here.analyst().begin(study, "Killed")
    home = tmp_path / "device"
    command = [sys.executable, "-c", KILLED, link, str(home), moment]
    assert subprocess.run(command, check=False, env=ENVIRONMENT, timeout=60).returncode == -9
    kept = json.loads((home / f"{study.id}.json").read_text())
    assert here.analyst().tally(study.id).n == (moment == "after")
    done = join(link, VALUE, device=Device(home), transport=here.transport())
    assert done.report is not None
    assert bytes(done.report).hex() == kept["report"]["wire"]
    assert stored_symbols(here.database) == {(1, 0, 0): done.report.symbol}


# ---------------------------------------------------------------- limits


def test_a_study_above_the_person_s_limit_gets_no_report(here, tmp_path):
    analyst = here.analyst()
    device = Device(tmp_path)
    first, second = histogram(1), histogram(2)
    links = [analyst.begin(each, "Two epsilon each") for each in (first, second)]
    join(links[0], VALUE, device=device, limit=3.0, transport=here.transport())
    for limit in (None, 3.0):  # the ledger remembers the limit
        with pytest.raises(LimitExceeded):
            join(links[1], VALUE, device=device, limit=limit, transport=here.transport())
    assert analyst.tally(second.id).n == 0
    assert analyst.progress(second.id)["enrolled"] == {"everybody": 0}
    with pytest.raises(LimitExceeded):
        join(links[1], VALUE, device=device, max_epsilon=1.0, transport=here.transport())
    done = join(links[1], VALUE, device=device, limit=4.0, transport=here.transport())
    assert (done.state, done.message) == ("counted", "the report is counted")
    again = join(links[1], {"value": 1}, device=device, transport=here.transport())
    assert again.message == "this device has answered already; the first answer stands"
    assert again.report == done.report
    ledger = json.loads((device.home / "ledger.json").read_text())
    assert set(ledger["spent"]) == {first.id, second.id}


def test_a_limit_counts_a_study_of_pairs_once_and_before_anything_leaves(here, tmp_path):
    link, devices = pair_of(here, tmp_path, 60)
    study = Link.parse(link).study
    for device in devices:
        with pytest.raises(LimitExceeded):
            join(link, {"x": 1, "y": 2}, device=device, limit=0.5, transport=here.transport())
    assert contents(here.database)["messages"] == []
    for _ in range(3):
        for device in devices:
            join(link, {"x": 1, "y": 2}, device=device, limit=2.5, transport=here.transport())
    assert here.analyst().tally(study).n == 1
    assert len(json.loads((devices[0].home / "ledger.json").read_text())["spent"]) == 1


def test_a_value_or_class_that_cannot_be_is_refused_before_anybody_is_enrolled(here, tmp_path):
    classes = tree()
    link = here.analyst().begin(classes, "Scores")
    device = Device(tmp_path)

    def attempt(values: dict[str, Any], **options: Any) -> None:
        join(link, values, device=device, transport=here.transport(), **options)

    for values in ({"score": 1.5}, {"score": float("nan")}):
        with pytest.raises(BadValue):
            attempt(values, stratum="positive")
    others: list[dict[str, Any]] = [{}, {"value": 1}, {"score": 0.5, "label": 1}]
    for other in others:
        with pytest.raises(BadParameter):
            attempt(other, stratum="positive")
    for stratum in (None, "neither"):
        with pytest.raises(BadValue):
            attempt({"score": 0.5}, stratum=stratum)
    assert contents(here.database)["people"] == []
    attempt({"score": 0.5}, stratum="positive")
    with pytest.raises(BadParameter, match="enrolled as 'positive'"):
        attempt({"score": 0.5}, stratum="negative")


def test_somebody_of_the_second_round_waits_for_it(here, tmp_path):
    study, analyst = projection(), here.analyst()
    link = analyst.begin(study, "Two rounds")
    waiting: list[tuple[Device, Any]] = []
    counted = 0
    who = 0
    while not waiting or counted < 12:
        device, stratum = Device(tmp_path / str(who)), study.strata[who % 2]
        done = join(link, {"score": 0.25}, stratum=stratum, device=device, transport=here.transport())
        who += 1
        if done.state == "waiting":
            assert done.report is None
            waiting.append((device, done))
        else:
            counted += 1
    analyst.advance(study.id)
    device, before = waiting[0]
    done = join(link, {"score": 0.25}, device=device, transport=here.transport())
    assert (done.state, done.index) == ("counted", before.index)
    device, _ = waiting[1] if len(waiting) > 1 else (Device(tmp_path / "0"), None)
    analyst.close(study.id)
    assert join(link, {"score": 0.25}, device=device, transport=here.transport()).state in (
        "closed",
        "counted",
    )


# ---------------------------------------------------------------- files and processes


def test_two_processes_for_one_person_do_not_act_at_once(here, tmp_path):
    study = histogram()
    link = here.analyst().begin(study, "Twice at once")
    device = Device(tmp_path / "device")
    with device.study(study.id):
        with pytest.raises(Conflict, match="another process"):
            join(link, VALUE, device=device, transport=here.transport())
        done = dpairs("join", link, "--value", "2", "--home", str(device.home), "--yes")
        assert done.returncode == 2
        assert "another process takes part" in done.stderr
        assert done.stderr.strip().count("\n") == 0
    assert contents(here.database)["people"] == []
    command = ["join", link, "--value", "2", "--home", str(device.home), "--yes"]
    found: list[subprocess.CompletedProcess[str]] = []
    threads = [threading.Thread(target=lambda: found.append(dpairs(*command))) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert {each.returncode for each in found} <= {0, 2}
    assert 0 in {each.returncode for each in found}
    assert here.analyst().tally(study.id).n == 1


CORRUPTED = [
    b"",
    b"{",
    b"garbage\xff",
    b"[]",
    b"null",
    b'{"format":"dpairs-ledger"}',
    b'{"format":"dpairs-device","study":"other"}',
    b'{"format":"dpairs-device","study":"STUDY","secret":5}',
    b'{"format":"dpairs-device","study":"STUDY","secret":"x"}',
    b'{"format":"dpairs-device","study":"STUDY","request":null}',
    b'{"format":"dpairs-device","study":"STUDY","keys":[]}',
]


@pytest.mark.parametrize("content", CORRUPTED, ids=range(len(CORRUPTED)))
def test_a_damaged_file_of_the_device_is_refused_in_one_sentence(here, tmp_path, content):
    study = histogram()
    link = here.analyst().begin(study, "Damaged")
    device = Device(tmp_path / "device")
    (device.home / f"{study.id}.json").write_bytes(content.replace(b"STUDY", study.id.encode()))
    with pytest.raises(BadFile) as caught:
        join(link, VALUE, device=device, transport=here.transport())
    assert "\n" not in str(caught.value)
    assert contents(here.database)["people"] == []


def test_files_of_the_device_are_the_owner_s_alone(here, tmp_path):
    study = histogram()
    link = here.analyst().begin(study, "Private")
    device = Device(tmp_path / "device")
    join(link, VALUE, device=device, limit=5.0, transport=here.transport())
    assert device.home.stat().st_mode & 0o077 == 0
    assert (device.home / f"{study.id}.json").stat().st_mode & 0o077 == 0
    kept = json.loads((device.home / f"{study.id}.json").read_text())
    for word in (kept["secret"], kept["request"]):
        assert word not in repr(device) + repr(Membership(device.home / f"{study.id}.json", study.id))


CUT_SHORT = """
import os, signal, sys
from pathlib import Path
from dpairs.client import Device
def stopped(*given):
    os.kill(os.getpid(), signal.SIGKILL)
with Device(sys.argv[1]).study("0" * 64) as me:
    me.data["coded"] = [7]
    Path.replace = stopped
    me.key("session 1")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("then", ["go on", "forget"])
def test_what_a_killed_process_had_half_written_does_not_stay(tmp_path, then):
    """The encoded value and a session's key, in a file that was never renamed."""
    command = [sys.executable, "-c", CUT_SHORT, str(tmp_path)]
    assert subprocess.run(command, check=False, env=ENVIRONMENT, timeout=60).returncode == -9
    (left,) = [each for each in tmp_path.iterdir() if each.suffix != ".lock"]
    assert b"session 1" in left.read_bytes()
    device = Device(tmp_path)
    if then == "forget":
        device.forget("0" * 64)
    else:
        with device.study("0" * 64) as me:
            assert not me.began
    assert [each for each in tmp_path.iterdir() if each.suffix != ".lock"] == []


def test_a_folder_that_cannot_be_used_is_refused_in_one_sentence(tmp_path):
    file = tmp_path / "file"
    file.write_text("not a folder")
    with pytest.raises(BadFile, match="cannot be used"):
        Device(file)
    device = Device(tmp_path / "device")
    (device.home / f"{'0' * 64}.json.lock").mkdir()
    with pytest.raises(BadFile, match="cannot be locked"), device.study("0" * 64):
        pass


# ---------------------------------------------------------------- collectors that misbehave


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
