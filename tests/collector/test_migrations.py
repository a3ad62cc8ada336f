"""The schema: made whole or not at all, the one the code names, and never a newer one."""

from __future__ import annotations

import threading

import pytest
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, insert, inspect, text

from dpairs.collector import Service, Settings, schema
from dpairs.collector.database import Database
from dpairs.errors import Unavailable

from .people import histogram
from .servers import begin, collector, dpairs


def test_the_migrations_make_the_schema_that_the_code_names(database):
    Database(database).close()
    engine = create_engine(database)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []
        # The comparison would notice.
        connection.execute(text("alter table growth drop column value"))
        assert len(compare_metadata(context, schema.metadata)) == 1
        connection.rollback()
    engine.dispose()


def test_opening_again_changes_nothing(database):
    Database(database).close()
    Database(database).close()
    engine = create_engine(database)
    assert set(inspect(engine).get_table_names()) == {*schema.metadata.tables, "alembic_version"}
    engine.dispose()


def test_a_newer_schema_is_refused_in_one_sentence(database):
    Database(database).close()
    engine = create_engine(database)
    with engine.begin() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    engine.dispose()
    with pytest.raises(Unavailable, match="made by another version of dpairs"):
        Database(database)
    if not database.startswith("sqlite"):
        return
    done = dpairs("serve", "--port", "0", "--database", database)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: the database was made by another version of dpairs")
    assert done.stderr.strip().count("\n") == 0


def test_a_first_start_that_is_cut_off_can_be_repeated(database, monkeypatch):
    real = op.create_table
    made: list[str] = []

    def cut(name, *columns, **options):
        if len(made) == 4:
            raise KeyboardInterrupt
        made.append(name)
        return real(name, *columns, **options)

    monkeypatch.setattr(op, "create_table", cut)
    with pytest.raises(KeyboardInterrupt):
        Database(database)
    monkeypatch.undo()
    engine = create_engine(database)
    assert set(inspect(engine).get_table_names()) <= {"alembic_version"}
    engine.dispose()
    with collector(database) as again:
        begin(again.analyst(), histogram())


def test_a_new_collector_counts_what_a_dead_one_is_still_committing(cluster):
    """PostgreSQL may finish a dead collector's last commit after it has noticed that its lock is free."""
    database = cluster.new_database()
    with collector(database) as dying:
        study = begin(dying.analyst(), histogram())
        serial = dying.service.studies[study].now.serial
    engine = create_engine(database)
    last = engine.connect()
    last.execute(insert(schema.reports), {"round": serial, "stratum": 0, "index": 0, "symbol": 1})
    found: list[int] = []

    def start() -> None:
        service = Service(Settings(database=database))
        found.append(service.find(study).now.tally.n)
        service.close()

    following = threading.Thread(target=start)
    following.start()
    # It either waits for the commit, or has not seen the report.
    following.join(1.0)
    last.commit()
    last.close()
    engine.dispose()
    following.join(30)
    assert found == [1]


def test_a_second_collector_on_the_same_database_is_refused(database, monkeypatch):
    monkeypatch.setattr("dpairs.collector.database.PATIENCE", 0.3)
    first = Database(database)
    with pytest.raises(Unavailable, match="another collector uses this database"):
        Database(database)
    first.close()
    Database(database).close()
