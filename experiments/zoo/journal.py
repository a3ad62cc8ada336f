"""A journal of measured cells: a line for each cell that ended, which is then not run again."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import asdict, fields
from pathlib import Path

from .cells import Cell
from .measure import Outcome, measure

NAMES = [each.name for each in (*fields(Cell), *fields(Outcome))]


def read(path: Path) -> dict[Cell, Outcome]:
    """What was measured; of several lines of a cell the last one."""
    if not path.exists():
        return {}
    measured = {}
    with path.open(newline="", encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            cell = Cell(
                row["population"], row["statistic"], row["protocol"], float(row["epsilon"]), int(row["n"])
            )
            numbers = {
                each.name: (int if each.name in ("runs", "refused") else float)(row[each.name])
                for each in fields(Outcome)
                if each.name != "reason"
            }
            measured[cell] = Outcome(**numbers, reason=row["reason"])  # type: ignore[arg-type]
    return measured


def write(path: Path, cell: Cell, outcome: Outcome) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as lines:
        writer = csv.writer(lines, lineterminator="\n")
        if new:
            writer.writerow(NAMES)
        values = {**asdict(cell), **asdict(outcome)}
        writer.writerow([f"{each:.6g}" if isinstance(each, float) else each for each in values.values()])


def renew(path: Path, wanted: Iterable[Cell], runs: int, first: int = 0) -> None:
    """Measure again what the journal has of these cells; every line stays in its place."""
    for cell in wanted:
        known = read(path)
        if cell in known:
            known[cell] = measure(cell, runs, first)
            whole = path.with_suffix(".whole")
            whole.unlink(missing_ok=True)
            for each, outcome in known.items():
                write(whole, each, outcome)
            whole.replace(path)
            print(f"{cell}: {known[cell].covered:.2f} {known[cell].covered_sample:.2f}", flush=True)


def run(path: Path, wanted: Iterable[Cell], runs: int, first: int = 0) -> None:
    """Measure what the journal does not have."""
    known = read(path)
    for cell in wanted:
        if cell not in known:
            outcome = measure(cell, runs, first)
            write(path, cell, outcome)
            print(f"{cell}: {outcome.covered:.2f} {outcome.covered_sample:.2f}", flush=True)
