"""Domains and axes: every value lands in its bin, and what has no bin is refused by row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpairs import Categories, Integers, Interval, Levels
from dpairs.data.domains import MAX_LEVELS, domain_from_json
from dpairs.data.grids import MAX_BINS, Axis, Grid
from dpairs.errors import BadParameter, BadValue
from dpairs.formats.canonical import canonical, parse
from dpairs.randomness import TapeRandomness
from tests.strategies import QUICK, categories, domains, integer_ranges, intervals, levels

from ..every import every

NO_BITS = TapeRandomness(b"")
"""Placing draws no bits unless rounding is random: this source has none to give."""

# ---------------------------------------------------------------- placing


@given(intervals(), st.integers(2, 64), st.data())
@QUICK
def test_a_number_lands_in_the_bin_that_holds_it(domain, bins, data):
    axis = Axis(domain, bins)
    inside = st.floats(domain.low, domain.high)
    values = np.array(data.draw(st.lists(inside, min_size=1, max_size=20)))
    places = axis.place(values, "value", NO_BITS)
    low, high, _ = axis.geometry
    # The edge between two bins is rounded, so a value on it may lie a few last digits outside.
    slack = 4 * np.spacing(max(abs(domain.low), abs(domain.high)))
    assert (low[places] - slack <= values).all()
    assert (values <= high[places] + slack).all()


@given(intervals(), st.integers(2, 64))
@QUICK
def test_the_ends_of_an_interval_land_in_the_end_bins(domain, bins):
    places = Axis(domain, bins).place([domain.low, domain.high], "value", NO_BITS)
    assert places.tolist() == [0, bins - 1]


def test_an_edge_belongs_to_the_bin_above():
    places = Axis(Interval(0, 1), 4).place([0.0, 0.25, 0.5, 0.75, 1.0], "value", NO_BITS)
    assert places.tolist() == [0, 1, 2, 3, 3]


@pytest.mark.parametrize(("low", "high"), [(0, 1e-310), (1e308, 1.7e308), (-8e307, 8e307)])
def test_intervals_at_the_limits_of_doubles_work_or_are_refused(low, high):
    try:
        axis = Axis(Interval(low, high), 2)
    except BadParameter:
        return
    assert axis.place([low, high], "value", NO_BITS).tolist() == [0, 1]
    assert np.isfinite(axis.centres).all()


@given(integer_ranges(-50, 50), st.data())
@QUICK
def test_a_whole_number_lands_in_the_bin_that_holds_it(domain, data):
    axis = Axis(domain, data.draw(st.integers(2, domain.size)))
    values = np.arange(domain.low, domain.high + 1)
    places = axis.place(values, "value", NO_BITS)
    low, high, points = axis.geometry
    assert (low[places] <= values).all()
    assert (values <= high[places]).all()
    assert np.bincount(places, minlength=axis.bins).tolist() == points.tolist()
    assert points.max() - points.min() <= 1


RANGES = st.one_of(
    st.sampled_from([Integers(0, 2**64 - 1), Integers(-(2**63), 2**63 - 1), Integers(-1, 2**63)]),
    integer_ranges(),
)


@given(RANGES, st.data())
@QUICK
def test_integers_of_64_bits_land_where_exact_arithmetic_says(domain, data):
    axis = Axis(domain, data.draw(st.integers(2, min(domain.size, 9))))
    exact_low = [domain.low + -(-bin_ * domain.size // axis.bins) for bin_ in range(axis.bins)]
    candidates = [domain.low, domain.high, *exact_low, *(first - 1 for first in exact_low[1:])]
    drawn = data.draw(st.lists(st.integers(domain.low, domain.high), max_size=5))
    for value in candidates + drawn:
        expected = (value - domain.low) * axis.bins // domain.size
        assert axis.place([value], "value", NO_BITS).tolist() == [expected]


@pytest.mark.parametrize(
    "domain", [Integers(0, 2**64 - 1), Integers(-(2**63), 2**63 - 1), Integers(-5, 2**63), Integers(-5, 5)]
)
def test_whole_numbers_may_come_as_floats(domain):
    axis = Axis(domain, 3)
    values = [
        value
        for value in (-(2.0**63), -5.0, -1.0, 0.0, 3.0, 2.0**62, 2.0**63 - 1024)
        if domain.low <= value <= domain.high
    ]
    expected = [(int(value) - domain.low) * 3 // domain.size for value in values]
    assert axis.place(np.array(values), "value", NO_BITS).tolist() == expected


def test_large_integers_may_come_as_objects():
    values = np.array([2**64 - 1, 0, 2**63], dtype=object)
    assert Axis(Integers(0, 2**64 - 1), 4).place(values, "value", NO_BITS).tolist() == [3, 0, 2]


@pytest.mark.parametrize("domain", [Integers(-(2**63), 2**63 - 1), Integers(0, 2**64 - 1), Integers(-7, 9)])
def test_checked_integers_keep_their_values(domain):
    assert domain.check([5, 6, 9], "value").tolist() == [5.0, 6.0, 9.0]


@given(st.one_of(levels(), categories()), st.data())
@QUICK
def test_a_listed_value_lands_at_its_position(domain, data):
    axis = Axis(domain, domain.size)
    positions = data.draw(st.lists(st.integers(0, domain.size - 1), min_size=1, max_size=20))
    values = [domain.values[position] for position in positions]
    assert axis.place(values, "value", NO_BITS).tolist() == positions
    assert axis.describe() == list(domain.values)
    shown = values if domain.numeric else positions
    assert domain.check(values, "value").tolist() == shown


@given(st.data())
@QUICK
def test_a_grid_counts_cells_with_the_last_axis_fastest(data):
    axes = (
        Axis(Interval(0, 1), data.draw(st.integers(2, 9))),
        Axis(Levels([1, 2, 7]), 3),
        Axis(Integers(0, 9), 4),
    )
    grid = Grid(axes)
    columns = (
        data.draw(st.lists(st.floats(0, 1), min_size=5, max_size=5)),
        data.draw(st.lists(st.sampled_from([1, 2, 7]), min_size=5, max_size=5)),
        data.draw(st.lists(st.integers(0, 9), min_size=5, max_size=5)),
    )
    cells = grid.place(columns, ("a", "b", "c"), NO_BITS)
    each = [axis.place(column, "?", NO_BITS) for axis, column in zip(axes, columns, strict=True)]
    shape = tuple(axis.bins for axis in axes)
    assert (np.array(np.unravel_index(cells, shape)) == np.array(each)).all()
    assert grid.cells == math.prod(shape)


def test_placing_changes_no_input():
    values = np.array([0.1, 0.9])
    Axis(Interval(0, 1), 4).place(values, "value", NO_BITS)
    assert values.tolist() == [0.1, 0.9]


def test_bins_describe_themselves():
    assert Axis(Interval(0, 1), 2).describe() == [(0.0, 0.5), (0.5, 1.0)]
    assert Axis(Integers(0, 4), 3).describe() == [(0.0, 1.0), (2.0, 3.0), 4.0]
    assert Axis(Interval(0, 1), 3, "random").describe() == [0.0, 0.5, 1.0]


def test_the_width_of_an_axis():
    assert Axis(Interval(0, 1), 4).width == 0.25
    assert Axis(Integers(0, 4), 3).width == 1.0
    assert Axis(Integers(0, 4), 5).width == 0.0
    assert Axis(Interval(0, 1), 5, "random").width == 0.25


# ---------------------------------------------------------------- JSON


@given(domains())
@QUICK
def test_domains_survive_json(domain):
    text = canonical(domain.to_json())
    again = domain_from_json(parse(text, "domain"))
    assert again == domain
    assert hash(again) == hash(domain)
    assert canonical(again.to_json()) == text


def test_large_integers_are_strings_in_json():
    assert Integers(0, 2**64 - 1).to_json() == {"kind": "integers", "low": 0, "high": "18446744073709551615"}


BAD_JSON = {
    "not an object": (5, "JSON object, not int"),
    "no kind": ({"low": 0, "high": 1}, "domain kind must be one of"),
    "unknown kind": ({"kind": "circle"}, "'categories', 'integers', 'interval', 'levels', not 'circle'"),
    "more fields": (
        {"kind": "interval", "low": 0, "high": 1, "step": 1},
        "no option 'step'; it takes edges, high, kind, low",
    ),
    "fewer fields": ({"kind": "interval", "low": 0}, "'interval' lacks 'high'"),
    "no values": ({"kind": "levels"}, "'levels' lacks 'values'"),
    "values of a string": ({"kind": "levels", "values": "abc"}, "needs a list"),
    "a fraction": ({"kind": "integers", "low": 0.5, "high": 3}, "Integers low must be a whole number"),
    "a small number as text": (
        {"kind": "integers", "low": "1", "high": 3},
        "Integers low must be a whole number",
    ),
    "two signs": (
        {"kind": "integers", "low": "--9007199254740993", "high": 3},
        "Integers low must be a whole number",
    ),
    "too large": ({"kind": "integers", "low": 0, "high": "9" * 30}, "Integers high must be a whole number"),
    "text": ({"kind": "interval", "low": "0", "high": 1}, "Interval low must be a finite number, not '0'"),
}


@pytest.mark.parametrize("name", BAD_JSON)
def test_bad_json_of_a_domain_is_refused(name):
    spec, message = BAD_JSON[name]
    with pytest.raises(BadParameter, match=message):
        domain_from_json(spec)


# ---------------------------------------------------------------- refused constructions

REFUSED = {
    "empty interval": (lambda: Interval(1, 1), "low < high, not low=1, high=1"),
    "reversed interval": (lambda: Interval(2, 1), "low < high"),
    "NaN": (lambda: Interval(math.nan, 1), "Interval low must be a finite number, not nan"),
    "infinity": (lambda: Interval(0, math.inf), "Interval high must be a finite number, not inf"),
    "too wide": (lambda: Interval(-1e308, 1e308), "within 1e300"),
    "text": (lambda: Interval("0", 1), "Interval low must be a finite number"),  # type: ignore[arg-type]
    "bool": (lambda: Interval(False, True), "Interval low must be a finite number"),
    "None": (lambda: Interval(None, 1), "Interval low must be a finite number"),  # type: ignore[arg-type]
    "one integer": (lambda: Integers(3, 3), "low < high, less than 2\\^64 apart"),
    "reversed integers": (lambda: Integers(3, 1), "low < high"),
    "a fraction": (lambda: Integers(0, 2.5), "Integers high must be a whole number"),  # type: ignore[arg-type]
    "a float": (lambda: Integers(0.0, 2), "Integers low must be a whole number"),  # type: ignore[arg-type]
    "65 bits": (lambda: Integers(0, 2**64), "Integers high must be a whole number"),
    "65 bits apart": (lambda: Integers(-1, 2**64 - 1), "less than 2\\^64 apart"),
    "one level": (
        lambda: Levels([1]),
        "number of values of Levels must be a whole number from 2 to 4096, not 1",
    ),
    "no level": (lambda: Levels([]), "number of values of Levels"),
    "too many": (lambda: Categories(range(MAX_LEVELS + 1)), "number of values of Categories.*not 4097"),
    "mixed": (lambda: Levels(["a", 1]), "numbers or strings, not both"),
    "twice": (lambda: Levels([1, 2, 2.0]), "has the value 2 twice"),
    "a word twice": (lambda: Categories(["a", "b", "a"]), "has the value 'a' twice"),
    "descending": (lambda: Levels([3, 2, 1]), "ascending order"),
    "bools": (lambda: Levels([False, True]), "each value of Levels must be a finite number, not False"),
    "NaN level": (lambda: Levels([0, math.nan]), "each value of Levels must be a finite number, not nan"),
    "not a list": (lambda: Levels(5), "Levels"),  # type: ignore[arg-type]
    "one bin": (lambda: Axis(Interval(0, 1), 1), "bins must be a whole number from 2 to 4096, not 1"),
    "too many bins": (lambda: Axis(Interval(0, 1), MAX_BINS + 1), "bins must be a whole number"),
    "half a bin": (lambda: Axis(Interval(0, 1), 2.5), "bins must be a whole number"),  # type: ignore[arg-type]
    "more bins than integers": (lambda: Axis(Integers(0, 3), 5), "at most 4, the domain's size, not 5"),
    "fewer bins than levels": (lambda: Axis(Levels([1, 2, 3]), 2), "bins must be 3, one for each"),
    "fewer bins than categories": (
        lambda: Axis(Categories(["a", "b", "c"]), 2),
        "bins must be 3, one for each",
    ),
    "rounding": (
        lambda: Axis(Interval(0, 1), 2, "up"),
        "rounding must be one of 'random', 'simple', not 'up'",
    ),
    "random levels": (lambda: Axis(Levels([1, 2]), 2, "random"), "rounding='random' needs an Interval"),
    "as many points as integers": (
        lambda: Axis(Integers(0, 9), 10, "random"),
        "fewer than 10 bins, not 10: with one for each value nothing is rounded",
    ),
    "integers that are no doubles": (
        lambda: Axis(Integers(0, 2**52 + 1), 2, "random"),
        "or Integers from -2\\^52 to 2\\^52",
    ),
    "large grid": (
        lambda: Grid((Axis(Interval(0, 1), 100),) * 2),
        "grid of 100 x 100 has 10000 cells; at most 4096",
    ),
}


@every("name", REFUSED)
def test_bad_constructions_are_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(BadParameter, match=message):
        call()


def test_a_grid_needs_an_axis():
    with pytest.raises(BadParameter, match="at least one axis"):
        Grid(()).place((), (), NO_BITS)


# ---------------------------------------------------------------- refused values: (axis, values, message)

UNIT, DIGITS = Axis(Interval(0, 1), 4), Axis(Integers(0, 9), 2)
RATINGS, WORDS = Axis(Levels([1, 2, 3]), 3), Axis(Levels(["low", "high"]), 2)
BAD_VALUES = {
    "above": (UNIT, [0.5, 1.5, 2.0], r"column 'v' must hold a number in \[0, 1\]; 2 of 3.*row 1: 1\.5$"),
    "below": (UNIT, [0.5, -1e-9], r"1 of 2.*row 1: -1e-09"),
    "NaN": (UNIT, [0.5, math.nan], r"\[0, 1\]; 1 of 2.*row 1: nan"),
    "infinity": (UNIT, [math.inf, 0.5], r"row 0: inf"),
    "one number": (UNIT, 1.5, r"^v must be a number in \[0, 1\], not 1\.5$"),
    "words": (UNIT, ["a", "b"], "column 'v' must hold numbers"),
    "digits as words": (UNIT, ["0", "1"], "column 'v' must hold numbers"),
    "digits as objects": (UNIT, np.array(["0", "1"], dtype=object), "column 'v' must hold numbers"),
    "bools": (UNIT, [True, False], "column 'v' must hold numbers, not bool"),
    "2-D": (UNIT, [[0.1], [0.2]], "column 'v' must have one dimension, not 2"),
    "None": (UNIT, [0.1, None], r"\[0, 1\]; 1 of 2.*row 1: nan"),
    "large limits": (
        Axis(Interval(0, 1234567), 2),
        [1.0, 1234569.0],
        r"\[0, 1234567(\.0)?\]; 1 of 2.*row 1: 1234569\.0",
    ),
    "fraction": (DIGITS, [1, 2.5], "column 'v' must hold a whole number from 0 to 9; 1 of 2.*row 1: 2.5"),
    "too large": (DIGITS, [1, 10, 11], "whole number from 0 to 9; 2 of 3.*row 1: 10$"),
    "negative": (DIGITS, [-1, 3], "whole number from 0 to 9; 1 of 2.*row 0: -1$"),
    "NaN integer": (DIGITS, [1, math.nan], "whole number from 0 to 9; 1 of 2.*row 1: nan"),
    "infinite integer": (DIGITS, [1, math.inf], "row 1: inf"),
    "one integer": (DIGITS, 12, "^v must be a whole number from 0 to 9, not 12$"),
    "above 64 bits": (
        Axis(Integers(0, 2**64 - 1), 2),
        [2.0**64, 1.0],
        "from 0 to 18446744073709551615; 1 of 2",
    ),
    "unknown rating": (RATINGS, [1, 4], "column 'v'.*1.*3; 1 of 2.*row 1: 4"),
    "unknown number": (Axis(Levels([1, 2.5]), 2), [1, 2], r"one of 1, 2\.5; 1 of 2.*row 1: 2"),
    "unknown word": (WORDS, ["low", "high", "mid"], "one of 'low', 'high'; 1 of 3.*row 2: 'mid'"),
    "number for a word": (WORDS, [0, 1], "one of 'low', 'high'; 2 of 2.*row 0: 0"),
    "no word": (WORDS, np.array(["low", None], dtype=object), "1 of 2.*row 1: None"),
    "many levels": (Axis(Categories(list("abcdefghijkl")), 12), ["a", "z"], r"'h', \.\.\. \(12 values\)"),
}


@every("name", BAD_VALUES)
def test_bad_values_are_refused(name):
    axis, values, message = BAD_VALUES[name]
    with pytest.raises(BadValue, match=message):
        axis.place(values, "v", NO_BITS)


def test_a_grid_names_the_column():
    with pytest.raises(BadValue, match=r"column 'y'.*row 1"):
        Grid((UNIT, DIGITS)).place(([0.1, 0.2], [3, 33]), ("x", "y"), NO_BITS)
