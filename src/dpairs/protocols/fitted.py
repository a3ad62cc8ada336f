"""Every fitted constant of the project: what it stands for, and on which people it was fitted.

`experiments/fit_constants.py` measures them again, on the populations named here and on others
that were not looked at when they were chosen. On those of plans and of what a pilot costs depends only how
well a study is planned, not what an interval covers. Nothing else in the package may hold a fitted number.
A constant that a derivation replaces is deleted here.
"""

from __future__ import annotations

# The second-order remainder (`projection.remainder`). Fitted on: two normal classes of an AUC of 0.83, and a
# lognormal column; in the plane two normal columns of correlation 0.5.
UNEVEN, UNEVEN_LINE = 0.15, 0.37
"""How far pairs within one part are from even, as a share of the most; and on one column how much further for
each share of pairs that lie within one part."""
FAR_APART, ALL_TOGETHER = 0.1, 1.5
"""The share of pairs within one part from which on the pilot says nothing about them, and what that adds."""
SMOOTH, SMOOTH_PLANE = 6.0, 37.0
"""How much more than imagined the remainder varies when the pilot is poor: times its size over the range."""

# What a histogram pilot of N f people costs (`projection.first_round`). Its first populations were not kept.
HISTOGRAM_ROUGHNESS = 0.25
"""Its remainder is about roughness c^2 / (N f) of the function's range for each cell, c = coth(epsilon/2)."""

# Predictions of a plan.
CLASSES, CLASSES_POWER = 0.2, 0.7
"""The remainder of three classes after a tree: 0.2 x^0.7 of the function's range for x = c^2 L / n, with the
n people of the smallest class in the pilot. Fitted on three normal classes."""
PRUNED = 1.05
"""How much pruning a tree adds to its least-squares error. Fitted on the shapes of `planning.shapes.hard`."""
