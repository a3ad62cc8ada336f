"""Tallies of report files: DuckDB and Spark

Tree reports of one bit (2^16 leaves, epsilon 1) in Parquet, in wall-clock seconds; the files are in the
cache. Memory is the largest sum over a process and its children (proportional set size, sampled), of a
process that does nothing else.

*Cells*: files that say the level, row and bit that a report counts in. *The bare GROUP BY* is
`SELECT stratum, symbol, count(*) ... GROUP BY` on the same files, with the same settings: the tally's floor.
Both run in one process in turn, three times; the best time of each counts, and the median of the processor's,
which other programs on the machine disturb less. The tally also checks that nobody is there twice, the pages'
checksums, and a sample of the cells.

*One-bit reports*: files of what devices sent. The bare `GROUP BY` of those neither sees who reports twice nor
knows the levels and rows that the bits belong to, so it is no tally. Ours does both, and recomputes
everybody's coins.

*A table* says nothing about itself, so nobody is known to be there once. *Its de-duplicating GROUP BY* is the
usual SQL that counts everybody once: a `GROUP BY stratum, index` and a count by symbol of what is left.

*Writing*: our writer and pyarrow write the same arrays, which are there already, with the same encodings and
compression; and pyarrow with its defaults.
"""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from measure import Row

import dpairs

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
FORMS = {"symbols": False, "cells": True}
TIMES = 3
"""Both sides run so often, in turn."""


def run(quick: bool) -> list[Row]:
    people = 10**6 if quick else 10**7
    with tempfile.TemporaryDirectory() as folder:
        times = measured(people, Path(folder))
    reports = f"{people:,} reports"

    def ratio(engine: str, form: str, note: str) -> Row:
        ours, bare = (times.get(f"{name}{engine}{form}", {}).get("seconds") for name in ("", "bare "))
        name = "cells" if form else "one-bit reports"
        return Row(f"{engine.title()}, {reports} as {name}", "the bare GROUP BY",
                   float("nan") if ours is None else ours, bare, "s", note=note)  # fmt: skip

    none = "no tally: no people, no coins"
    # With fewer reports, what does not grow with them weighs more: experiments/pages/scale.py measures 10^8.
    wanted = "at 10^8 reports the tally may take longer by a factor of"
    rows = [
        ratio("duckdb", " cells", f"{wanted} 1.3"),
        ratio("spark", " cells", f"{wanted} 1.3"),
        ratio("duckdb", "", none),
        ratio("spark", "", none),
        *(
            Row(f"{engine}, a table of {name}", "its de-duplicating GROUP BY",
                times[f"{task}{form}"]["seconds"], times[f"plain {task}{form}"]["seconds"], "s", 1 / 1.5)
            for engine, task in (("DuckDB", "table"), ("Spark", "spark table"))
            for form, name in ((" cells", "cells"), ("", "one-bit reports"))
            if f"{task}{form}" in times
        ),
        Row("memory of DuckDB, cells", "the limit", times["memory cells"]["megabytes"], LIMIT, "MB", 1.0),
        Row("memory of DuckDB, one-bit reports", "the limit",
            times["memory"]["megabytes"], LIMIT, "MB", 1.0),
        Row("memory of DuckDB, a table of cells", "the limit",
            times["memory of a table cells"]["megabytes"], LIMIT, "MB", 1.0),
    ]  # fmt: skip
    for form, name in ((" cells", "cells"), ("", "one-bit reports")):
        wrote, made = times[f"write{form}"], times[f"simulate{form}"]["seconds"]
        rows += [
            Row(f"writing {name}", "pyarrow, same encodings", wrote["ours"], wrote["alike"], "s", 0.5),
            Row("the same", "pyarrow's defaults", wrote["ours"], wrote["defaults"], "s"),
            Row("simulating and writing", "pyarrow, same encodings", made, wrote["alike"], "s",
                note="ours makes up, randomizes and writes"),
            Row(f"size of the files of {name}", "pyarrow, same encodings", wrote["bytes"],
                wrote["alike bytes"], "B", 1 / 1.1),
            Row("the same", "pyarrow's defaults", wrote["bytes"], wrote["defaults bytes"], "B"),
        ]  # fmt: skip
    tally = times["duckdb cells"]
    rows.append(
        Row("the estimate", "the tally", tally["estimate"], tally["seconds"], "s",
            note="whatever the number of reports")
    )  # fmt: skip
    return rows


def measured(people: int, folder: Path, only: Sequence[str] = ()) -> dict[str, dict[str, Any]]:
    """All figures for so many people, by task; those of files of cells have names that end in "cells".

    ``only`` names the tasks to be run, if not all.
    """
    kinds = ("simulate", "write", "duckdb", "memory", "table", "memory of a table")
    tasks = [f"{kind} {form}" for form in FORMS for kind in kinds]
    if shutil.which("java"):
        tasks.append("spark")
    times: dict[str, dict[str, Any]] = {}
    for task in only or tasks:
        times |= alone(task, people, folder)
    tallies = {each.pop("tally") for each in times.values() if "tally" in each}
    assert len(tallies) == 1, "engines and forms differ"
    return {task.removesuffix(" symbols"): each for task, each in times.items()}


def alone(task: str, people: int, folder: Path) -> dict[str, dict[str, Any]]:
    """A task in a process of its own; its memory is sampled where that is asked for.

    Sampling stops the process for a moment each time, so tasks that are timed against others run without.
    """
    sampled = task.startswith(("memory", "simulate"))
    command = [sys.executable, __file__, task, str(people), str(folder)]
    peak, load = 0.0, os.getloadavg()[0]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as child:
        watched = psutil.Process(child.pid)
        while sampled and child.poll() is None:
            peak = max(peak, memory(watched))
            time.sleep(0.1)
        assert child.stdout is not None
        answer = child.stdout.read()
        child.wait()
    assert child.returncode == 0, (task, answer)
    found: dict[str, dict[str, Any]] = json.loads(answer.splitlines()[-1])
    for each in found.values():
        each |= {"load": load} | ({"megabytes": peak} if sampled else {})
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


def simulate(form: str, people: int, folder: Path) -> dict[str, Any]:
    from dpairs.engines import simulate_reports
    from dpairs.engines.cpu import cores

    began = time.perf_counter()
    simulate_reports(STUDY, crowd(people), folder / form, seed=1, cells=FORMS[form], workers=cores())
    return {f"simulate {form}": {"seconds": time.perf_counter() - began}}


def write(form: str, _: int, folder: Path) -> dict[str, Any]:
    """The same arrays, written by us and by pyarrow, file by file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dpairs.engines import ReportWriter
    from dpairs.engines.files import ROW_GROUP, encodings

    alike = {"compression": "zstd", "write_page_checksum": True, "row_group_size": ROW_GROUP}
    theirs: dict[str, dict[str, Any]] = {"alike": alike | encodings(FORMS[form]), "defaults": {}}
    spent = {"ours": 0.0, "bytes": 0} | dict.fromkeys(theirs, 0.0) | {f"{name} bytes": 0 for name in theirs}
    for path in sorted(folder.glob(f"{form}/*/*.parquet")):
        table = pq.read_table(path).combine_chunks()
        stratum = STUDY.strata[int(path.parent.name.removeprefix("stratum-"))]
        indices, symbols = table["index"].to_numpy(), table["symbol"].to_numpy()
        began = time.perf_counter()
        with ReportWriter(folder / "ours.parquet", STUDY, cells=FORMS[form]) as writer:
            writer.write_column(stratum, indices, symbols)
        spent["ours"] += time.perf_counter() - began
        spent["bytes"] += (folder / "ours.parquet").stat().st_size
        arrays = pa.table({name: table[name] for name in ("stratum", "index", "symbol")})
        for name, options in theirs.items():
            began = time.perf_counter()
            pq.write_table(arrays, folder / "theirs.parquet", **options)
            spent[name] += time.perf_counter() - began
            spent[f"{name} bytes"] += (folder / "theirs.parquet").stat().st_size
    return {f"write {form}": spent}


def processor() -> float:
    """Seconds that this process and its children have computed, those that ended included."""
    me = psutil.Process()
    return sum(sum(each.cpu_times()[:4]) for each in (me, *me.children(recursive=True)))


def in_turn(**tasks: Callable[[], Any]) -> dict[str, dict[str, Any]]:
    """Times of tasks that run in turn: the best, and the median of the processor's."""
    taken: dict[str, dict[str, list[float]]] = {name: {"all": [], "computed": []} for name in tasks}
    for _ in range(TIMES):
        for name, task in tasks.items():
            computed, began = processor(), time.perf_counter()
            task()
            taken[name]["all"].append(time.perf_counter() - began)
            taken[name]["computed"].append(processor() - computed)
    return {
        name: {**each, "seconds": min(each["all"]), "processor": statistics.median(each["computed"])}
        for name, each in taken.items()
    }


def duckdb_query(text: str, folder: Path, form: str) -> float:
    import duckdb
    import pyarrow as pa

    from dpairs.engines.cpu import cores
    from dpairs.engines.duckdb_queries import MEMORY

    began = time.perf_counter()
    with duckdb.connect() as connection:
        connection.execute(f"SET memory_limit = '{MEMORY}'; SET threads = {cores()}")
        connection.execute(f"SET temp_directory = '{folder}/spill'; SET preserve_insertion_order = false")
        answer = connection.sql(text.format(f"read_parquet('{folder}/{form}/*/*.parquet')"))
        pa.RecordBatchReader.from_stream(answer).read_all()
    return time.perf_counter() - began


def tallied(form: str, people: int, folder: Path) -> tuple[float, dpairs.Tally]:
    from dpairs.engines import tally_with_duckdb

    began = time.perf_counter()
    found = tally_with_duckdb(STUDY, [f"{folder}/{form}/*/*.parquet"])
    took = time.perf_counter() - began
    assert found.reasons == {"counted": people}
    return took, found.tally


def with_duckdb(form: str, people: int, folder: Path) -> dict[str, Any]:
    times = in_turn(bare=lambda: duckdb_query(BARE, folder, form), ours=lambda: tallied(form, people, folder))
    _, tally = tallied(form, people, folder)
    began = time.perf_counter()
    tally.estimate()
    times["ours"] |= {"estimate": time.perf_counter() - began, "tally": digest(tally)}
    return {f"bare duckdb {form}": times["bare"], f"duckdb {form}": times["ours"]}


def table_with_duckdb(form: str, people: int, folder: Path) -> dict[str, Any]:
    """A relation, which says nothing about itself, against the usual SQL that counts everybody once."""
    times = in_turn(
        plain=lambda: duckdb_query(DEDUPLICATED, folder, form),
        ours=lambda: tallied_table(form, people, folder),
    )
    times["ours"] |= {"tally": digest(tallied_table(form, people, folder))}
    return {f"plain table {form}": times["plain"], f"table {form}": times["ours"]}


def tallied_table(form: str, people: int, folder: Path) -> dpairs.Tally:
    from dpairs.engines import tally_with_duckdb
    from dpairs.engines.duckdb_queries import connected

    with connected() as connection:
        table = connection.read_parquet(f"{folder}/{form}/*/*.parquet", hive_partitioning=False)
        found = tally_with_duckdb(STUDY, table, cells=FORMS[form])
    assert found.reasons == {"counted": people}
    return found.tally


def memory_of_duckdb(form: str, people: int, folder: Path) -> dict[str, Any]:
    return {f"memory {form}": {"seconds": tallied(form, people, folder)[0]}}


def memory_of_a_table(form: str, people: int, folder: Path) -> dict[str, Any]:
    return {f"memory of a table {form}": {"tally": digest(tallied_table(form, people, folder))}}


def with_spark(people: int, folder: Path) -> dict[str, Any]:
    """Files against the bare text, and DataFrames against the usual SQL that counts everybody once."""
    from dpairs.engines.cpu import cores
    from dpairs.engines.on_spark import session, tally_with_spark

    spark = session(f"local[{cores()}]")
    by_task: dict[str, Any] = {}
    for form in FORMS:
        if not (folder / form).exists():
            continue
        frame = spark.read.parquet(f"file://{folder}/{form}/*")
        frame.createOrReplaceTempView("reports")

        def query(text: str) -> None:
            # The answer goes nowhere: nothing but the query is measured.
            spark.sql(text.format("reports")).write.format("noop").mode("overwrite").save()

        def files(form: str = form) -> dpairs.Tally:
            return right(tally_with_spark(STUDY, [f"{folder}/{form}/*/*.parquet"], spark))

        def table(form: str = form, frame: Any = frame) -> dpairs.Tally:
            return right(tally_with_spark(STUDY, frame, cells=FORMS[form]))

        def right(counted: Any) -> dpairs.Tally:
            assert counted.reasons == {"counted": people}
            tally: dpairs.Tally = counted.tally
            return tally

        for name, text, ours in (("", BARE, files), (" table", DEDUPLICATED, table)):
            # Java compiles the first time.
            query(text)
            tally = ours()
            times = in_turn(theirs=partial(query, text), ours=ours)
            by_task |= {f"{'plain' if name else 'bare'} spark{name} {form}": times["theirs"]}
            by_task |= {f"spark{name} {form}": times["ours"] | {"tally": digest(tally)}}
    spark.stop()
    return by_task


def digest(tally: dpairs.Tally) -> str:
    import hashlib

    return hashlib.sha256(tally.to_json().encode()).hexdigest()


TASKS: dict[str, Any] = {
    f"{name} {form}": partial(task, form)
    for form in FORMS
    for name, task in (
        ("simulate", simulate),
        ("write", write),
        ("duckdb", with_duckdb),
        ("memory", memory_of_duckdb),
        ("table", table_with_duckdb),
        ("memory of a table", memory_of_a_table),
    )
} | {"spark": with_spark}

if __name__ == "__main__":
    print(json.dumps(TASKS[sys.argv[1]](int(sys.argv[2]), Path(sys.argv[3]))))
