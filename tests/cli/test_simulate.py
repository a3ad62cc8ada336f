"""`dpairs simulate` and `demo`: files of each kind, all rounds at once, and data that do not fit."""

import json
import subprocess
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import dpairs
from dpairs.cli.app import run

from .. import processes
from .typed import refused, said, scores, write_csv


def test_simulate_one_run_matches_the_library(study, folder, capsys):
    write_csv(folder / "data.csv", *scores())
    capsys.readouterr()
    assert run(["simulate", "study.json", "data.csv", "--seed", "3", "--json"]) == 0
    result = json.loads(said(capsys)[0])
    score, label = scores()
    expected = dpairs.simulate(dpairs.Study.load(study), {"score": score, "label": label}, seed=3)
    assert result["runs"][0]["value"] == expected.value
    assert result["truth"] == pytest.approx(dpairs.exact("auc", {"score": score, "label": label}), abs=1e-12)


def test_a_value_of_which_nothing_is_known_is_shown_and_null_for_scripts(folder, capsys):
    values = np.minimum(np.random.default_rng(1).lognormal(np.log(2000), 0.5, 20_000), 1e5)
    (folder / "pay.csv").write_text("value\n" + "\n".join(map(str, values)) + "\n")
    given = "--protocol histogram --epsilon 1 --domain interval:0,100000 --bins 32"
    assert run(["study", "create", "gini_coefficient", *given.split(), "--out", "gini.json"]) == 0
    capsys.readouterr()
    assert run(["simulate", "gini.json", "pay.csv", "--seed", "1", "--json"]) == 0
    told = json.loads(said(capsys)[0])
    assert told["summary"]["mean_standard_error"] is None
    assert told["runs"][0]["confidence_interval_95"] == [0, 1]
    assert run(["simulate", "gini.json", "pay.csv", "--seed", "1"]) == 0
    assert "whole range" in " ".join(said(capsys)[0].split())


@pytest.mark.parametrize("name", ["data.csv", "data.parquet", "data.csv.gz"])
def test_simulate_reads_files_of_each_kind(study, folder, capsys, name):
    score, label = scores()
    table = pa.table({"prob": score, "ill": label})
    if name.endswith("parquet"):
        pa.parquet.write_table(table, folder / name)
    else:
        with (
            pa.CompressedOutputStream(name, "gzip") if name.endswith("gz") else pa.OSFile(name, "wb") as file
        ):
            pyarrow.csv.write_csv(table, file)
    columns = ["-c", "score=prob", "-c", "label=ill"]
    for more in ([], ["--no-exact"], ["--runs", "3", "--plot", "runs.png"]):
        assert run(["simulate", "study.json", name, *columns, "--seed", "1", *more]) == 0
    assert (folder / "runs.png").read_bytes().startswith(b"\x89PNG")
    assert "mean absolute error" in said(capsys)[0]


def test_simulating_both_rounds_matches_the_library(folder, capsys):
    made = [
        "study",
        "create",
        "auc",
        "--protocol",
        "projection",
        "-e",
        "2",
        "-d",
        "interval:0,1",
        "--seed",
        "1",
    ]
    assert run([*made, "--bins", "256", "--n", "4000", "-o", "study.json"]) == 0
    score, label = scores()
    write_csv(folder / "data.csv", score, label)
    study = dpairs.Study.load(folder / "study.json")
    expected = dpairs.simulate(study, {"score": score, "label": label}, seed=3)
    for more in ([], ["--no-exact"]):
        capsys.readouterr()
        assert run(["simulate", "study.json", "data.csv", "--seed", "3", "--json", *more]) == 0
        result = json.loads(said(capsys)[0])
        assert result["runs"][0]["value"] == pytest.approx(expected.value, rel=1e-12)
    assert run(["simulate", "study.json", "data.csv", "--seed", "3", "--runs", "2"]) == 0
    assert "mean absolute error" in said(capsys)[0]


def test_three_classes_from_a_file(folder, capsys):
    made = ["study", "create", "vus", "-e", "4", "-d", "interval:0,1", "-o", "vus.json"]
    assert run([*made, "--protocol", "projection", "--ties", "zero"]) == 0
    rng = np.random.default_rng(5)
    label = rng.integers(0, 3, 3000)
    write_csv(folder / "data.csv", np.clip(rng.normal(0.3 + 0.2 * label, 0.1), 0, 1), label)
    capsys.readouterr()
    assert run(["simulate", "vus.json", "data.csv", "--seed", "1", "--json"]) == 0
    result = json.loads(said(capsys)[0])
    assert result["truth"] == pytest.approx(0.7, abs=0.15)
    assert result["runs"][0]["strata"].keys() == {"low", "middle", "high"}
    refused(capsys, [*made, "--bins", "8"], "triples", "projection")
    refused(capsys, [*made, "--protocol", "tree"], "AUC")


@pytest.mark.usefixtures("few_bins")
def test_demo(folder, capsys, monkeypatch):
    """Two servers; a collector, people in two processes, both rounds, and pairs through the relay."""
    monkeypatch.setattr("dpairs.cli.demo_servers.PEOPLE", 104)
    monkeypatch.setattr("dpairs.cli.demo.PROCESSES", 2)
    refused(capsys, ["demo", "--people", "10"], "people", "from 1000")
    monkeypatch.setattr("dpairs.cli.demo.LEAST_PEOPLE", 200)
    if not processes.FRESH:
        monkeypatch.setattr(subprocess, "Popen", processes.popen)
        monkeypatch.setattr("dpairs.cli.demo.multiprocessing", SimpleNamespace(get_context=processes.forks))
    assert run(["demo", "--people", "200", "--pairs", "4", "--json"]) == 0
    shared, auc, tau = json.loads(said(capsys)[0])
    assert (shared["took_part"], auc["took_part"], tau["took_part"]) == (104, 200, 8)
    assert (shared["protocol"], auc["protocol"]) == ("two_servers", "projection")
    for each in (shared, auc, tau):
        low, high = each["interval_95"]
        assert low <= each["estimate"] <= high
        assert low < high
        # Six standard errors: fails by chance less than once in 10^8.
        assert abs(each["estimate"] - each["truth"]) < 6 * each["standard_error"]
    refused(capsys, ["demo", "--folder", "nowhere/at/all"], "did not start")


@pytest.mark.parametrize(
    ("score", "label", "words"),
    [
        ([0.1, "nan", 0.3], [0, 1, 1], ["score", "line 3", "no number", "[0, 1]"]),
        ([0.1, "inf", 0.3], [0, 1, 1], ["score", "line 3", "inf"]),
        ([0.1, 0.2, 1.5], [0, 1, 1], ["score", "line 4", "1.5"]),
        ([0.1, 0.2, ""], [0, 1, 1], ["score", "line 4", "no number"]),
        ([0.1, "high", 0.3], [0, 1, 1], ["high"]),
        ([0.1, 0.2, 0.3], [0, 1, 2], ["label", "2", "two classes"]),
        ([0.1, 0.2, 0.3], [0, 1, -1], ["label", "mixes"]),
        ([0.1, 0.2, 0.3], [1, 1, 1], ["negative", "empty"]),
        ([], [], ["empty"]),
    ],
)
def test_wrong_data(study, folder, capsys, score, label, words):
    write_csv(folder / "data.csv", score, label)
    for more in ([], ["--no-exact"]):
        refused(capsys, ["simulate", "study.json", "data.csv", *more], *words)


def test_too_few_people(folder, capsys):
    assert (
        run(["study", "create", "gini_mean_difference", "-e", "1", "-d", "levels:0,1,2", "-o", "s.json"]) == 0
    )
    (folder / "one.csv").write_text("value\n1\n")
    refused(capsys, ["simulate", "s.json", "one.csv"], "at least 2 people")
    refused(capsys, ["simulate", "s.json", "one.csv", "--no-exact"], "at least 2 people")
