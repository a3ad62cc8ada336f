"""`dpairs.exact` against scikit-learn, scipy and loops over all pairs."""

from __future__ import annotations

import math
import statistics as stdlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from scipy.stats import kendalltau, mannwhitneyu

from dpairs import Categories, Integers, Interval, Kernel, Levels, Study, exact, exact_details
from dpairs.errors import BadParameter, BadValue, NotEnoughData
from tests.strategies import QUICK, labelled_tables, pair_tables, value_tables

from ..every import every

TIE = {"half": 0.5, "zero": 0.0}


def close(expected):
    return pytest.approx(expected, rel=1e-12, abs=1e-12)


# ---------------------------------------------------------------- data sets: name -> (n, whether tied)


CASES = {
    "two": (2, False),
    "three": (3, True),
    "ties": (200, True),
    "random": (200, False),
    "large": (5000, True),
}


def made_up(case, columns=1):
    """Columns of the case: integers 0..5 when tied, else continuous; never constant."""
    n, tied = CASES[case]
    rng = np.random.default_rng([n, tied])
    draws = []
    for _ in range(columns):
        column = rng.integers(0, 6, n) if tied else rng.normal(2.0, 1.0, n)
        column[:2] = [1, 3]
        draws.append(column)
    return draws


def labelled(case):
    (score,) = made_up(case)
    label = np.random.default_rng(len(score)).integers(0, 2, len(score))
    label[:2] = [1, 0]
    return {"score": score, "label": label}


def over_pairs(f, *columns):
    """The mean of f over ordered pairs of different people, by a loop."""
    n = len(columns[0])
    rows = (f(*(column[i] for column in columns), *columns) for i in range(n))
    return math.fsum(float(np.delete(row, i).sum()) for i, row in enumerate(rows)) / (n * (n - 1))


def auc_by_loop(table, tie):
    above, below = (table["score"][table["label"] == side] for side in (1, 0))
    return math.fsum(np.sum(a > below) + tie * np.sum(a == below) for a in above) / (above.size * below.size)


def tau_by_loop(x, y, variant):
    tau_a = over_pairs(lambda a, b, c, d: np.sign(a - c) * np.sign(b - d), x, y)
    if variant == "a":
        return tau_a
    untied = [over_pairs(lambda a, c: a != c, column) for column in (x, y)]
    return tau_a / math.sqrt(untied[0] * untied[1])


# ---------------------------------------------------------------- AUC and Mann-Whitney


def roc_auc_score(labels, scores):
    from sklearn import metrics  # which takes a tenth of a second to import, in every worker

    return metrics.roc_auc_score(labels, scores)


@pytest.mark.parametrize("case", CASES)
def test_auc_is_that_of_scikit_learn(case):
    table = labelled(case)
    assert exact("auc", table) == close(roc_auc_score(table["label"], table["score"]))


@every("labels", ["public", "private"])
@every("ties", TIE)
@every("case", CASES)
def test_auc_is_the_share_of_pairs_won(case, ties, labels):
    table = labelled(case)
    assert exact("auc", table, ties=ties, labels=labels) == close(auc_by_loop(table, TIE[ties]))


@given(labelled_tables())
@QUICK
def test_auc_of_any_tied_table(table):
    assert exact("auc", table) == close(roc_auc_score(table["label"], table["score"]))
    assert exact("auc", table, ties="zero") == close(auc_by_loop(table, 0.0))


@pytest.mark.parametrize("case", CASES)
def test_mann_whitney_is_that_of_scipy(case):
    table = labelled(case)
    above, below = (table["score"][table["label"] == side] for side in (1, 0))
    reference = mannwhitneyu(above, below, method="asymptotic")
    details = exact_details("mann_whitney", table)
    assert exact("mann_whitney", table) == close(reference.statistic)
    assert details["p_value"] == pytest.approx(reference.pvalue, rel=1e-10, abs=0)
    assert details["auc"] == close(roc_auc_score(table["label"], table["score"]))
    assert np.sign(details["z"]) in (0, np.sign(reference.statistic - above.size * below.size / 2))


@pytest.mark.parametrize("case", CASES)
def test_mann_whitney_is_a_number_of_pairs(case):
    table = labelled(case)
    pairs = int(table["label"].sum()) * int((1 - table["label"]).sum())
    assert exact("mann_whitney", table) == close(auc_by_loop(table, 0.5) * pairs)


def test_equal_classes_are_not_found_different():
    table = {"score": [0, 1] * 50, "label": [0, 0, 1, 1] * 25}
    assert exact_details("mann_whitney", table)["p_value"] > 0.5


def test_mann_whitney_counts_ties_one_half_only():
    with pytest.raises(BadParameter, match="'half'"):
        exact("mann_whitney", {"score": [0, 1], "label": [0, 1]}, ties="zero")


def test_mann_whitney_of_scores_that_are_all_equal():
    details = exact_details("mann_whitney", {"score": [1, 1, 1], "label": [0, 1, 1]})
    assert details == {"auc": 0.5, "z": 0.0, "p_value": 1.0}


LABELS = {
    "0 and 1": [0, 1],
    "-1 and 1": [-1, 1],
    "0.0 and 1.0": [0.0, 1.0],
    "bool": [False, True],
    "strings": ["negative", "positive"],
    "objects": np.array(["negative", "positive"], dtype=object),
}


@pytest.mark.parametrize("names", LABELS)
@pytest.mark.parametrize("which", ["auc", "mann_whitney"])
def test_labels_may_be_written_in_several_ways(which, names):
    table = labelled("ties")
    renamed = {"score": table["score"], "label": np.asarray(LABELS[names])[table["label"]]}
    assert exact(which, renamed) == exact(which, table)


# ---------------------------------------------------------------- Kendall's tau


@pytest.mark.parametrize("variant", ["a", "b"])
@pytest.mark.parametrize("case", CASES)
def test_tau_is_that_of_a_loop(case, variant):
    x, y = made_up(case, 2)
    value = exact("kendall_tau", {"x": x, "y": y}, variant=variant)
    assert value == close(tau_by_loop(x, y, variant))


@pytest.mark.parametrize("case", CASES)
def test_tau_b_is_that_of_scipy(case):
    x, y = made_up(case, 2)
    assert exact("kendall_tau", {"x": x, "y": y}, variant="b") == close(kendalltau(x, y)[0])


@given(pair_tables())
@QUICK
def test_tau_of_any_tied_table(table):
    for variant in ("a", "b"):
        value = exact("kendall_tau", table, variant=variant)
        assert value == close(tau_by_loop(table["x"], table["y"], variant))


def test_tau_a_of_a_constant_column_is_zero():
    assert exact("kendall_tau", {"x": [1, 1, 1], "y": [1, 2, 3]}) == 0.0


# ---------------------------------------------------------------- one column


@pytest.mark.parametrize("case", CASES)
def test_variance_has_the_divisor_n_minus_one(case):
    (values,) = made_up(case)
    value = exact("variance", {"value": values})
    assert value == close(float(np.var(values, ddof=1)))
    assert value == close(float(stdlib.variance(values.astype(float).tolist())))


@pytest.mark.parametrize("case", CASES)
def test_variance_is_the_mean_of_half_squares(case):
    (values,) = made_up(case)
    assert exact("variance", {"value": values}) == close(over_pairs(lambda a, b: (a - b) ** 2 / 2, values))


def gini_by_loop(values):
    difference = over_pairs(lambda a, b: np.abs(a - b), values)
    return difference * (len(values) - 1) / (2 * math.fsum(values))


@pytest.mark.parametrize("case", CASES)
def test_gini_is_that_of_a_loop(case):
    values = np.abs(made_up(case)[0])
    difference = over_pairs(lambda a, b: np.abs(a - b), values)
    assert exact("gini_mean_difference", {"value": values}) == close(difference)
    assert exact("gini_coefficient", {"value": values}) == close(gini_by_loop(values))
    details = exact_details("gini_coefficient", {"value": values})
    assert details["gini_mean_difference"] == close(difference)
    assert details["mean"] == close(math.fsum(values) / len(values))


@given(value_tables())
@QUICK
def test_one_column_statistics_of_any_tied_table(table):
    values = table["value"]
    assert exact("gini_coefficient", table) == close(gini_by_loop(values))
    chance = over_pairs(lambda a, b: a == b, values)
    assert exact_details("collision_entropy", table)["collision_probability"] == close(chance)


@pytest.mark.parametrize("case", ["ties", "large"])
def test_collision_entropy_is_that_of_a_loop(case):
    (values,) = made_up(case)
    chance = over_pairs(lambda a, b: a == b, values)
    assert exact("collision_entropy", {"value": values}) == close(-math.log(chance))
    named = np.array(["red", "green", "blue", "grey", "pink", "tan"])[values]
    colours = Categories(["tan", "blue", "red", "green", "grey", "pink"])
    assert exact("collision_entropy", {"value": named}) == exact("collision_entropy", {"value": values})
    assert exact("collision_entropy", {"value": named}, domain=colours) == close(-math.log(chance))


def test_collision_entropy_is_infinite_when_no_two_agree():
    assert exact("collision_entropy", {"value": [1, 2, 3]}) == math.inf


def test_gini_of_numbers_whose_sum_exceeds_64_bits():
    value = exact("gini_coefficient", {"value": [2**62, 2**62, 2**61]})
    assert value == close(exact("gini_coefficient", {"value": [2.0, 2.0, 1.0]}))


@pytest.mark.parametrize("name", ["variance", "gini_mean_difference", "gini_coefficient"])
def test_distances_of_whole_numbers_far_from_0_are_refused_where_doubles_do_not_keep_them(name):
    near = np.array([2**60, 2**60 + 25, 2**60 + 50])
    with pytest.raises(BadValue, match=r"column 'value' holds whole numbers from 1152921504606846976 to"):
        exact(name, {"value": near})
    with pytest.raises(BadParameter, match=r"doubles do not keep those of Integers\(low=1152921504606846976"):
        Study.create(name, epsilon=1.0, domain=Integers(2**60, 2**60 + 50))
    assert exact("gini_mean_difference", {"value": near - 2**60}) == close(100 / 3)
    assert exact(name, {"value": np.array([2**60, 2**60])}) == 0
    assert exact("kendall_tau", {"x": near, "y": near}) == 1


# ---------------------------------------------------------------- domains


GRADES = Levels(["poor", "fair", "good", "excellent"])  # not in alphabetical order


def test_string_levels_are_compared_in_the_order_of_the_domain():
    codes, other = np.random.default_rng(4).integers(0, 4, (2, 100))
    label = np.arange(100) % 2
    score, second = (np.array(GRADES.values)[column] for column in (codes, other))
    assert exact("auc", {"score": score, "label": label}, domain=GRADES) == exact(
        "auc", {"score": codes, "label": label}
    )
    assert exact("kendall_tau", {"x": score, "y": second}, domain=(GRADES, GRADES)) == exact(
        "kendall_tau", {"x": codes, "y": other}
    )


@pytest.mark.parametrize(
    "domain", [Interval(-5, 5), Integers(0, 7), Integers(-(2**63), 2**63 - 1), Levels([0, 1, 2, 3, 4, 5])]
)
def test_a_domain_checks_but_does_not_change_the_value(domain):
    (values,) = made_up("ties")
    assert exact("variance", {"value": values}, domain=domain) == close(np.var(values, ddof=1))


def test_values_outside_the_domain_are_refused():
    with pytest.raises(BadValue, match=r"'value'.*\[0, 1\].*row 2: 3"):
        exact("variance", {"value": [0.0, 1.0, 3.0]}, domain=Interval(0, 1))


# ---------------------------------------------------------------- custom kernels


def test_custom_kernels_equal_the_built_in_statistics():
    x, y = made_up("ties", 2)
    far = Kernel(lambda a, b: np.abs(a - b), range=(0, 6), domain=Integers(0, 6))
    half_square = Kernel(lambda a, b: (a - b) ** 2 / 2, range=(0, 18), domain=Interval(0, 6))
    agree = Kernel(
        lambda a, b: np.sign(a[0] - b[0]) * np.sign(a[1] - b[1]),
        range=(-1, 1),
        domain=(Integers(0, 6), Levels(range(7))),
    )
    assert exact(far, {"value": x}) == close(exact("gini_mean_difference", {"value": x}))
    assert exact(half_square, {"value": x}) == close(exact("variance", {"value": x}))
    assert exact(agree, {"x": x, "y": y}) == close(exact("kendall_tau", {"x": x, "y": y}))


@pytest.mark.parametrize("case", ["two", "three", "ties", "random"])
def test_custom_kernels_equal_a_loop(case):
    x, y = made_up(case, 2)
    # f(a, a) is not 0, so a person paired with themselves would show.
    product = Kernel(lambda a, b: a * b + 1, range=(-100, 100), domain=Interval(-9, 9))
    pair = Kernel(
        lambda a, b: np.minimum(a[0] * b[0], a[1] + b[1]), range=(-100, 100), domain=(Interval(-9, 9),) * 2
    )
    assert exact(product, {"value": x}) == close(over_pairs(lambda a, b: a * b + 1, x))
    assert exact(pair, {"x": x, "y": y}) == close(
        over_pairs(lambda a, b, c, d: np.minimum(a * c, b + d), x, y)
    )


def test_a_custom_kernel_works_in_blocks():
    (values,) = made_up("large")
    same = Kernel(lambda a, b: a == b, range=(0, 1), domain=Integers(0, 6))
    chance = exact_details("collision_entropy", {"value": values})["collision_probability"]
    assert exact(same, {"value": values}) == close(chance)


def test_a_custom_kernel_on_string_levels():
    table = {"value": ["good", "poor", "fair", "poor"]}
    apart = Kernel(lambda a, b: np.abs(a - b), range=(0, 3), domain=GRADES)
    expected = exact("gini_mean_difference", {"value": [2, 0, 1, 0]})
    assert exact(apart, table) == close(expected)
    assert exact(apart, table, domain=GRADES) == close(expected)


# ---------------------------------------------------------------- the forms a table may have


def chunks(table):
    """A stream of three chunks of different kinds, one of them a single row."""
    cut = [slice(0, 1), slice(1, 60), slice(60, None)]
    kinds = (dict, pd.DataFrame, lambda part: pa.table({name: np.array(v) for name, v in part.items()}))
    for rows, kind in zip(cut, kinds, strict=True):
        yield kind({name: column[rows] for name, column in table.items()})


KINDS = {
    "lists": lambda table: {name: column.tolist() for name, column in table.items()},
    "tuples": lambda table: {name: tuple(column.tolist()) for name, column in table.items()},
    "pandas": pd.DataFrame,
    "pandas nullable": lambda table: pd.DataFrame(table).convert_dtypes(),
    "polars": pl.DataFrame,
    "arrow table": pa.table,
    "arrow batch": pa.record_batch,
    "list of chunks": lambda table: list(chunks(table)),
    "stream of chunks": chunks,
    "more columns than asked": lambda table: {"other": ["?"], **table},
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_value(kind):
    table = labelled("ties")
    assert exact("auc", KINDS[kind](table)) == exact("auc", table)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_carries_strings_and_bools(kind):
    table = labelled("ties")
    named = {"score": np.array(list("abcdef"))[table["score"]], "label": table["label"] == 1}
    assert exact("auc", KINDS[kind](named), domain=Levels(list("abcdef"))) == exact("auc", table)


@pytest.mark.parametrize("data", [[], iter(())])
def test_an_empty_stream_is_not_enough(data):
    with pytest.raises(NotEnoughData, match="at least 2"):
        exact("variance", data)
