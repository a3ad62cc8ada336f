"""Make every figure and every measured table of the page on the tree protocol.

    python docs/figures/make_tree.py                    # all of them, some minutes on two processors
    python docs/figures/make_tree.py accuracy explain   # only the named ones

Everything is seeded: a second run gives the same numbers, but for seconds and memory. ``diabetes`` needs
the file ``diabetic_data.csv.gz`` in the folder that the variable DPAIRS_DATA names.
"""

from __future__ import annotations

import math
import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from make_figures import at_hand, data_folder, root_mean_square, save, table
from matplotlib.patches import Patch
from scipy.stats import norm

import dpairs
from dpairs.protocols import theory
from experiments import sources
from experiments.results import Spread
from experiments.splitting import DELTA, WAYS, bound, exponent
from experiments.style import BLACK, BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from experiments.synthetic import HIGH, LOW, WIDE, classes, normals_population, scores, unit_scores

MILLION = 10**6
ESTIMATORS = ("paper", "paper-zero", "pruned")
SHOWN = (("paper", VERMILION, "s--"), ("pruned", BLUE, "o-"))
WORKERS = 2


# ---------------------------------------------------------------- runs


@dataclass(frozen=True)
class Job:
    """One simulated study."""

    data: str
    alpha: int
    run: int
    size: int = MILLION
    epsilon: float = 1.0
    splitting: str = "users"
    answer: str = "one-bit"
    rows: str = "others"
    delta: float | None = None
    estimators: tuple[str, ...] = ESTIMATORS


@dataclass(frozen=True)
class Outcome:
    """What one estimator said in one run, and the truth it aimed at."""

    value: float
    truth: float
    standard_error: float
    sample_standard_error: float
    recursed: tuple[int, ...]

    @property
    def error(self) -> float:
        """Against the people who took part."""
        return self.value - self.truth


def study_of(job: Job) -> dpairs.Study:
    """The study of one job."""
    options = {} if job.delta is None else {"delta": job.delta}
    return dpairs.Study.create(
        "auc",
        protocol="tree",
        epsilon=job.epsilon,
        domain=dpairs.Integers(0, 2**job.alpha - 1),
        splitting=job.splitting,
        answer=job.answer,
        rows=job.rows,
        seed=job.run,
        **options,
    )


def simulated(job: Job) -> dict[str, Outcome]:
    """Run one job; a new seed gives new data, new public coins and new noise."""
    drawn = scores(job.data, job.alpha, job.size, job.run)
    data = {"score": drawn, "label": classes(job.size)}
    study = study_of(job)
    # Before rounding to leaves all positives of ithdigit win.
    truth = 1.0 if job.data in ("auc_one", "ithdigit") else dpairs.exact("auc", data)
    return outcomes(dpairs.simulate_tally(study, data, seed=job.run), job.estimators, truth)


def outcomes(tally: dpairs.Tally, estimators: Iterable[str], truth: float) -> dict[str, Outcome]:
    """What each estimator makes of one tally."""
    found = {}
    for name in estimators:
        estimate = tally.estimate(name)
        found[name] = Outcome(
            estimate.value,
            truth,
            estimate.standard_error,
            estimate.sample_standard_error,
            estimate.explain().recursed_nodes,
        )
    return found


_DONE: dict[Any, Any] = {}
"""Jobs that were run: tables share them."""


def run_all(title: str, jobs: Sequence[Any], work: Callable[[Any], Any] = simulated) -> list[Any]:
    """The results of all jobs, in order, from a small pool of processes."""
    missing = [job for job in dict.fromkeys(jobs) if job not in _DONE]
    if missing:
        start = time.monotonic()
        with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
            for number, (job, result) in enumerate(
                zip(missing, pool.map(work, missing, chunksize=2), strict=True), start=1
            ):
                _DONE[job] = result
                progress(title, number, len(missing), start)
    return [_DONE[job] for job in jobs]


def progress(title: str, number: int, total: int, start: float) -> None:
    """One line on standard error: rewritten on a terminal, only the last one elsewhere."""
    terminal = sys.stderr.isatty()
    if terminal or number == total:
        line = f"{title}: {number} of {total} runs, {time.monotonic() - start:.0f} s"
        end = "\n" if number == total else ""
        print(f"\r{line}" if terminal else line, end=end, file=sys.stderr, flush=True)


def mean_error(found: Sequence[dict[str, Outcome]], name: str) -> tuple[float, float]:
    """The mean absolute error against the sample, and its standard error."""
    errors = Spread.of(np.abs([each[name].error for each in found]))
    return errors.mean, errors.doubt


# ---------------------------------------------------------------- accuracy

SETTINGS = (
    ("auc_one", 12, 0.031),
    ("auc_one", 20, 0.048),
    ("ithdigit", 14, 0.023),
    ("ithdigit", 20, 0.030),
    ("ur", 12, 0.006),
    ("ur", 20, 0.008),
)
"""Data, alpha, and the mean absolute error of another program for the paper's estimator."""
RUNS = 20


def accuracy() -> None:
    """Mean absolute errors of the three estimators on the paper's data, beside what they report."""
    jobs = {
        (data, alpha, rows): [Job(data, alpha, run, rows=rows) for run in range(RUNS)]
        for data, alpha, _ in SETTINGS
        for rows in ("others", "all")
    }
    run_all("accuracy", [job for group in jobs.values() for job in group])
    rows, reported = [], []
    constant = theory.oracle_gain(1.0) ** 2
    for data, alpha, reference in SETTINGS:
        found = run_all("accuracy", jobs[data, alpha, "others"])
        errors = [mean_error(run_all("accuracy", jobs[data, alpha, "all"]), "paper")]
        errors += [mean_error(found, name) for name in ESTIMATORS]
        cells = [f"{mean:.4f} ± {error:.4f}" for mean, error in errors]
        rows.append([f"{data}, $\\alpha$ = {alpha}", f"{reference:.3f}", *cells])
        row = [f"{data}, $\\alpha$ = {alpha}"]
        for name in ESTIMATORS:
            square = root_mean_square([each[name].error for each in found])
            said = float(np.mean([each[name].sample_standard_error for each in found]))
            row += [f"{square:.4f}", f"{said:.4f}"]
        factor = theory.tree_factor(MILLION, MILLION, alpha, constant)
        row.append(f"{math.sqrt(theory.tree_mse_bound(MILLION, MILLION, alpha, constant, factor)):.4f}")
        reported.append(row)
    head = ["data", "the paper's, by another program", "`paper`, all rows"]
    table("tree_accuracy", [*head, *(f"`{name}`" for name in ESTIMATORS)], rows)
    head = ["data"]
    for name in ESTIMATORS:
        head += [f"`{name}`: RMSE", "reported"]
    table("tree_reported", [*head, "root of the theorem's bound"], reported)


# ---------------------------------------------------------------- depth

DEPTHS = (4, 6, 8, 10, 12, 13, 14, 16, 18, 20)
DEPTH_RUNS = 10


def depth() -> None:
    """The error against the depth of the tree."""
    sets = ("auc_one", "ithdigit", "ur")
    jobs = {
        (data, alpha): [Job(data, alpha, run) for run in range(DEPTH_RUNS)]
        for data in sets
        for alpha in DEPTHS
    }
    run_all("depth", [job for group in jobs.values() for job in group])
    figure, panels = plt.subplots(1, 3, figsize=(9.6, 3.4), sharey=True)
    rows: list[list[str]] = []
    for panel, data in zip(panels, sets, strict=True):
        for name, colour, style in SHOWN:
            found = [mean_error(run_all("depth", jobs[data, alpha]), name) for alpha in DEPTHS]
            mean, error = (np.array(column) for column in zip(*found, strict=True))
            panel.errorbar(DEPTHS, mean, error, fmt=style, color=colour, ms=4, lw=1.4, capsize=2, label=name)
            rows.append([f"{data}, `{name}`", *(f"{value:.4f}" for value in mean)])
        panel.set(yscale="log", title=data, xlabel="depth $\\alpha$ (leaves: $2^\\alpha$)")
        panel.set_xticks(range(4, 21, 4))
    panels[1].axvspan(3.4, 13.5, color=SKY, alpha=0.25, lw=0)
    panels[1].text(8.5, 0.28, "everybody in one leaf", ha="center", fontsize=8.5)
    panels[0].set_ylabel("mean absolute error")
    panels[0].legend(loc="upper left")
    figure.suptitle("10$^6$ people in each class, epsilon = 1, 10 runs; bars: standard error", fontsize=10)
    figure.tight_layout()
    save(figure, "tree_depth")
    table("tree_depth", ["data, estimator", *(f"$\\alpha$ = {alpha}" for alpha in DEPTHS)], rows)


# ---------------------------------------------------------------- deep

DEEP = (("auc_one", 32), ("auc_one", 64), ("normals", 32), ("normals", 64), ("float bits", 64))


def deep() -> None:
    """Trees of 32 and 64 levels: errors, seconds and memory."""
    jobs = {
        key: [Job(*key, run, estimators=("paper", "pruned")) for run in range(RUNS)]  # type: ignore[arg-type]
        for key in DEEP
    }
    run_all("deep", [job for group in jobs.values() for job in group])
    rows = []
    start = time.monotonic()
    for number, (data, alpha) in enumerate(DEEP, start=1):
        found = run_all("deep", jobs[data, alpha])
        cells = [f"{mean:.4f} ± {error:.4f}" for mean, error in (mean_error(found, n) for n, *_ in SHOWN)]
        said = float(np.mean([each["pruned"].sample_standard_error for each in found]))
        collect, paper, first = child("paper", data, str(alpha))
        _, pruned, second = child("pruned", data, str(alpha))
        (bare,) = child("nothing", data, str(alpha))
        rows.append(
            [
                f"{data}, $\\alpha$ = {alpha}",
                *cells,
                f"{said:.4f}",
                f"{collect:.2f}",
                f"{paper:.2f}",
                f"{pruned:.2f}",
                f"{max(first, second):.0f}",
                f"{bare:.0f}",
            ]
        )
        progress("deep, alone", number, len(DEEP), start)
    head = ["data", "`paper`", "`pruned`", "reported by `pruned`", "s: randomize and count"]
    table("tree_deep", [*head, "s: `paper`", "s: `pruned`", "peak MB", "MB without the study"], rows)


def child(*words: str) -> list[float]:
    """Numbers that a fresh process with one thread prints."""
    done = subprocess.run(  # noqa: S603 - this very file
        [sys.executable, __file__, "--child", *words], stdout=subprocess.PIPE, text=True, check=True
    )
    return [float(word) for word in done.stdout.split()]


def alone(estimator: str, data: str, alpha: str) -> None:
    """The child's side: one study of 10^6 people in each class, or nothing but its data."""
    drawn, label = scores(data, int(alpha), MILLION, 0), classes(MILLION)
    if estimator != "nothing":
        study = dpairs.Study.create(
            "auc", protocol="tree", epsilon=1.0, domain=dpairs.Integers(0, 2 ** int(alpha) - 1), seed=0
        )
        start = time.process_time()
        tally = dpairs.simulate_tally(study, {"score": drawn, "label": label}, seed=0)
        counted = time.process_time()
        tally.estimate(estimator)
        print(counted - start, time.process_time() - counted)
    # Not ru_maxrss: on Linux a child's starts at its parent's peak.
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    print(next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) * 1024 / 1e6)


# ---------------------------------------------------------------- recursed


def recursed() -> None:
    """How many nodes of each level are split, beside the paper's bound on the mean."""
    sets, alpha = ("auc_one", "ithdigit", "ur", "normals"), 20
    jobs = {data: [Job(data, alpha, run) for run in range(RUNS)] for data in sets}
    run_all("recursed", [job for group in jobs.values() for job in group])
    constant = theory.oracle_gain(1.0) ** 2
    factor = theory.tree_factor(MILLION, MILLION, alpha, constant)
    bound = theory.recursed_bound(MILLION, MILLION, alpha, constant, factor)
    means = {}
    for data in sets:
        for name, *_ in SHOWN:
            total = np.zeros(alpha)
            for each in run_all("recursed", jobs[data]):
                counts = each[name].recursed[:alpha]
                total[: len(counts)] += counts
            means[data, name] = total / RUNS
    rows = [
        [str(level), *(f"{means[key][level]:.2f}" for key in means)]
        for level in range(alpha)
        if level <= 10 or level in (13, 16, 19)
    ]
    rows.append(["largest", *(f"{mean.max():.2f}" for mean in means.values())])
    rows.append(["bound", *(f"{bound:.0f}" if name == "paper" else "" for _, name in means)])
    table("tree_recursed", ["level", *(f"{data}, `{name}`" for data, name in means)], rows)
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.7), sharey=True)
    colours = (BLUE, VERMILION, GREEN, PURPLE)
    for panel, (name, *_) in zip(panels, SHOWN, strict=True):
        for data, colour, mark in zip(sets, colours, "os^D", strict=True):
            mean = means[data, name]
            shown = mean > 0
            panel.plot(np.flatnonzero(shown), mean[shown], f"{mark}-", color=colour, ms=4, lw=1.3, label=data)
        panel.axhline(bound, color=BLACK, ls="--", lw=1.3, label="the lemma's bound")
        panel.set(yscale="log", xlabel="level", title=name, ylim=(0.03, 1000))
        panel.set_xticks(range(0, 20, 4))
    panels[0].set_ylabel("recursed nodes, mean of 20 runs")
    panels[1].legend(fontsize=8.5, loc="upper right", bbox_to_anchor=(1, 0.88))
    figure.tight_layout()
    save(figure, "tree_recursed")


# ---------------------------------------------------------------- splitting

SPLIT_DEPTHS = (8, 12, 16)
SPLIT_RUNS = 100
SPLIT_SIZE = 100_000


def splitting() -> None:
    """The mean squared error of every splitting, and how it grows with the depth."""
    jobs = {
        (way, alpha): [
            Job(
                "normals",
                alpha,
                run,
                size=SPLIT_SIZE,
                splitting=way,
                delta=DELTA if "advanced" in way else None,
                estimators=("paper", "pruned"),
            )
            for run in range(SPLIT_RUNS)
        ]
        for way in WAYS
        for alpha in SPLIT_DEPTHS
    }
    run_all("splitting", [job for group in jobs.values() for job in group])
    rows = []
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.7), sharey=True)
    colours = (BLUE, SKY, VERMILION, GREEN, ORANGE)
    for panel, (name, *_) in zip(panels, SHOWN, strict=True):
        for way, colour, mark in zip(WAYS, colours, "osD^v", strict=True):
            for target in ("sample", "population") if way.startswith("users") else ("sample",):
                squares = []
                for alpha in SPLIT_DEPTHS:
                    population, _ = normals_population(alpha, SPLIT_SIZE)
                    found = [each[name] for each in run_all("splitting", jobs[way, alpha])]
                    aims = [each.truth if target == "sample" else population for each in found]
                    errors = [each.value - aim for each, aim in zip(found, aims, strict=True)]
                    squares.append(Spread.of(np.array(errors) ** 2))
                slope, doubt = exponent(SPLIT_DEPTHS, squares)
                order = bound(way, target)
                cells = [f"{1e6 * each.mean:,.0f} ± {1e6 * each.doubt:,.0f}" for each in squares]
                words = "-" if order is None else f"$\\alpha^{order}$"
                rows.append([f"`{way}`, `{name}`, {target}", *cells, f"{slope:.1f} ± {doubt:.1f}", words])
                if target == "sample":
                    mean, error = [each.mean for each in squares], [each.doubt for each in squares]
                    panel.errorbar(
                        SPLIT_DEPTHS, mean, error, fmt=f"{mark}-", color=colour, ms=4, lw=1.3, label=way
                    )
        panel.set(xscale="log", yscale="log", xlabel="depth $\\alpha$", title=name)
        panel.set_xticks(SPLIT_DEPTHS, [str(alpha) for alpha in SPLIT_DEPTHS])
        panel.minorticks_off()
    panels[0].set_ylabel("mean squared error")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncol=5, fontsize=8.5)
    figure.suptitle("Against the sample: two normals, 10$^5$ people in each class, epsilon = 1", fontsize=10)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    save(figure, "tree_splitting")
    head = ["splitting, estimator, target", *(f"MSE·10⁶, $\\alpha$ = {alpha}" for alpha in SPLIT_DEPTHS)]
    table("tree_splitting", [*head, "grows as $\\alpha$ to the", "paper's bound"], rows)


# ---------------------------------------------------------------- epsilon

EPSILONS = (0.5, 1.0, 2.0, 5.0)
EPSILON_RUNS = 100


def epsilon() -> None:
    """The error against epsilon, and where sampling alone would stop it."""
    alpha, size = 14, 100_000
    truth, sampling = normals_population(alpha, size)
    jobs = {
        (loss, answer): [
            Job("normals", alpha, run, size, loss, answer=answer, estimators=("paper", "pruned"))
            for run in range(EPSILON_RUNS)
        ]
        for loss in EPSILONS
        for answer in ("one-bit", "several-bits")
    }
    run_all("epsilon", [job for group in jobs.values() for job in group])
    rows = []
    figure, axes = plt.subplots(figsize=(6.4, 4.0))
    for name, answer, colour, style in (
        ("paper", "one-bit", VERMILION, "s--"),
        ("pruned", "one-bit", BLUE, "o-"),
        ("paper", "several-bits", ORANGE, "v--"),
        ("pruned", "several-bits", GREEN, "^-"),
    ):
        found = {loss: [each[name] for each in run_all("epsilon", jobs[loss, answer])] for loss in EPSILONS}
        errors = [root_mean_square([each.value - truth for each in found[loss]]) for loss in EPSILONS]
        said = [float(np.mean([each.standard_error for each in found[loss]])) for loss in EPSILONS]
        reach = np.array(errors) / math.sqrt(2 * EPSILON_RUNS)
        label = f"{name}, {answer.replace('-', ' ')}"
        axes.errorbar(EPSILONS, errors, reach, fmt=style, color=colour, ms=4, lw=1.4, capsize=2, label=label)
        rows.append([f"`{name}`, {answer.replace('-', ' ')}: RMSE", *(f"{error:.4f}" for error in errors)])
        rows.append([f"`{name}`, {answer.replace('-', ' ')}: reported", *(f"{error:.4f}" for error in said)])
    studies = [study_of(jobs[loss, "several-bits"][0]) for loss in EPSILONS]
    bits = [str(math.ceil(math.log2(study.protocol.symbols))) for study in studies]
    rows.append(["bits of a report, several bits", *bits])
    rows.append(["sampling alone", *[f"{sampling:.4f}"] * len(EPSILONS)])
    axes.axhline(sampling, color=BLACK, ls="--", lw=1.3, label="sampling alone, no privacy (exact)")
    axes.set(xscale="log", yscale="log", xlabel="epsilon (natural log units)", ylim=(0.0004, 0.08))
    axes.set_ylabel("root mean square error, population")
    axes.set_xticks(EPSILONS, [f"{loss:g}" for loss in EPSILONS])
    axes.set_yticks([0.001, 0.003, 0.01, 0.03], ["0.001", "0.003", "0.01", "0.03"])
    axes.minorticks_off()
    axes.set_title("two normals, 10$^5$ people in each class, $\\alpha$ = 14, 100 runs", fontsize=9.5)
    axes.legend(fontsize=8.5, loc="lower left", bbox_to_anchor=(0, 0.1))
    figure.tight_layout()
    save(figure, "tree_epsilon")
    table("tree_epsilon", ["", *(f"eps {loss:g}" for loss in EPSILONS)], rows)


# ---------------------------------------------------------------- diabetes

DIABETES_DEPTHS = (4, 8, 12, 16)


def diabetes() -> None:
    """The AUC of a readmission score on the hospital data, against epsilon and the number of leaves."""
    if not at_hand("diabetes", sources.HOSPITAL):
        return
    patients = sources.hospital(data_folder())
    score, label = patients["score"], patients["label"]
    truth = dpairs.exact("auc", patients)
    counts = int(label.sum()), int((1 - label).sum())
    print(f"diabetes: {label.size:,} test rows, {counts[0]} positives, exact AUC {truth:.4f}")
    jobs = {
        (loss, alpha): [
            (loss, alpha, run, truth, score.tobytes(), label.tobytes()) for run in range(DIABETES_RUNS)
        ]
        for loss in EPSILONS
        for alpha in DIABETES_DEPTHS
    }
    run_all("diabetes", [job for group in jobs.values() for job in group], hospital)
    rows: list[list[str]] = []
    figure, panels = plt.subplots(1, 2, figsize=(9.2, 3.7), sharey=True)
    for panel, (name, *_) in zip(panels, SHOWN, strict=True):
        for alpha, colour, mark in zip(DIABETES_DEPTHS, (ORANGE, GREEN, BLUE, PURPLE), "osD^", strict=True):
            found = [mean_error(run_all("diabetes", jobs[loss, alpha]), name) for loss in EPSILONS]
            mean, error = (np.array(column) for column in zip(*found, strict=True))
            panel.errorbar(
                EPSILONS,
                mean,
                error,
                fmt=f"{mark}-",
                color=colour,
                ms=4,
                lw=1.3,
                capsize=2,
                label=f"d = $2^{{{alpha}}}$",
            )
            cells = [f"{a:.3f} ± {b:.3f}" for a, b in found]
            rows.append([f"`{name}`, $d = 2^{{{alpha}}}$", *cells])
        panel.set(xscale="log", yscale="log", xlabel="epsilon (natural log units)", title=name)
        panel.set_xticks(EPSILONS, [f"{loss:g}" for loss in EPSILONS])
        panel.set_yticks([0.02, 0.05, 0.1, 0.2], ["0.02", "0.05", "0.1", "0.2"])
        panel.minorticks_off()
    panels[0].set_ylabel("mean absolute error")
    panels[1].legend()
    figure.suptitle(
        f"Hospital readmission: {counts[0]} positives, {counts[1]:,} negatives, "
        f"exact AUC {truth:.3f}, {DIABETES_RUNS} runs",
        fontsize=10,
    )
    figure.tight_layout()
    save(figure, "tree_diabetes")
    table("tree_diabetes", ["estimator, leaves", *(f"eps {loss:g}" for loss in EPSILONS)], rows)


DIABETES_RUNS = 20


def hospital(job: tuple[float, int, int, float, bytes, bytes]) -> dict[str, Outcome]:
    """One run on the test rows."""
    loss, alpha, run, truth, score, label = job
    data = {"score": np.frombuffer(score), "label": np.frombuffer(label, dtype=np.int64)}
    study = dpairs.Study.create(
        "auc", protocol="tree", epsilon=loss, domain=dpairs.Interval(0, 1), bins=2**alpha, seed=run
    )
    return outcomes(dpairs.simulate_tally(study, data, seed=run), [name for name, *_ in SHOWN], truth)


# ---------------------------------------------------------------- explain


def explain() -> None:
    """What one estimate rests on: both estimated distributions, and the parts not looked into."""
    size = 100_000
    data = {"score": unit_scores(size, 1), "label": classes(size)}
    study = dpairs.Study.create(
        "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=2**14, seed=1
    )
    exact = dpairs.exact("auc", data)
    # Of 21 runs the one with the median error, so that it is neither a lucky nor an unlucky one.
    runs = [dpairs.simulate(study, data, seed=run) for run in range(21)]
    found = sorted(runs, key=lambda each: abs(each.value - exact))[10]
    why = found.explain()
    figure, axes = plt.subplots(figsize=(8.2, 4.2))
    for number, (low, high, left) in enumerate(zip(why.low, why.high, why.discarded, strict=True)):
        if left:
            axes.axvspan(low, high, color="#888888", alpha=(0.12, 0.26)[number % 2], lw=0)
    grid = np.linspace(0, 1, 400)
    for shares, centre, colour, name in (
        (why.negative, LOW, BLUE, "negatives"),
        (why.positive, HIGH, VERMILION, "positives"),
    ):
        axes.plot(
            np.append(why.low[0], why.high),
            np.append(0, np.cumsum(shares)),
            "o-",
            color=colour,
            ms=3,
            lw=1.5,
            label=f"{name}, estimated",
        )
        axes.plot(grid, norm.cdf(grid, centre, WIDE), ":", color=colour, lw=1.5, label=f"{name}, population")
    handles, names = axes.get_legend_handles_labels()
    handles.append(Patch(color="#888888", alpha=0.26))
    axes.legend(handles, [*names, "a part that was discarded"], fontsize=8.5, loc="upper left")
    axes.set(xlim=(0, 1), xlabel="score", ylabel="share of the class at or below")
    axes.set_title(
        f"private AUC {found.value:.4f} ± {found.sample_standard_error:.4f}, exact {exact:.4f}; "
        f"{why.discarded.size} parts, epsilon = 1",
        fontsize=9.5,
    )
    figure.tight_layout()
    save(figure, "tree_explain")


TABLES: dict[str, Callable[[], None]] = {
    "accuracy": accuracy,
    "depth": depth,
    "deep": deep,
    "recursed": recursed,
    "splitting": splitting,
    "epsilon": epsilon,
    "diabetes": diabetes,
    "explain": explain,
}

if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        alone(*sys.argv[2:5])
    else:
        # Two processes of one thread each; they read this when they import numpy.
        os.environ.update({"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
        for chosen in sys.argv[1:] or TABLES:
            TABLES[chosen]()
