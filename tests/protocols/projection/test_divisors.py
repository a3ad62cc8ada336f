"""Gini coefficients of people who nearly all have nothing: what the first round knows of their mean."""

from dataclasses import replace

import numpy as np
import pytest

import dpairs
from dpairs import Integers, Interval, Levels
from dpairs.protocols.projection.divided import Divided, _above_nothing
from dpairs.protocols.projection.winsorize import SURE, Tail

from .cases import first_tally


def found_of(people: np.ndarray, high: float, epsilon: float, seed: int) -> dpairs.Estimate:
    study = dpairs.Study.create(
        "gini_coefficient",
        protocol="projection",
        epsilon=epsilon,
        domain=Interval(0, high),
        n=people.size,
        seed=seed,
    )
    return dpairs.simulate(study, {"value": people}, seed=seed)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0, 8.0])
@pytest.mark.parametrize(
    "domain",
    [Interval(0, 1e5), Integers(0, 1000), Integers(0, 20), Levels(range(6)), Levels(np.arange(24) / 2)],
)
def test_people_who_all_have_nothing_have_no_value(domain, epsilon):
    """One study in 200 takes noise for people who have something: four of ten in one of 7 million tests."""
    refused = 0
    study = dpairs.Study.create(
        "gini_coefficient", protocol="projection", epsilon=epsilon, domain=domain, n=20_000
    )
    for seed in range(10):
        try:
            dpairs.simulate(replace(study, seed=seed), {"value": np.zeros(20_000)}, seed=seed)
        except dpairs.NotEstimable:
            refused += 1
    assert refused >= 7


def test_a_study_of_nothing_is_refused_before_others_answer():
    study = dpairs.Study.create(
        "gini_coefficient", protocol="projection", epsilon=4.0, domain=Interval(0, 1e5), n=20_000, seed=1
    )
    with pytest.raises(dpairs.NotEstimable, match="by the first round the mean may be 0"):
        study.next(first_tally(study, {"value": np.zeros(20_000)}))


def test_a_mean_that_is_hardly_known_leaves_nearly_the_whole_range():
    """Few people on a domain ten times too wide: they have something, but how much nobody knows."""
    people = np.random.default_rng(4).lognormal(3.4, 0.7, 4000).clip(0, 2000)
    low, high = found_of(people, 2000, 1.0, 4).confidence_interval()
    assert low <= dpairs.exact("gini_coefficient", {"value": people}) <= high
    assert high - low > 0.8


@pytest.mark.parametrize("seed", range(4))
def test_a_few_who_have_something_are_enough(seed):
    """Of 92% zeros on a wide domain the mean of all is off by itself, not that of people moved to 6,000."""
    rng = np.random.default_rng(seed)
    people = np.where(rng.random(20_000) < 0.92, 0.0, rng.lognormal(np.log(7000), 1, 20_000)).clip(0, 1e5)
    found = found_of(people, 1e5, 8.0, seed)
    low, high = found.confidence_interval()
    assert low <= dpairs.exact("gini_coefficient", {"value": people}) <= high
    assert high - low < 0.15
    assert not found.caveats


# ---------------------------------------------------------------- the least that a mean can be


def test_the_least_mean_is_that_of_lower_ends_up_to_each_leaf():
    starts = np.array([0.0, 1.0, 2.0, 6.0])
    shares = np.array([0.5, 0.3, 0.3, -0.1])
    noise = np.random.default_rng(1).normal(0, 0.01, (32, 4))
    least = Tail(starts, np.array([1.0, 2.0, 6.0, 12.0]), shares, shares + noise).least()
    assert [mean for mean, _ in least] == pytest.approx([0.5, 0.7, 0.5, 0.3, 0.3])
    assert least[0][1] == pytest.approx(np.std(noise[:, 1:].sum(axis=1), ddof=1))


def test_people_in_the_first_leaf_may_all_have_nothing():
    shares = np.array([1.0, 0.0])
    tail = Tail(np.array([0.0, 1.0]), np.array([1.0, 2.0]), shares, np.tile(shares, (2, 1)))
    assert tail.least() == ((0.0, 0.0), (0.0, 0.0))


def test_the_surest_of_the_least_means_counts():
    """By hand: r = 10 / 5 and a relative error of 0.1, where 8 with an error of 4 says nothing.

    At the end of its interval 5 is 5 (1 - 0.196), and r larger by 0.196 r / 0.804: 1.96 times 0.2 / 0.804.
    """
    chosen = _above_nothing(10.0, [(8.0, 4.0), (5.0, 0.5), (1.0, 0.01)])
    assert chosen == pytest.approx((1.0 + (0.2 / 0.804) ** 2, 1.0), rel=1e-4)
    assert _above_nothing(10.0, [(8.0, 4.0), (SURE, 1.0)]) is None


# ---------------------------------------------------------------- what is missed


def test_only_a_correction_beyond_the_usual_adds_to_what_rounds_miss():
    divided = Divided(0.1, 0.5, 0.0, 0.03, 0.0, 0.0, usual=0.04, missed=0.02)
    assert divided.variance(0.1) == pytest.approx(0.02)
    assert divided.variance(0.3) == pytest.approx(0.02 + 0.5 * (0.09 - 0.04))


def test_the_real_correction_counts_where_it_is_smaller():
    divided = Divided(0.1, 0.5, 0.0, 0.001, 0.0, 0.0, usual=0.04, missed=0.02)
    assert divided.variance(0.1) == pytest.approx(0.001 + 0.5 * 0.01)
    assert divided.further(4.0).missed == pytest.approx(16 * 0.02)


def test_noise_is_stretched_once():
    """By the factor's mean square, or by Fieller's slack."""
    measured, imagined = Divided(0.1, 0.5, 0.0, 0.02, 0.0, 0.0), Divided(0.1, 0.5, 0.0, 0.02, 0.1, 0.0)
    assert measured.noisier == pytest.approx(1.7)
    assert measured.slack == 1.0
    assert imagined.noisier == 1.0
    assert imagined.slack > 1


def test_files_from_before_have_six_numbers():
    statistic = dpairs.Study.create(
        "gini_coefficient", protocol="projection", epsilon=1.0, domain=Interval(0, 1), n=1000
    ).statistic
    for divided, numbers in (
        (Divided(0.1, 0.5, 0.0, 0.02, 0.0, 0.0, usual=0.04, missed=0.01), 8),
        (Divided(0.1, 0.5, 0.1, 0.02, 0.2, 0.0), 6),
    ):
        assert len(divided.to_json()) == numbers
        assert Divided.from_json(statistic, divided.to_json()) == divided
    with pytest.raises(dpairs.BadFile, match="variances from 0"):
        Divided.from_json(statistic, [0.1, 0.5, 0.0, 0.02, 0.0, 0.0, 0.04, -0.01])
