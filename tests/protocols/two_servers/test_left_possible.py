"""What bins leave possible: equal values, ties that count nothing, crowds; and bins measured cell by cell."""

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs import BadParameter, Integers, Interval, Levels, Study
from dpairs.data.grids import Axis, CutAxis
from dpairs.protocols.two_servers.coarse import coarse_axis, finer
from dpairs.protocols.two_servers.ties import ties_of
from dpairs.statistics import statistic as statistic_named

UNIT = Interval(0, 1)
RUNS = 10
LEAST = stats.binom.ppf(1e-4, RUNS, 0.94)
"""Intervals that cover in 94% do so less often with a chance of 1e-4."""


def pins(rng):
    """A tenth have one number of four digits, many others a year."""
    kind, years, others = rng.random(2000), rng.integers(1940, 2015, 2000), rng.integers(0, 10_000, 2000)
    return {"value": np.select([kind < 0.1, kind < 0.3], [1234, years], others)}


def decimals(rng):
    risk = rng.beta(0.7, 3, 4000)
    return {"score": np.round(risk, 2), "label": (rng.random(4000) < 0.6 * risk + 0.05).astype(int)}


def skewed(rng):
    """Of a marker in whole numbers that most have little of."""
    label = rng.random(20_000) < 0.2
    marker = np.where(label, rng.lognormal(5.5, 1.8, 20_000), rng.lognormal(2.2, 0.7, 20_000))
    return {"score": np.round(marker).clip(0, 50_000), "label": label.astype(int)}


def doses(rng):
    """Of four doses, with a limit below which nothing is detected."""
    dose = rng.integers(0, 4, 20_000)
    return {"x": dose, "y": np.maximum(0.5, rng.lognormal(0.2 + 0.5 * dose, 0.9)).clip(0, 50)}


DOSES = (Levels(range(4)), Interval(0, 50))
CASES: dict[str, tuple[Any, str, dict[str, Any], dict[str, Any]]] = {
    "more values than bins": (pins, "collision_entropy", {"domain": Integers(0, 9999)}, {}),
    "ties that count nothing": (decimals, "auc", {"domain": UNIT}, {"ties": "zero"}),
    "ties, two rounds": (decimals, "auc", {"domain": UNIT, "rounds": 2}, {"ties": "zero"}),
    "a crowd beside others": (skewed, "auc", {"domain": Interval(0, 50_000), "release": "counts"}, {}),
    "levels beside a crowd": (doses, "kendall_tau", {"domain": DOSES, "rounds": 2, "epsilon": 8.0}, {}),
    "equal beside levels": (
        doses,
        "kendall_tau",
        {"domain": DOSES, "rounds": 2, "epsilon": 8.0},
        {"variant": "b"},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_intervals_allow_for_what_bins_leave_possible(name):
    made, statistic, options, more = CASES[name]
    n = len(next(iter(made(np.random.default_rng(0)).values())))
    study = Study.create(statistic, protocol="two_servers", n=n, **{"epsilon": 4.0, **options}, **more)
    hits = 0
    for seed in range(RUNS):
        people = made(np.random.default_rng([9, seed]))
        low, high = dpairs.simulate(study, people, seed=seed).confidence_interval(target="sample")
        hits += low <= dpairs.exact(statistic, people, **more) <= high
    assert hits >= LEAST


def test_pairs_of_a_bin_are_all_equal_or_as_few_as_can_be():
    """Bins of 3, 2, 3 and 2 values; 12 people of whom 6, 0, 4 and 2 are in them."""
    grid = statistic_named("collision_entropy").grid((Axis(Integers(0, 9), 4),))
    assert grid.axes[0].geometry[2].tolist() == [3, 2, 3, 2]
    histogram, entropy = np.array([6, 0, 4, 2]), statistic_named("collision_entropy")
    shared = float((histogram * (histogram - 1)).sum()) / (12 * 11)
    ties = ties_of(entropy, grid, np.array([shared]), grid, None, 0.0, 12)
    assert ties.most == pytest.approx([shared])
    assert ties.least == pytest.approx([shared / 3])
    # At least 2 + 2 + 2 of six on three values are equal in order; 1 pair of four, and none of two.
    fewest = (6 * 1 + 2 * 1 + 0) / (12 * 11)
    assert ties.least[0] - ties.fewer <= fewest
    ends = [-math.log(each[0]) for each in (ties.most, ties.least)]
    centre, bias = -math.log(ties.middle[0]), ties.bias(entropy, {"everybody": 12})
    assert [centre - math.log1p(bias), centre - math.log1p(-bias)] == pytest.approx(ends)


def test_an_entropy_of_few_values_has_no_such_range():
    study = Study.create(
        "collision_entropy", protocol="two_servers", epsilon=8.0, n=500, domain=Integers(0, 9)
    )
    people = {"value": np.arange(500) % 7}
    estimate = dpairs.simulate(study, people, seed=1)
    assert estimate.centre is None
    assert estimate.caveats == ()
    wide = Study.create(
        "collision_entropy", protocol="two_servers", epsilon=8.0, n=500, domain=Integers(0, 9999)
    )
    estimate = dpairs.simulate(wide, people, seed=1)
    assert estimate.caveats[0].startswith("Bins hold several values")
    low, high = estimate.confidence_interval()
    assert low <= estimate.value <= high


def test_two_rounds_of_an_entropy_need_a_bin_for_each_value():
    with pytest.raises(BadParameter, match="a bin for each value"):
        Study.create(
            "collision_entropy",
            protocol="two_servers",
            rounds=2,
            epsilon=1.0,
            domain=Integers(0, 199),
            bins=40,
        )


def test_noisy_counts_of_an_entropy_tell_the_same_range():
    study = Study.create(
        "collision_entropy",
        protocol="two_servers",
        release="counts",
        epsilon=50.0,
        domain=Integers(0, 199),
        bins=40,
    )
    people = {"value": np.arange(3000) % 30}
    low, high = dpairs.simulate(study, people, seed=1).confidence_interval(target="sample")
    # Thirty values in six bins of five.
    assert low == pytest.approx(math.log(6), abs=0.02)
    assert math.log(30) < high == pytest.approx(math.log(30), abs=0.02)


def test_bins_are_measured_by_their_own_cell():
    fine = Axis(UNIT, 8)
    coarse = CutAxis.at(UNIT, [0, 0.5, 0.75, 0.875, 1])
    assert finer(coarse, fine).tolist() == [1 / 4, 1 / 2, 1, 1]
    assert finer(coarse, fine, 2.0).tolist() == [1 / 16, 1 / 4, 1, 1]
    # Bins of one value hide nothing, and a cell of bins of 2, 1 and 2 values hides those of two.
    years = Axis(Integers(0, 4), 3)
    assert years.geometry[2].tolist() == [2, 2, 1]
    assert finer(CutAxis.at(Integers(0, 4), [0, 5]), years) == pytest.approx([8 / 25])
    assert finer(CutAxis.at(Integers(0, 4), [0, 4, 5]), years).tolist() == [1 / 2, 0]
    inner, _ = coarse_axis(Axis(UNIT, 64), 32, inner=True)
    assert finer(inner, Axis(UNIT, 64)).max() == 1
    assert finer(inner, Axis(UNIT, 64)).min() < 1 / 4


@pytest.mark.parametrize(
    ("low", "high"), [(-(2**63), 2**63 - 1), (0, 2**63 - 1), (-(2**62), 2**62), (0, 2**64 - 2)]
)
def test_bins_of_any_integers_are_merged_exactly(low, high):
    """Doubles do not hold their edges, and 2^63 is no int64."""
    domain = Integers(low, high)
    coarse, run = coarse_axis(Axis(domain, 24), 8)
    assert isinstance(coarse, CutAxis)
    assert list(coarse.edges) == [-(-3 * cell * domain.size // 24) for cell in range(9)]
    again, _ = coarse_axis(coarse, 4)
    assert again.offsets == list(coarse.edges[::2])
    assert run.tolist() == [place // 3 for place in range(24)]
    made = Study.create("auc", protocol="two_servers", domain=domain, epsilon=1.0)
    assert Study.from_json(made.to_json()) == made


@pytest.mark.parametrize("domain", [Interval(-4, 4), Integers(-50, 50)], ids=["numbers", "whole"])
def test_intervals_of_tau_do_not_grow_with_epsilon(domain):
    rng, scale = np.random.default_rng(3), domain.high / 4
    x = rng.normal(size=20_000)
    y = 0.5 * x + math.sqrt(0.75) * rng.normal(size=20_000)
    people = {name: (scale * each).clip(domain.low, domain.high) for name, each in (("x", x), ("y", y))}
    if isinstance(domain, Integers):
        people = {name: np.rint(each).astype(int) for name, each in people.items()}
    lengths = []
    for epsilon in (1.0, 2.0, 4.0):
        study = Study.create(
            "kendall_tau", protocol="two_servers", epsilon=epsilon, n=20_000, domain=(domain, domain)
        )
        low, high = dpairs.simulate(study, people, seed=1).confidence_interval()
        lengths.append(high - low)
    # Half again for noise in what the intervals allow for.
    assert max(lengths[1:]) < 1.5 * lengths[0]
