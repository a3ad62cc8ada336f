"""From reports over tallies to estimates, on files, and files that are none of these."""

import json

import pytest

import dpairs
from dpairs.cli.app import run

from .typed import AUC, PROJECTION, refused, said, scores, write_csv


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


def test_histograms_have_nothing_to_explain(study, folder, capsys):
    score, label = scores()
    tally = dpairs.simulate_tally(dpairs.Study.load(study), {"score": score, "label": label}, seed=1)
    tally.save(folder / "tally.json")
    refused(capsys, ["estimate", "study.json", "tally.json", "--plot", "x.png"], "nothing to explain")


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
