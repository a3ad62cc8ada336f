"""SQLite's log: copied by a thread of its own, in nobody's way, and empty when data are to be forgotten."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from dpairs.collector import checkpoints
from dpairs.collector.database import Database

from .servers import until


@pytest.fixture
def database(tmp_path: Path, monkeypatch) -> Iterator[Database]:
    monkeypatch.setattr(checkpoints, "EVERY", 0.01)
    opened = Database(f"sqlite:///{tmp_path}/a.sqlite")
    opened.forget()  # the tables are in the file
    yield opened
    opened.close()


def serial(file: Path) -> int:
    """What the file itself says, whatever stands in the log beside it."""
    with contextlib.closing(sqlite3.connect(f"file:{file}?immutable=1", uri=True)) as line:
        return int(line.execute("select serial from lease").fetchone()[0])


def commit(database: Database, number: int) -> None:
    with database.writing() as connection:
        connection.execute(text("update lease set serial = :number"), {"number": number})


def test_what_is_committed_comes_into_the_file_without_the_writer(database, tmp_path):
    commit(database, 7)
    until(lambda: serial(tmp_path / "a.sqlite") == 7, "the copy")


def test_the_log_begins_again_instead_of_growing(database, tmp_path):
    """A commit takes two pages at least: 300 that are never copied would need 2.4 MB."""
    for number in range(300):
        commit(database, number)
        if number % 10 == 9:
            until(lambda: serial(tmp_path / "a.sqlite") == number, "the copy")  # noqa: B023
    assert (tmp_path / "a.sqlite-wal").stat().st_size < 300_000


def test_a_reader_of_an_older_state_stops_nobody(database, tmp_path):
    commit(database, 1)
    with database.reading() as reader:
        reader.exec_driver_sql("begin")
        assert reader.exec_driver_sql("select serial from lease").scalar_one() == 1
        for number in range(2, 40):
            commit(database, number)
        assert reader.exec_driver_sql("select serial from lease").scalar_one() == 1
    commit(database, 40)
    until(lambda: serial(tmp_path / "a.sqlite") == 40, "the copy")


def test_what_is_forgotten_is_not_in_the_log(database, tmp_path):
    """Also when the thread copies at that moment: SQLite would then do nothing, and say so in a number."""
    for number in range(50):
        commit(database, number)
        database.forget()
        assert (tmp_path / "a.sqlite-wal").stat().st_size == 0
