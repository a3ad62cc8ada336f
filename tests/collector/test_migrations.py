"""The schema: made whole or not at all, the one the code names, and never a newer one."""

from __future__ import annotations

import hashlib
import hmac
from pathlib import Path

import alembic.command
import alembic.config
import pytest
from alembic import op
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, inspect, text

from dpairs.collector import Service, Settings, migrations, schema
from dpairs.collector.database import Database
from dpairs.errors import Unavailable

from ..processes import dpairs
from .people import histogram
from .servers import STUDIES, Caller, begin, collector, contents, enrol, stored_symbols


def test_the_migrations_make_the_schema_that_the_code_names(database):
    Database(database).close()
    engine = create_engine(database)
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, schema.metadata) == []
        # The comparison would notice.
        connection.execute(text("alter table estimate_history drop column value"))
        assert len(compare_metadata(context, schema.metadata)) == 1
        connection.rollback()
    engine.dispose()


def test_opening_again_changes_nothing(database):
    Database(database).close()
    Database(database).close()
    engine = create_engine(database)
    assert set(inspect(engine).get_table_names()) == {*schema.metadata.tables, "alembic_version"}
    engine.dispose()


def test_a_database_without_an_encoding_can_be_used(cluster):
    plain = cluster.address("without_encoding")
    engine = create_engine(cluster.new_database(), isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text("drop database if exists without_encoding"))
        made = "create database without_encoding encoding 'SQL_ASCII' template template0"
        connection.execute(text(made))
    with collector(plain) as running:
        running.analyst().begin(histogram(), "Größe und Glück")
        assert Caller(running.base, running.token)("GET", STUDIES).json[0]["title"] == "Größe und Glück"
    with engine.connect() as connection:
        connection.execute(text("drop database without_encoding"))
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


def test_a_database_of_the_first_version_is_brought_up_to_date(database):
    """A study that runs goes on: its people's secrets stay good, and messages wait as long as new ones."""
    engine = create_engine(database)
    config = alembic.config.Config()
    config.set_main_option("script_location", str(Path(migrations.__file__).parent))
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, "0001")
        key, study = bytes(range(32)), histogram()
        connection.execute(text("insert into meta (name, value) values ('key', :key)"), {"key": key})
        connection.execute(
            text(
                "insert into studies (id, title, question, state, enrolment, created) "
                "values (:id, 'Old', '', 'open', 'open', 1)"
            ),
            {"id": study.id},
        )
        row = {"study": study.id, "body": study.to_json()}
        connection.execute(
            text("insert into rounds (serial, study, number, body) values (1, :study, 1, :body)"), row
        )
        person = {"study": study.id, "request": f"{1:032x}"}
        connection.execute(
            text(
                'insert into people (study, stratum, "index", count, request) '
                "values (:study, 0, 0, 1, :request)"
            ),
            person,
        )
        old = {"round": 1, "stratum": 0, "index": 5, "symbol": 2}
        connection.execute(text("insert into reports values (:round, :stratum, :index, :symbol)"), old)
        connection.execute(
            text("insert into growth values (1, 1, 1700000000, 0.5, 0.1), (1, 2, 1700000000, null, null)")
        )
        message = {"study": study.id, "body": b"sealed"}
        connection.execute(
            text(
                "insert into messages (study, pair, kind, body, at) values (:study, 1, 1, :body, 1700000000)"
            ),
            message,
        )
    engine.dispose()
    mac = hmac.new(key, f"{study.id}/person.0.0.1".encode(), hashlib.sha256).hexdigest()[:40]
    with collector(database) as now:
        call = Caller(now.base)
        report = {"study": study.id, "stratum": study.strata[0], "index": 0, "symbol": 1}
        answer = call("POST", f"{STUDIES}/{study.id}/reports", report, token=f"person.0.0.1.{mac}")
        assert answer.json == {"outcome": "counted"}
        assert contents(database)["messages"]
        assert enrol(call, study.id, 1)["secret"] == f"person.0.0.1.{mac}"
        assert stored_symbols(database) == {(1, 0, 0): 1, (1, 0, 5): 2}
        assert now.analyst().tally(study.id).n == 2
        first, second = now.analyst().progress(study.id)["stages"][0]["history"][:2]
        assert first == [
            1,
            1700000000,
            0.5,
            pytest.approx(0.5 - 0.196, abs=1e-5),
            pytest.approx(0.5 + 0.196, abs=1e-5),
        ]
        assert second == [2, 1700000000, None, None, None]


def test_a_second_collector_on_the_same_database_is_refused(database, monkeypatch):
    monkeypatch.setattr("dpairs.collector.database.PATIENCE", 0.3)
    with collector(database), pytest.raises(Unavailable, match="another collector uses this database"):
        Service(Settings(database=database))
    Service(Settings(database=database)).close()
