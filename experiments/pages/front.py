"""The picture on the front page: the error of a private AUC against the number of people."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import dpairs

from ..exhibits import measured, picture, results
from ..experiment import Experiment, Setting
from ..runs import Row
from ..style import BLUE, GREEN, PURPLE, VERMILION
from ..synthetic import classes, unit_scores

EPSILON = 1.0
SIZES = (200, 1_000, 5_000, 20_000, 100_000)
"""People in each class."""
WAYS = {
    "the paper's tree": (VERMILION, "s-"),
    "dpairs, nobody is trusted": (BLUE, "o-"),
    "dpairs, two servers": (GREEN, "^-"),
}
PEERS = {"pure-ldp": "pure-LDP", "multi-freq-ldpy": "multi-freq-ldpy"}


def settings(quick: bool) -> list[Setting]:
    return [{"size": size} for size in (SIZES[:3] if quick else SIZES)]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """One study of each way on the same people: the planner's choices, and the paper's own tree."""
    size = int(setting["size"])
    people = {"score": unit_scores(size, seed), "label": classes(size)}
    truth = dpairs.exact("auc", people)
    asked: dict[str, Any] = {"epsilon": EPSILON, "domain": (0, 1), "n": {"positive": size, "negative": size}}
    tree = dpairs.Study.create(
        "auc", protocol="tree", epsilon=EPSILON, domain=(0, 1), rows="all", n=2 * size, seed=seed
    )
    values = {
        "the paper's tree": dpairs.simulate(tree, people, seed=seed, estimator="paper").value,
        "dpairs, nobody is trusted": _planned(people, seed, asked),
        "dpairs, two servers": _planned(people, seed, {**asked, "trust": "two_servers"}),
    }
    return [{"way": way, "value": value, "truth": truth} for way, value in values.items()]


def _planned(people: Any, seed: int, asked: dict[str, Any]) -> float:
    study = replace(dpairs.plan("auc", **asked).options[0].study, seed=seed)
    return dpairs.simulate(study, people, seed=seed).value


EXPERIMENT = Experiment("front", "The front page", settings, measure, runs=10)


@picture("front")
def front() -> Any:
    figure, axes = plt.subplots(figsize=(7.6, 3.9))
    kept = results("front")
    for way, (colour, mark) in WAYS.items():
        errors = [kept.where(way=way, size=size).error.mean for size in SIZES]
        axes.plot([2 * size for size in SIZES], errors, mark, color=colour, label=way, ms=5)
    for (package, name), mark in zip(PEERS.items(), "Dv", strict=True):
        found = [
            each for each in measured("comparison") if (each["package"], each["case"]) == (package, "normals")
        ]
        best = min(float(np.abs(each["errors"]).mean()) for each in found)
        axes.plot(200_000, best, mark, color=PURPLE, ms=6, label=f"{name}, its best mechanism")
    axes.set(xscale="log", yscale="log", xlabel="people", ylabel="mean absolute error of the AUC")
    axes.set_title("A private AUC at epsilon 1", loc="left", fontsize=10)
    axes.legend(fontsize=8.5, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    figure.tight_layout()
    return figure
