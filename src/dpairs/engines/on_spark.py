"""Report files counted by Spark: the same text on a cluster, the coins recomputed where the rows are.

Every partition of the text's answer becomes one small tally; Spark repeats a partition that failed, and the
driver adds the tallies up, so a partition counts once however often it ran. The workers need dpairs, and all
machines must see the files under the same names.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from ..errors import BadParameter
from ..study import Study
from ..tally import Tally
from . import grouping, packing
from .deduplication import Deduplication, whole
from .file_tally import FileTally
from .files import Opened, open_files
from .inspecting import Inspected, Wanted, inspect

VIEW = "dpairs_reports"
CHUNK = 12
"""2^12 blocks next to each other stay together: coins come cheapest for consecutive people."""
TASKS = 10_000
"""Files are looked at in so many tasks at most."""
PART = "tally binary, reason string, number bigint"


def session(master: str | None = None) -> Any:
    """A quiet session of our own; ``master`` as Spark names it, or else all cores of this machine."""
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise BadParameter("engine 'spark' needs pyspark: install the extra 'spark' of dpairs") from None
    _check_java()
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


def _check_java() -> None:
    """Say that Java is missing before Spark's own scripts say it, in many words."""
    from pyspark import SparkContext

    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else "java"
    if SparkContext._active_spark_context is None and shutil.which(java) is None:
        where = f"JAVA_HOME has none: {home}" if home else "none is on the path"
        raise BadParameter(f"Spark cannot start without Java, and {where}")


def tally_with_spark(
    study: Study,
    files: Opened | Sequence[str],
    spark: Any,
    *,
    keep_going: bool = False,
    recompute: bool = False,
    partitions: int | None = None,
    before: Callable[[Iterator[Any]], Iterator[Any]] | None = None,
) -> FileTally:
    """The tally of the report files that match, by a Spark session.

    Of files of cells a sample is compared with the people's coins, or with ``recompute`` every row.
    ``partitions``: in how many parts tallies are made (as many as cores). ``before`` sees a partition's
    Arrow batches before they are counted; tests let it fail.
    """
    from py4j.protocol import Py4JJavaError
    from pyspark.errors import PySparkException

    opened = files if isinstance(files, Opened) else open_files(files, study, keep_going)
    return whole(
        "Spark",
        study,
        opened,
        lambda asked: _inspected(study, asked, spark),
        lambda deduplication: _run(study, deduplication, spark, partitions, before),
        (PySparkException, Py4JJavaError),
        keep_going=keep_going,
        recompute=recompute,
    )


def _inspected(study: Study, asked: list[Wanted], spark: Any) -> list[Inspected]:
    """Look at all files where the executors are."""
    if not asked:
        return []
    text = study.to_json()
    columns = "path string, cells boolean, recompute boolean"
    rows = [(each.path, each.cells, each.recompute) for each in asked]
    # Each file goes to a partition of its own, or a core would wait while another has two.
    parts = min(len(rows), TASKS)
    spread = spark.createDataFrame(rows, columns).repartition(parts)

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        return inspected_part(text, batches)

    return [Inspected.from_json(row.found) for row in spread.mapInArrow(look, "found string").collect()]


def inspected_part(study: str, batches: Iterator[Any]) -> Iterator[Any]:
    """What some of the files are like, as Arrow rows."""
    known = Study.from_json(study)
    for batch in batches:
        found = [inspect(known, Wanted(**row)).to_json() for row in batch.to_pylist()]
        yield pa.record_batch({"found": pa.array(found, pa.string())})


def _run(
    study: Study,
    deduplication: Deduplication,
    spark: Any,
    partitions: int | None,
    before: Callable[[Iterator[Any]], Iterator[Any]] | None,
) -> FileTally:
    from pyspark.sql.functions import expr

    total, text = FileTally(Tally(study)), study.to_json()
    parts = partitions or spark.sparkContext.defaultParallelism
    for paths, name in deduplication.ways:
        if not paths:
            continue
        reports = spark.read.schema("stratum string, index bigint, symbol bigint").parquet(*map(_uri, paths))
        reports.createOrReplaceTempView(VIEW)
        if name:
            groups = spark.sql(grouping.sql(study, VIEW, straight=name == "straight"))
            groups = groups.repartition(parts, "place", "cell")
        else:
            groups = spark.sql(packing.sql(study, VIEW))
            groups = groups.repartition(parts, expr("place"), expr(f"shiftright(block, {CHUNK})"))
            groups = groups.sortWithinPartitions("place", "block")
        part = partial(counted_part, text, bool(name), before)
        for row in groups.mapInArrow(part, PART).collect():
            if row.tally is not None:
                total.tally = total.tally + Tally.from_bytes(bytes(row.tally), study)
            else:
                total.reasons[row.reason] += row.number
    return total


def _uri(path: str) -> str:
    """A name that Spark does not take for a pattern."""
    return "file://" + "".join(f"\\{each}" if each in "{}[]*?\\" else each for each in path)


def counted_part(
    study: str,
    cells: bool,
    before: Callable[[Iterator[Any]], Iterator[Any]] | None,
    batches: Iterator[Any],
) -> Iterator[Any]:
    """One partition's tally, and its counts by reason, as Arrow rows."""
    seen = batches if before is None else before(batches)
    known = Study.from_json(study)
    found = grouping.count(known, seen) if cells else packing.count(known, seen)
    if not found.reasons:
        return
    reasons = sorted(found.reasons.items())
    columns = {
        "tally": pa.array([found.tally.to_bytes()] + [None] * len(reasons), pa.binary()),
        "reason": pa.array([None, *(reason for reason, _ in reasons)], pa.string()),
        "number": pa.array([None, *(number for _, number in reasons)], pa.int64()),
    }
    yield pa.record_batch(columns)
