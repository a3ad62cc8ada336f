"""Of the page on the zoo: how often intervals hold on awkward populations, the worst cells first."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable

from ..exhibits import RESULTS, table
from ..experiment import Table
from ..zoo.cells import Cell
from ..zoo.compare import PEOPLE, REFUSED, RUNS
from ..zoo.journal import read
from ..zoo.measure import Outcome
from ..zoo.named import STORE as NAMED_STORE
from ..zoo.outside import STORE as OUTSIDE_STORE
from ..zoo.populations import MONEY
from ..zoo.scaled import RANKED
from ..zoo.scaled import RUNS as SCALED_RUNS
from ..zoo.scaled import STORE as SCALED_STORE

HALVES = ("first", "second")
SETS = (*HALVES, "third")
SHOWN = 25
"""Cells of each half on the page; the files have all of them."""
CELL = ("population", "statistic", "protocol", "epsilon", "people")
Rows = list[tuple[Cell, Outcome]]


def worst_first(cells: Iterable[tuple[Cell, Outcome]]) -> Rows:
    """By the lower of the two coverages; cells in which everything was refused come last."""

    def key(row: tuple[Cell, Outcome]) -> tuple[float, float]:
        low = min(row[1].covered, row[1].covered_sample)
        return (2.0, 0.0) if math.isnan(low) else (low, row[1].oracle / row[1].width if row[1].width else 0.0)

    return sorted(cells, key=key)


def kept(half: str) -> Rows:
    return worst_first(read(RESULTS / f"zoo-{half}.csv").items())


def line(half: str, protocol: str, rows: Rows) -> list[str]:
    """One row of the summary."""
    told = [outcome for _, outcome in rows if outcome.refused < outcome.runs]
    lowest = [min(each.covered, each.covered_sample) for each in told]
    short = [each.width <= 1.5 * each.oracle for each in told]
    refused = sum(outcome.refused > 0 for _, outcome in rows)
    return [
        half,
        protocol,
        str(len(rows)),
        f"{sum(each >= 0.915 for each in lowest) / max(len(told), 1):.0%}",
        f"{sum(each > 0.895 for each in lowest) / max(len(told), 1):.0%}",
        f"{min(lowest):.2f}" if lowest else "-",
        str(refused),
        f"{sum(short) / max(len(told), 1):.0%}",
    ]


@table("zoo_summary")
def summary() -> Table:
    lines = []
    for half in SETS:
        rows = kept(half)
        protocols = sorted({cell.protocol for cell, _ in rows})
        lines += [line(half, each, [row for row in rows if row[0].protocol == each]) for each in protocols]
        if rows:
            lines.append(line(half, "all", rows))
    head = (
        "half",
        "protocol",
        "cells",
        "covered in 92%",
        "in 90%",
        "lowest",
        "cells with a refusal",
        "at most 1.5 times the oracle's width",
    )
    return Table("Shares of cells, by the lower of the two targets' coverages", head, lines)


def named(cell: Cell) -> list[str]:
    """A cell in the columns of `CELL`."""
    return [cell.population, cell.statistic, cell.protocol, f"{cell.epsilon:g}", f"{cell.n:,}"]


def worst(half: str) -> Table:
    lines = [
        [
            *named(cell),
            f"{each.covered:.2f}",
            f"{each.covered_sample:.2f}",
            f"{each.bias / each.oracle:+.2f}" if each.oracle else "-",
            f"{each.width / each.oracle:.2f}" if each.oracle else "-",
        ]
        for cell, each in kept(half)[:SHOWN]
    ]
    head = (
        *CELL,
        "population covered",
        "sample covered",
        "bias / oracle's half-width",
        "width / oracle's",
    )
    return Table(f"The worst cells of the {half} {'half' if half in HALVES else 'set'}", head, lines)


@table("zoo_first")
def first() -> Table:
    return worst("first")


@table("zoo_second")
def second() -> Table:
    return worst("second")


@table("zoo_third")
def third() -> Table:
    return worst("third")


@table("zoo_named")
def four() -> Table:
    """Populations that were known before there was a zoo, with as many people as they were known for."""
    with NAMED_STORE.open(newline="", encoding="utf-8") as lines:
        rows = [
            [
                row["population"],
                row["statistic"],
                row["epsilon"],
                row["study"],
                *(
                    f"{float(row[name]):.3g}"
                    for name in ("wanted", "limit", "error", "limit_sample", "error_sample", "bias")
                ),
                *(f"{float(row[name]):.3f}" for name in ("covered", "covered_sample")),
            ]
            for row in csv.DictReader(lines)
        ]
    head = (
        "population",
        "statistic",
        "epsilon",
        "study",
        "wanted",
        "limit, population",
        "error",
        "limit, sample",
        "error",
        "bias",
        "population covered",
        "sample covered",
    )
    return Table("30,000 people, 400 runs: root mean square errors", head, rows)


@table("zoo_outside")
def outside() -> Table:
    """Populations that somebody tried who had not written the estimator."""
    with OUTSIDE_STORE.open(newline="", encoding="utf-8") as lines:
        rows = [
            [
                row["population"],
                row["statistic"],
                row["epsilon"],
                f"{int(row['n']):,}",
                *(
                    "" if row["truth"] == "nan" else f"{float(row[name]):.3g}"
                    for name in ("truth", "error", "width")
                ),
                *(f"{float(row[name]):.3f}" for name in ("covered", "covered_sample")),
                row["refused"],
            ]
            for row in sorted(csv.DictReader(lines), key=lambda row: float(row["covered"]))
        ]
    head = (
        "population",
        "statistic",
        "epsilon",
        "people",
        "truth",
        "error",
        "half of the interval",
        "population covered",
        "sample covered",
        "refused",
    )
    return Table("200 runs, worst first; errors are root mean squares", head, rows)


@table("zoo_again")
def again() -> Table:
    """Cells with 91 or fewer of 100, and the others of the 30 worst, with fresh people and noise."""
    first = {cell: outcome for half in (*HALVES, "third") for cell, outcome in kept(half)}
    lines = [
        [
            *named(cell),
            f"{first[cell].covered:.2f} and {first[cell].covered_sample:.2f}" if cell in first else "-",
            f"{outcome.runs:,}",
            f"{outcome.covered:.3f}",
            f"{outcome.covered_sample:.3f}",
        ]
        for cell, outcome in worst_first(read(RESULTS / "zoo-again.csv").items())
    ]
    head = (
        *CELL,
        "of 100",
        "fresh runs",
        "population covered",
        "sample covered",
    )
    return Table("The worst cells, run again", head, lines)


@table("statistics_ranks")
def ranks() -> Table:
    """Comparisons of skewed values, on a plain domain and with a scale."""
    rows = [
        [
            *(plain[name] for name in ("population", "statistic", "protocol", "epsilon")),
            *(f"{float(each['error']):.2g}" for each in (plain, other)),
            *(f"{float(each['width']):.2g}" for each in (plain, other)),
        ]
        for plain, other in scaled_pairs()
        if plain["statistic"] not in MONEY
    ]
    head = (*CELL[:4], "error", "with `asinh`", "half of the interval", "with `asinh`")
    return Table(f"{RANKED:,} people, {SCALED_RUNS} runs: root mean square errors", head, rows)


@table("statistics_scaled")
def scaled() -> Table:
    """The Gini coefficient by a histogram of even points, and of a scale's."""

    def cells(row: dict[str, str]) -> list[str]:
        if 2 * int(row["refused"]) > int(row["runs"]):
            return ["refused", "-", "-"]
        held = min(float(row["covered"]), float(row["covered_sample"]))
        return [f"{float(row['error']):.2g}", f"{float(row['width']):.2g}", f"{held:.2f}"]

    rows = [
        [plain["population"], plain["epsilon"], f"{float(plain['truth']):.3g}", *cells(plain), *cells(other)]
        for plain, other in scaled_pairs()
        if plain["statistic"] == "gini_coefficient" and int(plain["n"]) == RANKED
    ]
    head = ("population", "epsilon", "truth", "even: error", "half", "held", "`asinh`: error", "half", "held")
    return Table(
        f"{RANKED:,} people, one round, {SCALED_RUNS} runs: errors, halves of intervals, and how many held",
        head,
        rows,
    )


def scaled_pairs() -> Iterable[tuple[dict[str, str], dict[str, str]]]:
    """Of each cell the row without a scale and the one with it."""
    with SCALED_STORE.open(newline="", encoding="utf-8") as lines:
        kept = list(csv.DictReader(lines))
    return zip(kept[::2], kept[1::2], strict=True)


@table("comparison_one_round")
def one_round() -> Table:
    with (RESULTS / "one-round.csv").open(newline="", encoding="utf-8") as lines:
        kept = list(csv.DictReader(lines))
    rows = [
        [
            each["population"],
            each["statistic"],
            each["epsilon"],
            f"{each['best_other']} ({each['other']})",
            *(
                ["refused: the mean may be 0", "-", "-"]
                if each["study"] == REFUSED
                else [
                    f"{each['ours']} ({each['study'].split(' ')[0]})",
                    f"{float(each['ratio']):.2f}",
                    f"{float(each['covered']):.0%}",
                ]
            ),
        ]
        for each in kept
    ]
    head = (
        "population",
        "statistic",
        "epsilon",
        "best of the others",
        "planned by dpairs",
        "ratio",
        "covered",
    )
    return Table(f"Root mean square errors, {PEOPLE:,} people, {RUNS} runs", head, rows)
