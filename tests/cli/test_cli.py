"""The command line, as a statistician would use it and as a careless person would."""

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import typer

import dpairs
from dpairs.cli.app import app, run
from dpairs.cli.study import parse_domain

AUC = ["study", "create", "auc", "-e", "1", "-d", "interval:0,1", "--bins", "8", "--seed", "1"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def study(folder) -> Path:
    assert run([*AUC, "-o", "study.json"]) == 0
    return folder / "study.json"


def scores(n: int = 4000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, n)
    return np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1), label


def write_csv(path: Path, score, label) -> None:
    rows = "\n".join(f"{s},{y}" for s, y in zip(score, label, strict=True))
    path.write_text(f"score,label\n{rows}\n")


def said(capsys) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


def refused(capsys, arguments: list[str], *words: str) -> None:
    """Exit code 2 and one sentence that holds the words."""
    capsys.readouterr()
    assert run(arguments) == 2
    out, err = said(capsys)
    assert out == ""
    sentence = " ".join(err.split())
    assert sentence.startswith("error: ")
    assert "Traceback" not in err
    assert err.strip().count("\n") == 0
    for word in words:
        assert word in sentence


def test_create_and_show(study, capsys):
    capsys.readouterr()
    assert run(["study", "show", str(study), "--json"]) == 0
    facts = json.loads(said(capsys)[0])
    loaded = dpairs.Study.load(study)
    assert facts["id"] == loaded.id
    assert facts["privacy"]["epsilon"] <= 1
    assert run(["study", "show", str(study)]) == 0
    assert "score" in said(capsys)[0]


def test_all_keywords_reach_the_study(folder):
    arguments = ["-d", "levels:1,2,3", "-d", "levels:1,2,3", "--variant", "b", "--mechanism", "krr"]
    assert (
        run(["study", "create", "kendall_tau", "-e", "0.5", *arguments, "--kernel", "midpoint", "-o", "s"])
        == 0
    )
    made: Any = dpairs.Study.load(folder / "s")
    assert (made.statistic.variant, made.protocol.mechanism.name, made.protocol.kernel) == (
        "b",
        "krr",
        "midpoint",
    )


def test_simulate_one_run_matches_the_library(study, folder, capsys):
    write_csv(folder / "data.csv", *scores())
    capsys.readouterr()
    assert run(["simulate", "study.json", "data.csv", "--seed", "3", "--json"]) == 0
    result = json.loads(said(capsys)[0])
    score, label = scores()
    expected = dpairs.simulate(dpairs.Study.load(study), {"score": score, "label": label}, seed=3)
    assert result["runs"][0]["value"] == expected.value
    assert result["truth"] == pytest.approx(dpairs.exact("auc", {"score": score, "label": label}), abs=1e-12)


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


def test_reports_tally_estimate(study, folder, capsys):
    for index in range(6):
        stratum = "positive" if index % 2 else "negative"
        arguments = [
            "--index",
            str(index),
            "--stratum",
            stratum,
            "--score",
            "0.3",
            "--append",
            "reports.jsonl",
        ]
        assert run(["report", "study.json", *arguments]) == 0
    lines = (folder / "reports.jsonl").read_text().splitlines()
    first = json.loads(lines[0])
    other = {**first, "symbol": (first["symbol"] + 1) % 3}
    foreign = {**first, "study": "0" * 64}
    bad = [
        json.dumps(other),
        lines[1],
        json.dumps(foreign),
        "not json",
        '{"index": 1}',
        "[1]",
        "9" * 9000,
        "",
    ]
    (folder / "more.jsonl").write_text("\n".join(bad))
    capsys.readouterr()
    assert run(["tally", "study.json", "reports.jsonl", "more.jsonl", "-o", "a.json", "--json"]) == 0
    counted = json.loads(said(capsys)[0])
    assert counted["people"] == {"positive": 3, "negative": 3}
    assert counted["reports"] == {
        "counted": 6,
        "second answer": 1,
        "repeated": 1,
        "of another study": 1,
        "damaged": 4,
    }
    assert run(["tally", "study.json", "a.json", "a.json", "--merge", "-o", "b.json"]) == 0
    capsys.readouterr()
    assert run(["estimate", "study.json", "b.json", "--json"]) == 0
    estimate = json.loads(said(capsys)[0])
    whole = dpairs.Tally.load(folder / "b.json", dpairs.Study.load(study))
    assert estimate["value"] == whole.estimate().value
    assert estimate["n"] == 12
    assert estimate["manipulation"]["people"] == 1, "1% of 12 people, and at least one"
    assert run(["estimate", "study.json", "b.json", "--level", "0.9"]) == 0
    shown = said(capsys)[0]
    assert "90% interval" in shown
    assert "if one person lies, it moves" in shown


def test_report_on_the_wire(study, capsys):
    capsys.readouterr()
    assert run(["report", str(study), "--index", "1", "--stratum", "positive", "--score", "1", "--wire"]) == 0
    wire = bytes.fromhex(said(capsys)[0].strip())
    assert dpairs.Report.from_bytes(wire, dpairs.Study.load(study)).index == 1


def test_tree_study_from_file_to_picture(folder, capsys):
    made = ["study", "create", "auc", "--protocol", "tree", "-e", "3", "-d", "interval:0,1", "--bins", "256"]
    assert run([*made, "--answer", "several-bits", "-o", "tree.json"]) == 0
    score, label = scores(20_000)
    study = dpairs.Study.load(folder / "tree.json")
    dpairs.simulate_tally(study, {"score": score, "label": label}, seed=1).save(folder / "tally.json")
    capsys.readouterr()
    assert run(["estimate", "tree.json", "tally.json", "--explain", "--plot", "parts.png"]) == 0
    assert "recursed nodes" in said(capsys)[0]
    assert (folder / "parts.png").read_bytes().startswith(b"\x89PNG")
    assert run(["estimate", "tree.json", "tally.json", "--estimator", "paper", "--json"]) == 0
    assert json.loads(said(capsys)[0])["estimator"] == "paper"
    report = ["report", "tree.json", "--index", "7", "--stratum", "positive", "--score", "0.5", "--wire"]
    assert run(report) == 0
    assert len(bytes.fromhex(said(capsys)[0].strip())) == 19
    refused(capsys, [*made, "--splitting", "budget-advanced", "-o", "x.json"], "delta")
    refused(capsys, [*made, "--bins", "100", "-o", "x.json"], "bins")
    wrong = [
        "study",
        "create",
        "kendall_tau",
        "--protocol",
        "tree",
        "-e",
        "1",
        "-d",
        "levels:1,2",
        "-d",
        "levels:1,2",
    ]
    refused(capsys, [*wrong, "-o", "x.json"], "AUC with public labels")


PROJECTION = ["study", "create", "auc", "--protocol", "projection", "-e", "2", "-d", "levels:1,2,3,4,5"]


def ask(study: dpairs.Study, count: int) -> list[int]:
    return [index for index in range(count) if study.asks("positive", index)]


def test_two_rounds_from_file_to_estimate(folder, capsys):
    """Everybody answers in the round that asks; reports of the other round are counted out, not in."""
    assert run([*PROJECTION, "--pilot-fraction", "0.5", "--seed", "1", "-o", "first.json"]) == 0
    assert "round 1 of 2" in " ".join(said(capsys)[0].split())
    first = dpairs.Study.load(folder / "first.json")
    people = range(10)
    for index in people:
        for stratum in ("positive", "negative"):
            arguments = ["--index", str(index), "--stratum", stratum, "--score", str(index % 5 + 1)]
            if first.asks(stratum, index):
                assert run(["report", "first.json", *arguments, "--append", "first.jsonl"]) == 0
            else:
                refused(capsys, ["report", "first.json", *arguments], "not asked in this round", str(index))
    lines = (folder / "first.jsonl").read_text().splitlines()
    stranger = {**json.loads(lines[0]), "stratum": "positive"}
    stranger["index"] = next(index for index in people if not first.asks("positive", index))
    (folder / "more.jsonl").write_text(json.dumps(stranger) + "\n" + lines[0] + "\n")
    capsys.readouterr()
    assert run(["tally", "first.json", "first.jsonl", "more.jsonl", "-o", "tally.json", "--json"]) == 0
    counted = json.loads(said(capsys)[0])
    assert counted["reports"] == {"counted": len(lines), "of another round": 1, "repeated": 1}
    assert run(["study", "next", "first.json", "tally.json", "-o", "second.json", "--json"]) == 0
    facts = json.loads(said(capsys)[0])
    second = dpairs.Study.load(folder / "second.json")
    assert second == first.next(dpairs.Tally.load(folder / "tally.json", first))
    assert (facts["id"], facts["round"], facts["rounds"]) == (second.id, 2, 2)
    for index in people:
        for stratum in ("positive", "negative"):
            arguments = ["--index", str(index), "--stratum", stratum, "--score", str(index % 5 + 1)]
            if first.asks(stratum, index):
                refused(capsys, ["report", "second.json", *arguments], "--first FILE")
                agreed = ["report", "second.json", "--first", "first.json", *arguments]
                refused(capsys, agreed, "not asked in this round", str(index))
            else:
                agreed = ["report", "second.json", "--first", "first.json", *arguments]
                assert run([*agreed, "--append", "second.jsonl"]) == 0
    late = {**stranger, "study": second.id, "index": ask(first, 24)[0], "symbol": 0}
    with (folder / "second.jsonl").open("a") as file:
        file.write(json.dumps(late) + "\n" + lines[0] + "\n")
    capsys.readouterr()
    assert run(["tally", "second.json", "second.jsonl", "-o", "last.json"]) == 0
    shown = " ".join(said(capsys)[0].split())
    assert "of another round" in shown
    assert "of another study" in shown
    assert run(["estimate", "second.json", "last.json", "--json"]) == 0
    estimate = json.loads(said(capsys)[0])
    assert estimate["n"] == 2 * len(people)
    assert estimate["privacy"]["rounds"] == 2
    assert estimate["estimator"] == "combined"
    assert run(["estimate", "second.json", "last.json", "--estimator", "second-round", "--json"]) == 0
    assert json.loads(said(capsys)[0])["estimator"] == "second-round"
    refused(capsys, ["estimate", "first.json", "last.json"], "belongs to study")
    refused(capsys, ["study", "next", "second.json", "last.json", "-o", "x.json"], "no next")
    refused(capsys, ["study", "next", "first.json", "last.json", "-o", "x.json"], "belongs to study")
    refused(capsys, ["study", "next", "first.json", "none.json", "-o", "x.json"], "none.json")
    assert not (folder / "x.json").exists()


def test_only_strangers_are_no_tally(folder, capsys):
    assert run([*PROJECTION, "--seed", "1", "-o", "first.json"]) == 0
    first = dpairs.Study.load(folder / "first.json")
    index = next(index for index in range(64) if not first.asks("positive", index))
    spec = {"study": first.id, "stratum": "positive", "index": index, "symbol": 0}
    (folder / "reports.jsonl").write_text(json.dumps(spec) + "\n")
    refused(capsys, ["tally", "first.json", "reports.jsonl", "-o", "t.json"], "1 of another round")


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


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--pilot-fraction", "0"], ["pilot_fraction"]),
        (["--pilot-fraction", "1"], ["pilot_fraction"]),
        (["--pilot", "sketch"], ["pilot", "'tree'"]),
        (["--mechanism", "sketch"], ["mechanism", "krr"]),
        (["--splitting", "users"], ["splitting"]),
        (["-d", "categories:a,b"], ["domain"]),
    ],
)
def test_wrong_projection_studies(folder, capsys, change, words):
    refused(capsys, [*PROJECTION, "-o", "study.json", *change], *words)
    assert not (folder / "study.json").exists()


def test_pilots_belong_to_projections(folder, capsys):
    refused(capsys, [*AUC, "-o", "study.json", "--pilot", "tree"], "pilot", "histogram")


def test_histograms_have_nothing_to_explain(study, folder, capsys):
    score, label = scores()
    tally = dpairs.simulate_tally(dpairs.Study.load(study), {"score": score, "label": label}, seed=1)
    tally.save(folder / "tally.json")
    refused(capsys, ["estimate", "study.json", "tally.json", "--plot", "x.png"], "nothing to explain")


def test_demo(folder, capsys, monkeypatch):
    """Two servers; a collector, people in two processes, both rounds, and pairs through the relay."""
    monkeypatch.setattr("dpairs.cli.demo_servers.PEOPLE", 120)
    monkeypatch.setattr("dpairs.cli.demo.PROCESSES", 2)
    assert run(["demo", "--people", "1000", "--pairs", "8", "--json"]) == 0
    shared, auc, tau = json.loads(said(capsys)[0])
    assert (shared["took_part"], auc["took_part"], tau["took_part"]) == (120, 1000, 16)
    assert (shared["protocol"], auc["protocol"]) == ("two_servers", "projection")
    for each in (shared, auc, tau):
        low, high = each["interval_95"]
        assert low <= each["estimate"] <= high
        assert low < high
        # Six standard errors: fails by chance less than once in 10^8.
        assert abs(each["estimate"] - each["truth"]) < 6 * each["standard_error"]
    refused(capsys, ["demo", "--people", "10"], "people", "from 1000")
    refused(capsys, ["demo", "--folder", "nowhere/at/all"], "did not start")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["-e", "0"], ["epsilon", "above 0"]),
        (["-e", "-1"], ["epsilon", "above 0"]),
        (["-e", "nan"], ["epsilon", "finite"]),
        (["-e", "inf"], ["epsilon", "finite"]),
        (["--bins", "1"], ["bins", "each column"]),
        (["--variant", "b"], ["variant", "ties"]),
        (["--ties", "third"], ["ties", "'half'"]),
        (["--mechanism", "laplace"], ["mechanism", "'krr'"]),
        (["--protocol", "magic"], ["protocol", "'histogram'"]),
        (["--rounding", "up"], ["rounding", "'random'"]),
        (["--kernel", "mean"], ["kernel", "'average'"]),
        (["--seed", "-1"], ["seed"]),
    ],
)
def test_wrong_studies(folder, capsys, change, words):
    refused(capsys, [*AUC, "-o", "study.json", *change], *words)
    assert not (folder / "study.json").exists()


@pytest.mark.parametrize(
    ("domain", "words"),
    [
        ("interval:1,0", ["low < high"]),
        ("interval:0", ["two numbers"]),
        ("interval:a,b", ["two numbers"]),
        ("interval:nan,1", ["finite"]),
        ("box:1,2", ["interval:"]),
        ("categories:a,b", ["ordered"]),
        ("levels:3,2,1", ["ascending"]),
        ("levels:1", ["from 2"]),
        ("levels:1,1", ["twice"]),
    ],
)
def test_wrong_domains(folder, capsys, domain, words):
    refused(capsys, ["study", "create", "auc", "-e", "1", "-d", domain, "-o", "study.json"], *words)


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


def test_one_bin_is_too_few(folder, capsys):
    wrong = ["study", "create", "auc", "-e", "1", "-d", "interval:0,1", "--bins", "1", "-o", "s.json"]
    refused(capsys, wrong, "bins", "from 2")


def test_too_few_people(folder, capsys):
    assert (
        run(["study", "create", "gini_mean_difference", "-e", "1", "-d", "levels:0,1,2", "-o", "s.json"]) == 0
    )
    (folder / "one.csv").write_text("value\n1\n")
    refused(capsys, ["simulate", "s.json", "one.csv"], "at least 2 people")
    refused(capsys, ["simulate", "s.json", "one.csv", "--no-exact"], "at least 2 people")


def test_wrong_files(study, folder, capsys):
    write_csv(folder / "data.csv", *scores(10))
    (folder / "plain.csv").write_text("a,b\n1,2\n")
    (folder / "ragged.csv").write_text("score,label\n0.1\n0.2,1,1\n")
    (folder / "empty.csv").write_text("")
    (folder / "fake.parquet").write_bytes(b"PAR1 this is not one")
    (folder / "data.txt").write_text("score,label\n")
    text = study.read_text()
    (folder / "cut.json").write_text(text[: len(text) // 2])
    (folder / "edited.json").write_text(text.replace('"epsilon":1', '"epsilon":2'))
    (folder / "array.json").write_text("[]")
    (folder / "huge.json").write_bytes(b" " * (17 * 2**20))
    refused(capsys, ["simulate", "study.json", "plain.csv"], "no column 'score'", "'a', 'b'")
    refused(capsys, ["simulate", "study.json", "ragged.csv"], "ragged.csv")
    refused(capsys, ["simulate", "study.json", "empty.csv"], "empty.csv")
    refused(capsys, ["simulate", "study.json", "fake.parquet"], "fake.parquet")
    refused(capsys, ["simulate", "study.json", "data.txt"], ".csv")
    refused(capsys, ["simulate", "study.json", "missing.csv"], "no such file")
    refused(capsys, ["simulate", "missing.json", "data.csv"], "missing.json")
    refused(capsys, ["simulate", "cut.json", "data.csv"], "JSON")
    refused(capsys, ["simulate", "edited.json", "data.csv"], "changed")
    refused(capsys, ["simulate", "array.json", "data.csv"], "object")
    refused(capsys, ["simulate", "huge.json", "data.csv"], "at most")
    refused(capsys, ["simulate", "study.json", "data.csv", "-c", "value=x"], "NAME=COLUMN")
    refused(capsys, ["simulate", "study.json", "data.csv", "--runs", "0"], "runs")
    refused(capsys, ["simulate", "study.json", "data.csv", "--level", "1"], "level")
    refused(capsys, ["simulate", "study.json", "data.csv", "--estimator", "best"], "estimator", "'paper'")
    refused(capsys, ["simulate", "study.json", "data.csv", "--plot", "no/such/folder.png"], "folder.png")
    refused(capsys, ["simulate", "study.json", "data.csv", "--plot", "runs.xyz"], "runs.xyz")


def test_wrong_reports_and_tallies(study, folder, capsys):
    report = ["report", "study.json", "--index", "1", "--stratum", "positive"]
    refused(capsys, [*report, "--score", "nan"], "score", "nan")
    refused(capsys, [*report, "--score", "2"], "score", "[0, 1]")
    refused(capsys, [*report, "--score", "x"], "numbers")
    refused(capsys, report, "--score")
    refused(capsys, [*report, "--value", "1"], "needs score")
    refused(capsys, [*report, "--score", "0.1", "--max-epsilon", "0.5"], "limit")
    refused(capsys, [*report, "--score", "0.1", "--append", "no/folder.jsonl"], "folder.jsonl")
    refused(capsys, ["report", "study.json", "--index", "1", "--score", "0.5"], "positive or negative")
    refused(
        capsys, ["report", "study.json", "--index", "-1", "--stratum", "positive", "--score", "0"], "index"
    )
    refused(capsys, ["tally", "study.json", "missing.jsonl", "-o", "t.json"], "missing.jsonl")
    (folder / "none.jsonl").write_text("nothing\n")
    refused(capsys, ["tally", "study.json", "none.jsonl", "-o", "t.json"], "1 damaged")
    assert not (folder / "t.json").exists()
    assert run([*AUC[:-1], "2", "-o", "other.json"]) == 0
    assert run([*report, "--score", "0.5", "--append", "r.jsonl"]) == 0
    assert run(["tally", "study.json", "r.jsonl", "-o", "t.json"]) == 0
    refused(capsys, ["estimate", "other.json", "t.json"], "belongs to study")
    refused(capsys, ["tally", "other.json", "t.json", "--merge", "-o", "u.json"], "belongs to study")
    refused(capsys, ["tally", "other.json", "r.jsonl", "-o", "u.json"], "1 of another study")
    refused(capsys, ["estimate", "study.json", "t.json"], "negative", "empty")


@pytest.mark.parametrize(
    "arguments", [["simulate"], ["study", "create"], ["nonsense"], [*AUC, "-e", "x", "-o", "s"]]
)
def test_wrong_usage_is_code_2(folder, capsys, arguments):
    assert run(arguments) == 2
    assert "Traceback" not in said(capsys)[1]


def test_help_and_version(capsys):
    assert run(["--version"]) == 0
    assert dpairs.__version__ in said(capsys)[0]


def verbs(command, path=()):
    yield list(path)
    for name, below in getattr(command, "commands", {}).items():
        yield from verbs(below, (*path, name))


def test_help_fits_a_terminal_and_names_no_type_of_python(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    everything = list(verbs(typer.main.get_command(app)))
    assert len(everything) > 30
    for verb in everything:
        assert run([*verb, "--help"]) == 0
        words = said(capsys)[0]
        assert words.startswith(f"Usage: dpairs {' '.join(verb)}".rstrip())
        assert max(map(len, words.splitlines())) <= 80, words
        assert not re.search(r"<\w+(\[\w+\])?>|[{}]|range", words), words
        assert not re.search(r"^  [a-z]+ .*\.\.\.$", words, re.MULTILINE), "a summary is cut off"


def test_domains_from_text():
    assert parse_domain("interval:-1,2.5") == parse_domain("-1, 2.5") == dpairs.Interval(-1, 2.5)
    assert parse_domain("integers:0,18446744073709551615") == dpairs.Integers(0, 2**64 - 1)
    assert parse_domain("levels:-1, 1,2") == dpairs.Levels([-1, 1, 2])
    assert parse_domain("interval:1,1e6,log") == dpairs.Interval(1, 1e6, scale="log")
    assert parse_domain("interval:-2e5, 1e6, asinh") == dpairs.Interval(-2e5, 1e6, scale="asinh")
    for wrong in ("interval:1,2,3", "interval:a,2,log", "interval:0,1,log", "integers:1,9,log"):
        with pytest.raises(dpairs.BadParameter):
            parse_domain(wrong)
    assert parse_domain("categories:red,green") == dpairs.Categories(["red", "green"])


def test_a_closed_pipe_is_no_error(study):
    command = f"{sys.executable} -c 'from dpairs.cli import main; main()' study show {study} | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_nothing_of_a_value_is_left_in_the_report(study, capsys):
    """A report carries a symbol, never the value or anything of its length."""
    capsys.readouterr()
    assert run(["report", str(study), "--index", "1", "--stratum", "positive", "--score", "0.7312345"]) == 0
    out, err = said(capsys)
    assert "7312345" not in out + err
    assert set(json.loads(out)) == {"study", "stratum", "index", "symbol"}


def test_a_ledger_from_beginning_to_limit(study, folder, capsys):
    assert run(["ledger", "create", "me.json", "--limit", "1.5"]) == 0
    refused(capsys, ["ledger", "create", "me.json", "--limit", "9"], "already")
    answer = [
        "report",
        str(study),
        "--index",
        "3",
        "--stratum",
        "positive",
        "--score",
        "0.5",
        "--ledger",
        "me.json",
    ]
    assert run(answer) == 0
    capsys.readouterr()
    refused(capsys, answer, "taken part")
    assert run(["ledger", "show", "me.json", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["total"] == pytest.approx(1.0)
    assert shown["room"] == pytest.approx(0.5)
    assert run([*AUC[:-1], "2", "-o", "second.json"]) == 0
    capsys.readouterr()
    refused(capsys, ["ledger", "spend", "me.json", "second.json"], "above the limit")
    assert run(["ledger", "limit", "me.json", "3"]) == 0
    assert run(["ledger", "spend", "me.json", "second.json"]) == 0
    capsys.readouterr()
    assert run(["ledger", "show", "me.json"]) == 0
    assert "2 of 3 spent" in capsys.readouterr().out.replace("\n", " ")


def test_a_value_that_is_refused_spends_nothing(study, folder, capsys):
    assert run(["ledger", "create", "me.json", "--limit", "1.5"]) == 0
    capsys.readouterr()
    answer = ["report", str(study), "--index", "3", "--stratum", "positive", "--ledger", "me.json"]
    refused(capsys, [*answer, "--score", "7"], "score")
    assert dpairs.Ledger.load("me.json").spent == {}
    refused(capsys, [*answer[:-1], "none.json", "--score", "0.5"], "none.json")


@pytest.mark.usefixtures("few_bins")
def test_plan_prints_a_table_and_one_sentence(folder, capsys):
    assert (
        run(["plan", "auc", "--positives", "7000", "--negatives", "60000", "-e", "1", "-o", "best.json"]) == 0
    )
    said = capsys.readouterr().out
    assert "has the smallest predicted standard error" in said.replace("\n", " ")
    assert "if 1% lie, it moves" in said
    assert dpairs.Study.load("best.json").protocol.name == "projection"
    asked = [
        "plan",
        "auc",
        "-n",
        "20000",
        "--target-error",
        "0.02",
        "--peers",
        "--shuffled",
        "1e-6",
        "--json",
    ]
    assert run(asked) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["solved_for"] == "epsilon"
    assert set(found["shuffled_epsilon"]) == {option["protocol"] for option in found["options"]}
    for name in ("tree", "pairwise"):
        (local,) = (option["epsilon"] for option in found["options"] if option["protocol"] == name)
        assert found["shuffled_epsilon"][name] == local, "public coins set people apart"
    for option in found["options"]:
        assert (option["liars_change"] is None) == (option["protocol"] == "tree")
        parts = [option[name] for name in ("privacy", "sampling", "second_order", "quantization")]
        assert option["standard_error"] == pytest.approx(np.sqrt(np.sum(np.square(parts))))
        assert option["standard_error"] <= 0.02 * 1.002


@pytest.mark.usefixtures("few_bins")
def test_plan_checks_itself_and_draws(folder, capsys):
    asked = ["plan", "auc", "-n", "4000", "-e", "2", "--guess", "0.8", "--check", "4", "--plot", "curves.png"]
    assert run([*asked, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    predicted = {each["protocol"]: each["standard_error"] for each in found["options"]}
    assert predicted.keys() == found["checked"].keys()
    # Four runs: a root mean square is within a factor 4, but for one of thousands.
    assert all(0.2 < found["checked"][name] / predicted[name] < 4 for name in predicted)
    assert (folder / "curves.png").stat().st_size > 10_000


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (["-n", "1000", "--target-error", "0.00001"], ["without any privacy", "people"]),
        (["-n", "1000", "-e", "1", "--protocol", "projection", "--rounds", "1"], ["--rounds 2"]),
        (["-n", "1000", "-e", "1", "--protocol", "pairwise", "--labels", "private"], ["pairs", "histogram"]),
        (["-n", "1", "-e", "1"], ["n must"]),
        (["-n", "1000", "-e", "-1"], ["epsilon"]),
        (["-n", "1000", "-e", "nan"], ["epsilon"]),
        (["-n", "1000", "-e", "1e9"], ["epsilon", "32"]),
        (["-n", "1000"], ["two of"]),
        (["-e", "1", "--positives", "10"], ["--negatives"]),
        (["-n", "1000", "-e", "1", "--like", "wrong.csv"], ["score", "'a'"]),
        (["-n", "1000", "-e", "1", "--like", "none.csv"], ["no such file"]),
        (["-n", "1000", "-e", "1", "--guess", "2"], ["AUC"]),
        (["-n", "1000", "-e", "1", "--guess", "0.8", "--even"], ["only one"]),
        (["-n", "1000", "-e", "1", "--check", "0"], ["check"]),
        (["-n", "1000", "-e", "1", "--shuffled", "2"], ["delta"]),
    ],
)
def test_wrong_plans(folder, capsys, more, words):
    (folder / "wrong.csv").write_text("a,b\n1,2\n")
    refused(capsys, ["plan", "auc", *more], *words)


def test_searching_is_silent_where_nobody_looks(folder, capsys, monkeypatch):
    monkeypatch.setenv("DPAIRS_CACHE", str(folder))
    asked = ["study", "create", "variance", "-e", "1", "-d", "levels:1,2,3,4", "--mechanism", "optimized"]
    assert run([*asked, "-o", "study.json"]) == 0
    assert capsys.readouterr().err == ""
    assert run([*asked, "--protocol", "projection", "-o", "first.json"]) == 0
    assert (
        dpairs.Study.load("first.json").protocol.symbols == dpairs.Study.load("study.json").protocol.symbols
    )
