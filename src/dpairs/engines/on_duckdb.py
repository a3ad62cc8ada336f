"""Report files counted by DuckDB, within this process and a bounded part of its memory."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

import pyarrow as pa

from ..errors import BadParameter
from ..study import Study
from ..tally import Tally
from . import grouping, packing
from .cpu import cores
from .deduplication import Deduplication, whole
from .file_tally import FileTally
from .files import Opened, open_files
from .inspecting import Inspected, Wanted, inspect
from .meter import Meter, Tell, watched

MEMORY = "700MB"
"""What DuckDB may hold; beyond that it writes to a temporary folder."""
TASK = 2**16
"""Blocks that one process counts at once: four million people."""
INSPECTION, PACKING = 0.2, 0.3
"""Roughly the parts of a run that go into looking at files, and of symbols into packing them."""


def tally_with_duckdb(
    study: Study,
    files: Opened | Sequence[str],
    *,
    keep_going: bool = False,
    recompute: bool = False,
    workers: int = 1,
    progress: Callable[[int], None] | None = None,
) -> FileTally:
    """The tally of report files, given as patterns or opened already.

    Of files of cells a sample is compared with the people's coins, or with ``recompute`` every row.
    ``workers`` processes recompute the coins of symbols; with more than one, call this under
    ``if __name__ == "__main__"``. ``progress`` is called with numbers of rows that add up to all of them.
    """
    opened = files if isinstance(files, Opened) else open_files(files, study, keep_going)
    try:
        import duckdb
    except ImportError:
        raise BadParameter(
            "tallies of Parquet files need DuckDB: install the extra 'duckdb' of dpairs"
        ) from None
    meter = Meter(progress, opened.rows)
    return whole(
        "DuckDB",
        study,
        opened,
        lambda asked: _inspected(study, asked, meter.stage(0.0, INSPECTION)),
        lambda deduplication: _run(study, deduplication, workers, meter),
        (duckdb.Error, pa.ArrowException),
        keep_going=keep_going,
        recompute=recompute,
    )


def _inspected(study: Study, asked: list[Wanted], tell: Tell) -> list[Inspected]:
    """Look at all files, in threads: reading pages leaves Python free."""
    found = []
    with ThreadPoolExecutor(cores()) as pool:
        for each in pool.map(lambda one: inspect(study, one), asked):
            found.append(each)
            tell(len(found) / len(asked))
    return found


def _run(study: Study, deduplication: Deduplication, workers: int, meter: Meter) -> FileTally:
    total = FileTally(Tally(study))
    if not deduplication.paths:
        return total
    done, share = INSPECTION, (1 - INSPECTION) / len(deduplication.paths)
    with _connection() as connection:
        for paths, name in deduplication.ways:
            if not paths:
                continue
            # Stages are as long as their files are many: a guess, which the bar can live with.
            start, done = done, done + share * len(paths)
            straight = name == "straight"
            source = (
                _by_stratum(connection, deduplication) if straight else _source(connection, "paths", paths)
            )
            if name:
                text = grouping.sql(study, source, straight)
                total.add(grouping.count(study, _answer(connection, text, meter.stage(start, done))))
                continue
            middle = start + (done - start) * PACKING
            text = f"{packing.sql(study, source)}\nORDER BY place, block"
            batches = _answer(connection, text, meter.stage(start, middle))
            advance = meter.rows(middle, done, len(paths) / len(deduplication.paths))
            if workers == 1:
                total.add(packing.count(study, batches, advance))
            else:
                total.add(_spread(study, batches, workers, advance))
    meter.stage(0.0, 1.0)(1.0)
    return total


def _source(connection: Any, name: str, paths: Sequence[str]) -> str:
    """The rows of files, whatever their names are."""
    connection.execute("CREATE OR REPLACE TEMP TABLE paths AS SELECT unnest(?) AS path", [list(paths)])
    connection.execute(f"SET VARIABLE {name} = (SELECT list(path) FROM paths)")  # noqa: S608 - our own name
    return f"read_parquet(getvariable('{name}'), hive_partitioning = false)"


def _by_stratum(connection: Any, deduplication: Deduplication) -> str:
    """The rows of straight files; a stratum that a file has throughout is not read once more."""
    parts = []
    for place, stratum in enumerate(
        dict.fromkeys(deduplication.only.get(path) for path in deduplication.straight)
    ):
        paths = [path for path in deduplication.straight if deduplication.only.get(path) == stratum]
        named = "stratum" if stratum is None else f"'{stratum}' AS stratum"
        source = _source(connection, f"straight_{place}", paths)
        parts.append(f"SELECT {named}, symbol FROM {source}")  # noqa: S608 - `placed` checks the names
    return f"({' UNION ALL '.join(parts)}) AS straight"


def _answer(connection: Any, text: str, tell: Tell) -> Iterator[Any]:
    """The Arrow batches of a query's answer; the work is done before the first of them."""
    with watched(connection, tell):
        batches = pa.RecordBatchReader.from_stream(connection.sql(text))
        first = next(batches, None)
    if first is not None:
        yield first
    yield from batches


@contextmanager
def _connection() -> Iterator[Any]:
    import duckdb

    with tempfile.TemporaryDirectory(prefix="dpairs-") as folder, duckdb.connect() as connection:
        settings = {"memory_limit": MEMORY, "temp_directory": folder, "preserve_insertion_order": False}
        settings |= {"threads": cores(), "enable_progress_bar": True, "enable_progress_bar_print": False}
        settings |= {"progress_bar_time": 0}
        for name, value in settings.items():
            connection.execute(f"SET {name} = '{value}'")
        connection.execute("CREATE MACRO shiftleft(a, b) AS CAST(a AS UBIGINT) << CAST(b AS UBIGINT)")
        connection.execute("CREATE MACRO shiftright(a, b) AS a >> b")
        yield connection


def _spread(study: Study, batches: Any, workers: int, progress: Callable[[int], None]) -> FileTally:
    """Count in several processes; a few tasks wait at a time, so memory stays bounded."""
    total = FileTally(Tally(study))
    text = study.to_json()

    def take(future: Future[tuple[bytes, dict[str, int]]]) -> None:
        body, reasons = future.result()
        part = FileTally(Tally.from_bytes(body, study))
        part.reasons.update(reasons)
        total.add(part)
        progress(sum(reasons.values()))

    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        waiting: list[Future[tuple[bytes, dict[str, int]]]] = []
        for task in _tasks(batches):
            waiting.append(pool.submit(counted_part, text, task))
            if len(waiting) > 2 * workers:
                take(waiting.pop(0))
        for future in waiting:
            take(future)
    return total


def _tasks(batches: Any) -> Iterator[bytes]:
    """The batches, cut and joined to parts of one size, as bytes."""
    held: list[Any] = []
    for batch in batches:
        for start in range(0, batch.num_rows, TASK):
            held.append(batch.slice(start, TASK))
            if sum(each.num_rows for each in held) >= TASK:
                yield _stream(held)
                held = []
    if held:
        yield _stream(held)


def _stream(batches: list[Any]) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, batches[0].schema) as writer:
        writer.write_table(pa.Table.from_batches(batches).combine_chunks())
    return bytes(out.getvalue())


def counted_part(study: str, task: bytes) -> tuple[bytes, dict[str, int]]:
    """What another process makes of a part: the tally's bytes, and the counts by reason."""
    with pa.ipc.open_stream(task) as reader:
        part = packing.count(Study.from_json(study), reader)
    return part.tally.to_bytes(), dict(part.reasons)
