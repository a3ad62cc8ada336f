"""Gini coefficients whose mean noise hides: refused if everybody may have 0, and else the whole range."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, multinomial

import dpairs
from dpairs.protocols.histogram.hidden_divisor import surely_defined
from dpairs.protocols.histogram.protocol import Histogram

ONCE_IN = 1e-3


def told(study: dpairs.Study, shares: np.ndarray, people: int) -> float:
    """The exact chance that people with these shares of three cells are known to have a coefficient."""
    assert isinstance(study.protocol, Histogram)
    channel = study.protocol.mechanism.channel
    assert channel.shape == (3, 3)
    symbols = shares @ channel
    total = 0.0
    for first, second in product(range(people + 1), repeat=2):
        if first + second <= people:
            counts = np.array([first, second, people - first - second])
            if surely_defined(study.protocol, [counts.astype(float)]):
                total += multinomial.pmf(counts, people, symbols)
    return total


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
@pytest.mark.parametrize("mechanism", ["krr", "optimized"])
def test_a_coefficient_of_zeros_is_told_of_one_study_in_a_thousand(epsilon, mechanism):
    study = dpairs.Study.create(
        "gini_coefficient",
        protocol="histogram",
        epsilon=epsilon,
        domain=dpairs.Levels([0, 1, 2]),
        mechanism=mechanism,
    )
    zeros, few = np.array([1.0, 0.0, 0.0]), np.array([0.2, 0.4, 0.4])
    assert told(study, zeros, 40) <= ONCE_IN
    # Negative control: where most people have something, that is noticed, so the test is not always silent.
    assert told(study, few, 40) > (0.9 if epsilon > 1 else 20 * ONCE_IN)


@pytest.mark.parametrize("bins", [{"bins": 2}, {"bins": 8, "rounding": "random"}])
def test_zeros_of_a_handful_of_people_are_told_no_more_often(bins):
    """A normal test of the mean would tell 6 people of whom 5 sent the other answer."""
    study = dpairs.Study.create(
        "gini_coefficient", protocol="histogram", epsilon=1.0, domain=dpairs.Interval(0, 1), **bins
    )
    assert isinstance(study.protocol, Histogram)
    channel = study.protocol.mechanism.channel[0]
    against = study.protocol.mechanism.decoder[:, 0] < 1
    for people in (2, 4, 6, 15, 40):
        chance = 0.0
        for count in range(people + 1):
            counts = np.zeros(channel.size)
            counts[np.argmin(against)], counts[np.argmax(against)] = people - count, count
            if surely_defined(study.protocol, [counts]):
                chance += binom.pmf(count, people, channel[against].sum())
        assert chance <= ONCE_IN
    refused = 0
    for seed in range(300):
        try:
            dpairs.simulate(replace(study, seed=seed), {"value": np.zeros(6)}, seed=seed)
        except dpairs.NotEstimable:
            refused += 1
    assert refused >= 296  # at a chance of 0.001 fewer once in 65,000


def simulated(values: np.ndarray, seed: int, **more: Any) -> dpairs.Estimate:
    given: dict[str, Any] = {
        "epsilon": 4.0,
        "domain": dpairs.Interval(0, 1e5),
        "bins": 32,
        "rounding": "random",
        **more,
    }
    study = dpairs.Study.create("gini_coefficient", protocol="histogram", seed=seed, **given)
    return dpairs.simulate(study, {"value": values}, seed=seed)


def test_a_hidden_mean_gives_the_whole_range_and_says_why():
    incomes = np.random.default_rng(1).lognormal(np.log(2000), 0.5, 20_000)
    unknown = 0
    for seed in range(20):
        estimate = simulated(incomes, seed, epsilon=1.0)
        assert 0 <= estimate.value <= 1
        assert math.isinf(estimate.standard_error)
        for target in ("population", "sample"):
            assert estimate.confidence_interval(0.95, target) == (0.0, 1.0)
        assert "whole range" in estimate.notes()[0]
        assert not any("binning" in note for note in estimate.notes()), "the whole range covers it"
        assert estimate.to_json()["standard_error"] is None
        liars = estimate.manipulation(5)
        if math.isinf(liars.multiplier):
            unknown += 1
            assert (estimate.value - liars.down, estimate.value + liars.up) == pytest.approx((0, 1))
    assert unknown >= 10


def test_a_mean_that_stands_out_has_an_interval_of_its_own():
    """The control: with a domain that fits, nothing of this is said."""
    incomes = np.minimum(np.random.default_rng(2).lognormal(np.log(2e4), 0.5, 20_000), 1e5)
    estimate = simulated(incomes, 1)
    low, high = estimate.confidence_interval()
    assert high - low < 0.2
    assert not estimate.caveats


@pytest.mark.parametrize("bins", [{"bins": 32}, {"bins": 32, "rounding": "random"}])
def test_zeros_are_refused(bins):
    for seed in range(20):
        with pytest.raises(dpairs.NotEstimable):
            simulated(np.zeros(2_000), seed, **{"rounding": "simple", **bins})


def test_a_domain_without_0_always_has_a_coefficient():
    values = np.full(2_000, 1.0)
    estimate = simulated(values, 3, domain=dpairs.Interval(1, 1e6), epsilon=0.5)
    assert estimate.confidence_interval() == (0.0, 1.0)


def estimate(study: dpairs.Study, counts: tuple[int, ...]) -> dpairs.Estimate:
    tally = dpairs.Tally(study)
    tally.add_symbols("everybody", np.repeat(np.arange(len(counts)), counts))
    return tally.estimate("middle")


@pytest.mark.parametrize(
    ("domain", "honest", "liars", "lies"),
    [
        (dpairs.Interval(5, 1005, edges=(5.011, 5.237)), (0, 0, 11, 13), 2, (0, 0, 13, 11)),
        (dpairs.Interval(100, 1e5), (2, 7, 10, 11), 1, (3, 7, 10, 10)),
    ],
)
def test_liars_may_take_a_divisor_into_its_noise(domain, honest, liars, lies):
    """The value is then that of the nearest distribution, which a bound around the ratio does not hold."""
    study = dpairs.Study.create(
        "gini_coefficient", epsilon=0.5, domain=domain, bins=4, rounding="random", mechanism="krr", seed=1
    )
    before, after = estimate(study, honest), estimate(study, lies)
    bound = before.manipulation(people=liars)
    assert before.value < after.value <= before.value + bound.up
    assert bound.down + bound.up == pytest.approx(1, abs=1e-9)


def test_a_mean_far_from_its_noise_is_not_lost_by_a_lie():
    study = dpairs.Study.create(
        "gini_coefficient", epsilon=6.0, domain=dpairs.Interval(0, 10), bins=4, rounding="random", seed=1
    )
    value = np.random.default_rng(1).uniform(0, 10, 5_000)
    bound = dpairs.simulate(study, {"value": value}, seed=1).manipulation(people=5)
    assert 0 < bound.up < 0.1
