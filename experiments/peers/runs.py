"""Simulated studies by dpairs and by other packages on the same people, into results/comparison.json.

    python -m experiments.peers.runs                # everything, about half an hour on one processor
    python -m experiments.peers.runs dpairs opendp  # only these; the others' results are kept

People and all noise are seeded, except OpenDP's, which
comes from the operating system. The other packages run in their own environment, which is installed first if
it is not there (see benchmarks/environment.py).
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs

from ..exhibits import RESULTS
from ..synthetic import classes, people, scores, unit_scores

STORE = RESULTS / "comparison.json"
PROGRAM = Path(__file__).with_name("program.py")
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
EPSILON = 1.0
SIZE = 100_000
"""People in each class, and people with two ratings."""
RUNS, TRIES = 20, 5
"""Runs of a mechanism, and runs to choose its bins with."""
SLOW = {"pure-ldp:HR": 6, "pure-ldp:OUE": 6, "opendp:RR": 3, "opendp:bits": 3}
"""Runs of those that take 6 to 80 µs for each person. They have the bins that were best for all others."""
USUAL = 16
OTHER = 1000
"""The first seed of the runs that choose bins."""
BINS = (4, 8, 16, 32)
RATINGS = dpairs.Levels(range(6))
MECHANISMS = {
    "pure-ldp": ("DE", "HR", "OUE"),
    "multi-freq-ldpy": ("GRR", "SUE", "OUE", "SS"),
}
CASES = ("normals", "ur", "tau")


@dataclass(frozen=True)
class Result:
    """The errors of one way to estimate one case."""

    case: str
    package: str
    way: str
    cells: int
    """0 where the values are not put into bins."""
    errors: list[float]


# ---------------------------------------------------------------- people


@cache
def drawn(case: str, run: int) -> tuple[str, Any, dict[str, NDArray[Any]], float]:
    """The statistic, its domain, everybody's data and the exact value of these people."""
    if case == "tau":
        rng = people(run)
        x = rng.integers(0, 6, SIZE)
        data = {"x": x, "y": np.clip(x + rng.integers(-3, 4, SIZE), 0, 5)}
        return "kendall_tau", (RATINGS, RATINGS), data, dpairs.exact("kendall_tau", data)
    if case == "ur":
        domain: Any = dpairs.Integers(0, 2**20 - 1)
        score = scores("ur", 20, SIZE, run)
    else:
        domain, score = dpairs.Interval(0, 1), unit_scores(SIZE, run)
    data = {"score": score, "label": classes(SIZE)}
    return "auc", domain, data, dpairs.exact("auc", data)


def cells_of(case: str, run: int, cells: int) -> list[NDArray[np.int64]]:
    """Everybody's cell: of positives and of negatives, or of all."""
    data = drawn(case, run)[2]
    if case == "tau":
        return [6 * data["x"] + data["y"]]
    unit = data["score"] / (2**20 if case == "ur" else 1)
    binned = (unit * cells).astype(np.int64)
    return [binned[:SIZE], binned[SIZE:]]


def value_of(case: str, shares: Sequence[Any]) -> float:
    """The statistic of estimated shares of cells, which are scaled to a sum of 1 where they miss it."""
    if case == "tau":
        joint = np.reshape(shares[0], (6, 6)) / np.sum(shares[0])
        sign = np.sign(np.subtract.outer(np.arange(6), np.arange(6)))
        return float((joint * (sign @ joint @ sign.T)).sum())
    above, below = (np.asarray(each) / np.sum(each) for each in shares)
    return float(above @ (np.cumsum(below) - below / 2))


# ---------------------------------------------------------------- other packages


def peers(task: str, arrays: Sequence[NDArray[Any]], *arguments: str) -> list[dict[str, Any]]:
    """What program.py says about these arrays, in the peers' environment."""
    sys.path.append(str(BENCHMARKS))
    from environment import peers_python

    python = peers_python()
    if python is None:
        raise SystemExit("Nothing was compared: the other packages are not installed.")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "people.npz"
        named: dict[str, Any] = {f"{place:04d}": array for place, array in enumerate(arrays)}
        np.savez(source, **named)
        command = [str(python), "-W", "ignore", str(PROGRAM), task, str(source), *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def measured(case: str, which: str, cells: int, runs: range) -> dict[str, list[float]]:
    """The errors of one mechanism by the name of the estimator."""
    arrays = [array for run in runs for array in cells_of(case, run, cells)]
    classes_ = len(arrays) // len(runs)
    errors = {}
    for line in peers("histograms", arrays, which, str(cells), str(EPSILON)):
        grouped = [line["shares"][at : at + classes_] for at in range(0, len(arrays), classes_)]
        errors[line["estimator"]] = [
            value_of(case, shares) - drawn(case, run)[3] for run, shares in zip(runs, grouped, strict=True)
        ]
    return errors


@cache
def chosen(kind: str, which: str) -> tuple[int, str]:
    """The bins and the estimator that did best in a few runs of their own; an analyst cannot know as much."""
    options = (36,) if kind == "tau" else BINS
    tried = {
        (cells, estimator): float(np.abs(errors).mean())
        for cells in options
        for estimator, errors in measured(kind, which, cells, range(OTHER, OTHER + TRIES)).items()
    }
    return min(tried, key=lambda key: tried[key])


def of_package(package: str) -> Iterator[Result]:
    """Every mechanism on every case; `ur` has the bins of `normals`, since its AUC is 1/2 in any."""
    for name in MECHANISMS[package]:
        for case in CASES:
            which, kind = f"{package}:{name}", "tau" if case == "tau" else "normals"
            if which in SLOW:  # of its two estimators the one that did better in these very runs
                cells = 36 if case == "tau" else USUAL
                errors = measured(case, which, cells, range(SLOW[which]))
                estimator = min(errors, key=lambda key: float(np.abs(errors[key]).mean()))
            else:
                cells, estimator = chosen(kind, which)
                errors = measured(case, which, cells, range(RUNS))
            yield Result(case, package, f"{name}, {estimator}", cells, errors[estimator])


def of_opendp() -> Iterator[Result]:
    """A curator's release, and randomized response: of the cell, and for tau's many cells also of bits."""
    for case in CASES:
        everybody = [
            6.0 * data["x"] + data["y"] if case == "tau" else data["score"].astype(float)
            for data in (drawn(case, run)[2] for run in range(RUNS))
        ]
        lines = peers("central", everybody, "tau" if case == "tau" else "auc", str(EPSILON))
        errors = [line["released"] - drawn(case, run)[3] for run, line in enumerate(lines)]
        yield Result(case, "opendp", "central, Laplace", 0, errors)
    for case, name in (("tau", "RR"), ("normals", "RR"), ("tau", "bits")):
        cells, which = 36 if case == "tau" else USUAL, f"opendp:{name}"
        errors = measured(case, which, cells, range(SLOW[which]))["debiased"]
        yield Result(case, "opendp", f"{name}, debiased", cells, errors)


# ---------------------------------------------------------------- dpairs


def ours() -> Iterator[Result]:
    """The plan for two rounds and for one, knowing nothing of the people; and a plain histogram."""
    for case in CASES:
        statistic, domain, _, _ = drawn(case, 0)
        sizes: Any = SIZE if case == "tau" else {"positive": SIZE, "negative": SIZE}
        for rounds in (2, 1):
            plan = dpairs.plan(statistic, domain=domain, epsilon=EPSILON, n=sizes, rounds=rounds)
            study = plan.options[0].study
            way = f"planned, {rounds} round{'s' * (rounds > 1)}: {plan.options[0].protocol}"
            yield Result(case, "dpairs", way, 0, errors_of(study, case, range(RUNS)))
        if case != "tau":  # there the plan for one round is the histogram already
            tried = {
                bins: float(np.abs(errors_of(binned(bins), "normals", range(OTHER, OTHER + TRIES))).mean())
                for bins in BINS
            }
            bins = min(tried, key=lambda key: tried[key])
            errors = errors_of(binned(bins, domain), case, range(RUNS))
            yield Result(case, "dpairs", "histogram, projective", bins, errors)


def binned(bins: int, domain: Any = None) -> dpairs.Study:
    """An AUC by a histogram with so many bins."""
    domain = domain or dpairs.Interval(0, 1)
    return dpairs.Study.create("auc", epsilon=EPSILON, domain=domain, bins=bins, seed=0)


def errors_of(study: dpairs.Study, case: str, runs: range) -> list[float]:
    """One study's errors; each run has its own public coins."""
    found = []
    for run in runs:
        _, _, data, truth = drawn(case, run)
        found.append(dpairs.simulate(replace(study, seed=run), data, seed=run).value - truth)
    return found


# ---------------------------------------------------------------- store


def read() -> list[Result]:
    """What was measured so far."""
    if not STORE.exists():
        return []
    return [Result(**each) for each in json.loads(STORE.read_text(encoding="utf-8"))]


def main(given: Sequence[str] | None = None) -> None:
    """Measure the named packages anew and keep the others' results."""
    packages = ("dpairs", *MECHANISMS, "opendp")
    parser = argparse.ArgumentParser(
        "python -m experiments.peers.runs", description="Studies by dpairs and by other packages."
    )
    parser.add_argument("packages", nargs="*", metavar="package", help=f"which: {', '.join(packages)} (all)")
    names = parser.parse_args(given).packages
    if unknown := sorted(set(names) - set(packages)):
        parser.error(f"there is no package {', '.join(unknown)}; there are {', '.join(packages)}")
    for package in names or packages:
        found = {"dpairs": ours, "opendp": of_opendp}.get(package, lambda name=package: of_package(name))()
        results = [each for each in read() if each.package != package]
        for each in found:  # written down at once: some take minutes
            results.append(each)
            lines = ",\n".join(json.dumps(asdict(result)) for result in results)
            STORE.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        print(f"{package} is done", file=sys.stderr)


if __name__ == "__main__":
    main()
