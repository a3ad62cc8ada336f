"""Studies of pairs on the command line, and the lists of who meets whom."""

import json

import numpy as np
import pytest

import dpairs
from dpairs.cli.app import run

from .terminals import PAIRWISE, PEOPLE, TAU, VALUES, protocol_of, refused, said, together

# ---------------------------------------------------------------- lists of pairs


def test_pairs_are_listed_for_everybody_alike(study, folder, capsys):
    assert run(["study", "pairs", "study.json", *PEOPLE]) == 0
    text = said(capsys)[0]
    for word in ("pair", "round", "garbler", "evaluator"):
        assert word in text
    assert run(["study", "pairs", "study.json", "--people", "1000"]) == 0
    assert "and 960 more: --json lists all" in said(capsys)[0]
    assert run(["study", "pairs", "study.json", "--people", "1000", "--json"]) == 0
    listed = json.loads(said(capsys)[0])
    pairs = protocol_of(study).match(study.coins, {"everybody": 1000})
    assert sorted(each["pair"] for each in listed) == sorted(pairs.numbers.tolist())
    found = pairs.pair(study.id, listed[500]["pair"], 1)
    assert (found.garbler, found.evaluator) == (listed[500]["garbler"], listed[500]["evaluator"])


def test_classes_are_counted_apart(folder, capsys):
    made = ["study", "create", "auc", "-e", "1", "-d", "interval:0,1", *PAIRWISE, "-o", "auc.json"]
    assert run(made) == 0
    capsys.readouterr()
    assert run(["study", "pairs", "auc.json", "--people", "3", "--people", "5", "--json"]) == 0
    listed = json.loads(said(capsys)[0])
    assert sorted(each["evaluator"] for each in listed) == [0, 1, 2]
    assert max(each["garbler"] for each in listed) < 5
    auc = dpairs.Study.load("auc.json")
    number = protocol_of(auc).match(auc.coins, {"positive": 4, "negative": 4}).numbers.tolist()[0]
    (folder / "m.jsonl").write_text("\n".join(together(auc, number, score=(0.2, 0.9))) + "\n")
    both = ["--people", "4", "--people", "4"]
    assert run(["decode", "auc.json", "m.jsonl", *both, "-o", "r.jsonl", "--json"]) == 0
    assert json.loads(said(capsys)[0])["decoded"] == 1
    for people in (["--people", "4"], [*both, "--people", "4"]):
        refused(capsys, ["study", "pairs", "auc.json", *people], "once for each of positive, negative")
        refused(capsys, ["decode", "auc.json", "m.jsonl", *people, "-o", "x"], "positive, negative")


def test_numbers_of_people_that_make_no_pairs(study, folder, capsys):
    for command in (["study", "pairs", "study.json"], ["decode", "study.json", "none.jsonl", "-o", "x"]):
        refused(capsys, [*command, "--people", "0"], "--people must be a whole number from 1")
        refused(capsys, [*command, "--people", "1"], "no pair can be made of 1 people")
        refused(capsys, [*command, "--people", "3", "--people", "3"], "once for each of everybody")
    assert run(["study", "pairs", "study.json"]) == 2
    assert "people" in said(capsys)[1]


def test_more_people_than_fit_into_memory(study, capsys):
    refused(capsys, ["study", "pairs", "study.json", "--people", str(2**53 - 1)], "people")


def test_other_protocols_have_no_pairs(folder, capsys):
    assert run([*TAU, "-o", "alone.json"]) == 0
    (folder / "m.jsonl").write_text("")
    for arguments in (
        ["study", "pairs", "alone.json", *PEOPLE],
        ["pair", "alone.json", "--number", "0", *PEOPLE, *VALUES, "-o", "x", "--listen", ":9"],
        ["decode", "alone.json", "m.jsonl", *PEOPLE, "-o", "x"],
    ):
        refused(capsys, arguments, "histogram protocol, in which nobody has a partner")


def test_nobody_reports_alone(study, folder, capsys):
    refused(
        capsys, ["report", "study.json", "--index", "1", *VALUES], "two people compute one report together"
    )
    refused(capsys, ["report", "study.json", "--index", "1", *VALUES, "--append", "r"], "two people")
    assert not (folder / "r").exists()


# ---------------------------------------------------------------- studies of pairs on the command line


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--pairs", "0"], ["pairs", "from 1 to 64"]),
        (["--noise", "gauss"], ["noise", "'laplace'"]),
        (["--bits", "0"], ["bits", "from 1 to 64"]),
        (["--matching", "classes"], ["matching", "'disjoint'"]),
        (["--variant", "b"], ["mean of one kernel"]),
        (["--bins", "4"], ["only a custom kernel has bins"]),
        (["--splitting", "users"], ["splitting"]),
        (["--mechanism", "krr"], ["mechanism"]),
    ],
)
def test_wrong_studies_of_pairs(folder, capsys, change, words):
    refused(capsys, [*TAU, *PAIRWISE, "-o", "study.json", *change], *words)
    assert not (folder / "study.json").exists()


def test_all_keywords_reach_the_study(folder, capsys):
    more = ["--pairs", "3", "--noise", "response", "--bits", "5", "--matching", "disjoint"]
    assert run([*TAU, *PAIRWISE, *more, "-o", "study.json", "--json"]) == 0
    assert json.loads(said(capsys)[0])["privacy"]["kind"] == "computational"
    made = protocol_of(dpairs.Study.load("study.json"))
    assert (made.pairs, made.noise.name, made.bits, made.matching) == (3, "response", 5, "disjoint")


def test_simulating_pairs_from_a_file(study, folder, capsys):
    rng = np.random.default_rng(1)
    rows = "\n".join(f"{x},{y}" for x, y in rng.integers(1, 4, (500, 2)))
    (folder / "data.csv").write_text(f"x,y\n{rows}\n")
    assert run(["simulate", "study.json", "data.csv", "--seed", "3", "--json"]) == 0
    result = json.loads(said(capsys)[0])
    assert result["runs"][0]["n"] == 500
