"""Count reports with Spark: the same SQL on a cluster, the coins recomputed where the rows are.

Every partition of the query's result becomes one small tally. Spark repeats a partition that failed, and the
driver adds up the tallies, so a partition counts once however often it ran.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import astuple
from functools import partial
from typing import Any
from uuid import uuid4

import pyarrow as pa

from ..errors import BadFile, BadParameter, BadValue
from ..randomness import SystemRandomness
from ..study import Study
from ..tally import Tally
from . import grouping, packing
from .cluster import explain, prepare, session
from .deduplication import Deduplication, coded, whole
from .file_tally import FileTally
from .files import Files, Opened, open_files, patterns
from .inspecting import SAMPLE, Comparison, Inspected, Wanted, differing, inspect
from .places import place, remote
from .row_sql import SPARK, Source
from .tables import Columns, Field, check_rows, choose, source

CHUNK = 12
"""2^12 blocks next to each other stay together: coins come cheapest for consecutive people."""
TASKS = 10_000
"""Files are looked at in so many tasks at most."""
PART = "tally binary, reason string, number bigint"
Before = Callable[[Iterator[Any]], Iterator[Any]]


def tally_with_spark(
    study: Study,
    reports: Files | Any,
    spark: Any = None,
    *,
    columns: Columns | None = None,
    cells: bool = False,
    keep_going: bool = False,
    recompute: bool = False,
    partitions: int | None = None,
    before: Before | None = None,
) -> FileTally:
    """The tally of report files, with a Spark session, or of a Spark DataFrame, with its own session.

    Files and tables are as in `tally_with_duckdb`. The executors need numpy, scipy, pyarrow and pandas;
    dpairs is sent to them. ``partitions`` is the number of partial tallies (by default the number of cores).
    ``before`` sees a partition's Arrow batches before they are counted; tests make it fail.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    failures = (PySparkException, Py4JJavaError)
    if hasattr(reports, "createOrReplaceTempView"):
        try:
            total = _table(study, reports, columns, cells, recompute, partitions, before)
        except failures as error:
            raise BadValue(explain(error)) from None
        return check_rows(total, keep_going)
    if columns is not None or cells:
        raise BadParameter("columns and cells are for tables: report files say for themselves what they hold")
    if spark is None:
        raise BadParameter("files are counted by a Spark session, which must be given")
    opened = reports if isinstance(reports, Opened) else open_files(patterns(reports), study, keep_going)
    # Coins take long: then every worker is asked for the files before, not only those that look at them.
    long = not (coded(study) or opened.cells)
    prepare(spark, [path for path in opened.paths if long and not remote(path)])
    return whole(
        explain,
        study,
        opened,
        lambda asked: _inspected(study, asked, spark, failures),
        lambda deduplication: _run(study, deduplication, spark, partitions, before),
        failures,
        keep_going=keep_going,
        recompute=recompute,
    )


def _inspected(
    study: Study, asked: list[Wanted], spark: Any, failures: tuple[type[Exception], ...]
) -> list[Inspected]:
    """Look at all files where the executors are."""
    if not asked:
        return []
    # Each file is a task of its own, or a core would wait while another has two.
    files = spark.sparkContext.parallelize([astuple(file) for file in asked], min(len(asked), TASKS))
    try:
        return [
            Inspected.from_json(text)
            for text in files.mapPartitions(partial(inspected_part, study.to_json())).collect()
        ]
    except failures as error:
        raise BadFile(explain(error)) from None


def inspected_part(study: str, files: Iterator[tuple[str, bool, bool]]) -> Iterator[str]:
    """What some of the files are like."""
    known = Study.from_json(study)
    return (inspect(known, Wanted(*file)).to_json() for file in files)


def _run(
    study: Study, deduplication: Deduplication, spark: Any, partitions: int | None, before: Before | None
) -> FileTally:
    total = FileTally(Tally(study))
    for paths, name in deduplication.ways:
        if not paths:
            continue
        # Whatever the session's settings are, a file that cannot be read is no file to pass over.
        strict = {"ignoreCorruptFiles": "false", "ignoreMissingFiles": "false"}
        reader = spark.read.options(**strict).schema("stratum string, index bigint, symbol bigint")
        with _view(reader.parquet(*map(uri, paths))) as view:
            text = (
                grouping.sql(study, Source(view), straight=name == "straight")
                if name
                else packing.sql(study, Source(view), SPARK)
            )
            total.add(_counted(study, spark.sql(text), bool(name), partitions, before))
    return total


@contextmanager
def _view(table: Any) -> Iterator[str]:
    """A name for SQL that nobody else has: others may count in the same session at the same time."""
    name = f"dpairs_{uuid4().hex}"
    table.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        table.sparkSession.catalog.dropTempView(name)


def _table(
    study: Study,
    table: Any,
    columns: Columns | None,
    cells: bool,
    recompute: bool,
    partitions: int | None,
    before: Before | None,
) -> FileTally:
    if cells and not coded(study):
        grouping.cell_codes(study)
    fields = [Field(field.name, field.dataType.simpleString()) for field in table.schema.fields]
    chosen = choose(study, fields, columns)
    spark = table.sparkSession
    prepare(spark)
    with _view(table) as view:
        rows = source(study, chosen, view, SPARK)
        if not cells or coded(study):
            text = packing.sql(study, rows, SPARK)
            return _counted(study, spark.sql(text), False, partitions, before)
        _compare(study, rows, spark, recompute)
        text = grouping.sql(study, rows, straight=False)
        return _counted(study, spark.sql(text), True, partitions, before)


def _counted(
    study: Study, groups: Any, cells: bool, partitions: int | None, before: Before | None
) -> FileTally:
    """The answer of a text of `grouping` (cells) or `packing`, counted where it is."""
    from pyspark.sql.functions import expr

    total = FileTally(Tally(study))
    parts = partitions or groups.sparkSession.sparkContext.defaultParallelism
    if cells:
        # There are few, and each stands in one place already: nothing need be moved to have fewer partitions.
        groups = groups.repartition(partitions, "place", "cell") if partitions else groups.coalesce(parts)
    else:
        groups = groups.repartition(parts, expr("place"), expr(f"shiftright(block, {CHUNK})"))
        groups = groups.sortWithinPartitions("place", "block")
    for row in groups.mapInArrow(partial(counted_part, study.to_json(), cells, before), PART).collect():
        if row.tally is not None:
            total.tally = total.tally + Tally.from_bytes(bytes(row.tally), study)
        else:
            total.reasons[row.reason] += row.number
    return total


def counted_part(study: str, cells: bool, before: Before | None, batches: Iterator[Any]) -> Iterator[Any]:
    """One partition's tally, and its counts by reason, as Arrow rows."""
    seen = batches if before is None else before(batches)
    known = Study.from_json(study)
    total = grouping.count(known, seen) if cells else packing.count(known, seen)
    if not total.reasons:
        return
    reasons = sorted(total.reasons.items())
    columns = {
        "tally": pa.array([total.tally.to_bytes()] + [None] * len(reasons), pa.binary()),
        "reason": pa.array([None, *(reason for reason, _ in reasons)], pa.string()),
        "number": pa.array([None, *(number for _, number in reasons)], pa.int64()),
    }
    yield pa.record_batch(columns)


def _compare(study: Study, rows: Source, spark: Any, recompute: bool) -> None:
    """Compare a sample of the table's cells with the coins, or all of them."""
    wanted = f"SELECT stratum, index, symbol FROM {rows.text}"  # noqa: S608 - our own text
    wanted += " WHERE NOT elsewhere" if rows.foreign else ""
    if not recompute:
        # Nobody can know the seed before, so nobody can write the wrong cells elsewhere.
        seed = int(SystemRandomness().words(1)[0] >> 1)
        wanted += f" ORDER BY xxhash64(index, {seed}L) LIMIT {SAMPLE}"
    compared = spark.sql(wanted).mapInArrow(
        partial(compared_part, study.to_json()), "wrong bigint, of bigint"
    )
    parts = compared.collect()
    wrong, checked = sum(part.wrong for part in parts), sum(part.of for part in parts)
    if wrong:
        raise BadValue(f"the table holds {differing(wrong, checked)}")


def compared_part(study: str, batches: Iterator[Any]) -> Iterator[Any]:
    """How many of a partition's cells are not those of the coins, and how many were looked at."""
    compared = Comparison(Study.from_json(study), whole=True)
    for batch in batches:
        compared.add(batch)
    yield pa.record_batch({"wrong": pa.array([compared.wrong]), "of": pa.array([compared.checked])})


def uri(path: str) -> str:
    """A name that Spark does not take for a pattern, with the scheme that it was given with."""
    here = place(path)
    last = here.path.rpartition("/")[2]
    hidden = last[0] == "." or (last[0] == "_" and "=" not in last) or last.endswith("._COPYING_")
    if hidden or ":" in last:
        raise BadFile(f"Spark does not read files with names like that of {path}: rename it, or use DuckDB")
    name = f"file://{path}" if not here.base else here.address(here.path).removesuffix(here.options)
    return "".join(f"\\{letter}" if letter in "{}[]*?\\" else letter for letter in name)


__all__ = ["session", "tally_with_spark"]
