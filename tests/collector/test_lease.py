"""One writer at a time, whatever happens to it or to its database; and commits whose answers were lost."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest
from sqlalchemy import create_engine, delete, insert, select, text, update

from dpairs.collector import Service, Settings, lease, schema
from dpairs.errors import Closed, NotAllowed, ServiceError, Unavailable

from .people import Population, histogram, report_json
from .proxy import Proxy
from .servers import (
    HASTE,
    IN_HASTE,
    STUDIES,
    Answer,
    Caller,
    InThread,
    begin,
    collector,
    contents,
    enrol,
    stored_symbols,
    until,
)

pytestmark = pytest.mark.usefixtures("hasty")


def send(running: InThread, study, given, symbol: int = 1) -> Answer:
    path = f"{STUDIES}/{study.id}/reports"
    return Caller(running.base)("POST", path, report_json(study, given, symbol), token=given["secret"])


@pytest.fixture
def network(server) -> Iterator[Proxy]:
    made = Proxy(server.socket)
    yield made
    made.close()


def take_over(database: str) -> Service:
    """Another collector, which has waited until the first one's term was over."""
    service = Service(Settings(database=database, standby=True))
    until(lambda: service.lease.valid, "the taking over")
    return service


def test_a_collector_that_lost_its_lease_writes_nothing_and_says_so(cluster):
    """Two collectors on one database, as after a restart of PostgreSQL that lost an advisory lock."""
    database, study = cluster.new_database(), histogram()
    with collector(database) as old:
        begin(old.analyst(), study)
        people = [enrol(Caller(old.base), study.id, n) for n in range(3)]
        assert send(old, study, people[0]).status == 200
        steal(database)
        before = contents(database)
        answers = [send(old, study, each) for each in people[1:]]
        assert {each.error for each in answers} == {(503, "Unavailable")}
        assert contents(database) == before
        # It shows nothing either: another collector may have counted more by now.
        call = Caller(old.base, old.token)
        assert call("GET", f"{STUDIES}/{study.id}/estimate").error == (503, "Unavailable")
        assert call("GET", "/readyz").error == (503, "Unavailable")
        assert call("GET", "/healthz").status == 200
        # Nobody else shows life, so it takes over again by itself, and knows all that is stored.
        until(lambda: call("GET", "/readyz").status == 200, "its own return")
        assert send(old, study, people[0]).json == {"outcome": "again"}
        assert old.analyst().tally(study.id).n == 1


def steal(database: str) -> None:
    engine = create_engine(database)
    with engine.begin() as connection:
        connection.execute(text("update lease set epoch = epoch + 1, serial = serial + 1, holder = 'thief'"))
    engine.dispose()


def test_a_study_that_another_collector_closed_takes_no_report_of_the_old_one(cluster, monkeypatch):
    database, study = cluster.new_database(), histogram()
    with collector(database) as old:
        begin(old.analyst(), study)
        given = enrol(Caller(old.base), study.id, 1)
        # The old one is stopped for longer than its term, between two requests.
        with monkeypatch.context() as frozen, collector(database, old.token, standby=True) as new:
            frozen.setattr(old.service.database, "statements", _frozen)
            until(lambda: new.service.lease.valid, "the taking over", 20)
            new.analyst().close(study.id)
            frozen.undo()
            assert send(old, study, given).status == 503
            assert send(new, study, given).error == (409, "Closed")
        assert stored_symbols(database) == {}


def _frozen() -> None:
    raise Unavailable("frozen")


def test_a_standby_waits_for_a_commit_that_is_under_way(cluster):
    """PostgreSQL may finish a dead collector's last commit after the collector is gone."""
    database, study = cluster.new_database(), histogram()
    with collector(database) as dying:
        begin(dying.analyst(), study)
        serial = dying.service.studies[study.id].now.serial
        epoch = dying.service.lease.epoch
    engine = create_engine(database)
    last = engine.connect()
    last.execute(
        text("update lease set serial = serial + 1, holder = 'dying' where epoch = :epoch"), {"epoch": epoch}
    )
    last.execute(insert(schema.reports), {"round": serial, "stratum": 0, "index": 0, "symbol": 1})
    with collector(database, dying.token, standby=True) as following:
        assert not following.service.lease.valid
        last.commit()
        last.close()
        engine.dispose()
        until(lambda: following.service.lease.valid, "the taking over")
        assert following.analyst().tally(study.id).n == 1


def test_failover_takes_less_than_ten_seconds(serve, cluster):
    database, study = cluster.new_database(), histogram()
    first = serve(database, before=IN_HASTE)
    begin(first.analyst(), study)
    crowd = Population(study, 20, seed=1)
    crowd.enrol(first.transport())
    crowd.answer(first.transport(), study)
    standby = serve(database, "--standby", before=IN_HASTE)
    standby.token = first.token
    first.kill()
    began = time.monotonic()
    until(lambda: Caller(standby.base)("GET", "/readyz").status == 200, "the taking over", 30)
    took = time.monotonic() - began
    print(f"failover after a kill: {took:.1f} s")
    assert took < 10 * HASTE
    assert standby.analyst().tally(study.id) == crowd.offline(study)
    assert crowd.send(standby.transport(), 3) == "again"


def test_a_collector_that_stops_lets_its_standby_begin_at_once(cluster, monkeypatch):
    monkeypatch.setattr(lease, "TERM", 120.0)  # however busy the machine is, nobody's term is over here
    database = cluster.new_database()
    first = InThread(database)
    with collector(database, standby=True) as standby:
        call = Caller(standby.base)
        assert call("GET", "/healthz").status == 200
        assert call("GET", "/readyz").error == (503, "Unavailable")
        first.stop()
        until(lambda: call("GET", "/readyz").status == 200, "the taking over", lease.TERM / 2)


def test_a_restart_of_the_server_loses_neither_the_lease_nor_a_report(server):
    database, study = server.new_database(), histogram()
    with collector(database) as running:
        begin(running.analyst(), study)
        people = [enrol(Caller(running.base), study.id, n) for n in range(2)]
        assert send(running, study, people[0]).status == 200
        epoch = running.service.lease.epoch
        server.halt("immediate")
        answer = send(running, study, people[1])
        assert answer.error == (503, "Unavailable")
        assert "retry-after" in answer.headers
        server.start()
        until(lambda: send(running, study, people[1]).status == 200, "the report")
        assert running.service.lease.epoch == epoch
        assert running.analyst().tally(study.id).n == 2


def test_a_frozen_server_is_answered_for_within_seconds(server):
    """A server that neither answers nor closes: people are told to come back, and nothing is lost."""
    database, study = server.new_database(), histogram()
    with collector(database) as running:
        begin(running.analyst(), study)
        people = [enrol(Caller(running.base), study.id, n) for n in range(2)]
        server.signal(signal.SIGSTOP)
        began = time.monotonic()
        assert send(running, study, people[0]).error == (503, "Unavailable")
        assert time.monotonic() - began < lease.TERM + 4
        assert Caller(running.base)("GET", "/healthz").status == 200
        server.signal(signal.SIGCONT)
        until(lambda: send(running, study, people[0]).status == 200, "the report", 30)
        assert running.analyst().tally(study.id).n == 1


@pytest.mark.parametrize("cuts", [1, 3])
@pytest.mark.parametrize("what", ["report", "enrolment"])
def test_a_commit_whose_answer_was_lost_is_counted_once(server, network, what, cuts):
    """60 were acknowledged and stored, and 48 in the estimate, until a restart.

    The second that is lost is that of the question what has become of the first.
    """
    server.new_database()
    study = histogram()
    with collector(network.address()) as running:
        begin(running.analyst(), study)
        crowd = Population(study, 30, seed=3)
        line = running.transport(60.0)
        if what == "enrolment":
            network.cut_commits = cuts
        crowd.enrol(line)
        if what == "report":
            network.cut_commits = cuts
        crowd.answer(line, study)
        assert network.cut == cuts
        assert sorted(given["index"] for given in crowd.enrolled.values()) == list(range(30))
        # Counted now, not after a restart.
        assert running.analyst().tally(study.id) == crowd.offline(study)
        assert running.analyst().progress(study.id)["enrolled"] == {study.strata[0]: 30}


def test_a_network_that_swallows_everything_does_not_hold_a_collector_for_ever(server, network):
    server.new_database()
    study = histogram()
    with collector(network.address()) as running:
        begin(running.analyst(), study)
        given = enrol(Caller(running.base), study.id, 1)
        network.mode = "swallow"
        assert send(running, study, given).error == (503, "Unavailable")
        # New connections pass; those that hang are given up.
        network.mode = "pass"
        until(lambda: send(running, study, given).status == 200, "the report", 40)
        assert running.analyst().tally(study.id).n == 1


def test_secrets_of_a_study_that_is_begun_again_are_new(running):
    study = histogram()
    begin(running.analyst(), study)
    first = enrol(Caller(running.base), study.id, 1)
    running.analyst().delete(study.id)
    begin(running.analyst(), study)
    second = enrol(Caller(running.base), study.id, 2)
    assert second["index"] == first["index"]
    assert second["secret"] != first["secret"]
    assert send(running, study, first).error == (401, "NotAllowed")
    assert send(running, study, second).json == {"outcome": "counted"}


def test_what_is_in_memory_and_cannot_be_trusted_is_read_anew(running, monkeypatch):
    """An error after the commit, where memory follows the table."""
    study = histogram()
    begin(running.analyst(), study)
    people = [enrol(Caller(running.base), study.id, n) for n in range(2)]
    live = running.service.studies[study.id]

    def broken(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(live.now, "count", broken)
    send(running, study, people[0])
    until(lambda: send(running, study, people[1]).status == 200, "the second report", 20)
    assert running.service.studies[study.id] is not live
    assert running.analyst().tally(study.id).n == 2
    with pytest.raises((Closed, NotAllowed, ServiceError)):
        running.analyst().advance(study.id)


def test_an_older_copy_under_a_running_collector_voids_all_secrets(here):
    """It gives indices again that others have; their secrets must not be the same."""
    study, call = histogram(), Caller(here.base)
    begin(here.analyst(), study)
    given = enrol(call, study.id, 1)
    engine = create_engine(here.database)
    with engine.connect() as connection:
        serial = connection.scalar(select(schema.lease.c.serial))
    lost = enrol(call, study.id, 2)
    with engine.begin() as connection:  # as it was before
        connection.execute(delete(schema.people).where(schema.people.c.index == lost["index"]))
        connection.execute(update(schema.lease).values(serial=serial))
    engine.dispose()
    assert call("GET", "/readyz").status == 503
    until(lambda: call("GET", "/readyz").status == 200, "taking over again")
    other = enrol(call, study.id, 3)
    assert other["index"] == lost["index"]
    assert other["secret"] != lost["secret"]
    path = f"{STUDIES}/{study.id}/reports"
    assert call("POST", path, report_json(study, lost, 0), token=lost["secret"]).status == 401
    assert call("POST", path, report_json(study, other, 1), token=other["secret"]).status == 200
    again = enrol(call, study.id, 1)
    assert again["index"] == given["index"]
    assert again["secret"] != given["secret"]
    epoch = here.service.lease.epoch
    here.service.lease.lose()
    until(lambda: here.service.lease.epoch > epoch and here.service.lease.held, "taking over once more")
    assert enrol(call, study.id, 1)["secret"] == again["secret"]
