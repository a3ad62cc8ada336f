"""SQLite's log: copied by a thread of its own, in nobody's way, and empty when data are to be forgotten."""

from __future__ import annotations

import contextlib
import itertools
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import event, text

from dpairs.collector import checkpoints
from dpairs.collector import database as databases
from dpairs.collector.checkpoints import Checkpoints
from dpairs.collector.database import Database

from .servers import until


@pytest.fixture
def store(tmp_path: Path, monkeypatch) -> Iterator[Database]:
    monkeypatch.setattr(checkpoints, "EVERY", 0.01)
    opened = Database(f"sqlite:///{tmp_path}/a.sqlite")
    opened.forget()  # the tables are in the file
    yield opened
    opened.close()


def serial(file: Path) -> int:
    """What the file itself says, whatever stands in the log beside it."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as line:
        return int(line.execute("select serial from lease").fetchone()[0])


def commit(store: Database, number: int) -> None:
    with store.writing() as connection:
        connection.execute(text("update lease set serial = :number"), {"number": number})


def test_what_is_committed_comes_into_the_file_without_the_writer(store, tmp_path):
    commit(store, 7)
    until(lambda: serial(tmp_path / "a.sqlite") == 7, "the copy")


def test_the_log_begins_again_instead_of_growing(store, tmp_path):
    """A commit takes two pages at least: 100 that are never copied would need 800 kB."""
    for number in range(100):
        commit(store, number)
        if number % 10 == 9:
            until(lambda: serial(tmp_path / "a.sqlite") == number, "the copy")  # noqa: B023
    assert (tmp_path / "a.sqlite-wal").stat().st_size < 200_000


@contextlib.contextmanager
def older(store: Database) -> Iterator[None]:
    """Somebody who reads the state as it is now for long, such as a backup does."""
    with store.reading() as reader:
        reader.exec_driver_sql("begin")
        reader.exec_driver_sql("select serial from lease").scalar_one()
        yield


def test_a_reader_of_an_older_state_stops_nobody(store, tmp_path):
    commit(store, 1)
    with store.reading() as reader:
        reader.exec_driver_sql("begin")
        assert reader.exec_driver_sql("select serial from lease").scalar_one() == 1
        for number in range(2, 40):
            commit(store, number)
        assert reader.exec_driver_sql("select serial from lease").scalar_one() == 1
    commit(store, 40)
    until(lambda: serial(tmp_path / "a.sqlite") == 40, "the copy")


def test_what_is_forgotten_is_not_in_the_log(store, tmp_path):
    """Also when the thread copies at that moment: SQLite would then do nothing, and say so in a number."""
    for number in range(20):
        commit(store, number)
        store.forget()
        assert (tmp_path / "a.sqlite-wal").stat().st_size == 0


def test_forgetting_keeps_no_commit_waiting_for_a_reader(store, tmp_path, monkeypatch):
    """SQLite waits for readers with the writer's lock in its hand: nothing was stored for 30 seconds."""
    monkeypatch.setattr(checkpoints, "WAIT", 0.3)
    commit(store, 1)
    waits: list[float] = []
    with older(store):
        commit(store, 2)
        forgetting = threading.Thread(target=store.forget)
        forgetting.start()
        while forgetting.is_alive():
            began = time.monotonic()
            commit(store, 3)
            waits.append(time.monotonic() - began)
        assert (tmp_path / "a.sqlite-wal").stat().st_size > 0
    assert max(waits) < checkpoints.WAIT
    # Nobody asks again, and still it is forgotten as soon as it can be.
    until(lambda: (tmp_path / "a.sqlite-wal").stat().st_size == 0, "the empty log")


def test_what_a_reader_held_up_is_copied_without_another_commit(store, tmp_path):
    looks: list[str] = []

    def look(_: object, __: object, statement: str, *___: object) -> None:
        looks.extend([statement] if "data_version" in statement else [])

    event.listen(store.engine, "before_cursor_execute", look)
    with older(store):
        commit(store, 9)
        seen = len(looks)
        until(lambda: len(looks) > seen + 2, "looks that cannot copy it")
        assert serial(tmp_path / "a.sqlite") != 9
    event.remove(store.engine, "before_cursor_execute", look)
    until(lambda: serial(tmp_path / "a.sqlite") == 9, "the copy")


def test_a_log_that_a_reader_made_long_is_cut_again(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoints, "EVERY", 0.01)
    monkeypatch.setattr(databases, "LOG_PAGES", 16)
    with contextlib.closing(Database(f"sqlite:///{tmp_path}/a.sqlite")) as store:
        with older(store):
            for number in range(40):
                commit(store, number)
        longest = (tmp_path / "a.sqlite-wal").stat().st_size
        until(lambda: serial(tmp_path / "a.sqlite") == 39, "the copy")

        numbers = itertools.count(40)

        def cut() -> bool:
            commit(store, next(numbers))
            return (tmp_path / "a.sqlite-wal").stat().st_size < longest / 2

        until(cut, "the shorter log")


def test_the_thread_outlives_a_failure(store, tmp_path):
    """It died with the first error that was not the driver's, and nobody noticed."""
    broken = threading.Event()

    def refuse(*_: object) -> None:
        broken.set()
        raise MemoryError

    event.listen(store.engine, "before_cursor_execute", refuse)
    until(broken.is_set, "the failure")
    event.remove(store.engine, "before_cursor_execute", refuse)
    commit(store, 5)
    until(lambda: serial(tmp_path / "a.sqlite") == 5, "the copy")


def test_the_log_cannot_begin_again_while_it_is_copied(tmp_path):
    """SQLite before 3.51.3 can lose commits otherwise."""
    could: list[bool] = []

    def look(_: object, __: object, statement: str, *___: object) -> None:
        if "PASSIVE" in statement:
            with contextlib.closing(sqlite3.connect(tmp_path / "a.sqlite", timeout=0)) as line:
                could.append(line.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0] == 0)

    with contextlib.closing(Database(f"sqlite:///{tmp_path}/a.sqlite")) as store:
        copying = Checkpoints(store.engine, contextlib.nullcontext)
        copying.close()
        event.listen(store.engine, "before_cursor_execute", look)
        with store.engine.connect() as connection, store.engine.connect() as reader:
            commit(store, 1)
            copying.look(connection, reader, -1)
        event.remove(store.engine, "before_cursor_execute", look)
    assert could == [False]
