"""Populations of records and how sites share them: written down before the first run of their test.

Every record of a site is drawn from the site's own distribution, and the sites' sizes stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

import dpairs
from dpairs.data.domains import as_domains

from .population import clipped

Column: TypeAlias = NDArray[Any]
Columns: TypeAlias = dict[str, Column]
Draw: TypeAlias = Callable[[np.random.Generator, Column], Any]
"""From the site of every record to the record's columns."""
UNIT, TEN, THOUSAND = dpairs.Interval(0, 1), dpairs.Interval(-5, 5), dpairs.Interval(0, 1000)
AUC, PRIVATE, ENTROPY = ("auc:public",), ("auc:public", "auc:private"), ("collision_entropy",)
MONEY, TAUS = ("gini_coefficient", "gini_mean_difference"), ("kendall_tau:a", "kendall_tau:b")
EQUAL = (0.2,) * 5
HUGE = (0.9, *(0.1 / 19,) * 19)
ALONE = (1.0,)
MANY_SMALL = (1 / 150,) * 150
FORTY = tuple(np.random.default_rng(40).dirichlet(np.ones(40)).tolist())


@dataclass(frozen=True)
class Case:
    """Records, how sites share them, and what is asked of them."""

    statistics: tuple[str, ...]
    domain: Any
    shares: tuple[float, ...]
    draw: Draw
    n: int = 20_000

    def sites(self, n: int) -> Column:
        return np.repeat(
            np.arange(len(self.shares)), np.maximum(np.rint(np.array(self.shares) * n).astype(np.int64), 1)
        )

    def records(self, n: int, seed: int) -> Columns:
        rng, site = np.random.default_rng(seed), self.sites(n)
        made = self.draw(rng, site)
        names = {"auc": ("score", "label"), "ken": ("x", "y")}.get(self.statistics[0][:3], ("value",))
        columns = dict(zip(names, made if isinstance(made, tuple) else (made,), strict=True))
        for name, domain in zip(names, as_domains(self.domain), strict=False):
            columns[name] = clipped(domain, columns[name])
        return {**columns, "site": site}


def _labels(rng: np.random.Generator, site: Column, share: float | Column = 0.3) -> Column:
    label = (rng.random(site.size) < share).astype(np.int64)
    label[:4] = 0, 1, 0, 1
    return label


def _atom(rng: np.random.Generator, site: Column) -> Any:
    label = _labels(rng, site)
    score = rng.beta(2 + label, 3 - label)
    return np.where(rng.random(site.size) < 0.5, 0.37, score), label


def _tenths(rng: np.random.Generator, site: Column) -> Any:
    label = _labels(rng, site, 0.5)
    return np.rint(10 * rng.beta(2 + label, 2)) / 10, label


def _few_positives(rng: np.random.Generator, site: Column) -> Any:
    label = _labels(rng, site, 0.002)
    return 0.4 + 0.2 * label + 0.1 * rng.normal(size=site.size), label


def _one_class(rng: np.random.Generator, site: Column) -> Any:
    label = (site % 2).astype(np.int64)
    return 1 / (1 + np.exp(-rng.normal(1.5 * label + 0.3 * (site - 4.5), 1.0))), label


def _wide(rng: np.random.Generator, site: Column) -> Any:
    label = _labels(rng, site)
    return rng.beta(2 + 2 * label, 3), label


LEAVES = np.array([0.013, 0.04, 0.08, 0.111, 0.17, 0.24, 0.333, 0.41, 0.5, 0.62, 0.77, 0.93])


def _leaves(rng: np.random.Generator, site: Column) -> Any:
    label = _labels(rng, site, 0.2)
    return LEAVES[rng.binomial(11, 0.3 + 0.25 * label + 0.02 * (site % 5 - 2))], label


def _skewed(rng: np.random.Generator, site: Column) -> Any:
    label = _labels(rng, site, np.where(site % 3 == 0, 0.05, 0.5))
    return rng.beta(0.3 + 0.4 * label, 3), label


def _logistic_calibrated(rng: np.random.Generator, site: Column) -> Any:
    score = 1 / (1 + np.exp(-rng.normal(-3 + 0.5 * (site == 0), 1.5, site.size)))
    return score, _labels(rng, site, score)


def _round_wages(rng: np.random.Generator, site: Column) -> Column:
    exact_wage = 2500 * np.exp(0.5 * rng.normal(size=site.size))
    return np.where(rng.random(site.size) < 0.5, np.rint(exact_wage / 500) * 500, exact_wage)


def _mostly_zero(rng: np.random.Generator, site: Column) -> Column:
    return np.where(rng.random(site.size) < 0.8, 0.0, 3000 * np.exp(rng.normal(size=site.size)))


def _clumps(rng: np.random.Generator, site: Column) -> Column:
    return 0.11 + 0.2 * (site % 5) + 0.004 * rng.normal(size=site.size)


def _bivariate(rng: np.random.Generator, size: int, correlation: float) -> tuple[Column, Column]:
    x, other = rng.normal(size=(2, size))
    return x, correlation * x + np.sqrt(1 - correlation**2) * other


def _coarse_plane(rng: np.random.Generator, site: Column) -> Any:
    x, y = _bivariate(rng, site.size, 0.6)
    spike = rng.random(site.size) < 0.3
    return (
        np.where(spike, 0.5, np.rint(10 * (0.5 + 0.15 * x)) / 10),
        np.where(spike, 0.7, np.rint(10 * (0.5 + 0.15 * y)) / 10),
    )


def _levels_by_number(rng: np.random.Generator, site: Column) -> Any:
    x, y = _bivariate(rng, site.size, -0.5)
    return np.digitize(x, [-1.0, 0.0, 0.3, 1.5]), 0.5 + 0.12 * y


def _both_zero(rng: np.random.Generator, site: Column) -> Any:
    x, y = _bivariate(rng, site.size, 0.4)
    zero = rng.random(site.size) < 0.6
    return tuple(np.where(zero, 0.0, 100 * np.exp(0.8 * each)) for each in (x, y))


def _offset_plane(rng: np.random.Generator, site: Column) -> Any:
    x, y = _bivariate(rng, site.size, 0.8)
    return 0.5 + 0.05 * (site % 5 - 2) + 0.05 * x, 0.5 - 0.05 * (site % 5 - 2) + 0.05 * y


def _parabola(rng: np.random.Generator, site: Column) -> Any:
    x = rng.random(site.size)
    return x, (2 * x - 1) ** 2 + 0.01 * rng.normal(size=site.size)


def _zipf(rng: np.random.Generator, site: Column) -> Column:
    share = 1 / np.arange(1, 51)
    return rng.choice(50, site.size, p=share / share.sum())


def _favourites(rng: np.random.Generator, site: Column) -> Column:
    return np.where(rng.random(site.size) < 0.7, site % 4, rng.integers(0, 4, site.size))


CASES: dict[str, Case] = {
    "half at one score": Case(PRIVATE, UNIT, EQUAL, _atom),
    "scores in tenths, one huge site": Case(AUC, UNIT, HUGE, _tenths),
    "forty positives": Case(AUC, UNIT, EQUAL, _few_positives),
    "sites of one class": Case(AUC, UNIT, (0.1,) * 10, _one_class),
    "scores, domain 1,000 times too wide": Case(AUC, THOUSAND, EQUAL, _wide),
    "twelve leaves, forty sites": Case(AUC, UNIT, FORTY, _leaves),
    "skewed scores, many small sites": Case(AUC, UNIT, MANY_SMALL, _skewed),
    "calibrated rare scores, one site": Case(PRIVATE, UNIT, ALONE, _logistic_calibrated, 3000),
    "money, domain 10 times too wide": Case(
        MONEY, dpairs.Interval(0, 1e6), HUGE, lambda rng, site: 3e4 * np.exp(0.9 * rng.normal(size=site.size))
    ),
    "wages at round numbers": Case(MONEY, dpairs.Interval(0, 20_000), EQUAL, _round_wages),
    "heavy tail, forty sites": Case(
        MONEY, dpairs.Interval(0, 1e4), FORTY, lambda rng, site: rng.pareto(1.3, site.size) + 1
    ),
    "four fifths zero, one site": Case(MONEY, dpairs.Interval(0, 50_000), ALONE, _mostly_zero),
    "values, domain 1,000 times too wide": Case(
        ("gini_mean_difference",), THOUSAND, EQUAL, lambda rng, site: rng.beta(2, 5, site.size)
    ),
    "clumps, one for each site": Case(MONEY, UNIT, EQUAL, _clumps),
    "counts, many small sites": Case(
        MONEY,
        dpairs.Integers(0, 200),
        MANY_SMALL,
        lambda rng, site: rng.negative_binomial(1, 0.3, site.size),
    ),
    "dependence 0.99": Case(TAUS, (TEN, TEN), EQUAL, lambda rng, site: _bivariate(rng, site.size, 0.99)),
    "dependence 0.9, domain 10 times too wide": Case(
        TAUS,
        (dpairs.Interval(-40, 40),) * 2,
        HUGE,
        lambda rng, site: _bivariate(rng, site.size, 0.9),
    ),
    "tenths by tenths with a spike": Case(TAUS, (UNIT, UNIT), HUGE, _coarse_plane),
    "levels by numbers": Case(TAUS, (dpairs.Levels((0, 1, 2, 3, 4)), UNIT), FORTY, _levels_by_number),
    "both zero in most": Case(TAUS, (THOUSAND, THOUSAND), EQUAL, _both_zero),
    "offsets against the slope": Case(TAUS, (UNIT, UNIT), EQUAL, _offset_plane),
    "a parabola": Case(TAUS, (UNIT, UNIT), ALONE, _parabola, 5000),
    "fifty categories, one huge site": Case(ENTROPY, dpairs.Categories(tuple(range(50))), HUGE, _zipf),
    "each site its favourite": Case(ENTROPY, dpairs.Categories((0, 1, 2, 3)), (0.1,) * 10, _favourites),
    "nearly one category, many small sites": Case(
        ENTROPY,
        dpairs.Categories((0, 1, 2)),
        MANY_SMALL,
        lambda rng, site: (rng.random(site.size) < 0.01).astype(np.int64) * rng.integers(1, 3, site.size),
    ),
}
