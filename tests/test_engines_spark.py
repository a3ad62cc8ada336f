"""Spark gives DuckDB's tally and counts, also when a part of the work fails and is done again."""

import shutil
from functools import partial

import pytest

from .reportfiles import PEOPLE, TREE, messy, write

pytest.importorskip("pyspark", reason="Spark is not installed: the extra 'scale' has it.")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, which is not installed.", allow_module_level=True)

from dpairs.engines import on_spark, tally_with_duckdb
from dpairs.errors import BadFile

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore:PySpark"
)


def fails_once(marker, batches):
    """Counts a half of partition 2, and dies, the first time."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    for batch in batches:
        yield batch
        if context.partitionId() == 2 and context.attemptNumber() == 0:
            marker.touch()
            raise RuntimeError("this machine goes down")


def test_spark_counts_what_duckdb_counts(tmp_path):
    tally, reasons = messy(tmp_path / "r", PEOPLE)
    patterns = [f"{tmp_path}/r/**/*.parquet"]
    spark = on_spark.session("local[2,4]")
    try:
        found = on_spark.tally_with_spark(TREE, patterns, spark)
        assert found.reasons == reasons
        assert found.tally == tally
        here = tally_with_duckdb(TREE, patterns)
        assert (here.tally, here.reasons) == (found.tally, found.reasons)

        # A task that fails is done again, and counts once.
        failure = partial(fails_once, tmp_path / "failed")
        again = on_spark.tally_with_spark(TREE, patterns, spark, partitions=4, before=failure)
        assert (tmp_path / "failed").exists()
        assert (again.tally, again.reasons) == (tally, reasons)

        # A file that cannot be read is named, or left out.
        write(tmp_path / "r/bad.parquet", TREE, ["positive"] * 5000, range(5000), [0, 1] * 2500)
        raw = (tmp_path / "r/bad.parquet").read_bytes()
        (tmp_path / "r/bad.parquet").write_bytes(raw[:200] + bytes(500) + raw[700:])
        with pytest.raises(BadFile, match=r"bad\.parquet are damaged"):
            on_spark.tally_with_spark(TREE, patterns, spark)
        rest = on_spark.tally_with_spark(TREE, patterns, spark, keep_going=True)
        assert (rest.tally, rest.reasons) == (tally, reasons)
        assert len(rest.refused) == 1
    finally:
        spark.stop()
