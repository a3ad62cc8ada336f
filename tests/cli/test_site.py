"""`dpairs site`: from a table to an answer, by files alone."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpairs import Interval, Study
from dpairs.cli.app import run

from ..collector.conftest import here, sqlite

__all__ = ["here", "sqlite"]


@pytest.fixture
def sites(tmp_path, monkeypatch):
    """A study of two rounds and three sites' tables."""
    monkeypatch.chdir(tmp_path)
    study = Study.create("auc", protocol="sites", epsilon=1.0, domain=Interval(0, 1), bins=8, sites=3, seed=1)
    study.save("study.json")
    rng = np.random.default_rng(1)
    for name in "abc":
        label = rng.integers(0, 2, 500)
        score = rng.normal(0.4 + 0.2 * label, 0.15).clip(0, 1)
        pq.write_table(pa.table({"risk": score, "label": label}), f"{name}.parquet")
    return study


def site(name, study="study.json", *more):
    return run(
        [
            "site",
            study,
            f"{name}.parquet",
            "--name",
            name,
            "-c",
            "score=risk",
            "--home",
            f"home-{name}",
            *more,
        ]
    )


def test_both_rounds_by_files(sites, capsys):
    for name in "abc":
        assert site(name, "study.json", "--out", f"{name}1.json", "--yes") == 0
    assert run(["tally", "study.json", "a1.json", "b1.json", "c1.json", "-o", "tally1.json"]) == 0
    assert run(["study", "next", "study.json", "tally1.json", "-o", "second.json"]) == 0
    assert site("a", "second.json", "--out", "a2.json", "--yes") == 2
    assert "--first" in capsys.readouterr().err
    for name in "ab":
        assert site(name, "second.json", "--first", "study.json", "--out", f"{name}2.json", "--yes") == 0
    assert run(["tally", "second.json", "a2.json", "b2.json", "b2.json", "-o", "tally2.json"]) == 0
    assert "again: b2.json" in capsys.readouterr().err
    assert run(["estimate", "second.json", "tally2.json", "--json"]) == 0
    estimate = json.loads(capsys.readouterr().out)
    assert abs(estimate["value"] - 0.83) < 0.06
    assert estimate["n"] == 1000
    assert estimate["privacy"]["kind"] == "record-level"


def test_it_shows_what_would_leave_and_writes_nothing_without_out(sites, tmp_path, capsys):
    assert site("a") == 0
    said = capsys.readouterr().out
    assert "everybody learns how many records" in said
    assert not list(tmp_path.glob("home-a/ledger.json"))
    assert site("a", "study.json", "--out", "a1.json") == 2
    assert "no terminal in which to ask" in capsys.readouterr().err
    assert not (tmp_path / "a1.json").exists()


def test_the_same_bytes_again(sites, tmp_path, capsys):
    assert site("a", "study.json", "--out", "a1.json", "--yes") == 0
    assert site("a", "study.json", "--out", "again.json", "--yes", "--json") == 0
    assert json.loads(capsys.readouterr().out.split("a1.json\n")[-1])["made"] is True
    assert (tmp_path / "a1.json").read_bytes() == (tmp_path / "again.json").read_bytes()
    assert (tmp_path / "a1.json").stat().st_mode & 0o777 == 0o600


def test_two_answers_of_one_site_are_refused(sites, capsys):
    assert site("a", "study.json", "--out", "a1.json", "--yes") == 0
    more = ["site", "study.json", "a.parquet", "--name", "a", "-c", "score=risk", "--home", "other"]
    assert run([*more, "--out", "other.json", "--yes"]) == 0
    assert run(["tally", "study.json", "a1.json", "other.json", "-o", "tally.json"]) == 2
    assert "site 'a' has already given another answer" in capsys.readouterr().err


def test_a_simulation_reads_the_column_of_sites(sites, tmp_path, capsys):
    parts = [pq.read_table(f"{name}.parquet") for name in "abc"]
    table = pa.concat_tables(parts).append_column("hospital", pa.array(np.repeat(list("abc"), 500)))
    pq.write_table(table, "all.parquet")
    given = ["simulate", "study.json", "all.parquet", "-c", "score=risk", "-c", "site=hospital"]
    assert run([*given, "--seed", "1", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert abs(said["runs"][0]["value"] - said["truth"]) < 0.05


def test_a_study_of_persons_is_made_and_shown(tmp_path, capsys):
    out = tmp_path / "s.json"
    made = [
        "study",
        "create",
        "auc",
        "-e",
        "1",
        "-d",
        "interval:0,1",
        "--protocol",
        "sites",
        "--unit",
        "person",
    ]
    assert run([*made, "--max-records-per-person", "3", "--hide-sizes", "--sites", "4", "-o", str(out)]) == 0
    assert "a site sends" in capsys.readouterr().out
    assert run(["study", "show", str(out), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["privacy"]["kind"] == "person-level"


def test_a_name_that_is_a_path_leaves_no_file_elsewhere(sites, tmp_path, capsys):
    study = Study.create(
        "auc", protocol="two_servers", answered_by="sites", epsilon=1.0, domain=Interval(0, 1), bins=8
    )
    study.save("shared.json")
    given = ["site", "shared.json", "a.parquet", "-c", "score=risk", "--home", "h", "--yes", "--shares", "in"]
    assert run([*given, "--name", "a/../../b"]) == 2
    assert "its name is no path" in capsys.readouterr().err
    assert not (tmp_path / "in").exists()
    assert run([*given, "--name", "a"]) == 0
    assert {each.name for each in (tmp_path / "in").iterdir()} == {"a-0.jsonl", "a-1.jsonl"}


def test_a_link_shows_sends_and_sends_the_same_again(sites, here, tmp_path, capsys):
    link = here.analyst().begin(sites, "Hospitals")
    assert site("a", link) == 0
    assert here.analyst().progress(sites.id)["sites"] == []
    assert site("a", "study.json", "--send", "--yes") == 2
    assert "--send needs the link" in capsys.readouterr().err
    for said in ("is counted", "was counted before"):
        assert site("a", link, "--send", "--yes", "--out", "sent.json") == 0
        assert f"answer of a {said}" in capsys.readouterr().out
    assert site("b", link, "--send", "--yes") == 0
    here.analyst().advance(sites.id)
    capsys.readouterr()
    assert site("a", link, "--send", "--yes", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["site"], said["sent"], said["written"]) == ("a", True, None)
    assert here.analyst().answers(sites.id).sites == ("a",)
    assert here.analyst().answers(sites.id, 1).sites == ("a", "b")
