"""A participant: answers once, checks the study first, and draws its bits where it is told."""

import numpy as np
import pytest

from dpairs import (
    AlreadyAnswered,
    BadParameter,
    BadValue,
    Categories,
    Integers,
    Interval,
    Levels,
    LimitExceeded,
    Participant,
    Study,
    TapeExhausted,
)
from dpairs.randomness import WORDS, TapeRandomness

AUC = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=4, mechanism="krr", seed=1)
PRIVATE = Study.create(
    "auc", epsilon=1.0, domain=Interval(0, 1), bins=4, labels="private", mechanism="krr", seed=1
)
RANDOM = Study.create(
    "gini_mean_difference",
    epsilon=1.0,
    domain=Interval(0, 1),
    bins=5,
    rounding="random",
    mechanism="krr",
    seed=1,
)
TRUTH = WORDS - 1
"""The word for which k-ary randomized response answers truthfully."""


def tape(*words):
    return TapeRandomness(b"".join(word.to_bytes(8, "little") for word in words))


def truthful(study, stratum=None, words=1):
    return Participant(study, 7, stratum, bits=tape(*[TRUTH] * words))


# ---------------------------------------------------------------- once


def test_answers_once():
    person = Participant(AUC, 7, "positive")
    person.report(score=0.5)
    with pytest.raises(AlreadyAnswered, match="first report again"):
        person.report(score=0.5)


def test_asking_again_draws_no_bits():
    bits = tape(TRUTH, TRUTH)
    person = Participant(AUC, 7, "positive", bits=bits)
    person.report(score=0.5)
    with pytest.raises(AlreadyAnswered):
        person.report(score=0.9)
    assert bits.words(1).tolist() == [TRUTH]


@pytest.mark.parametrize("values", [{"score": 2.0}, {"score": None}, {}, {"value": 0.5}])
def test_a_refused_value_is_no_answer(values):
    person = truthful(AUC, "positive")
    with pytest.raises(BadValue):
        person.report(**values)
    assert person.report(score=0.9).symbol == 3


@pytest.mark.parametrize("length", [0, 7])
def test_a_tape_that_ends_is_no_answer(length):
    person = Participant(AUC, 7, "positive", bits=TapeRandomness(bytes(length)))
    for _ in range(2):
        with pytest.raises(TapeExhausted, match=f"{length} bytes left and 8 are needed"):
            person.report(score=0.5)


def test_a_tape_that_ends_after_the_rounding_is_no_answer():
    person = Participant(RANDOM, 7, bits=tape(0))
    for _ in range(2):
        with pytest.raises(TapeExhausted):
            person.report(value=0.5)


# ---------------------------------------------------------------- the study is checked first


@pytest.mark.parametrize("limit", [0.5, 0.999999, np.nextafter(1.0, 0)])
def test_a_study_above_the_limit_is_refused(limit):
    with pytest.raises(LimitExceeded, match="limit"):
        Participant(AUC, 7, "positive", max_epsilon=limit)


@pytest.mark.parametrize("limit", [1, 1.0, 8.0])
def test_a_study_within_the_limit_is_answered(limit):
    assert Participant(AUC, 7, "positive", max_epsilon=limit).report(score=0.5).study is AUC


@pytest.mark.parametrize("limit", [0, -1.0, float("nan"), float("inf"), "1", True])
def test_a_limit_must_be_a_number_above_zero(limit):
    with pytest.raises(BadParameter, match="max_epsilon must be"):
        Participant(AUC, 7, "positive", max_epsilon=limit)


def test_a_stratum_must_be_said_when_there_are_two():
    with pytest.raises(BadParameter, match="positive or negative"):
        Participant(AUC, 7)
    with pytest.raises(BadParameter, match="stratum must be one of"):
        Participant(AUC, 7, "everybody")
    assert Participant(PRIVATE, 7).report(score=0.5, label=1).stratum == "everybody"
    assert Participant(PRIVATE, 7, "everybody").report(score=0.5, label=1).stratum == "everybody"


@pytest.mark.parametrize("index", [-1, 2**53, 1.0, "1", None, True])
def test_an_index_must_be_a_whole_number(index):
    with pytest.raises(BadParameter, match="index must be"):
        Participant(AUC, index, "positive")


def test_the_largest_index():
    assert Participant(AUC, 2**53 - 1, "positive").report(score=0.5).index == 2**53 - 1


# ---------------------------------------------------------------- columns and values


@pytest.mark.parametrize(
    ("study", "stratum", "values", "said"),
    [
        (AUC, "positive", {}, "needs score, but nothing"),
        (AUC, "positive", {"value": 0.5}, "needs score, but value"),
        (AUC, "positive", {"score": 0.5, "label": 1}, "needs score, but label, score"),
        (PRIVATE, None, {"score": 0.5}, "needs score and label, but score"),
        (RANDOM, None, {"x": 1, "y": 2}, "needs value, but x, y"),
    ],
)
def test_the_right_columns_are_needed(study, stratum, values, said):
    with pytest.raises(BadValue, match=said):
        Participant(study, 7, stratum).report(**values)


@pytest.mark.parametrize(
    "score",
    [
        -0.1,
        1.0000000000000002,
        float("nan"),
        float("inf"),
        None,
        "0.5",
        True,
        1j,
        [0.5],
        np.zeros((1, 1)),
        10**400,
        [1, [2, 3]],
    ],
    ids=lambda score: repr(score)[:20],
)
def test_values_that_are_no_score(score):
    with pytest.raises(BadValue, match="score"):
        Participant(AUC, 7, "positive").report(score=score)


@pytest.mark.parametrize("score", [0, 1, 0.5, np.float32(0.5), np.int8(1), np.array(0.5)])
def test_numbers_of_any_kind_are_scores(score):
    assert truthful(AUC, "positive").report(score=score).symbol == min(int(float(score) * 4), 3)


@pytest.mark.parametrize(
    ("label", "positive"),
    [
        (1, True),
        (0, False),
        (-1, False),
        (True, True),
        (False, False),
        (1.0, True),
        ("positive", True),
        ("negative", False),
        (np.bool_(True), True),
        (np.int8(-1), False),
    ],
)
def test_private_labels_of_every_kind(label, positive):
    assert truthful(PRIVATE).report(score=0.3, label=label).symbol == 2 * 1 + positive


@pytest.mark.parametrize("label", [2, 0.5, float("nan"), "yes", "", "positive\0", None, b"positive"])
def test_labels_that_are_none(label):
    person = truthful(PRIVATE)
    with pytest.raises(BadValue, match="label"):
        person.report(score=0.3, label=label)
    assert person.report(score=0.3, label=1).symbol == 3


@pytest.mark.parametrize(
    ("domain", "bins", "value", "symbol"),
    [
        (Levels(["low", "mid", "high"]), None, "high", 2),
        (Levels([1, 2.5, 7]), None, 2.5, 1),
        (Integers(-5, 4), 5, 4, 4),
        (Integers(-5, 4), 5, -5.0, 0),
        (Integers(0, 2**64 - 1), 4, 2**64 - 1, 3),
        (Integers(-(2**63), 2**63 - 1), 4, -(2**63), 0),
    ],
)
def test_the_truth_of_every_domain(domain, bins, value, symbol):
    options = {} if bins is None else {"bins": bins}
    study = Study.create("auc", epsilon=1.0, domain=domain, mechanism="krr", seed=1, **options)
    assert truthful(study, "negative").report(score=value).symbol == symbol


@pytest.mark.parametrize("value", ["a", "", "ab", "a\0"])
def test_any_string_is_a_category(value):
    domain = Categories(["b", value])
    study = Study.create("collision_entropy", epsilon=1.0, domain=domain, mechanism="krr", seed=1)
    assert truthful(study).report(value=value).symbol == 1


# ---------------------------------------------------------------- bits


@pytest.mark.parametrize("symbol", range(4))
def test_the_first_words_answer_whatever_the_value(symbol):
    floor = int(AUC.protocol.to_json()["mechanism"]["floor"])
    for word in (symbol * floor, (symbol + 1) * floor - 1):
        for score in (0.0, 0.6, 1.0):
            assert Participant(AUC, 7, "positive", bits=tape(word)).report(score=score).symbol == symbol


def test_random_rounding_takes_the_first_word():
    for word, symbol in ((0, 2), (WORDS // 4 - 2**11, 2), (WORDS // 4, 1), (WORDS - 1, 1)):
        # 0.3125 lies a quarter of the way from point 1 to point 2 of five.
        person = Participant(RANDOM, 7, bits=tape(word, TRUTH))
        assert person.report(value=0.3125).symbol == symbol


def test_a_whole_point_is_never_rounded_away():
    for value, symbol in ((0.0, 0), (0.5, 2), (1.0, 4)):
        for word in (0, WORDS - 1):
            assert Participant(RANDOM, 7, bits=tape(word, TRUTH)).report(value=value).symbol == symbol


def test_without_a_tape_the_operating_system_gives_the_bits(monkeypatch):
    asked = []

    def urandom(count):
        asked.append(count)
        return b"\xff" * count

    monkeypatch.setattr("dpairs.randomness.private.os.urandom", urandom)
    assert Participant(AUC, 7, "positive").report(score=0.9).symbol == 3
    assert asked == [8]


def test_answers_of_real_bits_differ():
    symbols = {Participant(AUC, index, "positive").report(score=0.9).symbol for index in range(200)}
    assert symbols == {0, 1, 2, 3}
