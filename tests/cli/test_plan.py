"""`dpairs plan`: a table and one sentence, checked and drawn, and quiet where nobody looks."""

import json

import numpy as np
import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.protocols.sides import of_symbols

from .typed import refused


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
    first, study = (of_symbols(dpairs.Study.load(name)) for name in ("first.json", "study.json"))
    assert first.symbols == study.symbols


def test_a_plan_with_data_is_simulated_once_for_all_kinds_of_trust(folder, capsys, monkeypatch):
    from dpairs.planning.sample import Sample

    rng = np.random.default_rng(1)
    values = rng.integers(0, 4, 200)
    (folder / "people.csv").write_text("value\n" + "\n".join(map(str, values)) + "\n")
    runs: list[tuple[str, str | None, int]] = []
    own = Sample.outcome

    def counted(self, study, sizes, run, estimator):
        runs.append((study.id, estimator, run))
        return own(self, study, sizes, run, estimator)

    monkeypatch.setattr(Sample, "outcome", counted)
    asked = ["plan", "variance", "-n", "100", "-e", "4", "-d", "levels:0,1,2,3", "--rounds", "1"]
    assert run([*asked, "--like", "people.csv"]) == 0
    said = capsys.readouterr()
    assert said.err == ""
    assert "simulated in" in said.out
    assert "by formula" in said.out
    assert "If people trust" in said.out
    assert len(runs) == len(set(runs)) > 100
    assert run([*asked, "--like", "people.csv", "--json", "--check", "3"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert all(each["simulated"]["runs"] >= 50 for each in found["options"])
    assert found["checked"].keys() == {each["protocol"] for each in found["options"]}
