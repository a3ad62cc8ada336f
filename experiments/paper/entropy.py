"""Collision entropy of categories: the paper's randomized response and ours."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from .. import shapes
from ..experiment import Figure, Findings, Picture, Setting
from ..runs import Results, Row
from .against_paper import (
    TWO_ROUNDS,
    absent,
    absolute,
    answers,
    covered,
    falls,
    ours_at_most,
    picture,
    tables,
    where_lost,
)

EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE = 200_000


def settings(quick: bool) -> list[Setting]:
    """Every shape at every epsilon."""
    return [
        {
            "statistic": "collision_entropy",
            "shape": shape,
            "epsilon": epsilon,
            "people": PEOPLE // 10 if quick else PEOPLE,
        }
        for shape in (("uniform, 16", "hospital, 9") if quick else shapes.SHARES)
        for epsilon in ((1.0, 4.0) if quick else EPSILONS)
    ]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """New people, and an estimate of each kind."""
    shape, statistic = str(setting["shape"]), str(setting["statistic"])
    domain = shapes.categories(shape)
    table = {"value": shapes.members(shape, int(setting["people"]), seed)}
    return answers(statistic, domain, table, float(setting["epsilon"]), seed, most=math.log(domain.size))


def pictures(results: Results) -> Iterator[Picture]:
    yield picture(
        results,
        "entropy",
        absolute,
        "mean absolute error (nats)",
        (0.00001, 0.0001, 0.001, 0.01, 0.1, 1),
        f"{results.values('people')[0]:,} made-up people, new ones in each run. Mean absolute error of the "
        "collision entropy over runs; bars are the standard error of that mean.",
    )


def findings(results: Results) -> Findings:
    """Errors fall, ours are at most the paper's, and intervals hold the truth."""
    ways = results.values("way")
    checks = [
        falls(results, absolute),
        *(ours_at_most(results, absolute, way) for way in ways[1:]),
        *(covered(results, way) for way in ways),
    ]
    return Findings(
        checks,
        tables(results, absolute, "mean absolute error in nats ± its standard error"),
        [
            "An estimated collision probability below 0 has no logarithm. The largest possible entropy "
            "stands for it, and no interval: " + absent(results),
            where_lost(results, absolute, TWO_ROUNDS)
            + " With even shares the chance to agree is the same whatever a person has, so there is no error "
            "of first order, and a histogram needs none of what a second round could add.",
        ],
    )


EXPERIMENT = Figure(
    name="entropy",
    title="Collision entropy of categories",
    paper="Section 2 names it as an example; the paper has no experiment on it.",
    says="Randomized response applies directly to a discrete domain of k values, with a variance of the "
    "order of k^2 / (n epsilon^2) for the chance that two people agree.",
    does="Even shares, Zipf's law, and shares of the shape of diagnosis groups. The paper's protocol, the "
    "same with two better mechanisms, and our protocol of two rounds.",
    settings=settings,
    measure=measure,
    pictures=pictures,
    findings=findings,
)
