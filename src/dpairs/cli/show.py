"""What people see: tables on standard output, progress on standard error."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ..estimate import Estimate
from ..formats.display import number, printable

output = Console()
errors = Console(stderr=True)


def print_json(value: Any) -> None:
    """One JSON document for scripts; a number that does not exist, as a limit that nobody knows, is null."""
    print(json.dumps(_existing(value), indent=2, allow_nan=False, ensure_ascii=False))


def _existing(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _existing(each) for name, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_existing(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """A table; text to the left, numbers to the right. Words are shown as they are, whoever wrote them."""
    table = Table(title=None if title is None else escape(title), title_justify="left", header_style="bold")
    for place, column in enumerate(columns):
        numeric = all(isinstance(row[place], (int, float)) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        cells = [number(cell) if isinstance(cell, float) else escape(printable(str(cell))) for cell in row]
        table.add_row(*cells)
    output.print(table)


def print_estimate(estimate: Estimate, level: float) -> None:
    """An estimate with everything that belongs to it."""
    table = Table(title=escape(estimate.statistic), title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for row in estimate.rows(level):
        table.add_row(*map(escape, row))
    output.print(table)
    for note in estimate.notes():
        output.print(f"[dim]{escape(note)}[/]", highlight=False)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, silent when that is not a terminal; yields ``advance(steps)``."""
    bar = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=errors,
        transient=True,
        disable=not errors.is_terminal,
    )
    with bar:
        task = bar.add_task(what, total=total)
        yield lambda steps: bar.advance(task, steps)
