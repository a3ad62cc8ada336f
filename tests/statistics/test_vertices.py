"""Kernels at vertices, derivatives at rough distributions, cut axes and influences: against brute force."""

import functools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpairs import BadFile, BadParameter, BadValue, Categories, Integers, Interval, Kernel, Levels
from dpairs.data.grids import Axis, CutAxis, Grid
from dpairs.randomness import SystemRandomness
from dpairs.statistics import statistic
from dpairs.statistics.influence import STEPS, Influence
from dpairs.statistics.vertices import Vertices, cell_means, vertex_shape

from ..every import every
from ..strategies import QUICK

CUT_INTERVAL = CutAxis.at(Interval(-1, 3), [-1.0, -0.5, 0.0, 2.0, 3.0])
CUT_INTEGERS = CutAxis.at(Integers(-3, 12), [0, 1, 3, 4, 11, 16])
SINGLE = Axis(Levels([0, 0.5, 2, 7]), 4)
AXES: dict[str, Axis] = {
    "cut interval": CUT_INTERVAL,
    "cut integers": CUT_INTEGERS,
    "equal integers": Axis(Integers(5, 14), 4),
    "equal interval": Axis(Interval(0, 1), 3),
    "levels": SINGLE,
    "names": Axis(Levels(["bad", "fair", "good"]), 3),
}
each_axis = pytest.mark.parametrize("axis", AXES.values(), ids=AXES)


def values_of(axis: Axis, place: int) -> tuple[np.ndarray, np.ndarray]:
    """A bin's values with their shares; of an interval, nodes that average polynomials exactly."""
    low, high, points = (each[place] for each in axis.geometry)
    if np.isinf(points):
        nodes, weights = np.polynomial.legendre.leggauss(8)
        return low + (high - low) * (nodes + 1) / 2, weights / 2
    return np.linspace(low, high, int(points)), np.full(int(points), 1 / points)


def corner_values(axis: Axis) -> list[tuple[float, int, bool]]:
    """Value, bin and side of every vertex, by the definition."""
    found = []
    for place, (low, high, points) in enumerate(zip(*axis.geometry, strict=True)):
        found.append((low, place, False))
        if points > 1:
            found.append((high, place, True))
    return found


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


# ---------------------------------------------------------------- vertices


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


# ---------------------------------------------------------------- derivatives


WIDE, WHOLE = CUT_INTERVAL, CUT_INTEGERS
LABEL = Axis(Levels((0, 1)), 2)
COUNTED = CutAxis.at(Integers(0, 19), [0, 1, 5, 6, 20])
POSITIVE_INTERVAL = CutAxis.at(Interval(0, 4), [0.0, 0.5, 1.0, 4.0])


def _near(a: Any, b: Any) -> Any:
    return np.exp(-np.abs(a - b))


def _plane(a: Any, b: Any) -> Any:
    return np.abs(a[0] - b[0]) * np.abs(a[1] - b[1])


UNIT = Axis(Interval(0, 1), 4)
CASES: dict[str, tuple[Any, tuple[Axis, ...]]] = {}
for _ties in ("half", "zero"):
    for _name, _axis in (("levels", SINGLE), ("interval", WIDE), ("integers", WHOLE)):
        CASES[f"auc {_ties} {_name}"] = (statistic("auc", ties=_ties), (_axis,))
        CASES[f"auc private {_ties} {_name}"] = (
            statistic("auc", ties=_ties, labels="private"),
            (_axis, LABEL),
        )
    CASES[f"vus {_ties} levels"] = (statistic("vus", ties=_ties), (SINGLE,))
for _name, _axis in (("levels", SINGLE), ("interval", WIDE), ("integers", WHOLE)):
    CASES[f"mann_whitney {_name}"] = (statistic("mann_whitney"), (_axis,))
    CASES[f"mann_whitney private {_name}"] = (statistic("mann_whitney", labels="private"), (_axis, LABEL))
    for _variant in "ab":
        CASES[f"tau-{_variant} {_name} x levels"] = (
            statistic("kendall_tau", variant=_variant),
            (_axis, SINGLE),
        )
        CASES[f"tau-{_variant} {_name} x integers"] = (
            statistic("kendall_tau", variant=_variant),
            (_axis, WHOLE),
        )
CASES |= {
    "tau-a interval x interval": (statistic("kendall_tau"), (WIDE, WIDE)),
    "tau-b interval x interval": (statistic("kendall_tau", variant="b"), (WIDE, WIDE)),
    "entropy integers": (statistic("collision_entropy"), (WHOLE,)),
    "entropy categories": (statistic("collision_entropy"), (Axis(Categories(list("pqrs")), 4),)),
    "gini levels": (statistic("gini_mean_difference"), (SINGLE,)),
    "gini coefficient levels": (statistic("gini_coefficient"), (SINGLE,)),
    "variance levels": (statistic("variance"), (SINGLE,)),
    "variance equal interval": (statistic("variance"), (UNIT,)),
    "kernel": (
        Kernel(_near, range=(0, 1), domain=Interval(0, 1)).tabulate(Grid((UNIT,)), "average"),
        (UNIT,),
    ),
    "kernel in the plane": (
        Kernel(_plane, range=(0, 1), domain=(Interval(0, 1),) * 2).tabulate(Grid((UNIT, UNIT)), "average"),
        (UNIT, UNIT),
    ),
}
SIZES = {"positive": 40, "negative": 60, "low": 5, "middle": 6, "high": 7, "everybody": 100}


def masses_for(chosen: Any, grid: Grid, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {stratum: rng.dirichlet(np.ones(grid.cells)) for stratum in chosen.strata}


def remainder(chosen: Any, grid: Grid, size: float, scale: float = 1.0) -> float:
    """theta(h) - theta(g) - scale <psi, h - g> for an h that is ``size`` away from g."""
    linearizer = chosen.linearizer(grid)
    here, there = masses_for(chosen, grid, 1), masses_for(chosen, grid, 2)
    moved = {name: (1 - size) * here[name] + size * there[name] for name in here}
    first, second = (linearizer.at(each, SIZES) for each in (here, moved))
    slope = sum(
        float(cell_means(grid, function) @ (moved[name] - here[name]))
        for name, function in first.functions.items()
    )
    return second.value - first.value - scale * slope


def scale_of(chosen: Any, grid: Grid) -> float:
    linear = chosen.linearizer(grid).at(masses_for(chosen, grid, 1), SIZES)
    return max(float(np.ptp(function)) for function in linear.functions.values())


def second_order(left: float, half: float, unit: float) -> bool:
    """Whether halving the distance quarters what is left (or nothing is left)."""
    return abs(left - 4 * half) <= 0.15 * abs(left) + 1e-12 * unit


@every("name", CASES)
def test_the_derivative_leaves_only_second_order(name):
    chosen, axes = CASES[name]
    grid = Grid(axes)
    left, half, unit = remainder(chosen, grid, 0.01), remainder(chosen, grid, 0.005), scale_of(chosen, grid)
    assert second_order(left, half, unit)
    assert abs(left) <= 4 * 0.01**2 * unit * (5 if "b " in name or "private" in name else 1)


@every("name", CASES)
def test_a_derivative_one_percent_off_is_noticed(name):
    """Negative control: then what is left is of first order."""
    chosen, axes = CASES[name]
    grid = Grid(axes)
    left, half = (remainder(chosen, grid, size, 1.01) for size in (1e-3, 5e-4))
    assert not second_order(left, half, scale_of(chosen, grid))


@pytest.mark.parametrize(
    ("which", "axis"),
    [
        ("gini_mean_difference", WIDE),
        ("gini_mean_difference", WHOLE),
        ("variance", WIDE),
        ("variance", WHOLE),
        ("gini_coefficient", POSITIVE_INTERVAL),
        ("gini_coefficient", COUNTED),
    ],
    ids=str,
)
def test_what_a_straight_line_within_wide_bins_misses_is_what_is_known(which, axis):
    """Distances bend within a person's own bin, and squares within every bin; a line there lies above.

    The rest of first order is the mean of what lies between, which vanishes with the bins' widths.
    """
    chosen, grid = statistic(which), Grid((axis,))
    low, high, points = axis.geometry
    width, here = high - low, masses_for(chosen, grid, 1)["everybody"]
    inside = np.where(points > 1, width**2 / 12 * (1 + 2 / np.maximum(points - 1, 1)), 0.0)
    bend = width**2 / 4 - inside if which == "variance" else 2 * here * width * (0.5 - (1 + 1 / points) / 3)
    gradient = chosen.finish(chosen.linearizer(grid).at({"everybody": here}, SIZES).forms, SIZES).gradient[0]
    moved = masses_for(chosen, grid, 2)["everybody"] - here
    missed = float(gradient * (bend @ moved))
    left, half = (remainder(chosen, grid, size) + missed * size for size in (0.01, 0.005))
    assert second_order(left, half, scale_of(chosen, grid))
    assert not second_order(
        remainder(chosen, grid, 1e-3), remainder(chosen, grid, 5e-4), scale_of(chosen, grid)
    )


def test_narrow_bins_leave_little_of_first_order():
    """With the 64 bins of a study the part of first order is below a thousandth of the function's range."""
    for which in ("gini_mean_difference", "variance"):
        chosen = statistic(which)
        edges = np.linspace(0, 1, 65).tolist()
        grid = Grid((CutAxis.at(Interval(0, 1), edges),))
        assert abs(remainder(chosen, grid, 1e-4)) < 1e-3 * 1e-4 * scale_of(chosen, grid)


def kernel_by_values(chosen: Any) -> list[Callable[[tuple[float, ...], tuple[float, ...]], float]]:
    """The kernels of the statistic's forms, between two people of one stratum, written out."""
    options = chosen.options()
    tie = 0.5 if options.get("ties", "half") == "half" else 0.0

    def wins(x: float, y: float) -> float:
        return float(x > y) + tie * float(x == y)

    if chosen.name in ("auc", "mann_whitney"):

        def won(a: tuple[float, ...], b: tuple[float, ...]) -> float:
            if a[1] == b[1]:
                return 0.0
            above, below = (a, b) if a[1] > b[1] else (b, a)
            return wins(above[0], below[0]) / 2

        return [won, lambda a, b: 0.5 * float(a[1] != b[1])]
    if chosen.name == "kendall_tau":
        ties: list[Any] = [lambda a, b: float(a[0] == b[0]), lambda a, b: float(a[1] == b[1])]
        agree = lambda a, b: float(np.sign(a[0] - b[0]) * np.sign(a[1] - b[1]))  # noqa: E731
        return [agree, *(ties if options["variant"] == "b" else [])]
    return [lambda a, b: float(a[0] == b[0])]


@pytest.mark.parametrize(
    "name",
    [
        "auc private half integers",
        "auc private zero levels",
        "tau-b integers x levels",
        "tau-a integers x integers",
        "tau-b levels x integers",
        "entropy integers",
    ],
)
def test_forms_against_a_corner_are_averages_over_people(name):
    chosen, axes = CASES[name]
    grid = Grid(axes)
    kernels = kernel_by_values(chosen)
    matrices = chosen.against(grid)["everybody"]
    assert len(matrices) == len(kernels)
    vertices = [[value for value, _, _ in corner_values(axis)] for axis in axes]
    cells = [[values_of(axis, place)[0] for place in range(axis.bins)] for axis in axes]
    for matrix, kernel in zip(matrices, kernels, strict=True):
        for row, person in enumerate(_people(vertices)):
            for column, box in enumerate(_boxes(cells)):
                mean = float(np.mean([kernel(person, other) for other in _people(box)]))
                assert matrix[row, column] == pytest.approx(mean, abs=1e-12)


def _people(columns: Any) -> list[tuple[float, ...]]:
    meshes = np.meshgrid(*columns, indexing="ij")
    return [tuple(row) for row in np.stack([mesh.reshape(-1) for mesh in meshes], axis=1).tolist()]


def _boxes(cells: list[list[np.ndarray]]) -> list[list[np.ndarray]]:
    if len(cells) == 1:
        return [[each] for each in cells[0]]
    return [[first, second] for first in cells[0] for second in cells[1]]


@every("name", [name for name in CASES if "vus" not in name and "kernel" not in name])
def test_the_mean_over_a_cell_is_the_form_where_lines_are_exact(name):
    chosen, axes = CASES[name]
    grid = Grid(axes)
    forms = [form.matrix for form in chosen.forms(grid, "average")]
    against = chosen.against(grid)
    for stratum, matrices in against.items():
        for form, matrix in zip(forms, matrices, strict=True):
            columns = [cell_means(grid, matrix[:, cell]) for cell in range(grid.cells)]
            made = np.stack(columns, axis=1)
            expected = form.T if stratum == "negative" else form
            if name.startswith("variance equal"):
                made = made - (made - expected)[0, 0]
            np.testing.assert_allclose(made, expected, atol=1e-12)


@pytest.mark.parametrize("ties", ["half", "zero"])
@pytest.mark.parametrize("name", ["levels", "cut integers", "equal integers"])
def test_volume_is_the_sum_over_all_triples_of_values(name, ties):
    chosen, axis = statistic("vus", ties=ties), AXES[name]
    two, three = (1 / 2, 1 / 6) if ties == "half" else (0.0, 0.0)
    masses = masses_for(chosen, Grid((axis,)), 3)
    spread: dict[str, tuple[list[float], list[float]]] = {}
    for stratum, mass in masses.items():
        values, weights = [], []
        for place in range(axis.bins):
            nodes, shares = values_of(axis, place)
            values += nodes.tolist()
            weights += (shares * mass[place]).tolist()
        spread[stratum] = values, weights
    total = 0.0
    for low, p in zip(*spread["low"], strict=True):
        for middle, q in zip(*spread["middle"], strict=True):
            for high, r in zip(*spread["high"], strict=True):
                won = float(low < middle < high)
                if low == middle == high:
                    won = three
                elif (low == middle < high) or (low < middle == high):
                    won = two
                total += p * q * r * won
    linear = chosen.linearizer(Grid((axis,))).at(masses, SIZES)
    assert linear.value == pytest.approx(total, abs=1e-12)
    assert linear.forms.tolist() == [linear.value]
    if name == "levels":
        for stratum, function in linear.functions.items():
            assert float(function @ masses[stratum]) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("ties", ["half", "zero"])
def test_volume_of_an_interval_at_corners(ties):
    """At a vertex nobody is tied with a person, and somebody in the same bin is above or below for sure."""
    chosen, axis = statistic("vus", ties=ties), CUT_INTERVAL
    masses = masses_for(chosen, Grid((axis,)), 4)
    low, middle, high = (masses[name] for name in ("low", "middle", "high"))
    functions = chosen.linearizer(Grid((axis,))).at(masses, SIZES).functions
    beyond = np.array([high[place + 1 :].sum() + high[place] / 2 for place in range(axis.bins)])
    under = np.array([low[:place].sum() + low[place] / 2 for place in range(axis.bins)])
    for row, (_, place, top) in enumerate(corner_values(axis)):
        edge = place + top
        assert functions["low"][row] == pytest.approx(float(middle[edge:] @ beyond[edge:]))
        assert functions["middle"][row] == pytest.approx(low[:edge].sum() * high[edge:].sum())
        assert functions["high"][row] == pytest.approx(float(middle[:edge] @ under[:edge]))


# ---------------------------------------------------------------- cut axes


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


# ---------------------------------------------------------------- influences


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
        people = np.array(_people([values for values, _ in nodes])).T
        columns = [
            column.astype(np.int64)
            if isinstance(axis.domain, (Integers, Levels)) and axis is not SINGLE
            else column
            for axis, column in zip(axes, people, strict=True)
        ]
        weights = np.prod(np.array(_people([shares for _, shares in nodes])), axis=1)
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
