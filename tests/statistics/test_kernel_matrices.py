"""Kernels on cells: closed forms against enumeration, what statistics make of them, and tables."""

from __future__ import annotations

import itertools
import json
import math
from typing import Any

import numpy as np
import pytest

from dpairs import Integers, Interval, Kernel, Levels, exact
from dpairs.data.grids import Axis, Grid
from dpairs.errors import BadParameter, InvalidInput, NotEstimable
from dpairs.formats.canonical import canonical, parse
from dpairs.randomness import TapeRandomness
from dpairs.statistics import EVERYBODY, KERNELS, TabulatedKernel, statistic, statistic_from_json
from dpairs.statistics.labels import NEGATIVE, POSITIVE

from ..every import every

TIE = {"half": 0.5, "zero": 0.0}
LABEL = Axis(Levels((0, 1)), 2)
AXES = {
    "interval": Axis(Interval(-1, 2), 4),
    "integers in unequal bins": Axis(Integers(-3, 7), 4),
    "integers, some alone": Axis(Integers(0, 6), 4),
    "integers one by one": Axis(Integers(2, 6), 5),
    "levels": Axis(Levels([-2, 0.5, 3, 10]), 4),
}
SMALL_AXES = {
    "interval": Axis(Interval(0, 1), 2),
    "integers in unequal bins": Axis(Integers(0, 4), 3),
    "levels": Axis(Levels([0, 3]), 2),
}

# ---------------------------------------------------------------- the values of a bin, without closed forms


def discrete_bins(axis):
    """The values of every bin of a discrete axis, by placing each value of the domain."""
    domain = axis.domain
    values = np.array(domain.values if isinstance(domain, Levels) else range(domain.low, domain.high + 1))
    places = axis.place(values, "value", TapeRandomness(b""))
    return [values[places == bin_].astype(float) for bin_ in range(axis.bins)]


def unit_bins(axis, unit):
    """Points of every bin of an interval, at the given places of the unit interval."""
    width = (axis.domain.high - axis.domain.low) / axis.bins
    return [axis.domain.low + width * (bin_ + unit) for bin_ in range(axis.bins)]


def even(axis, count):
    """Evenly spread values of every bin."""
    if isinstance(axis.domain, Interval):
        return unit_bins(axis, (np.arange(count) + 0.5) / count)
    return discrete_bins(axis)


def extreme(axis):
    """Values of every bin among which a kernel takes its extremes; a bin's upper end is not its own."""
    if isinstance(axis.domain, Interval):
        return unit_bins(axis, np.array([0.0, 0.5, 1 - 1e-9]))
    return discrete_bins(axis)


def cells(bins_of_axes):
    """The people of every cell, as one column for each axis."""
    return [[side.ravel() for side in np.meshgrid(*bins)] for bins in itertools.product(*bins_of_axes)]


def on_all_pairs(f, first, second):
    """f between all people of two cells, as a matrix."""
    return np.asarray(f([side[:, None] for side in first], [side[None, :] for side in second]), dtype=float)


def average_matrix(f, axes, count):
    # Counts that differ by one share no point, so no two values of an interval are equal.
    rows, columns = (cells([even(axis, each) for axis in axes]) for each in (count, count + 1))
    return np.array([[on_all_pairs(f, a, b).mean() for b in columns] for a in rows])


def extreme_matrices(f, axes):
    people = cells([extreme(axis) for axis in axes])
    low = np.array([[on_all_pairs(f, a, b).min() for b in people] for a in people])
    high = np.array([[on_all_pairs(f, a, b).max() for b in people] for a in people])
    return (high + low) / 2, (high - low) / 2


# ---------------------------------------------------------------- the kernels, written out


def wins(tie):
    return lambda a, b: (a[0] > b[0]) + tie * (a[0] == b[0])


def distance(a, b):
    return np.abs(a[0] - b[0])


def half_square(a, b):
    return (a[0] - b[0]) ** 2 / 2


def mean(a, b):
    return (a[0] + b[0]) / 2


def same(column):
    return lambda a, b: a[column] == b[column]


def concordance(a, b):
    return np.sign(a[0] - b[0]) * np.sign(a[1] - b[1])


def pairs_won(tie):
    def f(a, b):
        win = wins(tie)
        return ((a[1] > b[1]) * win(a, b) + (b[1] > a[1]) * win(b, a)) / 2

    return f


def pairs_there_are(a, b):
    return (a[1] != b[1]) / 2


ONE_AXIS: dict[tuple, list] = {
    **{("auc", ties): [wins(tie)] for ties, tie in TIE.items()},
    ("mann_whitney", "half"): [wins(0.5)],
    ("gini_mean_difference", None): [distance],
    ("gini_coefficient", None): [distance, mean],
    ("variance", None): [half_square],
    ("collision_entropy", None): [same(0)],
}
PRIVATE = {
    (which, ties): [pairs_won(tie), pairs_there_are]
    for which, ties, tie in (("auc", "half", 0.5), ("auc", "zero", 0.0), ("mann_whitney", "half", 0.5))
}
TWO_AXES = {"a": [concordance], "b": [concordance, same(0), same(1)]}


def check_forms(forms, kernels, axes, kernel, count, tolerance):
    assert len(forms) == len(kernels)
    for form, f in zip(forms, kernels, strict=True):
        middle, uncertainty = extreme_matrices(f, axes)
        expected = middle if kernel == "midpoint" else average_matrix(f, axes, count)
        np.testing.assert_allclose(form.matrix, expected, rtol=0, atol=tolerance)
        np.testing.assert_allclose(form.uncertainty, uncertainty, rtol=0, atol=tolerance)


@every("kernel", KERNELS)
@every("name", AXES)
@every(("which", "ties"), ONE_AXIS)
def test_one_column_forms_are_those_of_enumeration(which, ties, name, kernel):
    axis, options = AXES[name], {} if ties is None else {"ties": ties}
    forms = statistic(which, **options).forms(Grid((axis,)), kernel)
    # On an interval the midpoint rule with 300 points errs by about width^2 / 300^2.
    tolerance = 1e-4 if name == "interval" else 1e-12
    check_forms(forms, ONE_AXIS[which, ties], (axis,), kernel, 300, tolerance)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", SMALL_AXES)
@pytest.mark.parametrize(("which", "ties"), PRIVATE)
def test_private_label_forms_are_those_of_enumeration(which, ties, name, kernel):
    chosen, axis = statistic(which, ties=ties, labels="private"), SMALL_AXES[name]
    grid = chosen.grid((axis,))
    assert grid.axes == (axis, LABEL)
    # Signs between 6 and 7 evenly spread points average to exactly 0.
    check_forms(chosen.forms(grid, kernel), PRIVATE[which, ties], grid.axes, kernel, 6, 1e-12)


@every("kernel", KERNELS)
@every("y", SMALL_AXES)
@every("x", SMALL_AXES)
@every("variant", TWO_AXES)
def test_kendall_forms_are_those_of_enumeration(variant, x, y, kernel):
    axes = (SMALL_AXES[x], SMALL_AXES[y])
    forms = statistic("kendall_tau", variant=variant).forms(Grid(axes), kernel)
    check_forms(forms, TWO_AXES[variant], axes, kernel, 6, 1e-12)


def test_one_sample_forms_are_symmetric():
    for which in ("gini_coefficient", "variance", "collision_entropy"):
        for form in statistic(which).forms(Grid((AXES["integers, some alone"],)), "average"):
            assert (form.matrix == form.matrix.T).all()
            assert (form.uncertainty == form.uncertainty.T).all()


@pytest.mark.parametrize("rounding", ["simple", "random"])
def test_randomly_rounded_axes_are_points(rounding):
    axis = Axis(Interval(0, 1), 3, rounding)
    (form,) = statistic("gini_mean_difference").forms(Grid((axis,)), "average")
    assert (np.diag(form.matrix) == 0).all() == (rounding == "random")
    assert (form.uncertainty == 0).all() == (rounding == "random")


# ---------------------------------------------------------------- from forms to the statistic

PEOPLE = 60
RATINGS = Levels([0, 1, 4, 6])
STUDIES: dict[str, tuple[str, dict[str, Any]]] = {
    **{
        f"auc {ties} {labels}": ("auc", {"ties": ties, "labels": labels})
        for ties in TIE
        for labels in ("public", "private")
    },
    **{f"mann_whitney {labels}": ("mann_whitney", {"labels": labels}) for labels in ("public", "private")},
    "tau-a": ("kendall_tau", {"variant": "a"}),
    "tau-b": ("kendall_tau", {"variant": "b"}),
    "gini_mean_difference": ("gini_mean_difference", {}),
    "gini_coefficient": ("gini_coefficient", {}),
    "variance": ("variance", {}),
    "collision_entropy": ("collision_entropy", {}),
}


def a_table(chosen, seed):
    rng = np.random.default_rng(seed)
    ratings = {name: rng.choice(RATINGS.values, PEOPLE) for name in chosen.columns}
    return {**ratings, "label": rng.integers(0, 2, PEOPLE)}


def forms_of(chosen, table, kernel):
    """The value of every form on everybody's true cell, and the sizes of the strata."""
    grid = chosen.grid(tuple(Axis(RATINGS, RATINGS.size) for _ in chosen.domain_columns))
    strata = {
        name: grid.place(columns, chosen.private_columns, TapeRandomness(b""))
        for name, columns in chosen.split(table)
    }
    values = [mean_over_pairs(form.matrix, list(strata.values())) for form in chosen.forms(grid, kernel)]
    return np.array(values), {name: len(people) for name, people in strata.items()}


def mean_over_pairs(matrix, strata):
    if len(strata) == 2:
        return matrix[np.ix_(*strata)].mean()
    (people,) = strata
    between = matrix[np.ix_(people, people)]
    return (between.sum() - np.trace(between)) / (len(people) * (len(people) - 1))


@every("kernel", KERNELS)
@every("study", STUDIES)
def test_forms_on_true_cells_finish_to_the_exact_statistic(study, kernel):
    which, options = STUDIES[study]
    chosen = statistic(which, **options)
    for seed in range(5):
        table = a_table(chosen, seed)
        values, sizes = forms_of(chosen, table, kernel)
        assert set(sizes) == set(chosen.strata)
        assert chosen.finish(values, sizes).value == pytest.approx(exact(which, table, **options), abs=1e-10)


@pytest.mark.parametrize("study", STUDIES)
def test_the_gradient_is_the_numerical_derivative(study):
    which, options = STUDIES[study]
    chosen = statistic(which, **options)
    values, sizes = forms_of(chosen, a_table(chosen, 0), "average")
    finished, step = chosen.finish(values, sizes), 1e-6
    numerical = [
        (chosen.finish(values + move, sizes).value - chosen.finish(values - move, sizes).value) / (2 * step)
        for move in step * np.eye(len(values))
    ]
    np.testing.assert_allclose(finished.gradient, numerical, rtol=1e-6, atol=1e-6)


NO_ANSWER = {
    "no logarithm": ("collision_entropy", {}, [0.0], "collision probability is 0"),
    "negative mean": ("gini_coefficient", {}, [0.5, -0.1], r"mean is -0\.1"),
    "all tied in x": ("kendall_tau", {"variant": "b"}, [0.1, 1.0, 0.5], "untied in 'x' is 0"),
    "all tied in y": ("kendall_tau", {"variant": "b"}, [0.1, 0.5, 1.2], r"untied in 'y' is -0\.2"),
    "no pairs": ("auc", {"labels": "private"}, [0.1, -0.01], r"share of pairs.*-0\.01"),
}


@pytest.mark.parametrize("name", NO_ANSWER)
def test_forms_without_an_answer_are_refused(name):
    which, options, values, message = NO_ANSWER[name]
    with pytest.raises(NotEstimable, match=message):
        statistic(which, **options).finish(np.array(values), {EVERYBODY: 100})


def test_mann_whitney_details_carry_the_auc_and_its_test():
    chosen = statistic("mann_whitney")
    sizes = {POSITIVE: 10, NEGATIVE: 20}
    details = chosen.details(np.array([0.598]), sizes, lambda gradient: 0.05 * abs(gradient[0]))
    assert chosen.finish(np.array([0.6]), sizes).value == pytest.approx(120)
    assert details["auc"] == 0.598
    assert details["z"] == pytest.approx(1.96)
    assert details["p_value"] == pytest.approx(0.05, abs=1e-4)


# ---------------------------------------------------------------- custom kernels against the closed forms

CUSTOM = {
    "gini_mean_difference": (lambda a, b: np.abs(a - b), (0, 100)),
    "variance": (lambda a, b: (a - b) ** 2 / 2, (0, 5000)),
}


def both_forms(which, axis, kernel):
    f, limits = CUSTOM[which]
    custom = Kernel(f, range=limits, domain=axis.domain).forms(Grid((axis,)), kernel)
    return custom[0], statistic(which).forms(Grid((axis,)), kernel)[0]


@every("kernel", KERNELS)
@every("name", AXES)
@every("which", CUSTOM)
def test_tabulated_kernels_agree_with_closed_forms(which, name, kernel):
    axis = AXES[name]
    custom, built_in = both_forms(which, axis, kernel)
    # Quadrature is exact for polynomials; |x - y| has a kink where both are in one bin.
    kinked = which == "gini_mean_difference" and kernel == "average" and name == "interval"
    allowed = np.eye(axis.bins) * 0.005 * axis.width * kinked + 1e-12
    assert (np.abs(custom.matrix - built_in.matrix) <= allowed).all()
    np.testing.assert_allclose(custom.uncertainty, built_in.uncertainty, rtol=0, atol=1e-12)


@pytest.mark.parametrize("which", CUSTOM)
def test_bins_of_many_integers_are_averaged_as_if_continuous(which):
    axis = Axis(Integers(0, 99), 2)  # 50 values in a bin: the error is of order 1/50
    custom, built_in = both_forms(which, axis, "average")
    np.testing.assert_allclose(custom.matrix, built_in.matrix, rtol=0.05)


@every("kernel", KERNELS)
@every("y", SMALL_AXES)
@every("x", [*SMALL_AXES, "interval of many bins"])
def test_tabulated_concordance_agrees_with_kendall(x, y, kernel):
    axes = ({**SMALL_AXES, "interval of many bins": AXES["interval"]}[x], SMALL_AXES[y])
    custom = Kernel(concordance, range=(-1, 1), domain=tuple(axis.domain for axis in axes))
    (tabulated,) = custom.forms(Grid(axes), kernel)
    (built_in,) = statistic("kendall_tau").forms(Grid(axes), kernel)
    np.testing.assert_allclose(tabulated.matrix, built_in.matrix, rtol=0, atol=1e-12)
    np.testing.assert_allclose(tabulated.uncertainty, built_in.uncertainty, rtol=0, atol=1e-12)


def test_a_kernel_on_whole_numbers_sees_only_whole_numbers():
    def parity(a, b):
        assert (a == np.rint(a)).all()
        assert (b == np.rint(b)).all()
        return (a + b) % 2

    axis = Axis(Integers(0, 11), 3)
    for kernel in KERNELS:
        (form,) = Kernel(parity, range=(0, 1), domain=axis.domain).forms(Grid((axis,)), kernel)
        assert (form.matrix == 0.5).all()


UNIT = Axis(Interval(0, 1), 3)


def unit_kernel(f, limits=(0, 1), **options):
    return Kernel(f, range=limits, domain=UNIT.domain, **options)


BROKEN = {
    "not symmetric": (lambda a, b: (a > b) * 1.0, (0, 1), "not symmetric"),
    "a little asymmetric": (lambda a, b: (a + b) / 3 + 1e-4 * a, (0, 1), "not symmetric"),
    "a single number": (lambda a, b: 0.5, (0, 1), "vectorised"),
    "one side only": (lambda a, b: a * 1.0, (0, 1), "vectorised"),
    "an if": (lambda a, b: 1.0 if a > b else 0.0, (0, 1), "vectorised"),
    "above its range": (lambda a, b: a + b, (0, 1), r"from 0 to 2, outside its range \[0\.0, 1\.0\]"),
    "below its range": (lambda a, b: -np.abs(a - b), (0, 1), "outside its range"),
    "NaN": (lambda a, b: np.where(a + b > 1, np.nan, 0.0), (0, 1), "NaN or an infinite"),
    "infinite": (lambda a, b: np.where(a + b > 1, np.inf, 0.0), (0, 1), "NaN or an infinite"),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", BROKEN)
def test_broken_kernels_are_refused(name, kernel):
    f, limits, message = BROKEN[name]
    with pytest.raises(BadParameter, match=message):
        unit_kernel(f, limits).tabulate(Grid((UNIT,)), kernel)


DESCRIPTIONS = {
    "no function": (lambda: Kernel(5, range=(0, 1), domain=UNIT.domain), "function of two arrays, not int"),  # type: ignore[arg-type]
    "empty range": (lambda: unit_kernel(distance, (1, 1)), "low < high"),
    "range of one": (lambda: unit_kernel(distance, 5), "range must be two numbers"),
    "range of words": (lambda: unit_kernel(distance, ("a", "b")), "range low must be a finite number"),
    "three domains": (
        lambda: Kernel(distance, range=(0, 1), domain=(UNIT.domain,) * 3),
        "one domain or a pair",
    ),
    "no domain": (lambda: Kernel(distance, range=(0, 1), domain="abc"), "domain"),  # type: ignore[arg-type]
    "slope": (lambda: unit_kernel(distance, lipschitz=math.nan), "lipschitz must be a finite number"),
    "its own JSON": (lambda: unit_kernel(distance).to_json(), "no JSON form of its own"),
    "too many cells": (
        lambda: unit_kernel(lambda a, b: a * b).tabulate(Grid((Axis(UNIT.domain, 513),)), "average"),
        "at most 512 cells, not 513",
    ),
}


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_bad_descriptions_of_kernels_are_refused(name):
    call, message = DESCRIPTIONS[name]
    with pytest.raises(BadParameter, match=message):
        call()


# ---------------------------------------------------------------- JSON


def a_table_of(kernel="average"):
    product = unit_kernel(lambda a, b: a * b, lipschitz=1.0, label="a product")
    return product.tabulate(Grid((UNIT,)), kernel)


@pytest.mark.parametrize("kernel", KERNELS)
def test_tabulated_kernels_survive_json(kernel):
    table = a_table_of(kernel)
    text = canonical(table.to_json())
    again = statistic_from_json(parse(text, "kernel"))
    assert isinstance(again, TabulatedKernel)
    assert (again.matrix == table.matrix).all()
    assert (again.uncertainty == table.uncertainty).all()
    assert (again.label, again.kernel, again.columns) == ("a product", kernel, ("value",))
    assert (again.range(()), again.lipschitz(())) == ((0.0, 1.0), 1.0)
    assert canonical(again.to_json()) == text
    np.testing.assert_array_equal(again.forms(Grid((UNIT,)), kernel)[0].matrix, table.matrix)


def test_a_table_of_pairs_survives_json():
    axes = (SMALL_AXES["interval"], SMALL_AXES["levels"])
    pair = Kernel(concordance, range=(-1, 1), domain=tuple(axis.domain for axis in axes))
    table = pair.tabulate(Grid(axes), "average")
    again = statistic_from_json(json.loads(json.dumps(table.to_json())))
    assert again.columns == ("x", "y")
    np.testing.assert_array_equal(again.forms(Grid(axes), "average")[0].matrix, table.matrix)


def test_a_table_knows_its_cells_and_has_no_exact_value():
    table = a_table_of()
    with pytest.raises(BadParameter, match="table has 3 cells and the study 4"):
        table.check_grid(Grid((Axis(UNIT.domain, 4),)), "average")
    with pytest.raises(BadParameter, match=r"dpairs\.exact with the Kernel itself"):
        exact(table, {"value": [0.1, 0.2]})


DAMAGE: dict[str, tuple[dict, str]] = {
    "columns of a number": ({"columns": 5}, "columns"),
    "columns of lists": ({"columns": [["x"]]}, "columns"),
    "unknown columns": ({"columns": ["z"]}, "columns"),
    "no columns": ({"columns": None}, "columns"),
    "kernel": ({"kernel": "median"}, "kernel must be one of 'average', 'midpoint'"),
    "range": ({"range": [1, 0]}, "low < high"),
    "slope": ({"lipschitz": "steep"}, "lipschitz must be a finite number"),
    "not a triangle": ({"matrix": [0.0, 1.0]}, "lower triangle"),
    "not numbers": ({"matrix": ["a", "b", "c"]}, "list of numbers"),
    "numbers as text": ({"matrix": ["0", "0", "0", "0", "0", "0"]}, "numbers"),
    "not finite": ({"matrix": [math.nan] * 6}, "finite"),
    "no matrix": ({"matrix": None}, "matrix|table"),
    "two sizes": ({"spread": [0.0]}, "spread|table"),
    "negative spread": ({"spread": [-1.0] * 6}, "spread|table"),
    "more": ({"code": "print()"}, "no option 'code'"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damaged_tables_are_refused(name):
    change, message = DAMAGE[name]
    with pytest.raises(InvalidInput, match=message):
        statistic_from_json({**a_table_of().to_json(), **change})


@pytest.mark.parametrize("field", ["label", "kernel", "columns", "range", "lipschitz", "matrix", "spread"])
def test_incomplete_tables_are_refused(field):
    spec = {key: value for key, value in a_table_of().to_json().items() if key != field}
    with pytest.raises(InvalidInput, match=f"lacks '{field}'"):
        statistic_from_json(spec)


@pytest.mark.parametrize("study", STUDIES)
def test_built_in_statistics_survive_json(study):
    which, options = STUDIES[study]
    chosen = statistic(which, **options)
    assert statistic_from_json(json.loads(json.dumps(chosen.to_json()))) == chosen


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (5, "JSON object, not int"),
        ({}, "statistic must be one of"),
        ({"name": "median"}, "statistic must be one of"),
        ({"name": ["auc"]}, "statistic must be one of"),
        ({"name": "auc", "ties": 5}, "ties must be one of"),
        ({"name": "auc", "variant": "a"}, "no option 'variant'"),
        ({"name": "auc", "which": "variance"}, "no option 'which'"),
    ],
)
def test_bad_json_of_a_statistic_is_refused(spec, message):
    with pytest.raises(InvalidInput, match=message):
        statistic_from_json(spec)
