"""DuckDB within this process and a bounded part of its memory: a connection, and a query's answer."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from ..errors import BadParameter
from .cpu import cores
from .meter import Tell, watched

MEMORY = "700MB"
"""What DuckDB may hold; beyond that it writes to a temporary folder."""

BELIEVING = "statistics_propagation"
"""What would believe a file about its smallest and largest values, and so not check its rows."""


def imported() -> Any:
    try:
        import duckdb
    except ImportError:
        raise BadParameter("tallies of tables need DuckDB: pip install 'dpairs[duckdb]'") from None
    return duckdb


@contextmanager
def connected() -> Iterator[Any]:
    with tempfile.TemporaryDirectory(prefix="dpairs-") as folder, imported().connect() as connection:
        settings = {"memory_limit": MEMORY, "temp_directory": folder, "preserve_insertion_order": False}
        settings |= {"threads": cores(), "enable_progress_bar": True, "enable_progress_bar_print": False}
        settings |= {"progress_bar_time": 0, "disabled_optimizers": BELIEVING}
        for name, value in settings.items():
            connection.execute(f"SET {name} = '{value}'")
        yield connection


def answer(connection: Any, text: str, tell: Tell) -> Iterator[Any]:
    """The Arrow batches of a query's answer; the work is done before the first of them."""
    with watched(connection, tell):
        batches = pa.RecordBatchReader.from_stream(connection.sql(text))
        first = next(batches, None)
    if first is not None:
        yield first
    yield from batches
