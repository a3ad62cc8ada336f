"""The volume under the ROC surface: exact against brute force, three classes, and who refuses it."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpairs
from dpairs import (
    BadParameter,
    BadValue,
    Categories,
    Integers,
    Interval,
    Levels,
    NotEnoughData,
    Participant,
    Study,
    exact,
    simulate,
)

from ..strategies import QUICK, SMALL, labelled_triples

CLASSES = ("low", "middle", "high")
SIGMAS = 4.5
"""A right estimate is further away with probability 7e-6, for a fresh seed."""


def brute(table: dict[str, np.ndarray], ties: str) -> float:
    two, three = (1 / 2, 1 / 6) if ties == "half" else (0.0, 0.0)
    groups = [table["score"][table["label"] == code].tolist() for code in range(3)]
    total = 0.0
    for low, middle, high in itertools.product(*groups):
        if low < middle < high:
            total += 1
        elif low == middle == high:
            total += three
        elif low <= middle <= high:
            total += two
    return total / np.prod([len(group) for group in groups])


# ---------------------------------------------------------------- exact


@given(labelled_triples(), st.sampled_from(["half", "zero"]))
@QUICK
def test_exact_is_the_share_of_triples_in_order(table, ties):
    assert exact("vus", table, ties=ties) == pytest.approx(brute(table, ties), abs=1e-12)


@given(labelled_triples(), st.randoms(use_true_random=False))
@QUICK
def test_half_ties_are_what_breaking_ties_at_random_gives(table, random):
    """Two equal neighbours are in order half of the time, three equal scores one time in six."""
    n = table["score"].size
    orders = [np.array(random.sample(range(n), n)) for _ in range(3)]
    broken = [exact("vus", {**table, "score": table["score"] * n + order}, ties="zero") for order in orders]
    zero = exact("vus", table, ties="zero")
    assert all(zero - 1e-12 <= value for value in broken)
    untied = len(set(table["score"].tolist())) == n
    assert not untied or broken[0] == pytest.approx(exact("vus", table), abs=1e-12)


def test_scores_without_meaning_give_one_sixth_however_they_tie():
    for levels in (1, 2, 3, 50):
        score, label = map(np.ravel, np.meshgrid(np.arange(levels), np.arange(3)))
        assert exact("vus", {"score": score, "label": label}) == pytest.approx(1 / 6)


def test_perfect_and_reversed_scores():
    label = np.repeat([0, 1, 2], [3, 4, 5])
    assert exact("vus", {"score": label.astype(float), "label": label}, ties="zero") == 1
    assert exact("vus", {"score": -label.astype(float), "label": label}) == 0


@given(st.lists(SMALL, min_size=1, max_size=12), st.lists(SMALL, min_size=1, max_size=12))
@QUICK
def test_with_one_class_far_below_it_is_the_auc_of_the_others(middle, high):
    score = np.array([-100, *middle, *high])
    label = np.repeat([0, 1, 2], [1, len(middle), len(high)])
    auc = exact("auc", {"score": score[1:], "label": label[1:] - 1})
    assert exact("vus", {"score": score, "label": label}) == pytest.approx(auc, abs=1e-12)


@pytest.mark.parametrize(
    "label",
    [
        [0, 1, 2, 1],
        [0.0, 1.0, 2.0, 1.0],
        ["low", "middle", "high", "middle"],
        np.array(["low", "middle", "high", "middle"], dtype=object),
        np.array([0, 1, 2, 1], dtype=np.uint8),
    ],
    ids=["ints", "floats", "names", "objects", "bytes"],
)
def test_labels_of_each_kind(label):
    assert exact("vus", {"score": [1, 2, 3, 0], "label": label}) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ([0, 1, 3], "3"),
        ([0, 1, -1], "-1"),
        ([0, 1, 1.5], "1.5"),
        ([0, 1, float("nan")], "nan"),
        (["low", "middle", "top"], "top"),
        ([False, True, True], "bool"),
        (["0", "1", "2"], "'0'"),
    ],
)
def test_labels_that_are_no_class_are_refused_by_row(label, words):
    with pytest.raises(BadValue, match="three classes") as raised:
        exact("vus", {"score": [1, 2, 3], "label": label})
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("missing", range(3))
def test_an_empty_class_is_named(missing):
    label = [code for code in range(3) if code != missing]
    with pytest.raises(NotEnoughData, match=CLASSES[missing]):
        exact("vus", {"score": [1, 2], "label": label})


# ---------------------------------------------------------------- studies


def people(n: int = 60_000, seed: int = 1) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    label = rng.integers(0, 3, n)
    return {"score": np.clip(rng.normal(0.3 + 0.2 * label, 0.15), 0, 1), "label": label}


def study(domain: Any = None, epsilon: float = 2.0, **options: Any) -> Study:
    chosen: Any = Interval(0, 1) if domain is None else domain
    return Study.create("vus", protocol="projection", epsilon=epsilon, domain=chosen, seed=1, **options)


def test_a_study_has_three_strata_and_protects_the_score():
    made = study()
    assert made.strata == CLASSES
    assert made.statistic.private_columns == ("score",)
    assert [made.empty_counts(stratum).people for stratum in CLASSES] == [0, 0, 0]
    index = next(index for index in range(64) if made.asks("high", index))
    assert Participant(made, index, "high").report(score=0.5).stratum == "high"
    with pytest.raises(BadParameter, match="low or middle or high"):
        Participant(made, 0)


@pytest.mark.parametrize("ties", ["half", "zero"])
@pytest.mark.parametrize(
    ("domain", "scale"),
    [(Interval(0, 1), None), (Integers(0, 2**20 - 1), 2**20 - 1), (Levels(range(8)), 7), (Integers(0, 7), 7)],
    ids=["interval", "integers", "levels", "few integers"],
)
def test_the_estimate_is_near_the_exact_value(domain, scale, ties):
    table = people()
    if scale is not None:
        table["score"] = np.round(table["score"] * scale).astype(np.int64)
    found = simulate(study(domain, ties=ties), table, seed=2)
    truth = exact("vus", table, ties=ties)
    assert abs(found.value - truth) < SIGMAS * found.sample_standard_error
    assert found.standard_error < 0.03
    assert found.n == table["score"].size
    assert found.strata == {name: int((table["label"] == code).sum()) for code, name in enumerate(CLASSES)}


def test_another_classs_value_is_noticed():
    """Negative control of the test above: with two classes exchanged the estimate is far away."""
    table = people()
    swapped = {**table, "label": (table["label"] + 1) % 3}
    found = simulate(study(), swapped, seed=2)
    assert abs(found.value - exact("vus", table)) > 2 * SIGMAS * found.sample_standard_error


@pytest.mark.parametrize("protocol", ["histogram", "tree"])
def test_other_protocols_refuse_it_in_one_sentence(protocol):
    with pytest.raises(BadParameter) as raised:
        Study.create("vus", protocol=protocol, epsilon=1.0, domain=Interval(0, 1), bins=16)
    sentence = str(raised.value)
    assert "\n" not in sentence
    assert ("triples" in sentence) if protocol == "histogram" else ("tree protocol" in sentence)


def test_a_histogram_pilot_is_refused():
    with pytest.raises(BadParameter, match="triples"):
        study(pilot="histogram", bins=8)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"domain": Categories(["a", "b"])}, "ordered"),
        ({"ties": "third"}, "ties"),
        ({"labels": "private"}, "labels"),
        ({"domain": (Interval(0, 1), Interval(0, 1))}, "was given 2"),
    ],
)
def test_wrong_studies_are_refused(change, words):
    with pytest.raises(BadParameter, match=words):
        study(**change)


def test_it_is_known_by_name():
    assert dpairs.statistics.statistic("vus", ties="zero").to_json() == {"name": "vus", "ties": "zero"}
    made = study(ties="zero")
    assert Study.from_json(made.to_json()) == made
