"""The error that rounding makes: without privacy, and beside the privacy noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

import dpairs
from dpairs.protocols.sides import of_symbols

from ..exhibits import picture, results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row
from ..style import BLUE, ORANGE, VERMILION
from ..synthetic import people

PEOPLE, REPEATS = 200_000, 100
LOSSES = (30.0, 1.0)
"""Practically no privacy noise, and some."""
METHODS = {
    "simple, average": ("simple", "average", BLUE, "o-"),
    "simple, midpoint": ("simple", "midpoint", ORANGE, "s--"),
    "random": ("random", "average", VERMILION, "^-"),
}
SHAPES: dict[str, Callable[[np.random.Generator, int], NDArray[np.float64]]] = {
    "uniform": lambda draw, n: draw.random(n),
    "lognormal": lambda draw, n: np.minimum(draw.lognormal(0, 1, n), 10) / 10,
    "beta(2, 5)": lambda draw, n: draw.beta(2, 5, n),
    "two atoms at an edge": lambda draw, n: 0.5 + 1e-6 * draw.choice([-1, 1], n),
    "five atoms anywhere": lambda draw, n: draw.choice(draw.random(5), n),
}
BINS = (4, 8, 16, 32)
BINNED_STATISTICS = ("gini_mean_difference", "gini_coefficient", "variance")


def settings(quick: bool) -> list[Setting]:
    """Every shape with every number of cells."""
    return [
        {
            "epsilon": epsilon,
            "cells": k,
            "shape": shape,
            "people": PEOPLE // 100 if quick else PEOPLE,
            "repeats": 5 if quick else REPEATS,
        }
        for epsilon in LOSSES
        for k in BINS
        for shape in SHAPES
    ]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """All statistics by all methods; reports that are rounded alike are shared.

    Without noise the mean absolute error, otherwise the root mean square error, in thousandths.
    """
    k, repeats = int(setting["cells"]), int(setting["repeats"])
    studies = {
        (name, method): dpairs.Study.create(
            name,
            epsilon=float(setting["epsilon"]),
            domain=dpairs.Interval(0, 1),
            options={"bins": k, "rounding": rounding, "kernel": kernel},
            seed=1,
        )
        for name in BINNED_STATISTICS
        for method, (rounding, kernel, *_) in METHODS.items()
    }
    draw, errors = people(3 + seed), {key: np.zeros(repeats) for key in studies}
    for run in range(repeats):
        values = {"value": SHAPES[str(setting["shape"])](draw, int(setting["people"]))}
        counts: dict[str, Any] = {
            rounding: dpairs.simulate_tally(
                studies["variance", method], values, seed=10_000 * k + repeats * seed + run
            ).counts("everybody")
            for rounding, method in (("simple", "simple, average"), ("random", "random"))
        }
        for name in BINNED_STATISTICS:
            truth = dpairs.exact(name, values)
            for method, (rounding, *_) in METHODS.items():
                protocol = of_symbols(studies[name, method])
                answer = protocol.estimate({"everybody": counts[rounding]}, "paper")
                errors[name, method][run] = answer.value - truth
    size = np.abs if setting["epsilon"] == LOSSES[0] else np.square
    means = {key: float(np.mean(size(each))) for key, each in errors.items()}
    return [
        {
            "statistic": name,
            "method": method,
            "thousandths": round(1000 * (mean if size is np.abs else math.sqrt(mean)), 2),
        }
        for (name, method), mean in means.items()
    ]


EXPERIMENT = Experiment("quantization", "The error of rounding", settings, measure, runs=1)


def errors(statistic: str, shape: str, method: str) -> tuple[list[float], list[float]]:
    """By the number of cells: the mean absolute error without noise, and the root mean square with it."""
    found = results("quantization").where(statistic=statistic, shape=shape, method=method)
    bias, total = (found.where(epsilon=epsilon).column("thousandths").tolist() for epsilon in LOSSES)
    return bias, total


def shown(statistic: str) -> Table:
    rows = [
        [
            f"{shape}: {method}",
            *(f"{a:.2f} / {b:.2f}" for a, b in zip(*errors(statistic, shape, method), strict=True)),
        ]
        for shape in SHAPES
        for method in METHODS
    ]
    return Table("", ["data: rounding, kernel", *(f"k = {k}" for k in BINS)], rows)


for _name in BINNED_STATISTICS:
    table(f"quantization_{_name}")(lambda name=_name: shown(name))  # type: ignore[misc]


@picture("quantization")
def quantization() -> Any:
    figure, panels = plt.subplots(2, 5, figsize=(9.4, 4.8), sharex=True, sharey="row")
    for column, shape in enumerate(SHAPES):
        for method, (_, _, colour, style) in METHODS.items():
            for row, found in enumerate(errors("gini_mean_difference", shape, method)):
                values = [each / 1000 for each in found]
                panels[row, column].loglog(BINS, values, style, color=colour, ms=4, lw=1.4, label=method)
                panels[row, column].set_xticks(BINS, [str(k) for k in BINS])
                panels[row, column].minorticks_off()
        panels[0, column].set_title(shape, fontsize=9)
        panels[1, column].set_xlabel("cells k")
    for row, label in enumerate(("mean |error|, no privacy", "RMSE at epsilon = 1")):
        panels[row, 0].set_ylabel(label)
    figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="lower center", ncol=3)
    figure.suptitle(f"Gini mean difference of values in [0, 1], n = {PEOPLE:,}", fontsize=10)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    return figure
