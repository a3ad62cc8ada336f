"""Studies of two rounds of every statistic: the estimate is near the exact value."""

import functools
import json
import math
from collections.abc import Callable

import numpy as np
import pytest

import dpairs
from dpairs import (
    BadParameter,
    BadValue,
    Estimate,
    Integers,
    Study,
    Tally,
    simulate,
    simulate_tally,
)
from dpairs.formats.canonical import canonical
from dpairs.mechanisms import KaryResponse
from dpairs.protocols.counts import DenseCounts
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.projection.second_round import SecondRound

from .cases import CASES, SIGMAS, UNIT, Case, plane, scores, second_study
from .forging import analysis_of

# ---------------------------------------------------------------- every statistic


PEOPLE = 40_000
each_case = pytest.mark.parametrize("name", CASES)


@functools.cache
def finished(name: str) -> tuple[dict[str, np.ndarray], Tally]:
    """A population, and the last tally of a simulated study of it."""
    case = CASES[name]
    table = case.draw(np.random.default_rng(1), PEOPLE)
    return table, simulate_tally(case.study(), table, seed=2)


def moved(estimate: Estimate) -> float:
    """What a custom kernel's table may be off by."""
    return estimate.quantization.estimate or 0.0


@each_case
def test_the_estimate_is_near_the_exact_value(name):
    table, tally = finished(name)
    truth = CASES[name].exact(table)
    for estimator in ("combined", "second-round"):
        found = tally.estimate(estimator)
        # Both targets: the sample's error is the noise alone, and never above the population's.
        assert 0 < found.sample_standard_error <= found.standard_error
        assert abs(found.value - truth) < SIGMAS * found.sample_standard_error + moved(found)
        assert found.estimator == estimator
        told(found, len(next(iter(table.values()))), name)
    assert found.standard_error < 0.15 * max(1.0, abs(truth)), "an interval that says nothing proves nothing"


@pytest.mark.parametrize("name", ["auc", "tau-a, ratings", "gini mean difference", "mann_whitney, private"])
def test_a_wrong_value_is_noticed(name):
    """Negative control of the test above: reports of people of whom a third was exchanged."""
    table, tally = finished(name)
    column = next(iter(table))
    changed = table[column].copy()
    changed[::3] = changed.max() if name != "tau-a, ratings" else 4 - changed[::3]
    truth = CASES[name].exact({**table, column: changed})
    found = tally.estimate()
    assert abs(found.value - truth) > SIGMAS * found.sample_standard_error


def told(found: Estimate, people: int, name: str) -> None:
    """What an estimate says of itself."""
    assert found.n == people
    assert found.protocol == "projection"
    assert (found.privacy.rounds, found.privacy.delta) == (2, 0)
    assert 0.999 * 2.0 <= found.privacy.epsilon <= 2.0
    assert (moved(found) > 0) == name.startswith("kernel")
    text = json.dumps(found.to_json(), allow_nan=False)
    assert json.loads(text)["n"] == found.n


def test_mann_whitney_tests_with_the_noise_inside():
    table, tally = finished("mann_whitney")
    found = tally.estimate()
    pairs = math.prod(found.strata.values())
    assert found.details["auc"] == pytest.approx(found.value / pairs)
    assert found.details["z"] == pytest.approx((found.value - pairs / 2) / found.standard_error)
    assert found.details["p_value"] < 1e-6
    assert found.details["auc"] == pytest.approx(dpairs.exact("auc", table), abs=0.05)


def test_entropy_carries_its_collision_probability():
    found = finished("entropy")[1].estimate()
    assert found.details["collision_probability"] == pytest.approx(math.exp(-found.value))


def _atoms(values: list[int], column: str = "score") -> Callable[..., dict[str, np.ndarray]]:
    """A few values, of which positives have the higher ones more often."""

    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        table = scores(rng, n)
        chosen = np.array(values)[np.minimum((table["score"] * len(values)).astype(int), len(values) - 1)]
        return {column: chosen, "label": table["label"]} if column == "score" else {column: chosen}

    return draw


def _both(values: list[int]) -> Callable[..., dict[str, np.ndarray]]:
    """Two columns with the same few values, most people alike in both."""

    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        return {
            name: np.array(values)[np.minimum((each * len(values)).astype(int), len(values) - 1)]
            for name, each in plane(rng, n).items()
        }

    return draw


PERCENT, MILLION, TENS = Integers(0, 100), Integers(0, 10**6), list(range(0, 101, 20))
GATHERED: dict[str, Case] = {
    "auc, private, multiples of 20": Case("auc", PERCENT, _atoms(TENS), {"labels": "private"}),
    "auc, private, ties zero": Case("auc", PERCENT, _atoms(TENS), {"labels": "private", "ties": "zero"}),
    "auc, private, single figures": Case("auc", MILLION, _atoms(list(range(8))), {"labels": "private"}),
    "auc, private, a hundredth of the interval": Case(
        "auc",
        UNIT,
        lambda rng, n: {
            name: each / (100 if name == "score" else 1) for name, each in scores(rng, n).items()
        },
        {"labels": "private"},
    ),
    "auc, public, single figures": Case("auc", MILLION, _atoms(list(range(8)))),
    "tau-a, multiples of 20": Case("kendall_tau", (PERCENT, PERCENT), _both(TENS)),
    "tau-b, multiples of 20": Case("kendall_tau", (PERCENT, PERCENT), _both(TENS), {"variant": "b"}),
    "tau-a, single figures": Case("kendall_tau", (MILLION, MILLION), _both(list(range(8)))),
    "entropy, 300 integers": Case("collision_entropy", Integers(0, 299), _atoms(TENS, "value")),
    "entropy, 5000 integers": Case("collision_entropy", Integers(0, 4999), _atoms(TENS, "value")),
    "gini, multiples of 20": Case("gini_mean_difference", PERCENT, _atoms(TENS, "value")),
    "variance, single figures": Case("variance", MILLION, _atoms(list(range(8)), "value")),
}


@pytest.mark.parametrize("name", GATHERED)
def test_people_who_are_not_spread_evenly_within_bins(name):
    """Few values among many, or a vertex of the domain: the interval or the quantization must say so."""
    case = GATHERED[name]
    table = case.draw(np.random.default_rng(1), PEOPLE)
    found = simulate(case.study(), table, seed=2)
    allowed = SIGMAS * found.sample_standard_error + moved(found) + found.bias
    assert abs(found.value - case.exact(table)) < allowed


# ---------------------------------------------------------------- simulations


def test_the_same_seed_gives_the_same_estimate():
    case = CASES["auc"]
    table = case.draw(np.random.default_rng(1), 3000)
    study = case.study()
    one, two, other = (simulate(study, table, seed=seed) for seed in (4, 4, 5))
    assert one == two
    assert one.study_id == two.study_id != study.id
    assert one.value != other.value
    assert one.study_id != other.study_id


def test_chunks_are_read_once_for_each_round():
    case = CASES["gini mean difference"]
    table = case.draw(np.random.default_rng(1), 3000)
    chunks = [{"value": table["value"][start : start + 700]} for start in range(0, 3000, 700)]
    study = case.study()
    assert simulate(study, chunks, seed=4) == simulate(study, tuple(chunks), seed=4)
    whole = simulate(study, table, seed=4)
    # Without public classes, chunks do not change who is who; only the order in which noise is drawn.
    apart = simulate(study, chunks, seed=4)
    assert apart.n == whole.n == 3000
    assert apart.study_id == whole.study_id


@pytest.mark.parametrize("as_iterator", [iter, lambda chunks: (each for each in chunks)])
def test_an_iterator_cannot_be_read_twice(as_iterator):
    case = CASES["gini mean difference"]
    chunks = [case.draw(np.random.default_rng(1), 500)]
    with pytest.raises(BadValue, match="list of chunks, not an iterator") as raised:
        simulate(case.study(), as_iterator(chunks), seed=1)
    assert "\n" not in str(raised.value)


def test_a_loaded_second_round_simulates_only_itself():
    case = CASES["auc"]
    table = case.draw(np.random.default_rng(1), 6400)
    made = second_study("auc", 1.0)
    second = Study.from_json(made.to_json()).with_analysis(canonical(analysis_of(made)))
    tally = simulate_tally(second, iter([table]), seed=1)
    assert tally.study == second
    assert isinstance(second.protocol, SecondRound)
    share = second.protocol.earlier_round.share
    expected = 6400 * (64 - share) / 64
    assert abs(tally.n - expected) <= 2 * 64
    found = tally.estimate()
    assert found.n == tally.n + sum(second.protocol.earlier.values())


def test_progress_counts_every_round():
    case = CASES["auc"]
    seen: list[int] = []
    simulate(case.study(), case.draw(np.random.default_rng(1), 1000), seed=1, progress=seen.append)
    assert sum(seen) == 2000


def test_a_value_outside_is_refused_with_its_row():
    study = CASES["gini mean difference"].study()
    values = np.full(1000, 0.5)
    values[777] = 1.5
    with pytest.raises(BadValue, match=r"row 777: 1\.5"):
        simulate(study, {"value": values}, seed=1)


def test_estimators_are_named():
    tally = finished("auc, levels")[1]
    both, second = tally.estimate("combined"), tally.estimate("second-round")
    assert both.standard_error < second.standard_error
    assert finished("auc")[1].estimate("combined").value == finished("auc")[1].estimate("second-round").value
    with pytest.raises(BadParameter, match="'combined', 'second-round'"):
        tally.estimate("pilot")


def test_combining_weighs_by_pooled_variance():
    tally = finished("auc, levels")[1]
    protocol = tally.study.protocol
    assert isinstance(protocol, SecondRound)
    assert protocol.analysis is not None
    alone, second = protocol.analysis.alone, tally.estimate("second-round")
    assert alone is not None
    totals = {}
    for name in tally.study.strata:
        table = tally.counts(name)
        assert isinstance(table, DenseCounts)
        answers = np.repeat(protocol.mechanism.decode, table.array)
        totals[name] = float(np.var(answers, ddof=1)), table.people
    noise, own = protocol.analysis.pooled(totals)
    further = protocol.analysis.remainder.variance + protocol.analysis.remainder.uncut
    assert own == pytest.approx(alone[1], rel=0.1)
    assert noise + further == pytest.approx(second.standard_error**2, rel=0.1)
    weights = np.array([1 / own, 1 / (noise + further)])
    both = tally.estimate("combined")
    assert both.value == pytest.approx(float(weights @ [alone[0], second.value] / weights.sum()))
    assert both.standard_error == pytest.approx(1 / math.sqrt(weights.sum()))


@pytest.mark.parametrize("response", [KaryResponse])
def test_pilots_send_as_many_bits_as_are_best(response):
    low, high = CASES["auc"].study(0.5).protocol, CASES["auc"].study(6.0).protocol
    assert isinstance(low, Projection)
    assert isinstance(high, Projection)
    assert low.symbols == 2
    assert high.symbols > 2
    assert isinstance(low.pilot, PilotTree)
    assert all(isinstance(each, response) for each in low.pilot.responses)
