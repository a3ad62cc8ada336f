"""Custom kernels on cells: tabulated, against the closed forms, and in files."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from dpairs import Integers, Interval, Kernel, exact
from dpairs.data.grids import Axis, Grid
from dpairs.errors import BadParameter, InvalidInput
from dpairs.formats.canonical import canonical, parse
from dpairs.statistics import KERNELS, TabulatedKernel, statistic, statistic_from_json

from ..every import every
from .axes import AXES, SMALL_AXES, STUDIES, concordance, distance

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
    "a range beyond files": (lambda: unit_kernel(distance, (0, 1e60)), "within 1e.50 of 0"),
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
