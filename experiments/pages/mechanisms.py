"""Mechanisms beside each other: exact variances, and errors of the AUC and of Kendall's tau by each."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import dpairs
from dpairs import mechanisms

from .. import sources
from ..exhibits import picture, results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row
from ..style import BLACK, BLUE, GREEN, ORANGE, PURPLE, VERMILION
from ..synthetic import people

SIZES, SHOWN = (4, 8, 36, 64, 256), (0.1, 1.0, 2.0, 4.0)
CURVES = ("krr", "projective")
GRID = np.geomspace(0.01, 10, 61)


def subset_selection_variance(k: int, epsilon: float) -> float:
    """The variance a report adds to a count under subset selection with the best subset size.

    Ye and Barg (2018): a subset of size d holds the truth with probability p, another value with q.
    """
    best = math.inf
    for d in range(1, k):
        weight = d * math.exp(epsilon) + k - d
        p = d * math.exp(epsilon) / weight
        q = (d * (d - 1) * math.exp(epsilon) + (k - d) * d) / ((k - 1) * weight)
        best = min(best, (p * (1 - p) / k + (1 - 1 / k) * q * (1 - q)) / (p - q) ** 2)
    return best


def ratio_settings(quick: bool) -> list[Setting]:
    return [{"mechanism": name, "cells": k} for name in CURVES for k in (SIZES[:2] if quick else SIZES)]


def ratios(setting: Setting, seed: int, data: Path) -> list[Row]:
    """The exact variance of a count, over that of subset selection, by epsilon."""
    name, k, rows = str(setting["mechanism"]), int(setting["cells"]), []
    for epsilon in (*SHOWN, *GRID.tolist()):
        variance = mechanisms.count_variance(mechanisms.mechanism(name, k, epsilon))
        rows.append({"epsilon": epsilon, "ratio": variance / subset_selection_variance(k, epsilon)})
    return rows


VARIANCES = Experiment("variances", "Variances of counts, exactly", ratio_settings, ratios, runs=1)


def ratio(name: str, k: int) -> list[float]:
    return results("variances").where(mechanism=name, cells=k).column("ratio").tolist()


@table("variance_ratio")
def ratio_table() -> Table:
    rows = []
    for name in CURVES:
        for k in SIZES:
            found = ratio(name, k)
            rows.append([f"{name}, k = {k}", *(f"{each:.3f}" for each in (*found[: len(SHOWN)], max(found)))])
    return Table("", ["mechanism", *(f"eps {epsilon:g}" for epsilon in SHOWN), "largest"], rows)


@picture("variance_ratio")
def variance_ratio() -> Any:
    figure, panels = plt.subplots(1, 2, figsize=(9.6, 3.8))
    for panel, name in zip(panels, CURVES, strict=True):
        for k, colour in zip(SIZES, (BLACK, ORANGE, GREEN, BLUE, PURPLE), strict=True):
            panel.plot(GRID, ratio(name, k)[len(SHOWN) :], color=colour, label=f"k = {k}", lw=1.6)
        panel.axhline(1.3, color=VERMILION, ls="--", lw=1.2, label="1.3")
        panel.set(xscale="log", xlabel="epsilon (natural log units)", title=name)
    panels[0].set(yscale="log", ylabel="variance of a count / subset selection's")
    panels[0].set_yticks([1, 1.3, 3, 10, 30, 100], ["1", "1.3", "3", "10", "30", "100"])
    panels[0].minorticks_off()
    panels[1].set_ylim(0.98, 1.5)
    panels[1].legend(fontsize=8, ncol=2)
    figure.tight_layout()
    return figure


# ---------------------------------------------------------------- errors by mechanism

MECHANISMS = ("krr", "projective", "optimized")


def settings(quick: bool) -> list[Setting]:
    """The hotel ratings in 36 cells, and made-up scores in 64 bins."""
    losses = (1.0,) if quick else (0.5, 1.0, 2.0, 5.0)
    repeats = 3 if quick else 200
    return [
        {"data": data, "epsilon": epsilon, "repeats": repeats}
        for data in ("ratings", "scores")
        for epsilon in losses
    ]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """Mean absolute errors of studies of the same people by each mechanism, to four digits."""
    statistic, domain, bins = "auc", dpairs.Interval(0, 1), {"bins": 64}  # type: str, Any, dict[str, Any]
    if setting["data"] == "ratings":
        if sources.missing((sources.RATINGS,), data):
            return []
        statistic, domain, bins = "kendall_tau", (sources.LEVELS, sources.LEVELS), {}
        table: dict[str, Any] = dict(sources.ratings(data))
    else:
        rng = people(6)
        label = rng.integers(0, 2, 100_000)
        table = {"score": np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1), "label": label}
    truth = dpairs.exact(statistic, table)
    rows: list[Row] = []
    for name in MECHANISMS:
        study = dpairs.Study.create(
            statistic,
            epsilon=float(setting["epsilon"]),
            domain=domain,
            seed=1,
            options={"mechanism": name, **bins},
        )
        repeats = int(setting["repeats"])
        seeds = range(repeats * seed, repeats * (seed + 1))
        errors = [abs(dpairs.simulate(study, table, seed=run).value - truth) for run in seeds]
        rows.append({"mechanism": name, "error": round(float(np.mean(errors)), 4)})
    return rows


EXPERIMENT = Experiment(
    "mechanisms", "Errors by mechanism", settings, measure, runs=1, wants=(sources.RATINGS,)
)


def errors(data: str) -> Table:
    """Mean absolute errors by epsilon and mechanism."""
    found, rows = results("mechanisms").where(data=data), []
    for epsilon in found.values("epsilon"):
        mean = found.where(epsilon=epsilon).column("error").tolist()
        rows.append([f"{epsilon:g}", *(f"{each:.4f}" for each in mean), f"{mean[0] / mean[2]:.1f}"])
    return Table("", ["epsilon", *MECHANISMS, "krr over optimized"], rows)


@table("plan_ratings")
def ratings_table() -> Table:
    return errors("ratings")


@table("plan_auc_cells")
def scores_table() -> Table:
    return errors("scores")
