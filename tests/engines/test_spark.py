"""Spark gives DuckDB's tally and counts, also when a part of the work fails and is done again."""

import re
import shutil
from functools import partial

import numpy as np
import pytest

import dpairs
from dpairs.cli.app import run

from .failing import fails_once
from .reportfiles import (
    FEW,
    KINDS,
    PEOPLE,
    SMALL,
    TREE,
    cells_of,
    in_plain_python,
    messy,
    random_files,
    spoil,
    write,
    write_rows,
)

pytest.importorskip("pyspark", reason="Spark is not installed: the extra 'spark' has it.")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, which is not installed.", allow_module_level=True)

from dpairs.engines import on_spark, tally_with_duckdb
from dpairs.engines.cluster import explain
from dpairs.errors import BadFile, BadParameter, BadValue

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore:PySpark"
)


@pytest.fixture(scope="module")
def spark():
    made = on_spark.session("local[2,4]")
    # 200, Spark's own choice, are more tasks than most of these files have rows. Not 4, which tests ask for:
    # Spark would take the one shuffle for the other.
    made.conf.set("spark.sql.shuffle.partitions", "6")
    yield made
    made.stop()


@pytest.mark.parametrize("cells", [False, True])
def test_spark_counts_what_duckdb_counts(tmp_path, spark, cells):
    tally, reasons = messy(tmp_path / "r", PEOPLE, cells)
    patterns = [f"{tmp_path}/r/**/*.parquet"]
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


def test_a_task_of_straight_files_that_fails_counts_once(tmp_path, spark):
    index = np.arange(30_000)
    tally = dpairs.Tally(TREE)
    for place, name in enumerate(TREE.strata):
        tally.add_reports(name, index, index % 2)
        cells = cells_of(TREE, np.full(index.size, place), index, index % 2)
        write(tmp_path / f"{place}.parquet", TREE, [name] * index.size, index, cells, cells=True)
    failure = partial(fails_once, tmp_path / "failed")
    found = on_spark.tally_with_spark(
        TREE, [f"{tmp_path}/*.parquet"], spark, partitions=4, before=failure, recompute=True
    )
    assert (tmp_path / "failed").exists()
    assert found.tally == tally
    assert found.reasons == {"counted": 60_000}


@pytest.mark.parametrize(("study", "cells"), [(SMALL, False), (SMALL, True), (FEW, False)])
@pytest.mark.parametrize("seed", range(2))  # the text is DuckDB's, which counts many more
def test_random_files_are_counted_as_one_would_by_hand(tmp_path, spark, study, cells, seed):
    rng = np.random.default_rng(seed)
    files = random_files(rng, study, bad=seed > 0)
    for number, rows in enumerate(files):
        write_rows(tmp_path / f"{number}.parquet", study, rows, cells, rng)
    tally, reasons = in_plain_python(study, [row for rows in files for row in rows])
    found = on_spark.tally_with_spark(study, [f"{tmp_path}/*.parquet"], spark)
    assert found.reasons == reasons
    assert found.tally == tally


@pytest.mark.parametrize(("kind", "cells"), [(kind, place % 2 > 0) for place, kind in enumerate(KINDS)])
def test_a_bad_file_is_named_or_left_out(tmp_path, spark, kind, cells):
    said = cells_of(TREE, [0] * 3, range(3), [0, 1, 1]) if cells else [0, 1, 1]
    # Spark reads addresses: a name with its special characters is a name all the same.
    write(tmp_path / "good [1] {2}.parquet", TREE, ["positive"] * 3, range(3), said, cells)
    spoil(tmp_path / "bad.parquet", kind, cells)
    patterns = [f"{tmp_path.as_uri()}/*.parquet"]
    with pytest.raises(BadFile, match=f"bad.parquet.*{kind}") as refused:
        on_spark.tally_with_spark(TREE, patterns, spark)
    assert "\n" not in str(refused.value)
    rest = on_spark.tally_with_spark(TREE, patterns, spark, keep_going=True)
    assert rest.reasons == {"counted": 3}
    assert len(rest.refused) == 1


def test_wrong_cells_are_found_where_the_files_are(tmp_path, spark):
    cells = cells_of(TREE, [0] * 9, range(9), [0] * 9)
    cells[np.argmax(cells)] ^= 4
    write(tmp_path / "bad.parquet", TREE, ["positive"] * 9, range(9), cells, cells=True)
    with pytest.raises(BadFile, match=r"bad\.parquet hold cells .* 1 of 9 "):
        on_spark.tally_with_spark(TREE, [f"{tmp_path}/*.parquet"], spark)
    assert on_spark.tally_with_spark(TREE, [f"{tmp_path}/*.parquet"], spark, keep_going=True).tally.n == 0


@pytest.mark.parametrize("cells", [False, True])
def test_a_data_frame_is_counted_like_files(tmp_path, spark, cells):
    tally, reasons = messy(tmp_path, 20_000, cells)
    del reasons["of another study"]
    frame = spark.read.parquet(*(f"file://{path}" for path in tmp_path.glob("day*/*.parquet")))
    frame = frame.withColumnRenamed("index", "a `person`").withColumnRenamed("stratum", "class")
    options = {"columns": {"index": "a `person`", "stratum": "class"}, "cells": cells}
    found = on_spark.tally_with_spark(TREE, frame, keep_going=True, recompute=cells, **options)
    assert (found.tally, found.reasons) == (tally, reasons)
    with pytest.raises(BadValue, match="nothing was counted: 20 index out of range, 27 of an unknown"):
        on_spark.tally_with_spark(TREE, frame, **options)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("'positive' AS stratum, id AS index", "no column 'symbol'"),
        ("'positive' AS stratum, id AS index, 'one' AS symbol", "column 'symbol' holds string"),
        ("'positive' AS stratum, id AS index, CAST(NULL AS INT) AS symbol", "2 symbol out of range"),
        ("'positive' AS stratum, id AS index, id - 1 AS symbol", "1 symbol out of range"),
        ("'positive' AS stratum, id AS index, id * CAST(1e30 AS DECIMAL(38,0)) AS symbol", "1 symbol out of"),
        ("'positive' AS stratum, id + 0.5 AS index, id AS symbol", "column 'index' holds"),
        ("'stranger' AS stratum, id AS index, id AS symbol", "2 of an unknown stratum"),
    ],
)
def test_a_wrong_data_frame_is_refused_in_one_sentence(spark, columns, words):
    with pytest.raises(BadValue, match=words) as refused:
        on_spark.tally_with_spark(TREE, spark.sql(f"SELECT {columns} FROM range(2)"))
    assert "\n" not in str(refused.value)


def test_wrong_cells_of_a_data_frame_are_found(spark):
    cells = cells_of(TREE, [0] * 9, range(9), [0] * 9)
    cells[np.argmax(cells)] ^= 4
    rows = [("positive", index, int(cell)) for index, cell in enumerate(cells)]
    frame = spark.createDataFrame(rows, "stratum string, index bigint, symbol bigint")
    with pytest.raises(BadValue, match=r"the table holds cells .* 1 of 9 "):
        on_spark.tally_with_spark(TREE, frame, cells=True)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (
            '(TID 3) (10.0.0.7 executor 1): java.io.IOException: Cannot run program "/x/python"',
            "10.0.0.7 has no Python",
        ),
        (
            "(TID 3) (10.0.0.7 executor 1): ModuleNotFoundError: No module named 'numpy'",
            "10.0.0.7 has no numpy",
        ),
        (
            "[PYTHON_VERSION_MISMATCH] different version: 3.9 than that in driver: 3.11",
            "runs Python 3.9, and",
        ),
        ("Error while reading file file:///r/a.parquet. File does not exist", "/r/a.parquet are not visible"),
        ('UnsupportedFileSystemException: No FileSystem for scheme "s3a"', "no jar for these addresses .s3a"),
        ("java.lang.OutOfMemoryError: heap", "could not count the reports: heap"),
    ],
)
def test_sparks_errors_become_one_sentence(said, words):
    assert re.search(words, explain(RuntimeError(f"An error occurred.\n{said}\n\tat a.b(c.java)")))


@pytest.mark.parametrize("home", [None, "/nowhere"])
def test_without_java_there_is_one_sentence(tmp_path, capsys, monkeypatch, home):
    from pyspark import SparkContext

    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    write(tmp_path / "a.parquet", TREE, ["positive"], [1], [1])
    monkeypatch.setattr(SparkContext, "_active_spark_context", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    if home is None:
        monkeypatch.delenv("JAVA_HOME", raising=False)
    else:
        monkeypatch.setenv("JAVA_HOME", home)
    assert run(["tally", "study.json", "a.parquet", "--engine", "spark", "--out", "t.json"]) == 2
    err = capsys.readouterr().err
    assert "without Java" in err
    assert err.strip().count("\n") == 0
    with pytest.raises(BadParameter, match=home or "none is on the path"):
        on_spark.session()
