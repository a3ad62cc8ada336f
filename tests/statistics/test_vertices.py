"""Kernels at vertices, against averages over the values of a bin."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpairs.data.grids import Axis, Grid
from dpairs.statistics.vertices import Vertices, cell_means, vertex_shape

from .cut import AXES, SINGLE, corner_values, values_of

each_axis = pytest.mark.parametrize("axis", AXES.values(), ids=AXES)


def averaged(axis: Axis, f: Callable[[float, np.ndarray], np.ndarray]) -> np.ndarray:
    """The kernel between every vertex and every bin, value by value.

    A vertex of an interval's bin is no other value of the bin: where it ends, the next one begins.
    """
    rows = []
    for value, own, top in corner_values(axis):
        row = []
        for place in range(axis.bins):
            others, weights = values_of(axis, place)
            here = value
            if np.isinf(axis.geometry[2][place]):
                # An upper end lies above all of its bin, and below all of the next.
                here = value + (1e-12 if top and place == own else -1e-12 if place >= own else 0.0)
            row.append(float(weights @ f(here, others)))
        rows.append(row)
    return np.array(rows)


KERNELS: dict[str, tuple[Callable[[Vertices], np.ndarray], Callable[[Any, Any], Any]]] = {
    "below": (lambda c: c.below, lambda x, y: (y < x) * 1.0),
    "same": (lambda c: c.same, lambda x, y: (x == y) * 1.0),
    "greater, half": (lambda c: c.greater(0.5), lambda x, y: (x > y) + 0.5 * (x == y)),
    "greater, zero": (lambda c: c.greater(0.0), lambda x, y: (x > y) * 1.0),
    "less, half": (lambda c: c.less(0.5), lambda x, y: (x < y) + 0.5 * (x == y)),
    "less, zero": (lambda c: c.less(0.0), lambda x, y: (x < y) * 1.0),
    "order": (lambda c: c.order(), lambda x, y: np.sign(x - y)),
    "distance": (lambda c: c.distance(), lambda x, y: np.abs(x - y)),
    "half square": (lambda c: c.half_square(), lambda x, y: (x - y) ** 2 / 2),
    "mean": (lambda c: c.mean(), lambda x, y: (x + y) / 2),
}


@each_axis
def test_corners_are_both_ends_of_bins_with_several_values(axis):
    vertices = Vertices(axis)
    expected = corner_values(axis)
    assert vertices.places.tolist() == [value for value, _, _ in expected]
    assert vertices.bins.tolist() == [place for _, place, _ in expected]
    assert vertices.top.tolist() == [top for _, _, top in expected]
    assert vertex_shape(Grid((axis,))) == (len(expected),)


@each_axis
@pytest.mark.parametrize("name", KERNELS)
def test_kernels_are_averages_over_the_values_of_a_bin(axis, name):
    made, f = KERNELS[name]
    np.testing.assert_allclose(made(Vertices(axis)), averaged(axis, f), atol=1e-10)


def test_a_kernel_with_a_wrong_tie_is_noticed():
    """Negative control of the test above, where ties exist."""
    made, f = Vertices(SINGLE).greater(0.4), KERNELS["greater, half"][1]
    assert np.abs(made - averaged(SINGLE, f)).max() == pytest.approx(0.1)


@pytest.mark.parametrize("axes", [("levels", "cut integers"), ("cut interval", "names")], ids=str)
def test_cell_means_average_what_is_linear_between_corners(axes):
    """Of a function that is linear in each column within a cell the mean over all its values is exact."""
    grid = Grid(tuple(AXES[name] for name in axes))
    rng = np.random.default_rng(1)
    heights = rng.normal(size=vertex_shape(grid))
    means = cell_means(grid, heights.reshape(-1)).reshape([axis.bins for axis in grid.axes])
    for place in np.ndindex(means.shape):
        tables = []
        for axis, bin_, number in zip(grid.axes, place, (0, 1), strict=True):
            nodes, weights = values_of(axis, bin_)
            low, high, _ = (each[bin_] for each in axis.geometry)
            through = (nodes - low) / (high - low) if high > low else np.zeros(nodes.size)
            vertices = np.flatnonzero(Vertices(axis).bins == bin_)
            ends = np.take(heights, vertices[[0, -1]], axis=number)
            tables.append((ends, through, weights, vertices))
        (_, first, first_weights, rows), (_, second, second_weights, columns) = tables
        block = heights[np.ix_(rows[[0, -1]], columns[[0, -1]])]
        influence = (
            np.outer(1 - first, 1 - second) * block[0, 0]
            + np.outer(first, 1 - second) * block[1, 0]
            + np.outer(1 - first, second) * block[0, 1]
            + np.outer(first, second) * block[1, 1]
        )
        assert means[place] == pytest.approx(float(first_weights @ influence @ second_weights), abs=1e-12)
