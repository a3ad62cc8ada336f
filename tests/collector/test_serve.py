"""`dpairs serve` and `dpairs join` as people run them."""

from __future__ import annotations

import json
import os
import signal
import socket
import threading
from pathlib import Path

import pytest

from dpairs.client import Device
from dpairs.collector import Settings
from dpairs.collector.database import Database
from dpairs.errors import BadParameter, ServiceError, Unavailable

from ..processes import dpairs
from .people import Population, histogram, pairwise, tree
from .servers import begin, collector, stored_symbols, until


def refused(*arguments: str, words: str, **options) -> None:
    """Exit code 2, one sentence, no traceback."""
    done = dpairs(*arguments, **options)
    assert done.returncode == 2, done
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert done.stderr.strip().count("\n") == 0, done.stderr
    assert done.stderr.startswith("error: ")
    assert words in done.stderr


def test_a_used_port_is_refused(sqlite):
    with socket.create_server(("127.0.0.1", 0)) as line:
        port = str(line.getsockname()[1])
        refused("serve", "--port", port, "--database", sqlite, words="cannot listen on")


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("nonsense", "address cannot be used"),
        ("mysql://host/name", "sqlite or postgresql"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("sqlite:////nowhere/at/all/x.sqlite", "cannot be used"),
        ("postgresql+psycopg://nobody@127.0.0.1:1/x", "cannot be used"),
        ("postgresql+nonsense://x/y", "cannot be used"),
    ],
)
def test_a_database_that_cannot_be_used_is_refused(address, words):
    with pytest.raises((BadParameter, Unavailable), match=words) as caught:
        Database(address)
    assert "\n" not in str(caught.value)


def test_a_file_or_folder_that_is_no_database_is_refused(tmp_path):
    text = tmp_path / "text"
    text.write_text("this is no database, and long enough to be looked at " * 50)
    refused("serve", "--port", "0", "--database", f"sqlite:///{text}", words="cannot be used")
    (tmp_path / "folder").mkdir()
    with pytest.raises(Unavailable, match="cannot be used"):
        Database(f"sqlite:///{tmp_path / 'folder'}")
    assert text.read_text().startswith("this is no database")


def test_a_second_collector_on_the_same_database_is_refused(sqlite):
    with collector(sqlite):
        hurry = "import dpairs.collector.database as database; database.PATIENCE = 0.2; "
        words = "another collector uses this database"
        refused("serve", "--port", "0", "--database", sqlite, words=words, before=hurry)


def test_a_setting_that_makes_no_sense_is_refused(sqlite):
    refused("serve", "--port", "0", "--database", sqlite, "--message-hours", "0", words="message_hours")
    for name in ("body_limit", "batch_limit", "body_seconds", "answer_seconds", "burst", "message_hours"):
        for value in (0, -5, float("nan"), float("inf")):
            with pytest.raises(BadParameter, match=name):
                Settings(**{name: value})  # type: ignore[arg-type]
    for value in (-1.0, float("nan"), float("inf")):
        with pytest.raises(BadParameter, match="rate"):
            Settings(rate=value)
    for name in ("database", "host", "behind"):
        with pytest.raises(BadParameter, match=f"{name} must not hold a NUL"):
            Settings(**{name: "sqlite:///a\0b"})  # type: ignore[arg-type]


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="There are no such devices here.")
def test_settings_that_never_end_or_never_come_are_refused(sqlite, tmp_path):
    pipe, long = tmp_path / "pipe", tmp_path / "long.toml"
    os.mkfifo(pipe)
    long.write_text("#" * 2**21)
    for file, words in (
        ("/dev/zero", "not a regular file"),
        (str(pipe), "not a regular file"),
        (str(tmp_path), "directory"),
        (str(long), "at most 1048576 are read"),
    ):
        refused("serve", "--port", "0", "--database", sqlite, "--config", file, words=words)


def test_help_names_every_option():
    for verb, options in (
        ("serve", ("--host", "--port", "--database", "--new-token", "--rate", "--burst", "--json")),
        ("join", ("--stratum", "--code", "--score", "--limit", "--wait", "--home", "--json")),
    ):
        done = dpairs(verb, "--help", environment={"COLUMNS": "200", "TERM": "dumb", "NO_COLOR": "1"})
        assert done.returncode == 0
        for option in options:
            assert option in done.stdout


def test_the_token_is_shown_once(serve, sqlite):
    process = serve(sqlite)
    token = process.token
    assert len(token) >= 32
    process.analyst().studies()
    assert process.stop() in (0, -signal.SIGTERM)
    process.token = ""
    process.start()
    assert process.token == ""
    process.token = token
    process.analyst().studies()
    assert token not in process.log.read_text()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_collector_that_is_told_to_stop_under_load_loses_nothing_it_acknowledged(serve, sqlite, how):
    study = histogram()
    process = serve(sqlite, "--log-level", "warning")
    begin(process.analyst(), study)
    crowd = Population(study, 400, seed=4)
    crowd.enrol(process.transport())

    def answer() -> None:
        # Whoever comes after the end gives up at once.
        try:
            crowd.answer(process.transport(patience=0.0), study)
        except ServiceError:
            stopped.set()

    stopped = threading.Event()
    people = threading.Thread(target=answer)
    people.start()
    until(lambda: len(crowd.acknowledged) >= 100, "some reports")
    code = process._end(how)
    people.join(60)
    assert code in (0, -how, 128 + how)
    assert stopped.is_set()
    stored = stored_symbols(sqlite)
    acknowledged = {(1, 0, crowd.reports[who].index): crowd.reports[who].symbol for who in crowd.acknowledged}
    assert 100 <= len(acknowledged) < 400
    assert acknowledged.items() <= stored.items()
    assert "Traceback" not in process.log.read_text()
    with collector(sqlite, process.token) as again:
        assert again.analyst().tally(study.id).n == len(stored)


# ---------------------------------------------------------------- join


def test_join_says_what_left_the_device(here, tmp_path):
    study = tree()
    link = here.analyst().begin(study, "<b>Scores</b> & [red]more[/red]")
    home = str(tmp_path / "home")
    command = ["join", link, "--stratum", "positive", "--score", "0.73", "--home", home, "--yes"]
    done = dpairs(*command, environment={"COLUMNS": "200", "TERM": "dumb"})
    assert done.returncode == 0, done.stderr
    for words in ("what left this device", "counted", "epsilon", "0 of positive", "[red]more[/red]"):
        assert words in done.stdout
    assert "0.73" not in done.stdout
    again = dpairs(*command, "--json")
    said = json.loads(again.stdout)
    assert said["state"] == "counted"
    assert said["stratum"] == "positive"
    assert stored_symbols(here.database) == {(1, 0, said["index"]): said["report"]["symbol"]}
    assert f"symbol {said['report']['symbol']}" in done.stdout


def test_join_with_a_code_from_the_link(here, tmp_path):
    study, analyst = histogram(), here.analyst()
    link = analyst.begin(study, "Invited", enrolment="invited")
    refused("join", link, "--value", "1", "--home", str(tmp_path / "a"), "--yes", words="a code is needed")
    (code,) = analyst.invite(study.id, 1)
    home = ["--home", str(tmp_path / "b"), "--json", "--yes"]
    done = dpairs("join", f"{link}#code={code}", "--value", "1", *home)
    assert json.loads(done.stdout)["state"] == "counted"
    refused(
        "join",
        link,
        "--value",
        "1",
        "--code",
        code,
        "--home",
        str(tmp_path / "c"),
        "--yes",
        words="was used before",
    )


def test_join_in_a_pair_shows_both_fingerprints(here, tmp_path):
    study, analyst = pairwise(), here.analyst()
    link = analyst.begin(study, "Pairs")
    homes = [str(tmp_path / name) for name in "ab"]

    def go(home: str, *more: str) -> dict:
        done = dpairs("join", link, "--x", "1", "--y", "2", "--home", home, "--json", "--yes", *more)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    assert {go(home)["state"] for home in homes} == {"waiting"}
    analyst.advance(study.id)
    found: dict[str, dict] = {}
    both = [
        threading.Thread(target=lambda home=home: found.update({home: go(home, "--wait", "60")}))
        for home in homes
    ]
    for each in both:
        each.start()
    for each in both:
        each.join()
    assert {each["state"] for each in found.values()} == {"done"}
    first, second = (next(iter(each["fingerprints"].values())) for each in found.values())
    assert (first["mine"], first["partner"]) == (second["partner"], second["mine"])
    assert analyst.tally(study.id).n == 1
    table = dpairs(
        "join", link, "--x", "1", "--y", "2", "--home", homes[0], "--yes", environment={"COLUMNS": "200"}
    )
    own = json.loads((Path(homes[0]) / f"{study.id}.json").read_text())["pairs"]
    assert all(each in table.stdout for each in next(iter(own.values()))["keys"])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nonsense", "--value", "1"], "a link looks like"),
        (
            ["http://127.0.0.1:1/take-part/" + "0" * 64, "--value", "1", "--patience", "0"],
            "cannot be reached",
        ),
    ],
)
def test_join_to_nowhere_is_one_sentence(tmp_path, arguments, words):
    refused("join", *arguments, "--home", str(tmp_path), words=words)


def test_join_refuses_what_the_person_does_not_allow(here, tmp_path):
    link = here.analyst().begin(histogram(), "Two epsilon")
    home = ["--home", str(tmp_path / "home"), "--yes"]
    refused("join", link, "--value", "1", "--max-epsilon", "1", *home, words="above this participant's limit")
    refused("join", link, "--value", "9", *home, words="value")
    refused("join", link, "--score", "1", *home, words="value")
    assert stored_symbols(here.database) == {}
    assert Device(tmp_path / "home").home.exists()
    assert os.listdir(tmp_path / "home") != ["ledger.json"]
