"""What the second round says about people beyond the end of the function."""

from dataclasses import replace

import numpy as np
import pytest

import dpairs
from dpairs import Interval
from dpairs.data.grids import CutAxis
from dpairs.mechanisms import BitResponse, ScalarResponse
from dpairs.mechanisms.window import WindowResponse
from dpairs.protocols.counts import DenseCounts
from dpairs.protocols.projection.far import NOBODY_FAR, Far, most_at_top
from dpairs.protocols.projection.pilot import Narrowed
from dpairs.randomness import SeededRandomness
from dpairs.statistics.vertices import Vertices

MECHANISMS = (
    BitResponse.for_epsilon(2.0),
    WindowResponse.for_epsilon(4, 1, 4.0),
    WindowResponse.for_epsilon(12, 2, 8.0),
    WindowResponse.for_epsilon(5, 3, 1.0),
    WindowResponse.for_epsilon(6, 1, 6.0, tuple(int(2**32 * knot) for knot in (0.05, 0.2, 0.4, 0.7))),
)


def answers(mechanism: ScalarResponse, shares: dict[float, float], people: float) -> DenseCounts:
    """As many of each symbol as are expected, up to rounding."""
    expected = sum(share * np.array(mechanism.pmf(value), dtype=float) for value, share in shares.items())
    counts = DenseCounts(mechanism.symbols)
    counts.array[:] = np.rint(expected * people)
    return counts


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_share_at_the_top_is_bounded_from_above(mechanism):
    """And found, if all others are at the bottom and there is next to no noise."""
    found = most_at_top(mechanism, answers(mechanism, {0.0: 0.9, 1.0: 0.1}, 1e12))
    assert found == pytest.approx(0.1, rel=1e-3)
    for others in (0.1, 0.5, 0.9, 0.99):
        more = most_at_top(mechanism, answers(mechanism, {others: 0.9, 1.0: 0.1}, 1e12))
        assert more >= found * (1 - 1e-9)
    # A symbol that is as likely for all people says nothing about them.
    assert most_at_top(mechanism, answers(mechanism, {1.0: 1.0}, 1e12)) == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_bound_is_one_standard_error_above(mechanism):
    rng, people, held = np.random.default_rng(5), 4000, 0
    values = np.where(np.arange(people) < 40, 1.0, 0.0)
    for _ in range(200):
        counts = DenseCounts(mechanism.symbols)
        seed = int(rng.integers(2**40))
        symbols = mechanism.randomize(values, SeededRandomness(seed))
        counts.array[:] = np.bincount(symbols, minlength=mechanism.symbols)
        held += most_at_top(mechanism, counts) >= 0.01
    # Five standard errors below 84%; to add nothing would hold in about half of the runs.
    assert held / 200 > 0.84 - 5 * 0.026


def test_nobody_was_seen():
    """By hand: 0 of 1,000 answers, while 0.1 of a count would be chance."""
    mechanism = WindowResponse.for_epsilon(12, 1, 12.0)
    none = float(mechanism.pmf(0.0)[-1])
    counts = DenseCounts(12)
    counts.array[0] = 1000
    chance = 1000 * none
    expected = (chance + 0.5 + np.sqrt(chance + 0.25)) / 1000 - none
    assert most_at_top(mechanism, counts) == pytest.approx(expected, rel=1e-2)
    thought = 10 * most_at_top(mechanism, counts)
    assert Far(thought, 2.0).less(mechanism, counts) == pytest.approx(0.9 * 2.0)
    assert Far(0.001 * thought, 2.0).less(mechanism, counts) == 0.0
    assert NOBODY_FAR.less(mechanism, counts) == 0.0


def test_only_people_at_the_greatest_value_show():
    vertices = Vertices(CutAxis.at(Interval(0, 4), [0.0, 1.0, 2.0, 3.0, 4.0]))
    ends = Narrowed(0, 2, (0, 1), (), (), heavier=((0.02, 3.0), (0.01, 4.0)))
    level = np.minimum(vertices.places, 2.0)
    assert Far.of(vertices, level, ends, -0.5) == Far(0.03, 0.5)
    assert Far.of(vertices, -level, ends, -0.5) == NOBODY_FAR
    assert Far.of(vertices, level, replace(ends, heavier=()), 0.0) == NOBODY_FAR


def test_a_light_tail_costs_less(monkeypatch):
    """Exponential values on a wide domain; without the second round's word the interval is much longer."""
    rng = np.random.default_rng(3)
    study = dpairs.Study.create(
        "variance", protocol="projection", epsilon=8.0, domain=Interval(0, 50), n=2000, seed=3
    )
    people = {"value": np.minimum(rng.exponential(size=2000), 50.0)}
    found = dpairs.simulate(study, people, seed=3)
    low, high = found.confidence_interval()
    assert low <= 1.0 <= high
    monkeypatch.setattr(Far, "less", lambda *_: 0.0)
    assert dpairs.simulate(study, people, seed=3).bias > 2 * found.bias


def test_what_is_read_back_is_the_same():
    far = Far(0.25, 0.5)
    assert Far.from_json(far.to_json(), 0.5) == far
    for bad in ([0.25, 0.6], [1.5, 0.5], [-0.1, 0.5], [0.25, -0.1]):
        with pytest.raises(dpairs.BadFile, match="a part of the bias"):
            Far.from_json(bad, 0.5)
