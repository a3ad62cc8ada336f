"""The mailbox of pairs: what it refuses, and what it forgets."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import create_engine, update

from dpairs.client import Device, join
from dpairs.collector import relay, schema
from dpairs.errors import BadMessage
from dpairs.garbled.session import message_sizes
from dpairs.garbled.wire import Kind

from .people import pairwise
from .servers import STUDIES, Caller, collector, contents, unchanged, until
from .two import ORDER, Two


def test_a_pair_takes_its_turns_without_ever_meeting(two):
    kinds = []
    for who in (two.garbler, two.evaluator, two.garbler, two.evaluator):
        before = two.go(who)
        engine = create_engine(two.running.database)
        with engine.connect() as connection:
            kinds.append(sorted(Kind(row.kind).name for row in connection.execute(schema.messages.select())))
        engine.dispose()
    assert kinds == [["OFFER"], ["CHOICE", "OFFER"], ["CHOICE", "CIRCUIT", "OFFER", "TABLE"], []]
    assert before.state == "done"
    assert two.analyst.tally(two.study.id).n == 1
    assert two.go(two.garbler).state == "done"
    assert list(two.go(two.garbler).pairs.values()) == ["done"]
    mine, theirs = (two.go(who).fingerprints[two.number] for who in (two.garbler, two.evaluator))
    assert mine == theirs[::-1]


def test_messages_of_somebody_else_or_of_another_kind_are_refused(running, tmp_path):
    two = Two(running, tmp_path, people=4)
    call = Caller(running.base)
    with unchanged(running.database):
        for kind in ORDER:
            sender = two.evaluator if kind in ("choice", "labels") else two.garbler
            for who in range(4):
                if who != sender:
                    answer = call("PUT", two.path(kind), body=b"x", token=two.secret(who))
                    assert answer.error == (403, "NotYours"), (kind, who)
            assert call("PUT", two.path(kind), body=b"x").error == (401, "NotAllowed")
        for kind in ORDER[:3]:
            receiver = two.garbler if kind == "choice" else two.evaluator
            for who in range(4):
                error = call("GET", two.path(kind), token=two.secret(who)).error
                assert error == ((404, "NotYet") if who == receiver else (403, "NotYours"))
        for kind in ("table", "labels", "other", "OFFER", "1"):
            assert call("GET", two.path(kind), token=two.secret(two.evaluator)).status == 422
        assert call("PUT", two.path("other"), body=b"x", token=two.secret(two.garbler)).status == 422
        for number in (99, 2**53 - 1):
            answer = call("PUT", two.path("offer", number), body=b"x", token=two.secret(two.garbler))
            assert answer.error == (404, "NotFound")
        for number in (-1, 2**53):
            answer = call("PUT", two.path("offer", number), body=b"x", token=two.secret(two.garbler))
            assert answer.status == 422


def test_a_message_that_is_too_large_or_other_than_before_is_refused(two):
    call, token = Caller(two.running.base), two.secret(two.garbler)
    limit = message_sizes(two.study.protocol.function)[Kind.OFFER] + 64
    with unchanged(two.running.database):
        answer = call("PUT", two.path("offer"), body=b"x" * (limit + 1), token=token)
        assert answer.error == (413, "TooLarge")
    assert call("PUT", two.path("offer"), body=b"x" * limit, token=token).json == {"state": "waiting"}
    with unchanged(two.running.database):
        assert call("PUT", two.path("offer"), body=b"x" * limit, token=token).json == {"state": "waiting"}
        assert call("PUT", two.path("offer"), body=b"y" * limit, token=token).error == (409, "Conflict")
    # What comes out is what went in, and it is no message of the partner's.
    assert call("GET", two.path("offer"), token=two.secret(two.evaluator)).body == b"x" * limit
    with pytest.raises(BadMessage, match="not sealed by the partner"):
        two.go(two.evaluator)


def test_a_pair_that_is_done_takes_no_more(two):
    two.finish()
    call = Caller(two.running.base)
    with unchanged(two.running.database):
        for kind in ORDER:
            token = two.secret(two.evaluator if kind in ("choice", "labels") else two.garbler)
            assert call("PUT", two.path(kind), body=b"x", token=token).json == {"state": "done"}
        for kind in ORDER[:3]:
            token = two.secret(two.garbler if kind == "choice" else two.evaluator)
            assert call("GET", two.path(kind), token=token).error == (404, "NotYet")
    assert two.analyst.tally(two.study.id).n == 1


def test_garbage_for_the_collector_ends_the_pair_and_counts_nothing(two):
    call = Caller(two.running.base)
    assert call("PUT", two.path("table"), body=b"x", token=two.secret(two.garbler)).status == 200
    answer = call("PUT", two.path("labels"), body=b"x", token=two.secret(two.evaluator))
    assert answer.json == {"state": "done"}
    assert contents(two.running.database)["messages"] == []
    assert two.analyst.progress(two.study.id)["pairs"]["refused"] == 1
    assert two.analyst.tally(two.study.id).n == 0
    with unchanged(two.running.database):
        answer = call("PUT", two.path("offer"), body=b"x", token=two.secret(two.garbler))
        assert answer.json == {"state": "done"}
    assert list(two.go(two.garbler).pairs.values()) == ["done"]


def all_that_the_garbler_sees(two, spoil: bool) -> list[object]:
    """Both take their turns; a spoiled pair's evaluator got labels that the circuit cannot give."""
    call, token = Caller(two.running.base), two.secret(two.garbler)
    for who in (two.garbler, two.evaluator, two.garbler):
        two.go(who)
    if spoil:
        sizes = message_sizes(two.study.protocol.function)
        call("PUT", two.path("labels"), body=bytes(sizes[Kind.LABELS]), token=two.secret(two.evaluator))
    else:
        two.go(two.evaluator)
    seen: list[object] = [
        call("PUT", two.path(kind), body=b"x", token=token).json for kind in ("offer", "table")
    ]
    seen.append(call("GET", two.path("choice"), token=token).error)
    mine = call("GET", f"{STUDIES}/{two.study.id}/pairs", token=token).json["pairs"]
    seen += [each["state"] for each in mine]
    return [*seen, list(two.go(two.garbler).pairs.values())]


def test_a_garbler_does_not_learn_whether_its_pair_was_refused(running, tmp_path):
    """Selective failure: a garbler who makes a pair fail for some values sees nothing that tells."""
    two = Two(running, tmp_path, people=4)
    index = {two.data(who)["index"]: who for who in range(4)}
    seen, counted = [], []
    for place, spoil in enumerate((False, True)):
        two.number = int(two.pairs.numbers[place])
        two.garbler = index[int(two.pairs.garblers[place])]
        two.evaluator = index[int(two.pairs.evaluators[place])]
        seen.append(all_that_the_garbler_sees(two, spoil))
        counted.append(two.analyst.tally(two.study.id).n)
    assert seen[0] == seen[1]
    assert counted == [1, 1], "the control: the first was counted, and the second was not"


def test_pairs_before_they_are_formed_and_after_the_end(running, tmp_path):
    study = pairwise()
    link = running.analyst().begin(study, "Not yet")
    device, call = Device(tmp_path / "early"), Caller(running.base)
    join(link, {"x": 1, "y": 1}, device=device, transport=running.transport())
    token = json.loads((device.home / f"{study.id}.json").read_text())["secret"]
    with unchanged(running.database):
        assert call("GET", f"{STUDIES}/{study.id}/pairs", token=token).error == (404, "NotYet")
        path = f"{STUDIES}/{study.id}/pairs/0/offer"
        assert call("PUT", path, body=b"x", token=token).error == (404, "NotFound")
        body = {"study": study.id, "stratum": "pairs", "index": 0, "symbol": 0}
        assert call("POST", f"{STUDIES}/{study.id}/reports", body, token=token).status == 422


def test_a_closed_study_takes_no_messages(two):
    two.go(two.garbler)
    two.analyst.close(two.study.id)
    with unchanged(two.running.database):
        token = two.secret(two.evaluator)
        answer = Caller(two.running.base)("PUT", two.path("choice"), body=b"x", token=token)
        assert answer.error == (409, "Closed")


def test_a_message_that_nobody_fetches_expires_and_the_pair_is_reported(database, tmp_path):
    with collector(database) as first:
        two = Two(first, tmp_path)
        two.go(two.garbler)
        progress = two.analyst.progress(two.study.id)["pairs"]
        assert progress["waiting for the evaluator"] == 1
    engine = create_engine(database)
    with engine.begin() as connection:  # as if it had been sent a day ago
        at = schema.messages.c.at
        connection.execute(update(schema.messages).values(at=at - 24 * 3600))
    engine.dispose()
    with collector(database, first.token, message_hours=25.0) as patient:
        assert patient.analyst().progress(two.study.id)["pairs"]["waiting for the evaluator"] == 1
    with collector(database, first.token, message_hours=23.0) as strict:
        analyst = strict.analyst()
        until(lambda: "expired" in analyst.progress(two.study.id)["pairs"], "the expiry")
        progress = analyst.progress(two.study.id)["pairs"]
        assert progress["expired"] == 1
        assert progress["waiting for the evaluator"] == progress["waiting for the garbler"] == 0
        assert contents(database)["messages"] == []
        late = two.go(0, strict.transport())
        assert list((late.pairs or {}).values()) == ["expired"]


def test_people_who_never_come_are_counted_by_whose_turn_it_is(running, tmp_path):
    two = Two(running, tmp_path, people=6)
    index = {two.data(who)["index"]: who for who in range(6)}
    garblers = [index[int(each)] for each in two.pairs.garblers]
    evaluators = [index[int(each)] for each in two.pairs.evaluators]
    two.go(garblers[0])
    two.go(garblers[1])
    two.go(evaluators[1])
    progress = two.analyst.progress(two.study.id)["pairs"]
    assert progress["pairs"] == 3
    assert progress["waiting for the garbler"] == 2
    assert progress["waiting for the evaluator"] == 1
    assert progress["done"] == 0


def test_nobody_is_woken_by_a_message_that_they_do_not_wait_for(two, monkeypatch):
    """Every message made all who waited look for theirs: a thousand of them held up everybody else."""
    looks: list[Kind] = []
    usual = relay.fetch

    def fetch(connection, live, number, kind):
        looks.append(kind)
        return usual(connection, live, number, kind)

    monkeypatch.setattr(relay, "fetch", fetch)
    call = Caller(two.running.base)
    with ThreadPoolExecutor() as pool:
        wish = pool.submit(call, "GET", f"{two.path('offer')}?wait=25", token=two.secret(two.evaluator))
        until(lambda: looks, "a look")
        for _ in range(5):
            call("PUT", two.path("table"), body=b"x", token=two.secret(two.garbler))
        assert looks == [Kind.OFFER]
        call("PUT", two.path("offer"), body=b"y", token=two.secret(two.garbler))
        assert wish.result().body == b"y"
    assert looks == [Kind.OFFER] * 2
