"""Reports that PostgreSQL stores in one statement with the lease: late, doubtful, overtaken, or odd."""

from __future__ import annotations

import contextlib
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import insert, select, text
from sqlalchemy.exc import DBAPIError

from dpairs.collector import database as database_module
from dpairs.collector import intake, schema
from dpairs.collector.changes import OnCommit
from dpairs.collector.database import Database, direct
from dpairs.collector.lease import Lease
from dpairs.collector.live_study import CLOSED, OPEN
from dpairs.errors import Closed, Conflict

from .people import histogram, report_json
from .servers import STUDIES, Caller, begin, collector, enrol, until


def stored(database: Database) -> dict[tuple[int, int, int], int]:
    with database.reading() as connection:
        return {tuple(row[:3]): row[3] for row in connection.execute(select(schema.reports))}


def sent(index: int, symbol: int, state: str = OPEN) -> Any:
    """A report of a round that takes reports, or does not."""
    asked = SimpleNamespace(serial=1 if state == OPEN else 2)
    live: Any = SimpleNamespace(state=state, now=asked, retired=False)
    return intake.Sent(live, asked, 0, index, symbol)  # type: ignore[arg-type]


def told(outcomes: list[Any] | None) -> list[Any]:
    assert outcomes is not None
    return [each.result if isinstance(each, OnCommit) else each for each in outcomes]


def store(database: Database, lease: Lease, reports: list[Any]) -> list[Any] | None:
    with database.statements() as connection:
        return intake.take_at_once(connection, lease.renewal, reports)


def test_a_statement_that_was_given_up_does_nothing_when_it_arrives(opened, lease):
    """A network may deliver it after its connection was cut, and the collector was told that it is not there.

    It would be stored and not counted; and the commit that follows, if its answer is lost, would be taken
    for done.
    """
    late = lease.renewal
    assert not lease.settle()
    with opened.statements() as connection:
        assert intake.take_at_once(connection, late, [sent(5, 1)]) is None
    assert stored(opened) == {}
    with opened.writing() as connection:
        lease.renew(connection)
    assert lease.settle()
    lease.committed(time.monotonic())
    for _ in range(3):
        assert not lease.settle()
    assert told(store(opened, lease, [sent(5, 1)])) == [intake.COUNTED]


def test_who_gave_up_its_lease_need_not_wait_for_itself(opened, lease):
    """Everybody waited for a whole term whenever the answer to a commit was lost."""
    before = lease.renewal
    lease.lose()
    assert not Lease(opened, "another").take()
    assert lease.take()
    with opened.statements() as connection:
        assert intake.take_at_once(connection, before, [sent(5, 1)]) is None


@pytest.mark.parametrize("ends", ["commit", "rollback"])
def test_a_statement_that_waits_for_a_taking_over_stores_only_if_it_fails(opened, lease, ends):
    """PostgreSQL looks at the row again when the lock is free, and inserts nothing if it does not match."""
    with opened.engine.connect() as other, ThreadPoolExecutor(1) as pool:
        other.execute(text("update lease set epoch = epoch + 1, serial = serial + 1, holder = 'other'"))
        waiting = pool.submit(store, opened, lease, [sent(5, 1)])

        def waits() -> int:
            with opened.reading() as connection:
                return connection.scalar(text("select count(*) from pg_locks where not granted")) or 0

        until(waits, "the wait for the lock")
        getattr(other, ends)()
        outcomes = waiting.result(30)
    assert (outcomes is None) == (ends == "commit")
    assert stored(opened) == ({} if ends == "commit" else {(1, 0, 5): 1})


def test_what_another_transaction_is_about_to_store_is_not_stored_twice(opened, lease):
    with opened.engine.connect() as other, ThreadPoolExecutor(1) as pool:
        other.execute(insert(schema.reports), {"round": 1, "stratum": 0, "index": 5, "symbol": 7})
        waiting = pool.submit(store, opened, lease, [sent(4, 1), sent(5, 1), sent(6, 1)])
        with opened.reading() as connection:
            locks = text("select count(*) from pg_locks where not granted")
            until(lambda: connection.scalar(locks), "the wait for the row")
        other.commit()
        first, second, third = told(waiting.result(30))
    assert (first, third) == (intake.COUNTED, intake.COUNTED)
    assert isinstance(second, Conflict)
    assert stored(opened) == {(1, 0, 4): 1, (1, 0, 5): 7, (1, 0, 6): 1}


def test_odd_groups_come_out_as_on_sqlite(opened, lease, tmp_path):
    """Nothing open, doubles, contradictions, closed rounds, and symbols that need all 64 bits."""
    high = [2**63 - 1, 2**63, 2**64 - 1]
    groups = [
        [sent(1, 1, CLOSED)],
        [sent(1, 1), sent(1, 1), sent(1, 2), sent(2, 0), sent(1, 1, CLOSED)],
        [sent(10 + n, symbol) for n, symbol in enumerate(high)],
        [sent(10 + n, symbol) for n, symbol in enumerate(high)],
        [sent(12, 2**63), sent(2**53 + 1, 3), sent(1, 1)],
    ]
    found: list[list[Any]] = []
    with contextlib.closing(Database(f"sqlite:///{tmp_path}/a.sqlite")) as other:
        for group in groups:
            outcomes = store(opened, lease, group)
            lease.committed(time.monotonic())
            with other.writing() as connection:
                beside = intake.take(connection, group)
            kinds = [each if isinstance(each, str) else type(each) for each in told(outcomes)]
            assert kinds == [each if isinstance(each, str) else type(each) for each in told(beside)]
            found.append(kinds)
        assert stored(opened) == stored(other)
    assert found[:2] == [
        [Closed],
        [intake.COUNTED, intake.AGAIN, Conflict, intake.COUNTED, Closed],
    ]
    assert found[2:] == [[intake.COUNTED] * 3, [intake.AGAIN] * 3, [Conflict, intake.COUNTED, intake.AGAIN]]
    assert sorted(stored(opened).values()) == [-(2**63), -1, 0, 1, 3, 2**63 - 1]


@pytest.mark.parametrize("statement", ["select 1/0", "select pg_terminate_backend(pg_backend_pid())"])
def test_what_follows_an_error_is_committed_all_the_same(opened, lease, statement):
    """SQLAlchemy opens another connection in place of a lost one, which must commit by itself, too."""
    with opened.statements() as connection:
        with contextlib.suppress(DBAPIError):
            direct(connection, statement)
        assert told(intake.take_at_once(connection, lease.renewal, [sent(5, 1)])) == [intake.COUNTED]
    assert stored(opened) == {(1, 0, 5): 1}
    lease.committed(time.monotonic())
    assert told(store(opened, lease, [sent(6, 1)])) == [intake.COUNTED]
    assert stored(opened) == {(1, 0, 5): 1, (1, 0, 6): 1}


def test_a_connection_that_died_while_nobody_used_it_is_replaced(opened, lease, monkeypatch):
    assert told(store(opened, lease, [sent(5, 1)])) == [intake.COUNTED]
    lease.committed(time.monotonic())
    with opened.statements() as connection:
        (killed,) = direct(connection, "select pg_backend_pid()").fetchone()
    with opened.writing() as connection:
        connection.execute(text(f"select pg_terminate_backend({killed}, 5000)"))
    monkeypatch.setattr(opened._line, "_used", -database_module.IDLE)
    assert told(store(opened, lease, [sent(6, 1)])) == [intake.COUNTED]


def test_readers_who_have_all_connections_do_not_keep_the_writer_from_storing(opened, lease):
    with contextlib.ExitStack() as stack:
        pool = opened.engine.pool
        for _ in range(pool.size() + pool._max_overflow):
            stack.enter_context(opened.reading())
        assert told(store(opened, lease, [sent(5, 1)])) == [intake.COUNTED]


@pytest.mark.parametrize("statement", ["select 1/0", "select pg_terminate_backend(pg_backend_pid())"])
def test_no_connection_that_commits_by_itself_comes_into_other_hands(opened, statement):
    with opened.statements() as connection, contextlib.suppress(DBAPIError):
        direct(connection, statement)
    with opened.reading() as connection:
        assert not connection.connection.driver_connection.autocommit


@pytest.mark.usefixtures("hasty")
def test_an_error_after_the_statement_shows_no_estimate_without_what_it_stored(cluster, monkeypatch):
    """Whatever fails once PostgreSQL has committed, memory and tables must not differ."""
    study = histogram()
    with collector(cluster.new_database()) as running:
        begin(running.analyst(), study)
        given = enrol(Caller(running.base), study.id, 1)

        usual, failures = intake._taken, iter([MemoryError])

        def fail(*arguments: Any) -> Any:
            for error in failures:
                raise error
            return usual(*arguments)

        monkeypatch.setattr(intake, "_taken", fail)
        call = Caller(running.base, running.token)
        path, body = f"{STUDIES}/{study.id}", report_json(study, given, 1)
        assert call("POST", f"{path}/reports", body, token=given["secret"]).error == (503, "Unavailable")
        seen = until(lambda: call("GET", f"{path}/tally").status == 200 and running.analyst(), "the tally")
        assert seen.tally(study.id).n == 1
        assert call("POST", f"{path}/reports", body, token=given["secret"]).json == {"outcome": "again"}
