"""What bins hide of pairs is measured, and intervals allow for it; dependence narrower than cells, too."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs import BadParameter, Interval, Kernel, Levels, Study
from dpairs.data.grids import Axis, Grid
from dpairs.protocols.two_servers.law import ErrorLaw
from dpairs.protocols.two_servers.narrow import FALSELY, narrow, surely, unordered, unseen
from dpairs.protocols.two_servers.protocol import TwoServers
from dpairs.protocols.two_servers.within import Within

UNIT = Interval(0, 1)
RUNS = 25
LEAST = stats.binom.ppf(1e-4, RUNS, 0.94)
NEAR = Kernel(lambda a, b: np.abs(a - b) < 0.01, range=(0, 1), domain=UNIT)


def hair(rng):
    label = np.arange(400) % 2
    return {"score": np.where(rng.random(400) < 0.5, 0.341 + 1e-6 * label, rng.random(400)), "label": label}


def rare(rng):
    label = (np.arange(400) < 60).astype(int)
    return {"score": np.exp(rng.normal(-7 + 1.5 * label, 1.2)).clip(0, 1), "label": label}


def clumps(rng):
    places = 0.02 * rng.random(400) ** 2
    return {"value": np.where(rng.random(400) < 0.45, 0.499 - places, 0.75 + places)}


def chessboard(rng):
    """Five by five squares, in the black ones of which both columns rise together."""
    across, up, within = rng.integers(0, 5, 3000), rng.integers(0, 3, 3000), rng.random(3000)
    up = np.where((2 * up + across % 2) > 4, 4 - across % 2, 2 * up + across % 2)
    return {"x": (across + within) / 5, "y": (up + within) / 5}


CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "a hair apart": (hair, "auc", {"domain": UNIT}),
    "a hair apart, counts": (hair, "auc", {"domain": UNIT, "release": "counts"}),
    "rare events": (rare, "auc", {"domain": UNIT}),
    "clumps, counts": (clumps, NEAR, {"domain": UNIT, "release": "counts"}),
    "chessboard": (chessboard, "kendall_tau", {"domain": (UNIT, UNIT)}),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_allow_for_what_bins_hide(name):
    made, statistic, options = CASES[name]
    n = len(next(iter(made(np.random.default_rng(0)).values())))
    study = Study.create(statistic, protocol="two_servers", epsilon=4.0, n=n, **options)
    hits = np.zeros(2, dtype=int)
    for seed in range(RUNS):
        people = made(np.random.default_rng([7, seed]))
        estimate = dpairs.simulate(study, people, seed=seed)
        assert estimate.laws is not None
        law, off = estimate.laws.sample, abs(estimate.value - dpairs.exact(statistic, people))
        assert isinstance(law, ErrorLaw)
        hits += [off <= each.reach(0.95) for each in (law, replace(law, bias=0.0))]
    # The control: without the bias they cover too seldom.
    assert hits[1] < LEAST <= hits[0]


def protocol_of(statistic="auc", **options):
    study = Study.create(statistic, protocol="two_servers", epsilon=1.0, **{"domain": UNIT, **options})
    assert isinstance(study.protocol, TwoServers)
    return study.protocol


def test_it_is_measured_where_enough_people_make_use_of_it():
    assert protocol_of(n=2000).weights == (960, 64)
    assert protocol_of(n=200).weights == (1024,)
    assert protocol_of().weights == (1024,)
    # One bin for each value hides nothing, and counts tell it for nothing.
    assert protocol_of(domain=Levels(range(9)), n=2000).weights == (1024,)
    assert protocol_of(release="counts", n=2000).weights == (1024,)
    assert len(protocol_of(NEAR, n=2000).weights) == 2
    private = protocol_of(labels="private", n=20_000)
    assert len(private.forms) == 3
    assert sum(private.weights) <= 1024


def test_a_last_weight_needs_something_to_measure():
    protocol = protocol_of(domain=Levels(range(9)))
    with pytest.raises(BadParameter, match="bins hide nothing"):
        replace(protocol, weights=(960, 64))


def test_the_measured_form_is_half_of_the_pairs_in_one_bin():
    protocol = protocol_of(bins=4, n=100_000)
    numbers = protocol.totals({"positive": np.array([3, 0, 2, 1]), "negative": np.array([1, 5, 4, 0])})
    assert protocol.forms[-1].unit * numbers.totals[-1] == (3 * 1 + 2 * 4) / 2
    table = protocol_of(NEAR, bins=32, n=100_000)
    (first, *_), people = table.forms, np.zeros(32, dtype=np.int64)
    people[[4, 20]] = 10
    known = table.totals({"everybody": people}).totals
    # 180 of the 380 ordered pairs are in one bin of width 1/32: all may be within 0.01, or nearly none.
    average = first.unit * known[0] / 180
    assert table.forms[-1].unit * known[-1] / 180 == pytest.approx(max(average, 1 - average), abs=1e-3)


def test_the_upper_end_of_what_was_measured():
    variance = 0.01
    laplace = Within(0.2, variance, True).most - 0.2
    scales = 2 * laplace / math.sqrt(variance)
    assert (2 + scales) * math.exp(-scales) / 4 == pytest.approx(0.025, rel=0.02)
    assert Within(-1.0, variance, False).most == pytest.approx(1.96 * 0.1, rel=1e-3)
    assert not Within(0.35, variance, True).clearly_above(0.0)
    assert Within(0.45, variance, True).clearly_above(0.0)
    assert Within(0.35, variance, False).clearly_above(0.0)


def test_noise_looks_narrow_in_few_grids():
    """By the exact tail of the sum of two Laplace numbers."""
    for cells in (16, 144, 1024):
        scales = 2 * surely(cells)
        assert cells * (2 + scales) * math.exp(-scales) / 4 == pytest.approx(FALSELY)


def test_who_is_narrow():
    grid = Grid((Axis(UNIT, 4), Axis(UNIT, 4)))
    even, cross = np.full(16, 1 / 16), ((np.eye(4) + np.eye(4)[::-1]) / 8).reshape(-1)
    assert not any(share.any() for share in narrow(grid, even, 0.0).values())
    shares = narrow(grid, cross, 0.0)
    # The four cells in the middle of an X are beside each other.
    assert shares[0].tolist() == [[1, 0, 0, 1], [0] * 4, [0] * 4, [1, 0, 0, 1]]
    assert not any(share.any() for share in narrow(grid, cross, 0.1).values())
    finer = {0: 1 / 16, 1: 1 / 16}
    assert unordered(grid, cross, shares, finer) == pytest.approx(2 * 2 * 0.25**2 / 16)
    assert unseen(cross, shares, 0.0) == pytest.approx(4 / 8**3)
    assert unseen(cross, shares, 1.0) == 0.0
    assert unseen(even, {}, 0.0) == 0.0


def test_counts_whose_noise_puts_tau_at_the_end_of_its_range_have_an_interval():
    rng = np.random.default_rng(103)
    height = rng.normal(170, 10, 100)
    weight = (0.9 * (height - 100) + rng.normal(0, 12, 100)).clip(30, 180)
    domain = (Interval(120, 220), Interval(30, 180))
    study = Study.create(
        "kendall_tau", protocol="two_servers", release="counts", epsilon=0.5, domain=domain, n=100
    )
    estimate = dpairs.simulate(study, {"x": height.clip(120, 220), "y": weight}, seed=103)
    low, high = estimate.confidence_interval()
    assert estimate.value == high == 1.0 > low
