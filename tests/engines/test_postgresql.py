"""The reports of a collector's PostgreSQL, counted where they lie."""

import os

import numpy as np
import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.engines import tally_with_duckdb
from dpairs.errors import BadFile, BadParameter, BadValue

from .databases import Reachable, collector
from .reportfiles import OTHER, PEOPLE, TREE

pytest.importorskip("adbc_driver_postgresql", reason="ADBC is not installed: the extra 'adbc' has it.")
pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")

from dpairs.engines import postgresql


@pytest.fixture(scope="module")
def collected():
    """A collector's tables with reports of two studies, and the first one's tally."""
    import psycopg

    server = Reachable()
    try:
        url = collector(server.address("postgres"), (OTHER, TREE))
        rng = np.random.default_rng(6)
        tally = dpairs.Tally(TREE)
        with psycopg.connect(url) as link, link.cursor() as cursor:
            for serial, people in ((1, 100), (2, PEOPLE)):
                place = rng.integers(0, 2, people)
                symbol = rng.integers(0, 2, people)
                with cursor.copy("COPY reports (round, stratum, index, symbol) FROM STDIN") as copy:
                    for row in zip(place.tolist(), range(people), symbol.tolist(), strict=True):
                        copy.write_row((serial, *row))
                for number, stratum in enumerate(TREE.strata if serial == 2 else ()):
                    who = np.flatnonzero(place == number)
                    tally.add_reports(stratum, who, symbol[who])
        yield url, tally
    finally:
        server.stop()


def test_a_collectors_database_is_tallied(tmp_path, monkeypatch, collected):
    url, tally = collected
    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    assert run(["tally", "study.json", url, "-o", "t.tally"]) == 0
    assert dpairs.Tally.load("t.tally", TREE) == tally


def test_what_is_not_there_is_said(collected):
    url, _ = collected
    unknown = dpairs.Study.create("auc", protocol="tree", epsilon=2.0, domain=dpairs.Interval(0, 1), seed=9)
    for address, study, words in (
        (url, unknown, "has no study"),
        (url.removesuffix("postgres") + "template1", TREE, "no collector's"),
        ("postgresql://me:secret@127.0.0.1:1/x", TREE, r"127\.0\.0\.1:1/x cannot be read"),
    ):
        with pytest.raises(BadFile, match=words) as refused, postgresql.collected(address, study):
            pass
        assert "secret" not in str(refused.value)
        assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("'positive' AS stratum, 1 AS index", "no column 'symbol'"),
        ("'positive' AS stratum, 1 AS index, 'one' AS symbol", "'symbol' holds varchar"),
        ("'positive' AS stratum, 1 AS index, NULL::int AS symbol", "1 symbol out of range"),
        ("'positive' AS stratum, 1 AS index, -1 AS symbol", "1 symbol out of range"),
        ("'positive' AS stratum, 1 AS index, 1 << 30 AS symbol", "1 symbol out of range"),
        ("'positive' AS stratum, 1 AS index, 1e30::numeric AS symbol", "'symbol' holds"),
        ("'positive' AS stratum, 1.5::float8 AS index, 1 AS symbol", "'index' holds double"),
        ("'stranger' AS stratum, 1 AS index, 1 AS symbol", "1 of an unknown stratum"),
    ],
)
def test_any_table_of_postgresql_and_wrong_ones(collected, columns, words):
    from adbc_driver_postgresql import dbapi

    url, _ = collected
    with dbapi.connect(url) as link, link.cursor() as cursor:
        cursor.execute(f"SELECT {columns}")
        with pytest.raises(BadValue, match=words) as refused:
            tally_with_duckdb(TREE, cursor.fetch_record_batch())
        assert "\n" not in str(refused.value)


def test_jdbc_is_secured_as_the_address_says(monkeypatch):
    monkeypatch.setenv("PGSSLROOTCERT", "/ca.pem")
    said = postgresql._secured("sslmode=verify-full&connect_timeout=5")
    assert said == {"sslmode": "verify-full", "sslrootcert": "/ca.pem"}
    with pytest.raises(BadParameter, match="no option 'channel_binding'"):
        postgresql._secured("channel_binding=require")


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore:PySpark")
def test_spark_reads_the_same_through_jdbc(collected, spark):
    if not os.path.exists(postgresql.JAR):
        pytest.skip("Spark reads PostgreSQL with libpostgresql-jdbc-java, which is not installed.")
    from dpairs.engines.on_spark import tally_with_spark

    url, tally = collected
    rows = spark.read.format("jdbc").options(**postgresql.jdbc(url, TREE, partitions=2)).load()
    assert tally_with_spark(TREE, rows).tally == tally
