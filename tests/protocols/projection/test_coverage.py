"""Intervals of projection studies against the truth, over many runs of both rounds.

With DPAIRS_VALIDATE=1 every case runs 400 times with 10^4 and 10^5 people at three epsilons: 95% intervals
must cover in 92%, but for what 400 runs are off by chance with probability FULL_FAILURE, and be at most
LONGEST times as long as those of somebody who knows how values are distributed. Otherwise every case runs 24
times with 10^4 people at epsilon 1, and intervals must cover at least what a correct 95% interval does except
with probability FAILURE. Every run has new people, so one set of runs serves both targets: the population's
value, and the exact value of the run's own people. Seeds are fixed.
"""

import os
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs import Estimate

from ...statistics.populations import continuous

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
RUNS = 400 if FULL else 24
SIZES = (10_000, 100_000) if FULL else (10_000,)
EPSILONS = (0.5, 1.0, 4.0) if FULL else (1.0,)
FAILURE = 1e-4
"""Probability that intervals that cover 95% fail one of the smaller tests, for fresh seeds."""
FULL_FAILURE = 0.01
"""Probability that intervals that cover 92% fail one of the full tests, for fresh seeds."""
ONE = 1 - 2 * stats.norm.sf(1)
"""The share of normal errors within a standard error."""
SHORT = 0.5 if FULL else 0.25
"""A part of an interval's length that is noticed to be too short: fewer runs notice less."""
LONGEST, LONGEST_OF_NUMBERS = 1.5, 2.0
"""Of an interval over one of somebody who knows the errors; of tau of two columns of numbers. Up to epsilon 1
their first round tells neither ties nor dependence over short stretches from smooth columns, nor where in a
column people lie, and the interval allows for all three. Normal columns that fit their domain have none."""
EVERY = continuous()
CASES = [(name, n, epsilon) for name in EVERY for n in SIZES for epsilon in EPSILONS]
TARGETS = ("population", "sample")


@dataclass(frozen=True)
class Runs:
    """Estimates, and the exact value of each run's people."""

    found: list[Estimate]
    exact: list[float]
    truth: float

    def targets(self, target: str) -> list[float]:
        return self.exact if target == "sample" else [self.truth] * len(self.found)

    def intervals(self, target: str) -> np.ndarray:
        return np.array([each.confidence_interval(0.95, target) for each in self.found])

    def covered(self, target: str, shrink: float = 1.0) -> int:
        """How many intervals hold the truth, each end at ``shrink`` of its distance from the value."""
        truths, values = np.array(self.targets(target)), np.array([each.value for each in self.found])
        low, high = (values + shrink * (end - values) for end in self.intervals(target).T)
        return int(np.count_nonzero((low <= truths) & (truths <= high)))

    def length(self, target: str) -> float:
        """The median length, as a multiple of the shortest around all values that covers in 95% of them."""
        low, high = self.intervals(target).T
        return float(np.median(high - low) / 2 / np.quantile(np.abs(self.errors(target)), 0.95))

    def errors(self, target: str) -> np.ndarray:
        return np.array([each.value for each in self.found]) - np.array(self.targets(target))

    def stated(self, target: str) -> float:
        sample = target == "sample"
        errors = [each.sample_standard_error if sample else each.standard_error for each in self.found]
        return float(np.median(errors))

    @property
    def bias(self) -> float:
        """How far values may be off on average, as the estimates say."""
        return float(np.mean([each.bias for each in self.found]))


def runs(name: str, n: int, epsilon: float) -> Runs:
    population, rng = EVERY[name], np.random.default_rng(2026)
    study = population.study(epsilon, protocol="projection", n=n)
    found, exact = [], []
    for run in range(RUNS):
        people = population.draw(rng, n)
        found.append(dpairs.simulate(study, people, seed=run))
        exact.append(dpairs.exact(population.statistic, people, **population.options))
    return Runs(found, exact, population.truth)


def fewest(count: int) -> int:
    """How many of ``count`` intervals must cover."""
    return int(stats.binom.ppf(FULL_FAILURE, count, 0.92) if FULL else stats.binom.ppf(FAILURE, count, 0.95))


def longest(name: str) -> float:
    return LONGEST_OF_NUMBERS if name == "tau-a-normal" else LONGEST


def test_the_truths_are_those_of_large_samples():
    rng = np.random.default_rng(1)
    for population in EVERY.values():
        found = dpairs.exact(population.statistic, population.draw(rng, 200_000), **population.options)
        assert found == pytest.approx(population.truth, abs=0.006)


@pytest.mark.parametrize(("name", "n", "epsilon"), CASES)
def test_intervals_cover_and_say_how_long_they_must_be(name, n, epsilon):
    """One test of all that a set of runs shows, so that no two processes make the same runs."""
    made = runs(name, n, epsilon)
    for target in TARGETS:
        assert made.covered(target) >= fewest(RUNS), target
        if FULL:
            assert made.length(target) <= longest(name), target
        # Negative control: intervals that are much too short fail the same test.
        assert made.covered(target, SHORT * LONGEST / longest(name)) < fewest(RUNS), target
        # Never far too small, never useless, but for a bias. A few ratios are far off, so quantiles are
        # compared: that of the share ONE within a standard error is off by more than this but for FAILURE.
        slack = stats.norm.isf(FAILURE / 2) * np.sqrt(ONE * (1 - ONE) / RUNS) / (2 * stats.norm.pdf(1))
        errors, stated = made.errors(target), made.stated(target)
        around = np.quantile(np.abs(errors - np.median(errors)), ONE)
        assert 0.8 * (1 - slack) < stated / around < 1.4 * (1 + slack), target
        slack = stats.norm.isf(FAILURE / 2) * errors.std(ddof=1) / np.sqrt(RUNS)
        assert abs(errors.mean()) < 0.35 * stated + made.bias + slack, target


def test_the_two_targets_differ_where_they_should():
    """Negative control: at a large epsilon the sample's interval is far too short for the population."""
    population, rng, count = EVERY["tau-a-ratings"], np.random.default_rng(3), 100 if FULL else 50
    study = population.study(8.0, protocol="projection", n=10_000)
    found = [dpairs.simulate(study, population.draw(rng, 10_000), seed=run) for run in range(count)]
    made = Runs(found, [population.truth] * count, population.truth)
    limit = stats.binom.ppf(FAILURE, count, 0.95)
    assert made.covered("population") >= limit
    assert made.covered("sample") < limit
