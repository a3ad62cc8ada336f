"""A person's device that crashes or is killed at any step sends one report, and computes a pair once."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dpairs.client import Device, Link, Transport, join
from dpairs.formats import files

from ..collector.people import histogram
from ..collector.servers import contents, stored_symbols
from ..processes import program
from .answering import VALUE, pair_of


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
            done = program(STEP, link, str(device.home))
            assert done.returncode == 0, done.stderr
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
    assert program(KILLED, link, str(home), moment).returncode == -9
    kept = json.loads((home / f"{study.id}.json").read_text())
    assert here.analyst().tally(study.id).n == (moment == "after")
    done = join(link, VALUE, device=Device(home), transport=here.transport())
    assert done.report is not None
    assert bytes(done.report).hex() == kept["report"]["wire"]
    assert stored_symbols(here.database) == {(1, 0, 0): done.report.symbol}
