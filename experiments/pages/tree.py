"""Of the page on the tree: deep domains, answers of several bits, and what one estimate rests on."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Patch
from scipy.special import ndtr

import dpairs
from dpairs.protocols import theory
from dpairs.protocols.sides import of_symbols

from ..exhibits import picture, results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row
from ..style import BLACK, BLUE, GREEN, VERMILION
from ..synthetic import HIGH, LOW, WIDE, classes, normals_population, scored, unit_scores

MILLION = 10**6
DEEP = (("auc_one", 32), ("auc_one", 64), ("normals", 32), ("normals", 64), ("float bits", 64))
EPSILONS, ANSWERS = (0.5, 1.0, 2.0, 5.0), ("one-bit", "several-bits")
ALPHA, SIZE = 14, 100_000
"""Leaves of the runs by epsilon, and people in each class."""
PAPER = ("paper", "all", "one-bit")
WAYS = {
    "the paper's protocol": (PAPER, VERMILION, "s--"),
    "`pruned`, one bit": (("pruned", "others", "one-bit"), BLUE, "o-"),
    "`pruned`, several bits": (("pruned", "others", "several-bits"), GREEN, "^-"),
}
"""Estimator, rows of the Hadamard matrix, and answer."""


def settings(quick: bool) -> list[Setting]:
    """Trees of 32 and 64 levels, and two normals by epsilon."""
    deep = [(data, alpha, SIZE, 1.0) for data, alpha in DEEP]
    usual = [("normals", ALPHA, SIZE, epsilon) for epsilon in EPSILONS]
    return [
        {"data": data, "alpha": alpha, "size": 2000 if quick else size, "epsilon": epsilon}
        for data, alpha, size, epsilon in (*deep, *usual)
    ]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """One study in each way; a new seed gives new data, new public coins and new noise."""
    alpha = int(setting["alpha"])
    people = scored(str(setting["data"]), alpha, int(setting["size"]), seed)
    truth = dpairs.exact("auc", people)
    rows: list[Row] = []
    for words, ((estimator, asked, answer), *_) in WAYS.items():
        if answer == "several-bits" and alpha != ALPHA:
            continue
        study = dpairs.Study.create(
            "auc",
            protocol="tree",
            epsilon=float(setting["epsilon"]),
            domain=dpairs.Integers(0, 2**alpha - 1),
            options={"rows": asked, "answer": answer},
            seed=seed,
        )
        found = dpairs.simulate_tally(study, people, seed=seed).estimate(estimator)
        said = {"reported": found.standard_error, "sample_reported": found.sample_standard_error}
        rows.append(
            {"way": words, "value": found.value, "truth": truth, "symbols": of_symbols(study).symbols, **said}
        )
    return rows


EXPERIMENT = Experiment("tree", "Deep trees, and answers of several bits", settings, measure)


# ---------------------------------------------------------------- accuracy

REFERENCE = {
    ("auc_one", 12): 0.031,
    ("auc_one", 20): 0.048,
    ("ithdigit", 14): 0.023,
    ("ithdigit", 20): 0.030,
    ("ur", 12): 0.006,
    ("ur", 20): 0.008,
}
"""The mean absolute error of another program for the paper's protocol."""


@table("tree_accuracy")
def accuracy() -> Table:
    """Errors on the paper's data at epsilon 1, beside the theorem's bound."""
    runs, rows = results("auc-synthetic-tree").where(epsilon=1.0), []
    constant = theory.oracle_gain(1.0) ** 2
    for (data, alpha), reference in REFERENCE.items():
        row = [f"{data}, $\\alpha$ = {alpha}", f"{reference:.3f}"]
        for name in ("paper", "pruned"):
            part = runs.where(data=data, alpha=alpha, estimator=name)
            row += [str(part.error), f"{math.sqrt(part.square.mean):.4f}"]
        factor = theory.tree_factor(MILLION, MILLION, alpha, constant)
        bound = theory.tree_mse_bound(MILLION, MILLION, alpha, constant, factor)
        rows.append([*row, f"{math.sqrt(bound):.4f}"])
    head = ["data", "by another program", "the paper's", "RMSE", "`pruned`", "RMSE", "root of the bound"]
    return Table("", head, rows)


# ---------------------------------------------------------------- deep


@table("tree_deep")
def deep() -> Table:
    found, rows = results("tree"), []
    for data, alpha in DEEP:
        parts = [found.where(data=data, alpha=alpha, way=way) for way in list(WAYS)[:2]]
        said = parts[1].column("sample_reported").mean()
        rows.append([f"{data}, $\\alpha$ = {alpha}", *(str(part.error) for part in parts), f"{said:.4f}"])
    return Table("", ["data", "the paper's", "`pruned`", "reported by `pruned`"], rows)


# ---------------------------------------------------------------- epsilon


def root_errors(way: str) -> tuple[list[float], list[float]]:
    """By epsilon, around the population: root mean square errors, and mean reported standard errors."""
    truth, _ = normals_population(ALPHA, SIZE)
    parts = [results("tree").where(alpha=ALPHA, way=way, epsilon=epsilon) for epsilon in EPSILONS]
    squares = [math.sqrt(np.mean((part.column("value") - truth) ** 2)) for part in parts]
    return squares, [float(part.column("reported").mean()) for part in parts]


@table("tree_epsilon")
def epsilon_table() -> Table:
    rows = []
    for way in WAYS:
        for words, values in zip(("RMSE", "reported"), root_errors(way), strict=True):
            rows.append([f"{way}: {words}", *(f"{value:.4f}" for value in values)])
    symbols = [
        results("tree").where(alpha=ALPHA, way=list(WAYS)[2], epsilon=epsilon).values("symbols")[0]
        for epsilon in EPSILONS
    ]
    rows.append(["bits of a report, several bits", *(str(math.ceil(math.log2(each))) for each in symbols)])
    rows.append(["sampling alone", *[f"{normals_population(ALPHA, SIZE)[1]:.4f}"] * len(EPSILONS)])
    return Table("", ["", *(f"eps {epsilon:g}" for epsilon in EPSILONS)], rows)


@picture("tree_epsilon")
def epsilon() -> Any:
    """The error against epsilon, and where sampling alone would stop it."""
    figure, axes = plt.subplots(figsize=(6.4, 4.0))
    for way, (_, colour, style) in WAYS.items():
        errors = np.array(root_errors(way)[0])
        reach = errors / math.sqrt(2 * EXPERIMENT.runs)
        label = way.replace("`", "")
        axes.errorbar(EPSILONS, errors, reach, fmt=style, color=colour, ms=4, lw=1.4, capsize=2, label=label)
    sampling = normals_population(ALPHA, SIZE)[1]
    axes.axhline(sampling, color=BLACK, ls="--", lw=1.3, label="sampling alone, no privacy (exact)")
    axes.set(xscale="log", yscale="log", xlabel="epsilon (natural log units)", ylim=(0.0004, 0.15))
    axes.set_ylabel("root mean square error, population")
    axes.set_xticks(EPSILONS, [f"{each:g}" for each in EPSILONS])
    axes.set_yticks([0.001, 0.003, 0.01, 0.03], ["0.001", "0.003", "0.01", "0.03"])
    axes.minorticks_off()
    title = f"two normals, 10$^5$ people in each class, $\\alpha$ = {ALPHA}, {EXPERIMENT.runs} runs"
    axes.set_title(title, fontsize=9.5)
    axes.legend(fontsize=8.5, loc="lower left", bbox_to_anchor=(0, 0.1))
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------- explain


@picture("tree_explain")
def explain() -> Any:
    """What one estimate rests on: both estimated distributions, and the parts not looked into."""
    size = 100_000
    data = {"score": unit_scores(size, 1), "label": classes(size)}
    study = dpairs.Study.create(
        "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=2**14, seed=1
    )
    exact = dpairs.exact("auc", data)
    # Of 21 runs the one with the median error, so that it is neither a lucky nor an unlucky one.
    runs = [dpairs.simulate(study, data, seed=run) for run in range(21)]
    median = sorted(runs, key=lambda each: abs(each.value - exact))[10]
    why = median.explain()
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
        axes.plot(grid, ndtr((grid - centre) / WIDE), ":", color=colour, lw=1.5, label=f"{name}, population")
    handles, names = axes.get_legend_handles_labels()
    handles.append(Patch(color="#888888", alpha=0.26))
    axes.legend(handles, [*names, "a part that was discarded"], fontsize=8.5, loc="upper left")
    axes.set(xlim=(0, 1), xlabel="score", ylabel="share of the class at or below")
    axes.set_title(
        f"private AUC {median.value:.4f} ± {median.sample_standard_error:.4f}, exact {exact:.4f}; "
        f"{why.discarded.size} parts, epsilon = 1",
        fontsize=9.5,
    )
    figure.tight_layout()
    return figure
