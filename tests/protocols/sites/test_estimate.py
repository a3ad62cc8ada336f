"""Answers of sites: near the truth, honest about it, whoever drops out, and planned."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.stats import norm

import dpairs
from dpairs import Categories, Interval, Levels, NotEnoughData, SiteAnswer, SiteTally, Study
from dpairs.mechanisms.central import laplace_variance
from dpairs.protocols import Trust
from dpairs.protocols.projection.pilot import on_simplex
from dpairs.protocols.sites import first_answers
from dpairs.protocols.sites.by_sites import SiteNumbers
from dpairs.protocols.sites.counted import NoisyClass, forms_of, hidden_slack, laplace_cumulant
from dpairs.protocols.sites.hidden import by_merging, followed_wrongly
from dpairs.randomness import SeededRandomness

UNIT = Interval(0, 1)
VALIDATE = os.environ.get("DPAIRS_VALIDATE") == "1"
FAILURE = 1e-4
"""The chance that a correct interval's coverage is refused, for fresh seeds."""
TRUTH = float(norm.cdf(0.1 / (0.15 * np.sqrt(2))))
SHARES = (0.4, 0.3, 0.2, 0.09, 0.01)


def records(seed, n, offsets=(0.0,) * 5):
    rng = np.random.default_rng(seed)
    site = np.repeat(np.arange(5), [round(share * n) for share in SHARES])
    label = (rng.random(site.size) < 0.3).astype(int)
    score = rng.normal(0.45 + 0.1 * label + np.array(offsets)[site], 0.15).clip(0, 1)
    return {"score": score, "label": label, "site": np.array(list("abcde"))[site]}


def part(data, sites):
    kept = np.isin(data["site"], list(sites))
    return {name: values[kept] for name, values in data.items()}


def at(data, site):
    return {name: values for name, values in part(data, [site]).items() if name != "site"}


def exact(data, name="auc"):
    return dpairs.exact(name, {key: values for key, values in data.items() if key != "site"})


def ratios(study, count, n):
    """Errors over their standard errors, around the population's value and the sample's; and the error."""
    population, sample, errors = [], [], []
    for seed in range(count):
        data = records([n, seed], n)
        true, estimate = exact(data), dpairs.simulate(study, data, seed)
        population.append((estimate.value - TRUTH) / estimate.standard_error)
        sample.append((estimate.value - true) / estimate.sample_standard_error)
        errors.append(estimate.value - true)
    return np.array(population), np.array(sample), float(np.sqrt(np.mean(np.square(errors))))


@pytest.mark.parametrize(
    ("options", "largest"),
    [
        ({}, 0.0012),
        ({"rounds": 1}, 0.006),
        ({"hide_sizes": True}, 0.002),
        ({"rounds": 1, "hide_sizes": True}, 0.006),
        ({"labels": "private"}, 0.003),
        ({"noise": "gaussian", "delta": 1e-6}, 0.006),
    ],
)
def test_errors_and_coverage(options, largest):
    study = Study.create("auc", protocol="sites", epsilon=1.0, domain=UNIT, n=20_000, sites=5, **options)
    count = 200 if VALIDATE else 20
    population, sample, error = ratios(study, count, 20_000)
    assert error < largest
    least = stats.binom.ppf(FAILURE, count, 0.94)
    assert min((np.abs(each) <= 1.96).sum() for each in (population, sample)) >= least
    # The control: intervals of a third of the length are found out; by few runs, of a fifth.
    assert (np.abs(sample) <= 1.96 / (3 if VALIDATE else 5)).sum() < least


def test_sites_that_drop_out_change_the_people_and_not_the_validity():
    """The largest site, with other scores than the rest, does not come back."""
    study = Study.create("auc", protocol="sites", epsilon=1.0, domain=UNIT, n=20_000, sites=5)
    count, hits, naive = 200 if VALIDATE else 16, 0, 0
    for seed in range(count):
        data = records([1, seed], 20_000, offsets=(0.25, 0, 0, 0, 0))
        bits = SeededRandomness(seed)
        first = SiteTally(study)
        for site in "abcde":
            first.add(SiteAnswer.of(study, site, at(data, site), bits=bits))
        following = study.next(first)
        second = SiteTally(following)
        for site in "bcde":
            second.add(SiteAnswer.of(following, site, at(data, site), bits=bits))
        estimate, true = second.estimate(), exact(part(data, "bcde"))
        assert estimate.n == 12_000
        low, high = estimate.confidence_interval(target="sample")
        hits += low <= true <= high
        naive += low <= exact(data) <= high
    assert hits >= stats.binom.ppf(FAILURE, count, 0.94)
    # The control: it is not the value of all five sites.
    assert naive < count / 2


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


def sample_of(name, domain, n, rng):
    x = rng.beta(2, 3, n)
    if name == "kendall_tau":
        y = (x + rng.random(n)) / 2
        if isinstance(domain[0], Levels):
            x, y = (np.minimum((4 * each).astype(int), 3) for each in (x, y))
        return {"x": x, "y": y}
    if name == "vus":
        label = rng.integers(0, 3, n)
        return {"score": np.clip(rng.normal(0.3 + 0.2 * label, 0.2), 0, 1), "label": label}
    if name == "mann_whitney":
        return {"score": x, "label": rng.integers(0, 2, n)}
    if name == "collision_entropy":
        return {"value": rng.choice(4, n, p=[0.4, 0.3, 0.2, 0.1])}
    return {"value": x}


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
        true = dpairs.exact(statistic, data, **variant)
        estimate = dpairs.simulate(study, {**data, "site": rng.integers(0, 3, 12_000)}, seed=seed)
        assert abs(estimate.value - true) < largest
        inside += abs(estimate.value - true) < 3 * estimate.sample_standard_error + (
            estimate.quantization.estimate or 0.0
        )
    assert inside >= 3


def tau_errors(count, n, sites=3):
    """Errors of tau over stated ones, and how many intervals cover the sample's tau."""
    study = Study.create(
        "kendall_tau", protocol="sites", epsilon=1.0, n=n, sites=sites, domain=(UNIT, UNIT), seed=1
    )
    found, hits = [], 0
    for seed in range(count):
        rng = np.random.default_rng([seed, n])
        data = sample_of("kendall_tau", (UNIT, UNIT), n, rng)
        true = dpairs.exact("kendall_tau", data)
        estimate = dpairs.simulate(study, {**data, "site": rng.integers(0, sites, n)}, seed=seed)
        low, high = estimate.confidence_interval(target="sample")
        hits += low <= true <= high
        found.append((estimate.value - true) / estimate.sample_standard_error)
    return np.array(found), hits


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


def uneven(kind, n=4000):
    """Records that do not lie evenly within cells, and the statistic that minds."""
    rng = np.random.default_rng(5)
    x, noise, label = rng.beta(2, 3, n), rng.normal(size=n), rng.integers(0, 2, n)
    y = (x + rng.random(n)) / 2
    zero = rng.random(n) < 0.5
    kinds: dict[str, dict[str, Any]] = {
        "along a line": {"x": x, "y": (x + 0.02 * noise).clip(0, 1)},
        "zeros": {"x": np.where(zero, 0, x), "y": np.where(rng.random(n) < 0.5, 0, y)},
        "zeros together": {"x": np.where(zero, 0, x), "y": np.where(zero, 0, y)},
        "rounded": {"x": x.round(1), "y": y.round(1)},
        "two values in a cell": {"score": np.where(zero, 0.501 + 0.002 * label, x), "label": label},
        "one value": {"score": np.where(zero, 0.501, x), "label": label},
    }
    return "auc" if "score" in kinds[kind] else "kendall_tau", kinds[kind]


@pytest.mark.parametrize(
    ("kind", "rounds"),
    [
        *((kind, 2) for kind in ("along a line", "zeros", "zeros together", "rounded", "one value")),
        *(("two values in a cell", rounds) for rounds in (1, 2)),
    ],
)
def test_intervals_allow_for_what_cells_hide(kind, rounds, monkeypatch):
    """Next to no noise, so that all of the error is what cells hide."""
    name, data = uneven(kind)
    domain: Any = UNIT if name == "auc" else (UNIT, UNIT)
    study = Study.create(
        name, protocol="sites", epsilon=2000.0, sites=1, domain=domain, bins=16, rounds=rounds, seed=1
    )
    estimate = dpairs.simulate(study, {**data, "site": np.zeros(4000)}, seed=1)
    low, high = estimate.confidence_interval(target="sample")
    true = dpairs.exact(name, data)
    assert low <= true <= high
    if kind in ("zeros", "zeros together", "two values in a cell"):
        assert "may move the value" in estimate.notes()[0]
    # The control: without the allowance the interval misses.
    if kind not in ("one value", "rounded"):
        monkeypatch.setattr(first_answers.FirstAnswers, "_hidden", lambda *_: 0.0)
        monkeypatch.setattr("dpairs.protocols.sites.protocol.by_standing_out", lambda *_, **__: 0.0)
        bare = dpairs.simulate(study, {**data, "site": np.zeros(4000)}, seed=1)
        low, high = bare.confidence_interval(target="sample")
        assert not low <= true <= high


FAR_TOO_WIDE = Interval(-30, 70)
STRAIGHT = np.random.default_rng(2).random(4000)
STRAIGHT_ABOVE = {"score": STRAIGHT, "label": (STRAIGHT > 0.5).astype(np.int64)}


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize(
    ("name", "options", "data"),
    [
        ("auc", {"domain": FAR_TOO_WIDE}, STRAIGHT_ABOVE),
        ("auc", {"domain": FAR_TOO_WIDE, "labels": "private"}, STRAIGHT_ABOVE),
        ("mann_whitney", {"domain": FAR_TOO_WIDE}, STRAIGHT_ABOVE),
        ("kendall_tau", {"domain": (FAR_TOO_WIDE,) * 2}, {"x": STRAIGHT, "y": STRAIGHT}),
        ("kendall_tau", {"domain": (FAR_TOO_WIDE, UNIT)}, {"x": STRAIGHT, "y": STRAIGHT}),
        (
            "kendall_tau",
            {"domain": (FAR_TOO_WIDE, Levels(range(5))), "variant": "b"},
            {"x": STRAIGHT, "y": (5 * STRAIGHT).astype(np.int64)},
        ),
    ],
)
def test_a_domain_far_too_wide_gives_a_wide_interval_and_not_a_wrong_one(name, options, data, rounds):
    """All records are in one cell, or in two that share an edge, and could lie there anyhow."""
    study = Study.create(
        name, protocol="sites", epsilon=50.0, sites=1, n=4000, rounds=rounds, seed=1, **options
    )
    estimate = dpairs.simulate(study, {**data, "site": np.zeros(4000)}, seed=1)
    low, high = estimate.confidence_interval(target="sample")
    kept = {each: options[each] for each in ("labels", "variant") if each in options}
    assert low - 1e-9 <= dpairs.exact(name, data, **kept) <= high + 1e-9


@pytest.mark.long
@pytest.mark.parametrize(("n", "sites"), [(12_000, 3), (3000, 1), (40_000, 10)])
def test_intervals_of_tau_cover(n, sites):
    count = 200
    found, hits = tau_errors(count, n, sites)
    assert hits >= stats.binom.ppf(FAILURE, count, 0.95)
    assert np.sqrt(np.mean(found**2)) < 1.2


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


def test_a_hidden_size_that_noise_may_have_made_gives_the_whole_range():
    study = Study.create(
        "auc", protocol="sites", epsilon=1.0, domain=UNIT, rounds=1, hide_sizes=True, bins=40, seed=1
    )
    wide = 0
    for seed in range(8):
        rng = np.random.default_rng(seed)
        data = {"score": rng.random(2020), "label": np.repeat([0, 1], [2000, 20])}
        try:
            estimate = dpairs.simulate(study, {**data, "site": np.zeros(2020)}, seed=seed)
        except (NotEnoughData, dpairs.NotEstimable):
            continue
        low, high = estimate.confidence_interval(target="sample")
        wide += 1
        assert (low, high) == (0, 1)
    assert wide > 2
    # Control: a size that is known leaves less doubt.
    clear = NoisyClass(np.full(40, 50.0), 8.0, 0.0, None)
    assert 1 < hidden_slack([clear, clear]) < 1.001
    assert hidden_slack([replace(clear, size=2000)] * 2) == 1
    assert hidden_slack([replace(clear, counts=np.full(40, 0.5)), clear]) == np.inf


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


@pytest.mark.parametrize("name", ["gini_mean_difference", "gini_coefficient"])
def test_a_heavy_tail_with_hidden_sizes_gives_a_wide_interval_and_not_a_wrong_one(name):
    """Nearly all records are at the low end of the first cell, and the pilot's mean is noise."""
    given: dict[str, Any] = {"domain": Interval(0, 1e4), "hide_sizes": True, "sites": 20, "n": 10_000}
    study = Study.create(name, protocol="sites", epsilon=1.0, seed=1, **given)
    held = []
    for seed in range(6):
        value = np.minimum(np.random.default_rng(seed).pareto(1.3, 10_000) + 1, 1e4)
        try:
            estimate = dpairs.simulate(study, {"value": value, "site": np.arange(10_000) % 20}, seed=seed)
        except dpairs.NotEstimable:
            continue
        low, high = estimate.confidence_interval(target="sample")
        held.append(low <= dpairs.exact(name, {"value": value}) <= high)
    assert all(held)
    assert len(held) > 2


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


def test_one_round_allows_for_records_along_a_line_within_cells():
    x = np.random.default_rng(1).random(4000)
    data = {"x": x, "y": (x + 0.01 * np.random.default_rng(2).normal(size=4000)).clip(0, 1)}
    study = Study.create(
        "kendall_tau", protocol="sites", epsilon=50.0, domain=(UNIT, UNIT), bins=12, sites=1, rounds=1, seed=1
    )
    estimate = dpairs.simulate(study, {**data, "site": np.zeros(4000)}, seed=1)
    low, high = estimate.confidence_interval(target="sample")
    assert low <= dpairs.exact("kendall_tau", data) <= high
    # Control: the counts' own value is off by more than noise.
    assert dpairs.exact("kendall_tau", data) > estimate.value + 0.03


def test_merged_cells_tell_what_counts_of_numbers_hide():
    """Spread out over their cells, values are further apart than they are."""
    study = Study.create(
        "gini_mean_difference", protocol="sites", epsilon=1.0, domain=UNIT, bins=20, rounds=1, seed=1
    )
    protocol: Any = study.protocol
    edges = norm.cdf(np.linspace(0, 1, 21), 0.5, 0.12)
    (form,) = study.statistic.forms(protocol.grid, "average")
    masses = np.diff(edges)
    off = masses @ form.matrix @ masses - 2 * 0.12 / np.sqrt(np.pi)
    assert 0.7 * off < by_merging(study.statistic, protocol.grid, masses) < 1.5 * off
