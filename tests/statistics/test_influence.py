"""Influences on a grid: heights at corners, straight lines between them, and their files."""

import functools
import json

import numpy as np
import pytest

from dpairs import BadFile, Integers, Interval, Levels
from dpairs.data.grids import Axis, Grid
from dpairs.statistics.influence import STEPS, Influence
from dpairs.statistics.vertices import vertex_shape

from .cut import CUT_INTEGERS, CUT_INTERVAL, LABEL, SINGLE, corner_values, everybody, values_of

GRIDS: dict[str, tuple[Axis, ...]] = {
    "interval": (CUT_INTERVAL,),
    "integers": (CUT_INTEGERS,),
    "levels": (SINGLE,),
    "interval and label": (CUT_INTERVAL, LABEL),
    "two columns": (CUT_INTEGERS, CUT_INTERVAL),
}
each_grid = pytest.mark.parametrize("axes", GRIDS.values(), ids=GRIDS)


def influence(axes: tuple[Axis, ...], seed: int = 1) -> tuple[Influence, np.ndarray]:
    grid = Grid(axes)
    values = np.random.default_rng(seed).normal(size=vertex_shape(grid))
    return Influence.of(grid, values.reshape(-1))[0], values


@functools.cache
def drawn(axes: tuple[Axis, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(2)
    columns: list[np.ndarray] = []
    for axis in axes:
        if isinstance(axis.domain, Interval):
            columns.append(rng.uniform(axis.domain.low, axis.domain.high, 300))
        elif isinstance(axis.domain, Integers):
            columns.append(rng.integers(axis.domain.low, axis.domain.high, 300, endpoint=True))
        else:
            columns.append(rng.choice(np.array(axis.domain.values), 300))
    return columns


NAMES = ("first", "second")


@each_grid
def test_corners_have_their_heights_and_no_step_is_off_by_more_than_half(axes):
    _, values = influence(axes)
    made, (low, high) = Influence.of(Grid(axes), values.reshape(-1))
    extent = high - low
    assert made.heights.min() == 0
    assert made.heights.max() == STEPS
    back = low + extent * made.heights / STEPS
    # Ends are written to nine digits.
    digits = 1e-8 * max(abs(low), abs(high))
    assert np.abs(back - values.reshape(-1)).max() <= extent / STEPS / 2 + digits
    assert (low, high) == pytest.approx((values.min(), values.max()), rel=1e-8)


@each_grid
def test_between_corners_it_is_linear_in_each_column(axes):
    made, _ = influence(axes)
    table = made.heights.reshape(vertex_shape(made.grid)) / STEPS
    columns = drawn(axes)
    found = made(columns, NAMES[: len(axes)])
    for person in range(300):
        ends = []
        for axis, column in zip(axes, columns, strict=True):
            value = float(column[person])
            vertices = [(place, at) for place, (at, _, _) in enumerate(corner_values(axis))]
            above = [each for each in vertices if each[1] > value]
            below = [each for each in vertices if each[1] <= value]
            if below[-1][1] == value or not above:
                ends.append([(below[-1][0], 1.0)])
            else:
                (lower, a), (upper, b) = below[-1], above[0]
                ends.append([(lower, (b - value) / (b - a)), (upper, (value - a) / (b - a))])
        total = 0.0
        for row, weight in ends[0]:
            for place, second in ends[1] if len(ends) > 1 else [(0, 1.0)]:
                total += weight * second * (table[row, place] if len(ends) > 1 else table[row])
        assert found[person] == pytest.approx(float(total), abs=1e-12)


def test_two_values_of_one_bin_have_different_heights():
    """A function is read at full resolution, not by the bin."""
    made, _ = influence((CUT_INTERVAL,))
    near, far = made([np.array([0.3, 0.3 + 1e-6])], NAMES[:1])
    assert near != far
    assert CUT_INTERVAL.locate(np.array([0.3, 0.3 + 1e-6]), "v")[0].tolist() == [2, 2]
    whole, _ = influence((CUT_INTEGERS,))
    heights = whole([np.arange(1, 8)], NAMES[:1])
    assert len(set(heights.tolist())) == 7
    assert np.diff(heights, 2) == pytest.approx(np.zeros(5), abs=1e-12)


@each_grid
def test_the_mean_over_evenly_filled_cells_is_that_of_its_cells(axes):
    made, _ = influence(axes)
    for cell, mean in enumerate(made.cells):
        place = np.unravel_index(cell, [axis.bins for axis in axes])
        nodes = [values_of(axis, int(bin_)) for axis, bin_ in zip(axes, place, strict=True)]
        people = np.array(everybody([values for values, _ in nodes])).T
        columns = [
            column.astype(np.int64)
            if isinstance(axis.domain, (Integers, Levels)) and axis is not SINGLE
            else column
            for axis, column in zip(axes, people, strict=True)
        ]
        weights = np.prod(np.array(everybody([shares for _, shares in nodes])), axis=1)
        assert float(weights @ made(columns, NAMES[: len(axes)])) == pytest.approx(mean, abs=1e-12)


@each_grid
def test_json_round_trip(axes):
    made, _ = influence(axes)
    read = Influence.from_json(made.grid, json.loads(json.dumps(made.to_json())))
    assert read.heights.tolist() == made.heights.tolist()
    columns = drawn(axes)
    assert made(columns, NAMES[: len(axes)]).tolist() == read(columns, NAMES[: len(axes)]).tolist()


def test_a_constant_function():
    grid = Grid((SINGLE,))
    made, ends = Influence.of(grid, np.full(4, 2.5))
    assert (ends, made.heights.tolist()) == ((2.5, 2.5), [0] * 4)
    assert made([np.array([0, 7])], NAMES[:1]).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("heights", "error"),
    [
        ("AAAAAQAC", "4 heights"),
        ("AAAAAQACAAMABA==", "4 heights"),
        ("AAAAAQACAAM", "base64"),
        ("AAAAAQACAA!=", "base64"),
        ({"0": 1}, "base64"),
        ([0, 1, 2, 3], "base64"),
        (3, "base64"),
        (None, "base64"),
        ("", "4 heights"),
        ({"low": 0.0, "high": 1.0}, "base64"),
    ],
)
def test_damaged_functions_are_refused(heights, error):
    with pytest.raises(BadFile, match=error):
        Influence.from_json(Grid((SINGLE,)), heights)
