"""`dpairs server task`, `keys` and `page`: what an analyst and two operators do before anybody takes part."""

from __future__ import annotations

import stat

import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.cli.show import print_table
from dpairs.client.transport import Transport
from dpairs.client.two_servers import server_states
from dpairs.dap.task import Task
from dpairs.errors import BadFile

from ..aggregator.pair import new_task

SERVERS = ["--leader", "Clinic=https://clinic.example", "--helper", "University=https://uni.example/dap/"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = dpairs.Study.create(
        "auc", protocol="two_servers", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=8, seed=1
    )
    study.save("study.json")
    return tmp_path


def test_a_task_is_written_for_both_operators(folder, capsys):
    asked = ["server", "task", "study.json", *SERVERS, "--key", "analyst.key", "--out", "task.json"]
    assert run([*asked, "--min-batch-size", "50", "--title", "Risk score"]) == 0
    task = Task.load("task.json")
    said = "".join(capsys.readouterr().out.split())
    assert f"https://clinic.example/two-servers/{task.id.hex()}" in said
    assert (task.helper.url, task.min_batch_size) == ("https://uni.example/dap", 50)
    key = folder / "analyst.key"
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    # The same key for the next task; another key is another task.
    assert run([*asked, "--min-batch-size", "50", "--title", "Risk score"]) == 0
    assert Task.load("task.json") == task
    key.unlink()
    assert run([*asked, "--min-batch-size", "50", "--title", "Risk score"]) == 0
    assert Task.load("task.json") != task


def test_bad_servers_are_refused(folder, capsys):
    for leader, words in (("Clinic", "NAME=https"), ("Clinic=http://clinic.example", "by https")):
        servers = ["--leader", leader, *SERVERS[2:]]
        assert run(["server", "task", "study.json", *servers, "--key", "k", "--out", "task.json"]) == 2
        assert words in " ".join(capsys.readouterr().err.split())
    assert run(["serve", "--role", "both", "--secret", "k"]) == 2
    assert "helper" in capsys.readouterr().err
    assert run(["serve", "--role", "leader"]) == 2
    assert "--secret" in capsys.readouterr().err


def test_keys_are_made_and_rotated(folder, capsys):
    assert run(["server", "keys", "leader.keys"]) == 0
    assert run(["server", "keys", "leader.keys"]) == 2
    assert "--rotate" in capsys.readouterr().err
    assert run(["server", "keys", "leader.keys", "--rotate"]) == 0
    assert "2 key(s)" in capsys.readouterr().out
    assert run(["server", "keys", "other.keys", "--rotate"]) == 2


def test_a_page_is_written_for_somebody_else_to_host(folder, capsys):
    assert run(["server", "task", "study.json", *SERVERS, "--key", "k", "--out", "task.json"]) == 0
    assert run(["server", "page", "task.json", "--out", "site"]) == 0
    task, site = Task.load("task.json"), folder / "site"
    place = site / "two-servers" / task.id.hex()
    assert Task.load(place / "task.json") == task
    for name in ("static/two_servers/main.js", "static/style.css", "dpairs/dap/index.js"):
        assert (site / name).is_file()
    assert f"/two-servers/{task.id.hex()}/" in "".join(capsys.readouterr().out.split())
    (folder / "file").touch()
    assert run(["server", "page", "task.json", "--out", "file"]) == 2


def test_a_strangers_words_are_shown_as_they_are(capsys):
    print_table(("server",), [("[bold red]Clinic[/] [link=https://x.org]",)], title="[blink]a study")
    out = capsys.readouterr().out
    assert "[bold red]Clinic[/] [link=https://x.org]" in out
    assert "[blink]a study" in out


@pytest.mark.parametrize(
    "said",
    [
        None,
        [],
        {},
        {"state": "open", "verified": {"a": "1"}, "refused": {}},
        {"state": "[bold]", "verified": {}, "refused": {}},
        {"state": [], "verified": {}, "refused": {}},
    ],
)
def test_a_server_that_does_not_tell_its_state_is_named(monkeypatch, said):
    monkeypatch.setattr(Transport, "json", lambda *_: said)
    with pytest.raises(BadFile, match="Clinic does not answer as a server of a task does"):
        server_states(new_task())
    fine = {"state": "open", "verified": {"positive": 2, "negative": 1}, "refused": {}, "name": "Somebody"}
    monkeypatch.setattr(Transport, "json", lambda *_: fine)
    assert server_states(new_task()) == [
        ("Clinic", "leader", "open", 3, 0),
        ("University", "helper", "open", 3, 0),
    ]
