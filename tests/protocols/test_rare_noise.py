"""At a large epsilon hardly any report is changed, and reports that show no noise have some all the same."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpairs import Integers, Levels, Study, exact, simulate
from dpairs.protocols.histogram import moments
from dpairs.protocols.histogram.moments import Moments, hoeffding
from dpairs.protocols.histogram.protocol import Histogram
from dpairs.protocols.projection.analysis import Analysis

RUNS, FAILURE = 100, 1e-6
FEWEST = int(stats.binom.ppf(FAILURE, RUNS, 0.95))
"""Of intervals that hold in 95%, so many do at least but for a chance of FAILURE, for fresh seeds."""
MONTH, MILLION = Integers(0, 31), Integers(0, 10**6)
CASES: dict[str, tuple[str, Integers, float, dict[str, Any]]] = {
    "rounded": ("gini_mean_difference", MILLION, 5.0, {"n": 200, "bins": 8, "rounding": "random"}),
    "listed": ("variance", MONTH, 2.0, {"n": 200}),
    "two rounds": ("variance", MONTH, 2.0, {"n": 500, "protocol": "projection"}),
}


def histogram(study: Study) -> Histogram:
    assert isinstance(study.protocol, Histogram)
    return study.protocol


def held(case: str) -> int:
    """How many intervals hold the population's value, of few people who hardly differ."""
    name, domain, mean, options = CASES[case]
    truth = exact(name, {"value": np.minimum(np.random.default_rng(5).poisson(mean, 400_000), domain.high)})
    count = 0
    for run in range(RUNS):
        people = np.minimum(np.random.default_rng([1, run]).poisson(mean, options["n"]), domain.high)
        study = Study.create(name, epsilon=8.0, domain=domain, seed=run, **options)
        low, high = simulate(study, {"value": people}, seed=run).confidence_interval()
        count += low <= truth <= high
    return count


@pytest.mark.parametrize("case", CASES)
def test_intervals_hold_where_noise_is_rare(case):
    assert held(case) >= FEWEST


def test_intervals_by_what_answers_show_alone_do_not_hold(monkeypatch):
    monkeypatch.setattr(Moments, "variances", lambda self, sizes, seen: seen)
    made = Analysis.of.__func__  # type: ignore[attr-defined]

    def unknowing(cls, *given):
        analysis = made(cls, *given)
        object.__setattr__(analysis, "noises", None)
        return analysis

    monkeypatch.setattr(Analysis, "of", classmethod(unknowing))
    for case in CASES:
        assert held(case) < FEWEST, case


@pytest.mark.parametrize("name", ["gini_mean_difference", "auc"])
def test_moments_are_those_of_enumeration(name):
    study = Study.create(name, epsilon=2.0, domain=Levels([0, 1, 3, 4]), mechanism="krr", seed=1)
    protocol, rng = histogram(study), np.random.default_rng(2)
    decoder, channel = protocol.mechanism.decoder, protocol.mechanism.channel
    kernel = protocol.forms[0].matrix
    shares = [rng.dirichlet(np.ones(4)) for _ in study.strata]
    first, last = shares[0] @ channel, shares[-1] @ channel
    pairs = decoder @ kernel @ decoder.T
    mean = first @ pairs @ last
    found = hoeffding(protocol, kernel, shares)
    for part, masses, rows in zip(found.parts, shares, (pairs @ last, first @ pairs), strict=False):
        own = channel @ rows
        assert part.reports == pytest.approx((masses @ channel) @ (rows - mean) ** 2)
        assert part.people == pytest.approx(masses @ (own - mean) ** 2)
        assert part.reports_fourth == pytest.approx((masses @ channel) @ (rows - mean) ** 4)
        each = [
            x * p * (r - o) ** 4
            for x, o, row in zip(masses, own, channel, strict=True)
            for p, r in zip(row, rows, strict=True)
        ]
        assert part.noise_fourth == pytest.approx(sum(each))
    between = pairs - (pairs @ last)[:, None] - (first @ pairs)[None] + mean
    assert found.pairs == pytest.approx(first @ between**2 @ last)
    people = kernel - (kernel @ shares[-1])[:, None] - (shares[0] @ kernel)[None] + mean
    assert found.pairs_of_people == pytest.approx(shares[0] @ people**2 @ shares[-1])


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_variances_of_many_reports_stay_as_they_are(epsilon):
    study = Study.create("gini_mean_difference", epsilon=epsilon, domain=MONTH, seed=1)
    protocol, rng = histogram(study), np.random.default_rng(3)
    kernel = protocol.forms[0].matrix
    symbols = protocol.mechanism.channel[np.minimum(rng.poisson(5.0, 20_000), 31)].cumsum(axis=1)
    drawn = (rng.random((20_000, 1)) > symbols).sum(axis=1)
    counts = [np.bincount(drawn, minlength=protocol.symbols).astype(float)]
    seen, found = protocol.average(kernel).variances(counts), moments.variances(protocol, kernel, counts)
    # At epsilon 8 some 200 reports are changed: a variance that is seen in them is uncertain by 7%.
    assert seen.population <= found.population < 1.1 * seen.population
    assert seen.sample <= found.sample < 1.2 * seen.sample
