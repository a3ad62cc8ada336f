"""A pilot for distances: the distribution function nearest to the measured one.

The mean distance is twice the integral of F (1 - F), so what the derivative at a pilot G misses of people H
is the integral of 2 (G - H)^2. The measured function M need not rise. Of all that do, and lie between 0 and
1, let G be the nearest to M in that integral: these functions are a convex set that H is in, so G is never
further from H than M is, whoever the people are.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..tree.hierarchy import Solution, of_both
from .pilot_descent import Descent, Explored

Vector = NDArray[np.float64]


def nearest(explored: Explored, solution: Solution) -> Descent:
    """The people in every node of one column; of several rounds, a row each."""
    order, starts, stops = explored.line
    # Nobody lies beyond the domain's end, whatever was measured there.
    inside = stops > starts
    measured = solution.ends(order)
    ends = np.zeros(measured.shape)
    ends[..., order[inside]] = _rising(measured[..., inside], (stops - starts)[inside])
    counts = np.cumsum([np.count_nonzero(~level.expanded) for level in explored.levels])
    masses: list[Vector] = []
    for level, own in zip(reversed(explored.levels), reversed(np.split(ends, counts[:-1], -1)), strict=True):
        people = np.empty((*ends.shape[:-1], level.nodes.size))
        people[..., ~level.expanded] = own
        if masses:
            people[..., level.expanded] = of_both(masses[-1])
        masses.append(people)
    masses.reverse()
    into = [level.expanded & (people > 0) for level, people in zip(explored.levels, masses, strict=True)]
    return Descent(explored.levels, masses, into, explored.leaves, explored.boxes)


def _rising(shares: Vector, widths: Vector) -> Vector:
    """Shares of nodes beside each other whose sums are nearest to these sums."""
    from scipy.optimize import isotonic_regression

    # The function is known where nodes meet: each place stands for half of the nodes beside it.
    weights = (widths[:-1] + widths[1:]) / 2
    sums = np.cumsum(shares, axis=-1)[..., :-1]
    rising = np.ones(shares.shape)
    for row in np.ndindex(shares.shape[:-1]):
        rising[row][:-1] = np.clip(isotonic_regression(sums[row], weights=weights).x, 0.0, 1.0)
    return np.diff(rising, axis=-1, prepend=0.0)
