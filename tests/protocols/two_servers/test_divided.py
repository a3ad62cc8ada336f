"""Two rounds of a ratio: what its divisor does is in the interval, and so is what cells of numbers hide."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs import BadFile, Interval, Study
from dpairs.data.grids import CutAxis
from dpairs.protocols.projection.divided import Divided
from dpairs.protocols.projection.pilot import adding_up
from dpairs.protocols.two_servers.law import ErrorLaw
from dpairs.statistics.hidden import distance_uneven, half_square_uneven

from ...against_truth import counted_to

RUNS = 40
FAILURE = 1e-4
"""The chance that intervals which cover 94% are refused, for fresh seeds."""
LEAST = int(stats.binom.ppf(FAILURE, RUNS, 0.94))
UNIT = Interval(0, 1)
STATISTIC = dpairs.Study.create(
    "auc", protocol="two_servers", rounds=2, epsilon=1.0, domain=UNIT, labels="private"
)


PUBLIC = dpairs.Study.create("auc", protocol="two_servers", rounds=2, epsilon=1.0, domain=UNIT)


def one_in_twenty(rng, n=1000):
    label = (rng.random(n) < 0.05).astype(np.int64)
    return {"score": rng.normal(0.45 + 0.2 * label, 0.15).clip(0, 1), "label": label}


def covered(bins=None):
    """Whether each interval holds, study by study."""
    study = Study.create(
        "auc",
        protocol="two_servers",
        epsilon=1.0,
        domain=UNIT,
        n=1000,
        bins=bins,
        rounds=2,
        labels="private",
        seed=1,
    )
    for seed in range(RUNS):
        people = one_in_twenty(np.random.default_rng([8, seed]))
        low, high = dpairs.simulate(study, people, seed=seed).confidence_interval(target="sample")
        yield low <= dpairs.exact(study.statistic, people) <= high


def test_a_rare_hidden_class_is_in_the_interval(monkeypatch):
    assert counted_to(LEAST, covered()) == LEAST
    # The control: more cells, and a divisor taken for known.
    monkeypatch.setattr(Divided, "of", lambda *_: None)
    many = RUNS - LEAST + 1
    assert counted_to(many, (not hit for hit in covered(bins=32))) == many


def test_what_is_missed_grows_with_the_correction():
    divided = Divided(0.1, 0.05, 0.0, 0.01, 0.04, 0.0)
    assert divided.variance(0.0) == 0.01
    assert divided.variance(2.0) == pytest.approx(0.05 * 4 + 0.01)
    assert divided.slack == pytest.approx(1 / (1 - 1.959964**2 * 0.04))
    assert not divided.caveats
    hopeless = replace(divided, relative=0.3)
    assert hopeless.slack == np.inf
    assert "may be 0" in hopeless.caveats[0]
    assert ErrorLaw(1.0, noise=(2.0,), bias=0.5).wider(hopeless.slack).reach(0.95) == np.inf
    assert ErrorLaw(1.0, noise=(2.0,), bias=0.5).wider(2.0) == ErrorLaw(4.0, noise=(8.0,), bias=0.5)


@pytest.mark.parametrize(
    "bad",
    [None, [1, 2], [0, -1, 0, 0, 0, 0], [0, 0, 0, 0, 0, -1], [-2, 4, 0, 0, 0, 0], [0, 1e200, 0, 0, 0, 0]],
)
def test_bad_divisors_are_refused(bad):
    with pytest.raises(BadFile):
        Divided.from_json(STATISTIC.statistic, bad)


def test_a_divisor_comes_back_from_its_file():
    divided = Divided(0.1, 0.05, 0.01, 0.01, 0.04, 0.2)
    assert Divided.from_json(STATISTIC.statistic, divided.to_json()) == divided
    assert Divided.from_json(PUBLIC.statistic, None) is None
    with pytest.raises(BadFile, match="divides by nothing"):
        Divided.from_json(PUBLIC.statistic, divided.to_json())


def test_a_pilot_keeps_shares_below_nothing():
    """The nearest distribution is no linear function of the counts, and its error has a mean."""
    assert adding_up(np.array([0.5, 0.3, 0.05, -0.02, 0.07])).tolist() == pytest.approx(
        [0.52, 0.32, 0.07, 0.0, 0.09]
    )
    assert adding_up(np.array([1.0, -0.2])).tolist() == pytest.approx([1.1, -0.1])


@pytest.mark.parametrize(
    ("bound", "kernel"), [(distance_uneven, np.abs), (half_square_uneven, lambda d: d**2 / 2)]
)
def test_bounds_of_uneven_cells_hold_and_are_reached(bound, kernel):
    """Everybody in one cell of two; the derivative at an even spread is its chord between the edges."""
    axis, masses, fine = CutAxis.at(UNIT, [0.0, 0.5, 1.0]), np.array([1.0, 0.0]), np.linspace(0, 0.5, 201)
    even = np.full(201, 1 / 201)
    least, most = bound(axis, masses, np.ones(2))
    chord = np.array([2 * kernel(end - fine) @ even for end in (0.0, 0.5)])
    value = even @ kernel(fine[:, None] - fine[None, :]) @ even
    off = []
    for places in ([0.0], [0.25], [0.5], [0.0, 0.5], [0.0, 0.0, 0.5], [0.2, 0.3]):
        at = np.array(places)
        psi = chord[0] + (chord[1] - chord[0]) * at / 0.5
        seen = value + psi.mean() - (chord[0] + chord[1]) / 2
        off.append(kernel(at[:, None] - at[None, :]).mean() - seen)
    slack = 0.01
    assert least - slack * 0.5 <= min(off) <= max(off) <= most + slack * 0.5
    assert max(off) == pytest.approx(most, abs=slack)
    assert bound(axis, masses, np.zeros(2)) == (0.0, 0.0)


def test_a_plan_counts_what_cells_hide_of_a_line():
    option = dpairs.plan("auc", epsilon=1.0, n=2000, domain=UNIT, protocol="two_servers").options[0]
    packed: Any = Study.create(
        "auc", protocol="two_servers", rounds=2, epsilon=1.0, domain=UNIT, n=2000
    ).protocol
    shapes = {each.name: each for each in dpairs.planning.shapes.hard(option.shape.statistic, (UNIT,))}
    predicted = {name: packed.predict(shape, option.sizes) for name, shape in shapes.items()}
    assert predicted["evenly spread values"].bias == 0.0
    assert predicted["packed"].bias > 0.1
    assert predicted["packed"].half_width > predicted["evenly spread values"].half_width


@pytest.mark.parametrize("rounds", [1, 2])
def test_a_divisor_that_may_be_nothing_leaves_the_whole_range(rounds):
    study = Study.create(
        "gini_coefficient", protocol="two_servers", epsilon=0.3, domain=UNIT, n=100, rounds=rounds
    )
    people, whole = {"value": np.random.default_rng(5).random(100) / 10}, 0
    for seed in range(8):
        try:
            estimate = dpairs.simulate(study, people, seed=seed)
        except dpairs.NotEstimable:
            continue
        assert 0 <= estimate.value <= 1
        assert estimate.standard_error <= 1
        whole += estimate.confidence_interval() == estimate.confidence_interval(target="sample") == (0, 1)
    assert whole > 0


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize(("epsilon", "n"), [(1.0, 2_000), (20.0, 20_000)])
def test_incomes_that_may_all_be_0_get_no_interval(epsilon, n, rounds):
    """Of zeros the coefficient is not defined, and a bin does not show where in it people are.

    Noise may still say otherwise in one study of forty; seeds are fixed. Negative control: of incomes that
    fill many bins it is, and the interval is shorter.
    """
    rng = np.random.default_rng(3)
    for values, defined in ((np.zeros(n), False), (rng.uniform(0, 1e5, n), True)):
        for seed in range(4):
            study = dpairs.Study.create(
                "gini_coefficient",
                protocol="two_servers",
                rounds=rounds,
                epsilon=epsilon,
                domain=dpairs.Interval(0, 1e5),
                n=n,
                seed=seed,
            )
            try:
                estimate = dpairs.simulate(study, {"value": values}, seed=seed)
            except dpairs.NotEstimable:
                assert not defined
                continue
            low, high = estimate.confidence_interval()
            assert (high - low < 0.2) if defined else (low, high) == (0.0, 1.0)
            assert any("may be 0" in sentence for sentence in estimate.caveats) is not defined
