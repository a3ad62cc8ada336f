"""More populations for two servers: ties, atoms, ends and steep curves, in which cells hide most.

They are of the kinds that intervals of two servers missed in the zoo. The first half was written to look at,
the second to be run once, at the end; both before the estimators that they judge were changed.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import betaincinv, ndtr

from dpairs.data.domains import Integers, Interval, Levels

from .population import Population, Vector, at, copula, exact, lognormal, mixed, normal, steps
from .populations import AUCS, MONEY, SPREAD, UNIT, classes, column, plane

SQUARE = (UNIT, UNIT)


def _ranks(u: Vector, v: Vector, correlation: float) -> tuple[Vector, Vector]:
    """Two uniform columns with a Gaussian copula."""
    x, y = copula(u, v, correlation)
    return np.asarray(ndtr(x)), np.asarray(ndtr(y))


def _doses(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Four doses, and an effect that a third of the people do not have."""
    x, y = _ranks(u, v, 0.6)
    return steps(x, (4, 3, 2, 1), (0.0, 10.0, 25.0, 100.0)), mixed(
        y, (0.33, at(0.0)), (0.67, lambda w: normal(w, 40, 12))
    )


def _quarters(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    x, y = copula(u, v, 0.7)
    return np.rint(4 * x) / 4, np.rint(4 * y) / 4


def _spent(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Half of the people spend nothing, and who spends has more."""
    x, y = _ranks(u, v, 0.4)
    return lognormal(x, 30, 0.7), mixed(y, (0.5, at(0.0)), (0.5, lambda w: lognormal(w, 5, 0.8)))


def _full_time(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    x, y = _ranks(u, v, -0.3)
    return 18 + 50 * x, mixed(
        y, (0.2, lambda w: 5 + 30 * w), (0.6, at(38.5)), (0.2, lambda w: 38.5 + 30 * w**2)
    )


def _fives(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    """A column of whole fives and a smooth one."""
    x, y = copula(u, v, 0.5)
    return 5 * np.rint(4 * x), y


def _both_none(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    x, y = _ranks(u, v, 0.7)
    return tuple(mixed(each, (0.5, at(0.0)), (0.5, lambda w: 10 * w**2)) for each in (x, y))  # type: ignore[return-value]


def _rounded(u: Vector) -> Vector:
    """Rents, nine in ten of them whole fifties."""
    rent = lognormal(u, 600, 0.45)
    return np.where((u * 1009) % 1 < 0.9, np.rint(rent / 50) * 50, rent)


LOOKED_AT: tuple[Population, ...] = (
    plane("doses", _doses, (Interval(0, 100), Interval(0, 100)), 2),
    plane("quarters", _quarters, (Interval(-4, 4), Interval(-4, 4))),
    plane("spent", _spent, (Interval(0, 300), Interval(0, 100))),
    plane("fourth-power", lambda u, v: (u, u**4), SQUARE),
    plane("steep-fall", lambda u, v: (u, 1 - np.sqrt(u)), SQUARE),
    plane("nearly-a-line", lambda u, v: (u, np.clip(u + 0.02 * (v - 0.5), 0, 1)), SQUARE),
    plane("correlation-0.95", lambda u, v: copula(u, v, 0.95), (Interval(-4, 4), Interval(-4, 4))),
    column("rents", _rounded, Interval(0, 3000)),
    column(
        "one-wage", lambda u: mixed(u, (0.97, at(7.0)), (0.03, lambda v: 7 + 13 * v)), Interval(0, 20), MONEY
    ),
    column("four-prices", lambda u: steps(u, (4, 3, 2, 1), (1.0, 2.0, 5.0, 20.0)), Interval(0, 20), MONEY),
    column("nearly-all-beyond", lambda u: lognormal(u, 50, 1), Interval(0, 5), SPREAD),
    column("ends", lambda u: np.asarray(betaincinv(0.2, 0.2, u)), UNIT, SPREAD),
    column("twelve", lambda u: steps(u, np.arange(1, 13)), Levels(range(12)), ("collision_entropy",)),
    column("mostly-two", lambda u: steps(u, (50, 40, *[1] * 10)), Integers(0, 11), ("collision_entropy",)),
    classes("cut-off", lambda c, u: normal(u, 0.45 + 0.15 * c, 0.2), Interval(0.4, 0.6)),
    classes(
        "two-groups",
        lambda c, u: mixed(u, (0.3 + 0.4 * c, lambda v: 0.8 + 0.1 * v), (0.7 - 0.4 * c, lambda v: 0.1 * v)),
    ),
    classes(
        "percent",
        lambda c, u: np.rint(100 * normal(u, 0.5 + 0.12 * c, 0.2)) / 100,
        UNIT,
    ),
    classes(
        "two-modes",
        lambda c, u: mixed(
            u,
            (0.5, lambda v: normal(v, 0.5 - 0.25 * c, 0.07)),
            (0.5, lambda v: normal(v, 0.5 + 0.25 * c, 0.07)),
        ),
    ),
    classes("one-in-twelve", lambda c, u: normal(u, 0.4 + 0.2 * c, 0.12), UNIT, 1 / 12, AUCS),
)
HELD: tuple[Population, ...] = (
    plane("full-time", _full_time, (Interval(18, 68), Interval(0, 80))),
    plane("fives", _fives, (Interval(-80, 80), Interval(-4, 4))),
    plane("none-in-both", _both_none, (Interval(0, 10), Interval(0, 10))),
    plane("exponential-growth", lambda u, v: (u, np.expm1(6 * u) / np.expm1(6)), SQUARE),
    plane("square-root", lambda u, v: (u, np.sqrt(u)), SQUARE),
    plane("thin-fall", lambda u, v: (u, np.clip(1 - u + 0.03 * (v - 0.5), 0, 1)), SQUARE),
    plane("correlation-0.8", lambda u, v: copula(u, v, 0.8), (Interval(-5, 5), Interval(-5, 5))),
    column(
        "pensions",
        lambda u: mixed(u, (0.35, at(963.0)), (0.15, at(1500.0)), (0.5, lambda v: lognormal(v, 1100, 0.4))),
        Interval(0, 4000),
    ),
    column(
        "flat-rate", lambda u: mixed(u, (0.02, lambda v: 30 * v), (0.98, at(30.0))), Interval(0, 100), MONEY
    ),
    column("tickets", lambda u: steps(u, (1, 6, 2, 1), (0.0, 2.9, 8.8, 59.0)), Interval(0, 60), MONEY),
    column("beyond-below", lambda u: normal(u, -3, 2), Interval(0, 1), SPREAD),
    column("horns", lambda u: 0.5 - 0.5 * np.cos(np.pi * u), UNIT, SPREAD),
    column("nine", lambda u: steps(u, 0.7 ** np.arange(9)), Levels(range(9)), ("collision_entropy",)),
    column("half-one-value", lambda u: steps(u, (20, *[1] * 20)), Integers(0, 20), ("collision_entropy",)),
    classes("cut-below", lambda c, u: normal(u, 0.1 + 0.15 * c, 0.2), UNIT),
    classes(
        "three-groups",
        lambda c, u: mixed(
            u,
            (0.5 - 0.3 * c, lambda v: 0.1 + 0.05 * v),
            (0.3, lambda v: 0.5 + 0.05 * v),
            (0.2 + 0.3 * c, lambda v: 0.9 + 0.05 * v),
        ),
    ),
    classes("tenths", lambda c, u: np.rint(10 * normal(u, 0.45 + 0.15 * c, 0.2)) / 10, UNIT),
    classes(
        "inner-and-outer",
        lambda c, u: mixed(
            u,
            (0.4, lambda v: normal(v, 0.4 - 0.3 * c, 0.05)),
            (0.6, lambda v: normal(v, 0.6 + 0.2 * c, 0.1)),
        ),
    ),
    classes("one-in-eight", lambda c, u: normal(u, 0.5 - 0.2 * c, 0.15), UNIT, 1 / 8, AUCS),
)
CROWDED = {each.name: each for each in (*LOOKED_AT, *HELD)}


@cache
def truth(name: str, statistic: str) -> float:
    """Of 2^17 quasi-random people; labels do not change what an AUC is."""
    return exact(statistic.replace(":private", ":public"), CROWDED[name].dense(17))
