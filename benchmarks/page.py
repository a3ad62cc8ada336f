"""Results as tables in a terminal and as a page of the documentation."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from rich.table import Table

COLUMNS = ("What", "Against", "Ours", "Theirs", "Ratio", "Wanted", "Reached", "Note")
SCALES = {
    "s": ((1, "s"), (1e-3, "ms"), (1e-6, "µs")),
    "people/s": ((1e6, "M/s"), (1e3, "k/s"), (1, "/s")),
    "MB": ((1, "MB"),),
    "packages": ((1, ""),),
    "requests/s": ((1, "requests/s"),),
    "reports/s": ((1e3, "k reports/s"), (1, "reports/s")),
    "gates": ((1, "AND"),),
    "B": ((1e3, "KB"), (1, "B")),
    "AND/s": ((1e6, "M AND/s"), (1, "AND/s")),
}

HEAD = """\
# Benchmarks

`make bench` runs all of this again and writes this page. The figures below were measured on one machine, \
once; only the ratios mean something elsewhere.

## How it is measured

- Both sides of a ratio run in the same run, on the same core, to which the runner pins itself. Numerical \
libraries may use one thread.
- Time is processor time (`time.process_time`), so that waiting does not count. Each figure is the median of \
several repeats after one call that is not timed. Repeats alternate between the sides, except that the two \
other packages run by themselves, right after ours. A collector is timed by the clock, since it waits for \
the disk.
- A ratio above 1 is in our favour: faster, or smaller. "Wanted" is the ratio below which the run fails; a \
row without one is there to inform.
- Nothing is timed in the tests, because a busy machine would make them fail.
"""

TAIL = """\
## What was not measured

- Anything over a network other than a machine's own, and storage.
- Several cores: the work is split by people and tallies add up, but no figure here shows it.
- Another implementation of the mechanism `projective`: the two packages have none.
- The accuracy of estimates: these are figures of speed and memory only.
- Energy and time on a phone. A participant's device is a server's core here.
- More than 64 cells in the comparison with other packages, and another epsilon than 1.
"""


def amount(value: float | None, unit: str) -> str:
    """A figure with three digits and a readable unit."""
    if value is None:
        return "not measured"
    scales = SCALES[unit]
    scale, name = next((each for each in scales if abs(value) >= each[0]), scales[-1])
    return f"{number(value / scale)} {name}".strip()


def number(value: float) -> str:
    """Three digits, never in scientific notation."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def cells(row: dict[str, Any]) -> list[str]:
    """One row of results as text."""
    notes = [row["note"]] if row["note"] else []
    if row["difference"] is not None:
        notes.append(
            "results equal" if row["difference"] == 0 else f"results differ by {row['difference']:.0e}"
        )
    return [
        row["name"],
        row["against"],
        amount(row["ours"], row["unit"]),
        amount(row["theirs"], row["unit"]),
        "not measured" if row["ratio"] is None else number(row["ratio"]),
        "-" if row["wanted"] is None else number(row["wanted"]),
        "-" if row["pass"] == "no target" else row["pass"],
        "; ".join(notes),
    ]


def terminal(title: str, rows: list[dict[str, Any]]) -> Table:
    """A table for the terminal."""
    table = Table(title=title, title_justify="left")
    for column in COLUMNS:
        right = column in ("Ours", "Theirs", "Ratio", "Wanted")
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    colours = {"no": "red", "not measured": "yellow"}
    for row in rows:
        table.add_row(*cells(row), style=colours.get(row["pass"]))
    return table


def title(module: ModuleType) -> str:
    """The first line of a benchmark's docstring."""
    return (module.__doc__ or module.__name__).splitlines()[0]


def markdown(results: dict[str, Any], modules: dict[str, ModuleType]) -> str:
    """The page."""
    machine = [f"| {name} | {value} |" for name, value in results["machine"].items()]
    parts = [HEAD, "\n".join(["| machine | |", "| --- | --- |", *machine, ""])]
    for name, module in modules.items():
        parts.append(f"## {title(module)}\n\n" + "\n".join((module.__doc__ or "").splitlines()[2:]) + "\n")
        if name not in results["benchmarks"]:
            parts.append("Not measured.\n")
            continue
        measured = results["benchmarks"][name]
        if measured["quick"]:
            parts.append("*From a short run (`--quick`), with less data and fewer repeats.*\n")
        lines = [list(COLUMNS), ["---"] * len(COLUMNS), *(cells(row) for row in measured["rows"])]
        parts.append("\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n")
    return "\n".join([*parts, TAIL])
