"""Results as text: cells of a row, and tables in a terminal."""

from __future__ import annotations

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
    "processor s/s": ((1, "cores"),),
    "AND/s": ((1e6, "M AND/s"), (1, "AND/s")),
}


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
