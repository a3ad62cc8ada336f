"""A few people far from the others, and leaves that are too wide: what a round does not see by chance."""

import os
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dpairs import Integers, Interval, Study, exact, simulate
from dpairs.protocols.histogram.moments import Moments
from dpairs.protocols.projection import second_round
from dpairs.protocols.projection.analysis import Analysis

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
RUNS = 200 if FULL else 40
FAILURE = 1e-4
FEWEST = int(stats.binom.ppf(FAILURE, RUNS, 0.92))
"""Of intervals that hold in 92%, so many do at least but for a chance of FAILURE, for fresh seeds."""


def covered(study: Study, draw, truth: float) -> tuple[int, int]:
    """How many intervals hold the population's value, and how many that of the people drawn."""
    population = sample = 0
    for run in range(RUNS):
        table = {"value": draw(np.random.default_rng([7, run]))}
        estimate = simulate(replace(study, seed=run), table, seed=run)
        low, high = estimate.confidence_interval()
        below, above = estimate.confidence_interval(target="sample")
        population += low <= truth <= high
        sample += below <= exact(study.statistic.name, table) <= above
    return population, sample


def rare(rng: np.random.Generator) -> np.ndarray:
    """20 of 2,000 people on average have 3."""
    return np.where(rng.random(2000) < 0.01, 3, 0)


def rare_study(statistic: str) -> Study:
    return Study.create(statistic, epsilon=8.0, domain=Integers(0, 3), protocol="projection", n=2000)


@pytest.mark.parametrize(("statistic", "truth"), [("variance", 0.0891), ("gini_mean_difference", 0.0594)])
def test_rounds_that_see_few_of_a_rare_value_do_not_count_too_much(statistic, truth):
    assert min(covered(rare_study(statistic), rare, truth)) >= FEWEST


def test_weights_by_each_rounds_own_variance_are_noticed(monkeypatch):
    """Negative control, of people of whom one in 1,000 has 3: the round without any has all of the weight.

    Noise that reports must show keeps it from that as well, in either round, so the control leaves both out.
    """

    def rarer(rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random(2000) < 0.001, 3, 0)

    study, pooled = rare_study("variance"), Analysis.pooled
    _, sample = covered(study, rarer, 0.008991)
    assert sample >= FEWEST

    def apart(self, totals):
        return pooled(replace(self, noises=None), totals)

    monkeypatch.setattr(Analysis, "pooled", apart)
    monkeypatch.setattr(Analysis, "least_varied", lambda self, stratum: 0.0)
    monkeypatch.setattr(Moments, "variances", lambda self, sizes, seen: seen)
    _, sample = covered(study, rarer, 0.008991)
    assert sample < FEWEST


def within_a_leaf(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(0.31, 0.005, 5000)


COARSE = Study.create(
    "gini_mean_difference", epsilon=4.0, domain=Interval(0, 1), protocol="projection", n=5000, bins=8
)
DISTANCE = 2 * 0.005 / np.sqrt(np.pi)


def test_intervals_allow_for_leaves_that_hold_most_people():
    assert min(covered(COARSE, within_a_leaf, DISTANCE)) >= FEWEST


def test_leaves_that_are_taken_for_evenly_filled_are_noticed(monkeypatch):
    """Negative control: without the allowance hardly an interval holds."""
    monkeypatch.setattr(second_round, "within_leaves", lambda statistic, pilot: 0.0)
    assert max(covered(COARSE, within_a_leaf, DISTANCE)) < FEWEST
