"""Of the page on scale: what the tasks of benchmarks/engines.py took, from 10^6 to 10^8 reports.

python -m experiments.pages.scale 6 7 8                     # measures, some minutes
python -m experiments.pages.scale 8 "simulate cells" spark  # these tasks again
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from ..exhibits import RESULTS, measured, picture, table
from ..experiment import Table
from ..style import BLUE, GREEN, ORANGE, VERMILION

KEPT = RESULTS / "scale.json"
BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def measure(powers: list[int], only: list[str]) -> None:
    sys.path.insert(0, str(BENCHMARKS))
    import engines

    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for power in powers:
        with tempfile.TemporaryDirectory() as folder:
            found = engines.measured(10**power, Path(folder), only=only)
        before = kept.get(str(10**power), {}) if only else {}
        kept[str(10**power)] = {**before, **found, "cores": len(os.sched_getaffinity(0))}
        KEPT.write_text(
            json.dumps(dict(sorted(kept.items(), key=lambda item: int(item[0]))), indent=1) + "\n"
        )


def engines() -> dict[int, dict[str, Any]]:
    """What was measured, by the number of reports."""
    return {int(n): found for n, found in measured("scale").items()}


LINES = {
    "simulating and writing, s": ("simulate", "seconds"),
    "writing alone, s": ("write", "ours"),
    "pyarrow, same encodings, s": ("write", "alike"),
    "pyarrow's defaults, s": ("write", "defaults"),
    "files, MB": ("write", "bytes"),
    "pyarrow's files, same encodings, MB": ("write", "alike bytes"),
    "pyarrow's files, defaults, MB": ("write", "defaults bytes"),
    "DuckDB: bare `GROUP BY`, s": ("bare duckdb", "seconds"),
    "**DuckDB: the tally, s**": ("duckdb", "seconds"),
    "DuckDB: memory, MB": ("memory", "megabytes"),
    "DuckDB: de-duplicating `GROUP BY` of a table, s": ("plain table", "seconds"),
    "**DuckDB: the tally of the table, s**": ("table", "seconds"),
    "DuckDB: memory for the table, MB": ("memory of a table", "megabytes"),
    "Spark: bare `GROUP BY`, s": ("bare spark", "seconds"),
    "**Spark: the tally, s**": ("spark", "seconds"),
    "Spark: de-duplicating `GROUP BY` of a DataFrame, s": ("plain spark table", "seconds"),
    "**Spark: the tally of the DataFrame, s**": ("spark table", "seconds"),
    "the estimate, s": ("duckdb", "estimate"),
}
RATIOS = {
    "**DuckDB: the tally / bare `GROUP BY`, best times**": ("duckdb", "bare duckdb", "seconds"),
    "**the same, processor's time**": ("duckdb", "bare duckdb", "processor"),
    "**DuckDB: a table / its de-duplicating `GROUP BY`, best times**": ("table", "plain table", "seconds"),
    "**a table, processor's time**": ("table", "plain table", "processor"),
    "**Spark: the tally / bare `GROUP BY`, best times**": ("spark", "bare spark", "seconds"),
    "**the same on Spark, processor's time**": ("spark", "bare spark", "processor"),
    "**Spark: a DataFrame / its de-duplicating `GROUP BY`, best times**": (
        "spark table",
        "plain spark table",
        "seconds",
    ),
    "**a DataFrame, processor's time**": ("spark table", "plain spark table", "processor"),
}
LOADS = {
    "load before DuckDB": "duckdb",
    "load before DuckDB's table": "table",
    "load before Spark": "spark",
}
"""Of the machine, over the minute before the task."""


def shown(form: str) -> Table:
    kept, rows = engines(), []
    for line, (task, what) in LINES.items():
        values = [times.get(f"{task}{form}", {}).get(what) for times in kept.values()]
        unit = 1e6 if what.endswith("bytes") and what != "megabytes" else 1
        if any(value is not None for value in values):
            rows.append([line, *("-" if value is None else f"{value / unit:,.3g}" for value in values)])
    for line, (*tasks, what) in RATIOS.items():
        both = [[times.get(f"{task}{form}", {}).get(what) for task in tasks] for times in kept.values()]
        if any(None not in pair for pair in both):
            rows.append([line, *("-" if None in pair else f"{pair[0] / pair[1]:.2f}" for pair in both)])
    for line, task in LOADS.items():
        values = [times.get(f"{task}{form}", {}).get("load") for times in kept.values()]
        rows.append([line, *("-" if value is None else f"{value:.1f}" for value in values)])
    return Table("", ["", *(f"{n:,}" for n in kept)], rows)


@table("scale_cells")
def cells() -> Table:
    return shown(" cells")


@table("scale_measured")
def one_bit() -> Table:
    return shown("")


@table("scale_doors")
def doors() -> Table:
    """What `python -m tests.engines.doors` found: one tally through every door, or it would have ended."""
    kept = measured("doors")
    (tally,) = {found["tally"] for found in kept["doors"].values()}
    reasons = ("counted", "repeated", "contradictory")
    rows = [
        [name, *(f"{found['reasons'].get(reason, 0):,}" for reason in reasons), tally[:16]]
        for name, found in kept["doors"].items()
    ]
    return Table("", [f"{kept['people']:,} people", *reasons, "the tally's SHA-256"], rows)


@picture("scale")
def plot() -> Any:
    kept = engines()
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    numbers = list(kept)
    for name, task, color, line in (
        ("DuckDB, cells", "duckdb cells", BLUE, "o-"),
        ("bare GROUP BY, cells", "bare duckdb cells", BLUE, "o:"),
        ("Spark, cells", "spark cells", ORANGE, "o-"),
        ("bare GROUP BY, cells", "bare spark cells", ORANGE, "o:"),
        ("DuckDB, one-bit reports", "duckdb", VERMILION, "s--"),
        ("Spark, one-bit reports", "spark", GREEN, "s--"),
    ):
        there = [n for n in numbers if task in kept[n]]
        axes[0].loglog(there, [kept[n][task]["seconds"] for n in there], line, color=color, label=name)
    for name, task, color, line in (
        ("DuckDB, cells", "memory cells", BLUE, "o-"),
        ("DuckDB and its helpers, one-bit reports", "memory", VERMILION, "s--"),
        ("simulating and writing cells", "simulate cells", GREEN, "o-"),
    ):
        axes[1].loglog(numbers, [kept[n][task]["megabytes"] for n in numbers], line, color=color, label=name)
    axes[1].axhline(1500, color="black", linestyle=":", label="the limit, 1.5 GB")
    seconds = [each["seconds"] for found in kept.values() for each in found.values() if _timed(each)]
    # Room above the lines for what they are.
    axes[0].set_ylim(min(seconds) / 2, max(seconds) * 50)
    axes[1].set_ylim(50, 20_000)
    for axis, what in zip(axes, ("seconds", "megabytes at most"), strict=True):
        axis.set_xlabel("reports")
        axis.set_ylabel(what)
        axis.legend(fontsize=8, loc="upper left")
    return figure


def _timed(found: Any) -> bool:
    return isinstance(found, dict) and "seconds" in found


if __name__ == "__main__":
    measure(
        [int(each) for each in sys.argv[1:] if each.isdigit()],
        [each for each in sys.argv[1:] if not each.isdigit()],
    )
