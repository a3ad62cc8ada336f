"""Answers of sites: near the truth, without bias, and planned."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs import Categories, Levels, NotEnoughData, SiteAnswer, SiteTally, Study
from dpairs.mechanisms.central import laplace_variance
from dpairs.protocols import Trust
from dpairs.protocols.projection.pilot import on_simplex
from dpairs.protocols.sites import first_answers
from dpairs.protocols.sites.by_sites import SiteNumbers
from dpairs.protocols.sites.counted import NoisyClass, forms_of, laplace_cumulant
from dpairs.protocols.sites.hidden import followed_wrongly
from dpairs.randomness import SeededRandomness

from .records import FAILURE, TRUTH, UNIT, at, ratios, records, sample_of, tau_errors

STATISTICS: list[tuple[str, dict[str, Any], float]] = [
    ("kendall_tau", {"domain": (UNIT, UNIT)}, 0.03),
    ("kendall_tau", {"domain": (Levels(range(4)),) * 2, "variant": "b"}, 0.02),
    ("gini_mean_difference", {"domain": UNIT}, 0.003),
    ("gini_coefficient", {"domain": UNIT}, 0.01),
    ("variance", {"domain": UNIT}, 0.003),
    ("collision_entropy", {"domain": Categories(range(4))}, 0.02),
    ("mann_whitney", {"domain": UNIT}, 3e5),
    ("vus", {"domain": UNIT}, 0.02),
    ("kernel", {"domain": UNIT}, 0.01),
]


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize(("name", "options", "largest"), STATISTICS)
def test_every_statistic_is_near_its_exact_value(name, options, largest, rounds):
    statistic: Any = name
    if name == "kernel":
        statistic = dpairs.Kernel(lambda x, y: (x - y) ** 2, range=(0, 1), lipschitz=2, domain=UNIT)
        options = {}
    make = {"protocol": "sites", "epsilon": 1.0, "n": 12_000, "sites": 3, "rounds": rounds, **options}
    if name == "vus" and rounds == 1:
        with pytest.raises(dpairs.BadParameter, match="sites need rounds=2"):
            Study.create(statistic, **make)
        return
    study = Study.create(statistic, **make)
    assert Study.from_json(study.to_json()) == study
    inside = 0
    for seed in range(4):
        rng = np.random.default_rng([seed, 2])
        data = sample_of(name, options.get("domain"), 12_000, rng)
        variant: dict[str, Any] = {"variant": "b"} if "variant" in options else {}
        # That of the kernel without all pairs.
        square = 2 * data["value"].var(ddof=1) if name == "kernel" else 0.0
        true = square or dpairs.exact(statistic, data, **variant)
        estimate = dpairs.simulate(study, {**data, "site": rng.integers(0, 3, 12_000)}, seed=seed)
        assert abs(estimate.value - true) < largest
        inside += abs(estimate.value - true) < 3 * estimate.sample_standard_error + (
            estimate.quantization.estimate or 0.0
        )
    assert inside >= 3


def test_tau_of_few_large_sites_has_no_bias_by_the_noise_of_its_pilot(monkeypatch):
    """Noisy shares as they are miss e'Ae, of mean 0; the nearest distributions spread people out."""
    count = 6
    found, hits = tau_errors(count, 3000)
    assert abs(found.mean()) < 1
    assert hits >= stats.binom.ppf(FAILURE, count, 0.94)
    # The control: pilots on the simplex.
    usual = first_answers.masses_of
    monkeypatch.setattr(
        first_answers,
        "masses_of",
        lambda *given: {name: on_simplex(each) for name, each in usual(*given).items()},
    )
    assert abs(tau_errors(count, 3000)[0].mean()) > 1.5


def test_a_lying_site_weighs_what_it_declared():
    """The bound is reached by the largest numbers that are taken."""
    study = Study.create("auc", protocol="sites", epsilon=1.0, domain=UNIT, n=4000, sites=5, seed=1)
    data, bits = records(3, 4000), SeededRandomness(1)
    first = SiteTally(study)
    for site in "abcde":
        first.add(SiteAnswer.of(study, site, at(data, site), bits=bits))
    following = study.next(first)
    protocol: Any = following.protocol
    honest = {site: SiteAnswer.of(following, site, at(data, site), bits=bits) for site in "abcde"}

    def estimate(answers):
        tally = SiteTally(following)
        for answer in answers.values():
            tally.add(answer)
        return tally.estimate()

    def lie(up, beyond=0):
        numbers = honest["a"].numbers
        sizes = numbers.sizes or {}
        ends = {name: protocol.extremes(name, sizes[name])[up] + beyond for name in study.strata}
        false = {name: np.array([end], dtype=np.int64) for name, end in ends.items()}
        return {**honest, "a": SiteAnswer(following, "a", SiteNumbers(false, numbers.sizes))}

    true = estimate(honest)
    found = true.manipulation(people=1)
    moved = [estimate(lie(way)).value - true.value for way in (False, True)]
    assert found.exact
    assert np.allclose([-found.down, found.up], moved)
    assert true.manipulation(people=0).change == 0
    with pytest.raises(dpairs.BadValue, match="lies beyond"):
        lie(True, beyond=1)


def test_forms_of_noisy_counts_are_unbiased_with_the_stated_covariance():
    """By drawing discrete Laplace noise many times: one class, known size and hidden."""
    rng = np.random.default_rng(7)
    kernels = [np.abs(np.subtract.outer(np.arange(4), np.arange(4))) * 1.0, np.diag([1.0, 2.0, 0.5, 1.0])]
    people, scale, draws = np.array([90.0, 50.0, 70.0, 40.0]), 3.0, 2_500
    noise = rng.geometric(1 - np.exp(-1 / scale), (2, draws, 4))
    noisy = people + noise[0] - noise[1]
    size = int(people.sum())
    true = [
        (people @ kernel @ people - np.diagonal(kernel) @ people) / (size * (size - 1)) for kernel in kernels
    ]
    stated = laplace_variance(scale), laplace_cumulant(scale)
    for known in (size, None):
        found = np.array([forms_of([NoisyClass(each, *stated, known)], kernels)[0] for each in noisy])
        covariance = forms_of([NoisyClass(people, *stated, known)], kernels)[1]
        spread = np.cov(found.T)
        bias = found.mean(axis=0) - true
        # A ratio of noisy sums has a bias of second order; a form over a known number of pairs has none.
        slack = 5 * np.sqrt(np.diagonal(spread) / draws) + (0.02 * np.abs(true) if known is None else 0)
        assert np.all(np.abs(bias) < slack)
        assert np.allclose(np.diagonal(spread), np.diagonal(covariance), rtol=0.15)
    # The control: known sizes are worth something, and noise 30% larger is found out.
    larger = [NoisyClass(people, 1.69 * stated[0], stated[1], None)]
    assert not np.allclose(np.diagonal(spread), np.diagonal(forms_of(larger, kernels)[1]), rtol=0.15)


def test_a_plan_knows_the_sites():
    plan = dpairs.plan("auc", epsilon=1.0, n=100_000, domain=UNIT, trust="sites", sites=20)
    assert plan.best.protocol.name == "sites"
    assert plan.options[0].trust == Trust.SITES.value
    assert plan.options[0].prediction.privacy < 0.0006
    more = dpairs.plan("auc", epsilon=1.0, n=100_000, domain=UNIT, trust="sites", sites=80)
    assert 1.5 < more.options[0].prediction.privacy / plan.options[0].prediction.privacy < 2.5
    one = dpairs.plan("auc", epsilon=1.0, n=100_000, domain=UNIT, trust="sites", sites=20, rounds=1)
    assert one.best.protocol.rounds == 1
    assert "sites" not in [
        each.protocol for each in dpairs.plan("auc", epsilon=1.0, n=1000, domain=UNIT, trust="all").options
    ]


def test_a_prediction_is_near_what_happens():
    study = Study.create("auc", protocol="sites", epsilon=1.0, domain=UNIT, n=20_000, sites=5)
    plan = dpairs.plan(
        "auc",
        epsilon=1.0,
        n={"positive": 6000, "negative": 14_000},
        domain=UNIT,
        sites=5,
        protocol="sites",
        like=TRUTH,
    )
    _, _, error = ratios(study, 24, 20_000)
    predicted = plan.options[0].prediction
    assert 0.6 < error / np.hypot(predicted.privacy, predicted.second_order) < 1.6


def test_too_few_records_are_said():
    study = Study.create("auc", protocol="sites", epsilon=1.0, domain=UNIT, bins=4, rounds=1)
    with pytest.raises(NotEnoughData, match="fewer than 2 records"):
        dpairs.simulate(study, {"score": [0.1, 0.2], "label": [1, 1], "site": ["a", "b"]}, seed=1)
    two = Study.create("auc", protocol="sites", epsilon=1.0, domain=UNIT, bins=4)
    with pytest.raises(NotEnoughData, match="no site has answered"):
        two.next(SiteTally(two))


def test_noise_of_a_pilot_moves_records_that_share_a_place():
    """Spikes in every third cell, at an edge of it: (u - 1/2)(p e_q - q e_p), summed over cells."""
    study = Study.create("auc", protocol="sites", epsilon=1.0, domain=UNIT, bins=30, seed=1)
    protocol: Any = study.protocol
    spikes = np.where(np.arange(30) % 3 == 1, 0.1, 0.0)
    noise = {"positive": 0.004, "negative": 0.001}
    masses = {"positive": spikes, "negative": spikes}
    rng = np.random.default_rng(1)
    errors = [rng.normal(0, doubt, (4000, 30)) for doubt in noise.values()]
    moved = 0.5 * (errors[0] - errors[1]) @ spikes
    stated = followed_wrongly(study.statistic, protocol.grid, masses, noise)
    assert moved.var() == pytest.approx(stated, rel=0.1)
    even = {name: np.full(30, 1 / 30) for name in masses}
    assert followed_wrongly(study.statistic, protocol.grid, even, noise) < 0.02 * stated


def test_no_record_meets_itself_in_a_second_round():
    """With next to no noise the entropy of few records is that of pairs of two records."""
    data = {"value": np.repeat(list("abc"), [10, 20, 30])}
    study = Study.create(
        "collision_entropy", protocol="sites", epsilon=5000.0, domain=Categories(list("abc")), sites=1, seed=1
    )
    estimate = dpairs.simulate(study, {**data, "site": np.zeros(60)}, seed=1)
    assert estimate.value == pytest.approx(dpairs.exact("collision_entropy", data), abs=1e-3)
    # Control: records that meet themselves make it 0.026 less.
    assert -np.log(np.sum((np.array([10, 20, 30]) / 60) ** 2)) < estimate.value - 0.02
