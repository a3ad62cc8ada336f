"""Populations that broke intervals after the zoo was written, by somebody who tried others: zoo-outside.csv.

    python -m experiments.zoo.outside               all of them, 200 runs each
    python -m experiments.zoo.outside --runs 20     fewer, shown and not kept

Each run has fresh people and fresh noise, by `projection` where no other protocol is named. Of incomes that
are all 0 there is no true value: nothing but the whole range covers.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import dpairs
from dpairs.data.domains import Categories, Domain, Integers, Interval, Levels

from ..exhibits import RESULTS
from .kept_rows import command
from .outside_people import (
    Columns,
    Draw,
    apart,
    at_both_ends,
    bands,
    beside,
    classes,
    days_ill,
    debts,
    far,
    few_counts,
    few_of_many,
    few_ones,
    five_scores,
    four_scores,
    frequent,
    grades,
    half_zeros,
    halfway,
    heavy,
    lognormal,
    lowest,
    middle,
    often_nothing,
    ones,
    powers,
    rooms,
    sawtooth,
    schooling,
    scores,
    squares,
    stays,
    successes,
    tied_negatives,
    times_at_bat,
    two_clusters,
    two_far_values,
    two_leaves,
    two_scores,
    two_values,
    visits,
    waits,
    zeros_by_chance,
)

STORE = RESULTS / "zoo-outside.csv"
RUNS, MANY = 200, 400_000
"""Runs of a row, and people of whom the population's value is taken."""


@dataclass(frozen=True)
class Case:
    """People, what is asked of them, and why that was hard."""

    name: str
    statistic: str
    domain: Domain | tuple[Domain, ...]
    epsilon: float
    n: int
    draw: Draw
    options: Mapping[str, Any] = field(default_factory=dict)

    def study(self, seed: int) -> dpairs.Study:
        given: dict[str, Any] = {"epsilon": self.epsilon, "domain": self.domain, "n": self.n}
        return dpairs.Study.create(
            self.statistic, seed=seed, **{"protocol": "projection", **given, **self.options}
        )

    def exact(self, people: Columns) -> float:
        asked = {name: value for name, value in self.options.items() if name in ("labels", "variant")}
        try:
            return dpairs.exact(self.statistic, people, **asked)
        except dpairs.NotEnoughData:
            return math.nan


@dataclass(frozen=True)
class Outside:
    """Of all runs of a row; widths are halves of intervals."""

    population: str
    statistic: str
    epsilon: float
    n: int
    runs: int
    refused: int
    truth: float
    error: float
    width: float
    covered: float
    covered_sample: float


LISTED, UNIT, TWO = Levels([0, 1, 2, 3]), Interval(0, 1), Levels([0.0, 1.0])
WIDE, WIDER, NORMAL, EIGHT = Interval(0, 1_000), Interval(0, 2_000), Interval(-4, 4), Interval(-8, 8)
MONTH, MILLION = Integers(0, 31), Integers(0, 10**6)
CHANCE = (Interval(0, 100), NORMAL)
GRADES, SQUARES = (Integers(0, 7), Interval(0, 20_000)), (Interval(0, 50), Interval(0, 2_500))
THOUSAND = (Integers(0, 1_000), Integers(0, 50))
STAYS, SCHOOLING = (Integers(1, 14), Integers(0, 100)), (Integers(0, 25), Interval(0, 500))
BANDS, MANY_VALUES = Levels([0, 10, 20, 50, 100, 200, 500, 1000]), Categories(range(300))
DOMINANT = np.append(0.6, np.full(299, 0.4 / 299))
PRIVATE = {"labels": "private"}
ALL, DEBTS = Interval(0.01, 1e5), Interval(-2e5, 1e6, scale="asinh")
POINTS = {"protocol": "histogram", "rounding": "random"}
ROUNDED = {"protocol": "histogram", "rounding": "random", "bins": 8}
CASES = (
    Case("3 for 1 in 1,000", "variance", LISTED, 8.0, 20_000, far(0.001)),
    Case("3 for 1 in 1,000", "variance", LISTED, 8.0, 2_000, far(0.001)),
    Case("bins=8", "gini_mean_difference", UNIT, 4.0, 5_000, two_leaves, {"bins": 8}),
    Case("1,000 times too wide", "auc", Interval(0, 10_000), 4.0, 5_000, scores(0.5, 3, 5)),
    Case("20,000 times too wide", "auc", Interval(0, 200_000), 4.0, 5_000, scores(0.5, 3, 5)),
    Case("100,000 times too wide", "auc", Interval(0, 1_000_000), 4.0, 5_000, scores(0.5, 3, 5)),
    Case("100,000 times too wide", "auc", Interval(0, 1_000_000), 1.0, 20_000, scores(0.5, 3, 5)),
    Case("20,000 times too wide", "auc", Interval(0, 200_000), 4.0, 5_000, scores(0.5, 3, 5), PRIVATE),
    Case("100,000 times too wide", "auc", Interval(0, 1_000_000), 4.0, 5_000, scores(0.5, 3, 5), PRIVATE),
    Case("narrow classes", "auc", Interval(0, 5_000), 0.5, 2_000, scores(0.5, 1_000, 1_003)),
    Case("lognormal scores", "auc", Interval(0, 1e6), 4.0, 20_000, lognormal),
    Case("lognormal scores", "auc", Interval(0, 1e6), 4.0, 20_000, lognormal, PRIVATE),
    Case("0 and 1", "kendall_tau", (UNIT, Interval(-4, 6)), 4.0, 20_000, two_values, {"variant": "b"}),
    Case("0 and 1", "kendall_tau", (UNIT, Interval(-4, 6)), 4.0, 20_000, two_values, {"variant": "a"}),
    Case("0 and 1, listed", "kendall_tau", (TWO, Interval(-4, 6)), 4.0, 20_000, two_values, {"variant": "b"}),
    Case("few ones", "kendall_tau", (UNIT, Interval(0, 30)), 4.0, 2_000, few_ones, {"variant": "b"}),
    Case("half 0, too wide", "kendall_tau", (WIDE, NORMAL), 4.0, 2_000, half_zeros, {"variant": "a"}),
    Case("half 0, too wide", "kendall_tau", (WIDE, NORMAL), 4.0, 20_000, half_zeros, {"variant": "a"}),
    Case("half 0, too wide", "kendall_tau", (WIDE, NORMAL), 1.0, 20_000, half_zeros, {"variant": "a"}),
    Case("0 by chance", "kendall_tau", CHANCE, 4.0, 20_000, zeros_by_chance, {"variant": "a"}),
    Case("0 by chance", "kendall_tau", CHANCE, 4.0, 20_000, zeros_by_chance, {"variant": "b"}),
    Case("beside", "kendall_tau", (Interval(0, 10), NORMAL), 4.0, 20_000, beside, {"variant": "a"}),
    Case(
        "few counts", "kendall_tau", (Integers(0, 1_000), NORMAL), 8.0, 20_000, few_counts, {"variant": "a"}
    ),
    Case("two clusters", "kendall_tau", (EIGHT, EIGHT), 4.0, 20_000, two_clusters, {"variant": "b"}),
    Case("half 0, Pareto 1.2", "variance", Interval(0, 988), 8.0, 20_000, heavy),
    Case("half 0, Pareto 1.2", "variance", Interval(0, 988), 4.0, 20_000, heavy),
    Case("two scores", "auc", Interval(0, 10), 1.0, 20_000, two_scores, PRIVATE),
    Case("halfway, rounded", "gini_coefficient", Interval(0, 100), 1.0, 20_000, halfway, ROUNDED),
    Case("halfway, rounded", "gini_mean_difference", Interval(0, 100), 0.5, 500, halfway, ROUNDED),
    Case(
        "two far values, 64 bins",
        "gini_mean_difference",
        Interval(1_000, 1_100),
        1.0,
        2_000,
        two_far_values,
        {**ROUNDED, "bins": 64},
    ),
    Case(
        "at both ends, 16 bins",
        "gini_mean_difference",
        UNIT,
        1.0,
        2_000,
        at_both_ends,
        {**ROUNDED, "bins": 16},
    ),
    Case("four scores, too wide", "auc", Interval(0, 100_000), 8.0, 20_000, four_scores),
    Case("four scores, too wide", "auc", Interval(0, 100_000), 8.0, 20_000, four_scores, PRIVATE),
    Case("five scores, too wide", "auc", Interval(0, 5_000_000), 1.0, 10_000, five_scores, PRIVATE),
    Case("tied negatives", "auc", Interval(0, 100), 1.0, 10_000, tied_negatives, PRIVATE),
    Case("a class of five", "auc", UNIT, 1.0, 1_000, lowest),
    Case("a class of fifty", "auc", UNIT, 1.0, 10_000, lowest),
    Case("all have 0", "gini_coefficient", Interval(0, 100_000), 1.0, 20_000, far(0.0)),
    Case("all have 0", "gini_coefficient", Interval(0, 100_000), 8.0, 20_000, far(0.0)),
    Case("visits to a doctor", "gini_coefficient", MONTH, 0.5, 20_000, visits),
    Case("visits to a doctor", "gini_coefficient", MONTH, 1.0, 20_000, visits),
    Case("days ill of those hurt", "auc", MONTH, 1.0, 20_000, days_ill, PRIVATE),
    Case("days ill of those hurt", "auc", MONTH, 4.0, 20_000, days_ill, PRIVATE),
    Case("times at bat", "collision_entropy", Integers(0, 800), 1.0, 20_000, times_at_bat),
    Case("times at bat", "collision_entropy", Integers(0, 800), 2.0, 20_000, times_at_bat),
    Case("3 of a million", "collision_entropy", MILLION, 0.5, 20_000, few_of_many(3)),
    Case("8 of a million", "collision_entropy", MILLION, 1.0, 20_000, few_of_many(8)),
    Case("20 of a million", "collision_entropy", MILLION, 1.0, 20_000, few_of_many(20)),
    Case("20 of a million", "collision_entropy", MILLION, 4.0, 20_000, few_of_many(20)),
    Case("visits, up to 64", "gini_coefficient", Integers(0, 64), 0.5, 20_000, visits),
    Case("powers of 2", "gini_coefficient", Levels([2.0**i for i in range(24)]), 8.0, 20_000, powers),
    Case("twenty positives", "auc", Integers(0, 20), 8.0, 2_000, classes(0.01, 5.0, 2.0)),
    Case("a hundred positives, all tied", "auc", Integers(0, 20), 8.0, 20_000, classes(0.005, 0.0, 0.0)),
    Case("3% far from zeros", "gini_coefficient", WIDER, 1.0, 20_000, apart(0.03, 500.0, often_nothing)),
    Case("2% far from zeros", "gini_coefficient", WIDER, 4.0, 20_000, apart(0.02, 1500.0, often_nothing)),
    Case("4% far from others", "gini_coefficient", WIDER, 1.0, 20_000, apart(0.04, 620.0, rooms)),
    Case(
        "2% at 5,000 of a million", "gini_mean_difference", MILLION, 1.0, 20_000, apart(0.02, 5000.0, waits)
    ),
    Case("13,545 of a million", "collision_entropy", MILLION, 8.0, 20_000, few_of_many(13_545)),
    Case("six teeth", "kendall_tau", (UNIT, UNIT), 4.0, 20_000, sawtooth(6), {"variant": "a"}),
    Case("three teeth", "kendall_tau", (UNIT, UNIT), 8.0, 20_000, sawtooth(3), {"variant": "a"}),
    Case("two teeth", "kendall_tau", (UNIT, UNIT), 2.0, 20_000, sawtooth(2), {"variant": "a"}),
    Case("bands of incomes", "gini_coefficient", BANDS, 1.0, 20_000, bands),
    Case("bands of incomes", "gini_coefficient", BANDS, 2.0, 2_000, bands),
    Case("three attempts of 32", "gini_coefficient", Levels(range(33)), 0.5, 20_000, successes),
    Case("three attempts of 32", "gini_coefficient", Levels(range(33)), 1.0, 2_000, successes),
    Case("three attempts of 32", "gini_coefficient", Integers(0, 32), 2.0, 20_000, successes),
    Case("all have 0, listed", "gini_coefficient", Levels(range(16)), 1.0, 20_000, far(0.0)),
    Case("visits, one round", "gini_mean_difference", MONTH, 0.5, 2_000, visits, {"protocol": "histogram"}),
    Case("visits of few", "variance", MONTH, 8.0, 200, visits, {"protocol": "histogram"}),
    Case("visits of few", "variance", MONTH, 8.0, 500, visits),
    Case("visits of few, too wide", "gini_mean_difference", MILLION, 8.0, 200, visits, ROUNDED),
    Case("60% and 299 others", "collision_entropy", MANY_VALUES, 4.0, 2_000, frequent(DOMINANT)),
    Case("days and medicines", "kendall_tau", STAYS, 1.0, 20_000, stays, {"variant": "a"}),
    Case("schooling and pay", "kendall_tau", SCHOOLING, 1.0, 20_000, schooling, {"variant": "a"}),
    Case("grades and pay", "kendall_tau", GRADES, 1.0, 20_000, grades, {"variant": "a"}),
    Case("x and its square", "kendall_tau", SQUARES, 4.0, 20_000, squares, {"variant": "a"}),
    Case("1 by rank, of 300", "collision_entropy", MANY_VALUES, 4.0, 2_000, frequent(1 / np.arange(1, 301))),
    Case("near the middle", "kendall_tau", THOUSAND, 1.0, 20_000, middle(8, 0.95), {"variant": "a"}),
    Case("near the middle, mildly", "kendall_tau", THOUSAND, 1.0, 20_000, middle(8, 0.6), {"variant": "a"}),
    Case("3 of 1,000 have all", "gini_coefficient", ALL, 8.0, 20_000, apart(0.003, 1e5, ones), POINTS),
    Case("fifty with debts", "gini_mean_difference", DEBTS, 8.0, 50, debts, POINTS),
    Case("fifty with debts", "variance", DEBTS, 8.0, 50, debts, POINTS),
)


def measured(case: Case, runs: int) -> Outside:
    truth = case.exact(case.draw(np.random.default_rng(0), MANY))
    rows: list[tuple[float, ...]] = []
    refused = 0
    for run in range(runs):
        people = case.draw(np.random.default_rng(1 + run), case.n)
        try:
            estimate = dpairs.simulate(case.study(run), people, seed=run)
        except (dpairs.NotEstimable, dpairs.NotEnoughData):
            refused += 1
            if math.isnan(truth):  # nothing is defined, so no number is right
                rows.append((math.nan, 0.0, True, True))
            continue
        own = case.exact(people)
        ends = [estimate.confidence_interval(0.95, of) for of in ("population", "sample")]
        holds = [
            high - low == 1 if math.isnan(true) else low <= true <= high
            for (low, high), true in zip(ends, (truth, own), strict=True)
        ]
        rows.append((estimate.value - truth, (ends[0][1] - ends[0][0]) / 2, *holds))
    off, widths, covered, covered_sample = np.array(rows, dtype=float).T
    kinds = [f":{case.options[name]}" for name in ("labels", "variant") if name in case.options]
    return Outside(
        case.name,
        "".join((case.statistic, *kinds)),
        case.epsilon,
        case.n,
        runs,
        refused,
        truth,
        float(np.sqrt((off**2).mean())),
        float(np.median(widths)),
        float(covered.mean()),
        float(covered_sample.mean()),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    def rows(runs: int) -> Iterator[Outside]:
        return (measured(case, runs) for case in CASES)

    return command("outside", "Populations that broke intervals.", rows, RUNS, STORE, arguments)


if __name__ == "__main__":
    sys.exit(main())
