"""A person's device: limits, files and other processes."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

import pytest

from dpairs.client import Device, Link, join
from dpairs.client.device import Membership
from dpairs.errors import (
    BadFile,
    BadParameter,
    BadValue,
    Conflict,
    LimitExceeded,
)

from ..collector.people import histogram, projection, tree
from ..collector.servers import contents
from ..processes import dpairs, program
from .answering import VALUE, pair_of

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
    assert program(CUT_SHORT, str(tmp_path)).returncode == -9
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
