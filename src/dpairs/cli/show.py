"""What people see: tables on standard output, progress on standard error."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from ..estimate import LIARS, Estimate

output = Console()
errors = Console(stderr=True)


def print_json(value: Any) -> None:
    """One JSON document for scripts."""
    print(json.dumps(value, indent=2, allow_nan=False, ensure_ascii=False))


def printable(words: str) -> str:
    """Words that may be a stranger's, without a terminal's commands."""
    return "".join(letter if letter.isprintable() else " " for letter in words)


def number(value: float | None) -> str:
    """A number with the digits that matter."""
    return "-" if value is None else f"{value:.5g}"


def print_table(columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str | None = None) -> None:
    """A table; text to the left, numbers to the right."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for place, column in enumerate(columns):
        numeric = all(isinstance(row[place], (int, float)) for row in rows)
        table.add_column(column, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*[number(cell) if isinstance(cell, float) else str(cell) for cell in row])
    output.print(table)


def print_estimate(estimate: Estimate, level: float) -> None:
    """An estimate with everything that belongs to it."""
    low, high = estimate.confidence_interval(level)
    rows: list[tuple[str, str]] = [
        ("estimate", number(estimate.value)),
        ("standard error", number(estimate.standard_error)),
        (f"{level:.0%} interval", f"{number(low)} to {number(high)}"),
        ("people", ", ".join(f"{count:,} {stratum}" for stratum, count in estimate.strata.items())),
        ("privacy", str(estimate.privacy)),
    ]
    if estimate.attack is not None:
        found = estimate.manipulation(share=LIARS)
        moved = f"at most {found.change:.2g}" if math.isfinite(found.change) else "no bound is known"
        if math.isfinite(found.multiplier):
            moved += f"; a lie counts {found.multiplier:.3g} times"
        rows.append((f"{LIARS:.0%} of liars move it", moved))
    rows += [(name.replace("_", " "), number(value)) for name, value in estimate.details.items()]
    table = Table(title=estimate.statistic, title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for row in rows:
        table.add_row(*row)
    output.print(table)
    for note in estimate.notes():
        output.print(f"[dim]{note}[/]", highlight=False)


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
