"""A command that measures a table's rows, shows them, and keeps them if they had as many runs as usual."""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any


def command(
    name: str,
    description: str,
    measure: Callable[[int], Iterable[Any]],
    usual: int,
    store: Path,
    arguments: Sequence[str] | None,
) -> int:
    """``measure`` gives a data class for each row, from so many runs."""
    words = argparse.ArgumentParser(f"python -m experiments.zoo.{name}", description=description)
    words.add_argument("--runs", type=int, default=usual, help="of each row")
    given = words.parse_args(arguments)
    rows = []
    for row in measure(given.runs):
        rows.append({key: _short(value) for key, value in asdict(row).items()})
        print(*rows[-1].values(), flush=True)
    if given.runs >= usual:
        with store.open("w", newline="", encoding="utf-8") as kept:
            lines = csv.DictWriter(kept, rows[0], lineterminator="\n")
            lines.writeheader()
            lines.writerows(rows)
    return 0


def _short(value: object) -> object:
    return f"{value:.6g}" if isinstance(value, float) else value
