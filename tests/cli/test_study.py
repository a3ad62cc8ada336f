"""`dpairs study`: what is typed reaches the study, and what makes none is one sentence."""

import json
from typing import Any

import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.cli.study import parse_domain

from .typed import AUC, PROJECTION, refused, said


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


def test_one_bin_is_too_few(folder, capsys):
    wrong = ["study", "create", "auc", "-e", "1", "-d", "interval:0,1", "--bins", "1", "-o", "s.json"]
    refused(capsys, wrong, "bins", "from 2")


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
