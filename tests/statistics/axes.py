"""Axes, kernels and studies on which closed forms and tables are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from dpairs import Integers, Interval, Levels
from dpairs.data.grids import Axis

TIE = {"half": 0.5, "zero": 0.0}
AXES = {
    "interval": Axis(Interval(-1, 2), 4),
    "integers in unequal bins": Axis(Integers(-3, 7), 4),
    "integers, some alone": Axis(Integers(0, 6), 4),
    "integers one by one": Axis(Integers(2, 6), 5),
    "levels": Axis(Levels([-2, 0.5, 3, 10]), 4),
}
SMALL_AXES = {
    "interval": Axis(Interval(0, 1), 2),
    "integers in unequal bins": Axis(Integers(0, 4), 3),
    "levels": Axis(Levels([0, 3]), 2),
}
STUDIES: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"auc {ties} {labels}": ("auc", {"ties": ties, "labels": labels})
        for ties in TIE
        for labels in ("public", "private")
    },
    **{f"mann_whitney {labels}": ("mann_whitney", {"labels": labels}) for labels in ("public", "private")},
    "tau-a": ("kendall_tau", {"variant": "a"}),
    "tau-b": ("kendall_tau", {"variant": "b"}),
    "gini_mean_difference": ("gini_mean_difference", {}),
    "gini_coefficient": ("gini_coefficient", {}),
    "variance": ("variance", {}),
    "collision_entropy": ("collision_entropy", {}),
}


def distance(a, b):
    return np.abs(a[0] - b[0])


def concordance(a, b):
    return np.sign(a[0] - b[0]) * np.sign(a[1] - b[1])
