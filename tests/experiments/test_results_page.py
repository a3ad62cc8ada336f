"""The results page is what the committed runs say: nothing on it is written by hand."""

import os
from pathlib import Path

import pytest

from dpairs import __version__
from experiments import EXPERIMENTS, Scale, results, sources
from experiments.report import markdown, parts
from experiments.reproduce import shown

RESULTS = Path(__file__).parents[2] / "docs" / "results"


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_the_committed_runs_are_a_full_run_of_this_version(experiment):
    facts, found = results.read(RESULTS / experiment.name / "runs.csv")
    wanted = Scale().facts(experiment, Path())
    assert facts["without"] == "nothing"
    assert {**wanted, "without": "nothing"} == facts
    # Each setting has all of its runs.
    names = list(experiment.settings(False)[0])
    for setting in experiment.settings(False):
        assert len(found.where(**setting).values("run")) == int(facts["runs"]), setting
    assert list(found.rows[0])[: len(names) + 1] == [*names, "run"]


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_runs_that_are_made_again_are_the_committed_ones(experiment):
    """Of three settings the first run; in the full validation, of thirty."""
    place = sources.folder(None) or Path()
    if sources.missing(experiment.needs + experiment.wants, place):
        pytest.skip("set DPAIRS_DATA to the folder of the real data")
    _, found = results.read(RESULTS / experiment.name / "runs.csv")
    settings = experiment.settings(False)
    number = 30 if os.environ.get("DPAIRS_VALIDATE") else 3
    for setting in settings[:: max(1, len(settings) // number)]:
        again = experiment.measure(setting, 0, place)
        committed = found.where(**setting, run=0).rows
        assert len(again) == len(committed) > 0
        for mine, theirs in zip(again, committed, strict=True):
            for name, value in mine.items():
                # Sums of floats may differ by their last digits on another machine.
                close = value if isinstance(value, str) else pytest.approx(value, rel=1e-7, abs=1e-9)
                assert theirs[name] == close, (setting, name)


def test_the_page_is_made_from_the_committed_runs(monkeypatch):
    monkeypatch.setattr("experiments.reproduce.style.save", lambda figure, folder, name: close(figure))
    found = {each: results.read(RESULTS / each.name / "runs.csv")[1] for each in EXPERIMENTS}
    sections = [shown(each, Scale(), rows, RESULTS) for each, rows in found.items()]
    page = markdown(parts(sections, Scale().command(), __version__))
    assert page == (RESULTS / "report.md").read_text(encoding="utf-8")
    for section in sections:
        for name, _ in section.pictures:
            for ending in ("png", "svg"):
                assert (RESULTS / section.experiment.name / f"{name}.{ending}").is_file()


def close(figure) -> None:
    from matplotlib.pyplot import close

    close(figure)
