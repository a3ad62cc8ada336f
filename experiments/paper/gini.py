"""Gini's mean difference, the Gini coefficient and the variance: the paper's generic protocol and ours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .. import shapes
from ..experiment import Figure, Findings, Picture, Setting
from ..runs import Results, Row
from .against_paper import (
    TWO_ROUNDS,
    absent,
    answers,
    covered,
    falls,
    ours_at_most,
    picture,
    relative,
    tables,
    where_lost,
)

EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0)
STATISTICS = ("gini_mean_difference", "gini_coefficient", "variance")
PEOPLE = 100_000
ROUNDING = (
    "Of a heavy tail in few bins most of the error is rounding. The number of bins grows with epsilon, so "
    "the edges move among people who crowd at one place; more bins may then round worse."
)
"""Checked for the Pareto tail: binned without any noise, its Gini coefficient is off by as much."""


def settings(quick: bool) -> list[Setting]:
    """Every statistic of every shape at every epsilon."""
    return [
        {
            "statistic": statistic,
            "shape": shape,
            "epsilon": epsilon,
            "people": PEOPLE // 10 if quick else PEOPLE,
        }
        for statistic in (STATISTICS[:1] if quick else STATISTICS)
        for shape in (("log-normal", "hospital counts") if quick else shapes.DOMAINS)
        for epsilon in ((1.0, 4.0) if quick else EPSILONS)
    ]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """New people, and an estimate of each kind."""
    shape = str(setting["shape"])
    table = {"value": shapes.numbers(shape, int(setting["people"]), seed)}
    statistic = str(setting["statistic"])
    most = 1.0 if statistic == "gini_coefficient" else None  # nothing is known where noise hides the mean
    return answers(statistic, shapes.DOMAINS[shape], table, float(setting["epsilon"]), seed, most)


def pictures(results: Results) -> Iterator[Picture]:
    yield picture(
        results,
        "gini",
        relative,
        "mean absolute error / truth",
        (0.001, 0.01, 0.1, 1, 10),
        f"{results.values('people')[0]:,} made-up people, new ones in each run. Mean absolute error over "
        "runs, as a share of the true value; bars are the standard error of that mean.",
    )


def findings(results: Results) -> Findings:
    """Errors fall, ours are at most the paper's, and intervals hold the truth."""
    ways = results.values("way")
    checks = [
        falls(results, relative, ROUNDING),
        *(ours_at_most(results, relative, way) for way in ways[1:]),
        *(covered(results, way) for way in ways),
    ]
    return Findings(
        checks,
        tables(results, relative, "mean absolute error over the true value ± its standard error"),
        [
            "Intervals are those for exactly these people. Those of the three one-round protocols are "
            "widened by the estimate's own figure for what binning may have shifted, which is an "
            f"upper limit and often large; those of {TWO_ROUNDS} need none.",
            "Where noise hides the mean, nothing is known of the Gini coefficient. 1 stands for it, and no "
            "interval: " + absent(results),
            where_lost(results, relative, TWO_ROUNDS),
        ],
    )


EXPERIMENT = Figure(
    name="gini",
    title="Gini's mean difference, Gini coefficient, variance",
    paper="Section 2 names them as examples; the paper has no experiment on them.",
    says="Gini's kernel is 1-Lipschitz, so the generic protocol, with k = n^(1/4) sqrt(L epsilon) bins, "
    "has a mean squared error of the order of L / (sqrt(n) epsilon).",
    does="Log-normal incomes, a Pareto tail, and whole numbers of the shape of the medicines of a hospital "
    "patient. The paper's protocol with its number of bins, the same with two better mechanisms, and our "
    "protocol of two rounds.",
    settings=settings,
    measure=measure,
    pictures=pictures,
    findings=findings,
)
