"""A third set of populations: heavy tails, levels with a long tail, atoms, domains that are too wide.

The second half of the zoo has been looked at. These were written down before the allowances that they judge
were changed, and are to be run once.
"""

from __future__ import annotations

import numpy as np

from dpairs.data.domains import Integers, Interval, Levels

from .population import Population, Vector, at, copula, lognormal, mixed, normal, pareto, steps
from .populations import POPULATIONS, SPREAD, classes, column, plane


def student_2(u: Vector) -> Vector:
    """Student's t with two degrees of freedom: just without a variance."""
    return np.asarray((2 * u - 1) / np.sqrt(2 * u * (1 - u)))


def skewed(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    x, y = copula(u, v, 0.6)
    return 10 * np.exp(1.5 * x), 10 * np.exp(1.5 * y)


WIDE = Interval(-900, 900)
THIRD: dict[str, Population] = {
    each.name: each
    for each in (
        column("lognormal-1.5", lambda u: lognormal(u, 500, 1.5), Interval(0, 1e5)),
        column("pareto-1.8", lambda u: 100 * pareto(u, 1.8), Interval(0, 1e5)),
        column("log-logistic-2", lambda u: 20 * np.sqrt(u / (1 - u)), Interval(0, 2000)),
        column("student-2", student_2, Interval(-200, 200), SPREAD),
        column(
            "levels-geometric",
            lambda u: steps(u, 0.9 ** np.arange(48)),
            Levels(range(48)),
            (*SPREAD, "collision_entropy"),
        ),
        column("levels-square", lambda u: steps(u, 1 / np.arange(1, 61) ** 2), Levels(range(60)), SPREAD),
        column("few-at-the-top", lambda u: steps(u, (90, *[5 / 38] * 38, 5)), Levels(range(40)), SPREAD),
        column("wages-500-wide", lambda u: lognormal(u, 15, 0.5), Interval(0, 20_000)),
        column(
            "claims",
            lambda u: mixed(u, (0.95, at(0.0)), (0.05, lambda v: lognormal(v, 3000, 1.5))),
            Interval(0, 1e6),
        ),
        column("counts-heavy", lambda u: np.floor(pareto(u, 1.5)) - 1, Integers(0, 500)),
        column(
            "half-at-the-least",
            lambda u: mixed(u, (0.55, at(12.0)), (0.45, lambda v: 12 + lognormal(v, 8, 1))),
            Interval(0, 300),
        ),
        classes("scores-300-wide", lambda c, u: normal(u, 0.5 + 0.15 * c, 0.2), Interval(-200, 200)),
        classes(
            "ties-80",
            lambda c, u: mixed(u, (0.8, at(2.0)), (0.2, lambda v: normal(v, 3 + c, 1))),
            Interval(0, 100),
        ),
        classes("skewed-scores", lambda c, u: lognormal(u, 1 + 0.8 * c, 1.5), Interval(0, 5000)),
        plane("plane-225-wide", lambda u, v: copula(u, v, 0.3), (WIDE, WIDE)),
        plane("skewed-plane", skewed, (Interval(0, 2000), Interval(0, 2000))),
    )
}
EVERY = {**POPULATIONS, **THIRD}
