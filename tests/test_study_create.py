"""What making a study refuses, each in one sentence."""

import re
import typing
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import BadParameter, Categories, Integers, Interval, Kernel, Levels, Study
from dpairs.protocols import PROTOCOLS, options
from dpairs.statistics import STATISTICS

from .every import every
from .studies import UNIT, distance, small

PAIR = (Levels(range(3)), Levels(["low", "high"]))


@pytest.mark.parametrize(
    "epsilon", [0, 0.0, -1.0, float("nan"), float("inf"), -float("inf"), "1", b"1", True, None, [1.0], 1j]
)
def test_epsilon_must_be_a_finite_number_above_zero(epsilon):
    with pytest.raises(BadParameter, match="epsilon must be"):
        small(epsilon=epsilon)


@pytest.mark.parametrize("mechanism", ["krr", "projective"])
@pytest.mark.parametrize("epsilon", [5e-324, 1e-300, 1e-20, 1e-17])
def test_epsilon_too_small_for_64_bits_is_said_to_be(epsilon, mechanism):
    with pytest.raises(BadParameter, match="too small"):
        small(epsilon=epsilon, bins=16, mechanism=mechanism)


@pytest.mark.parametrize("mechanism", ["krr", "projective"])
def test_a_huge_epsilon_is_allowed(mechanism):
    assert small(epsilon=1e300, mechanism=mechanism).privacy.epsilon < 64


@pytest.mark.parametrize("bins", [1, 0, -4, 4097, 4.0, "4", True, [4, 4], [], [None], {}, np.array([4])])
def test_bins_must_be_one_whole_number(bins):
    with pytest.raises(BadParameter, match="bins"):
        small(bins=bins)


def test_bins_must_fit_the_domain():
    with pytest.raises(BadParameter, match="bins must be at most 3"):
        small(domain=Levels(range(3)), bins=5)
    with pytest.raises(BadParameter, match="bins must be 3"):
        small(domain=Levels(range(3)), bins=2)
    with pytest.raises(BadParameter, match="bins must be at most 3"):
        small(domain=Integers(0, 2), bins=4)
    with pytest.raises(BadParameter, match="bins must be one number"):
        Study.create("kendall_tau", epsilon=1.0, domain=PAIR, bins=[3])
    with pytest.raises(BadParameter, match="cells"):
        Study.create("kendall_tau", epsilon=1.0, domain=(UNIT, UNIT), bins=65)


def test_bins_or_n_are_needed_on_an_interval():
    with pytest.raises(BadParameter, match=r"bins=\.\.\..*n=\.\.\."):
        Study.create("auc", protocol="histogram", epsilon=1.0, domain=UNIT)
    assert Study.create("auc", protocol="histogram", epsilon=1.0, domain=UNIT, n=10_000).protocol.to_json()[
        "bins"
    ] == [10]


@pytest.mark.parametrize("n", [0, -1, "many", 1.5, True])
def test_n_must_be_a_number_of_people(n):
    with pytest.raises(BadParameter, match="n must be"):
        Study.create("auc", epsilon=1.0, domain=UNIT, n=n)


def test_one_number_of_bins_is_for_the_column_that_can_be_cut():
    study = Study.create("kendall_tau", epsilon=1.0, domain=(Levels(range(3)), UNIT), bins=5)
    assert study.protocol.to_json()["bins"] == [3, 5]


def test_an_unknown_keyword_lists_the_allowed_ones():
    with pytest.raises(BadParameter, match="no option 'bin'") as raised:
        small(bin=4)
    for name in ("bins", "kernel", "mechanism", "n", "rounding", "ties", "labels"):
        assert name in str(raised.value)


def test_another_statistics_keyword_is_unknown():
    with pytest.raises(BadParameter, match="no option 'variant'"):
        small(variant="b")


@every(
    ("name", "bad"),
    [
        ("protocol", "tree of life"),
        ("mechanism", "laplace"),
        ("kernel", "median"),
        ("rounding", "up"),
        ("ties", "both"),
        ("labels", "hidden"),
    ],
)
@every("wrap", [str, lambda name: [name], lambda _: None, lambda _: 3])
def test_unknown_choices_are_refused_by_name(name, bad, wrap):
    if name in ("protocol", "rounding") and wrap(bad) is None:
        study = small(**{name: None})
        assert (study.protocol.name, study.protocol.rounding) == ("histogram", "simple")
        return
    with pytest.raises(BadParameter, match=f"{name} must be one of"):
        small(**{name: wrap(bad)})


def test_without_a_protocol_the_planner_chooses():
    for n, rounds in ((None, 1), (200_000, 2)):
        given: dict[str, Any] = {} if n is None else {"n": n}
        study = Study.create("auc", epsilon=1.0, domain=(0, 1), seed=1, **given)
        asked = dpairs.plan("auc", epsilon=1.0, domain=(0, 1), n=n or 100_000, rounds=rounds)
        assert study.protocol.to_json() == asked.best.protocol.to_json()
    assert study.protocol.name == "projection"


def test_every_keyword_of_every_protocol_is_typed():
    """An editor's completions are what the protocols take."""
    typed: dict[Any, set[str]] = {}
    for form in typing.get_overloads(Study.create):
        names = re.findall(r"Literal\['(\w+)'\]", str(form.__annotations__["protocol"]).replace('"', "'"))
        for name in names:
            kind = re.findall(r"Unpack\[(\w+)\]", form.__annotations__["more"])[0]
            typed[name] = set(getattr(options, kind).__annotations__)
    own = {"domain", "seed"} | {name for kind in STATISTICS.values() for name in kind.option_names()}
    assert {name: keys - own for name, keys in typed.items()} == {
        name: set(kind.options) for name, kind in PROTOCOLS.items() if name in typed
    }
    assert set(typed) == {"histogram", "tree", "projection", "pairwise", "two_servers", "sites"}


@pytest.mark.parametrize("statistic", ["median", "AUC", "", None, ["auc"], 3, float("nan")])
def test_an_unknown_statistic_is_refused(statistic):
    with pytest.raises(BadParameter, match="statistic must be one of 'auc'"):
        Study.create(statistic, epsilon=1.0, domain=UNIT, bins=4)


@pytest.mark.parametrize("seed", [-1, 2**128, 1.0, "1", True])
def test_a_seed_must_be_a_whole_number(seed):
    with pytest.raises(BadParameter, match="seed must be"):
        small(seed=seed)


@pytest.mark.parametrize(
    "domain", [None, "0 to 1", 3, (), [], (UNIT, UNIT), (0, 1, 2), [None], Interval, Levels, "study"]
)
def test_a_domain_must_be_one(domain):
    given = small() if domain == "study" else domain
    with pytest.raises(BadParameter, match="domain"):
        small(domain=given)


@pytest.mark.parametrize(
    ("statistic", "domain", "said"),
    [
        ("auc", Categories(["a", "b"]), "ordered"),
        ("kendall_tau", (Levels(["a", "b"]), Categories(["a", "b"])), "ordered"),
        ("kendall_tau", UNIT, "was given 1"),
        ("gini_mean_difference", Levels(["a", "b"]), "numbers"),
        ("variance", Categories(["a", "b"]), "numbers"),
        ("gini_coefficient", Interval(-1, 1), "at least 0"),
        ("gini_coefficient", Levels([-1, 1]), "at least 0"),
        ("collision_entropy", UNIT, "equal values"),
    ],
)
def test_a_domain_must_suit_the_statistic(statistic, domain, said):
    with pytest.raises(BadParameter, match=said):
        Study.create(statistic, epsilon=1.0, domain=domain, bins=2)


def test_random_rounding_needs_an_interval():
    with pytest.raises(BadParameter, match="Interval"):
        small(domain=Levels(range(4)), rounding="random")


@pytest.mark.parametrize("statistic", ["auc", "collision_entropy"])
def test_whole_numbers_are_rounded_at_random_only_for_distances(statistic):
    with pytest.raises(BadParameter, match="or Integers whose distances count"):
        Study.create(statistic, epsilon=1.0, domain=Integers(0, 99), bins=8, rounding="random")


def test_a_value_with_half_a_character_has_no_json():
    with pytest.raises(BadParameter):
        Study.create("collision_entropy", epsilon=1.0, domain=Categories(["\ud800", "a"])).to_json()


def test_a_kernel_brings_its_domain():
    study = Study.create(distance(), epsilon=1.0, bins=3, seed=1)
    assert study.domains == (UNIT,)
    assert study.statistic.to_json()["label"] == "distance"


def test_a_kernel_that_is_not_symmetric_or_leaves_its_range_is_refused():
    for f, said in ((lambda a, b: a - b, "range"), (lambda a, b: a + 0 * b, "symmetric")):
        with pytest.raises(BadParameter, match=said):
            Study.create(Kernel(f, range=(0, 1), domain=UNIT), epsilon=1.0, bins=3)


@every("epsilon", (710.0, 1e155, 1e308))
def test_an_epsilon_whose_powers_are_no_floats_is_taken(epsilon):
    ways: tuple[dict[str, Any], ...] = (
        {"protocol": "projection"},
        {"protocol": "tree", "answer": "several-bits"},
        {"protocol": "two_servers", "rounds": 2},
        {"protocol": "sites", "rounds": 2},
    )
    for way in ways:
        made = Study.create("auc", epsilon=epsilon, domain=UNIT, **way)
        assert made.privacy.epsilon <= made.epsilon == epsilon
