"""Runs of experiments: on all cores, seeded, and kept as they end, so that an interrupted one goes on."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any

from dpairs import __version__
from dpairs.errors import BadFile, WorkerLost
from dpairs.formats import files

from . import runs
from .experiment import Experiment, Setting
from .runs import Results, Row
from .sources import missing

QUICK_RUNS = 3


@dataclass(frozen=True)
class Scale:
    """How much is run, and from which seed."""

    quick: bool = False
    runs: int | None = None
    """Of each setting; without it, as many as the experiment says, or 3 in a quick run."""
    seed: int = 0

    def of(self, experiment: Experiment) -> int:
        return self.runs or (min(QUICK_RUNS, experiment.runs) if self.quick else experiment.runs)

    def facts(self, experiment: Experiment, data: Path) -> dict[str, str]:
        """What a results file says about how it was made; two runs with the same facts are the same."""
        absent = missing(experiment.wants, data)
        return {
            "experiment": experiment.name,
            "dpairs": __version__.partition(".post")[0],
            "quick": "yes" if self.quick else "no",
            "runs": str(self.of(experiment)),
            "seed": str(self.seed),
            "without": ", ".join(absent) or "nothing",
            "command": self.command(experiment.name),
        }

    def command(self, *names: str) -> str:
        """What one types to get the same."""
        words = ["python -m experiments", *names]
        if self.quick:
            words.append("--quick")
        if self.runs is not None:
            words += ["--runs", str(self.runs)]
        if self.seed:
            words += ["--seed", str(self.seed)]
        return " ".join(words)


@dataclass(frozen=True)
class Job:
    """One run of one setting."""

    setting: Setting
    run: int

    @property
    def key(self) -> str:
        """The same for the same run, in every session."""
        return json.dumps([self.setting, self.run])


def jobs(experiment: Experiment, scale: Scale) -> list[Job]:
    """All runs, in the order of the results file."""
    runs = range(scale.of(experiment))
    return [Job(setting, run) for setting in experiment.settings(scale.quick) for run in runs]


@contextmanager
def workers(count: int) -> Iterator[Executor]:
    """A pool of processes with one thread each; what waits is dropped when the run ends early."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))  # read by the processes when they import numpy
    pool = ProcessPoolExecutor(count, get_context("spawn"), initializer=begin_worker)
    try:
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def begin_worker() -> None:
    """In a process of the pool: an interrupt is for the parent, which keeps what has ended; end with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """A pool's processes would outlive a parent that was killed, and wait for work for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def run(
    experiment: Experiment,
    scale: Scale,
    folder: Path,
    data: Path,
    pool: Executor,
    progress: Callable[[int], None] = lambda steps: None,
) -> Results:
    """The results, read from ``folder`` where they are complete, and otherwise run and written there."""
    whole, facts = folder / f"{experiment.name}.csv", scale.facts(experiment, data)
    wanted = jobs(experiment, scale)
    if whole.exists():
        found, rows = runs.read(whole)
        if found == facts:
            progress(len(wanted))
            return rows
    folder.mkdir(parents=True, exist_ok=True)
    with Journal(folder / f"{experiment.name}.part", facts) as journal:
        done = journal.done
        missing = [job for job in wanted if job.key not in done]
        progress(len(wanted) - len(missing))
        futures: dict[Future[list[Row]], Job] = {
            pool.submit(measured, experiment.name, job.setting, scale.seed + job.run, data): job
            for job in missing
        }
        try:
            for future in as_completed(futures):
                job = futures[future]
                done[job.key] = future.result()
                journal.keep(job.key, done[job.key])
                progress(1)
        except BrokenProcessPool:
            raise WorkerLost(
                f"a process of {experiment.name} was ended from outside, perhaps for want of memory; "
                "what ended before is kept, and the same command goes on"
            ) from None
        finally:
            for future in futures:
                future.cancel()
        rows = Results([{**job.setting, "run": job.run, **row} for job in wanted for row in done[job.key]])
        runs.write(whole, facts, rows.rows)
        journal.remove()
    # What was read back is what every later session sees.
    return runs.read(whole)[1]


def measured(name: str, setting: Setting, seed: int, data: Path) -> list[Row]:
    """One run, in a process of the pool."""
    from .catalogue import named

    return named(name).measure(setting, seed, data)


class Journal:
    """Runs that ended, one line each; a line that was cut off when the program ended is run again."""

    def __init__(self, path: Path, facts: dict[str, str]) -> None:
        """Of a run with these facts; a journal of another run is begun anew."""
        self._path = path
        self.done: dict[str, list[Row]] = {}
        head = json.dumps(facts)
        lines = whole_lines(path)
        kept = lines[1:] if lines[:1] == [head] else []
        self.done.update(map(json.loads, kept))
        # Without the line that was cut off, and at once, so that nothing is lost if this is interrupted too.
        files.write(path, "".join(f"{line}\n" for line in (head, *kept)).encode(), "the journal")
        try:
            self._file = path.open("a", encoding="utf-8")
        except OSError as error:
            raise BadFile(f"the journal {path} cannot be written: {error.strerror or error}") from None

    def keep(self, key: str, rows: Sequence[Row]) -> None:
        self._file.write(json.dumps([key, rows]) + "\n")
        self._file.flush()

    def remove(self) -> None:
        """All runs are in the results now."""
        self._file.close()
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: Any) -> None:
        self._file.close()


def whole_lines(path: Path) -> list[str]:
    """The whole lines of a file, or none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return []
    return text.split("\n")[:-1]
