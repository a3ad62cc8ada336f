"""What bins hide of pairs is measured, and intervals allow for it; dependence narrower than cells, too."""

import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs import BadParameter, Interval, Kernel, Levels, Study
from dpairs.data.grids import Axis, Grid
from dpairs.protocols.two_servers.hidden import table_within
from dpairs.protocols.two_servers.law import ErrorLaw
from dpairs.protocols.two_servers.narrow import (
    FALSELY,
    OUTSIDE,
    TAUS,
    by_quadrants,
    crammed,
    narrow,
    surely,
    unordered,
    unseen,
)
from dpairs.protocols.two_servers.protocol import TwoServers
from dpairs.protocols.two_servers.released import Numbers
from dpairs.protocols.two_servers.within import Within
from dpairs.release import Release

UNIT = Interval(0, 1)
RUNS = 25
LEAST = stats.binom.ppf(1e-4, RUNS, 0.94)
FEW_RUNS = RUNS if os.environ.get("DPAIRS_VALIDATE") == "1" else 12
"""For intervals that without the bias cover none of 25 samples; a tenth of 12 is refused in 99.99%."""
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


def narrow_columns(rng):
    """A normal cloud in the middle of a domain that is 20 times as wide, of 64 by 64 bins."""
    x = rng.normal(size=600)
    return {"x": x, "y": 0.5 * x + math.sqrt(0.75) * rng.normal(size=600)}


def heavy_tails(rng):
    """So few that the servers do not measure what bins hide."""
    x, both = rng.normal(size=300), np.sqrt(2 / rng.chisquare(2, 300))
    y = 0.7 * x + math.sqrt(0.51) * rng.normal(size=300)
    return {"x": (x * both).clip(-50, 50), "y": (y * both).clip(-50, 50)}


def sawtooth(rng):
    """Every bin holds people in perfect order, and coarse cells see little of it."""
    x = rng.random(5000)
    return {"x": x, "y": 5 * x % 1}


def whole_days(rng):
    return {"value": np.ceil(rng.lognormal(1.2, 0.8, 3000)).clip(0, 60)}


DAYS = Interval(0, 60)
APART = Kernel(lambda a, b: np.minimum(np.abs(a - b) / 10, 1.0), range=(0, 1), domain=DAYS, lipschitz=0.1)
CASES: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "a hair apart": (hair, "auc", {"domain": UNIT}),
    "a hair apart, counts": (hair, "auc", {"domain": UNIT, "release": "counts"}),
    "rare events": (rare, "auc", {"domain": UNIT, "bins": 256}),
    "clumps, counts": (clumps, NEAR, {"domain": UNIT, "release": "counts"}),
    "chessboard": (chessboard, "kendall_tau", {"domain": (UNIT, UNIT)}),
    "sawtooth": (sawtooth, "kendall_tau", {"domain": (UNIT, UNIT)}),
    "narrow columns": (narrow_columns, "kendall_tau", {"domain": (Interval(-60, 60), Interval(-60, 60))}),
    "heavy tails": (heavy_tails, "kendall_tau", {"domain": (Interval(-50, 50), Interval(-50, 50))}),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_allow_for_what_bins_hide(name):
    made, statistic, options = CASES[name]
    n = len(next(iter(made(np.random.default_rng(0)).values())))
    study = Study.create(statistic, protocol="two_servers", epsilon=4.0, n=n, **options)
    hits = np.zeros(2, dtype=int)
    for seed in range(FEW_RUNS):
        people = made(np.random.default_rng([7, seed]))
        estimate = dpairs.simulate(study, people, seed=seed)
        assert estimate.laws is not None
        law, middle = estimate.laws.sample, estimate.value if estimate.centre is None else estimate.centre
        off = abs(middle - dpairs.exact(statistic, people))
        assert isinstance(law, ErrorLaw)
        hits += [off <= each.reach(0.95) for each in (law, replace(law, bias=0.0))]
    # The control: without the bias they cover too seldom.
    assert hits[1] < stats.binom.ppf(1e-4, FEW_RUNS, 0.94) <= hits[0]


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
    tau = protocol_of("kendall_tau", domain=(UNIT, Levels(range(3))), bins=[2, 3], n=100_000)
    seven = {"everybody": np.array([2, 1, 0, 0, 3, 1])}
    # Of 21 pairs, 3 by 4 are apart in x.
    assert tau.forms[-1].unit * tau.totals(seven).totals[-1] == 2 * (21 - 3 * 4)
    tau = protocol_of("kendall_tau", domain=(UNIT, UNIT), bins=[2, 3], n=100_000)
    # And of those 12 all but 2 by 4 and 1 by 1 share a bin of y.
    assert tau.forms[-1].unit * tau.totals(seven).totals[-1] == 2 * (21 - 2 * 4 - 1)
    assert len(protocol_of("kendall_tau", domain=(UNIT, UNIT), n=1000).weights) == 1
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
    finer = dict.fromkeys((0, 1), np.full(4, 1 / 16))
    assert unordered(cross, shares, finer) == pytest.approx(2 * 2 * 0.25**2 / 16)
    # Of four corners of 1/8 each, two share a cell of either axis with a corner.
    assert unseen(cross, shares, 0.0) == pytest.approx(4 / 8 * (3 / 8) ** 2)
    assert unseen(cross, shares, 1.0) == 0.0
    assert unseen(even, {}, 0.0) == 0.0


def test_a_table_in_two_rounds_may_be_off_where_people_are_at_one_value():
    """70% at 0 and the others even: all is off but what an interval of every table allows for."""
    spend = Interval(0, 300)
    steps = Kernel(lambda a, b: np.minimum(np.abs(a - b) / 2, 1.0), range=(0, 1), domain=spend, lipschitz=0.5)
    jumps = Kernel(lambda a, b: np.abs(a - b) < 2, range=(0, 1), domain=spend)
    grid, even, crowd = Grid((Axis(spend, 30),)), np.full(30, 1 / 30), np.full(30, 0.3 / 29)
    crowd[0] = 0.7
    for kernel, zero in ((steps, 0.0), (jumps, 1.0)):
        table = kernel.tabulate(grid, "average")
        bound = table_within(table, grid, {"everybody": crowd}, {"everybody": 0.0})
        missed = 0.7**2 * abs(zero - table.matrix[0, 0])
        assert bound + table.kernel_uncertainty(crowd) >= missed > table.kernel_uncertainty(crowd)
    table = steps.tabulate(grid, "average")
    assert table_within(table, grid, {"everybody": even}, {"everybody": 0.0}) == 0.0


def test_coarse_cells_hide_how_much_narrow_people_differ():
    """Normal values of deviation 1.5 in 0..100, and the same with the part that cells hide left out."""
    percent = Interval(0, 100)
    steps = Kernel(
        lambda a, b: np.minimum(np.abs(a - b) / 2, 1.0), range=(0, 1), domain=percent, lipschitz=0.5
    )
    study = Study.create(steps, domain=percent, protocol="two_servers", epsilon=4.0, n=100, bins=128)
    truth, hits = 0.6495, np.zeros(2, dtype=int)
    for seed in range(RUNS):
        people = {"value": np.random.default_rng([9, seed]).normal(50, 1.5, 100)}
        estimate = dpairs.simulate(study, people, seed=seed)
        assert estimate.laws is not None
        off = abs(estimate.value - truth)
        hits += [off <= law.reach(0.95) for law in (estimate.laws.population, estimate.laws.sample)]
    assert hits[1] < LEAST <= hits[0]


def test_people_at_whole_numbers_are_allowed_for():
    """At an epsilon at which noise hides little, and coarse counts do not yet show whole days as crowds."""
    study = Study.create(APART, domain=DAYS, protocol="two_servers", epsilon=6.0, n=3000)
    hits, without = 0, 0
    for seed in range(RUNS):
        people = whole_days(np.random.default_rng([8, seed]))
        estimate = dpairs.simulate(study, people, seed=seed)
        assert estimate.laws is not None
        values, counts = np.unique(people["value"], return_counts=True)
        apart = np.minimum(np.abs(np.subtract.outer(values, values)) / 10, 1.0)
        law, off = estimate.laws.sample, abs(estimate.value - counts @ apart @ counts / (3000 * 2999))
        assert isinstance(law, ErrorLaw)
        assert estimate.quantization.delta is not None
        hits += off <= law.reach(0.95)
        without += off <= replace(law, known=law.known - estimate.quantization.delta).reach(0.95)
    assert without < LEAST <= hits


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


def test_a_kernel_whose_table_is_flat_has_an_interval():
    """Waves of one length of a bin: nobody is seen to differ, and those at one value may."""

    def waves(a, b):
        return (1 + np.sin(128 * np.pi * a) * np.sin(128 * np.pi * b)) / 2

    kernel = Kernel(waves, range=(0, 1), domain=UNIT)
    study = Study.create(kernel, domain=UNIT, protocol="two_servers", epsilon=4.0, n=400, bins=64)
    rng = np.random.default_rng(1)
    people = {"value": np.where(rng.random(400) < 0.7, 0.31, rng.random(400))}
    low, high = dpairs.simulate(study, people, seed=1).confidence_interval(target="sample")
    assert low <= dpairs.exact(kernel, people) <= high


@pytest.mark.parametrize("name", ["auc", "kendall_tau"])
def test_counts_that_noise_adds_up_to_nothing_have_an_interval(name):
    """The number of people is public: what noise makes of it divides nothing."""
    options: dict[str, Any] = {"domain": Interval(0, 1)}
    if name == "kendall_tau":
        options = {"domain": (Interval(0, 1),) * 2, "variant": "b"}
    study = Study.create(name, protocol="two_servers", epsilon=0.25, release="counts", bins=6, **options)
    sizes = dict.fromkeys(study.strata, 50)
    protocol = study.protocol
    assert isinstance(protocol, TwoServers)
    cells = protocol.shape(sizes)[1]
    for last in (0, 1, -1):
        counts = {stratum: np.zeros(number, dtype=np.int64) for stratum, number in cells.items()}
        for there in counts.values():
            there[:3] = 5, -5, last
        estimate = Release(study, sizes, Numbers((), counts)).estimate(None)
        low, high = estimate.confidence_interval()
        assert low <= estimate.value <= high


@pytest.mark.parametrize("name", ["variance", "gini_mean_difference", "gini_coefficient"])
def test_gaussian_noise_on_numbers_fits_into_the_field(name):
    people = {"value": np.random.default_rng(3).uniform(0.2, 0.6, 400)}
    study = Study.create(
        name, protocol="two_servers", epsilon=1.0, domain=Interval(0, 1), noise="gaussian", delta=1e-6
    )
    assert dpairs.simulate(study, people, seed=1).standard_error > 0


def test_people_in_one_corner_of_two_columns_are_allowed_for():
    """Where nothing tells how many pairs share a bin, all may: of 200 studies none covered the truth."""
    rng = np.random.default_rng(5)
    together = rng.normal(size=2666)
    columns = [np.exp((together + rng.normal(size=2666)) / 4) for _ in "xy"]
    truth = stats.kendalltau(*columns).statistic
    study = Study.create(
        "kendall_tau", protocol="two_servers", epsilon=0.25, domain=(Interval(0, 300),) * 2, n=2666
    )
    for seed in range(5):
        estimate = dpairs.simulate(study, dict(zip("xy", columns, strict=True)), seed=seed)
        low, high = estimate.confidence_interval(target="sample")
        assert low <= truth <= high


def test_a_crowd_at_the_edge_of_two_cells_is_seen_in_counts():
    """Two full cells side by side may be two values: Gini covered the sample in 81%."""
    values = np.repeat([0.25, 0.75], [150, 161])
    study = Study.create(
        "gini_coefficient", protocol="two_servers", epsilon=8.0, domain=Interval(0, 30), release="counts"
    )
    people = {"value": values}
    truth = dpairs.exact("gini_coefficient", people)
    for seed in range(20, 30):
        low, high = dpairs.simulate(study, people, seed=seed).confidence_interval(target="sample")
        assert low <= truth <= high


@pytest.mark.parametrize("correlation", [0.01, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_quadrants_show_what_tau_is_at_most(correlation):
    both = stats.multivariate_normal(cov=[[1, correlation], [correlation, 1]])
    tau = 2 / math.pi * math.asin(correlation)
    for u in (0.1, 0.3, 0.5, 0.8):
        for v in (0.2, 0.5, 0.9):
            corner = float(both.cdf(stats.norm.ppf([u, v])))
            shown = by_quadrants(2 * (corner - u * v), [u, v])
            assert shown >= tau - 1e-3
            if u == v == 0.5:
                assert shown == pytest.approx(tau, abs=1 / TAUS + 1e-4)


def test_one_column_that_is_cut_shows_the_mean_sign_across():
    """By numerical integration over the other column, which is known."""
    x, steps = np.linspace(-6, 6, 301), np.linspace(-8, 8, 401)
    for correlation in (0.05, 0.5, 0.9):
        tau, rest = 2 / math.pi * math.asin(correlation), math.sqrt(1 - correlation**2)
        weights = stats.norm.pdf(x) / stats.norm.pdf(x).sum()
        for u in (0.1, 0.5, 0.7):
            below = x < stats.norm.ppf(u)
            density = stats.norm.pdf(steps[:, None], correlation * x, rest)
            low, high = density @ (weights * below), density @ (weights * ~below)
            low, high, u_here = low / low.sum(), high / high.sum(), float(weights @ below)
            mean = float(high @ np.cumsum(low) - low @ np.cumsum(high))
            assert by_quadrants(2 * u_here * (1 - u_here) * mean, [u_here]) >= tau - 0.01


def test_normal_people_with_so_many_elsewhere_are_as_near_each_other_as_even_ones():
    """Cells of width 1 around the mean; the rate of near pairs is the integral of the squared density."""
    normal, x = stats.norm(0, 1 / math.sqrt(math.pi)), np.linspace(-8, 8, 100_001)
    assert math.isclose(float((normal.pdf(x) ** 2).sum() * (x[1] - x[0])), 1 / 2, rel_tol=1e-9)
    assert math.isclose(1 - (normal.cdf(1) - normal.cdf(-1)) ** 2, OUTSIDE)


def found(table, places, noise):
    return [(axes, np.argwhere(block).tolist()) for axes, block in crammed(table, places, noise)]


def test_people_around_a_corner_are_found_unless_some_are_elsewhere():
    table = np.zeros((4, 4))
    table[1:3, 1:3] = [[0.3, 0.2], [0.2, 0.3]]
    corner = ([0, 1], [[1, 1], [1, 2], [2, 1], [2, 2]])
    for noise in (0.01, 0.05):
        assert found(table, [0, 1], noise) == [corner]
    some = 0.9 * table
    some[0, 0] = 0.1
    assert found(some, [0, 1], 0.05) == [corner]
    assert found(some, [0, 1], 0.01) == []
    # However large noise is, people who are seen elsewhere are not around a corner.
    some = (1 - 1.1 * OUTSIDE) * table
    some[3, 3] = 1.1 * OUTSIDE
    assert found(some, [0, 1], 0.05) == []
    # Those of one cell, or of one row of cells, are no hump: see `standing_out`.
    assert found(np.eye(16)[5].reshape(4, 4), [0, 1], 0.05) == []
    row = np.zeros((4, 4))
    row[1, 1:3] = 0.5
    assert found(row, [0, 1], 0.05) == []
    # With one column that is spread out, the other one's cells tell.
    edge = np.repeat([[0.0], [0.125], [0.125], [0.0]], 4, axis=1)
    assert [axes for axes, _ in found(edge, [0, 1], 0.01)] == [[0]]
    assert [axes for axes, _ in found(edge, [0], 0.05)] == [[0]]
    assert found(np.full((4, 4), 1 / 16), [0, 1], 0.01) == []
