"""Every fitted constant of the project: what it stands for, and on which people it was fitted.

`experiments/fit_constants.py` measures those of the remainder again, on the populations named here and on
others that were not looked at when they were chosen. Those of plans and of what a pilot costs were measured
once, and their script is still to be written; only how well a study is planned depends on them, not what
an interval covers. Nothing else in the package may hold a fitted number. A constant that a derivation
replaces is deleted here.
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

# What a histogram pilot costs (`projection.first_round`): its remainder is about roughness c^2 / (N f).
HISTOGRAM_ROUGHNESS = 0.25
"""For each cell."""

# Predictions of a plan. Fitted on the shapes of `planning.shapes.hard`.
CLASSES, CLASSES_POWER = 0.07, 0.6
"""The remainder of three classes: 0.07 x^0.6 of the function's range for x = c^2 L / n."""
PRUNED = 1.05
"""How much pruning a tree adds to its least-squares error."""
