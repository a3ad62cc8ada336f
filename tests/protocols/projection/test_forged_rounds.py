"""Forged files of a second round: each changed field is refused in one sentence."""

import base64
import json

import pytest

from dpairs import (
    BadFile,
    Study,
)
from dpairs.formats.canonical import canonical

from ...studies import signed
from .cases import CASES, NEAR, SECOND, second_study
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

SHORT = Study.create(NEAR, protocol="projection", epsilon=1.0, bins=8, seed=1)


@pytest.mark.parametrize("name", MUTATED)
@pytest.mark.parametrize("which", ["first", "second"])
def test_every_changed_field_is_refused_in_one_sentence(name, which):
    study = second_study(name, 1.0) if which == "second" else CASES[name].study(1.0)
    content = json.loads(study.to_json())
    if "matrix" in content["statistic"]:
        # A kernel's table is long to read; the tests of studies change every number of a short one.
        content = json.loads(SHORT.to_json())
    paths = list(leaves(content))
    assert len(paths) > 20
    for path in paths:
        value = lookup(content, path)
        for new in (other_value(value), None, ...):
            text = json.dumps(changed(content, path, new))
            if json.loads(text) == content:
                continue
            with pytest.raises(BadFile) as raised:
                Study.from_json(text)
            assert "\n" not in str(raised.value), path


@pytest.mark.parametrize("name", MUTATED)
def test_a_forged_second_round_is_refused_or_works(name):
    """With an id that fits: one sentence, or a study in which people answer and the analyst estimates."""
    study = second_study(name, 1.0)
    content, analysis = json.loads(study.to_json()), analysis_of(study)
    accepted, broken = 0, []
    for path in leaves(content):
        if path[0] == "id":
            continue
        for new in (*BAD, other_value(lookup(content, path)), ...):
            text = signed(changed(content, path, new))
            try:
                made = Study.from_json(text)
            except BadFile as error:
                one_sentence(error)
                continue
            assert made.to_json() == text
            accepted += 1
            try:
                made = made.with_analysis(canonical({**analysis, "study": made.id}))
            except BadFile as error:
                one_sentence(error)
            wrong = used(made, SECOND[name][1][1] if name in SECOND else [[0.25]])
            if wrong is not None:
                broken.append((path, new, wrong))
    assert accepted > 5, "some fields are free: the seed, a label, a height"
    assert broken == []


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("protocol", "round"), 3, "projection"),
        (("protocol", "comment"), "hello", "comment"),
        (("protocol", "first", "study"), "0" * 63, "64 hexadecimal"),
        (("protocol", "first", "study"), "G" * 64, "64 hexadecimal"),
        (("protocol", "first", "share"), 64, "share"),
        (("protocol", "first", "share"), 0, "share"),
        (("protocol", "first", "people"), {"positive": 5, "negative": 5}, "no option 'people'"),
        (("protocol", "edges"), [], "edges"),
        (("protocol", "edges"), [None], "edges"),
        (("protocol", "edges", 0), [0, 1, 0.5], "edges"),
        (("protocol", "edges", 0), [0, "0.5", 1], "numbers"),
        (("protocol", "edges", 0), [0, 10**400, 1], "finite"),
        (("protocol", "edges", 0, 0), 0.001, "edges"),
        (("protocol", "edges", 0), list(range(5000)), "list of edges"),
        (("protocol", "functions", "positive"), ..., "functions"),
        (("protocol", "functions"), [], "functions for positive, negative"),
        (("protocol", "functions", "positive"), "AAAA", "heights"),
        (("protocol", "functions", "positive"), "not base64", "heights"),
        (("protocol", "functions", "positive"), [], "heights"),
        (("protocol", "functions", "positive"), {"heights": "AAAA", "low": 0, "high": 1}, "heights"),
        (("protocol", "value"), 0.5, "no option 'value'"),
        (("protocol", "mechanism"), {"name": "krr", "inputs": 2, "floor": "5"}, "mechanism"),
        (("protocol", "mechanism", "floor"), "5", "promises epsilon"),
        (("statistic", "name"), "vus", "."),
        (("domain", 0, "high"), 2, "edges"),
        (("domain"), [{"kind": "categories", "values": ["a", "b"]}], "."),
    ],
    ids=str,
)
def test_forged_second_rounds_are_refused_by_name(path, value, words):
    content = json.loads(second_study("auc", 1.0).to_json())
    path = (path,) if isinstance(path, str) else path
    with pytest.raises(BadFile, match=words) as raised:
        Study.from_json(signed(changed(content, path, value)))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("auc", ("domain",), [{"kind": "categories", "values": ["a", "b"]}]),
        ("auc", ("domain",), [{"kind": "interval", "low": 0, "high": 1}] * 2),
    ],
    ids=str,
)
def test_parts_that_do_not_fit_together_are_refused(name, path, value):
    """Forged files whose every field is well-formed, but which no first round can have led to."""
    content = json.loads(second_study(name, 1.0).to_json())
    content = changed(content, path, value)
    protocol, two = content["protocol"], len(value) == 2
    protocol["edges"] = protocol["edges"] * 2 if two else [None]
    for stratum, heights in protocol["functions"].items():
        vertices = len(base64.b64decode(heights)) // 2
        protocol["functions"][stratum] = base64.b64encode(bytes(2 * (vertices**2 if two else 2))).decode()
    with pytest.raises(BadFile):
        Study.from_json(signed(content))
