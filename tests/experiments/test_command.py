"""`python -m experiments`: wrong words, runs that are ended, and quick runs."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from experiments import exhibits, runs, sources
from experiments.__main__ import main as command
from experiments.catalogue import EXPERIMENTS, FIGURES
from experiments.pages import mechanisms, two_servers

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
    words = ["entropy", "--quick", "--runs", "5", "--processes", "1"]  # 20 runs
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
    assert [pool.jobs for pool in pools] == [20 - (kept - 1), 20]
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
