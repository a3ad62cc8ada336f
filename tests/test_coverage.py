"""Intervals and estimates against the truth, over many runs of a whole study.

With DPAIRS_VALIDATE=1 every case runs 400 times at both sizes, as the documentation claims; otherwise
40 times at the smaller one. The limits on coverage are those of the claim, widened for fewer runs to
what a correct 95% interval stays within except with probability FAILURE. Seeds are fixed.
"""

import numpy as np
import pytest

import dpairs
from dpairs.protocols.sides import of_symbols
from dpairs.simulate import simulate_tally
from tests.strategies import dense

from .against_truth import FULL, check, covered, limits
from .statistics.populations import Population, populations

RUNS = 400 if FULL else 40
SIZES = (10_000, 100_000) if FULL else (10_000,)
EVERY = populations()
REGULAR = [name for name in EVERY if not name.startswith("degenerate")]
DEGENERATE = [name for name in EVERY if name.startswith("degenerate")]


def estimates(
    population: Population, epsilon: float, n: int, mechanism: str, runs: int = RUNS
) -> list[dpairs.Estimate]:
    """One estimate for each of so many fresh samples of people."""
    study, rng = population.study(epsilon, mechanism=mechanism), np.random.default_rng(2026)
    return [dpairs.simulate(study, population.draw(rng, n), seed=run) for run in range(runs)]


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("mechanism", ["krr", "projective"])
@pytest.mark.parametrize("name", REGULAR)
def test_population_interval_covers_and_mean_is_right(name, mechanism, epsilon, n):
    population = EVERY[name]
    found = estimates(population, epsilon, n, mechanism)
    check(found, population.truth)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("name", REGULAR)
def test_sample_interval_covers_the_exact_statistic_of_fixed_people(name, epsilon):
    population = EVERY[name]
    study, people = population.study(epsilon), population.draw(np.random.default_rng(7), 10_000)
    truth = dpairs.exact(population.statistic, people, **population.options)
    found = [dpairs.simulate(study, people, seed=run) for run in range(RUNS)]
    low, high = limits(RUNS)
    assert low <= covered(found, truth, "sample") <= high


def test_the_two_targets_differ_where_they_should():
    """Negative control: at epsilon 4 the sample's interval is too short for the population, by far."""
    population = EVERY["auc-public-half"]
    found = estimates(population, 4.0, 10_000, "krr")
    assert covered(found, population.truth, "sample") < 0.88
    assert all(each.sample_standard_error < each.standard_error for each in found)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_kernels_have_the_right_standard_error_and_enough_coverage(name, epsilon):
    """Where the first-order term vanishes the standard error is of order 1/n, and the interval is long."""
    population = EVERY[name]
    runs = max(RUNS, 100)  # spreads of order 1/n have long tails
    found = estimates(population, epsilon, 10_000, "krr", runs)
    values = np.array([each.value for each in found])
    typical = float(np.median([each.standard_error for each in found]))
    assert 0.6 < typical / values.std() < 1.5
    assert covered(found, population.truth) >= limits(runs)[0]
    # Values stop at the end of the statistic's range, which is where the even entropy lies.
    free = (values > found[0].bounds[0]) & (values < found[0].bounds[1])
    if free.all():
        assert abs(values.mean() - population.truth) < 4 * values.std() / np.sqrt(runs)
    else:
        assert abs(np.median(values) - population.truth) < 4 * 1.2533 * values.std() / np.sqrt(runs)


def test_wrong_noise_is_noticed():
    """Negative control: reports drawn at epsilon 0.7 but decoded as if at 1 lie outside the intervals."""
    population = EVERY["gini-mean-difference"]
    claimed, used = population.study(1.0, mechanism="krr"), population.study(0.7, mechanism="krr")
    rng, hits = np.random.default_rng(3), 0
    for run in range(100):
        drawn = simulate_tally(used, population.draw(rng, 10_000), seed=run)
        tally = dpairs.Tally(claimed)
        symbols = np.repeat(np.arange(of_symbols(claimed).symbols), dense(drawn, "everybody"))
        tally.add_symbols("everybody", symbols)
        low, high = tally.estimate().confidence_interval()
        hits += low <= population.truth <= high
    assert hits < 60


def test_a_bigger_crowd_has_a_smaller_error():
    population = EVERY["tau-a"]
    rng, study = np.random.default_rng(1), population.study(1.0)
    few = dpairs.simulate(study, population.draw(rng, 5_000), seed=1).standard_error
    many = dpairs.simulate(study, population.draw(rng, 500_000), seed=1).standard_error
    assert few / many == pytest.approx(10, rel=0.15)
