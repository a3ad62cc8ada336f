"""The same reports through every door: files, object stores, databases, lakes and frames.

python -m tests.engines.doors 7      # 10^7 people; what was found goes to experiments/results/doors.json

Among the rows are people who report twice, people who contradict themselves, and rows of every other kind
that does not count. Each door must give the tally that `Tally.add_reports` gives in memory, byte for byte,
and the same counts by reason.
"""

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import dpairs
from dpairs.engines import FileTally, lakes, places, tally_with_duckdb

from . import laketables, object_store
from .databases import Reachable, collector
from .reportfiles import OTHER, TREE, messy

KEPT = Path(__file__).parents[2] / "experiments" / "results" / "doors.json"
NAMED = {"study": "study"}
"""Rows of another study are told apart by a column, as files are by their metadata."""
Door = Callable[[], FileTally]


@dataclass(frozen=True)
class Reports:
    """Rows as files and as a table, and what must come of them."""

    folder: Path
    table: pa.Table
    tally: dpairs.Tally
    reasons: Counter[str]


def made(folder: Path, people: int) -> Reports:
    messy(folder / "cells", people, cells=True)
    tally, reasons = messy(folder / "symbols", people)
    parts = []
    for path in sorted((folder / "symbols").rglob("*.parquet")):
        part = pq.read_table(path, partitioning=None).replace_schema_metadata(None)
        study = OTHER if path.name == "strange.parquet" else TREE
        parts.append(part.append_column("study", pa.repeat(study.id, len(part))))
    return Reports(folder, pa.concat_tables(parts), tally, reasons)


def here(reports: Reports) -> Iterator[tuple[str, Door]]:
    """Files, tables and frames of this machine, counted by DuckDB."""
    import duckdb
    import polars as pl

    yield "report files, DuckDB", lambda: tally_with_duckdb(TREE, reports.folder / "symbols")
    yield "report files of cells, DuckDB", lambda: tally_with_duckdb(TREE, reports.folder / "cells")
    tables: dict[str, Callable[[], Any]] = {
        "an Arrow table": lambda: reports.table,
        "a polars frame": lambda: pl.from_arrow(reports.table),
        "a pandas frame": lambda: reports.table.to_pandas(),
        "a DuckDB relation": lambda: duckdb.from_arrow(reports.table),
    }
    for name, table in tables.items():
        yield name, partial(_counted, table)


def _counted(table: Callable[[], Any]) -> FileTally:
    return tally_with_duckdb(TREE, table(), columns=NAMED, keep_going=True)


def in_lakes(reports: Reports) -> Iterator[tuple[str, Door]]:
    half = len(reports.table) // 2
    delta = laketables.delta(reports.folder, reports.table.slice(0, half), reports.table.slice(half))
    iceberg = laketables.iceberg(reports.folder, reports.table)

    def counted(name: str) -> FileTally:
        with lakes.table(TREE, [name], NAMED, cells=False) as rows:
            return tally_with_duckdb(TREE, rows, columns=NAMED, keep_going=True)

    yield "a Delta table", lambda: counted(delta)
    yield "an Iceberg table", lambda: counted(iceberg)


def stored(reports: Reports, bucket: str) -> Door:
    for path in (reports.folder / "symbols").rglob("*.parquet"):
        name = path.relative_to(reports.folder / "symbols").as_posix()
        places.write(places.join(f"{bucket}/reports", name), path.read_bytes())
    return lambda: tally_with_duckdb(TREE, f"{bucket}/reports")


COLLECTED = """
INSERT INTO reports (round, stratum, index, symbol)
SELECT 2, CASE stratum WHEN 'positive' THEN 0 ELSE 1 END, index, min(symbol) FROM given_answers
WHERE study = '{study}' AND stratum IN ('positive', 'negative')
  AND index BETWEEN 0 AND 9007199254740991 AND symbol IN (0, 1)
GROUP BY stratum, index HAVING min(symbol) = max(symbol)
"""
"""A collector keeps one report of a person: those who repeat or contradict themselves were told so."""


def in_postgresql(reports: Reports, url: str, spark: Any) -> Iterator[tuple[str, Door]]:
    from adbc_driver_postgresql import dbapi

    from dpairs.engines import postgresql
    from dpairs.engines.on_spark import tally_with_spark

    with dbapi.connect(url) as link, link.cursor() as cursor:
        cursor.adbc_ingest("given_answers", reports.table.to_reader(), mode="create")
        cursor.execute(COLLECTED.format(study=TREE.id))
        link.commit()

    def by_adbc() -> FileTally:
        with dbapi.connect(url) as link, link.cursor() as cursor:
            cursor.execute("SELECT * FROM given_answers")
            rows = cursor.fetch_record_batch()
            return tally_with_duckdb(TREE, rows, columns=NAMED, keep_going=True)

    def collected() -> FileTally:
        with postgresql.collected(url, TREE) as rows:
            return tally_with_duckdb(TREE, rows)

    yield "a table of PostgreSQL, ADBC", by_adbc
    yield "a collector's PostgreSQL, ADBC", collected
    if spark is not None and os.path.exists(postgresql.JAR):
        options = postgresql.jdbc(url, TREE)
        yield (
            "a table of PostgreSQL, Spark's JDBC",
            lambda: tally_with_spark(
                TREE,
                spark.read.format("jdbc").options(**(options | {"dbtable": "given_answers"})).load(),
                columns=NAMED,
                keep_going=True,
            ),
        )
        yield (
            "a collector's PostgreSQL, Spark's JDBC",
            lambda: tally_with_spark(TREE, spark.read.format("jdbc").options(**options).load()),
        )


def on_spark(reports: Reports, spark: Any) -> Iterator[tuple[str, Door]]:
    from dpairs.engines.on_spark import tally_with_spark

    pq.write_table(reports.table, reports.folder / "plain.parquet")
    frame = spark.read.parquet(f"file://{reports.folder}/plain.parquet")
    yield "report files, Spark", lambda: tally_with_spark(TREE, reports.folder / "symbols", spark)
    yield "report files of cells, Spark", lambda: tally_with_spark(TREE, reports.folder / "cells", spark)
    yield "a Spark DataFrame", lambda: tally_with_spark(TREE, frame, columns=NAMED, keep_going=True)


def through(reports: Reports, name: str, door: Door) -> dict[str, Any]:
    """What came through a door; an error unless it is what must."""
    found = door()
    collected = name.startswith("a collector's")
    right = Counter({"counted": reports.tally.n}) if collected else reports.reasons
    assert found.reasons == right, (name, found.reasons)
    content = found.tally.to_bytes()
    assert content == reports.tally.to_bytes(), name
    return {"tally": hashlib.sha256(content).hexdigest(), "reasons": dict(sorted(right.items()))}


def every(people: int, folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each door that can be opened here, and what came through it."""
    reports = made(folder, people)
    with ExitStack() as stack:
        spark = None
        if shutil.which("java"):
            from dpairs.engines.cluster import session
            from dpairs.engines.postgresql import settings_of_jdbc

            spark = session("local[*]", settings_of_jdbc())
            stack.callback(spark.stop)
        groups = [here(reports), in_lakes(reports)]
        if spark is not None:
            groups.append(on_spark(reports, spark))
        server = Reachable()
        stack.callback(server.stop)
        url = collector(server.address("postgres"), (OTHER, TREE))
        groups.append(in_postgresql(reports, url, spark))
        for group in groups:
            for name, door in group:
                yield name, through(reports, name, door)
        # Last what may not be installed: that ends the run, with a word on it.
        for name, about in (("moto", "S3 at moto"), ("radosgw", "S3 at Ceph's radosgw")):
            (folder / name).mkdir()
            with object_store.bucket(name, folder / name) as address:
                yield about, through(reports, about, stored(reports, address))


def main() -> None:
    people = 10 ** int(sys.argv[1])
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="dpairs-doors-") as folder:
        for name, figures in every(people, Path(folder)):
            found[name] = figures
            print(f"{name}: {figures['tally']}", file=sys.stderr)
    content = {"people": people, "doors": found}
    KEPT.write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
