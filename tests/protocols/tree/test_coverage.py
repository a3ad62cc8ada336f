"""Intervals of tree estimates against the truth, over many runs of a whole study.

With DPAIRS_VALIDATE=1 every case runs 400 times with 10^4 and 10^5 people of each class, and 95% intervals
must cover at least 93%; otherwise 20 times with 10^4, and they must cover at least what a correct 95%
interval does except with probability FAILURE. Seeds are fixed.
"""

import functools
import os
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs import Estimate, Interval, Study, Tally, simulate_tally
from tests.statistics.populations import clipped_normals_auc

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
RUNS = 400 if FULL else 20
SIZES = (10_000, 100_000) if FULL else (10_000,)
FAILURE = 1e-4
"""Probability that intervals that cover 95% fail one of the smaller tests, for fresh seeds."""
ESTIMATORS = ("pruned", "paper")
EPSILONS = (1.0, 3.0)
LEVELS = np.array([0.05, 0.3, 0.31, 0.5, 0.77, 0.9])
HIGH, LOW = np.array([0.05, 0.1, 0.15, 0.2, 0.2, 0.3]), np.array([0.3, 0.2, 0.2, 0.15, 0.1, 0.05])
Scores = tuple[np.ndarray, np.ndarray]


def uniform(rng: np.random.Generator, n: int) -> Scores:
    return rng.random(n), rng.random(n)


def normals(rng: np.random.Generator, n: int) -> Scores:
    return np.clip(rng.normal(0.6, 0.15, n), 0, 1), np.clip(rng.normal(0.4, 0.15, n), 0, 1)


def ties(rng: np.random.Generator, n: int) -> Scores:
    return rng.choice(LEVELS, n, p=HIGH), rng.choice(LEVELS, n, p=LOW)


TRUTHS = {
    "uniform": 0.5,
    "normals": clipped_normals_auc(),
    "ties": float(HIGH @ (np.cumsum(LOW) - LOW / 2)),
}
DRAWS = {"uniform": uniform, "normals": normals, "ties": ties}


def test_the_truths_are_those_of_large_samples():
    rng = np.random.default_rng(1)
    for name, draw in DRAWS.items():
        found = dpairs.exact("auc", table(draw(rng, 400_000)))
        assert found == pytest.approx(TRUTHS[name], abs=0.006)


def table(scores: Scores) -> dict[str, np.ndarray]:
    return {"score": np.concatenate(scores), "label": np.repeat([1, 0], [scores[0].size, scores[1].size])}


def study(epsilon: float, **options: Any) -> Study:
    chosen: dict[str, Any] = {"bins": 2**14, "seed": 3, **options}
    return Study.create("auc", protocol="tree", epsilon=epsilon, domain=Interval(0, 1), **chosen)


@functools.cache
def fresh(name: str, n: int, epsilon: float) -> dict[str, list[Estimate]]:
    """Estimates of RUNS samples, each of new people."""
    made, rng = study(epsilon), np.random.default_rng(5)
    return estimates(simulate_tally(made, table(DRAWS[name](rng, n)), seed=run) for run in range(RUNS))


@functools.cache
def fixed(name: str, n: int, epsilon: float) -> tuple[float, dict[str, list[Estimate]]]:
    """The exact AUC of one sample, and RUNS estimates of it."""
    made, people = study(epsilon), table(DRAWS[name](np.random.default_rng(6), n))
    runs = (simulate_tally(made, people, seed=10**6 + run) for run in range(RUNS))
    return dpairs.exact("auc", people), estimates(runs)


def estimates(tallies: Iterable[Tally]) -> dict[str, list[Estimate]]:
    found: dict[str, list[Estimate]] = {name: [] for name in ESTIMATORS}
    for tally in tallies:
        for name in ESTIMATORS:
            found[name].append(tally.estimate(name))
    return found


def covered(found: list[Estimate], truth: float, target: str, shrink: float = 1.0) -> int:
    hits = 0
    for each in found:
        low, high = each.confidence_interval(0.95, target)
        hits += abs(truth - each.value) <= (high - low) / 2 * shrink
    return hits


def fewest(runs: int) -> int:
    """How many of ``runs`` intervals must cover."""
    return int(np.ceil(0.93 * runs)) if FULL else int(stats.binom.ppf(FAILURE, runs, 0.95))


CASES = [(name, n, epsilon) for name in DRAWS for n in SIZES for epsilon in EPSILONS]
each_case = pytest.mark.parametrize(("name", "n", "epsilon"), CASES)
each_estimator = pytest.mark.parametrize("estimator", ESTIMATORS)


@each_case
@each_estimator
def test_population_intervals_cover(name, n, epsilon, estimator):
    found = fresh(name, n, epsilon)[estimator]
    assert covered(found, TRUTHS[name], "population") >= fewest(RUNS)


@each_case
@each_estimator
def test_sample_intervals_cover_the_exact_value_of_fixed_people(name, n, epsilon, estimator):
    truth, found = fixed(name, n, epsilon)
    assert covered(found[estimator], truth, "sample") >= fewest(RUNS)


@each_case
@each_estimator
def test_the_standard_error_is_that_of_many_runs(name, n, epsilon, estimator):
    """Between the spread of the estimates and twice that: never far too small, never useless."""
    found = fresh(name, n, epsilon)[estimator]
    values = np.array([each.value for each in found])
    error = float(np.mean([each.standard_error for each in found]))
    # A sample's spread is off by more than this with probability FAILURE at most.
    slack = stats.norm.isf(FAILURE / 2) / np.sqrt(2 * (RUNS - 1))
    spread = values.std(ddof=1)
    assert spread * (1 - slack) < error < 2 * spread * (1 + slack)


@each_case
@each_estimator
def test_the_bias_is_small_against_the_standard_error(name, n, epsilon, estimator):
    found = fresh(name, n, epsilon)[estimator]
    values = np.array([each.value for each in found])
    error = float(np.mean([each.standard_error for each in found]))
    slack = stats.norm.isf(FAILURE / 2) * values.std(ddof=1) / np.sqrt(RUNS)
    assert abs(values.mean() - TRUTHS[name]) < 0.35 * error + slack


@each_estimator
def test_half_the_standard_error_is_noticed(estimator):
    """Negative control: intervals of half the length fail the same test, all cases taken together."""
    hits = sum(covered(fresh(*case)[estimator], TRUTHS[case[0]], "population", 0.5) for case in CASES)
    assert hits < fewest(len(CASES) * RUNS)
    hits = sum(covered(fixed(*case)[1][estimator], fixed(*case)[0], "sample", 0.5) for case in CASES)
    assert hits < fewest(len(CASES) * RUNS)


@each_estimator
@pytest.mark.parametrize("target", ["population", "sample"])
def test_all_cases_together_cover(estimator, target):
    """More runs, a sharper limit: the nominal 95% at the same failure probability, or 93%."""
    total = 0
    for case in CASES:
        truth, found = (TRUTHS[case[0]], fresh(*case)) if target == "population" else fixed(*case)
        total += covered(found[estimator], truth, target)
    assert total >= fewest(len(CASES) * RUNS)


@pytest.mark.parametrize("options", [{"splitting": "budget"}, {"answer": "several-bits"}], ids=str)
def test_other_ways_to_answer_cover_as_well(options):
    n, epsilon = 10_000, 6.0
    made, rng = study(epsilon, bins=2**6, **options), np.random.default_rng(8)
    people = table(normals(rng, n))
    truth = dpairs.exact("auc", {**people, "score": np.floor(people["score"] * 63.9999)})
    found = estimates(simulate_tally(made, table(normals(rng, n)), seed=run) for run in range(RUNS))
    again = estimates(simulate_tally(made, people, seed=10**6 + run) for run in range(RUNS))
    for estimator in ESTIMATORS:
        assert covered(found[estimator], TRUTHS["normals"], "population") >= fewest(RUNS)
        assert covered(again[estimator], truth, "sample") >= fewest(RUNS)
