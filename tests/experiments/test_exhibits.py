"""What the documentation shows: every table and picture has a name, a maker and a page; rows are whole."""

import os
import re
from functools import cache
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

from dpairs.errors import BadParameter
from experiments import exhibits, runs, sources
from experiments.catalogue import EXPERIMENTS, FIGURES
from experiments.runner import Scale

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = {page: page.read_text(encoding="utf-8") for page in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))}
TABLES = [name for text in PAGES.values() for name in re.findall(r"^\{\{ ([\w-]+) \}\}$", text, re.MULTILINE)]
SHOWN = {name for text in PAGES.values() for name in re.findall(r"figures/([\w-]+)\.png", text)}
ELSEWHERE = {"plan_curves", "pages_person", "pages_planner", "pages_study"}
"""Pictures by `dpairs plan --plot`, and of a browser (experiments/screens.py)."""
exhibits.load()
made = cache(exhibits.text)


def test_every_table_is_on_one_page():
    assert sorted(TABLES) == sorted(exhibits.TEXTS)


@pytest.mark.parametrize("name", sorted(exhibits.TEXTS))
def test_a_table_is_made_from_what_is_kept(name):
    """No number is compared: measuring again changes tables, and breaks no test."""
    text = made(name)
    lines = [line for line in text.splitlines() if line.startswith("|")]
    assert len(lines) > 2
    if name not in ("report", "benchmarks"):
        assert len({line.count("|") for line in lines}) == 1
    assert "nan" not in text


def test_a_table_that_nobody_makes_is_refused():
    with pytest.raises(BadParameter, match="there is no table 'nonsense'"):
        exhibits.text("nonsense")


def test_every_picture_has_a_maker_and_a_page_or_the_report():
    shown = SHOWN | set(re.findall(r"figures/([\w-]+)\.png", made("report")))
    assert shown == set(exhibits.PICTURES) | ELSEWHERE
    assert {path.stem for path in exhibits.FIGURES.iterdir()} == shown


@pytest.mark.parametrize("name", ["flow", "plan_grid", "scale", "theory", "tree_epsilon", "splitting"])
def test_a_picture_is_drawn(name, tmp_path, monkeypatch):
    monkeypatch.setattr(exhibits, "FIGURES", tmp_path)
    before = plt.get_fignums()  # what other tests of this process left open
    (path,) = exhibits.draw([name])
    assert path.read_bytes()[:4] == b"\x89PNG"
    assert plt.get_fignums() == before


def test_no_real_row_is_kept():
    """Only results: not one file has as many rows as people, nor a column of theirs."""
    for path in exhibits.RESULTS.glob("*.csv"):
        assert not {"score", "label", "x", "y", "rooms", "cleanliness"} & set(runs.read(path)[1].rows[0])


@pytest.mark.parametrize("experiment", EXPERIMENTS, ids=lambda each: each.name)
def test_the_kept_rows_are_a_full_run(experiment):
    facts, found = runs.read(exhibits.RESULTS / f"{experiment.name}.csv")
    assert facts == {**Scale().facts(experiment, Path()), "without": "nothing"}
    names = list(experiment.settings(False)[0])
    assert list(found.rows[0])[: len(names) + 1] == [*names, "run"]
    there = {(*(row[name] for name in names), row["run"]) for row in found}
    for setting in experiment.settings(False):
        for run in range(experiment.runs):
            assert (*setting.values(), run) in there, setting


def again(experiment, place, number):
    """The first run of some settings is what was kept, but for last digits of another machine."""
    found = runs.read(exhibits.RESULTS / f"{experiment.name}.csv")[1]
    settings = experiment.settings(False)
    digits = 1e-3 if experiment.name == "internet" else 1e-7  # peaks of memory hold some of the interpreter's
    for setting in settings[:: max(1, len(settings) // number)]:
        rows = experiment.measure(setting, 0, place)
        kept = found.where(**setting, run=0).rows
        if not rows and experiment.wants:  # a setting of its own that needs data
            continue
        assert len(rows) == len(kept) > 0
        for mine, theirs in zip(rows, kept, strict=True):
            for name, value in mine.items():
                close = (
                    value
                    if isinstance(value, str)
                    else pytest.approx(value, rel=digits, abs=1e-9, nan_ok=True)  # no client has an average
                )
                assert theirs[name] == close, (setting, name)


@pytest.mark.parametrize(
    "experiment",
    [  # those of pages in the full validation
        pytest.param(each, marks=[] if each in FIGURES else pytest.mark.long)
        for each in EXPERIMENTS
        if not each.needs
    ],
    ids=lambda each: each.name,
)
def test_runs_that_are_made_again_are_the_kept_ones(experiment):
    again(experiment, Path(), 30 if os.environ.get("DPAIRS_VALIDATE") else 2)


@pytest.mark.data
@pytest.mark.parametrize(
    "experiment", [each for each in EXPERIMENTS if each.needs + each.wants], ids=lambda each: each.name
)
def test_runs_on_real_data_that_are_made_again_are_the_kept_ones(experiment):
    again(experiment, sources.folder(None) or Path(), 30 if os.environ.get("DPAIRS_VALIDATE") else 3)
