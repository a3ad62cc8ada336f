"""Count report files with DuckDB, in this process and within bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from ..errors import BadParameter
from ..study import Study
from ..tally import Tally
from . import grouping, packing
from .cpu import cores
from .deduplication import Deduplication, whole
from .duckdb_queries import answer, connected, imported
from .duckdb_tables import is_table, tally_table
from .file_tally import FileTally
from .files import Files, Opened, open_files, patterns
from .inspecting import Inspected, Wanted, inspect
from .meter import Meter, Tell
from .places import first_sentence, literal, place
from .row_sql import DUCKDB, Source
from .tables import Columns

ROWS = pa.schema(
    [("stratum", pa.dictionary(pa.int32(), pa.string())), ("index", pa.int64()), ("symbol", pa.int64())]
)
INSPECTION, PACKING = 0.2, 0.3
"""Roughly the parts of a run that go into looking at files, and of symbols into packing them."""


def tally_with_duckdb(
    study: Study,
    reports: Files | Any,
    *,
    columns: Columns | None = None,
    cells: bool = False,
    keep_going: bool = False,
    recompute: bool = False,
    progress: Callable[[int], None] | None = None,
) -> FileTally:
    """The tally of reports in files, or in a table.

    *Files* are names, folders, patterns or opened files; they say which study they belong to and whether
    they hold cells. A file that cannot be used ends the run, or is left out with ``keep_going``.
    ``progress`` is called with numbers of rows that add up to all of them.

    A *table* is a DuckDB relation, an Arrow table, dataset or reader, a data frame, or a mapping of names to
    arrays. ``columns`` names its columns if they are not called stratum, index and symbol; with one for
    "study", rows with another study's id are left out. ``cells`` says that it holds cells. Rows that cannot
    be reports of the study are an error, or are left out with ``keep_going``.

    A sample of the cells, or with ``recompute`` all of them, is compared with people's coins.
    """
    if is_table(reports):
        return tally_table(study, reports, columns, cells=cells, keep_going=keep_going, recompute=recompute)
    if columns is not None or cells:
        raise BadParameter("columns and cells are for tables: report files say for themselves what they hold")
    opened = reports if isinstance(reports, Opened) else open_files(patterns(reports), study, keep_going)
    duckdb = imported()
    meter = Meter(progress, opened.rows)
    return whole(
        lambda error: f"DuckDB could not count the reports: {first_sentence(error)}",
        study,
        opened,
        lambda asked: _inspected(study, asked, meter.stage(0.0, INSPECTION)),
        lambda deduplication: _run(study, deduplication, meter),
        (duckdb.Error, pa.ArrowException),
        keep_going=keep_going,
        recompute=recompute,
    )


def _inspected(study: Study, asked: list[Wanted], tell: Tell) -> list[Inspected]:
    """Look at all files, in threads: reading pages leaves Python free."""
    inspected = []
    with ThreadPoolExecutor(cores()) as pool:
        for file in pool.map(lambda wanted: inspect(study, wanted), asked):
            inspected.append(file)
            tell(len(inspected) / len(asked))
    return inspected


def _run(study: Study, deduplication: Deduplication, meter: Meter) -> FileTally:
    total = FileTally(Tally(study))
    if not deduplication.paths:
        return total
    done, share = INSPECTION, (1 - INSPECTION) / len(deduplication.paths)
    with connected() as connection:
        for paths, name in deduplication.ways:
            if not paths:
                continue
            # Stages are as long as their files are many: a guess, which the bar can live with.
            start, done = done, done + share * len(paths)
            straight = name == "straight"
            source = Source(
                _by_stratum(connection, deduplication) if straight else _source(connection, "paths", paths)
            )
            if name:
                text = grouping.sql(study, source, straight)
                total.add(grouping.count(study, answer(connection, text, meter.stage(start, done))))
                continue
            middle = start + (done - start) * PACKING
            text = f"{packing.sql(study, source, DUCKDB)}\nORDER BY place, block"
            batches = answer(connection, text, meter.stage(start, middle))
            advance = meter.rows(middle, done, len(paths) / len(deduplication.paths))
            total.add(packing.count(study, batches, advance, cores()))
    meter.stage(0.0, 1.0)(1.0)
    return total


def _source(connection: Any, name: str, paths: Sequence[str]) -> str:
    """The rows of files, whatever their names are; Arrow reads those that DuckDB would not find."""
    stores: dict[Any, list[str]] = {}
    for path in paths:
        if not literal(path):
            here = place(path)
            stores.setdefault((here.base, here.options), []).append(path)
    parts = []
    for number, some in enumerate(stores.values()):
        import pyarrow.dataset as ds  # imports pandas: only where it is needed

        names = [place(path).path for path in some]
        form = ds.ParquetFileFormat(dictionary_columns=["stratum"])
        files = ds.dataset(names, filesystem=place(some[0]).filesystem, schema=ROWS, format=form)
        connection.register(f"{name}_{number}", files)
        parts.append(f"SELECT stratum, index, symbol FROM {name}_{number}")  # noqa: S608 - our own name
    local = [path for path in paths if literal(path)]
    if local:
        parts.append(f"SELECT stratum, index, symbol FROM {_local(connection, name, local)}")  # noqa: S608
    return f"({' UNION ALL '.join(parts)}) AS reports"


def _local(connection: Any, name: str, paths: Sequence[str]) -> str:
    connection.execute("CREATE OR REPLACE TEMP TABLE paths AS SELECT unnest(?) AS path", [list(paths)])
    connection.execute(f"SET VARIABLE {name} = (SELECT list(path) FROM paths)")  # noqa: S608 - our own name
    return f"read_parquet(getvariable('{name}'), hive_partitioning = false)"


def _by_stratum(connection: Any, deduplication: Deduplication) -> str:
    """The rows of straight files; a stratum that a file has throughout is not read once more."""
    parts = []
    for number, stratum in enumerate(
        dict.fromkeys(deduplication.only.get(path) for path in deduplication.straight)
    ):
        paths = [path for path in deduplication.straight if deduplication.only.get(path) == stratum]
        named = "stratum" if stratum is None else f"'{stratum}' AS stratum"
        source = _source(connection, f"straight_{number}", paths)
        parts.append(f"SELECT {named}, symbol FROM {source}")  # noqa: S608 - `placed` checks the names
    return f"({' UNION ALL '.join(parts)}) AS straight"
