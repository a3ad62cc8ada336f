"""Cut axes: which bin a value is in, and edges that cut no domain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpairs import BadParameter, BadValue, Categories, Integers, Interval, Levels
from dpairs.data.grids import CutAxis
from dpairs.randomness import SystemRandomness

from ..strategies import QUICK
from .cut import CUT_INTEGERS, CUT_INTERVAL


@given(st.data())
@QUICK
def test_values_lie_in_the_bin_between_their_edges(data):
    edges = sorted(data.draw(st.sets(st.integers(1, 999), max_size=8)))
    whole = CutAxis.at(Integers(-500, 499), [0, *edges, 1000])
    interval = CutAxis.at(Interval(-500, 500), [-500.0, *(edge - 500.0 for edge in edges), 500.0])
    values = data.draw(st.lists(st.integers(-500, 499), min_size=1, max_size=20))
    for axis in (whole, interval):
        bins, through = axis.locate(np.array(values), "v")
        assert axis.place(values, "v", SystemRandomness()).tolist() == bins.tolist()
        for value, place, part in zip(values, bins.tolist(), through.tolist(), strict=True):
            low, high, points = (each[place] for each in axis.geometry)
            assert low <= value <= high
            expected = (value - low) / (high - low) if points > 1 else 0.0
            assert part == pytest.approx(expected, abs=1e-12)
            assert axis is whole or value < high or value == 500


def test_ends_and_edges_of_an_interval():
    bins, through = CUT_INTERVAL.locate(np.array([-1, -0.5, 0, np.nextafter(2, 0), 2, 3]), "v")
    assert bins.tolist() == [0, 1, 2, 2, 3, 3]
    assert through.tolist() == pytest.approx([0, 0, 0, 1, 0, 1])
    assert (through <= 1).all()


@pytest.mark.parametrize(
    "domain",
    [
        Integers(1_700_000_000_000_000_000, 1_700_000_000_000_000_999),
        Integers(-(2**63), -(2**63) + 999),
        Integers(2**64 - 1000, 2**64 - 1),
    ],
    ids=["nanoseconds", "lowest", "highest"],
)
def test_far_from_zero_whole_numbers_are_told_apart(domain):
    """Doubles are 256 and more apart there, so extents must come from the edges, not from their doubles."""
    axis = CutAxis.at(domain, [0, 16, 17, 500, 1000])
    values = [domain.low + offset for offset in (0, 5, 15, 16, 17, 258, 499, 500, 999)]
    bins, through = axis.locate(np.array(values, dtype=np.int64 if domain.low < 2**63 else np.uint64), "v")
    assert bins.tolist() == [0, 0, 0, 1, 2, 2, 2, 3, 3]
    expected = [0, 5 / 15, 1, 0, 0, 241 / 482, 1, 0, 1]
    assert through.tolist() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("domain", "edges"),
    [
        (Interval(0, 1), []),
        (Interval(0, 1), [0.0]),
        (Interval(0, 1), [0.0, 0.5]),
        (Interval(0, 1), [0.1, 1.0]),
        (Interval(0, 1), [0.0, 0.5, 0.5, 1.0]),
        (Interval(0, 1), [0.0, 0.7, 0.5, 1.0]),
        (Interval(0, 1), [0.0, float("nan"), 1.0]),
        (Integers(5, 9), [5, 7, 9]),
        (Integers(5, 9), [0, 2, 6]),
        (Integers(5, 9), [0, 2, 4]),
        (Levels([1, 2]), [0, 1, 2]),
        (Categories(["a", "b"]), [0, 2]),
    ],
)
def test_edges_that_do_not_cut_the_domain_are_refused(domain, edges):
    with pytest.raises(BadParameter, match=r"edges|bins|cut"):
        CutAxis.at(domain, edges)


def test_values_outside_are_refused_by_name():
    with pytest.raises(BadValue, match="score"):
        CUT_INTERVAL.locate(np.array([3.5]), "score")
    with pytest.raises(BadValue, match="score"):
        CUT_INTEGERS.locate(np.array([13]), "score")
