"""Experiments as a whole: seeded, resumable, and reported; each experiment has tests of its own elsewhere."""

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dpairs.errors import BadFile, WorkerLost
from experiments import catalogue, exhibits, runs, sources
from experiments.__main__ import main as command
from experiments.catalogue import EXPERIMENTS, FIGURES, named
from experiments.experiment import Check, Figure, Findings, Picture, Table
from experiments.pages import mechanisms, two_servers
from experiments.report import AGREE, DISAGREE, UNJUDGED, table
from experiments.reproduce import reproduce
from experiments.runner import Journal, Scale, jobs, run
from experiments.style import curve, panels
from experiments.synthetic import people

SMALL = Scale(quick=True, runs=3, seed=5)


def coin(setting, seed, folder):
    drawn = people(seed).normal(scale=setting["width"])
    return [{"way": way, "value": drawn + shift, "truth": 0.0} for way, shift in (("a", 0.0), ("b", 1 / 3))]


def drawn(found):
    figure, axes = panels()
    for place, way in enumerate(found.values("way")):
        widths = found.values("width")
        curve(axes, widths, [found.where(way=way, width=width).error for width in widths], place, way)
    yield Picture("coin", figure, "Bars are standard deviations.")


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


# ---------------------------------------------------------------- the command

ROOT = Path(__file__).parents[2]
OFFLINE = {**os.environ, "DPAIRS_DATA": "", "OPENBLAS_NUM_THREADS": "1"}


def started(*words, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "experiments", *words],
        env=OFFLINE,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **options,
    )


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nonsense"], "there is no experiment 'nonsense'; there are auc-diabetes"),
        (["--runs", "1"], "runs must be"),
        (["--runs", "0"], "runs must be"),
        (["--seed", "-1"], "seed must be"),
        (["--processes", "0"], "processes must be"),
        (["--data", "no-such-folder"], "--data must name a folder, which no-such-folder is not"),
        (["--out", "taken"], "the folder taken cannot be made"),
        (["--keep", "--quick"], "--keep renews results as they are"),
        (["--figures", "nonsense"], "there is no picture 'nonsense'"),
    ],
)
def test_wrong_words_are_one_sentence(tmp_path, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "taken").write_text("a file")
    assert command(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert " ".join(err.split()).startswith("error: ")
    assert sentence in " ".join(err.split())
    assert sorted(path.name for path in tmp_path.iterdir()) in (["taken"], ["reproduced", "taken"])


def test_the_list_names_all(capsys):
    assert command(["--list"]) == 0
    names = [line.split()[0] for line in capsys.readouterr().out.splitlines()]
    assert names == [each.name for each in EXPERIMENTS]


def test_without_data_the_others_say_in_one_sentence_how_to_get_them(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DPAIRS_DATA", str(tmp_path))
    assert command(["auc-diabetes", "--quick", "--out", str(tmp_path / "out")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "auc-diabetes was left out. To run it, put diabetic_data.csv.gz into the folder that --data" in said
    )
    assert "UCI" in (tmp_path / "out" / "report.md").read_text()


def test_a_damaged_data_file_is_one_sentence(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DPAIRS_DATA", str(tmp_path))
    monkeypatch.setattr("experiments.reproduce.workers", lambda count: ThreadPoolExecutor(count))
    (tmp_path / sources.HOSPITAL).write_bytes(b"\x1f\x8bnot really")
    words = ["auc-diabetes", "--quick", "--processes", "1", "--out", str(tmp_path / "out")]
    assert command(words) == 2
    assert "the hospital data" in capsys.readouterr().err


def waited(path: Path, lines: int, process) -> None:
    """Until the journal has so many lines; a run that ends before or hangs fails the test."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if path.exists() and path.read_text().count("\n") >= lines:
            return
        assert process.poll() is None
        time.sleep(0.02)
    raise AssertionError("nothing was run in two minutes")


class Counting(ThreadPoolExecutor):
    """Counts what it is given."""

    jobs = 0

    def submit(self, work, /, *given, **named):
        self.jobs += 1
        return super().submit(work, *given, **named)


def test_a_run_that_was_ended_goes_on_and_gives_the_same_bytes(tmp_path, monkeypatch):
    """Killed, interrupted, and gone on with, by another process each time; the last has a pool of threads."""
    words = ["entropy", "--quick", "--runs", "2", "--processes", "1"]  # 8 runs
    journal = tmp_path / "cut" / "entropy.part"
    for how, lines in ((signal.SIGKILL, 3), (signal.SIGINT, 5)):
        first = started(*words, "--out", str(tmp_path / "cut"))
        waited(journal, lines, first)
        if how == signal.SIGKILL:
            first.kill()  # the parent alone: its processes must end by themselves, or the pipes stay open
        else:
            os.killpg(first.pid, how)  # as a terminal does
        _, said = first.communicate(timeout=60)
        assert first.returncode == (-how if how == signal.SIGKILL else 130)
        assert "Traceback" not in said
        kept = journal.read_text().count("\n")
        assert kept >= lines
    assert "the same command goes on" in " ".join(said.split())
    pools = []

    def counting(count: int):
        pools.append(Counting(count))
        return pools[-1]

    monkeypatch.setenv("DPAIRS_DATA", "")
    monkeypatch.setattr("experiments.reproduce.workers", counting)
    for out in ("cut", "whole"):
        assert command([*words, "--out", str(tmp_path / out)]) == 0
    assert [pool.jobs for pool in pools] == [8 - (kept - 1), 8]
    for name in ("entropy.csv", "report.md"):
        assert (tmp_path / "cut" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


ALONE = [each for each in FIGURES if not each.needs]
"""Figures that need no data."""
CHEAP = [each for each in ALONE if each.name in ("bounds", "entropy", "splitting")]
"""A second or less each; what the others measure, say and draw has tests of its own."""


@pytest.mark.parametrize(
    "figures", [CHEAP, pytest.param(ALONE, marks=pytest.mark.long)], ids=["cheap", "all"]
)
def test_a_quick_run_of_figures_that_need_no_data(tmp_path, monkeypatch, capsys, figures):
    """In processes of a pool; the cheap ones here, as runs that are ended from outside show the pool."""
    words = [*(each.name for each in figures), "--quick", "--runs", "2", "--out", str(tmp_path)]
    if figures == ALONE:
        done = started(*words)
        said, wrong = done.communicate(timeout=600)
        assert done.returncode == 0
    else:
        monkeypatch.setenv("DPAIRS_DATA", "")
        monkeypatch.setattr("experiments.reproduce.workers", lambda count: ThreadPoolExecutor(count))
        assert command(words) == 0
        said, wrong = capsys.readouterr()
    assert wrong == ""
    report = (tmp_path / "report.md").read_text()
    assert len(figures) >= 3
    for each in figures:
        assert runs.read(tmp_path / f"{each.name}.csv")[0]["quick"] == "yes"
        assert f"## {each.title} ({each.name})" in report
        assert (tmp_path / f"{each.name}.png").is_file()
        assert f"{each.name}: " in said


SMALL_FORMS: dict[str, Any] = {
    "plan-held-out": {"kind": "gini", "shape": "packed tail", "repeats": 1},
    "two-servers": two_servers.EXPERIMENT.settings(True)[0],
}
"""Settings with less work than the last one of a quick run, where that takes seconds."""


@pytest.mark.parametrize("experiment", EXPERIMENTS[len(FIGURES) :], ids=lambda each: each.name)
def test_experiments_of_pages_run_in_a_small_form(experiment, tmp_path, monkeypatch):
    """One setting, in the columns of what is kept."""
    monkeypatch.setattr(mechanisms, "MECHANISMS", ("krr", "projective"))  # to optimize one takes seconds
    setting = SMALL_FORMS.get(experiment.name, experiment.settings(True)[-1])
    rows = experiment.measure(setting, 1, tmp_path)
    kept = runs.read(exhibits.RESULTS / f"{experiment.name}.csv")[1].rows[0]
    assert rows
    for row in rows:
        assert list(kept) == [*setting, "run", *row]


@pytest.mark.data
def test_a_quick_run_of_what_needs_data(tmp_path):
    names = [each.name for each in EXPERIMENTS if each.needs]
    assert command([*names, "--quick", "--out", str(tmp_path)]) == 0
    report = (tmp_path / "report.md").read_text()
    assert "Not run" not in report
    for name in names:
        assert runs.read(tmp_path / f"{name}.csv")[0]["without"] == "nothing"
