"""Files of studies of pairs, their tallies and reports, and what of them is refused."""

import json
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import (
    BadFile,
    BadParameter,
    BadValue,
    Categories,
    DpairsError,
    Integers,
    Interval,
    NotAsked,
    Participant,
    Report,
    Study,
    Tally,
    WrongStudy,
)
from dpairs.formats.canonical import canonical
from dpairs.protocols.pairwise.counts import PairCounts
from dpairs.protocols.pairwise.matching import GROUPS
from dpairs.protocols.pairwise.protocol import PAIRS
from dpairs.simulate import simulate_tally

from ...every import every
from ...studies import forged, signed
from .kernels import KERNELS, LISTED, MOODS, one_sentence, pairwise, people_for, protocol_of

# ---------------------------------------------------------------- study files


@pytest.mark.parametrize("name", [*KERNELS, *LISTED])
def test_a_study_is_read_back_as_it_was(name, tmp_path):
    study = {**KERNELS, **LISTED}[name][0]
    again = Study.from_json(study.to_json())
    assert again == study
    assert again.privacy == study.privacy
    assert protocol_of(again).noise == protocol_of(study).noise
    assert protocol_of(again).function.digest == protocol_of(study).function.digest
    study.save(tmp_path / "study.json")
    assert Study.load(tmp_path / "study.json").to_json() == study.to_json()


GINI = pairwise("gini_mean_difference", Interval(0, 1), bits=16, noise="laplace", pairs=2, epsilon=1.0)
AUC = pairwise("auc", Interval(0, 1), epsilon=1.0)
FORGED: dict[str, tuple[Study, tuple[Any, ...], Any, str]] = {
    "pairs of 0": (GINI, ("protocol", "pairs"), 0, "pairs"),
    "pairs of 65": (GINI, ("protocol", "pairs"), 65, "pairs"),
    "pairs true": (GINI, ("protocol", "pairs"), True, "pairs"),
    "pairs text": (GINI, ("protocol", "pairs"), "2", "pairs"),
    "pairs null": (GINI, ("protocol", "pairs"), None, "pairs"),
    "more pairs than epsilon allows": (GINI, ("protocol", "pairs"), 3, "promises epsilon 1"),
    "less epsilon": (GINI, ("epsilon",), 0.5, "promises epsilon 0.5"),
    "a delta": (GINI, ("delta",), 1e-6, "delta"),
    "bits of another kernel": (GINI, ("protocol", "bits"), 15, "does not fit"),
    "bits of 65": (GINI, ("protocol", "bits"), 65, "bits"),
    "bits text": (GINI, ("protocol", "bits"), "16", "bits"),
    "unknown matching": (GINI, ("protocol", "matching"), "friends", "matching"),
    "matching of classes": (GINI, ("protocol", "matching"), "classes", "matching"),
    "matching within classes": (AUC, ("protocol", "matching"), "permutations", "matching"),
    "matching null": (GINI, ("protocol", "matching"), None, "matching"),
    "matching a list": (GINI, ("protocol", "matching"), ["disjoint"], "matching"),
    "noise null": (GINI, ("protocol", "noise"), None, "noise"),
    "noise a name": (GINI, ("protocol", "noise"), "laplace", "noise"),
    "unknown noise": (GINI, ("protocol", "noise", "name"), "gauss", "noise"),
    "noise of more levels": (GINI, ("protocol", "noise", "top"), "65536", "noise|threshold|fit"),
    "noise top as a number": (GINI, ("protocol", "noise", "top"), 65535, "top"),
    "noise that tells more": (AUC, ("protocol", "noise", "floor"), "100", "promises epsilon 1"),
    "noise that tells nothing": (AUC, ("protocol", "noise", "floor"), "32768", "floor"),
    "noise floor 0": (AUC, ("protocol", "noise", "floor"), "0", "floor"),
    "noise floor negative": (AUC, ("protocol", "noise", "floor"), "-1", "floor"),
    "noise of 65 bits": (AUC, ("protocol", "noise", "precision"), 65, "precision"),
    "noise of no thresholds": (GINI, ("protocol", "noise", "thresholds"), [], "thresholds"),
    "thresholds of 2^64": (GINI, ("protocol", "noise", "thresholds", 0), str(2**64), "threshold"),
    "noise with more": (GINI, ("protocol", "noise", "comment"), "hello", "comment"),
    "protocol with more": (GINI, ("protocol", "mechanism"), "krr", "mechanism"),
    "another domain": (GINI, ("domain", 0, "kind"), "circle", "kind|domain"),
    "a statistic of two columns": (GINI, ("statistic",), {"name": "kendall_tau", "variant": "a"}, "domain"),
    "a statistic pairs cannot do": (GINI, ("statistic",), {"name": "gini_coefficient"}, "one kernel"),
    "private labels": (AUC, ("statistic", "labels"), "private", "."),
    "another protocol": (AUC, ("protocol", "name"), "tree", "."),
}


@every("name", FORGED)
def test_changed_studies_are_refused(name):
    """Even where the id was made to fit."""
    study, path, value, said = FORGED[name]
    with pytest.raises(BadFile, match=said) as raised:
        Study.from_json(forged(study, *path, value=value))
    one_sentence(raised.value)


@pytest.mark.parametrize("missing", ["pairs", "matching", "bits", "noise"])
def test_a_study_that_lacks_a_field(missing):
    content = json.loads(GINI.to_json())
    del content["protocol"][missing]
    with pytest.raises(BadFile, match=f"lacks '{missing}'"):
        Study.from_json(signed(content))


@pytest.mark.parametrize("field", ["pairs", "bits"])
def test_a_change_without_a_new_id_is_noticed(field):
    content = json.loads(pairwise("auc", Interval(0, 1), epsilon=1.0, pairs=2).to_json())
    content["protocol"][field] = 1
    with pytest.raises(BadFile, match="changed"):
        Study.from_json(canonical(content))


# ---------------------------------------------------------------- tallies and reports


def counted(study: Study, n: int = 500) -> Tally:
    return simulate_tally(study, people_for(study, n, 1), seed=1)


def test_a_tally_counts_by_group_and_symbol():
    study = pairwise("variance", Integers(0, 1), pairs=2)
    tally = Tally(study)
    for number, symbol in ((0, 1), (64, 1), (1, 0), (65 * 64 + 3, 1)):
        tally.add(Report(study, PAIRS, number, symbol))
    counts = tally.counts(PAIRS)
    assert isinstance(counts, PairCounts)
    assert counts.by_group.shape == (GROUPS, 2)
    assert counts.by_group[:4].tolist() == [[0, 2], [1, 0], [0, 0], [0, 1]]
    assert tally.sizes == {PAIRS: 4}


def test_tallies_add_up_and_are_read_back(tmp_path):
    study = pairwise("gini_mean_difference", Interval(0, 1), pairs=2, noise="laplace")
    whole = counted(study)
    numbered = Tally(study)
    half = Tally(study)
    table = whole.counts(PAIRS).by_group  # type: ignore[attr-defined]
    rows, symbols = np.nonzero(table)
    for place, (row, symbol) in enumerate(zip(rows.tolist(), symbols.tolist(), strict=True)):
        for _ in range(table[row, symbol]):
            (half if place % 2 else numbered).add(Report(study, PAIRS, row, symbol))
    assert half + numbered == numbered + half == whole
    whole.save(tmp_path / "tally.json")
    again = Tally.load(tmp_path / "tally.json", study)
    assert again == whole
    assert again.estimate() == whole.estimate()


def test_tallies_of_other_studies_are_refused():
    study, other = pairwise("variance", Integers(0, 3)), pairwise("variance", Integers(0, 3), pairs=2)
    with pytest.raises(WrongStudy, match="cannot be added"):
        Tally(study) + Tally(other)
    with pytest.raises(WrongStudy, match="belongs to study"):
        Tally.from_json(counted(other).to_json(), study)
    with pytest.raises(WrongStudy):
        Tally(study).add(Report(other, PAIRS, 0, 0))


@pytest.mark.parametrize("symbol", [-1, 2, 2**31])
def test_symbols_that_no_pair_can_have(symbol):
    study = pairwise("auc", Interval(0, 1))
    with pytest.raises(BadParameter, match="symbol must be a whole number from 0 to 1"):
        Report(study, PAIRS, 0, symbol)
    tally = Tally(study)
    with pytest.raises(BadValue, match="symbols of this study are 0 to 1"):
        tally.add_symbols(PAIRS, np.array([0, symbol]))
    assert tally.n == 0
    wire = bytearray(bytes(Report(study, PAIRS, 7, 1)))
    wire[-1] = 2
    with pytest.raises(BadParameter, match="symbol"):
        Report.from_bytes(bytes(wire), study)


@pytest.mark.parametrize(
    "counts",
    [
        {"symbols": [2 * GROUPS], "counts": [1]},
        {"symbols": [-1], "counts": [1]},
        {"symbols": [3, 1], "counts": [1, 1]},
        {"symbols": [1], "counts": [0]},
        {"symbols": [1], "counts": [-3]},
        {"symbols": [1], "counts": [1.5]},
        {"symbols": [1], "counts": [1, 2]},
        {"symbols": [1]},
        [],
    ],
)
def test_tally_files_that_cannot_be(counts):
    study = pairwise("auc", Interval(0, 1))
    content = {**json.loads(Tally(study).to_json()), "counts": {PAIRS: counts}}
    with pytest.raises(BadFile) as raised:
        Tally.from_json(canonical(content), study)
    one_sentence(raised.value)


def test_a_report_of_a_pair_on_the_wire():
    study = pairwise("gini_mean_difference", Interval(0, 1), noise="laplace")
    report = Report(study, PAIRS, 2**53 - 1, protocol_of(study).symbols - 1)
    wire = bytes(report)
    assert len(wire) == 20
    assert Report.from_bytes(wire, study) == report
    assert Report.from_json(report.to_json(), study) == report


@pytest.mark.parametrize("strata", [None, PAIRS])
def test_nobody_answers_a_study_of_pairs_alone(strata):
    for study, values in ((AUC, {"score": 0.5}), (GINI, {"value": 0.5})):
        with pytest.raises(NotAsked, match="two people compute one report together") as raised:
            Participant(study, 0, strata).report(**values)
        one_sentence(raised.value)


def test_a_person_of_a_class_cannot_answer_alone_either():
    with pytest.raises(DpairsError) as raised:
        Participant(AUC, 0, "positive").report(score=0.5)
    one_sentence(raised.value)


def test_an_entropy_without_a_logarithm_is_no_estimate():
    study = pairwise("collision_entropy", Categories(["a", "b"]), epsilon=0.5)
    tally = Tally(study)
    tally.add_symbols(PAIRS, np.zeros(100, dtype=np.int64))
    with pytest.raises(dpairs.NotEstimable, match="logarithm"):
        tally.estimate()


def test_an_estimate_says_what_it_is():
    study = pairwise("collision_entropy", MOODS, pairs=2)
    found = counted(study).estimate()
    assert (found.protocol, found.estimator, found.strata) == ("pairwise", "mean", {PAIRS: 500})
    assert found.quantization == dpairs.estimate.Quantization(0.0, 0.0, 0.0)
    assert found.value == pytest.approx(-np.log(found.details["collision_probability"]))
    with pytest.raises(BadParameter, match="estimator"):
        counted(study).estimate("paper")
