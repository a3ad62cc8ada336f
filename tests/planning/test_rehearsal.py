"""Plans that are given data: studies simulated on people drawn from it."""

import json
import math
import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Interval, Levels, plan
from dpairs.errors import BadParameter, NotEstimable
from dpairs.planning import rehearse
from dpairs.planning.options import chosen
from dpairs.planning.outcomes import Rehearsal, SimulatedRun, kurtosis, unseen
from dpairs.planning.sample import Sample
from dpairs.planning.shapes import from_sample
from dpairs.statistics import exact, statistic
from experiments.zoo.populations import POPULATIONS
from experiments.zoo.truths import truths

UNIT = Interval(0, 1)
FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
PEOPLE, RUNS, PLANNED = 2000, 30 if FULL else 12, rehearse.RUNS if FULL else 20
REACH = math.exp(2.5 * math.sqrt(1 / (2 * RUNS) + 1 / (2 * PLANNED)))
"""Two root mean squares of so many runs are apart by this factor in one of 100: 1.5, or 1.9 of few runs."""


TIES = POPULATIONS["ties-92"]
"""Scores of which 92% are equal."""


def tied(n: int, seed: int) -> dict[str, Any]:
    return TIES.draw(n, seed)


@pytest.fixture
def fewer_runs(monkeypatch):
    for name in ("RUNS", "FRESH"):
        monkeypatch.setattr(rehearse, name, PLANNED)


def planned(**more: Any) -> dpairs.Plan:
    asked: dict[str, Any] = {"epsilon": 4.0, "n": PEOPLE, "like": tied(8000, 1), **more}
    return plan("auc", domain=UNIT, **asked)


def measured(option: Any) -> float:
    truth = truths()["ties-92/auc:public"]
    studies = (
        dpairs.simulate(
            replace(option.study, seed=run), tied(PEOPLE, run), seed=run, estimator=option.estimator
        )
        for run in range(100, 100 + RUNS)
    )
    return math.sqrt(float(np.mean([(each.value - truth) ** 2 for each in studies])))


@pytest.mark.usefixtures("fewer_runs")
def test_ties_are_predicted_and_a_tree_that_cannot_see_them_is_not_recommended():
    """A formula knows 192 cells of the data: of a tree it is wrong by more than a half."""
    made = planned()
    errors = {option.protocol: measured(option) for option in made.options}
    assert {"tree", "projection", "histogram"} <= set(errors)
    for option in made.options:
        assert 1 / REACH < errors[option.protocol] / option.error < REACH, option.protocol
    assert errors[made.options[0].protocol] <= (1.25 if FULL else REACH) * min(errors.values())
    assert made.options[0].protocol != "tree"


@pytest.mark.usefixtures("fewer_runs")
def test_a_wrong_formula_does_not_decide(monkeypatch):
    """Negative control: with a formula that praises the tree, data still puts it last."""
    from dpairs.protocols.tree.protocol import Tree

    praised = Tree.predict

    def too_small(self, shape, sizes):
        return replace(praised(self, shape, sizes), privacy=0.0, sampling=1e-4, second_order=0.0)

    monkeypatch.setattr(Tree, "predict", too_small)
    data = tied(8000, 1)
    shape = from_sample(statistic("auc"), (UNIT,), data)
    asked: dict[str, Any] = {"epsilon": 4.0, "n": PEOPLE, "rounds": 1}
    assert plan("auc", domain=UNIT, like=shape, **asked).options[0].protocol == "tree"
    made = plan("auc", domain=UNIT, like=data, **asked)
    assert made.options[0].protocol != "tree"
    tree = next(each for each in made.options if each.protocol == "tree")
    assert tree.error > 20 * tree.prediction.total


@pytest.mark.usefixtures("few_runs")
def test_the_same_data_gets_the_same_plan():
    one, other = (
        plan("auc", domain=UNIT, epsilon=2.0, n=1000, rounds=1, like=tied(3000, 2)) for _ in range(2)
    )
    assert json.dumps(one.to_json()) == json.dumps(other.to_json())
    assert one.options[0].rehearsal is not None
    another = plan("auc", domain=UNIT, epsilon=2.0, n=1000, rounds=1, like=tied(3000, 3))
    assert one.options[0].error != another.options[0].error


@pytest.mark.usefixtures("few_runs")
def test_an_option_says_how_it_was_rehearsed():
    made = planned(n=500, rounds=1)
    first = made.to_json()["options"][0]
    assert first["simulated"]["runs"] >= rehearse.RUNS
    assert first["standard_error"] == made.options[0].error
    assert first["by_formula"] == made.options[0].prediction.total
    assert any("simulated in" in row[0] for row in made.rows())
    assert any("simulated studies of people drawn from the data" in note for note in made.notes())
    blind = plan("auc", domain=UNIT, epsilon=4.0, n=4000)
    assert not any("simulated in" in row[0] for row in blind.rows())
    assert blind.to_json()["options"][0]["simulated"] is None


def test_runs_follow_from_the_accuracy_and_the_work():
    assert 1 / math.sqrt(2 * rehearse.RUNS) == pytest.approx(rehearse.ACCURACY, rel=0.01)
    assert rehearse.runs_for(20_000) == rehearse.RUNS
    for people in (250_000, 1_000_000):
        assert rehearse.LEAST_RUNS <= rehearse.runs_for(people) < rehearse.RUNS
        assert people * rehearse.runs_for(people) <= rehearse.WORK
    assert rehearse.runs_for(10**7) == 0
    large = plan("auc", domain=UNIT, epsilon=1.0, n=10**8, rounds=1, like=tied(2000, 2))
    assert all(each.rehearsal is None for each in large.options)


def test_people_are_drawn_from_the_data_and_the_truth_is_that_of_the_data():
    data = tied(500, 4)
    sample = Sample.of(statistic("auc"), (UNIT,), data)
    drawn = sample.draw({"positive": 300, "negative": 700}, 0)
    assert drawn["label"].sum() == 300
    for label in (0, 1):
        assert set(drawn["score"][drawn["label"] == label]) <= set(data["score"][data["label"] == label])
    assert sample.truth == pytest.approx(exact("auc", data))
    # Where pairs are of one class, a person drawn twice meets herself: the mean over all ordered pairs.
    values = np.random.default_rng(1).random(40)
    everybody = Sample.of(statistic("variance"), (UNIT,), {"value": values})
    assert everybody.truth == pytest.approx(values.var(), rel=1e-3)
    assert everybody.truth != pytest.approx(values.var(ddof=1), rel=1e-3)


@pytest.mark.usefixtures("fewer_runs")
def test_refusals_come_last_or_are_left_out(monkeypatch):
    own = Sample.outcome

    def refuse(share):
        def outcome(self, study, sizes, run, estimator=None):
            if study.protocol.name == "histogram" and run % 10 < 10 * share:
                return SimulatedRun(None, reason="the noise leaves no answer")
            return own(self, study, sizes, run, estimator)

        return outcome

    asked: dict[str, Any] = {"epsilon": 4.0, "n": 500, "rounds": 1, "like": tied(2000, 5)}
    before = plan("auc", domain=UNIT, **asked)
    assert before.options[0].protocol == "histogram"
    monkeypatch.setattr(Sample, "outcome", refuse(0.2))
    often = plan("auc", domain=UNIT, **asked)
    assert [each.protocol for each in often.options] == ["tree", "histogram"]
    assert often.options[1].error < often.options[0].error
    refused = often.options[1].rehearsal
    assert refused is not None
    told = f"{refused.runs // 5} of {refused.runs} simulated studies"
    assert any(told in note and "no answer" in note for note in often.notes())
    monkeypatch.setattr(Sample, "outcome", refuse(0.8))
    mostly = plan("auc", domain=UNIT, **asked)
    assert [each.protocol for each in mostly.options] == ["tree"]
    assert "the noise leaves no answer" in mostly.left_out["histogram"]
    with pytest.raises(BadParameter, match=f"{PLANNED * 4 // 5} of {PLANNED} simulated studies"):
        plan("auc", domain=UNIT, **asked, protocol="histogram")


def test_a_plan_names_the_estimator_that_its_error_is_of(monkeypatch):
    """At epsilon 1 most of the noise is in empty bins, which the nearest distribution does not have."""
    for name in ("RUNS", "FRESH"):
        monkeypatch.setattr(rehearse, name, rehearse.SCREENING * rehearse.SCREENED)
    made = planned(epsilon=1.0, protocol="histogram")
    option = made.options[0]
    assert "tally.estimate(estimator='simplex')" in " ".join(made.notes())
    assert ("estimator", "simplex") in made.rows()
    assert option.estimator == "simplex"
    assert option.to_json()["estimator"] == "simplex"
    assert measured(replace(option, estimator=None)) > measured(option)
    assert 1 / REACH < measured(option) / option.error < REACH
    assert planned(epsilon=1.0, protocol="tree").options[0].estimator is None


def test_only_what_has_no_formula_is_tried_beside_the_best_by_formula():
    made = planned(rounds=1, like=None).question.ranked(4.0, {"positive": 500, "negative": 1500})[0]
    assert rehearse.shortlist(made["tree"]) == made["tree"][:3]
    tried = rehearse.shortlist(made["histogram"])
    assert [each.estimator for each in tried[:3]] == [None] * 3
    assert [each.study.id for each in tried[3:]] == [each.study.id for each in made["histogram"]]
    assert {each.estimator for each in tried[3:]} == {"simplex"}


def test_a_refusal_of_the_study_itself_counts(monkeypatch):
    sample = Sample.of(statistic("auc"), (UNIT,), tied(200, 6))
    study = plan("auc", domain=UNIT, epsilon=1.0, n=100, rounds=1).options[0].study

    def refused(*_: Any, **__: Any) -> Any:
        raise NotEstimable("nothing to say")

    monkeypatch.setattr("dpairs.planning.sample.simulate", refused)
    assert sample.outcome(study, {"positive": 50, "negative": 50}, 0) == SimulatedRun(
        None, reason="nothing to say"
    )


def test_people_and_epsilon_for_an_error_are_corrected(monkeypatch):
    """With formulas that say half of every error, a plan asks for four times as many people."""
    from dpairs.protocols.histogram.protocol import Histogram

    data, levels = {"value": np.random.default_rng(7).integers(0, 4, 5000)}, Levels(range(4))
    asked: dict[str, Any] = {"domain": levels, "rounds": 1, "like": data}
    honest = plan("gini_mean_difference", epsilon=1.0, error=0.04, **asked).options[0]
    own = Histogram.predict

    def half(self, shape, sizes):
        parts = own(self, shape, sizes)
        return replace(parts, privacy=parts.privacy / 2, sampling=parts.sampling / 2, second_order=0.0)

    monkeypatch.setattr(Histogram, "predict", half)
    for more in ({"epsilon": 1.0}, {"n": honest.sizes}):
        option = plan("gini_mean_difference", error=0.04, **more, **asked).options[0]
        assert option.rehearsal is not None
        assert option.error <= 0.04 * (1 + option.rehearsal.accuracy)
        if "epsilon" in more:
            # A formula's own people would be a quarter. An error of 50 runs is uncertain by 10%, so either
            # number is by 20%, and their ratio by 28%: this is 3.3 times as much.
            assert honest.people / 2.5 < option.people < 2.5 * honest.people


def test_an_error_that_is_never_reached_is_left_out(monkeypatch):
    """Bias that no formula knows does not go away with more people."""
    monkeypatch.setattr(Sample, "outcome", lambda *_: SimulatedRun(0.1))
    data = {"value": np.random.default_rng(7).integers(0, 4, 500)}
    with pytest.raises(BadParameter, match=r"had an error of 0\.1 "):
        plan("gini_mean_difference", domain=Levels(range(4)), epsilon=1.0, error=0.02, rounds=1, like=data)


@pytest.mark.usefixtures("few_runs")
def test_sites_and_servers_are_rehearsed_too():
    data = {"value": np.random.default_rng(7).integers(0, 4, 500)}
    asked: dict[str, Any] = {"domain": Levels(range(4)), "epsilon": 1.0, "n": 300, "rounds": 1, "like": data}
    made = plan("gini_mean_difference", trust="all", sites=3, **asked)
    assert {"sites", "two_servers", "pairwise"} <= {each.protocol for each in made.options}
    assert all(each.rehearsal is not None for each in made.options)
    unsaid = plan("gini_mean_difference", protocol="sites", **asked).options[0]
    assert unsaid.rehearsal is not None


def test_what_bins_hide_is_seen_in_slopes():
    rng = np.random.default_rng(8)
    people, noise = rng.normal(0, 2, 4000), rng.normal(0, 1, 4000)
    assert unseen(people + noise, people, 1.0) < 0.2
    assert unseen(noise, people, 1.0) == pytest.approx(2, rel=0.1)
    assert unseen(noise, people, 0.25) == pytest.approx(1, rel=0.1)
    assert unseen(noise, np.zeros(4000), 1.0) == 0


def test_an_error_is_stated_one_standard_error_above_the_runs():
    """Of equal runs the root mean square is certain; one far run of 25 makes it uncertain by two fifths."""
    level, far = ([SimulatedRun(0.1)] * count for count in (25, 24))
    assert Rehearsal.of(level, 1.0).error == pytest.approx(0.1)
    rare = Rehearsal.of([*far, SimulatedRun(1.0)], 1.0)
    assert rare.accuracy == pytest.approx(0.39, abs=0.01)
    assert rare.error == pytest.approx((1 + rare.accuracy) * math.sqrt((24 * 0.01 + 1) / 25))


def test_what_formulas_fear_counts_as_one_run_more():
    level = [SimulatedRun(each) for each in (0.1, -0.1) * 50]
    assert Rehearsal.of(level, 1.0, feared=2.0).error == pytest.approx(math.sqrt((100 * 0.01 + 4) / 101))
    for feared in (0.05, 1e200, math.inf, math.nan):
        assert Rehearsal.of(level, 1.0, feared=feared).error == pytest.approx(0.1)


def test_errors_whose_fourth_powers_are_too_small_for_a_float_have_a_kurtosis():
    draws = np.random.default_rng(1).normal(size=1000)
    assert kurtosis(1e-90 * draws) == pytest.approx(kurtosis(draws))
    assert kurtosis(np.zeros(5)) == 3.0


def test_the_accuracy_of_an_error_is_that_of_many_repetitions():
    rng = np.random.default_rng(9)
    for draws in (rng.normal(size=(4000, 50)), rng.laplace(size=(4000, 50))):
        roots = np.sqrt((draws**2).mean(axis=1))
        told = [Rehearsal.of([SimulatedRun(float(x)) for x in row], 1.0).accuracy for row in draws[:200]]
        assert np.mean(told) == pytest.approx(roots.std() / roots.mean(), rel=0.25)
    assert kurtosis(rng.normal(size=100_000)) == pytest.approx(3, rel=0.05)


def test_long_tails_get_twice_the_runs(monkeypatch):
    monkeypatch.setattr(
        Sample, "outcome", lambda self, study, sizes, run, _: SimulatedRun(1.0 if run % 50 == 7 else 0.01)
    )
    sample = Sample.of(statistic("auc"), (UNIT,), tied(200, 6))
    option = plan("auc", domain=UNIT, epsilon=1.0, n=100, rounds=1).options[0]
    made = rehearse.stated(sample, option, rehearse.RUNS, lambda steps: None).rehearsal
    assert made is not None
    assert made.runs == 2 * rehearse.RUNS


def test_one_visit_is_preferred_unless_two_are_worth_it():
    option = plan("auc", domain=UNIT, epsilon=1.0, n=2000).options
    one = next(each for each in option if each.rounds == 1)
    two = next(each for each in option if each.rounds == 2)

    def with_error(of, error):
        return replace(of, rehearsal=Rehearsal(error, 0.0, 0.1, 0.0, 50, 0, ""))

    assert chosen([with_error(one, 1.0), with_error(two, 0.97)]).rounds == 1
    assert chosen([with_error(one, 1.0), with_error(two, 0.9)]).rounds == 2


@pytest.mark.parametrize(
    ("name", "domain", "options"),
    [
        ("auc", UNIT, {}),
        ("auc", UNIT, {"labels": "private"}),
        ("mann_whitney", UNIT, {}),
        ("kendall_tau", (UNIT, UNIT), {"variant": "b"}),
        ("gini_coefficient", Interval(0, 50), {}),
        ("variance", Levels(range(5)), {}),
        ("collision_entropy", Levels(range(5)), {}),
    ],
)
@pytest.mark.usefixtures("few_bins")
def test_with_nothing_known_a_range_is_stated(name, domain, options):
    made = plan(name, domain=domain, epsilon=1.0, n=5000, trust="all", **options)
    json.dumps(made.to_json(), allow_nan=False)
    low, high = made.statistic.bounds(made.domains, made.options[0].sizes)
    for option in made.options:
        least, most = option.range
        assert 0 < least < option.error <= most
        assert most <= max(high - low, option.error)
    assert any("may be" in row[0] for row in made.rows())
    known = plan(name, domain=domain, epsilon=1.0, n=5000, like="even", **options)
    assert all(each.range == (each.error, each.error) for each in known.options)


def test_answers_moved_into_the_range_have_the_errors_of_many_draws():
    from dpairs.planning.ranges import within

    draws = np.random.default_rng(3).normal(size=1_000_000)
    for deviation in (0.1, 0.5, 3.0):
        moved = [
            np.sqrt(np.mean((np.clip(truth + deviation * draws, 0, 1) - truth) ** 2))
            for truth in np.linspace(0, 1, 21)
        ]
        assert within(deviation, 1.0) == pytest.approx(min(moved), rel=0.01)


def test_only_a_plan_that_knows_of_skewed_values_gives_their_domain_a_scale(fewer_runs):
    skewed, fitting = POPULATIONS["zeros-92-lognormal"], POPULATIONS["even"]
    asked: dict[str, Any] = {"epsilon": 4.0, "n": PEOPLE, "rounds": 1}
    best = plan("gini_mean_difference", domain=skewed.domain, like=skewed.draw(PEOPLE, 1), **asked).options[0]
    assert best.parameters["scale"] == "asinh"
    money = Interval(skewed.domain.low, skewed.domain.high, scale="asinh")
    assert best.study.domains == (money,)
    given = {name: value for name, value in best.parameters.items() if name != "scale"}
    same = dpairs.Study.create(
        "gini_mean_difference", domain=money, epsilon=4.0, protocol="histogram", **given
    )
    assert same.protocol == best.study.protocol
    others = (
        plan("gini_mean_difference", domain=skewed.domain, **asked),
        plan("gini_mean_difference", domain=fitting.domain, like=fitting.draw(PEOPLE, 1), **asked),
    )
    for made in others:
        assert "scale" not in made.options[0].parameters
        assert made.options[0].study.domains == made.domains


def test_a_scale_does_not_make_the_interval_longer():
    """Four points of a scale have hardly an error by chance: what they hide of these incomes cancels."""
    incomes, sizes = POPULATIONS["income"], {"everybody": 20_000}
    made = plan(
        "gini_coefficient", domain=incomes.domain, like=incomes.draw(20_000, 1), epsilon=4.0, n=200, rounds=1
    )
    options = made.question.ranked(1.0, sizes)[0]["histogram"]
    best = next(each for each in options if "scale" not in each.parameters)
    scaled = [each for each in options if "scale" in each.parameters]
    assert scaled
    assert all(each.prediction.half_width <= best.prediction.half_width for each in scaled)
    few = {"bins": 4, "rounding": "random", "scale": "asinh"}
    lucky = made.question.option("histogram", few, 1.0, sizes)
    assert lucky.error < best.error
    assert lucky.prediction.half_width > 4 * best.prediction.half_width
