"""One stored study that cannot be read spoils no other, is named with its reason, and is not written to."""

from __future__ import annotations

import json

import pytest
import structlog
from sqlalchemy import create_engine, insert, text, update

from dpairs.collector import schema
from dpairs.errors import Unavailable

from .people import Population, histogram, pairwise, report_json, tree
from .servers import STUDIES, Caller, begin, collector, contents, enrol, unchanged, until


def no_round(connection, study):
    connection.execute(schema.rounds.delete().where(schema.rounds.c.study == study.id))


def another_study(connection, study):
    body = histogram(seed=99).to_json()
    connection.execute(update(schema.rounds).where(schema.rounds.c.study == study.id).values(body=body))


def cut_off(connection, study):
    body = study.to_json()[:-20]
    connection.execute(update(schema.rounds).where(schema.rounds.c.study == study.id).values(body=body))


def no_words(connection, study):
    connection.execute(update(schema.studies).where(schema.studies.c.id == study.id).values(words="{"))


def other_words(connection, study):
    connection.execute(update(schema.studies).where(schema.studies.c.id == study.id).values(words="[1]"))


def nobody_knows_who_may_enrol(connection, study):
    connection.execute(update(schema.studies).where(schema.studies.c.id == study.id).values(enrolment="x"))


def no_state(connection, study):
    connection.execute(update(schema.studies).where(schema.studies.c.id == study.id).values(state="ope"))


def other_class(connection, study):
    row = {"study": study.id, "stratum": 7, "index": 0, "count": 1, "request": "f" * 32}
    connection.execute(insert(schema.people), row)


def other_symbol(connection, study):
    mine = schema.rounds.c.study == study.id
    serial = connection.scalar(schema.rounds.select().with_only_columns(schema.rounds.c.serial).where(mine))
    row = {"round": serial, "stratum": 0, "index": 77, "symbol": 12345}
    connection.execute(insert(schema.reports), row)


WAYS = [no_round, another_study, cut_off, no_words, other_words, no_state, other_class, other_symbol]
WAYS += [nobody_knows_who_may_enrol]


def spoil(database, study, how):
    engine = create_engine(database)
    with engine.begin() as connection:
        how(connection, study)
    engine.dispose()


@pytest.mark.parametrize("how", WAYS)
def test_the_others_are_served_and_the_reason_is_told(sqlite, how):
    broken, whole = histogram(seed=1), histogram(seed=2)
    with collector(sqlite) as first:
        token = first.token
        for study in (broken, whole):
            begin(first.analyst(), study)
        crowd = Population(whole, 20, seed=3)
        crowd.enrol(first.transport())
        crowd.answer(first.transport(), whole)
        secret = enrol(Caller(first.base), broken.id, 1)["secret"]
    spoil(sqlite, broken, how)
    with structlog.testing.capture_logs() as logs, collector(sqlite, token) as again:
        ask, call = Caller(again.base, token), Caller(again.base)
        assert [each["id"] for each in ask("GET", STUDIES).json] == [whole.id]
        assert again.analyst().tally(whole.id).n == 20
        (named,) = ask("GET", "/api/v1/unreadable").json
        assert (named["id"], named["title"]) == (broken.id, "A title")
        assert named["reason"]
        assert "\n" not in named["reason"]
        assert call("GET", "/api/v1/unreadable").error == (401, "NotAllowed")
        assert b"dpairs_unreadable_studies 1.0" in call("GET", "/metrics").body
        with unchanged(sqlite):
            report = report_json(broken, {"index": 0, "stratum": broken.strata[0]}, 0)
            path = f"{STUDIES}/{broken.id}"
            for answer in (
                call("GET", path),
                call("POST", f"{path}/people", {"request": "e" * 32}),
                call("POST", f"{path}/reports", report, token=secret),
                ask("GET", f"{path}/progress"),
                ask("POST", f"{path}/close"),
                ask("POST", f"{path}/invitations", {"count": 1}),
                ask("DELETE", path),
            ):
                assert answer.error == (503, "Unavailable"), answer
            new = {"study": json.loads(broken.to_json()), "title": "Again"}
            assert ask("POST", STUDIES, new).error == (409, "Conflict")
        # Whoever runs the other study notices nothing.
        enrol(call, whole.id, 999)
    (line,) = [each for each in logs if each["event"].startswith("a study cannot be read")]
    assert (line["study"], line["reason"]) == (broken.id, named["reason"])


def test_messages_of_a_study_that_cannot_be_read_do_not_expire(sqlite):
    broken, whole = pairwise(seed=1), pairwise(seed=2)
    with collector(sqlite) as first:
        token = first.token
        for study in (broken, whole):
            begin(first.analyst(), study)

    def old(connection, study):
        for each in (broken, whole):
            row = {"study": each.id, "pair": 0, "kind": 1, "body": b"x", "at": -(10**9)}
            connection.execute(insert(schema.messages), row)
        no_words(connection, study)

    spoil(sqlite, broken, old)
    with collector(sqlite, token) as again:
        assert list(again.service.unreadable) == [broken.id]
        until(lambda: len(contents(sqlite)["failures"]) == 1, "the other study's pair expires")
    assert len(contents(sqlite)["messages"]) == 1
    assert broken.id in contents(sqlite)["messages"][0]


def test_a_database_that_fails_is_no_study_that_cannot_be_read(sqlite):
    with collector(sqlite) as first:
        token = first.token
        begin(first.analyst(), tree())
    engine = create_engine(sqlite)
    with engine.begin() as connection:
        connection.execute(text("drop table reports"))
    engine.dispose()
    with pytest.raises(Unavailable, match="reports"), collector(sqlite, token):
        pass
