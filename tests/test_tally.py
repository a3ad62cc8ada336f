"""A tally: adds, merges, refuses what is not its own, and says when nothing can be estimated."""

import json
import math
import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpairs import (
    BadFile,
    BadParameter,
    BadValue,
    Categories,
    DpairsError,
    Integers,
    Interval,
    InvalidInput,
    Levels,
    NotEnoughData,
    NotEstimable,
    Report,
    Study,
    Tally,
    WrongStudy,
)
from tests.strategies import QUICK, dense

AUC = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=4, mechanism="krr", seed=1)
OTHER = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=4, mechanism="krr", seed=2)
ENTROPY = Study.create(
    "collision_entropy", epsilon=1.0, domain=Categories(["a", "b", "c"]), mechanism="krr", seed=1
)


def tally_of(study, **counts):
    """A tally with these counts of the symbols 0, 1, ... in each stratum."""
    tally = Tally(study)
    for stratum, numbers in counts.items():
        tally.add_symbols(stratum, np.repeat(np.arange(len(numbers)), numbers))
    return tally


four_counts = st.lists(st.integers(0, 9), min_size=4, max_size=4)
tallies = st.builds(lambda p, n: tally_of(AUC, positive=p, negative=n), four_counts, four_counts)


# ---------------------------------------------------------------- adding


def test_a_report_is_counted_where_it_belongs():
    tally = Tally(AUC)
    for symbol in (3, 1, 3):
        tally.add(Report(AUC, "negative", symbol, symbol))
    assert dense(tally, "negative") == [0, 1, 0, 2]
    assert dense(tally, "positive") == [0, 0, 0, 0]
    assert tally.sizes == {"positive": 0, "negative": 3}
    assert tally.n == 3
    assert tally.study is AUC


@QUICK
@given(st.lists(st.tuples(st.sampled_from(AUC.strata), st.integers(0, 3)), max_size=30))
def test_one_by_one_and_all_at_once_are_the_same(reports):
    single, bulk = Tally(AUC), Tally(AUC)
    for index, (stratum, symbol) in enumerate(reports):
        single.add(Report(AUC, stratum, index, symbol))
    for stratum in AUC.strata:
        bulk.add_symbols(
            stratum, np.array([symbol for name, symbol in reports if name == stratum], dtype=np.int64)
        )
    assert single == bulk
    assert single.n == len(reports)


@QUICK
@given(tallies, tallies, tallies)
def test_merging_is_adding(a, b, c):
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Tally(AUC) == a
    assert (a + b).n == a.n + b.n


def test_merging_leaves_both_as_they_were():
    a, b = tally_of(AUC, positive=[1, 2]), tally_of(AUC, negative=[5])
    merged = a + b
    merged.add(Report(AUC, "positive", 0, 0))
    assert (a.n, b.n, merged.n) == (3, 5, 9)


def test_no_symbols_are_no_reports():
    tally = Tally(AUC)
    tally.add_symbols("positive", np.empty(0, dtype=np.int64))
    assert tally == Tally(AUC)


# ---------------------------------------------------------------- refusing


def test_another_studys_report_is_refused():
    tally = Tally(AUC)
    with pytest.raises(WrongStudy, match=OTHER.id[:16]):
        tally.add(Report(OTHER, "positive", 1, 1))
    assert tally.n == 0


def test_a_study_read_again_is_the_same_study():
    tally = Tally(AUC)
    tally.add(Report(Study.from_json(AUC.to_json()), "positive", 1, 1))
    assert tally.n == 1


def test_another_studys_tally_is_refused():
    with pytest.raises(WrongStudy):
        Tally(AUC) + Tally(OTHER)
    assert Tally(AUC) != Tally(OTHER)
    with pytest.raises(TypeError):
        Tally(AUC) + 1  # type: ignore[operator]


@pytest.mark.parametrize("symbols", [[4], [-1], [0, 1, 99]])
def test_symbols_out_of_range_are_refused_and_none_is_counted(symbols):
    tally = Tally(AUC)
    with pytest.raises(BadValue, match="0 to 3"):
        tally.add_symbols("positive", np.array(symbols))
    assert tally.n == 0


@pytest.mark.parametrize("stratum", ["everybody", "", None, 0])
def test_an_unknown_stratum_is_refused(stratum):
    with pytest.raises(BadParameter, match="stratum must be one of"):
        Tally(AUC).counts(stratum)
    with pytest.raises(BadParameter, match="stratum must be one of"):
        Tally(AUC).add_symbols(stratum, np.array([1]))


def test_a_tally_has_no_hash():
    with pytest.raises(TypeError):
        hash(Tally(AUC))


# ---------------------------------------------------------------- its file


@QUICK
@given(tallies)
def test_any_tally_comes_back(tally):
    text = tally.to_json()
    assert Tally.from_json(text, AUC) == tally
    assert Tally.from_json(text, AUC).to_json() == text
    assert Tally.from_json(json.dumps(json.loads(text), indent=2).encode(), AUC) == tally


def test_the_text_is_canonical():
    a = tally_of(AUC, positive=[0, 2, 0, 1], negative=[7])
    b = tally_of(AUC, negative=[7]) + tally_of(AUC, positive=[0, 1]) + tally_of(AUC, positive=[0, 1, 0, 1])
    expected = (
        '{"counts":{"negative":{"counts":[7],"symbols":[0]},"positive":{"counts":[2,1],"symbols":[1,3]}},'
        f'"format":"dpairs-tally","study":"{AUC.id}","version":1}}'
    )
    assert a.to_json() == b.to_json() == expected


def test_save_and_load(tmp_path):
    tally = tally_of(AUC, positive=[1, 2, 3], negative=[4])
    tally.save(tmp_path / "tally.json")
    assert Tally.load(tmp_path / "tally.json", AUC) == tally
    assert os.listdir(tmp_path) == ["tally.json"]
    with pytest.raises(WrongStudy):
        Tally.load(tmp_path / "tally.json", OTHER)
    with pytest.raises(BadFile, match=r"the tally .* cannot be read"):
        Tally.load(tmp_path / "other.json", AUC)


def test_a_failing_write_leaves_the_old_file(tmp_path, monkeypatch):
    old = tally_of(AUC, positive=[1])
    old.save(tmp_path / "tally.json")

    def fail(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("dpairs.formats.files.os.fsync", fail)
    with pytest.raises(BadFile, match="No space left"):
        tally_of(AUC, positive=[2]).save(tmp_path / "tally.json")
    assert Tally.load(tmp_path / "tally.json", AUC) == old
    assert os.listdir(tmp_path) == ["tally.json"]


@pytest.mark.parametrize(
    ("symbols", "counts"),
    [
        ([0], [-1]),
        ([0], [0]),
        ([0], [1.0]),
        ([0], ["1"]),
        ([0], [True]),
        ([0], [None]),
        ([0], [2**53]),
        ([0], [10**400]),
        ([4], [1]),
        ([-1], [1]),
        ([0.0], [1]),
        ([True], [1]),
        ([1, 0], [1, 1]),
        ([1, 1], [1, 1]),
        ([0, 1], [1]),
        ([], [1]),
        (0, 1),
        ({}, {}),
        (None, None),
        ([[0]], [[1]]),
    ],
    ids=lambda item: str(item)[:20],
)
def test_counts_that_cannot_be_are_refused(symbols, counts):
    content = json.loads(Tally(AUC).to_json())
    content["counts"]["positive"] = {"symbols": symbols, "counts": counts}
    with pytest.raises(BadFile):
        Tally.from_json(json.dumps(content), AUC)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("format", "dpairs-study"),
        ("format", None),
        ("version", 2),
        ("version", "1"),
        ("version", True),
        ("study", OTHER.id),
        ("study", None),
        ("study", AUC.id.upper()),
        ("counts", None),
        ("counts", []),
        ("counts", {}),
        ("counts", {"positive": None, "negative": None}),
        ("counts", {"positive": {"symbols": [], "counts": []}}),
        ("more", 1),
    ],
)
def test_fields_that_cannot_be_are_refused(field, value):
    content = {**json.loads(Tally(AUC).to_json()), field: value}
    with pytest.raises(InvalidInput):
        Tally.from_json(json.dumps(content), AUC)


@pytest.mark.parametrize("field", ["format", "version", "study", "counts"])
def test_a_missing_field_is_refused(field):
    content = json.loads(Tally(AUC).to_json())
    del content[field]
    with pytest.raises(BadFile):
        Tally.from_json(json.dumps(content), AUC)


def test_a_tally_that_was_written_can_be_read():
    """Counts may grow by merging past what one file was allowed to hold."""
    content = json.loads(Tally(AUC).to_json())
    content["counts"]["positive"] = {"symbols": [0], "counts": [2**53 - 1]}
    large = Tally.from_json(json.dumps(content), AUC)
    try:
        text = (large + large).to_json()
    except DpairsError:
        return
    assert Tally.from_json(text, AUC).n == 2 * large.n


# ---------------------------------------------------------------- estimating


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ({}, "positive class is empty"),
        ({"negative": [5, 5]}, "positive class is empty"),
        ({"positive": [5, 5]}, "negative class is empty"),
    ],
)
def test_an_empty_class_is_not_enough(counts, said):
    with pytest.raises(NotEnoughData, match=said):
        tally_of(AUC, **counts).estimate()


@pytest.mark.parametrize("counts", [[], [1]])
def test_fewer_than_two_people_are_not_enough(counts):
    with pytest.raises(NotEnoughData, match=f"at least 2 people, not {sum(counts)}"):
        tally_of(ENTROPY, everybody=counts).estimate()


def test_two_people_who_differ_leave_no_entropy():
    with pytest.raises(NotEstimable, match="collision probability is -"):
        tally_of(ENTROPY, everybody=[1, 1]).estimate()


def test_two_people_who_agree_leave_no_entropy():
    with pytest.raises(NotEstimable, match="the collision probability is estimated as"):
        tally_of(ENTROPY, everybody=[2]).estimate()


def test_reports_of_zero_leave_no_gini_coefficient():
    study = Study.create("gini_coefficient", epsilon=0.1, domain=Integers(0, 4), mechanism="krr", seed=1)
    with pytest.raises(NotEstimable, match="possible that everybody has 0"):
        tally_of(study, everybody=[9]).estimate()


def test_one_private_class_leaves_no_auc():
    domain = Interval(0, 1)
    study = Study.create("auc", epsilon=1.0, domain=domain, bins=2, labels="private", mechanism="krr", seed=1)
    with pytest.raises(NotEstimable, match="one person of each class"):
        tally_of(study, everybody=[9]).estimate()


@pytest.mark.parametrize("mechanism", ["krr", "projective"])
@pytest.mark.parametrize("statistic", ["auc", "mann_whitney"])
def test_few_reports_of_two_classes_always_give_an_answer(statistic, mechanism):
    """All 3^4 tallies of up to two people in each cell: also those whose estimated variance is zero."""
    study = Study.create(statistic, epsilon=1.0, domain=Levels([0, 1]), mechanism=mechanism, seed=1)
    for counts in np.ndindex(3, 3, 3, 3):
        tally = tally_of(study, positive=counts[:2], negative=counts[2:])
        if min(tally.sizes.values()) > 0:
            assert math.isfinite(tally.estimate().value), counts
            json.dumps(tally.estimate().to_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("statistic", "domain", "options"),
    [
        ("collision_entropy", Categories(["a", "b", "c", "d"]), {}),
        ("gini_coefficient", Integers(0, 3), {}),
        ("gini_mean_difference", Interval(0, 1), {"bins": 4, "rounding": "random"}),
        ("variance", Levels([0, 1, 4, 5]), {"kernel": "midpoint"}),
        ("kendall_tau", (Levels([0, 1]), Levels([0, 1])), {"variant": "b"}),
        ("auc", Interval(0, 1), {"bins": 2, "labels": "private"}),
        ("mann_whitney", Interval(0, 1), {"bins": 2, "labels": "private"}),
    ],
)
def test_few_reports_give_an_answer_or_say_why_not(statistic, domain, options):
    study = Study.create(statistic, epsilon=1.0, domain=domain, mechanism="krr", seed=1, **options)
    forms = study.statistic.form_count
    ratio = bool(study.statistic.divisors(np.zeros(forms)))
    answered = 0
    for counts in np.ndindex(3, 3, 3, 3):
        try:
            estimate = tally_of(study, everybody=counts).estimate()
        except NotEnoughData:
            continue
        except NotEstimable:
            assert ratio
            continue
        json.dumps(estimate.to_json(), allow_nan=False)
        answered += 1
    assert ratio or answered > 20


def test_an_unknown_estimator_is_refused():
    tally = tally_of(AUC, positive=[3, 3], negative=[3, 3])
    with pytest.raises(BadParameter, match="estimator must be one of 'middle', 'paper'"):
        tally.estimate("best")
    assert tally.estimate("paper").value == tally.estimate().value


def test_an_estimate_says_what_it_is_of():
    estimate = tally_of(AUC, positive=[3, 2, 1, 1], negative=[4, 4, 1]).estimate()
    assert (estimate.statistic, estimate.protocol, estimate.estimator) == ("auc", "histogram", "paper")
    assert estimate.study_id == AUC.id
    assert dict(estimate.strata) == {"positive": 7, "negative": 9}
    assert estimate.n == 16
    assert estimate.privacy == AUC.privacy
    assert estimate.privacy.epsilon <= estimate.privacy.epsilon_asked == 1.0


def test_an_estimate_is_the_mean_over_pairs_of_decoded_reports():
    """The definition, pair by pair: P(y > z) + P(y = z)/2 of unbiased decodings."""
    positive, negative = [3, 2, 1, 1], [4, 4, 1, 0]
    estimate = tally_of(AUC, positive=positive, negative=negative).estimate()
    beta = 4 / (4 + math.expm1(1.0))
    wins = (np.sign(np.subtract.outer(np.arange(4), np.arange(4))) + 1) / 2

    def decoded(counts):
        return (np.array(counts) / sum(counts) - beta / 4) / (1 - beta)

    assert estimate.value == pytest.approx(decoded(positive) @ wins @ decoded(negative), rel=1e-12)
