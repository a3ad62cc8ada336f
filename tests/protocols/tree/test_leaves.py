"""Leaves of a tree: exact, in order, and none for values outside."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpairs import (
    BadValue,
    Integers,
    Interval,
    Levels,
    Participant,
)

from ...strategies import QUICK
from .answers import study, tree


@QUICK
@given(st.floats(0, 1), st.integers(1, 52))
def test_leaves_of_the_unit_interval_are_exact(value, depth):
    found = int(tree(study(bins=2**depth)).leaves([value])[0])
    assert found == min(math.floor(Fraction(value) * 2**depth), 2**depth - 1)


@QUICK
@given(
    st.floats(-1e9, 1e9),
    st.floats(1e-3, 1e9),
    st.integers(1, 40),
    st.lists(st.floats(0, 1), min_size=2, max_size=8),
)
def test_leaves_of_any_interval_ascend_and_are_right_but_for_rounding(low, width, depth, shares):
    domain = Interval(low, low + width)
    values = sorted(min(domain.low + share * (domain.high - domain.low), domain.high) for share in shares)
    found = tree(study(domain, bins=2**depth)).leaves(values).tolist()
    assert found == sorted(found)
    assert found[-1] <= 2**depth - 1
    for value, leaf in zip(values, found, strict=True):
        place = (Fraction(value) - Fraction(domain.low)) / (Fraction(domain.high) - Fraction(domain.low))
        exact = place * 2**depth
        assert abs(leaf - min(exact, 2**depth - 1)) <= 1 + exact * Fraction(1, 2**50)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-1e300, 1e300), (0, 1e-300), (-1e-300, 1e-300), (-3.5, 1e9), (1e9, 1e9 + 1)]
)
@pytest.mark.parametrize("depth", [1, 16, 52])
def test_the_ends_of_any_interval_have_the_first_and_the_last_leaf(low, high, depth):
    domain = Interval(low, high)
    protocol = tree(study(domain, bins=2**depth))
    assert protocol.leaves([domain.low, domain.high]).tolist() == [0, 2**depth - 1]
    middle = domain.low + (domain.high - domain.low) / 2
    # Rounded three times: the middle, its distance from the low end, and the product.
    assert abs(int(protocol.leaves([middle])[0]) - 2 ** (depth - 1)) <= 1 + 2 ** (depth - 50)


def test_leaves_leave_the_values_alone():
    values = np.array([0.0, 0.25, 1.0])
    tree(study()).leaves(values)
    assert values.tolist() == [0.0, 0.25, 1.0]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-(2**63), 2**63 - 1),
        (0, 2**64 - 1),
        (-(2**63), 2**62),
        (2**63, 2**64 - 1),
        (-5, 94),
        (0, 1),
        (10, 17),
    ],
)
def test_leaves_of_integers_are_exact(low, high):
    domain = Integers(low, high)
    bits = (domain.size - 1).bit_length()
    middle = (low + high) // 2
    values = sorted({low, low + 1, middle - 1, middle, middle + 1, high - 1, high} & set_between(low, high))
    for depth in sorted({1, bits // 2, bits - 1, bits} - {0}):
        found = tree(study(domain, bins=2**depth)).leaves(np.array(values, dtype=object))
        assert found.tolist() == [value - low >> bits - depth for value in values]
    assert tree(study(domain)).depth == bits


def set_between(low: int, high: int) -> set[int]:
    middle = (low + high) // 2
    return {
        value
        for value in (low, low + 1, middle - 1, middle, middle + 1, high - 1, high)
        if low <= value <= high
    }


@pytest.mark.parametrize("values", [["low", "mid", "high"], [1, 2, 3, 4, 5], [0.5, 2.5], list(range(4096))])
def test_leaves_of_levels_are_their_places(values):
    protocol = tree(study(Levels(values)))
    assert protocol.leaves(values).tolist() == list(range(len(values)))
    assert protocol.depth == max(1, (len(values) - 1).bit_length())


def test_default_depths():
    assert tree(study(Interval(0, 1))).depth == 16
    assert tree(study(Integers(0, 99))).depth == 7
    assert tree(study(Integers(-(2**63), 2**63 - 1))).depth == 64
    assert tree(study(Levels(["a", "b"]))).depth == 1


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf, "0.5", None, [0.5]])
def test_values_outside_are_refused(value):
    with pytest.raises(BadValue, match="score"):
        Participant(study(), 0, "positive").report(score=value)
