"""One-round frequency oracles and the planned study on the same people, into results/one-round.csv.

    python -m experiments.zoo.compare            what the file does not have
    python -m experiments.zoo.compare --ours     our column again, after a change of an estimator

The others' mechanism, normalization and bins are the best in these very runs, which flatters them: the
best of many noisy numbers. Ours is the first option of `plan(like=...)` for another sample of the same
population, with one round or two, and its estimator.
"""

from __future__ import annotations

import csv
import math
import sys
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs
from dpairs.errors import BadParameter, NotEnoughData, NotEstimable
from dpairs.statistics import statistic as named

from ..exhibits import RESULTS
from .one_round import ORACLES, cell_counts, grid_of, values_of
from .population import Population, options_of
from .populations import POPULATIONS
from .truths import truths

STORE = RESULTS / "one-round.csv"
CASES = (
    ("ties-92", "auc:public"),
    ("saturated", "auc:public"),
    ("two-decimals", "auc:public"),
    ("money", "kendall_tau:a"),
    ("age-and-hours", "kendall_tau:a"),
    ("age-and-visits", "kendall_tau:a"),
    ("income", "gini_coefficient"),
    ("zeros-92-lognormal", "gini_coefficient"),
)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE, RUNS = 30_000, 200
BINS, BINS_PAIR = (4, 8, 16, 32, 64, 128), (3, 4, 6, 8, 12)
REFUSED = "no study"
LIKE = 10**6
"""The seed of the people a plan is made for."""


HEAD = ["population", "statistic", "epsilon", "best_other", "ours", "ratio", "covered", "other", "study"]


def root_mean_square(errors: list[float]) -> float:
    kept = [each for each in errors if math.isfinite(each)]
    return math.sqrt(float(np.mean(np.square(kept)))) if 2 * len(kept) > len(errors) else math.inf


@lru_cache(maxsize=len(BINS) * RUNS)
def _counts(population: str, statistic: str, bins: int, run: int) -> list[NDArray[np.int64]]:
    """The same for every epsilon."""
    of, (name, options) = POPULATIONS[population], options_of(statistic)
    made = named(name, **options)
    return cell_counts(made, grid_of(made, of.domains, bins), of.draw(PEOPLE, run))


def theirs(of: Population, statistic: str, epsilon: float) -> tuple[float, str]:
    """The smallest error of all oracles, normalizations and bins, and whose it is."""
    name, options = options_of(statistic)
    made, truth = named(name, **options), truths()[f"{of.name}/{statistic}"]
    errors: dict[str, list[float]] = {}
    for bins in BINS if len(of.domains) == 1 else BINS_PAIR:
        grid = grid_of(made, of.domains, bins)
        for run in range(RUNS):
            counts = _counts(of.name, statistic, bins, run)
            for oracle, draw in ORACLES.items():
                rng = np.random.default_rng([run, bins])
                for way, value in values_of(made, grid, counts, draw, epsilon, rng).items():
                    errors.setdefault(f"{oracle}, {way}, {grid.cells} cells", []).append(value - truth)
    return min((root_mean_square(each), way) for way, each in errors.items())


def ours(of: Population, statistic: str, epsilon: float) -> tuple[float, float, str]:
    """The planned study's error, how often its interval covers, and what it is."""
    name, options = options_of(statistic)
    truth, sizes = truths()[f"{of.name}/{statistic}"], sizes_of(of, options)
    like = of.draw(PEOPLE, LIKE)
    try:
        plan = dpairs.plan(name, domain=of.domain, epsilon=epsilon, n=sizes, like=like, **options)
    except BadParameter:  # nothing answers, and the plan says why
        return math.nan, math.nan, REFUSED
    option = plan.options[0]
    errors, held = [], 0
    for run in range(RUNS):
        try:
            study = replace(option.study, seed=run)
            found = dpairs.simulate(study, of.draw(PEOPLE, run), seed=run, estimator=option.estimator)
        except (NotEstimable, NotEnoughData):
            errors.append(math.nan)
            continue
        low, high = found.confidence_interval()
        errors.append(found.value - truth)
        held += low <= truth <= high
    told = max(sum(map(math.isfinite, errors)), 1)
    return root_mean_square(errors), held / told, f"{option.protocol} {option.parameters}"


def sizes_of(of: Population, options: dict[str, Any]) -> Any:
    if options.get("labels") != "public":
        return PEOPLE
    positive = round(of.positives * PEOPLE)
    return {"positive": positive, "negative": PEOPLE - positive}


def row(population: str, statistic: str, epsilon: float, known: tuple[float, str] | None = None) -> list[str]:
    of = POPULATIONS[population]
    best, way = known or theirs(of, statistic, epsilon)
    error, covered, study = ours(of, statistic, epsilon)
    numbers = [f"{each:.4g}" for each in (epsilon, best, error, error / best, covered)]
    return [population, statistic, *numbers, way, study]


def write(lines: list[list[str]]) -> None:
    with STORE.open("w", newline="", encoding="utf-8") as kept:
        csv.writer(kept, lineterminator="\n").writerows(lines)


def ours_again(lines: list[list[str]]) -> None:
    """Theirs depends on nothing of this package, so it stays."""
    for place, line in enumerate(lines[1:], start=1):
        lines[place] = row(line[0], line[1], float(line[2]), (float(line[3]), line[7]))
        print(*lines[place], flush=True)
        write(lines)


def main() -> None:
    lines = [HEAD]
    if STORE.exists():
        with STORE.open(newline="", encoding="utf-8") as kept:
            lines = list(csv.reader(kept))
    if "--ours" in sys.argv[1:]:
        ours_again(lines)
        return
    known = {(each[0], each[2]) for each in lines}
    for population, statistic in CASES:
        for epsilon in EPSILONS:
            if (population, f"{epsilon:.4g}") not in known:
                lines.append(row(population, statistic, epsilon))
                print(*lines[-1], flush=True)
                write(lines)


if __name__ == "__main__":
    main()
