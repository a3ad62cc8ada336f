"""Names and studies of somebody who means harm."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

import dpairs
from dpairs.study import Study

from .people import histogram, pairwise, tree
from .sending import KEY
from .servers import STUDIES, Caller, begin, enrol, unchanged

NAMES = [
    "'; drop table studies; --",
    '<script>alert("x")</script>',
    "{{7*7}}",
    "%s%n%x",
    "\U0001f600 ü",
    "a\nb\tc",
]


@pytest.mark.parametrize("name", NAMES)
def test_names_are_kept_as_they_are_and_never_run(running, name):
    ask, study = Caller(running.base, running.token), histogram()
    wish = {"title": name, "question": name * 3, "study": json.loads(study.to_json())}
    begun = ask("POST", STUDIES, wish)
    assert begun.status == 201
    for path in (f"{STUDIES}/{study.id}", f"{STUDIES}/{study.id}/progress", STUDIES):
        answer = ask("GET", path)
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "script-src 'self'" in answer.headers["content-security-policy"]
        found = answer.json
        shown = found[0] if path == STUDIES else found.get("study", found) if "stages" in found else found
        assert shown["title"] == name
    # Where somebody's words come back in an error, they are JSON too.
    answer = ask("POST", f"{STUDIES}/{study.id}/people", {"request": "0" * 32, "stratum": name})
    assert answer.status == 422
    assert answer.headers["content-type"] == "application/json"


def test_a_name_that_a_database_cannot_keep_is_refused(running):
    ask, study = Caller(running.base, running.token), histogram()
    with unchanged(running.database):
        for name in ("a\0b", "", "x" * 201):
            wish = {"title": name, "study": json.loads(study.to_json())}
            assert ask("POST", STUDIES, wish).status == 422
        wish = {"title": "a", "question": "a\0b", "study": json.loads(study.to_json())}
        assert ask("POST", STUDIES, wish).status == 422


ODD = ["a\u202eb", "\u2066", "\x1b[31mred", "a\x07", "\x9b1m", "\x7f", "a\0b"]
FINE = [
    "\u0627\u0644\u0633\u0643\u0631\u064a",
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\U0001f468\u200d\U0001f469",
    "=1+1",
    "<b>",
    "a\u0301",
]


def _wishes(text: str) -> Iterator[dict[str, Any]]:
    """A study with this text in every place that an analyst can set."""
    study = json.loads(tree().to_json())
    wish = {"title": "a", "study": study}
    yield {**wish, "title": text}
    yield {**wish, "question": text}
    for place in ("organisation", "purpose", "contact", "group_question"):
        yield {**wish, "words": {place: text}}
    yield {**wish, "words": {"groups": {"positive": text}}}
    for place in ("question", "unit", "low", "high"):
        yield {**wish, "words": {"columns": {"score": {place: text}}}}
    yield {**wish, "words": {"columns": {"score": {"answers": {"0": text}}}}}
    yield {**wish, "words": {"columns": {"score": {"answers": {text: "0"}}}}}
    domain = dpairs.Categories([text, "b"])
    entropy = Study.create("collision_entropy", protocol="histogram", epsilon=1.0, domain=domain, seed=1)
    yield {**wish, "study": json.loads(entropy.to_json())}


@pytest.mark.parametrize("text", [*ODD, "", " \t\n", "\u200b\u200d", "\ufeff"])
def test_words_that_nobody_sees_or_that_turn_others_around_are_refused(here, ask, text):
    """One such mark in a question turned around what the page promises behind it."""
    with unchanged(here.database):
        for wish in _wishes(text):
            if text in ODD or wish["title"] == text:
                answer = ask("POST", STUDIES, wish)
                assert answer.error[0] == 422, wish
                assert answer.json["message"].isprintable()


@pytest.mark.parametrize("text", FINE)
def test_words_of_any_language_are_taken(here, ask, text):
    for wish in _wishes(text):
        begun = ask("POST", STUDIES, wish)
        assert begun.status == 201, begun
        assert ask("DELETE", f"{STUDIES}/{begun.json['id']}").status == 204


def test_what_is_no_study_is_refused(here, ask):
    good = json.loads(histogram().to_json())
    begun = {"title": "a", "study": good}
    bad: list[bytes] = [
        b"",
        b"\xff",
        b"[" * 100_000,
        b'{"title":"a","study":' + b'{"a":' * 900 + b"1" + b"}" * 900 + b"}",
        b'{"title":"a","study":{"a":NaN}}',
        b'{"title":"a","study":{"a":1e999}}',
        b'{"title":"a","study":{"\\ud800":1}}',
        b'{"title":"\\ud800","study":{}}',
        json.dumps({**begun, "more": 1}).encode(),
        json.dumps({**begun, "people": 0}).encode(),
        json.dumps({**begun, "enrolment": "shut"}).encode(),
        json.dumps({**begun, "study": {**good, "epsilon": -1}}).encode(),
        json.dumps({**begun, "study": {**good, "id": "0" * 64}}).encode(),
        json.dumps(
            {**begun, "study": {**good, "domain": [{"kind": "categories", "values": ["\ud800", "b"]}]}}
        ).encode(),
    ]
    with unchanged(here.database):
        for body in bad:
            answer = ask("POST", STUDIES, body=body, kind="application/json")
            assert answer.status == 422, (body[:80], answer)
            assert answer.error


def test_a_study_of_pairs_that_was_closed_early_can_be_watched(here, ask, call):
    study = pairwise()
    begin(here.analyst(), study)
    alone = enrol(call, study.id, 1, **KEY)
    here.analyst().close(study.id)
    progress = ask("GET", f"{STUDIES}/{study.id}/progress")
    assert progress.status == 200
    assert progress.json["pairs"] is None
    assert call("GET", f"{STUDIES}/{study.id}/pairs", token=alone["secret"]).error == (404, "NotFound")
    path = f"{STUDIES}/{study.id}/pairs/0/offer"
    assert call("GET", path, token=alone["secret"]).error == (404, "NotFound")
