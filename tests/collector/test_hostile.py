"""Requests of people who mean harm: each is refused with its own status, and leaves no trace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from dpairs.report import Report

from .people import histogram, pairwise, projection, report_json, tree
from .sending import KEY, send
from .servers import STUDIES, Answer, Caller, begin, enrol, unchanged

# ---------------------------------------------------------------- tokens


def forgeries(secret: str) -> Iterator[str]:
    name, _, mac = secret.rpartition(".")
    yield secret[:-1]
    yield secret[:-1] + ("0" if secret[-1] != "0" else "1")
    yield mac
    yield name
    yield f"{name}."
    yield f"person.0.2.1.{mac}"
    yield f"gateway.0.0.1000.{mac}"
    yield f"{name}.{mac}.{mac}"
    yield "\xff" * 20
    yield "." * 50
    yield "person.0.0.1." + "0" * 40
    yield "x" * 8000


def test_forged_and_cut_secrets_are_not_known(here, call, study, me):
    with unchanged(here.database):
        for token in forgeries(me["secret"]):
            assert send(call, study, me, token=token).error == (401, "NotAllowed")
        for header in (
            "",
            "Bearer",
            "Bearer ",
            "Basic YTpi",
            me["secret"],
            "Bearer\t",
            "Token " + me["secret"],
        ):
            path = f"{STUDIES}/{study.id}/reports"
            answer = call("POST", path, report_json(study, me, 1), Authorization=header)
            assert answer.error == (401, "NotAllowed")
            assert answer.headers["www-authenticate"] == "Bearer"
    assert send(call, study, me).json == {"outcome": "counted"}


def test_a_secret_of_another_study_is_not_known(here, call, study, me):
    other = histogram(2)
    begin(here.analyst(), other)
    there = enrol(call, other.id, 1)
    assert there["index"] == me["index"]
    with unchanged(here.database):
        assert send(call, study, me, token=there["secret"]).error == (401, "NotAllowed")


def test_a_secret_is_for_one_person_and_one_class(here, call, study, me):
    friend = enrol(call, study.id, 2)
    with unchanged(here.database):
        assert send(call, study, friend, token=me["secret"]).error == (403, "NotYours")
    classes = tree()
    begin(here.analyst(), classes)
    positive, negative = (enrol(call, classes.id, n, stratum=name) for n, name in enumerate(classes.strata))
    assert positive["index"] == negative["index"] == 0
    with unchanged(here.database):
        assert send(call, classes, negative, token=positive["secret"]).error == (403, "NotYours")


def test_a_participant_is_no_analyst_and_an_analyst_no_participant(here, call, ask, study, me):
    with unchanged(here.database):
        assert call("GET", STUDIES, token=me["secret"]).error == (401, "NotAllowed")
        assert send(call, study, me, token=here.token).error == (401, "NotAllowed")
    assert ask("GET", STUDIES).status == 200


def routes(call: Caller) -> Iterator[tuple[str, str, list[str]]]:
    """Every route of the API's description: method, path and tags."""
    for path, methods in call("GET", "/openapi.json").json["paths"].items():
        for method, what in methods.items():
            yield method.upper(), path, what.get("tags", [])


def test_every_analyst_s_route_needs_the_token(here, call, study):
    """Whatever the API's description lists; what it should list is counted."""
    mine = [(method, path) for method, path, tags in routes(call) if "analysts" in tags]
    assert len(mine) >= 11
    bodies = {"/plan": {"statistic": "auc"}, "/advance": {"seen": "round 1"}, "/invitations": {"count": 1}}
    with unchanged(here.database):
        for method, path in mine:
            for token in (None, "x", here.token[:-1], here.token + "x", here.token.swapcase(), " "):
                content = bodies.get("/" + path.rpartition("/")[2]) if method == "POST" else None
                answer = call(method, path.replace("{study}", study.id), content, token=token)
                assert answer.error == (401, "NotAllowed"), (method, path)


def test_routes_that_need_no_token_are_few_and_known(here, call):
    study = pairwise()
    begin(here.analyst(), study)
    places = {"{study}": study.id, "{number}": "1", "{kind}": "offer"}
    free = set()
    for method, path, _ in routes(call):
        where = path
        for name, value in places.items():
            where = where.replace(name, value)
        if call(method, where, {} if method in ("POST", "PUT") else None).status != 401:
            free.add((method, path))
    of = f"{STUDIES}/{{study}}"
    assert free == {
        ("GET", "/healthz"),
        ("GET", "/readyz"),
        ("GET", "/metrics"),
        ("GET", of),
        ("GET", f"{of}/rounds/{{number}}"),
        ("POST", f"{of}/people"),
        ("POST", f"{of}/sites"),
    }


# ---------------------------------------------------------------- reports


def test_another_study_s_report_is_refused_in_both_forms(here, call, study, me):
    other = histogram(2)
    wire = bytes(Report(other, other.strata[0], me["index"], 1))
    path = f"{STUDIES}/{study.id}/reports"
    with unchanged(here.database):
        sent = call("POST", path, report_json(other, me, 1), token=me["secret"])
        assert sent.error == (409, "WrongStudy")
        sent = call("POST", path, body=wire, kind="application/octet-stream", token=me["secret"])
        assert sent.error == (409, "WrongStudy")


@pytest.mark.parametrize("symbol", [-1, 10**3, 2**63, 2**64, 10**30, 1.5, "1", True, None, [1]])
def test_a_symbol_that_no_participant_sends_is_refused(here, call, study, me, symbol):
    with unchanged(here.database):
        assert send(call, study, me, symbol).status == 422


def test_a_wire_form_with_another_symbol_length_or_version_is_refused(here, call, study, me):
    wire = bytes(Report(study, study.strata[0], me["index"], 1))
    path = f"{STUDIES}/{study.id}/reports"
    bad = [wire[:-1], wire + b"\0", b"", b"\0" * len(wire), b"\2" + wire[1:], wire[:-1] + b"\xff"]
    bad += [wire[:9] + b"\7" + wire[10:], wire[:10] + b"\xff" * 8 + wire[18:]]
    with unchanged(here.database):
        for body in bad:
            answer = call("POST", path, body=body, kind="application/octet-stream", token=me["secret"])
            assert answer.status in (409, 422)
            assert answer.error[1] in ("BadValue", "BadParameter", "WrongStudy")
    good = call("POST", path, body=wire, kind="application/octet-stream", token=me["secret"])
    assert good.json == {"outcome": "counted"}


@pytest.mark.parametrize(
    "body",
    [b"", b"null", b"[]", b"{", b'"x"', b"\xff", b"[" * 4000, b'{"a":1,"a":1}', b"1" * 5000, b"{}" * 3000],
    ids=range(10),
)
def test_what_is_no_report_is_refused(here, call, study, me, body):
    path = f"{STUDIES}/{study.id}/reports"
    with unchanged(here.database):
        assert call("POST", path, body=body, kind="application/json", token=me["secret"]).status == 422
        assert call("POST", path, body=body, token=me["secret"]).status == 422


def test_a_second_different_report_is_refused_and_the_first_stays(here, call, study, me):
    assert send(call, study, me, 1).json == {"outcome": "counted"}
    with unchanged(here.database):
        assert send(call, study, me, 2).error == (409, "Conflict")
        assert send(call, study, me, 1).json == {"outcome": "again"}
    assert here.analyst().tally(study.id).n == 1


def test_a_closed_study_knows_old_reports_and_takes_no_new_ones(here, call, study, me):
    late = enrol(call, study.id, 2)
    send(call, study, me)
    here.analyst().close(study.id)
    with unchanged(here.database):
        assert send(call, study, late).error == (409, "Closed")
        assert send(call, study, me).json == {"outcome": "again"}
        assert call("POST", f"{STUDIES}/{study.id}/people", {"request": "0" * 32}).error == (409, "Closed")
        assert enrol(call, study.id, 2) == {**late, "asked_now": False}


def test_a_deleted_study_is_not_there(here, call, study, me):
    here.analyst().delete(study.id)
    with unchanged(here.database):
        assert send(call, study, me).error == (404, "NotFound")
        assert call("POST", f"{STUDIES}/{study.id}/people", {"request": "0" * 32}).error == (404, "NotFound")


def test_whoever_acts_in_another_round_is_refused(here, call):
    study = projection()
    begin(here.analyst(), study)
    people = [enrol(call, study.id, n, stratum="positive") for n in range(64)]
    later = next(each for each in people if not each["asked_now"])
    with unchanged(here.database):
        assert send(call, study, later).error == (409, "NotAsked")


# ---------------------------------------------------------------- enrolment


def test_what_is_no_wish_to_enrol_is_refused(here, call, study):
    pairs = pairwise()
    begin(here.analyst(), pairs)
    good = {"request": "0" * 32}
    bad: list[tuple[str, Any]] = [
        (study.id, {}),
        (study.id, {"request": "0" * 31}),
        (study.id, {"request": "0" * 65}),
        (study.id, {"request": "A" * 32}),
        (study.id, {"request": "0" * 32 + "\n"}),
        (study.id, {**good, "index": 0}),
        (study.id, {**good, "stratum": "nobody"}),
        (study.id, {**good, "stratum": "x" * 101}),
        (study.id, {**good, "stratum": 1}),
        (study.id, {**good, **KEY}),
        (study.id, {**good, "code": "x" * 101}),
        (pairs.id, good),
        (pairs.id, {**good, "key": "5a" * 31}),
        (pairs.id, {**good, "key": "zz" * 32}),
    ]
    with unchanged(here.database):
        for where, wish in bad:
            assert call("POST", f"{STUDIES}/{where}/people", wish).status == 422, wish


def test_a_code_is_for_one_person_of_one_study_and_class(here, call):
    study, other = tree(), tree(2)
    analyst = here.analyst()
    for each in (study, other):
        begin(analyst, each, enrolment="invited")
    (code,), (of_class,) = analyst.invite(study.id, 1), analyst.invite(study.id, 1, "positive")
    (elsewhere,) = analyst.invite(other.id, 1)
    path = f"{STUDIES}/{study.id}/people"

    def wish(request: int, **more: Any) -> Answer:
        return call("POST", path, {"request": f"{request:032x}", **more})

    with unchanged(here.database):
        assert wish(1, stratum="positive").error == (401, "NotAllowed")
        for wrong in ("", "aaaa-aaaa-aaaa-aaaa", elsewhere, code[:-1], code + "a", "' or 1=1 --", "\0"):
            assert wish(1, stratum="positive", code=wrong).error == (401, "NotAllowed")
        assert wish(1, stratum="negative", code=of_class).error == (422, "BadValue")
        assert wish(1, code=code).error == (422, "BadValue")
    assert wish(1, stratum="negative", code=code).status == 201
    with unchanged(here.database):
        assert wish(2, stratum="negative", code=code).error == (409, "Conflict")
        assert wish(1, stratum="negative", code=code).status == 201
    # As a person types it.
    assert wish(3, code=f" {of_class.upper()} ").json["stratum"] == "positive"


def test_a_person_cannot_use_a_gateway_s_request_nor_a_gateway_a_person_s(here, call, ask, study):
    enrol(call, study.id, 1)
    path, (name,) = f"{STUDIES}/{study.id}", study.strata
    assert ask("POST", f"{path}/gateways", {"request": f"{2:032x}", "people": {name: 5}}).status == 201
    with unchanged(here.database):
        assert call("POST", f"{path}/people", {"request": f"{2:032x}"}).error == (409, "Conflict")
        wish = {"request": f"{1:032x}", "people": {name: 5}}
        assert ask("POST", f"{path}/gateways", wish).error == (409, "Conflict")
