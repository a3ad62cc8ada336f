"""Reports that the event loop stores by itself: alone, together, late, doubtful, and beside the thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, OperationalError

from dpairs.collector import database as database_module
from dpairs.collector import intake
from dpairs.collector.changes import Handler, Work
from dpairs.collector.database import Database
from dpairs.collector.express import Express
from dpairs.collector.lease import Lease, LeaseLost
from dpairs.collector.live_study import CLOSED
from dpairs.collector.writer import Writer

from .people import histogram, report_json
from .servers import STUDIES, Caller, begin, collector, enrol
from .test_statements import sent, stored

SOON = 30.0
"""Seconds after which a test fails that waits for something."""


class Beside:
    """In place of the writer's thread: notes what is left to it."""

    def __init__(self) -> None:
        self.turn, self.commits, self.wants = threading.Lock(), 0, False
        self.left: list[Work] = []
        self.handed: list[tuple[list[Work], Exception]] = []

    def put(self, work: Work) -> None:
        self.left.append(work)

    def stored(self, _: Handler) -> None:
        self.commits += 1

    def hand_over(self, work: list[Work], error: Exception) -> None:
        self.handed.append((work, error))
        self.turn.release()


class Loop:
    """An express in a loop of its own."""

    def __init__(self, database: Database, lease: Lease, most: int = 4096) -> None:
        self.beside = Beside()
        self.database, self.lease = database, lease
        self.express = Express(database, lease, intake.AT_ONCE, self.beside, most)
        with database.statements():
            pass  # opens it

    def run(self, act: Callable[[], Awaitable[Any]]) -> Any:
        """What this returns, with nothing left behind."""

        async def inside() -> Any:
            self.express.serve(asyncio.get_running_loop())
            try:
                return await asyncio.wait_for(act(), SOON)
            finally:
                self.express.serve(None)

        found = asyncio.run(inside())
        assert self.beside.turn.acquire(blocking=False), "nobody gave the turn back"
        return found

    def send(self, report: Any) -> asyncio.Future[Any]:
        future = asyncio.get_running_loop().create_future()
        assert self.express.take((intake.take, report, future))
        return future

    async def over(self) -> Exception:
        """What was handed over at last."""
        while not self.beside.handed:
            await asyncio.sleep(0.01)
        ((_, error),) = self.beside.handed
        return error

    async def waits(self) -> None:
        """Until the statement waits for a lock."""
        with self.database.reading() as connection:
            while not connection.scalar(text("select count(*) from pg_locks where not granted")):
                await asyncio.sleep(0.01)


@pytest.fixture
def lease(lease) -> Lease:
    lease.held = True
    return lease


@pytest.fixture
def counted(monkeypatch) -> list[Any]:
    """What is counted, in place of a round that counts."""
    rows: list[Any] = []
    monkeypatch.setattr(intake, "_count", lambda _, new: lambda: rows.extend(new))
    return rows


@pytest.fixture
def loop(opened, lease, counted) -> Loop:
    return Loop(opened, lease)


def test_those_that_come_meanwhile_share_the_next_statement(loop, counted):
    async def act() -> list[Any]:
        return await asyncio.gather(*[loop.send(sent(index, index % 2)) for index in range(5)])

    assert loop.run(act) == [intake.COUNTED] * 5
    assert loop.beside.commits == 2
    assert (loop.beside.left, loop.beside.handed) == ([], [])
    assert stored(loop.database) == {(1, 0, index): index % 2 for index in range(5)}
    assert sorted(counted) == [(1, 0, index, index % 2) for index in range(5)]
    assert not loop.lease.settle(), "the serial is that of the row"


def test_no_statement_has_more_than_so_many(opened, lease, counted):
    loop = Loop(opened, lease, most=2)

    async def act() -> list[Any]:
        return await asyncio.gather(*[loop.send(sent(index, 1)) for index in range(6)])

    assert loop.run(act) == [intake.COUNTED] * 6
    assert (loop.beside.commits, len(counted)) == (4, 6)


def test_a_statement_that_does_not_fit_into_the_line_is_sent_in_pieces(loop, counted):
    """PostgreSQL may read more slowly than the loop writes."""
    first, symbol = 10**18, 2**63 - 1

    async def act() -> list[Any]:
        return await asyncio.gather(*[loop.send(sent(first + index, symbol)) for index in range(4096)])

    assert loop.run(act) == [intake.COUNTED] * 4096
    assert (loop.beside.commits, len(counted)) == (2, 4096)


def test_what_is_not_new_is_left_to_the_thread_and_counted_once(loop, counted):
    async def act() -> Any:
        first = loop.send(sent(0, 0))
        group = [sent(0, 1), sent(1, 1), sent(1, 0), sent(2, 1, CLOSED), sent(3, 1)]
        futures = [loop.send(each) for each in group]
        done = await asyncio.gather(first, futures[1], futures[4])
        return done, [work[2] for work in loop.beside.left] == [futures[0], futures[2], futures[3]]

    assert loop.run(act) == ([intake.COUNTED] * 3, True)
    assert stored(loop.database) == {(1, 0, 0): 0, (1, 0, 1): 1, (1, 0, 3): 1}
    assert len(counted) == 3


def test_what_is_not_for_the_loop_is_the_threads(loop):
    async def act() -> list[bool]:
        def taken(handler: Any = intake.take, report: Any = None) -> bool:
            future = asyncio.get_running_loop().create_future()
            return loop.express.take((handler, report or sent(5, 1), future))

        answers = [taken(intake.take_batches)]
        loop.beside.wants = True
        answers.append(taken())
        loop.beside.wants = False
        with loop.beside.turn:
            answers.append(taken())
        retired = sent(5, 1)
        retired.live.retired = True
        answers.append(taken(report=retired))
        loop.lease.held = False
        answers.append(taken())
        loop.lease.held = True
        loop.database._line._used = -database_module.IDLE
        answers.append(taken())
        return answers

    assert loop.run(act) == [False] * 6
    assert stored(loop.database) == {}


def test_whoever_waits_is_left_to_a_thread_that_wants_its_turn(loop):
    async def act() -> Any:
        first = loop.send(sent(0, 1))
        second = loop.send(sent(1, 1))
        loop.beside.wants = True
        return await first, second.done()

    assert loop.run(act) == (intake.COUNTED, False)
    assert [item.index for _, item, _ in loop.beside.left] == [1]


@pytest.mark.parametrize("happened", [False, True])
def test_a_lost_answer_is_handed_over_with_all_that_wait(loop, counted, happened):
    async def act() -> Exception:
        with loop.database.engine.connect() as other:
            other.execute(text("select * from lease for update"))
            loop.send(sent(0, 1))
            await loop.waits()
            loop.send(sent(1, 1))
            with loop.database.writing() as connection:
                ended = "select pg_terminate_backend(pid) from pg_locks where not granted"
                if not happened:
                    connection.execute(text(ended))
            if happened:  # the answer comes, and cannot be read
                loop.express._flight.read = lambda *_: 1 / 0
                other.rollback()
            return await loop.over()

    error = loop.run(act)
    assert isinstance(error, ZeroDivisionError if happened else OperationalError)
    assert [item.index for _, item, _ in loop.beside.left] == [1]
    assert counted == []
    loop.database.cut()
    assert loop.lease.settle() is happened
    assert stored(loop.database) == ({(1, 0, 0): 1} if happened else {})


def test_an_error_of_the_server_is_one_of_sqlalchemys(loop):
    async def act() -> Exception:
        loop.send(sent(0, 1))
        await asyncio.sleep(0)
        with loop.database.writing() as connection:
            connection.execute(text("alter table reports add check (symbol < 5)"))
        while loop.express._flight is not None:
            await asyncio.sleep(0.01)
        loop.send(sent(1, 7))
        return await loop.over()

    error = loop.run(act)
    assert isinstance(error, DBAPIError)
    assert "check constraint" in str(error.orig)


def test_a_lost_lease_is_handed_over(loop, counted):
    with loop.database.writing() as connection:
        connection.execute(text("update lease set epoch = epoch + 1, serial = serial + 1"))

    async def act() -> Exception:
        loop.send(sent(0, 1))
        return await loop.over()

    assert isinstance(loop.run(act), LeaseLost)
    assert (stored(loop.database), counted) == ({}, [])


def test_what_cannot_be_counted_costs_the_lease(loop, monkeypatch):
    monkeypatch.setattr(intake, "_count", lambda *_: lambda: 1 / 0)

    async def act() -> Exception:
        loop.send(sent(0, 1))
        return await loop.over()

    assert isinstance(loop.run(act), LeaseLost)


def test_a_statement_without_an_answer_is_given_up(loop, monkeypatch):
    monkeypatch.setattr(database_module, "STUCK", 0.3)

    async def act() -> Exception:
        with loop.database.engine.connect() as other:
            other.execute(text("select * from lease for update"))
            loop.send(sent(0, 1))
            return await loop.over()

    assert "does not answer" in str(loop.run(act))
    loop.database.cut()
    # The server goes on when it gets the lock: only after `settle` is it certain what the table holds.
    happened = loop.lease.settle()
    assert stored(loop.database) == ({(1, 0, 0): 1} if happened else {})


def test_a_connection_that_ends_while_nobody_asks_wakes_nobody_again(loop):
    async def act() -> bool:
        await loop.send(sent(0, 1))
        with loop.database.writing() as connection:
            others = "select pg_terminate_backend(pid) from pg_stat_activity where query like 'with fence%'"
            connection.execute(text(others))
        while loop.express._ear is not None:
            await asyncio.sleep(0.01)
        return True

    assert loop.run(act)


def test_the_loop_stores_reports_and_keeps_nobody_else_waiting(cluster, monkeypatch):
    """Enrolments are the thread's: they get through while reports come without a pause."""
    left: list[Any] = []
    usual = Writer.put

    def put(self: Writer, work: Work) -> None:
        left.append(work[0])
        usual(self, work)

    monkeypatch.setattr(Writer, "put", put)
    study = histogram()
    with collector(cluster.new_database()) as running, ThreadPoolExecutor(4) as pool:
        begin(running.analyst(), study)
        call = Caller(running.base)
        people = [enrol(call, study.id, number) for number in range(60)]
        path = f"{STUDIES}/{study.id}/reports"

        def report(some: list[Any]) -> list[Any]:
            mine = Caller(running.base)
            return [
                mine("POST", path, report_json(study, given, 1), token=given["secret"]).json for given in some
            ]

        sending = [pool.submit(report, people[start::3]) for start in range(3)]
        for number in range(60, 80):
            enrol(call, study.id, number)
        assert [answer for each in sending for answer in each.result(SOON)] == [{"outcome": "counted"}] * 60
        assert running.analyst().tally(study.id).n == 60
    assert left.count(intake.take) < 60
