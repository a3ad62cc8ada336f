"""Answers of two servers: near the truth, honest about it, and planned."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

import dpairs
from dpairs import Categories, Interval, Levels, NotEstimable, Study
from dpairs.protocols import Trust
from dpairs.protocols.two_servers.answer import from_counts
from dpairs.protocols.two_servers.bins import WHOLE

UNIT = Interval(0, 1)
FAILURE = 1e-4
"""The chance that a correct interval's coverage is refused, for fresh seeds."""
TRUTH = float(norm.cdf(0.1 / (0.15 * np.sqrt(2))))


def people(seed, n):
    rng = np.random.default_rng(seed)
    score = np.concatenate([rng.normal(0.55, 0.15, n), rng.normal(0.45, 0.15, n)]).clip(0, 1)
    return {"score": score, "label": np.repeat([1, 0], n)}


def runs(study, n, count):
    """Estimates, and the exact values of their people."""
    samples = [people([n, seed], n) for seed in range(count)]
    return [
        (dpairs.simulate(study, data, seed=seed), dpairs.exact("auc", data))
        for seed, data in enumerate(samples)
    ]


def covered(made, narrower=1.0):
    """How often intervals cover the population's value and the sample's, and the mean absolute error."""
    reach = 1.96 / narrower
    population = sum(abs(each.value - TRUTH) <= reach * each.standard_error for each, _ in made)
    sample = sum(abs(each.value - exact) <= reach * each.sample_standard_error for each, exact in made)
    return population, sample, float(np.mean([abs(each.value - exact) for each, exact in made]))


@pytest.mark.parametrize(("n", "largest"), [(100, 0.024), (300, 0.008), (1000, 0.0024)])
def test_errors_and_coverage_of_the_planners_choice(n, largest):
    study = dpairs.plan("auc", epsilon=1.0, n=2 * n, domain=UNIT, trust="two_servers").options[0].study
    assert study.protocol.name == "two_servers"
    count = 120 if n == 1000 else 60
    made = runs(study, n, count)
    population, sample, error = covered(made)
    assert error < largest
    least = stats.binom.ppf(FAILURE, count, 0.94)
    assert min(population, sample) >= least
    # The control: intervals of half the length are found out.
    assert min(covered(made, narrower=2.0)[:2]) < least


@pytest.mark.parametrize(
    "options", [{"release": "counts"}, {"rounds": 2}, {"noise": "gaussian", "delta": 1e-6}]
)
def test_other_ways_cover_too(options):
    study = Study.create("auc", protocol="two_servers", epsilon=1.0, domain=UNIT, n=2000, **options)
    count = 40
    population, sample, _ = covered(runs(study, 1000, count))
    assert min(population, sample) >= stats.binom.ppf(FAILURE, count, 0.94)


def test_a_populations_entropy_is_at_most_that_of_an_even_spread():
    """Of 50 people no two need to agree; in a population of 60 values some do."""
    study = Study.create(
        "collision_entropy", protocol="two_servers", epsilon=4.0, domain=Categories(range(60)), n=50
    )
    data = {"value": np.arange(50) % 40}
    tops = set()
    for seed in range(12):
        try:
            estimate = dpairs.simulate(study, data, seed=seed)
        except NotEstimable:
            continue
        low, high = estimate.confidence_interval()
        assert low <= estimate.value <= high <= math.log(60)
        lowest, highest = estimate.confidence_interval(target="sample")
        assert lowest <= estimate.value <= highest
        tops.add(highest)
    assert math.inf in tops


@pytest.mark.parametrize("epsilon", [8.0, 500.0])
def test_a_value_lies_in_its_intervals_where_a_sample_agrees_less_than_any_population(epsilon):
    """400 people of whom two have each of 200 values, in two rounds: without noise, too."""
    domain, people = Categories(range(200)), {"value": np.arange(400) % 200}
    study = Study.create(
        "collision_entropy", protocol="two_servers", epsilon=epsilon, domain=domain, n=400, rounds=2
    )
    at_the_end = 0
    for seed in range(4):
        estimate = dpairs.simulate(study, people, seed=seed)
        for target in ("population", "sample"):
            low, high = estimate.confidence_interval(target=target)
            assert low <= estimate.value <= high
        assert estimate.value <= math.log(200)
        at_the_end += estimate.value == math.log(200)
    assert at_the_end


def test_values_and_intervals_stay_in_range():
    data = {"score": np.repeat([0.9, 0.1], 10), "label": np.repeat([1, 0], 10)}
    study = Study.create("auc", protocol="two_servers", epsilon=0.2, domain=UNIT, bins=16)
    for seed in range(20):
        estimate = dpairs.simulate(study, data, seed=seed)
        low, high = estimate.confidence_interval()
        assert 0 <= low <= estimate.value <= high <= 1


def test_noise_that_leaves_no_answer_is_said():
    data = {"value": np.arange(40) % 20}
    study = Study.create("collision_entropy", protocol="two_servers", epsilon=0.05, domain=Levels(range(20)))
    refused = 0
    for seed in range(20):
        try:
            dpairs.simulate(study, data, seed=seed)
        except NotEstimable:
            refused += 1
    assert refused > 0


def test_the_same_seed_gives_the_same_estimate_and_another_one_another():
    study = Study.create("auc", protocol="two_servers", epsilon=1.0, domain=UNIT, bins=64)
    data = people(1, 50)
    assert dpairs.simulate(study, data, seed=5) == dpairs.simulate(study, data, seed=5)
    assert dpairs.simulate(study, data, seed=5).value != dpairs.simulate(study, data, seed=6).value


def test_forms_from_noisy_counts_are_unbiased_with_the_stated_covariance():
    """By drawing the noise many times: mean and covariance within what so many draws allow."""
    rng = np.random.default_rng(7)
    kernel = np.sign(np.subtract.outer(np.arange(4), np.arange(4))) ** 2.0
    other = np.diag([1.0, 2.0, 0.5, 1.0])
    people = np.array([9.0, 5.0, 7.0, 4.0])
    scale, draws = 1.5, 10_000
    variance = 2 * 2 * scale**2
    exact = [people @ each @ people - np.diagonal(each) @ people for each in (kernel, other)]
    noise = rng.laplace(0, scale, (draws, 2, 4)).sum(axis=1)
    found = np.array([from_counts([people + each], [kernel, other], variance)[0] for each in noise])
    covariance = from_counts([people], [kernel, other], variance)[1]
    spread = np.cov(found.T)
    assert np.all(np.abs(found.mean(axis=0) - exact) < 5 * np.sqrt(np.diagonal(spread) / draws))
    # The stated one takes the noise of the counts off, so at the exact counts it is a little too small.
    assert np.all(np.diagonal(spread) > 0.8 * np.diagonal(covariance))
    assert np.all(np.diagonal(spread) < 1.6 * np.diagonal(covariance))


def test_a_plan_compares_kinds_of_trust():
    plan = dpairs.plan("auc", epsilon=1.0, error=0.02, domain=UNIT, trust="all")
    people = {trust: sum(option.sizes.values()) for trust, option in plan.by_trust.items()}
    assert list(people) == [kind.value for kind in Trust if kind.value in people]
    assert people[Trust.TWO_SERVERS.value] < people[Trust.PARTNER.value] < people[Trust.NOBODY.value]
    assert plan.best.protocol.name == "two_servers"
    alone = dpairs.plan("auc", epsilon=1.0, error=0.02, domain=UNIT)
    assert Trust.TWO_SERVERS.value not in alone.by_trust
    with pytest.raises(dpairs.BadParameter, match="trust must be one of"):
        dpairs.plan("auc", epsilon=1.0, error=0.02, domain=UNIT, trust="me")


def test_a_plan_for_two_servers_is_of_two_servers():
    """Of more values than bins, too, with what a bin of three values may hide of equal ones."""
    option, *others = dpairs.plan(
        "collision_entropy", epsilon=1.0, n=100_000, domain=dpairs.Integers(0, 9999), trust="two_servers"
    ).options
    assert (option.protocol, others) == ("two_servers", [])
    assert option.prediction.quantization == option.prediction.bias == pytest.approx(np.log(3) / 2)
    with pytest.raises(dpairs.BadParameter, match="no protocol fits vus on these domains in one round"):
        dpairs.plan("vus", epsilon=1.0, n=600, domain=UNIT, rounds=1, trust="two_servers")


def test_a_prediction_is_what_simulations_find():
    option = dpairs.plan("auc", epsilon=1.0, n=600, domain=UNIT, like=0.68, trust="two_servers").options[0]
    errors = []
    for seed in range(80):
        data = people([3, seed], 300)
        errors.append(dpairs.simulate(option.study, data, seed=seed).value - TRUTH)
    found = float(np.sqrt(np.mean(np.square(errors))))
    assert 0.7 * option.error < found < 1.3 * option.error


def test_forms_of_a_ratio_share_the_loss():
    study = Study.create(
        "kendall_tau", protocol="two_servers", epsilon=1.0, domain=(Levels(range(4)),) * 2, variant="b"
    )
    protocol: Any = study.protocol
    weights = protocol.weights
    assert len(weights) == 3
    assert WHOLE - 3 <= sum(weights) <= WHOLE
    assert min(weights) > WHOLE // 20


def test_triples_need_two_rounds():
    study = Study.create("vus", protocol="two_servers", epsilon=1.0, rounds=2, domain=UNIT, bins=8)
    assert study.protocol.rounds == 2
    with pytest.raises(dpairs.BadParameter, match="triples"):
        Study.create("vus", protocol="two_servers", epsilon=1.0, domain=UNIT)


def test_liars_move_the_answer_by_their_own_weight_and_in_the_local_model_by_more():
    """Of 600 people, six who forge a valid answer; beside the factor of randomized response."""
    data, liars = people(5, 300), 6
    ours = Study.create("auc", protocol="two_servers", epsilon=1.0, domain=UNIT, bins=64)
    estimate = dpairs.simulate(ours, data, seed=1)
    bound = estimate.manipulation(liars)
    assert bound.change <= liars / 300 * 1.01
    assert bound.multiplier == 1
    lied = {"score": data["score"].copy(), "label": data["label"]}
    lied["score"][:liars] = 0.0
    moved = abs(dpairs.exact("auc", lied) - dpairs.exact("auc", data))
    assert 0 < moved <= bound.change
    local = Study.create("auc", protocol="histogram", epsilon=1.0, domain=UNIT, bins=8)
    theirs = dpairs.simulate(local, data, seed=1).manipulation(liars)
    assert theirs.multiplier > 2
    assert theirs.change > bound.change
