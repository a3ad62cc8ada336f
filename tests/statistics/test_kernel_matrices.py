"""Kernels on cells: closed forms against enumeration, and what statistics make of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from dpairs import Interval, Levels, exact
from dpairs.data.grids import Axis, Grid
from dpairs.errors import NotEstimable
from dpairs.randomness import TapeRandomness
from dpairs.statistics import EVERYBODY, KERNELS, statistic
from dpairs.statistics.labels import NEGATIVE, POSITIVE

from ..every import every
from .axes import AXES, SMALL_AXES, STUDIES, TIE, concordance, distance

LABEL = Axis(Levels((0, 1)), 2)


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


def half_square(a, b):
    return (a[0] - b[0]) ** 2 / 2


def mean(a, b):
    return (a[0] + b[0]) / 2


def same(column):
    return lambda a, b: a[column] == b[column]


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
