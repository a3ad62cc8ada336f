"""Reports in tables, for `dpairs tally`: Parquet files, a collector's database, Delta and Iceberg tables."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import BadParameter
from ..formats.checks import choice
from ..study import Study
from .show import progress

if TYPE_CHECKING:
    from ..engines import FileTally

SUFFIXES = (".parquet", ".pq")
DATABASE = re.compile(r"postgres(?:ql)?(?:\+\w+)?://")
ENGINES = ("duckdb", "spark")


@dataclass(frozen=True)
class TableForm:
    """How tables that do not say it themselves are to be read."""

    columns: dict[str, str]
    cells: bool


@dataclass(frozen=True)
class Engine:
    """Which engine counts, where, and how strictly."""

    name: str | None
    master: str | None
    keep_going: bool
    recompute: bool

    @property
    def spark(self) -> bool:
        chosen = choice("engine", self.name or ("duckdb" if self.master is None else "spark"), ENGINES)
        if self.master is not None and chosen != "spark":
            raise BadParameter("--master is for --engine spark")
        return chosen == "spark"


def is_columnar(name: str) -> bool:
    """Whether reports of that name are in a table, and not in lines or tallies."""
    path = re.sub(r"\?[a-z_]+=[^/]*$", "", name)
    local = not re.match(r"[A-Za-z][A-Za-z0-9+.-]+:/", name)
    return not local or path.lower().endswith(SUFFIXES) or os.path.isdir(path)


def tally_columns(study: Study, names: list[str], form: TableForm | None, engine: Engine) -> FileTally:
    """What an engine finds; ``form`` is for tables that do not say what they hold."""
    database = any(map(DATABASE.match, names))
    if database and (len(names) > 1 or form is not None):
        raise BadParameter("count a collector's database by itself: it already knows its studies")
    spark = engine.spark
    options: dict[str, Any] = {"keep_going": engine.keep_going, "recompute": engine.recompute}
    if form is not None:
        options |= {"columns": form.columns, "cells": form.cells}
    return (_with_spark if spark else _with_duckdb)(study, names, database, form, engine, options)


def _with_duckdb(
    study: Study,
    names: list[str],
    database: bool,
    form: TableForm | None,
    engine: Engine,
    options: dict[str, Any],
) -> FileTally:
    from ..engines import open_files, tally_with_duckdb

    if database:
        from ..engines.postgresql import collected

        with collected(names[0], study) as reader:
            return tally_with_duckdb(study, reader, **options)
    if form is not None:
        from ..engines.lakes import table

        with table(study, names, form.columns, form.cells) as rows:
            return tally_with_duckdb(study, rows, **options)
    opened = open_files(names, study, engine.keep_going)
    with progress("counting", opened.rows) as advance:
        return tally_with_duckdb(study, opened, progress=advance, **options)


def _with_spark(
    study: Study,
    names: list[str],
    database: bool,
    form: TableForm | None,
    engine: Engine,
    options: dict[str, Any],
) -> FileTally:
    from ..engines import open_files
    from ..engines.cluster import session
    from ..engines.on_spark import tally_with_spark

    settings, source = {}, None
    if database:
        from ..engines.postgresql import jdbc, settings_of_jdbc

        settings = settings_of_jdbc()
        source = jdbc(names[0], study)
    opened = open_files(names, study, engine.keep_going) if source is None and form is None else None
    paths: list[str] = []
    if form is not None:
        from ..engines.lakes import files, kind
        from ..engines.on_spark import uri

        if any(kind(name) for name in names):
            raise BadParameter(
                "Spark's own session reads Delta and Iceberg: give its DataFrame to tally_with_spark"
            )
        paths = [uri(path) for path in files(study, names, form.columns, form.cells)]
    spark = session(engine.master, settings)
    try:
        if source is not None:
            return tally_with_spark(study, spark.read.format("jdbc").options(**source).load(), **options)
        if opened is not None:
            return tally_with_spark(study, opened, spark, **options)
        return tally_with_spark(study, spark.read.parquet(*paths), **options)
    finally:
        spark.stop()
