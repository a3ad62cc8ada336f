"""From people's values to the released numbers, over HTTP: what a trusted party would have released."""

from __future__ import annotations

import multiprocessing
from types import SimpleNamespace

import pytest

import dpairs
from dpairs.aggregator import driver
from dpairs.dap.products import CloseReq
from dpairs.dap.reports import ReportError
from dpairs.errors import Refused

from ..collector.servers import until
from ..processes import FRESH, forks
from ..processes import dpairs as run
from .pair import KIND, NOISE, SECRET, People, auc, collect, crowd, in_threads, new_task, state, upload


@pytest.mark.parametrize("release", ["value", "counts"])
def test_the_released_numbers_are_the_ideal_ones(tmp_path, release):
    task = new_task(auc(release=release), least=50)
    with in_threads(task, tmp_path) as (leader, helper):
        people = crowd(task, 120)
        assert upload(leader.line, task, people.reports((leader.line, helper.line))) == {}
        found = collect(leader.line, task)
        assert found.to_json() == people.ideal().to_json()
        assert collect(leader.line, task).to_json() == found.to_json()
        for server in (leader, helper):
            said = state(server.line, task)
            assert said["state"] == "released"
            assert sum(said["verified"].values()) == 120
            assert said["refused"] == {}
    if release == "value":
        assert found.estimate().value == pytest.approx(dpairs.exact("auc", people.data), abs=0.2)
    assert found.to_json() != people.ideal((NOISE[1], NOISE[1])).to_json()


def test_one_class_has_no_extension(tmp_path):
    study = dpairs.Study.create(
        "gini_mean_difference",
        protocol="two_servers",
        epsilon=1.0,
        domain=dpairs.Levels(range(5)),
        seed=1,
    )
    task = new_task(study)
    with in_threads(task, tmp_path) as (leader, helper):
        people = People(task, {"value": [0, 1, 2, 3, 4] * 5})
        reports = people.reports((leader.line, helper.line))
        assert reports[0].metadata.extensions == ()
        assert upload(leader.line, task, reports) == {}
        assert collect(leader.line, task).to_json() == people.ideal().to_json()


def test_a_report_sent_again_is_taken_once(tmp_path):
    task = new_task()
    with in_threads(task, tmp_path) as (leader, helper):
        people = crowd(task, 30)
        reports = people.reports((leader.line, helper.line))
        assert upload(leader.line, task, reports + reports[:7]) == {}
        assert upload(leader.line, task, reports[:3], at_once=1) == {}
        assert state(leader.line, task)["received"] == 30
        assert collect(leader.line, task).to_json() == people.ideal().to_json()
        assert upload(leader.line, task, reports[:3]) == {}
        late = crowd(task, 2, seed=9).reports((leader.line, helper.line))
        assert set(upload(leader.line, task, late).values()) == {ReportError.BATCH_COLLECTED.name}


def test_several_processes_verify_and_a_lost_one_is_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(driver, "JOB", 20)
    if not FRESH:
        monkeypatch.setattr(
            "dpairs.aggregator.workers.multiprocessing",
            SimpleNamespace(get_context=forks, parent_process=multiprocessing.parent_process),
        )
    before = set(multiprocessing.active_children())
    task = new_task()
    with in_threads(task, tmp_path, workers=2) as (leader, helper):
        people = crowd(task, 60)
        reports = people.reports((leader.line, helper.line))
        assert upload(leader.line, task, reports[:40]) == {}  # two jobs
        until(lambda: sum(state(helper.line, task)["verified"].values()) == 40, "verified reports")
        workers = set(multiprocessing.active_children()) - before
        assert len(workers) == 2
        for each in workers:
            each.kill()
        assert upload(leader.line, task, reports[40:]) == {}
        assert collect(leader.line, task).to_json() == people.ideal().to_json()


def test_a_person_joins_by_the_command_line_and_only_once(tmp_path):
    task = new_task()
    link = f"{task.leader.url}/two-servers/{task.id.hex()}"
    home = {"DPAIRS_HOME": str(tmp_path / "home")}
    with in_threads(task, tmp_path) as (leader, _):
        for _ in range(2):
            done = run("join", link, "--stratum", "positive", "--score", "0.7", "--yes", environment=home)
            assert done.returncode == 0, done.stderr
            for words in ("Clinic", "University", "counted"):
                assert words in done.stdout
        assert state(leader.line, task)["received"] == 1
        other = link.replace(task.id.hex(), "0" * 64)
        done = run("join", other, "--stratum", "positive", "--score", "0.7", "--yes", environment=home)
        assert done.returncode == 2
        done = run("join", link, "--stratum", "positive", "--score", "0.7", environment=home)
        assert done.returncode == 2
        assert "only against a curious server" in " ".join(done.stderr.split())


def test_a_database_that_is_set_back_does_not_release_again(tmp_path):
    """Noise that is drawn twice is half gone: each server knows by itself that the result is out."""
    task, places = new_task(auc(bins=8), least=20), [tmp_path / f"{number}.sqlite" for number in (0, 1)]
    people = crowd(task, 40)
    with in_threads(task, tmp_path) as (leader, helper):
        assert upload(leader.line, task, people.reports((leader.line, helper.line))) == {}
        until(lambda: sum(state(leader.line, task)["verified"].values()) == 40, "verified reports")
    copies = [place.read_bytes() for place in places]
    with in_threads(task, tmp_path) as (leader, helper):
        sums = helper.service.stores[task.name].sums()
        assert collect(leader.line, task).to_json() == people.ideal().to_json()
    for place, copy in zip(places, copies, strict=True):
        place.write_bytes(copy)
    with in_threads(task, tmp_path) as (leader, helper):
        assert state(helper.line, task)["state"] == "open"
        with pytest.raises(Refused, match="set back"):
            collect(leader.line, task)
        body, token = bytes(CloseReq.of(sums)), task.leader_token(SECRET)
        with pytest.raises(Refused, match="set back"):
            helper.line.bytes("POST", f"/tasks/{task.name}/products", body, token, f"{KIND}dpairs-close-req")
