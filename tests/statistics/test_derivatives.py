"""Derivatives of statistics at rough distributions, and their forms against a corner."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from dpairs import Categories, Integers, Interval, Kernel
from dpairs.data.grids import Axis, CutAxis, Grid
from dpairs.statistics import statistic
from dpairs.statistics.vertices import cell_means

from ..every import every
from .cut import AXES, CUT_INTEGERS, CUT_INTERVAL, LABEL, SINGLE, corner_values, everybody, values_of

WIDE, WHOLE = CUT_INTERVAL, CUT_INTEGERS
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
        for row, person in enumerate(everybody(vertices)):
            for column, box in enumerate(_boxes(cells)):
                mean = float(np.mean([kernel(person, other) for other in everybody(box)]))
                assert matrix[row, column] == pytest.approx(mean, abs=1e-12)


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
