"""Report files counted by Spark: the same text on a cluster, the coins recomputed where the rows are.

Every partition of the text's answer becomes one small tally; Spark repeats a partition that failed, and the
driver adds the tallies up, so a partition counts once however often it ran. The workers need dpairs, and all
machines must see the files under the same names.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ..errors import BadParameter
from ..study import Study
from ..tally import Tally
from .files import Opened, open_files
from .packing import Counted, count, sql, whole

VIEW = "dpairs_reports"
CHUNK = 12
"""2^12 blocks next to each other stay together: coins come cheapest for consecutive people."""
PART = "tally binary, reason string, number bigint"


def session(master: str | None = None) -> Any:
    """A quiet session of our own; ``master`` as Spark names it, or else all cores of this machine."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise BadParameter("engine 'spark' needs pyspark: install the extra 'scale' of dpairs") from None
    settings = {"spark.ui.enabled": "false", "spark.log.level": "ERROR", "spark.app.name": "dpairs"}
    settings["spark.ui.showConsoleProgress"] = str(sys.stderr.isatty()).lower()
    where = master or "local[*]"
    if where.startswith("local"):
        # Workers here run the Python that has dpairs, whatever else is on the path.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master(where)
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        why = str(error).splitlines()[0].rstrip(".")
        raise BadParameter(f"Spark cannot start: {why}; is Java installed?") from None


def tally_with_spark(
    study: Study,
    files: Opened | Sequence[str],
    spark: Any,
    *,
    keep_going: bool = False,
    partitions: int | None = None,
    before: Callable[[Iterator[Any]], Iterator[Any]] | None = None,
) -> Counted:
    """The tally of the report files that match, by a Spark session.

    ``partitions``: in how many parts coins are recomputed (as many as cores). ``before`` sees a
    partition's Arrow batches before they are counted; tests let it fail.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    opened = files if isinstance(files, Opened) else open_files(files, study, keep_going)
    failures = (PySparkException, Py4JJavaError)
    return whole(
        "Spark", opened, lambda paths: _run(study, paths, spark, partitions, before), failures, keep_going
    )


def _run(
    study: Study,
    paths: Sequence[str],
    spark: Any,
    partitions: int | None,
    before: Callable[[Iterator[Any]], Iterator[Any]] | None,
) -> Counted:
    total = Counted(Tally(study))
    if not paths:
        return total
    from pyspark.sql.functions import expr

    text = study.to_json()
    reports = spark.read.schema("stratum string, index bigint, symbol bigint").parquet(*map(_uri, paths))
    reports.createOrReplaceTempView(VIEW)
    together = (expr("place"), expr(f"shiftright(block, {CHUNK})"))
    packed = spark.sql(sql(study, VIEW))
    packed = packed.repartition(partitions or spark.sparkContext.defaultParallelism, *together)

    def part(batches: Iterator[Any]) -> Iterator[Any]:
        return counted_part(text, batches if before is None else before(batches))

    rows = packed.sortWithinPartitions("place", "block").mapInArrow(part, PART)
    for row in rows.collect():
        if row.tally is not None:
            total.tally = total.tally + Tally.from_bytes(bytes(row.tally), study)
        else:
            total.reasons[row.reason] += row.number
    return total


def _uri(path: str) -> str:
    """A name that Spark does not take for a pattern."""
    return "file://" + "".join(f"\\{each}" if each in "{}[]*?\\" else each for each in path)


def counted_part(study: str, batches: Iterator[Any]) -> Iterator[Any]:
    """One partition's tally, and its counts by reason, as Arrow rows."""
    found = count(Study.from_json(study), batches)
    if not found.reasons:
        return
    reasons = sorted(found.reasons.items())
    columns = {
        "tally": pa.array([found.tally.to_bytes()] + [None] * len(reasons), pa.binary()),
        "reason": pa.array([None, *(reason for reason, _ in reasons)], pa.string()),
        "number": pa.array([None, *(number for _, number in reasons)], pa.int64()),
    }
    yield pa.record_batch(columns)
