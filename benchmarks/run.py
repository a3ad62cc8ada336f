"""Run the benchmarks: ``python benchmarks/run.py [names...] [--quick]``.

Prints a table for each and keeps it in benchmarks/results.json, of which the documentation's tables are made
when it is built; what was not run again stays, and a quick run keeps nothing. Ends with 1 when a wanted ratio
is missed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from types import ModuleType
from typing import Any

from environment import HERE, machine, one_core

NAMES = (
    "exact",
    "randomize",
    "memory",
    "participant",
    "estimate",
    "tree",
    "server",
    "projection",
    "plan",
    "garbled",
    "vdaf",
    "multiply",
    "aggregator",
    "collector",
    "engines",
)
RESULTS = HERE / "results.json"
WIDTH = 140


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the benchmarks on one core.")
    parser.add_argument("names", nargs="*", metavar="name", help=f"which: {', '.join(NAMES)} (all)")
    parser.add_argument("--quick", action="store_true", help="less data and fewer repeats; keeps nothing")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(NAMES)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}")

    one_core()
    chosen = {name: importlib.import_module(name) for name in NAMES if name in (asked.names or NAMES)}
    measured = measure(chosen, asked.quick)
    if not asked.quick:
        kept = {**earlier(), **measured}
        results = {name: kept[name] for name in (*NAMES, *kept) if name in kept}
        RESULTS.write_text(json.dumps(results, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return verdict(measured)


def measure(modules: dict[str, ModuleType], quick: bool) -> dict[str, Any]:
    """Run the benchmarks and print their tables."""
    from page import cells, terminal
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    console, errors = Console(), Console(stderr=True)
    if not console.is_terminal:
        console = Console(width=WIDTH)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    measured = {}
    # Refreshed by hand: a thread that redraws would count as processor time of ours.
    with Progress(
        *columns, console=errors, transient=True, auto_refresh=False, disable=not errors.is_terminal
    ) as progress:
        task = progress.add_task("", total=len(modules))
        for name, module in modules.items():
            progress.update(task, description=name, refresh=True)
            title, _, about = (module.__doc__ or name).partition("\n\n")
            rows = [row.to_json() for row in module.run(quick)]
            measured[name] = {
                "title": title,
                "about": about.strip(),
                "machine": machine(),
                "rows": [{**row, "cells": cells(row)} for row in rows],
            }
            progress.update(task, advance=1, refresh=True)
            console.print(terminal(title, rows))
    return measured


def earlier() -> dict[str, Any]:
    """Results of earlier runs; each says on which machine it was."""
    try:
        found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found


def verdict(measured: dict[str, Any]) -> int:
    """Say what was missed or not measured; the exit code."""
    rows = [row for benchmark in measured.values() for row in benchmark["rows"]]
    missed = [row for row in rows if row["pass"] == "no"]
    missing = sum(row["pass"] == "not measured" for row in rows)
    if missing:
        print(f"{missing} of {len(rows)} rows were not measured.", file=sys.stderr)
    for row in missed:
        print(f"Missed: {row['name']}, against {row['against']}", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
