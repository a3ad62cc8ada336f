"""Tallies of report files: DuckDB and Spark

Tree reports of one bit (2^16 leaves, epsilon 1) in Parquet, in wall-clock seconds, each task in a process of
its own, one after another; the files are in the cache. Memory is the largest sum over a process and its
children (proportional set size, sampled).

*Counting symbols* is the bare `SELECT stratum, symbol, count(*) ... GROUP BY` on the same files. It neither
sees who reports twice nor knows the levels and rows that the bits belong to, so it is no tally: it is the
floor. *Plain de-duplication* is the usual SQL for the first of these, a `GROUP BY stratum, index` and a count
by symbol of what is left. Ours does both, and recomputes everybody's coins.

*Writing*: our writer, and pyarrow with its defaults, write the same arrays, which are there already.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil

import dpairs
from measure import Row

STUDY = dpairs.Study.create(
    "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=2**16, seed=1
)
BARE = "SELECT stratum, symbol, count(*) FROM {0} GROUP BY stratum, symbol"
DEDUPLICATED = (
    "SELECT stratum, symbol, count(*) FROM (SELECT stratum, index, min(symbol) AS symbol FROM {0} "
    "GROUP BY stratum, index HAVING min(symbol) = max(symbol)) AS people GROUP BY stratum, symbol"
)
LIMIT = 1500.0
"""Megabytes."""


def run(quick: bool) -> list[Row]:
    people = 10**6 if quick else 10**7
    with tempfile.TemporaryDirectory() as folder:
        found = measured(people, Path(folder), plain=True)
    spark = found.get("spark", {})
    return [
        Row(f"DuckDB, {people:,} reports", "counting symbols", found["duckdb"]["seconds"],
            found["bare duckdb"]["seconds"], "s", 1 / 1.3, note="no tally: no people, no coins"),
        Row("the same", "plain de-duplication", found["duckdb"]["seconds"],
            found["plain duckdb"]["seconds"], "s", note="no tally: no coins"),
        Row("memory of DuckDB and its helpers", "the limit", found["duckdb"]["megabytes"], LIMIT, "MB", 1.0),
        Row(f"Spark, {people:,} reports", "counting symbols", spark.get("seconds", float("nan")),
            found.get("bare spark", {}).get("seconds"), "s", 1 / 1.5, note="no tally: no people, no coins"),
        Row("writing", "pyarrow", found["write"]["ours"], found["write"]["theirs"], "s", 0.5),
        Row("simulating and writing", "pyarrow, writing", found["simulate"]["seconds"],
            found["write"]["theirs"], "s", note="ours makes up, randomizes and writes"),
        Row("size of the files", "pyarrow", found["write"]["bytes"], found["write"]["their bytes"], "B",
            1 / 1.1),
        Row("the estimate", "the tally", found["duckdb"]["estimate"], found["duckdb"]["seconds"], "s",
            note="whatever the number of reports"),
    ]  # fmt: skip


def measured(people: int, folder: Path, plain: bool) -> dict[str, dict[str, Any]]:
    """All figures for so many people."""
    tasks = ["simulate", "write", "bare duckdb", "duckdb"] + ["plain duckdb"] * plain
    if shutil.which("java"):
        tasks.append("spark")
    found: dict[str, dict[str, Any]] = {}
    for task in tasks:
        found |= alone(task, people, folder)
    if "spark" in found:
        assert found["spark"].pop("tally") == found["duckdb"].pop("tally")
    return found


def alone(task: str, people: int, folder: Path) -> dict[str, dict[str, Any]]:
    """A task in a process of its own, watched."""
    command = [sys.executable, __file__, task, str(people), str(folder)]
    peak = 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        watched = psutil.Process(child.pid)
        while child.poll() is None:
            peak = max(peak, memory(watched))
            time.sleep(0.1)
        assert child.stdout is not None
        answer = child.stdout.read()
    assert child.returncode == 0, (task, answer)
    found = json.loads(answer.splitlines()[-1])
    for each in found.values():
        each["megabytes"] = peak
    return found


def memory(process: psutil.Process) -> float:
    total = 0.0
    try:
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return 0.0
    for each in family:
        try:
            total += each.memory_full_info().pss / 1e6
        except psutil.Error:
            continue
    return total


# ---------------------------------------------------------------- what runs in a process of its own


def crowd(people: int) -> Iterator[dict[str, np.ndarray]]:
    rng = np.random.default_rng(1)
    for start in range(0, people, 2**20):
        label = rng.integers(0, 2, min(2**20, people - start))
        yield {"score": np.clip(rng.normal(0.4 + 0.2 * label, 0.1), 0, 1), "label": label}


def simulate(people: int, folder: Path) -> dict[str, Any]:
    from dpairs.engines import simulate_reports
    from dpairs.engines.on_duckdb import cores

    began = time.perf_counter()
    simulate_reports(STUDY, crowd(people), folder / "reports", seed=1, workers=cores())
    return {"simulate": {"seconds": time.perf_counter() - began}}


def write(people: int, folder: Path) -> dict[str, Any]:
    """The same arrays, written by us and by pyarrow, file by file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dpairs.engines import ReportWriter

    found = {"ours": 0.0, "theirs": 0.0, "bytes": 0, "their bytes": 0}
    for path in sorted(folder.glob("reports/*/*.parquet")):
        table = pq.read_table(path).combine_chunks()
        stratum = STUDY.strata[int(path.parent.name.removeprefix("stratum-"))]
        indices, symbols = table["index"].to_numpy(), table["symbol"].to_numpy()
        began = time.perf_counter()
        with ReportWriter(folder / "ours.parquet", STUDY) as writer:
            writer.write(stratum, indices, symbols)
        found["ours"] += time.perf_counter() - began
        arrays = pa.table({name: table[name] for name in ("stratum", "index", "symbol")})
        began = time.perf_counter()
        pq.write_table(arrays, folder / "theirs.parquet")
        found["theirs"] += time.perf_counter() - began
        found["bytes"] += (folder / "ours.parquet").stat().st_size
        found["their bytes"] += (folder / "theirs.parquet").stat().st_size
    return {"write": found}


def duckdb_query(text: str, folder: Path) -> float:
    import duckdb

    from dpairs.engines.on_duckdb import MEMORY, cores

    began = time.perf_counter()
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}'; SET threads = {cores()}")
        connection.execute(f"SET temp_directory = '{folder}/spill'; SET preserve_insertion_order = false")
        connection.sql(text.format(f"read_parquet('{folder}/reports/*/*.parquet')")).fetchall()
    return time.perf_counter() - began


def with_duckdb(people: int, folder: Path) -> dict[str, Any]:
    from dpairs.engines import tally_with_duckdb
    from dpairs.engines.on_duckdb import cores

    began = time.perf_counter()
    found = tally_with_duckdb(STUDY, [f"{folder}/reports/*/*.parquet"], workers=cores())
    took = time.perf_counter() - began
    assert found.reasons == {"counted": people}
    began = time.perf_counter()
    found.tally.estimate()
    return {
        "duckdb": {"seconds": took, "estimate": time.perf_counter() - began, "tally": digest(found.tally)}
    }


def with_spark(people: int, folder: Path) -> dict[str, Any]:
    from dpairs.engines.on_duckdb import cores
    from dpairs.engines.on_spark import session, tally_with_spark

    spark = session(f"local[{cores()}]")
    spark.range(10).count()
    spark.read.parquet(f"file://{folder}/reports/*").createOrReplaceTempView("bare")
    # Twice: the first time Java compiles.
    bare = tally = 0.0
    for _ in range(2):
        began = time.perf_counter()
        spark.sql(BARE.format("bare")).collect()
        bare = time.perf_counter() - began
        began = time.perf_counter()
        found = tally_with_spark(STUDY, [f"{folder}/reports/*/*.parquet"], spark)
        tally = time.perf_counter() - began
        assert found.reasons == {"counted": people}
    spark.stop()
    return {"bare spark": {"seconds": bare}, "spark": {"seconds": tally, "tally": digest(found.tally)}}


def digest(tally: dpairs.Tally) -> str:
    import hashlib

    return hashlib.sha256(tally.to_json().encode()).hexdigest()


TASKS = {
    "simulate": simulate,
    "write": write,
    "duckdb": with_duckdb,
    "spark": with_spark,
    "bare duckdb": lambda _, folder: {"bare duckdb": {"seconds": duckdb_query(BARE, folder)}},
    "plain duckdb": lambda _, folder: {"plain duckdb": {"seconds": duckdb_query(DEDUPLICATED, folder)}},
}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](int(sys.argv[2]), Path(sys.argv[3]))))
