"""The variance of the krr estimate of Gini's mean difference: formula, bound and measurement."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import dpairs
from dpairs.data.grids import Axis
from dpairs.protocols import theory
from dpairs.statistics.binned import distance

from ..exhibits import picture, results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row
from ..style import BLACK, BLUE, PURPLE, VERMILION
from ..synthetic import people

PEOPLE, EPSILON, REPEATS = 10_000, 1.0, 200
UNIT = dpairs.Interval(0, 1)


def settings(quick: bool) -> list[Setting]:
    return [{"cells": k, "repeats": 10 if quick else REPEATS} for k in (2, 4, 8, 16, 32, 64)]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """The variance over repeats with new people, who are squares of uniform numbers."""
    study = dpairs.Study.create(
        "gini_mean_difference",
        epsilon=EPSILON,
        domain=UNIT,
        bins=int(setting["cells"]),
        mechanism="krr",
        seed=1,
    )
    draw, repeats = people(4 + seed), int(setting["repeats"])
    values = [
        dpairs.simulate(study, {"value": draw.random(PEOPLE) ** 2}, seed=repeats * seed + run).value
        for run in range(repeats)
    ]
    return [{"variance": float(np.var(values, ddof=1))}]


EXPERIMENT = Experiment("theory", "The variance of randomized response", settings, measure, runs=1)


def columns() -> list[tuple[int, float, float, float, float]]:
    """Cells; exact, measured, bound and approximation."""
    rows = []
    for row in results("theory"):
        k = int(row["cells"])
        shares = np.diff(np.sqrt(np.linspace(0, 1, k + 1)))  # where squares of uniform numbers fall
        kernel = distance(Axis(UNIT, k), "average").matrix
        exact = theory.krr_variance(PEOPLE, EPSILON, kernel, shares)
        limits = (
            theory.krr_variance_bound(PEOPLE, k, EPSILON),
            theory.krr_variance_approximation(PEOPLE, k, EPSILON),
        )
        rows.append((k, exact, float(row["variance"]), *limits))
    return rows


@table("theory")
def theory_table() -> Table:
    head = ["k", "exact variance", f"measured ({REPEATS} runs)", "bound", "approximation", "bound / exact"]
    rows = [[str(k), *(f"{x:.3g}" for x in each), f"{each[2] / each[0]:.1f}"] for k, *each in columns()]
    return Table("", head, rows)


@picture("theory")
def variance() -> Any:
    sizes, exact, measured, bound, near = (np.array(column) for column in zip(*columns(), strict=True))
    figure, axes = plt.subplots(figsize=(6.4, 3.9))
    axes.loglog(sizes, bound, "--", color=VERMILION, label="krr_variance_bound")
    axes.loglog(sizes, near, ":", color=PURPLE, label="krr_variance_approximation")
    axes.loglog(sizes, exact, "-", color=BLUE, label="krr_variance (exact)")
    # A variance of 200 normal values has a relative standard error of sqrt(2 / 199).
    reach = 1.96 * math.sqrt(2 / (REPEATS - 1)) * measured
    axes.errorbar(
        sizes, measured, reach, fmt="o", ms=4, color=BLACK, capsize=3, label="measured, 95% interval"
    )
    axes.set_xticks(sizes, [str(k) for k in sizes])
    axes.minorticks_off()
    axes.set(xlabel="cells k", ylabel="variance of the estimate")
    axes.set_title("krr, Gini mean difference of squared uniforms, n = 10,000, epsilon = 1", fontsize=9.5)
    axes.legend()
    figure.tight_layout()
    return figure
