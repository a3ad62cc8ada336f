"""Data that `dpairs.exact` refuses, each in one sentence."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from dpairs import Categories, Integers, Interval, Kernel, Levels, exact
from dpairs.errors import BadParameter, BadValue, InvalidInput, NotEnoughData

from ..every import every

NAN = float("nan")
# name: (statistic, options, data, error, message)
REFUSED: dict[str, tuple] = {
    "NaN": ("variance", {}, {"value": [1.0, NAN, 2.0]}, BadValue, r"'value'.*finite.*1 of 3.*row 1"),
    "infinity": ("auc", {}, {"score": [1.0, math.inf], "label": [0, 1]}, BadValue, r"'score'.*finite.*row 1"),
    "None": ("kendall_tau", {}, {"x": [1, 2], "y": [None, 1]}, BadValue, r"'y'.*finite.*row 0"),
    "null in polars": (
        "variance",
        {},
        pl.DataFrame({"value": [1, None]}),
        BadValue,
        r"'value'.*finite.*row 1",
    ),
    "null in Arrow": ("variance", {}, pa.table({"value": [1, None]}), BadValue, r"'value'.*finite.*row 1"),
    "lengths": (
        "auc",
        {},
        {"score": [1, 2, 3], "label": [0, 1]},
        BadValue,
        "same length.*'score' has 3.*'label' has 2",
    ),
    "no column": ("variance", {}, {"income": [1, 2]}, BadValue, "no column 'value'.*'income'"),
    "no column in pandas": (
        "variance",
        {},
        pd.DataFrame({"income": [1]}),
        BadValue,
        "no column 'value'.*'income'",
    ),
    "labels 1 and 2": (
        "auc",
        {},
        {"score": [1, 2], "label": [1, 2]},
        BadValue,
        "'label'.*label 2.*0 and 1, -1 and 1",
    ),
    "label strings": (
        "auc",
        {},
        {"score": [1, 2], "label": ["yes", "no"]},
        BadValue,
        "'label'.*'yes'.*'positive'",
    ),
    "label NaN": ("auc", {}, {"score": [1, 2], "label": [1, NAN]}, BadValue, "'label'.*nan.*0 and 1"),
    "label None": ("auc", {}, {"score": [1, 2], "label": [1, None]}, BadValue, "'label'.*None.*0 and 1"),
    "0 and -1": ("auc", {}, {"score": [1, 2, 3], "label": [0, -1, 1]}, BadValue, "'label' mixes 0 and -1"),
    "0 and -1 as objects": (
        "auc",
        {},
        {"score": [1, 2, 3], "label": np.array([0, -1, 1], dtype=object)},
        BadValue,
        "'label' mixes 0 and -1",
    ),
    "0 and -1 in two chunks": (
        "auc",
        {},
        [{"score": [1, 2], "label": [0, 1]}, {"score": [3, 4], "label": [-1, 1]}],
        BadValue,
        "'label' mixes 0 and -1",
    ),
    "no positives": ("auc", {}, {"score": [1, 2], "label": [0, 0]}, NotEnoughData, "positive class is empty"),
    "no negatives": (
        "mann_whitney",
        {},
        {"score": [1], "label": [1]},
        NotEnoughData,
        "negative class is empty",
    ),
    "one person": ("variance", {}, {"value": [1.0]}, NotEnoughData, "at least 2 people, not 1"),
    "one pair": ("kendall_tau", {}, {"x": [1], "y": [1]}, NotEnoughData, "at least 2 people, not 1"),
    "nobody": ("collision_entropy", {}, {"value": []}, NotEnoughData, "at least 2 people, not 0"),
    "one to differ": ("gini_mean_difference", {}, {"value": [1]}, NotEnoughData, "at least 2 people"),
    "constant x": (
        "kendall_tau",
        {"variant": "b"},
        {"x": [1, 1], "y": [1, 2]},
        NotEnoughData,
        "tau-b.*'x' is constant",
    ),
    "constant y": (
        "kendall_tau",
        {"variant": "b"},
        {"x": [1, 2], "y": [1, 1]},
        NotEnoughData,
        "tau-b.*'y' is constant",
    ),
    "all zero": ("gini_coefficient", {}, {"value": [0, 0]}, NotEnoughData, "all values are 0"),
    "negative income": ("gini_coefficient", {}, {"value": [1, -1, 3]}, BadValue, "at least 0"),
    "2-D": ("variance", {}, {"value": [[1, 2], [3, 4]]}, BadValue, "'value' must have one dimension, not 2"),
    "ragged": ("variance", {}, {"value": [1, [2, 3]]}, BadValue, "'value'"),
    "scalar": ("variance", {}, {"value": 3}, BadValue, "'value' must be a list, an array or a series"),
    "words": ("variance", {}, {"value": ["a", "b"]}, BadValue, "'value' must hold numbers"),
    "digits": ("gini_mean_difference", {}, {"value": ["1", "2"]}, BadValue, "'value' must hold numbers"),
    "digits in pandas": (
        "variance",
        {},
        pd.DataFrame({"value": ["1", "2"]}),
        BadValue,
        "'value' must hold numbers",
    ),
    "words and numbers": (
        "variance",
        {},
        {"value": np.array(["a", 1], dtype=object)},
        BadValue,
        "'value' must hold numbers",
    ),
    "scores as words": (
        "auc",
        {},
        {"score": ["10", "9"], "label": [1, 0]},
        BadValue,
        "'score'.*(numbers|domain)",
    ),
    "ratings as words": (
        "kendall_tau",
        {},
        {"x": ["10", "9"], "y": [1, 0]},
        BadValue,
        "'x'.*(numbers|domain)",
    ),
    "dates": (
        "variance",
        {},
        {"value": np.array(["2020-01-01"] * 2, dtype="M8[D]")},
        BadValue,
        "'value'.*numbers",
    ),
    "not a table": ("variance", {}, 5, BadValue, "mapping of column names.*not int"),
    "a bare array": ("variance", {}, np.arange(4), BadValue, "mapping of column names.*not ndarray"),
    "a list of numbers": ("variance", {}, [1, 2, 3], BadValue, "chunk.*mapping of column names.*not int"),
    "statistic": (
        "median",
        {},
        {"value": [1, 2]},
        BadParameter,
        "statistic must be one of 'auc'.*not 'median'",
    ),
    "option": (
        "auc",
        {"variant": "b"},
        {},
        BadParameter,
        "'auc' has no option 'variant'; it takes labels, ties",
    ),
    "ties": ("auc", {"ties": "one"}, {}, BadParameter, "ties must be one of 'half', 'zero', not 'one'"),
    "variant": (
        "kendall_tau",
        {"variant": "c"},
        {},
        BadParameter,
        "variant must be one of 'a', 'b', not 'c'",
    ),
    "labels": ("auc", {"labels": "secret"}, {}, BadParameter, "labels must be one of 'private', 'public'"),
    "words for variance": (
        "variance",
        {"domain": Levels(["a", "b"])},
        {"value": ["a", "b"]},
        BadParameter,
        "variance needs numbers.*value",
    ),
    "no order": (
        "auc",
        {"domain": Categories(["a", "b"])},
        {"score": ["a", "b"], "label": [0, 1]},
        BadParameter,
        "auc compares values.*score needs an ordered domain",
    ),
    "not discrete": (
        "collision_entropy",
        {"domain": Interval(0, 1)},
        {"value": [0.0, 1.0]},
        BadParameter,
        "collision_entropy counts equal values.*Categories, Levels or Integers",
    ),
    "below zero": (
        "gini_coefficient",
        {"domain": Interval(-1, 1)},
        {"value": [0.0, 1.0]},
        BadParameter,
        "at least 0.*begins at -1",
    ),
    "one domain for two": (
        "kendall_tau",
        {"domain": Interval(0, 1)},
        {"x": [0.0], "y": [0.0]},
        BadParameter,
        "needs one domain for each of x, y, and was given 1",
    ),
    "no domain": (
        "variance",
        {"domain": 5},
        {"value": [0.0, 1.0]},
        BadParameter,
        "domain must be two numbers.*an Interval.*not 5",
    ),
}


@every("name", REFUSED)
def test_bad_data_is_refused(name):
    which, options, data, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        exact(which, data, **options)


def test_bad_values_are_value_errors():
    assert issubclass(BadValue, InvalidInput)
    assert issubclass(BadValue, ValueError)


def test_a_custom_kernel_that_gives_no_number_is_refused():
    broken = Kernel(lambda a, b: np.where(a == b, np.nan, 1.0), range=(0, 1), domain=Integers(0, 9))
    with pytest.raises(BadParameter, match="NaN"):
        exact(broken, {"value": [1, 2, 2]})
