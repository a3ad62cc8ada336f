"""Make the figure and the tables of the page on scale.

    python docs/figures/make_scale.py measure 6 7 8    # 10^6, 10^7, 10^8 reports: some minutes
    python docs/figures/make_scale.py draw             # the figure and the tables from what was measured

``measure`` runs the tasks of benchmarks/engines.py and keeps the figures in scale.json.
"""

from __future__ import annotations

import json
import math
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
from make_figures import save, table
from make_pairs import SHAPES, session

import dpairs
from dpairs.experiments.style import BLUE, GREEN, ORANGE, VERMILION
from dpairs.garbled.choosing import noise
from dpairs.garbled.function import PairFunction

HERE = Path(__file__).parent
KEPT = HERE / "scale.json"
PEOPLE, REPORTS, DAY = 10**9, 10**10, 86_400
COLLECTOR = 200_000
"""Reports a second that one collector must take in batches: the limit in benchmarks/collector.py."""
SINGLE = 600
"""Bytes of a request with one report and of its answer, with their headers: an assumption."""
PARTNERS = 4
"""Pairs of each person: an assumption."""
HOUR = 3600


def measure(powers: list[int]) -> None:
    sys.path.insert(0, str(HERE.parents[1] / "benchmarks"))
    import engines

    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    for power in powers:
        with tempfile.TemporaryDirectory() as folder:
            load = os.getloadavg()[0]
            found = engines.measured(10**power, Path(folder), plain=power < 8)
        kept[str(10**power)] = {**found, "load": load, "cores": len(os.sched_getaffinity(0))}
        KEPT.write_text(
            json.dumps(dict(sorted(kept.items(), key=lambda item: int(item[0]))), indent=1) + "\n"
        )


def draw() -> None:
    kept = {int(n): found for n, found in json.loads(KEPT.read_text()).items()}
    measured(kept)
    internet(kept[max(kept)], max(kept))


def measured(kept: dict[int, dict[str, Any]]) -> None:
    header = ["", *(f"{n:,}" for n in kept)]
    lines = {
        "simulating and writing, s": ("simulate", "seconds"),
        "writing alone, s": ("write", "ours"),
        "pyarrow writing the same arrays, s": ("write", "theirs"),
        "files, MB": ("write", "bytes"),
        "pyarrow's files, MB": ("write", "their bytes"),
        "DuckDB: counting symbols, s": ("bare duckdb", "seconds"),
        "DuckDB: plain de-duplication, s": ("plain duckdb", "seconds"),
        "**DuckDB: the tally, s**": ("duckdb", "seconds"),
        "DuckDB: memory, MB": ("duckdb", "megabytes"),
        "Spark: counting symbols, s": ("bare spark", "seconds"),
        "**Spark: the tally, s**": ("spark", "seconds"),
        "the estimate, s": ("duckdb", "estimate"),
    }
    rows = []
    for name, (task, what) in lines.items():
        values = [found.get(task, {}).get(what) for found in kept.values()]
        unit = 1e6 if "bytes" in what and what != "megabytes" else 1
        rows.append([name, *("-" if value is None else f"{value / unit:,.3g}" for value in values)])
    for name, ours, bare in (
        ("DuckDB's tally / counting symbols", "duckdb", "bare duckdb"),
        ("DuckDB's tally / plain de-duplication", "duckdb", "plain duckdb"),
        ("Spark's tally / counting symbols", "spark", "bare spark"),
    ):
        both = [
            (each.get(ours, {}).get("seconds"), each.get(bare, {}).get("seconds")) for each in kept.values()
        ]
        rows.append([name, *("-" if None in pair else f"{pair[0] / pair[1]:.2f}" for pair in both)])
    rows.append(["load of the machine before", *(f"{each['load']:.1f}" for each in kept.values())])
    table("scale_measured", header, rows)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    numbers = list(kept)
    for name, task, color in (
        ("DuckDB", "duckdb", BLUE),
        ("Spark", "spark", ORANGE),
        ("simulating", "simulate", GREEN),
        ("DuckDB, counting symbols", "bare duckdb", VERMILION),
    ):
        there = [n for n in numbers if task in kept[n]]
        axes[0].loglog(there, [kept[n][task]["seconds"] for n in there], "o-", color=color, label=name)
        if task in ("duckdb", "simulate"):
            axes[1].loglog(there, [kept[n][task]["megabytes"] for n in there], "o-", color=color, label=name)
    axes[1].axhline(1500, color="black", linestyle=":", label="the limit, 1.5 GB")
    axes[0].set_ylim(0.03, 1000)
    axes[1].set_ylim(50, 10_000)
    for axis, what in zip(axes, ("seconds", "megabytes at most"), strict=True):
        axis.set_xlabel("reports")
        axis.set_ylabel(what)
        axis.legend(fontsize=8, loc="upper left")
    save(figure, "scale")


def internet(found: dict[str, Any], n: int) -> None:
    """10^9 people and 10^10 reports a day, from what was measured at ``n`` reports."""
    each = found["write"]["bytes"] / n
    rate = n / found["duckdb"]["seconds"] / found["cores"]
    spark = n / found["spark"]["seconds"] / found["cores"] if "spark" in found else None
    study = dpairs.Study.create("auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), seed=1)
    wire = len(bytes(dpairs.Participant(study, index=1, stratum="positive").report(score=0.5)))
    sizes = messages()
    pairs = PEOPLE * PARTNERS // 2
    second = REPORTS / DAY
    rows = [
        ["reports a second, on average", f"{second:,.0f}"],
        ["a report on the wire", f"{wire} bytes, and about {SINGLE} with HTTP's headers (assumed)"],
        ["traffic of single reports", f"{second * SINGLE * 8 / 1e9:.2g} Gbit/s"],
        ["a report in a file", f"{each:.2g} bytes, sorted by index (measured at {n:,})"],
        [
            "a day's files",
            f"{each * REPORTS / 1e9:.3g} GB sorted; {16 * REPORTS / 1e9:,.0f} GB as bare numbers",
        ],
        ["a year's files", f"{each * REPORTS * 365 / 1e12:.2g} TB sorted"],
        ["a day's tally with DuckDB's way", f"{REPORTS / rate / HOUR:.2g} core hours"],
    ]
    if spark is not None:
        hours = REPORTS / spark / HOUR
        rows.append(
            ["a day's tally with Spark", f"{hours:.2g} core hours: {math.ceil(hours):,} cores for an hour"]
        )
    rows += [
        [
            "bits for who has reported",
            f"{PEOPLE * 16 / 64 / 1e9:.2g} GB of words for 10^9 people, over all machines",
        ],
        [
            "collectors at their limit",
            f"{math.ceil(second / COLLECTOR)} for batches of {COLLECTOR:,} a second each",
        ],
        ["messages of a pair", f"{len(sizes)}, {sum(sizes):,} bytes (AUC, 32 bits)"],
        [f"pairs, {PARTNERS} a person (assumed)", f"{pairs:,}"],
        ["relayed in all", f"{pairs * sum(sizes) / 1e12:.3g} TB in {pairs * len(sizes):.2g} messages"],
        [
            "the same within a day",
            f"{pairs * sum(sizes) * 8 / DAY / 1e9:.2g} Gbit/s, {pairs * len(sizes) / DAY:,.0f} messages/s",
        ],
    ]
    table("scale_internet", ["", "10^9 people, 10^10 reports a day"], rows)


def messages() -> list[int]:
    """The bytes of each message of one pair: AUC on 32 bits."""
    _, kernel, noises = SHAPES[0]
    name, precision = noises[0]
    return session(PairFunction(kernel, noise(name, kernel.top, 1.0, precision)))


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        measure([int(power) for power in sys.argv[2:]])
    else:
        draw()
