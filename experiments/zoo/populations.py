"""The populations of the zoo by name, written down before the estimators that they judge."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import betaincinv, ndtr

from dpairs.data.domains import Integers, Interval, Levels

from .population import Population, Vector, at, copula, lognormal, mixed, normal, pareto, steps

UNIT = Interval(0, 1)
MONEY = ("gini_mean_difference", "gini_coefficient", "variance")
SPREAD = ("gini_mean_difference", "variance")
TAUS = ("kendall_tau:a", "kendall_tau:b")
AUCS = ("auc:public", "auc:private")
TAU_MONEY = math.sin(math.pi * 0.07 / 2)
"""The correlation of a Gaussian copula whose tau is 0.07."""


def column(name: str, make: Any, domain: Any, statistics: tuple[str, ...] = MONEY) -> Population:
    return Population(name, ("value",), make, 1, domain, statistics)


def classes(
    name: str,
    make: Any,
    domain: Any = UNIT,
    positives: float = 0.5,
    statistics: tuple[str, ...] = AUCS,
) -> Population:
    """``make`` gets the class and a uniform number."""
    return Population(name, ("score", "label"), make, 1, domain, statistics, positives)


def plane(name: str, make: Any, domain: Any, dimensions: int = 2) -> Population:
    return Population(name, ("x", "y"), make, dimensions, domain, TAUS)


def income(u: Vector) -> Vector:
    """In thousands: median 30, Gini 0.38."""
    return lognormal(u, 30.0, 0.7)


def heaped_age(u: Vector) -> Vector:
    """Ages from 18 to 90, a third of them given as a multiple of ten."""
    young = 18 + 72 * u**1.3
    return np.where((u * 997) % 1 < 1 / 3, np.rint(young / 10) * 10, np.rint(young))


def heaped_hours(u: Vector) -> Vector:
    """Hours a week: half of the people say 40, some 35, 50 and 60, the rest anything."""
    return mixed(
        u,
        (0.15, lambda v: 1 + 34 * v),
        (0.05, at(35.0)),
        (0.5, at(40.0)),
        (0.1, lambda v: 40 + 10 * v),
        (0.08, at(50.0)),
        (0.05, at(60.0)),
        (0.07, lambda v: 60 + 39 * v**2),
    )


def logistic(x: Any) -> Vector:
    return np.asarray(1 / (1 + np.exp(-np.asarray(x))))


COLUMNS = (
    column(
        "zeros-92-lognormal",
        lambda u: mixed(u, (0.92, at(0.0)), (0.08, lambda v: lognormal(v, 7000, 1))),
        Interval(0, 1e5),
    ),
    column("pareto-2.5", lambda u: pareto(u, 2.5), Interval(0, 1e4)),
    column("pareto-1.2", lambda u: pareto(u, 1.2), Interval(0, 1e6)),
    column("income", income, Interval(0, 200)),
    column("income-domain-10-wide", income, Interval(0, 2000)),
    column("income-domain-1000-wide", income, Interval(0, 200_000)),
    column("income-domain-10-narrow", income, Interval(0, 20)),
    column("income-domain-1000-narrow", income, Interval(0, 0.2), SPREAD),
    column(
        "income-rounded",
        lambda u: np.where(u % 0.01 < 0.007, np.rint(income(u) / 10) * 10, income(u)),
        Interval(0, 300),
    ),
    column("three-atoms", lambda u: steps(u, (5, 3, 2), (0.0, 1.0, 100.0)), Interval(0, 100)),
    column(
        "two-far-normals",
        lambda u: mixed(u, (0.5, lambda v: normal(v, 10, 1)), (0.5, lambda v: normal(v, 90, 1))),
        Interval(0, 100),
    ),
    column("even", lambda u: u, Interval(0, 1)),
    column("both-ends", lambda u: np.asarray(betaincinv(0.3, 0.3, u)), Interval(0, 1)),
    column("exponential", lambda u: -np.log1p(-u), Interval(0, 50)),
    column("spike", lambda u: normal(u, 0.5, 0.001), Interval(0, 1)),
    column("lognormal-2", lambda u: lognormal(u, 1000, 2), Interval(0, 1e6)),
    column(
        "gains-and-losses",
        lambda u: mixed(
            u,
            (0.3, lambda v: -lognormal(v, 2000, 1.5)),
            (0.4, at(0.0)),
            (0.3, lambda v: lognormal(v, 3000, 1.5)),
        ),
        Interval(-1e5, 1e5),
        SPREAD,
    ),
    column(
        "whole-and-between",
        lambda u: mixed(u, (0.5, lambda v: np.floor(5 * v) + 1), (0.5, lambda v: 5 * v)),
        Interval(0, 5),
    ),
    column(
        "nearly-constant", lambda u: mixed(u, (0.995, at(5.0)), (0.005, lambda v: 10 * v)), Interval(0, 10)
    ),
    column("age", heaped_age, Integers(0, 120), (*MONEY, "collision_entropy")),
    column("age-domain-10-wide", heaped_age, Integers(0, 1000), MONEY),
    column(
        "visits",
        lambda u: np.floor(np.log1p(-u) / math.log(0.5)),
        Integers(0, 100),
        (*MONEY, "collision_entropy"),
    ),
    column(
        "zipf",
        lambda u: steps(u, 1 / np.arange(1, 65)),
        Levels(range(64)),
        ("collision_entropy", "gini_mean_difference"),
    ),
    column("even-16", lambda u: np.floor(16 * u), Levels(range(16)), ("collision_entropy", "variance")),
    column(
        "one-of-ten-has-95",
        lambda u: steps(u, (95, *[5 / 9] * 9)),
        Levels(range(10)),
        ("collision_entropy", *MONEY),
    ),
)

CLASSES = (
    classes("normals", lambda c, u: normal(u, 0.4 + 0.2 * c, 0.15)),
    classes(
        "ties-92", lambda c, u: mixed(u, (0.92, at(0.3)), (0.08, lambda v: normal(v, 0.5 + 0.2 * c, 0.1)))
    ),
    classes(
        "positives-5", lambda c, u: normal(u, 0.4 + 0.2 * c, 0.15), positives=0.05, statistics=("auc:public",)
    ),
    classes(
        "positives-1", lambda c, u: normal(u, 0.4 + 0.1 * c, 0.15), positives=0.01, statistics=("auc:public",)
    ),
    classes("nearly-perfect", lambda c, u: normal(u, 0.3 + 0.4 * c, 0.11)),
    classes(
        "gap",
        lambda c, u: mixed(u, (0.5 + 0.3 * c, lambda v: 0.9 + 0.1 * v), (0.5 - 0.3 * c, lambda v: 0.1 * v)),
    ),
    classes("saturated", lambda c, u: logistic(6 * normal(u, -0.5 + c, 1))),
    classes("two-decimals", lambda c, u: np.rint(100 * normal(u, 0.45 + 0.1 * c, 0.1)) / 100),
    classes("five-levels", lambda c, u: steps(u, (30 - 5 * c, 25, 20, 15, 10 + 5 * c)), Levels(range(5))),
    classes("scores-1000-wide", lambda c, u: normal(u, 0.4 + 0.2 * c, 0.15), Interval(0, 1000)),
    classes("scores-10-narrow", lambda c, u: normal(u, 0.4 + 0.2 * c, 0.15), Interval(0.45, 0.55)),
    classes("cauchy", lambda c, u: np.tan(math.pi * (u - 0.5)) + c, Interval(-1000, 1000)),
    classes("rare-scores", lambda c, u: np.asarray(betaincinv(2 + c, 20, u))),
    classes("whole-scores", lambda c, u: np.floor(2**20 * u ** (1 / (1 + c))), Integers(0, 2**20 - 1)),
    classes(
        "around",
        lambda c, u: mixed(
            u,
            (0.5, lambda v: normal(v, 0.5 - 0.2 * c, 0.08)),
            (0.5, lambda v: normal(v, 0.5 + 0.2 * c, 0.08)),
        ),
    ),
)


def money(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    x, y = copula(u, v, TAU_MONEY)
    return 20_000 * np.exp(x), 10_000 * np.exp(1.2 * y) - 5_000


def age_hours(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    x, y = copula(u, v, 0.2)
    return 17 + 73 * np.asarray(ndtr(x)) ** 1.3, heaped_hours(np.asarray(ndtr(y)))


def zero_inflated(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    x, y = (np.asarray(ndtr(each)) for each in copula(u, v, 0.5))
    return tuple(mixed(each, (0.7, at(0.0)), (0.3, lambda w: lognormal(w, 100, 1))) for each in (x, y))  # type: ignore[return-value]


def ring(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    angle, far = 2 * math.pi * u, 0.8 + 0.1 * v
    return far * np.cos(angle), far * np.sin(angle)


def clusters(u: Vector, v: Vector) -> tuple[Vector, Vector]:
    """Four far groups, in two of which both columns are high or low together."""
    centre = steps(u, (35, 15, 15, 35)).astype(np.int64)
    inside = (u * 7919) % 1
    return np.array([10, 10, 90, 90])[centre] + 4 * inside, np.array([10, 90, 10, 90])[centre] + 4 * v


NORMAL, RATINGS = Interval(-4, 4), Levels(range(5))
PLANES = (
    plane("money", money, (Interval(0, 1e6), Interval(-2e5, 1e6))),
    plane("age-and-hours", age_hours, (Interval(17, 90), Interval(1, 99))),
    plane("correlation-0.99", lambda u, v: copula(u, v, 0.99), (NORMAL, NORMAL)),
    plane("correlation-0.5", lambda u, v: copula(u, v, 0.5), (NORMAL, NORMAL)),
    plane("correlation--0.9", lambda u, v: copula(u, v, -0.9), (NORMAL, NORMAL)),
    plane("independent", lambda u, v: (u, v), (Interval(0, 1), Interval(0, 1))),
    plane(
        "ratings",
        lambda u, v: tuple(
            np.clip(np.rint(2 + 1.1 * each), 0, 4).astype(np.int64) for each in copula(u, v, 0.6)
        ),
        (RATINGS, RATINGS),
    ),
    plane(
        "three-by-continuous",
        lambda u, v: (
            np.clip(np.rint(1 + copula(u, v, 0.4)[0]), 0, 2).astype(np.int64),
            copula(u, v, 0.4)[1],
        ),
        (Levels(range(3)), NORMAL),
    ),
    plane(
        "halves", lambda u, v: tuple(np.rint(2 * each) / 2 for each in copula(u, v, 0.5)), (NORMAL, NORMAL)
    ),
    plane("plane-1000-wide", lambda u, v: copula(u, v, 0.5), (Interval(-4000, 4000), Interval(-4000, 4000))),
    plane("plane-10-narrow", lambda u, v: copula(u, v, 0.5), (Interval(-0.4, 0.4), Interval(-0.4, 0.4))),
    plane("cube", lambda u, v: (u, u**3), (Interval(0, 1), Interval(0, 1))),
    plane("clusters", clusters, (Interval(0, 100), Interval(0, 100))),
    plane("ring", ring, (Interval(-1, 1), Interval(-1, 1))),
    plane(
        "age-and-visits",
        lambda u, v: (heaped_age(u), np.floor(-np.log1p(-v) * (1 + 2 * u))),
        (Integers(0, 120), Integers(0, 20)),
    ),
    plane("zeros-in-both", zero_inflated, (Interval(0, 5000), Interval(0, 5000))),
)
NAMED = {
    "zeros-92-lognormal",
    "pareto-2.5",
    "income-domain-10-wide",
    "money",
    "age-and-hours",
    "correlation-0.99",
    "ties-92",
    "positives-5",
}
"""Shapes on which intervals were known to fail before there was a zoo."""
POPULATIONS: dict[str, Population] = {each.name: each for each in (*COLUMNS, *CLASSES, *PLANES)}
