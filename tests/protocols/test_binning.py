"""Intervals of histograms and trees that allow for what cells hide."""

import os
from typing import cast

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs.errors import NotEstimable
from dpairs.protocols import Histogram
from dpairs.protocols.counts import DenseCounts

FAILURE = 1e-6
RUNS = 60 if os.environ.get("DPAIRS_VALIDATE") else 30
FEWEST = stats.binom.ppf(FAILURE, RUNS, 0.95) / RUNS
"""A 95% interval covers less often than this with probability FAILURE."""


def covered(study, draw, truth, target="population", estimator=None):
    """How often the interval holds the value, and how often one that ignores the bias would."""
    held, ignoring = 0, 0
    for run in range(RUNS):
        people = draw(np.random.default_rng(run))
        value = truth if target == "population" else dpairs.exact(study.statistic, people)
        found = dpairs.simulate(study, people, seed=run, estimator=estimator)
        low, high = found.confidence_interval(0.95, target)
        held += low <= value <= high
        error = found.standard_error if target == "population" else found.sample_standard_error
        ignoring += abs(found.value - value) <= 1.96 * error
    return held / RUNS, ignoring / RUNS


def test_a_domain_far_too_wide_is_covered_and_ignoring_the_bins_is_not():
    study = dpairs.Study.create("gini_mean_difference", epsilon=4.0, domain=dpairs.Interval(0, 1e7), bins=16)
    held, ignoring = covered(study, lambda rng: {"value": rng.exponential(1e4, 20_000)}, 1e4)
    assert held >= FEWEST
    assert ignoring < 0.1


def test_sixteen_bins_at_epsilon_four_cover_skewed_scores():
    def draw(rng):
        label = (rng.random(20_000) < 0.5).astype(int)
        return {"score": rng.beta(1 + label, 60), "label": label}

    points = (np.arange(200_000) + 0.5) / 200_000
    truth = float(stats.beta.cdf(stats.beta.ppf(points, 2, 60), 1, 60).mean())
    study = dpairs.Study.create("auc", epsilon=4.0, domain=dpairs.Interval(0, 1), bins=16)
    held, ignoring = covered(study, draw, truth)
    assert held >= FEWEST
    assert ignoring < 0.9


@pytest.mark.parametrize("protocol", ["tree", "histogram"])
def test_the_sample_interval_of_unequal_classes_holds(protocol):
    def draw(rng):
        label = (np.arange(1_000) < 50).astype(int)
        return {"score": np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1), "label": label}

    options = {"answer": "several-bits", "bins": 256} if protocol == "tree" else {"bins": 64}
    study = dpairs.Study.create(
        "auc", protocol=protocol, epsilon=8.0, domain=dpairs.Interval(0, 1), **options
    )
    assert covered(study, draw, None, "sample")[0] >= FEWEST


def test_cells_of_one_value_each_leave_no_bias():
    study = dpairs.Study.create("gini_mean_difference", epsilon=1.0, domain=dpairs.Levels(range(8)))
    people = {"value": np.arange(8_000) % 8}
    assert dpairs.simulate(study, people, seed=1).bias == 0
    assert dpairs.simulate(study, people, seed=1).quantization.bound == 0


def test_leaves_that_hold_an_atom_of_both_classes_leave_half_of_its_pairs():
    label = np.arange(20_000) % 2
    people = {"score": np.where(np.arange(20_000) < 18_400, 0.3, 0.6), "label": label}
    study = dpairs.Study.create("auc", protocol="tree", epsilon=8.0, domain=dpairs.Interval(0, 1), bins=1024)
    found = dpairs.simulate(study, people, seed=1)
    assert found.bias == pytest.approx((0.92**2 + 0.08**2) / 2, rel=0.1)
    listed = dpairs.Study.create("auc", protocol="tree", epsilon=8.0, domain=dpairs.Levels([0.3, 0.6]))
    assert dpairs.simulate(listed, people, seed=1).bias == 0


@pytest.mark.parametrize(
    "domain",
    [dpairs.Interval(0, 100), dpairs.Integers(0, 100), dpairs.Levels(range(20))],
    ids=lambda d: d.kind,
)
def test_the_gini_coefficient_of_nothing_is_refused(domain):
    study = dpairs.Study.create(
        "gini_coefficient", protocol="histogram", epsilon=1.0, domain=domain, n=20_000
    )
    refused = 0
    for seed in range(20):
        try:
            dpairs.simulate(study, {"value": np.zeros(20_000)}, seed=seed)
        except NotEstimable:
            refused += 1
    # A noisy mean of 0 passes for more than 0 in one of a thousand studies.
    assert refused >= stats.binom.ppf(FAILURE, 20, 0.999)


def test_values_and_intervals_stay_in_range():
    few = dpairs.Study.create("auc", epsilon=0.5, domain=dpairs.Interval(0, 1), bins=8)
    people = {"score": [0.1, 0.4, 0.5, 0.7, 0.9], "label": [0, 1, 0, 1, 1]}
    for seed in range(20):
        found = dpairs.simulate(few, people, seed=seed)
        low, high = found.confidence_interval()
        assert 0 <= low <= found.value <= high <= 1
    noisy = dpairs.Study.create("collision_entropy", epsilon=0.1, domain=dpairs.Levels(range(8)))
    values = {"value": np.arange(500) % 8}
    for seed in range(20):
        try:
            found = dpairs.simulate(noisy, values, seed=seed)
        except NotEstimable:
            continue
        low, high = found.confidence_interval()
        assert 0 <= low <= found.value <= high <= 2.1


def test_lies_move_the_nearest_distribution_no_further_than_is_said():
    """They change the noise, which limits how far it is moved: it moves by more than the mean itself."""
    study = dpairs.Study.create("auc", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=4, seed=1)
    protocol = cast(Histogram, study.protocol)

    def counts(negative: list[int]) -> dict[str, DenseCounts]:
        made = {"positive": DenseCounts(4), "negative": DenseCounts(4)}
        for name, symbols in (("positive", [0, 7, 0, 0]), ("negative", negative)):
            made[name].array[:] = symbols
        return made

    honest, lied = counts([0, 0, 7, 0]), counts([1, 0, 6, 0])
    change = protocol.estimate(lied, "simplex").value - protocol.estimate(honest, "simplex").value
    mean, up = (protocol.manipulation(honest, name, 1).up for name in ("paper", "simplex"))
    assert 1.4 * mean < change <= up


def test_the_nearest_distribution_moves_the_value_within_its_noise():
    study = dpairs.Study.create("auc", epsilon=0.5, domain=dpairs.Interval(0, 1), bins=64)
    rng = np.random.default_rng(3)
    label = np.arange(4_000) % 2
    people = {"score": np.where(rng.random(4_000) < 0.9, 0.31, rng.random(4_000)), "label": label}
    square = {"paper": 0.0, "simplex": 0.0}
    for seed in range(40):
        plain, near = (dpairs.simulate(study, people, seed=seed, estimator=each) for each in square)
        assert abs(near.value - plain.value) <= 1.96 * plain.sample_standard_error
        assert near.confidence_interval() == plain.confidence_interval()
        low, high = near.confidence_interval()
        assert low <= near.value <= high
        for found in (plain, near):
            square[found.estimator] += (found.value - 0.5) ** 2
    assert square["simplex"] < 0.5 * square["paper"]
