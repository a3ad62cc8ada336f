"""The planner: predictions beside what estimates report, and plans that undo themselves."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Categories, Integers, Interval, Levels, plan
from dpairs.errors import BadParameter, BadValue
from dpairs.planning.shapes import draw, even, from_masses, from_sample, hard, normals
from dpairs.protocols import FirstRound
from dpairs.protocols.shape import onto
from dpairs.statistics import statistic

UNIT = Interval(0, 1)
FIVE = (Levels(range(5)),) * 2
CASES: dict[str, tuple[str, Any, tuple[str, ...]]] = {
    "auc": ("auc", UNIT, ("histogram", "tree", "projection", "pairwise")),
    "tau": ("kendall_tau", FIVE, ("histogram", "projection", "pairwise")),
    "gini": ("gini_mean_difference", UNIT, ("histogram", "projection", "pairwise")),
    "variance": ("variance", Integers(0, 1000), ("histogram", "projection", "pairwise")),
    "entropy": ("collision_entropy", Categories(list("abcdef")), ("histogram", "projection", "pairwise")),
}


def shape_of(name, domain):
    """People who fall off to one side, unlike an even spread."""
    chosen = statistic(name)
    domains = domain if isinstance(domain, tuple) else (domain,)
    cells = even(chosen, domains).grid.cells
    index = np.arange(cells)
    # Six categories must not be nearly even: there an error is itself uncertain.
    ratio = 0.93 if cells > 6 else 0.5
    masses: dict[str, Any] = {
        stratum: ratio ** (index if place else cells - 1 - index) + 0.05
        for place, stratum in enumerate(chosen.strata)
    }
    return from_masses(chosen, domains, masses)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
@pytest.mark.parametrize("case", CASES)
def test_predictions_are_what_estimates_report(case, epsilon):
    """Within a quarter: the reported standard errors are checked by coverage elsewhere."""
    name, domain, protocols = CASES[case]
    shape = shape_of(name, domain)
    total = 60_000
    sizes = {stratum: total // len(shape.masses) for stratum in shape.masses}
    people = draw(shape, sizes, 1)
    for protocol in protocols:
        options: dict[str, Any] = (
            {"bins": 16} if protocol == "histogram" and case in ("auc", "gini", "variance") else {}
        )
        if protocol == "tree":
            options = {"bins": 2**10}
        if protocol == "projection":
            options = {"n": total}
        study = dpairs.Study.create(
            name, protocol=protocol, epsilon=epsilon, domain=domain, seed=1, **options
        )
        assert isinstance(study.protocol, FirstRound)
        found = study.protocol.predict(shape, sizes)
        without = np.sqrt(found.total**2 - found.quantization**2)
        reported = dpairs.simulate(study, people, seed=1).standard_error
        assert without == pytest.approx(reported, rel=0.25), (protocol, found)


def test_a_wrong_noise_is_noticed():
    """Negative control of the check above: half the people have 1.4 times the error."""
    shape = shape_of("auc", UNIT)
    study = dpairs.Study.create("auc", protocol="projection", epsilon=1.0, domain=UNIT, seed=1, n=60_000)
    people = {"positive": 30_000, "negative": 30_000}
    half = {name: count // 2 for name, count in people.items()}
    reported = dpairs.simulate(study, draw(shape, people, 1), seed=1).standard_error
    assert isinstance(study.protocol, FirstRound)
    assert study.protocol.predict(shape, half).total > 1.25 * reported


@pytest.mark.parametrize("case", ["auc", "tau", "gini"])
def test_people_for_an_error_give_that_error(case):
    name, domain, _ = CASES[case]
    first = plan(name, domain=domain, epsilon=1.0, error=0.02, peers=True, like="even")
    best = first.options[0]
    again = plan(name, domain=domain, epsilon=1.0, n=best.sizes, peers=True, like="even")
    same = next(each for each in again.options if each.protocol == best.protocol)
    assert same.error == pytest.approx(0.02, rel=0.02)


def test_epsilon_for_an_error_gives_that_error():
    first = plan("kendall_tau", domain=FIVE, n=100_000, error=0.02, like="even")
    best = first.options[0]
    again = plan("kendall_tau", domain=FIVE, n=100_000, epsilon=best.study.epsilon, like="even")
    assert again.options[0].error <= 0.02 * 1.001
    assert again.options[0].error == pytest.approx(0.02, rel=0.02)


def test_options_are_sorted_and_say_what_they_ask():
    made = plan("auc", domain=UNIT, epsilon=1.0, n={"positive": 7000, "negative": 60_000}, peers=True)
    errors = [each.error for each in made.options]
    assert errors == sorted(errors)
    assert {each.protocol for each in made.options} == {"histogram", "tree", "projection", "pairwise"}
    first = made.options[0].study
    assert made.best == made.best != first
    assert replace(made.best, seed=0) == first
    assert made.options[0].begin() != made.options[0].begin()
    assert made.options[0].protocol in made.why
    assert all(each.error >= made.sampling * 0.99 for each in made.options)
    trust = {each.protocol: each.trust for each in made.options}
    assert trust["projection"] == "nobody" != trust["pairwise"]
    one = plan("auc", domain=UNIT, epsilon=1.0, n=10_000, rounds=1)
    assert "projection" not in {each.protocol for each in one.options}


@pytest.mark.usefixtures("few_bins")
def test_nothing_known_is_never_below_an_even_spread():
    for case in CASES.values():
        name, domain, _ = case
        careful = plan(name, domain=domain, epsilon=1.0, n=50_000)
        calm = plan(name, domain=domain, epsilon=1.0, n=50_000, like="even")
        errors = {each.protocol: each.error for each in careful.options}
        assert all(errors[each.protocol] >= each.error * 0.999 for each in calm.options)


def test_shapes_from_people_and_guesses():
    chosen = statistic("auc")
    guessed = normals(chosen, (UNIT,), 0.8)
    assert guessed.linear.value == pytest.approx(0.8, abs=0.003)
    sample = from_sample(chosen, (UNIT,), draw(guessed, {"positive": 100_000, "negative": 100_000}, 1))
    expected = onto(guessed, sample.grid)
    for name, masses in sample.masses.items():
        assert np.abs(masses - expected[name]).sum() < 0.06
    assert len(hard(chosen, (UNIT,))) > 3


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"epsilon": 1.0}, "two of"),
        ({"epsilon": 1.0, "n": 100, "error": 0.1}, "two of"),
        ({"error": 0.1}, "needs"),
        ({"n": 1000, "error": 1e-5}, "without any privacy"),
        ({"epsilon": 1.0, "n": 1000, "rounds": 3}, "rounds"),
        ({"epsilon": 1.0, "n": 1000, "like": "odd"}, "like"),
        ({"epsilon": 1.0, "n": 1000, "like": 0.8}, "AUC"),
        ({"epsilon": -1.0, "n": 1000}, "epsilon"),
        ({"epsilon": 1.0, "n": 1}, "n must"),
        ({"epsilon": 1.0, "n": 1000, "sides": 2}, "sides"),
    ],
)
def test_what_cannot_be_planned_gets_one_sentence(asked, said):
    with pytest.raises(BadParameter, match=said) as raised:
        plan("kendall_tau", domain=FIVE, **asked)
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("few_bins")
@pytest.mark.parametrize(
    ("statistic", "asked", "said"),
    [
        (
            "kendall_tau",
            {"protocol": "tree"},
            "tree does not compute kendall_tau; histogram and projection can",
        ),
        ("kendall_tau", {"protocol": "projection", "rounds": 1}, "takes two rounds: ask with rounds=2"),
        ("kendall_tau", {"protocol": "sketch"}, "protocol must be one of"),
        ("gini_coefficient", {"protocol": "pairwise"}, "pairs compute .* histogram and projection can"),
        ("auc", {"protocol": "tree", "labels": "private"}, "private labels; histogram and projection can"),
        ("kendall_tau", {"epsilon": float("nan")}, "finite"),
        ("kendall_tau", {"epsilon": 1e6}, "to 32"),
        ("kendall_tau", {"epsilon": 1e-9}, "from 0.001"),
        ("auc", {"n": {"positive": 100}}, "positive, negative"),
        ("auc", {"n": {"positive": 1, "negative": 100}}, "n of positive"),
        ("auc", {"n": 3}, "n must be a whole number from 4"),
        ("auc", {"n": 1000, "epsilon": None, "error": 1e-4}, "have [0-9,]+ people"),
        ("auc", {"n": None, "error": 1e-12}, "even .* people .* ask for at least"),
        ("auc", {"n": None, "error": -1.0}, "error must be above 0"),
        ("modal_value", {}, "statistic must be one of"),
        ("auc", {"like": {"positive": [1.0], "negative": [1.0]}}, "64 numbers"),
        ("auc", {"like": {"points": [1.0]}}, "score"),
    ],
)
def test_the_impossible_gets_the_nearest_possible(statistic, asked, said):
    domain = FIVE if statistic == "kendall_tau" else UNIT
    with pytest.raises((BadParameter, BadValue), match=said) as raised:
        plan(statistic, domain=domain, **{"epsilon": 1.0, "n": 10_000, **asked})
    assert "\n" not in str(raised.value)


@pytest.mark.usefixtures("few_bins")
def test_the_nearest_possible_is_possible():
    """What a refusal proposes is accepted when it is asked for."""
    with pytest.raises(BadParameter) as raised:
        plan("auc", domain=UNIT, n=1000, error=0.001)
    people = int(str(raised.value).split("have ")[-1].split(" people")[0].replace(",", ""))
    assert plan("auc", domain=UNIT, n=people, error=0.001).options
    most = plan("variance", domain=UNIT, n=1000, epsilon=32.0)
    least, floor = most.options[0].error, most.sampling
    with pytest.raises(BadParameter, match="even at epsilon 32") as raised:
        plan("variance", domain=UNIT, n=1000, error=(least + floor) / 2, protocol="pairwise")
    nearest = float(str(raised.value).split("at least ")[1].split(",")[0])
    assert plan("variance", domain=UNIT, n=1000, error=nearest, protocol="pairwise").options


def test_a_protocol_that_was_asked_for_is_the_only_one_and_others_say_why_not():
    alone = plan("auc", domain=UNIT, epsilon=1.0, n=10_000, protocol="pairwise")
    assert [each.protocol for each in alone.options] == ["pairwise"]
    without = plan("gini_coefficient", domain=UNIT, epsilon=1.0, n=10_000, peers=True)
    assert "one kernel" in without.left_out["pairwise"]
    assert "pairwise" in without.to_json()["left_out"]
    assert not plan("gini_coefficient", domain=UNIT, epsilon=1.0, n=10_000).left_out


@pytest.mark.usefixtures("few_bins")
@pytest.mark.parametrize("case", CASES)
def test_plans_undo_themselves_when_nothing_is_known(case):
    name, domain, _ = CASES[case]
    at = plan(name, domain=domain, epsilon=1.0, n=50_000, peers=True)
    goal = 0.7 * at.options[0].error
    for option in plan(name, domain=domain, epsilon=1.0, error=goal, peers=True).options:
        again = plan(name, domain=domain, epsilon=1.0, n=option.sizes, protocol=option.protocol)
        assert again.options[0].error == pytest.approx(goal, rel=0.02)
    goal = 1.5 * at.options[0].error
    best = plan(name, domain=domain, n=50_000, error=goal, peers=True).options[0]
    again = plan(name, domain=domain, epsilon=best.study.epsilon, n=50_000, protocol=best.protocol)
    assert again.options[0].error == pytest.approx(goal, rel=0.02)


def test_a_searched_mechanism_is_planned_where_it_is_better():
    levels = (Levels(range(4)),) * 2
    steps: list[int] = []
    usual = plan("kendall_tau", domain=levels, epsilon=1.0, n=50_000, rounds=1)
    found = plan(
        "kendall_tau", domain=levels, epsilon=1.0, n=50_000, rounds=1, optimized=True, progress=steps.append
    )
    assert found.options[0].parameters == {"mechanism": "optimized"}
    assert found.options[0].error < 0.95 * usual.options[0].error
    assert sum(steps) > 100
    assert found.best == dpairs.Study.from_json(found.best.to_json())


def test_a_shape_can_be_planned_with_again():
    chosen = statistic("auc")
    shape = normals(chosen, (UNIT,), 0.8)
    one = plan("auc", domain=UNIT, epsilon=1.0, n=10_000, like=shape)
    assert one.options[0].error == plan("auc", domain=UNIT, epsilon=1.0, n=10_000, like=0.8).options[0].error
    with pytest.raises(BadParameter, match="another statistic"):
        plan("auc", domain=Interval(0, 2), epsilon=1.0, n=10_000, like=shape)


def test_halves_add_up_to_the_whole_covariance():
    """Contrasts of a tree, with least squares by hand: the same covariance of all cells."""
    from dpairs.protocols.tree.haar import HaarBasis
    from dpairs.protocols.tree.predict import level_noise

    shape = even(statistic("gini_mean_difference"), (UNIT,))
    study = dpairs.Study.create("auc", protocol="tree", epsilon=1.0, domain=UNIT, bins=64, seed=1)
    noise = level_noise(study.protocol, 10_000.0)
    haar = HaarBasis.of(shape.grid)
    variances, nodes = noise.differences(haar, next(iter(shape.masses.values())))
    found = (haar.contrasts * variances) @ haar.contrasts.T
    precision = np.zeros((64, 64))
    for level in range(1, 7):
        precision += np.kron(np.eye(2**level), np.ones((64 >> level,) * 2)) / noise.own[level - 1]
    whole = np.linalg.inv(precision)
    ones = whole.sum(axis=1)
    np.testing.assert_allclose(found, whole - np.outer(ones, ones) / ones.sum(), atol=1e-12)
    assert nodes[-1] == pytest.approx(found[0, 0])


def test_clipped_numbers_have_the_moments_of_many_draws():
    from dpairs.protocols.projection.predict import _clipped, above_zero

    draws = np.random.default_rng(1).normal(0.3, 0.7, 2_000_000)
    mean, variance = _clipped(np.array([0.3]), np.array([0.7]), np.array([0.5]))
    seen = np.clip(draws, -0.5, 0.5)
    assert mean[0] == pytest.approx(seen.mean(), abs=2e-3)
    assert variance[0] == pytest.approx(seen.var(), abs=2e-3)
    mean, variance = above_zero(np.array([0.3]), np.array([0.7]))
    seen = np.maximum(draws, 0)
    assert mean[0] == pytest.approx(seen.mean(), abs=2e-3)
    assert variance[0] == pytest.approx(seen.var(), abs=2e-3)


@pytest.mark.usefixtures("few_bins")
@pytest.mark.parametrize("domain", [UNIT, Levels(range(5))])
def test_a_plan_of_u_is_that_of_the_auc_times_the_pairs(domain):
    sizes = {"positive": 200, "negative": 300}
    u, auc = (
        {each.protocol: each for each in plan(name, epsilon=1.0, n=sizes, domain=domain, trust="all").options}
        for name in ("mann_whitney", "auc")
    )
    assert set(u) >= {"two_servers", "projection", "histogram"}
    for protocol, option in u.items():
        there = auc[protocol]
        assert option.error == pytest.approx(60_000 * there.error)
        assert option.range == pytest.approx([60_000 * each for each in there.range])
        assert option.liars_change == pytest.approx(60_000 * there.liars_change)
    bare = [plan(name, epsilon=1.0, n=sizes, domain=domain).sampling for name in ("mann_whitney", "auc")]
    assert bare[0] == pytest.approx(60_000 * bare[1])


def test_people_for_an_error_of_u_are_refused():
    """It grows with them, so the fewest would always be best."""
    with pytest.raises(BadParameter, match="grows with the number of people, which it counts: give n, or"):
        plan("mann_whitney", epsilon=1.0, error=100.0, domain=UNIT)
    made = plan("mann_whitney", n=600, error=4000.0, domain=UNIT, trust="two_servers")
    assert made.options[0].error == pytest.approx(4000.0, rel=0.01)


@pytest.mark.parametrize(
    ("statistic", "error", "advised"), [("mann_whitney", 500, False), ("auc", 1e-3, True)]
)
def test_more_people_are_advised_where_they_help(statistic, error, advised):
    with pytest.raises(BadParameter, match="out of reach") as told:
        plan(statistic, n=1000, error=error, domain=Interval(0, 1), trust="two_servers")
    assert ("people" in str(told.value).partition("out of reach")[2]) == advised


@pytest.mark.parametrize("optimized", [False, True])
def test_values_that_agree_or_not_are_kept_apart(optimized):
    """65 values in 64 bins: two of them share one, and whether their people agree decides the entropy."""
    domain = Integers(0, 64) if not optimized else Integers(0, 20)
    plan = dpairs.plan(
        "collision_entropy",
        domain=domain,
        epsilon=4.0,
        n=20_000,
        protocol="histogram",
        optimized=optimized,
    )
    assert {option.parameters["bins"] for option in plan.options} == {domain.size}
