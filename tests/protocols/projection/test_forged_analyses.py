"""Forged files of the analyst, and of a first round."""

import json

import pytest

from dpairs import (
    BadFile,
    DpairsError,
    Study,
    WrongStudy,
)
from dpairs.formats.canonical import canonical
from dpairs.protocols.projection.remainder import Remainder

from ...studies import signed
from .cases import CASES, SECOND, second_study
from .forging import (
    BAD,
    MUTATED,
    analysis_of,
    changed,
    leaves,
    lookup,
    one_sentence,
    other_value,
    used,
)


@pytest.mark.parametrize("name", MUTATED)
def test_a_forged_analysis_is_refused_or_works(name):
    """One sentence, or an analysis from which the analyst estimates."""
    study = second_study(name, 1.0)
    content = analysis_of(study)
    loaded = Study.from_json(study.to_json())
    accepted, broken = 0, []
    for path in leaves(content):
        for new in (*BAD, other_value(lookup(content, path)), ...):
            text = canonical(changed(content, path, new))
            try:
                made = loaded.with_analysis(text)
            except DpairsError as error:
                one_sentence(error)
                continue
            assert made.analysis_to_json() == text
            accepted += 1
            wrong = used(made, SECOND[name][1][1] if name in SECOND else [[0.25]])
            if wrong is not None:
                broken.append((path, new, wrong))
    assert accepted > 5, "some fields are free: people, a remainder, a range"
    assert broken == []


def test_a_divisor_too_large_for_its_functions_is_refused():
    """Each number fits a file; their products do not fit a float."""
    study = second_study("gini coefficient", 1.0)
    content = analysis_of(study)
    ranges = {name: [0.0, 1e99] for name in content["analysis"]["ranges"]}
    forged = changed(changed(content, ("analysis", "ranges"), ranges), ("analysis", "divided", 5), 1e60)
    with pytest.raises(DpairsError, match="too large for functions 1e\\+99 wide"):
        Study.from_json(study.to_json()).with_analysis(canonical(forged))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("format",), "dpairs-study", "not an analysis"),
        (("version",), 2, "not an analysis"),
        (("comment",), "hello", "comment"),
        (("analysis",), [], "JSON object"),
        (("analysis", "comment"), "hello", "comment"),
        (("analysis", "value"), ..., "value"),
        (("analysis", "value"), "0.5", "finite"),
        (("analysis", "value"), 1e101, "beyond all values"),
        (("analysis", "people"), {"positive": 5}, "people for positive, negative"),
        (("analysis", "people"), {"positive": 5, "negative": 5, "neither": 5}, "people for positive"),
        (("analysis", "people", "positive"), 0, "people"),
        (("analysis", "people", "positive"), 2**53, "people"),
        (("analysis", "people", "positive"), 2.5, "people"),
        (("analysis", "alone"), [0.5], "own estimate is two numbers"),
        (("analysis", "alone"), [0.5, -1], "above 0"),
        (("analysis", "alone"), [0.5, 0], "above 0"),
        (("analysis", "forms"), [], r"1 form\(s\)"),
        (("analysis", "forms"), 0.5, r"1 form\(s\)"),
        (("analysis", "forms", 0), None, "finite"),
        (("analysis", "ranges"), {}, "ranges for positive, negative"),
        (("analysis", "ranges", "positive"), [1e9, 1], "must not lie above"),
        (("analysis", "ranges", "positive"), [0], "two numbers"),
        (("analysis", "ranges", "positive"), 1, "two numbers"),
        (("analysis", "means"), {}, "means for positive, negative"),
        (("analysis", "means", "positive"), "0.1", "finite"),
        (("analysis", "variances"), {"everybody": 0.1}, "variances for positive, negative"),
        (("analysis", "variances", "positive"), -0.1, "negative"),
        (("analysis", "variances", "positive"), "0.1", "finite"),
        (("analysis", "remainder"), [0], "remainder is two numbers"),
        (("analysis", "remainder", 1), -1e-9, "negative"),
        (("analysis", "kernel_uncertainty"), -1, "negative"),
        (("analysis", "noises"), {"everybody": 0.1}, "noises for positive, negative"),
        (("analysis", "noises", "positive"), -0.1, "negative"),
        (("analysis", "alone_noise"), -0.1, "negative"),
        (("analysis", "beside"), 1.5, "between 0 and 1"),
        (("analysis", "together"), 0.5, "no more than these"),
        (("analysis", "ends"), -0.5, "cannot be negative"),
        (("analysis", "expected"), {"everybody": 0.1}, "corrections for positive, negative"),
        (("analysis", "expected", "positive"), -0.1, "negative"),
        (("analysis", "expected"), -0.1, "negative"),
        (("analysis", "uncut"), -0.1, "negative"),
        (("analysis", "gain"), 0.1, "has no gain"),
        (("analysis", "crowded"), 0.5, "three numbers"),
        (("analysis", "crowded"), [0.5, 0.5], "three numbers"),
        (("analysis", "crowded"), [0.5, 0.5, -1.0], "between 0 and 1"),
        (("analysis", "far"), 0.5, "two numbers"),
        (("analysis", "far"), [0.1, "much"], "finite"),
        (("analysis", "far"), [0.1, 1e9], "a part of the bias"),
        (("analysis", "ties"), [1.5], "four numbers"),
        (("analysis", "ties"), [0.5, 1.0], "by 1 or more"),
        (("analysis", "ties"), [1.5, -0.1], "fewer by 0 to 1"),
        (("analysis", "heavier"), 0.5, "two lists"),
        (("analysis", "heavier"), [[0.0], [0.5, 0.6]], "as many numbers"),
        (("analysis", "heavier"), [[], []], "as many numbers"),
        (("analysis", "heavier"), [[0.0, 1.0], [0.5, 0.4]], "grows"),
        (("analysis", "heavier"), [[0.0, 1.0], [-0.5, 0.4]], "grows"),
        (("analysis", "heavier"), [[1.0, 0.0], [0.5, 0.6]], "ascend"),
        (("analysis", "heavier"), [[0.0, "much"], [0.5, 0.6]], "number"),
    ],
    ids=str,
)
def test_forged_analyses_are_refused_by_name(path, value, words):
    study = second_study("auc", 1.0)
    with pytest.raises(BadFile, match=words) as raised:
        study.with_analysis(json.dumps(changed(analysis_of(study), path, value)))
    one_sentence(raised.value)


@pytest.mark.parametrize(
    ("name", "path", "value", "words"),
    [
        ("auc, private", ("forms",), [0.2], r"2 form\(s\)"),
        ("tau-b, ratings", ("forms",), [0.2, 0.1], r"3 form\(s\)"),
        ("auc", ("forms",), [0.2, 0.1], r"1 form\(s\)"),
        ("tau-b, ratings", ("forms",), [0.2, 1.0, 1.0], "give no value"),
        ("auc", ("forms",), [0.2], "give the value 0.2"),
        ("auc, private", ("forms",), [0.1, 1e-300], "give the value"),
        ("auc, private", ("forms",), [0.1, 0.2], "give the value 0.5"),
        ("auc, private", ("value",), 0.5, "not 0.5"),
        ("auc", ("means", "positive"), 1.01, "from 0 to 1"),
        ("auc", ("means", "negative"), -0.01, "from 0 to 1"),
        ("auc", ("variances", "positive"), 0.26, "cannot have a variance of 0.26"),
        ("auc", ("means", "positive"), 1, "of mean 1 cannot have a variance"),
    ],
    ids=str,
)
def test_parts_of_an_analysis_that_do_not_fit_together_are_refused(name, path, value, words):
    """Every field is well-formed, but no first round can have led to them."""
    study = second_study(name, 1.0)
    with pytest.raises(BadFile, match=words) as raised:
        study.with_analysis(json.dumps(changed(analysis_of(study), ("analysis", *path), value)))
    one_sentence(raised.value)


def test_an_analysis_from_before_classes_counted_by_themselves_is_read():
    study = second_study("auc", 1.0)
    content = analysis_of(study)
    assert set(content["analysis"]["expected"]) == {"positive", "negative"}
    file = canonical(changed(content, ("analysis", "expected"), 0.25))
    older = study.with_analysis(file)
    remainder = older.protocol.analysis.remainder  # type: ignore[attr-defined]
    assert remainder.expected == (0.25, 0.25)
    assert older.analysis_to_json() == file
    for path in (("analysis", "expected"), ("analysis", "bias")):
        with pytest.raises(BadFile, match="damaged"):
            study.with_analysis(canonical(changed(json.loads(file), path, ...)))


def test_an_analysis_is_of_its_own_study_alone():
    study, other = second_study("auc", 1.0), second_study("auc", 4.0)
    text = study.analysis_to_json()
    assert text is not None
    with pytest.raises(WrongStudy, match="belongs to study"):
        other.with_analysis(text)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("protocol", "round"), 0, "rounds 1 and 2"),
        (("protocol", "round"), ..., "round"),
        (("protocol", "share"), 0, "share"),
        (("protocol", "share"), 64, "share"),
        (("protocol", "share"), "24", "share"),
        (("protocol", "pilot"), None, "pilot"),
        (("protocol", "pilot", "name"), "krr", "pilot"),
        (("protocol", "pilot", "bits"), [53], "bits"),
        (("protocol", "pilot", "bits"), [0], "bits"),
        (("protocol", "pilot", "bits"), [8, 8], "bits"),
        (("protocol", "pilot", "bits"), 16, "bits"),
        (("protocol", "pilot", "bits"), [], "."),
        (("protocol", "pilot", "floors"), [], "."),
        (("protocol", "pilot", "floors", 0), "0", "."),
        (("protocol", "pilot", "floors", 0), 5, "floors"),
        (("protocol", "pilot", "floors", 0), "5", "promises epsilon"),
        (("protocol", "pilot", "comment"), "hello", "comment"),
        (("protocol", "comment"), "hello", "comment"),
    ],
    ids=str,
)
def test_forged_first_rounds_are_refused_by_name(path, value, words):
    content = json.loads(CASES["auc"].study(1.0).to_json())
    with pytest.raises(BadFile, match=words) as raised:
        Study.from_json(signed(changed(content, path, value)))
    assert "\n" not in str(raised.value)


def test_corrections_that_nobody_expects_overflow_nothing():
    """A file may say that corrections are usually next to nothing; then the real one is far beyond them."""
    assert Remainder(0.0, 0.1, expected=(5e-324,)).further([1e3], [1e-6]) ** 2 < 1e30
    assert Remainder(0.0, 0.1, expected=(0.25,)).further([1.0], [0.0]) == 4.0
