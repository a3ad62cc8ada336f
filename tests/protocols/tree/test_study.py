"""Tree studies: what is refused, and their files."""

import math
from typing import Any

import pytest

import dpairs
from dpairs import (
    BadFile,
    BadParameter,
    Categories,
    Integers,
    Interval,
    Levels,
    Study,
)
from dpairs.mechanisms import KaryResponse
from dpairs.protocols import Tree
from dpairs.protocols.tree.answers import SPLITTINGS

from ...every import every
from .answers import DOMAINS, forged, response, study, tree

# ---------------------------------------------------------------- what is refused


@every(
    ("options", "error"),
    [
        ({"labels": "private"}, "public labels"),
        ({"bins": 3}, "power of 2"),
        ({"bins": 100}, "power of 2"),
        ({"bins": 1}, "whole number"),
        ({"bins": 0}, "whole number"),
        ({"bins": 2.0}, "whole number"),
        ({"bins": True}, "whole number"),
        ({"bins": "8"}, "whole number"),
        ({"bins": 2**65}, "whole number"),
        ({"bins": 2**53}, r"2\^52"),
        ({"domain": Integers(0, 99), "bins": 256}, r"2\^7"),
        ({"domain": Levels(range(8)), "bins": 4}, r"2\^3"),
        ({"domain": Levels(range(8)), "bins": 16}, r"2\^3"),
        ({"domain": Categories(["a", "b"])}, "ordered"),
        ({"domain": (Interval(0, 1), Interval(0, 1))}, "domain"),
        ({"splitting": "budget-advanced", "delta": None}, "needs a delta"),
        ({"splitting": "budget-advanced-paper", "delta": None}, "needs a delta"),
        ({"splitting": "budget-advanced", "delta": 0}, "delta"),
        ({"splitting": "budget-advanced", "delta": 1}, "delta"),
        ({"splitting": "budget-advanced", "delta": "1e-6"}, "delta"),
        ({"splitting": "budget-advanced", "delta": math.nan}, "delta"),
        ({"splitting": "users", "delta": 1e-6}, "takes no delta"),
        ({"splitting": "users-independent", "delta": 1e-6}, "takes no delta"),
        ({"splitting": "budget", "delta": 1e-6}, "takes no delta"),
        ({"splitting": "levels"}, "splitting"),
        ({"splitting": None}, "splitting"),
        ({"rows": "some"}, "rows"),
        ({"rows": None}, "rows"),
        ({"mechanism": "krr"}, "mechanism"),
        ({"kernel": "average"}, "kernel"),
        ({"rounding": "random"}, "rounding"),
        ({"splitting": "budget-advanced-paper", "epsilon": 3.0, "delta": 1e-6}, "optimal one"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1e-25}, "too small"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(options, error):
    given_options: dict[str, Any] = {"epsilon": 1.0, "domain": Interval(0, 1), "seed": 1, **options}
    with pytest.raises(BadParameter, match=error):
        Study.create("auc", protocol="tree", **given_options)


@pytest.mark.parametrize(
    ("statistic", "domain"),
    [
        ("mann_whitney", Interval(0, 1)),
        ("kendall_tau", (Interval(0, 1), Interval(0, 1))),
        ("gini_mean_difference", Interval(0, 1)),
        ("variance", Interval(0, 1)),
        ("collision_entropy", Levels(range(4))),
    ],
)
def test_other_statistics_are_refused(statistic, domain):
    with pytest.raises(BadParameter, match="the tree protocol computes the AUC"):
        Study.create(statistic, protocol="tree", epsilon=1.0, domain=domain)


def test_kernels_are_refused():
    kernel = dpairs.Kernel(lambda a, b: (a > b) * 1.0, range=(0, 1), domain=Interval(0, 1))
    with pytest.raises(BadParameter, match="the tree protocol computes the AUC"):
        Study.create(kernel, protocol="tree", epsilon=1.0)


def test_a_response_to_more_than_two_inputs_is_refused():
    made = study()
    with pytest.raises(BadParameter, match="inputs"):
        Tree(made.statistic, made.domains, 16, "users", "all", (KaryResponse.for_epsilon(3, 1.0),), 0.0)


# ---------------------------------------------------------------- the study's file


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("splitting", SPLITTINGS)
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_json_round_trip(domain, splitting, rows):
    made = study(domain, 1.0, splitting=splitting, rows=rows, ties="zero")
    again = Study.from_json(made.to_json())
    assert again == made
    assert again.protocol == made.protocol
    assert again.coins == made.coins
    assert again.privacy == made.privacy
    assert again.privacy.epsilon <= 1.0
    assert made.privacy.delta == (1e-6 if "advanced" in splitting else 0)


@pytest.mark.parametrize("splitting", ["users", "budget", "budget-advanced"])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 10.0, 100.0, 1e4])
def test_json_round_trip_at_small_and_large_epsilon(epsilon, splitting):
    made = study(epsilon=epsilon, splitting=splitting)
    assert Study.from_json(made.to_json()) == made
    assert made.privacy.epsilon <= epsilon


def test_forging_is_possible_at_all():
    """Negative control of the refusals below: a harmless change is accepted."""
    changed = Study.from_json(forged(study(), {"rows": "all"}))
    assert tree(changed).rows == "all"


@every(
    ("change", "error"),
    [
        ({"depth": 0}, "depth"),
        ({"depth": 53}, r"2\^52"),
        ({"depth": 65}, "depth"),
        ({"depth": 16.5}, "depth"),
        ({"depth": "16"}, "depth"),
        ({"depth": True}, "depth"),
        ({"depth": None}, "depth"),
        ({"depth": ...}, "lacks 'depth'"),
        ({"splitting": "all"}, "splitting"),
        ({"splitting": 1}, "splitting"),
        ({"splitting": ["users"]}, "splitting"),
        ({"splitting": ...}, "lacks 'splitting'"),
        ({"splitting": "budget"}, "loses"),
        ({"splitting": "budget-advanced"}, "delta"),
        ({"rows": "none"}, "rows"),
        ({"rows": {}}, "rows"),
        ({"rows": ...}, "lacks 'rows'"),
        ({"floors": ["0"]}, "floor"),
        ({"floors": ["1"]}, "loses"),
        ({"floors": ["-5"]}, "floor"),
        ({"floors": [12]}, "floor"),
        ({"floors": ["1e5"]}, "floor"),
        ({"floors": ["٣"]}, "floor"),
        ({"floors": [str(2**63)]}, "floor"),
        ({"floors": ["9" * 20]}, "floor"),
        ({"floors": ["9" * 21]}, "floor"),
        ({"floors": [None]}, "floor"),
        ({"floors": ...}, "lacks 'floors'"),
        ({"floors": []}, "parities|responses"),
        ({"floors": str(2**62)}, "floors"),
        ({"floors": {}}, "floors"),
        ({"floors": None}, "floors"),
        ({"floors": [str(2**62)] * 7}, "floor"),
        ({"delta": 1e-6}, "delta"),
        ({"delta": "0"}, "delta"),
        ({"delta": None}, "delta"),
        ({"delta": False}, "delta"),
        ({"delta": -1}, "delta"),
        ({"delta": 10**400}, "delta"),
        ({"delta": ...}, "lacks 'delta'"),
        ({"comment": "hello"}, "comment"),
        ({"name": "histogram"}, "histogram"),
        ({"name": "trees"}, "protocol"),
    ],
)
def test_forged_fields_are_refused(change, error):
    with pytest.raises(BadFile, match=error):
        Study.from_json(forged(study(), change))


@pytest.mark.parametrize("delta", [0.0, 1e-5, 1, 10**400, "1e-6", None], ids=lambda value: str(value)[:6])
def test_a_forged_delta_is_refused_in_both_places(delta):
    made = study(splitting="budget-advanced")
    for change, content in (
        ({}, {"delta": delta}),
        ({"delta": delta}, {}),
        ({"delta": delta}, {"delta": delta}),
    ):
        # A larger delta in both places is a weaker but honest study; its epsilon is below the asked one.
        if delta == 1e-5 and change and content:
            assert Study.from_json(forged(made, change, **content)).delta == 1e-5
            continue
        with pytest.raises(BadFile):
            Study.from_json(forged(made, change, **content))


def test_a_study_of_another_statistic_cannot_be_a_tree():
    made = study()
    for statistic in (
        {"name": "auc", "ties": "half", "labels": "private"},
        {"name": "mann_whitney", "ties": "half", "labels": "public"},
        {"name": "variance"},
    ):
        with pytest.raises(BadFile):
            Study.from_json(forged(made, {}, statistic=statistic))


def test_a_leading_zero_in_the_floor_is_refused():
    floor = str(response(tree(study(epsilon=5.0))).floor)
    with pytest.raises(BadFile):
        Study.from_json(forged(study(epsilon=5.0), {"floors": ["0" + floor]}))
