"""Sessions with PostgreSQL: durable, able to write, never endless, and ended for those who are frozen."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError, InvalidRequestError

from dpairs.collector import Service, Settings, lease, schema
from dpairs.collector.database import Database, direct
from dpairs.collector.lease import Lease, Renewal
from dpairs.errors import BadParameter, Unavailable

from .people import histogram, report_json
from .servers import STUDIES, Caller, begin, collector, enrol, until

pytestmark = pytest.mark.usefixtures("hasty")
Pair = tuple[Database, Database]
COPY = 'copy reports (round, stratum, "index", symbol) from stdin'


@pytest.fixture
def address(cluster) -> str:
    return str(cluster.new_database())


@pytest.fixture
def pair(address) -> Iterator[Pair]:
    """Two collectors' databases, which are one."""
    with contextlib.closing(Database(address)) as first, contextlib.closing(Database(address)) as second:
        yield first, second


def commit(database: Database, held: Lease) -> None:
    began = time.monotonic()
    with database.writing() as connection:
        held.renew(connection)
    held.committed(began)


@pytest.mark.parametrize("within", ["transaction", "copy"])
def test_who_is_frozen_within_a_transaction_keeps_no_standby_waiting(pair, within):
    """PostgreSQL waits without an end for the rows of a copy, and its row of the lease stays locked."""
    first, second = pair
    held, standby = Lease(first, "first"), Lease(second, "second")
    assert held.take()
    with contextlib.suppress(DBAPIError), first.engine.connect() as connection:
        held.renew(connection)
        driver: Any = connection.connection.driver_connection
        if within == "copy":
            driver.pgconn.send_query(COPY.encode())
        began = time.monotonic()
        until(standby.take, "the taking over", 30)
        assert time.monotonic() - began < 2 * lease.TERM + 2
        direct(connection, "select 1")
        pytest.fail("the frozen session goes on")


def test_a_transaction_that_goes_on_is_not_ended(pair):
    """A restore holds the row for as long as it takes: nobody may end it who only waits for the row."""
    first, second = pair
    held, standby = Lease(first, "first"), Lease(second, "second")
    assert held.take()
    with first.transaction(long=True) as connection:
        held.renew(connection)
        until_then = time.monotonic() + 2 * lease.TERM
        while time.monotonic() < until_then:
            assert connection.scalar(text("select 1")) == 1
            assert not standby.take()
        connection.commit()
    held.committed(time.monotonic())
    assert not standby.take()


def test_a_standby_notices_that_the_database_went_back(pair):
    """Indices that lost commits gave away are given again, so secrets that were given for them are void."""
    first, second = pair
    held, standby = Lease(first, "first"), Lease(second, "second")
    assert held.take()
    for _ in range(3):
        commit(first, held)
    assert not standby.take()
    with first.writing() as connection:
        connection.execute(schema.lease.update().values(serial=schema.lease.c.serial - 2))
    until(standby.take, "the taking over")
    assert standby.set_back


def test_a_server_that_only_reads_is_refused_until_it_writes(cluster):
    there = cluster.new_database("reads")

    def setting(change: str) -> None:
        elsewhere = Database(cluster.address("template1"), lambda _: None)
        with contextlib.closing(elsewhere), elsewhere.writing() as connection:
            connection.execute(text(f"alter database reads {change}"))

    with contextlib.closing(Database(there)) as database:
        setting("set default_transaction_read_only = on")
        database.engine.dispose()
        with pytest.raises(DBAPIError, match="read-only"), database.writing():
            pass
        with pytest.raises(Unavailable, match="read-only"):
            Database(there)
        setting("reset default_transaction_read_only")
        with database.writing() as connection:
            assert connection.scalar(text("select 1")) == 1


def test_a_session_that_refused_to_write_is_not_used_again(pair):
    """After a failover an old one may answer, and refuse every change."""
    database, _ = pair

    def session(connection: Connection) -> int:
        return int(connection.scalar(text("select pg_backend_pid()")) or 0)

    with pytest.raises(DBAPIError), database.writing() as connection:  # noqa: PT012
        refused = session(connection)
        connection.execute(text("set transaction_read_only = on"))
        connection.execute(schema.lease.update().values(serial=1))
    with database.writing() as connection:
        assert session(connection) != refused


def test_what_is_acknowledged_is_on_the_disk_and_an_address_may_name_options(cluster):
    there = cluster.new_database("hurries")
    with contextlib.closing(Database(there)) as database, database.writing() as connection:
        connection.execute(text("alter database hurries set synchronous_commit = off"))
    with contextlib.closing(Database(f"{there}&options=-csearch_path=public,mine")) as database:
        for opened in (database.reading(), database.statements()):
            with opened as connection:
                assert direct(connection, "show synchronous_commit").fetchone() == ("on",)
                assert direct(connection, "show search_path").fetchone() == ("public,mine",)


@pytest.mark.parametrize("way", ["reading", "transaction"])
def test_a_connection_is_given_back_while_it_is_watched(pair, monkeypatch, way):
    """An answer to the ROLLBACK at the end that never came held a request for ever."""
    database, _ = pair
    watched: list[int] = []
    usual = Connection.close

    def close(connection: Connection) -> None:
        watched.append(len(database._watchdog._watched))
        usual(connection)

    with getattr(database, way)() as connection:
        direct(connection, "select 1")
        monkeypatch.setattr(Connection, "close", close)
    assert watched == [1]


def test_connections_that_show_no_life_fail_all_changes_at_once(here):
    """Each of 4096 changes that waited was tried alone, for seconds."""
    calls: list[int] = []

    def dead(_: Connection, items: Sequence[Renewal]) -> list[Any]:
        calls.append(len(items))
        raise InvalidRequestError("This connection is closed")

    outcomes = here.service.writer._commit(dead, [Renewal()] * 5)
    assert calls == [5]
    assert [type(outcome) for outcome in outcomes] == [Unavailable] * 5


def test_a_role_with_few_connections_is_enough(cluster, address):
    """Readers had all of them before the first report came, and readiness did not see it."""
    study = histogram()
    with contextlib.closing(Database(address)) as database, database.writing() as connection:
        connection.execute(text("create role few login connection limit 3"))
        for what in ("schema public", "all tables in schema public", "all sequences in schema public"):
            connection.execute(text(f"grant all on {what} to few"))
    try:
        with collector(address.replace("postgres@", "few@", 1)) as running:
            begin(running.analyst(), study)
            given = enrol(Caller(running.base), study.id, 1)
            read = running.service.database.reading
            refused = pytest.raises(DBAPIError, match="too many connections")
            with read(), read(), refused, read():
                pass
            body, path = report_json(study, given, 1), f"{STUDIES}/{study.id}/reports"
            answer = Caller(running.base)("POST", path, body, token=given["secret"])
            assert answer.json == {"outcome": "counted"}
            assert Caller(running.base)("GET", "/readyz").status == 200
    finally:
        with contextlib.closing(Database(address)) as database, database.writing() as connection:
            connection.execute(text("drop owned by few"))
            connection.execute(text("drop role few"))


def test_a_standby_makes_no_token_that_nobody_sees(sqlite):
    with pytest.raises(BadParameter, match="standby"):
        Service(Settings(database=sqlite, standby=True), new_analyst=True)
