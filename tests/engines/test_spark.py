"""Spark on a cluster of several processes gives the tally of memory, whatever fails there."""

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from functools import partial
from importlib.util import MAGIC_NUMBER
from typing import Any
from zipimport import zipimporter

import numpy as np
import pytest

import dpairs
from dpairs.cli.app import run

from .failing import dies_once, fails_once
from .reportfiles import (
    FEW,
    KINDS,
    OTHER,
    PEOPLE,
    SMALL,
    TREE,
    WHOLE,
    cells_of,
    in_plain_python,
    messy,
    random_files,
    spoil,
    write,
    write_rows,
)
from .spark_cluster import hiding

pytest.importorskip("pyspark", reason="Spark is not installed: the extra 'spark' has it.")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, which is not installed.", allow_module_level=True)

from dpairs.engines import on_spark
from dpairs.engines.cluster import EDGES, _pack, explain
from dpairs.errors import BadFile, BadParameter, BadValue

pytestmark = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::DeprecationWarning", "ignore:PySpark"
)


def counted(study: dpairs.Study, reports: Any, *more: Any, **options: Any) -> tuple[dpairs.Tally, Any]:
    found = on_spark.tally_with_spark(study, reports, *more, **options)
    return found.tally, found.reasons


@pytest.mark.parametrize("cells", [False, True])
def test_a_task_that_fails_is_done_again_and_counts_once(tmp_path, spark, cells):
    right = messy(tmp_path / "r", PEOPLE, cells)
    failure = partial(fails_once, tmp_path / "failed")
    assert counted(TREE, tmp_path / "r", spark, partitions=4, before=failure) == right
    assert (tmp_path / "failed").exists()
    if WHOLE:
        assert counted(TREE, tmp_path / "r", spark) == right


def test_a_task_of_straight_files_that_fails_counts_once(tmp_path, spark):
    index = np.arange(PEOPLE // 10)
    tally = dpairs.Tally(TREE)
    for place, name in enumerate(TREE.strata):
        tally.add_reports(name, index, index % 2)
        cells = cells_of(TREE, np.full(index.size, place), index, index % 2)
        write(tmp_path / f"{place}.parquet", TREE, [name] * index.size, index, cells, cells=True)
    failure = partial(fails_once, tmp_path / "failed")
    found = counted(TREE, tmp_path, spark, partitions=4, before=failure, recompute=True)
    assert (tmp_path / "failed").exists()
    assert found == (tally, {"counted": 2 * index.size})


@pytest.mark.parametrize(("study", "cells"), [(SMALL, False), (SMALL, True), (FEW, False)])
@pytest.mark.parametrize("seed", range(1 - WHOLE, 2))  # the text is DuckDB's, which counts many more
def test_random_files_are_counted_as_one_would_by_hand(tmp_path, spark, study, cells, seed):
    rng = np.random.default_rng(seed)
    files = random_files(rng, study, bad=seed > 0)
    for number, rows in enumerate(files):
        write_rows(tmp_path / f"{number}.parquet", study, rows, cells, rng)
    right = in_plain_python(study, [row for rows in files for row in rows])
    assert counted(study, f"{tmp_path}/*.parquet", spark) == right


@pytest.mark.parametrize("cells", [False, True])
def test_bad_files_are_named_or_left_out(tmp_path, spark, cells):
    said = cells_of(TREE, [0] * 3, range(3), [0, 1, 1]) if cells else [0, 1, 1]
    # Spark reads addresses: a name with its special characters is a name all the same.
    write(tmp_path / "good [1] {2}.parquet", TREE, ["positive"] * 3, range(3), said, cells)
    bad = {f"{kind}.parquet": kind for kind in KINDS}
    for name, kind in bad.items():
        spoil(tmp_path / name, kind, cells)
    if cells:
        wrong = cells_of(TREE, [0] * 9, range(20, 29), [0] * 9)
        wrong[np.argmax(wrong)] ^= 4
        write(tmp_path / "wrong.parquet", TREE, ["positive"] * 9, range(20, 29), wrong, cells=True)
        bad["wrong.parquet"] = r"hold cells .* 1 of 9 "
    for name, kind in bad.items():
        with pytest.raises(BadFile, match=f"{name}.*{kind}") as refused:
            on_spark.tally_with_spark(TREE, [tmp_path / "good [1] {2}.parquet", tmp_path / name], spark)
        assert "\n" not in str(refused.value)
    rest = on_spark.tally_with_spark(TREE, f"{tmp_path.as_uri()}/*.parquet", spark, keep_going=True)
    assert rest.reasons == {"counted": 3}
    assert len(rest.refused) == len(bad)


@pytest.mark.parametrize("cells", [False, True])
def test_a_data_frame_is_counted_like_files(tmp_path, spark, cells):
    tally, reasons = messy(tmp_path, 20_000, cells)
    del reasons["of another study"]
    frame = spark.read.parquet(*(f"file://{path}" for path in tmp_path.glob("day*/*.parquet")))
    frame = frame.withColumnRenamed("index", "a `person`").withColumnRenamed("stratum", "class")
    options = {"columns": {"index": "a `person`", "stratum": "class"}, "cells": cells}
    assert counted(TREE, frame, keep_going=True, recompute=cells, **options) == (tally, reasons)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ("'positive' AS stratum, id AS index", "no column 'symbol'"),
        ("'positive' AS stratum, id AS index, 'one' AS symbol", "column 'symbol' holds string"),
        ("'positive' AS stratum, id + 0.5 AS index, id AS symbol", "column 'index' holds"),
        (
            "IF(id < 2, 'positive', 'stranger') AS stratum, IF(id < 1, -1, 2) AS index, 1 AS symbol",
            "nothing was counted: 1 index out of range, 6 of an unknown stratum;",
        ),
        (
            "'positive' AS stratum, id AS index, CASE WHEN id < 2 THEN id WHEN id < 4 THEN NULL "
            "WHEN id < 6 THEN -1 ELSE CAST(1e30 AS DECIMAL(38,0)) END AS symbol",
            "nothing was counted: 6 symbol out of range;",
        ),
    ],
)
def test_a_wrong_data_frame_is_refused_in_one_sentence(spark, columns, words):
    with pytest.raises(BadValue, match=words) as refused:
        on_spark.tally_with_spark(TREE, spark.sql(f"SELECT {columns} FROM range(8)"))
    assert "\n" not in str(refused.value)


def test_another_studys_data_frame_and_wrong_cells(spark):
    cells = cells_of(TREE, [0] * 9, range(9), [0] * 9)
    cells[np.argmax(cells)] ^= 4
    rows = [(OTHER.id, "positive", index, int(cell)) for index, cell in enumerate(cells)]
    frame = spark.createDataFrame(rows, "study string, stratum string, index bigint, symbol bigint")
    with pytest.raises(BadValue, match="none of the table's 9 rows is of this study"):
        on_spark.tally_with_spark(TREE, frame, columns={"study": "study"})
    with pytest.raises(BadValue, match=r"the table holds cells .* 1 of 9 "):
        on_spark.tally_with_spark(TREE, frame, cells=True)


@pytest.mark.parametrize("keep_going", [False, True])
def test_files_that_one_worker_does_not_see(cluster, spark, keep_going):
    if hiding(cluster.folder) is None:
        pytest.skip("A worker that sees less needs unshare, and the right to mount.")
    unseen = cluster.folder / "unseen"
    write(unseen / "a.parquet", TREE, ["positive"] * 3, range(3), [0, 1, 1])
    with pytest.raises(BadFile, match="are not visible on worker") as refused:
        on_spark.tally_with_spark(TREE, unseen, spark, keep_going=keep_going)
    assert "\n" not in str(refused.value)


@pytest.mark.long
def test_the_documented_command(tmp_path, cluster):
    """Without a word on Python; and where no worker has the memory that is asked for."""
    cluster.worker("spare")  # the tests' session keeps the cores of the others
    TREE.save(tmp_path / "study.json")
    tally, _ = messy(tmp_path / "r", 20_000)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    words = ["tally", "study.json", "r", "--engine", "spark", "--master", cluster.address, "--json", "-o"]

    def command(before: str, out: str) -> subprocess.CompletedProcess[str]:
        program = (
            f"import sys; from dpairs.engines import cluster; {before}; from dpairs.cli.app import run; "
        )
        return subprocess.run(
            [sys.executable, "-c", f"{program} sys.exit(run(sys.argv[1:]))", *words, out],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )

    ran = command("pass", "t.tally")
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout)["reports"]["counted"] == tally.n
    assert dpairs.Tally.load(tmp_path / "t.tally", TREE) == tally
    (tmp_path / "spark-defaults.conf").write_text("spark.executor.memory 64g\n")
    environment["SPARK_CONF_DIR"] = str(tmp_path)
    ran = command("cluster.PATIENCE = 10", "u.tally")
    assert ran.returncode == 2
    assert "no worker of the cluster" in ran.stderr.splitlines()[-1]


def test_a_worker_that_is_killed_in_the_middle(tmp_path, cluster, spark):
    """The last test of the cluster, of which one worker stays."""
    right = messy(tmp_path / "r", PEOPLE // 10)
    failure = partial(dies_once, tmp_path / "killed", cluster.workers["blind"])
    assert counted(TREE, tmp_path / "r", spark, partitions=6, before=failure) == right
    assert (tmp_path / "killed").exists()


# ---------------------------------------------------------------- without a cluster


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


def test_executors_get_every_module_compiled_and_those_of_another_python_its_source(tmp_path):
    archive = tmp_path / "dpairs.zip"
    _pack(archive)
    names = zipfile.ZipFile(archive).namelist()
    sources = [name for name in names if name.endswith(".py")]
    assert sorted(names) == sorted([*sources, *(f"{name}c" for name in sources)])
    assert {"dpairs/tally.py", "dpairs/engines/on_spark.py"} <= set(sources)
    assert not [name for name in sources if name.startswith(tuple(f"dpairs/{edge}/" for edge in EDGES))]
    assert zipimporter(f"{archive}/dpairs").get_filename("tally").endswith("tally.pyc")
    with zipfile.ZipFile(archive) as made, zipfile.ZipFile(tmp_path / "other.zip", "w") as other:
        for name in ("dpairs/tally.py", "dpairs/tally.pyc"):
            other.writestr(name, made.read(name).replace(MAGIC_NUMBER, b"old\n", 1))
    assert zipimporter(f"{tmp_path / 'other.zip'}/dpairs").get_filename("tally").endswith("tally.py")


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


@pytest.mark.parametrize("name", ["_a.parquet", ".a.parquet", "a._COPYING_", "a:b.parquet"])
def test_files_that_spark_would_not_read_are_refused(name):
    with pytest.raises(BadFile, match="Spark does not read files"):
        on_spark.uri(f"/reports/{name}")
