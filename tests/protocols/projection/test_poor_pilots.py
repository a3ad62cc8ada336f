"""Few people, people who are all alike, and rounds without anybody: a number or a sentence."""

import math
from typing import Any

import numpy as np
import pytest

from dpairs import (
    Estimate,
    Integers,
    NotEnoughData,
    NotEstimable,
    Participant,
    Study,
    Tally,
    simulate,
)
from dpairs.randomness import SeededRandomness

from .cases import CASES, SIGMAS, asked_indices, second_study
from .forging import one_sentence


def quietly(study: Study, table: dict[str, np.ndarray], seed: int) -> Estimate | None:
    """The estimate, all of it numbers, or None when it was refused by an error of ours."""
    try:
        with np.errstate(all="raise", under="ignore"):
            found = simulate(study, table, seed=seed)
    except (NotEnoughData, NotEstimable) as error:
        one_sentence(error)
        return None
    numbers = (found.value, found.standard_error, found.sample_standard_error, *found.details.values())
    assert all(map(math.isfinite, numbers))
    assert found.standard_error >= found.sample_standard_error >= 0
    return found


SMALL = (
    "auc",
    "auc, levels",
    "auc, private",
    "auc, private, levels",
    "mann_whitney",
    "mann_whitney, private, levels",
    "tau-a, 8 x 8",
    "tau-b, 8 x 8",
    "tau-b, ratings",
    "gini mean difference",
    "gini coefficient",
    "gini coefficient, levels",
    "variance, deep",
    "entropy",
    "entropy, integers",
    "vus",
    "kernel",
    "kernel in the plane",
)


@pytest.mark.usefixtures("few_replicates")
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 50.0])
@pytest.mark.parametrize("name", SMALL)
def test_few_people_give_a_number_or_a_sentence(name, epsilon):
    case = CASES[name]
    study = case.study(epsilon)
    found = [quietly(study, case.draw(np.random.default_rng(n), n), n) for n in (2, 3, 7, 200)]
    if epsilon == 1.0 and name in ("auc, levels", "gini mean difference"):
        assert any(each is not None for each in found), "all refused proves little"


@pytest.mark.usefixtures("few_replicates")
@pytest.mark.parametrize("epsilon", [1.0, 50.0])
@pytest.mark.parametrize("name", SMALL)
def test_everybody_alike(name, epsilon):
    """All mass in one cell: the truth has no spread, and no function a range."""
    case = CASES[name]
    table = case.draw(np.random.default_rng(1), 4000)
    alike = {
        column: values if column == "label" else np.full_like(values, values[0])
        for column, values in table.items()
    }
    quietly(case.study(epsilon), alike, 1)


def test_everybody_alike_is_found_to_be_so():
    study = CASES["gini mean difference"].study(4.0)
    found = quietly(study, {"value": np.full(20_000, 0.3)}, 1)
    assert found is not None
    assert abs(found.value) < SIGMAS * found.standard_error


@pytest.mark.parametrize("name", ["auc", "auc, levels", "vus", "mann_whitney"])
def test_a_class_that_is_absent_is_named(name):
    case = CASES[name]
    table = case.draw(np.random.default_rng(1), 500)
    keep = table["label"] != 1
    with pytest.raises(NotEnoughData, match="middle" if name == "vus" else "positive") as raised:
        simulate(case.study(), {column: values[keep] for column, values in table.items()}, seed=1)
    assert "no pilot" in str(raised.value)


@pytest.mark.usefixtures("few_replicates")
@pytest.mark.parametrize("name", ["auc, private", "auc, private, levels", "mann_whitney, private"])
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_a_private_class_that_is_absent(name, epsilon):
    case = CASES[name]
    table = case.draw(np.random.default_rng(1), 3000)
    quietly(case.study(epsilon), {**table, "label": np.zeros(3000, dtype=int)}, 1)


@pytest.mark.parametrize("name", ["auc", "tau-a, ratings", "gini mean difference", "kernel"])
def test_an_empty_first_round_is_refused(name):
    study = CASES[name].study()
    with pytest.raises(NotEnoughData, match="no pilot"):
        study.next(Tally(study))


@pytest.mark.parametrize("name", ["auc", "tau-a, ratings", "gini mean difference", "kernel"])
def test_an_empty_second_round_is_refused(name):
    study = second_study(name, 1.0)
    with pytest.raises(NotEnoughData, match="second round"):
        Tally(study).estimate()


@pytest.mark.parametrize("name", ["auc", "auc, levels", "gini mean difference", "tau-b, ratings", "vus"])
def test_one_person_in_the_first_round(name):
    """A pilot from one person of each class is poor, and the second round still a study."""
    case = CASES[name]
    first, tally = case.study(1.0), Tally(case.study(1.0))
    for stratum in first.strata:
        index = asked_indices(first, stratum, 1)[0]
        column = first.statistic.private_columns[0]
        special: dict[str, dict[str, Any]] = {"auc, levels": {"score": 3}, "tau-b, ratings": {"x": 1, "y": 4}}
        values = special.get(name, {column: 0.5})
        tally.add(Participant(first, index, stratum, bits=SeededRandomness(1)).report(**values))
    try:
        with np.errstate(all="raise", under="ignore"):
            second = first.next(tally)
    except (NotEstimable, NotEnoughData) as error:
        one_sentence(error)
        return
    table = case.draw(np.random.default_rng(1), 5000)
    assert quietly(second, table, 1) is not None


@pytest.mark.parametrize("statistic", ["variance", "gini_coefficient"])
def test_a_pilot_that_tells_nobody_apart_is_refused(statistic):
    """Half of the people at each end: a function of one part would be constant, and its interval a point."""
    table = {"value": np.repeat([0.0, 1.0], 500)}
    study = Study.create(statistic, epsilon=0.2, domain=(0, 1), protocol="projection", n=1000, seed=1)
    with pytest.raises(NotEstimable, match="too noisy for a pilot"):
        simulate(study, table, seed=1)


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_a_few_answers_about_deep_levels_are_too_few(seed):
    """Whole levels from the root down to theirs would have 2^27 nodes."""
    study = Study.create(
        "auc", epsilon=0.01, domain=Integers(0, 2**40), protocol="projection", n=1000, seed=seed
    )
    with pytest.raises(NotEnoughData, match="too few people answered in the first round"):
        simulate(study, {"score": np.arange(4), "label": np.array([0, 1, 0, 1])}, seed=seed)


@pytest.mark.parametrize("bits", [52, 54, 62])
def test_whole_numbers_beyond_doubles_have_second_rounds(bits):
    """The last bin has one number, which is no difference between two doubles."""
    rng = np.random.default_rng(1)
    table = {"score": rng.integers(-100, 100, 1000), "label": rng.integers(0, 2, 1000)}
    domain = Integers(-(2**bits), 2**bits)
    study = Study.create("auc", epsilon=4.0, domain=domain, protocol="projection", n=1000, seed=1)
    low, high = simulate(study, table, seed=1).confidence_interval()
    assert 0 <= low < high <= 1
