"""Histograms of randomly rounded values: their intervals, their estimators, and plans that propose them."""

import contextlib
import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs.errors import BadParameter, NotEstimable
from dpairs.estimate import Laws
from dpairs.planning.shapes import from_sample
from dpairs.protocols.histogram.laws import AroundMiddle
from dpairs.statistics import statistic
from dpairs.statistics.fixed_length import reach

from .test_manipulation import answers, filled, unmoved

FAILURE = 1e-6
RUNS = 100 if os.environ.get("DPAIRS_VALIDATE") else 40
FEWEST = stats.binom.ppf(FAILURE, RUNS, 0.95) / RUNS
"""A 95% interval covers less often than this with probability FAILURE."""
DISTANCES = ("gini_mean_difference", "gini_coefficient", "variance")


def rounding(name: str, points: int, epsilon: float, low: float = 0.0) -> dpairs.Study:
    domain = dpairs.Interval(low, 1)
    return dpairs.Study.create(name, epsilon=epsilon, domain=domain, bins=points, rounding="random", seed=1)


def held(study: dpairs.Study, draw: Any, without: dict[str, Any]) -> tuple[float, float]:
    """How often the interval holds the sample's value, and how often it would ``without`` a part of it."""
    kept, less = 0, 0
    for run in range(RUNS):
        people = {"value": draw(np.random.default_rng(run))}
        value = dpairs.exact(study.statistic, people)
        estimate = dpairs.simulate(study, people, seed=run)
        for number, each in enumerate((estimate, replace(estimate, **without))):
            low, high = each.confidence_interval(0.95, "sample")
            kept, less = kept + (low <= value <= high) * (1 - number), less + (low <= value <= high) * number
    return kept / RUNS, less / RUNS


def atoms(rng: np.random.Generator) -> np.ndarray:
    """Everybody halfway between two points, of eight: rounding adds as much as it can."""
    return rng.choice([2.5 / 7, 4.5 / 7], 20_000)


def corners(rng: np.random.Generator) -> np.ndarray:
    """Everybody at a point: rounding adds nothing."""
    return rng.choice([2 / 7, 3 / 7], 20_000)


@pytest.mark.parametrize("draw", [atoms, corners])
@pytest.mark.parametrize("name", DISTANCES)
def test_intervals_hold_at_both_ends_of_what_is_possible_and_not_without_the_allowance(name, draw):
    covered, ignoring = held(rounding(name, 8, 8.0), draw, {"laws": None, "bias": 0.0})
    assert covered >= FEWEST
    assert ignoring < 0.1


@pytest.mark.parametrize("name", DISTANCES)
def test_intervals_of_whole_numbers_hold_and_not_without_the_allowance(name):
    """Ages halfway between the points 14, 28 and so on."""
    study = dpairs.Study.create(
        name, epsilon=8.0, domain=dpairs.Integers(0, 98), bins=8, rounding="random", seed=1
    )
    covered, ignoring = held(study, lambda rng: rng.choice([35, 63], 20_000), {"laws": None, "bias": 0.0})
    assert covered >= FEWEST
    assert ignoring < 0.1


def test_a_plan_rounds_many_whole_numbers_at_random_and_keeps_few_apart():
    def planned(high: int) -> dict[str, Any]:
        domain = dpairs.Integers(0, high)
        plan = dpairs.plan("variance", domain=domain, epsilon=2.0, n=20_000, protocol="histogram")
        spec: dict[str, Any] = plan.best.protocol.to_json()
        return {name: spec[name] for name in ("bins", "rounding")}

    assert planned(1000)["rounding"] == "random"
    assert planned(2) == {"bins": [3], "rounding": "simple"}
    assert planned(1) == {"bins": [2], "rounding": "simple"}


def test_intervals_of_values_with_a_bin_each_lean_too_and_fall_short_without_it():
    """Visits to a doctor, two on average and 31 possible: noise is as large as their mean difference."""
    study = dpairs.Study.create("gini_mean_difference", epsilon=0.5, domain=dpairs.Integers(0, 31), seed=1)
    kept, upright, runs = 0, 0, 300
    for run in range(runs):
        people = {"value": np.minimum(np.random.default_rng(run).poisson(2.0, 2_000), 31)}
        value = dpairs.exact(study.statistic, people)
        estimate = dpairs.simulate(study, people, seed=run)
        (low, high), (below, above) = (
            each.confidence_interval(0.95, "sample") for each in (estimate, replace(estimate, laws=None))
        )
        kept, upright = kept + (low <= value <= high), upright + (below <= value <= above)
    least = stats.binom.ppf(FAILURE, runs, 0.95)
    assert kept >= least
    assert upright < least


def test_the_sample_interval_counts_the_rounding():
    """Hardly any privacy noise, and points so near that their bias is small beside the rounding's noise."""
    study = rounding("gini_coefficient", 256, 24.0)
    covered, ignoring = held(study, lambda rng: rng.beta(2, 5, 2_000), {"laws": None, "bias": 0.0})
    assert covered >= FEWEST
    assert ignoring < 0.3


def test_intervals_lean_where_noise_flattens_the_mean_and_fall_short_without_it():
    """Seven in ten at one end: noise that makes it half of them also makes their mean seem hardly noisy."""
    domain = dpairs.Interval(0, 100)
    study = dpairs.Study.create(
        "gini_mean_difference", epsilon=4.0, domain=domain, bins=64, rounding="random", seed=1
    )
    kept, upright, runs = 0, 0, 200
    for run in range(runs):
        people = {"value": np.where(np.random.default_rng(run).random(60) < 0.7, 0.0, 100.0)}
        estimate = dpairs.simulate(study, people, seed=run)
        assert estimate.laws is not None
        without = Laws(*(replace(law, leans=()) for law in estimate.laws))  # type: ignore[type-var]
        kept += estimate.confidence_interval().low <= 42
        upright += replace(estimate, laws=without).confidence_interval().low <= 42
    least = stats.binom.ppf(FAILURE, runs, 0.95)
    assert kept >= least
    assert upright < least


def test_the_coefficient_of_a_domain_too_wide_has_an_answer_if_noise_lets_it():
    people = {"value": np.random.default_rng(1).exponential(0.02, 50_000)}
    estimate = dpairs.simulate(rounding("gini_coefficient", 16, 6.0), people, seed=1)
    low, high = estimate.confidence_interval()
    assert low <= 0.5 <= high
    assert estimate.details["mean"] == pytest.approx(0.02, rel=0.2)


def test_the_interval_is_as_uncertain_as_its_less_certain_end():
    """Half of the people near either end: noise hardly moves their mean difference, but what it may hide."""
    study = rounding("gini_mean_difference", 4, 0.5)
    people = {"value": np.where(np.arange(20_000) % 2, 0.1, 0.9)}
    plain, middle = (dpairs.simulate(study, people, seed=1, estimator=each) for each in ("paper", "middle"))
    assert middle.laws is not None
    assert isinstance(middle.laws.population, AroundMiddle)
    deviation = middle.laws.population.standard_error
    assert deviation > middle.standard_error > plain.standard_error
    low, high = middle.confidence_interval()
    down, up = middle.laws.population.lean(0.95)
    assert down > up == 0
    assert high - middle.value == pytest.approx(reach(deviation, middle.bias, 0.95))
    assert middle.value - low == pytest.approx(high - middle.value + down)


def test_three_estimators_and_one_interval():
    study = rounding("gini_mean_difference", 8, 2.0)
    people = {"value": atoms(np.random.default_rng(1))}
    plain, middle, near = (
        dpairs.simulate(study, people, seed=1, estimator=each) for each in ("paper", "middle", "simplex")
    )
    low, high = plain.confidence_interval()
    assert middle.confidence_interval() == near.confidence_interval() == (low, high)
    assert middle.laws is not None
    assert isinstance(middle.laws.population, AroundMiddle)
    down, up = middle.laws.population.lean(0.95)
    assert middle.value == pytest.approx((low + down + high - up) / 2)
    assert plain.value == pytest.approx(middle.value + middle.bias)
    assert low <= near.value <= high
    assert dpairs.simulate(study, people, seed=1).estimator == "middle"
    binned = dpairs.Study.create("variance", epsilon=2.0, domain=dpairs.Interval(0, 1), bins=8)
    assert dpairs.simulate(binned, people, seed=1).estimator == "paper"
    compared = dpairs.Study.create(
        "auc", epsilon=2.0, domain=dpairs.Interval(0, 1), bins=8, rounding="random"
    )
    scores = {"score": people["value"], "label": np.arange(20_000) % 2}
    assert dpairs.simulate(compared, scores, seed=1).estimator == "paper"


@pytest.mark.parametrize("estimator", ["paper", "middle"])
@pytest.mark.parametrize("name", DISTANCES)
def test_no_liars_move_the_answer_further_than_they_are_said_to(name, estimator):
    study = rounding(name, 3, 12.0, low=0.9)  # a mean that no lie takes to 0
    for most in (1, 2, 3):
        tally = filled(study, 7, seed=most)
        value, bound = unmoved(study, tally, estimator, most)
        reached = answers(study, tally, estimator, most)
        assert value + bound.up >= max(reached) - 1e-12
        assert value - bound.down <= min(reached) + 1e-12


def parameters(name: str, domain: Any, epsilon: float, n: int, **options: Any) -> dict[str, Any]:
    made = dpairs.plan(name, domain=domain, epsilon=epsilon, n=n, protocol="histogram", **options)
    return made.options[0].parameters


@pytest.mark.parametrize("name", DISTANCES)
def test_plans_of_distances_round_at_random(name):
    chosen = parameters(name, dpairs.Interval(0, 1), 2.0, 20_000)
    assert chosen["rounding"] == "random"
    assert set(parameters("auc", dpairs.Interval(0, 1), 2.0, 20_000)) == {"bins"}
    assert parameters(name, dpairs.Integers(0, 1000), 8.0, 100_000)["rounding"] == "random"
    assert parameters(name, dpairs.Integers(0, 20), 8.0, 100_000) == {"bins": 21}


@pytest.mark.parametrize("name", DISTANCES)
def test_a_plan_knows_the_error_of_people_that_it_knows(name):
    rng = np.random.default_rng(5)
    study, made = rounding(name, 8, 3.0), statistic(name)
    crowd = np.append(rng.beta(2, 5, 40_000), np.full(20_000, 0.35))
    truth = dpairs.exact(name, {"value": crowd})
    protocol: Any = study.protocol
    prediction = protocol.predict(
        from_sample(made, study.domains, {"value": crowd}), dict.fromkeys(made.strata, 2_000)
    )
    off = [
        dpairs.simulate(study, {"value": rng.choice(crowd, 2_000)}, seed=run).value - truth
        for run in range(200)
    ]
    # The root mean square of 200 normal errors is uncertain by 5%.
    assert 1 / 1.25 < math.sqrt(np.mean(np.square(off))) / prediction.total < 1.25


def test_other_domains_are_refused_in_a_sentence():
    levels = dpairs.Levels(range(8))
    with pytest.raises(
        BadParameter, match=r"or Integers whose distances count; other values are not rounded$"
    ):
        dpairs.Study.create("variance", epsilon=1.0, domain=levels, bins=8, rounding="random")
    study = rounding("variance", 4, 1.0)
    with pytest.raises(BadParameter, match="estimator must be one of"):
        dpairs.simulate(study, {"value": [0.1, 0.2]}, estimator="average")


def test_a_coefficient_that_is_only_just_told_has_the_whole_range():
    """One study in forty finds such a mean above 0, by overestimating it; its interval must hold too."""
    study = rounding("gini_coefficient", 4, 1.0)
    told = []
    for seed in range(400):
        people = {"value": np.random.default_rng(seed).exponential(0.06, 500)}
        with contextlib.suppress(NotEstimable):
            told.append(dpairs.simulate(study, people, seed=seed))
    assert len(told) > 5
    assert all(each.confidence_interval().low <= 0.5 <= each.confidence_interval().high for each in told)
    assert all(abs(each.raw - 0.5) > 0.1 for each in told)


@pytest.mark.parametrize(
    ("statistic", "epsilon", "people"),
    [("gini_mean_difference", 16.0, 1000), ("gini_mean_difference", 16.0, 50), ("variance", 30.0, 1000)],
)
def test_everybody_halfway_between_points_is_covered_with_hardly_any_noise(statistic, epsilon, people):
    """Pairs of different people lie n / (n - 1) times as far apart as all pairs; the truth is 0."""
    study = dpairs.Study.create(
        statistic, epsilon=epsilon, domain=dpairs.Interval(0, 8), bins=5, rounding="random", seed=1
    )
    runs, held = 100, 0
    for run in range(runs):
        found = dpairs.simulate(study, {"value": np.full(people, 3.0)}, seed=run)
        held += found.confidence_interval(0.95, "sample").low <= 0
    assert held >= stats.binom.ppf(FAILURE, runs, 0.95)


def test_few_people_may_all_be_rounded_to_the_same_point():
    """Two or three of 500 go up to a far point on average, and in some studies nobody does."""
    domain, runs, held = dpairs.Interval(0, 1e5, edges=(100.0, 1e3, 1e4)), 300, 0
    study = dpairs.Study.create("gini_mean_difference", epsilon=8.0, domain=domain, bins=5, seed=1)
    for run in range(runs):
        value = np.random.default_rng(run).random(500)
        own = dpairs.exact("gini_mean_difference", {"value": value})
        low, high = dpairs.simulate(study, {"value": value}, seed=run).confidence_interval(0.95, "sample")
        held += low <= own <= high
    assert held >= stats.binom.ppf(FAILURE, runs, 0.95)
