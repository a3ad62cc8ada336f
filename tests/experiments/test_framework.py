"""Experiments as a whole: seeded, resumable, and reported; each experiment has tests of its own elsewhere."""

import json
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from dpairs.errors import BadFile, WorkerLost
from experiments import catalogue, runs, sources
from experiments.catalogue import EXPERIMENTS, named
from experiments.experiment import Check, Figure, Findings, Picture, Table
from experiments.report import AGREE, DISAGREE, UNJUDGED, table
from experiments.reproduce import reproduce
from experiments.runner import Journal, Scale, jobs, run
from experiments.style import curve, panels
from experiments.synthetic import people

SMALL = Scale(quick=True, runs=3, seed=5)


def coin(setting, seed, folder):
    drawn = people(seed).normal(scale=setting["width"])
    return [{"way": way, "value": drawn + shift, "truth": 0.0} for way, shift in (("a", 0.0), ("b", 1 / 3))]


def drawing(found):
    figure, axes = panels()
    for place, way in enumerate(found.values("way")):
        widths = found.values("width")
        curve(axes, widths, [found.where(way=way, width=width).error for width in widths], place, way)
    return figure


def drawn(found):
    yield Picture("coin", partial(drawing, found), "Bars are standard deviations.")


def read(found):
    mean = found.where(way="a").error.mean
    return Findings(
        [Check("Errors are small.", f"{mean:.3f}", mean < 1e-9, why="They are <not> small & never were.")],
        [Table("Errors", ["way", "mean | of runs"], [["a", str(found.where(way="a").error)]])],
        ["A remark."],
    )


def experiment(measure=coin, **more) -> Figure:
    return Figure(
        name="coin",
        title="A coin",
        paper="Nowhere.",
        says="Nothing.",
        does="Draws normal numbers.",
        settings=lambda quick: [{"width": 1.0, "kind": "x"}, {"width": 2.5, "kind": "y"}],
        measure=measure,
        pictures=drawn,
        findings=read,
        **more,
    )


@pytest.fixture
def listed(monkeypatch):
    """Puts an experiment into the catalogue."""

    def put(made: Figure) -> Figure:
        monkeypatch.setattr(catalogue, "EXPERIMENTS", (made,))
        return made

    return put


def done(made, folder, scale=SMALL, threads=2):
    with ThreadPoolExecutor(threads) as pool:
        return run(made, scale, folder, Path(), pool)


# ---------------------------------------------------------------- runs


def test_the_same_seed_gives_the_same_bytes_however_many_work(listed, tmp_path):
    made = listed(experiment())
    for threads in (1, 4):
        done(made, tmp_path / str(threads), threads=threads)
    one, four = ((tmp_path / name / "coin.csv").read_bytes() for name in ("1", "4"))
    assert one == four
    done(made, tmp_path / "other", Scale(True, 3, seed=6))
    assert (tmp_path / "other" / "coin.csv").read_bytes() != one


def test_results_say_how_they_were_made_and_come_back_exactly(listed, tmp_path):
    made = listed(experiment())
    found = done(made, tmp_path)
    facts, again = runs.read(tmp_path / "coin.csv")
    assert facts["command"] == "python -m experiments coin --quick --runs 3 --seed 5"
    assert (facts["runs"], facts["experiment"], facts["without"]) == ("3", "coin", "nothing")
    assert again == found
    expected = [
        {**job.setting, "run": job.run, **row}
        for job in jobs(made, SMALL)
        for row in coin(job.setting, 5 + job.run, Path())
    ]
    assert list(found) == expected


class Interrupted:
    """Counts runs, and is interrupted once after some."""

    def __init__(self, after):
        self.after, self.runs = after, 0

    def __call__(self, setting, seed, folder):
        if self.runs == self.after:
            self.after = -1
            raise KeyboardInterrupt
        self.runs += 1
        return coin(setting, seed, folder)


class Here(ThreadPoolExecutor):
    """Runs at once, in the order of submission, and keeps interrupts for whoever asks for the result."""

    def submit(self, work, /, *given, **named):
        future: Future = Future()
        try:
            future.set_result(work(*given, **named))
        except BaseException as error:
            future.set_exception(error)
        return future


@pytest.mark.parametrize("after", [0, 1, 5])
def test_an_interrupted_run_goes_on_where_it_was(listed, tmp_path, after):
    done(listed(experiment()), tmp_path / "whole", threads=1)
    measure = Interrupted(after)
    made = listed(experiment(measure))
    with Here() as pool:
        with pytest.raises(KeyboardInterrupt):
            run(made, SMALL, tmp_path / "cut", Path(), pool)
        assert not (tmp_path / "cut" / "coin.csv").exists()
        kept = len((tmp_path / "cut" / "coin.part").read_text().splitlines()) - 1
        measure.runs = 0
        run(made, SMALL, tmp_path / "cut", Path(), pool)
    assert measure.runs == 6 - kept
    assert (tmp_path / "cut" / "coin.csv").read_bytes() == (tmp_path / "whole" / "coin.csv").read_bytes()
    assert not (tmp_path / "cut" / "coin.part").exists()
    measure.runs = 0
    done(made, tmp_path / "cut")
    assert measure.runs == 0  # all was there


def test_a_line_that_was_cut_off_is_run_again(listed, tmp_path):
    measure = Interrupted(-1)
    made = listed(experiment(measure))
    first, second, *_ = jobs(made, SMALL)
    part = tmp_path / "coin.part"
    with Journal(part, SMALL.facts(made, Path())) as journal:
        for job in (first, second):
            journal.keep(job.key, coin(job.setting, 5 + job.run, Path()))
    part.write_text(part.read_text()[:-20])
    done(made, tmp_path)
    assert measure.runs == 6 - 1
    done(listed(experiment()), tmp_path / "whole")
    assert (tmp_path / "coin.csv").read_bytes() == (tmp_path / "whole" / "coin.csv").read_bytes()


def test_a_journal_and_results_of_another_run_are_not_used(listed, tmp_path):
    measure = Interrupted(4)
    made = listed(experiment(measure))
    with Here() as pool, pytest.raises(KeyboardInterrupt):
        run(made, SMALL, tmp_path, Path(), pool)
    measure.runs = 0
    done(made, tmp_path, Scale(True, 3, seed=9))
    assert measure.runs == 6
    measure.runs = 0
    done(made, tmp_path, Scale(True, 2, seed=9))
    assert measure.runs == 4


def test_a_process_that_was_ended_is_one_sentence(listed, tmp_path):
    class Gone(ThreadPoolExecutor):
        def submit(self, work, /, *given, **named):
            from concurrent.futures.process import BrokenProcessPool

            future: Future = Future()
            future.set_exception(BrokenProcessPool("ended"))
            return future

    with Gone() as pool, pytest.raises(WorkerLost, match="the same command goes on"):
        run(listed(experiment()), SMALL, tmp_path, Path(), pool)


@pytest.mark.parametrize("text", ["", "# a: b\n", "# a: b\nx,y\n1\n", "\x00\x01"])
def test_results_that_are_no_table_are_one_sentence(tmp_path, text):
    path = tmp_path / "coin.csv"
    path.write_text(text)
    with pytest.raises(BadFile, match="are not a table"):
        runs.read(path)


def test_means_of_no_runs_are_refused():
    with pytest.raises(ValueError, match="no runs"):
        runs.Results([]).where(way="a").error  # noqa: B018


# ---------------------------------------------------------------- report


def test_the_report_says_what_holds_and_stands_alone(listed, tmp_path, monkeypatch):
    made = listed(experiment(needs=()))
    monkeypatch.setenv(sources.VARIABLE, "")
    monkeypatch.setattr("experiments.reproduce.workers", lambda count: ThreadPoolExecutor(count))
    scale = Scale(False, 3)
    found = reproduce([made, absent()], tmp_path, scale)
    assert [check.holds for section in found for check in section.findings.checks] == [False]
    assert [section.experiment.name for section in found if section.skipped] == ["absent"]
    text = (tmp_path / "report.md").read_text()
    assert DISAGREE in text
    assert AGREE not in text.replace(DISAGREE, "")
    assert "Of 1 statements 1 do not agree." in text
    assert "They are <not> small & never were." in text
    assert "python -m experiments coin --runs 3" in text
    assert "mean &#124; of runs" in text
    assert "![Bars are standard deviations.](coin.png)" in text
    assert (tmp_path / "coin.png").stat().st_size > 1000
    before = text
    reproduce([made, absent()], tmp_path, scale)
    assert (tmp_path / "report.md").read_text() == before


def absent() -> Figure:
    from dataclasses import replace

    return replace(experiment(needs=(sources.RATINGS,)), name="absent")


@pytest.mark.parametrize(
    ("quick", "safe", "judged"), [(True, False, False), (True, True, True), (False, False, True)]
)
def test_a_quick_run_judges_only_what_is_safe_to_judge(listed, tmp_path, monkeypatch, quick, safe, judged):
    made = listed(experiment(quick_checks=safe))
    monkeypatch.setattr("experiments.reproduce.workers", lambda count: ThreadPoolExecutor(count))
    found = reproduce([made], tmp_path, Scale(quick, 3))
    assert found[0].judged is judged
    assert (UNJUDGED in (tmp_path / "report.md").read_text()) is not judged


def test_numbers_are_to_the_right_and_words_to_the_left():
    made = table(Table("", ["", "a", "b"], [["x", "0.5 ± 0.1", "1 of"], ["y", "-", "words"]]))
    assert made.splitlines()[1] == "| --- | ---: | --- |"


# ---------------------------------------------------------------- all of them


def test_names_and_settings_are_in_order():
    names = [each.name for each in EXPERIMENTS]
    assert len(set(names)) == len(names)
    for each in EXPERIMENTS:
        assert named(each.name) is each
        for quick in (True, False):
            settings = each.settings(quick)
            assert settings
            assert len({json.dumps(setting) for setting in settings}) == len(settings)
            assert len({tuple(setting) for setting in settings}) == 1
            assert each.settings(quick) == settings
        assert set(each.needs + each.wants) <= set(sources.HOW)
        assert len(each.settings(True)) <= len(each.settings(False))
