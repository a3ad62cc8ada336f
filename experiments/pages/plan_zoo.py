"""Of the page on choosing: what plans say of awkward populations, beside what happens."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable

from ..exhibits import RESULTS, table
from ..experiment import Table
from ..zoo.planner import Row, Setting, read

HALVES = ("first", "second")
NEAR, OPTIMISTIC, CHOSEN = (0.75, 1.33), 1.5, 1.25
ANSWERS = 0.95
"""Studies that give an answer less often are no alternative to one that does."""
SHOWN = 20


def kept(half: str) -> list[Row]:
    """The worst first: those with the largest factor between what was said and what happened."""
    rows = [row for row in read(RESULTS / f"plan-zoo-{half}.csv") if math.isfinite(row.measured)]
    return sorted(rows, key=lambda row: -abs(math.log(row.ratio)))


def share(yes: Iterable[bool]) -> float:
    every = list(yes)
    return sum(every) / len(every)


def near(measured: float, predicted: float) -> bool:
    return NEAR[0] <= measured / predicted <= NEAR[1]


def regrets(rows: Iterable[Row]) -> dict[Setting, float]:
    """Of each setting: the recommended study's measured error over the best that was measured."""
    groups: dict[Setting, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.setting, []).append(row)
    found = {}
    for setting, group in groups.items():
        first = min(group, key=lambda row: row.rank)
        able = [row.measured for row in group if row.answered >= ANSWERS] or [first.measured]
        found[setting] = first.measured / min(able)
    return found


@table("plan_zoo_summary")
def summary() -> Table:
    halves = {half: rows for half in HALVES if (rows := kept(half))}
    lines = [
        ["settings, and studies in them"]
        + [f"{len(regrets(rows))}, {len(rows)}" for rows in halves.values()],
        ["measured over predicted from 0.75 to 1.33"]
        + [f"{share(near(row.measured, row.predicted) for row in rows):.1%}" for rows in halves.values()],
        ["the same of the formulas that make the shortlist"]
        + [f"{share(near(row.measured, row.formula) for row in rows):.1%}" for rows in halves.values()],
        ["studies whose error was more than 1.5 times the predicted one"]
        + [str(sum(row.ratio > OPTIMISTIC for row in rows)) for rows in halves.values()],
        ["the same of the formulas"]
        + [str(sum(row.measured > OPTIMISTIC * row.formula for row in rows)) for rows in halves.values()],
        ["most that an error was above the predicted one"]
        + [f"{max(row.ratio for row in rows):.2f} times" for rows in halves.values()],
        ["the same of the formulas"]
        + [f"{max(row.measured / row.formula for row in rows):.1f} times" for rows in halves.values()],
        ["settings whose recommended study was within 1.25 of the best"]
        + [f"{share(each <= CHOSEN for each in regrets(rows).values()):.1%}" for rows in halves.values()],
    ]
    return Table("", ("plans that were given data", *[f"{half} half" for half in halves]), lines)


@table("plan_zoo_worst")
def worst() -> Table:
    lines = [
        [
            half,
            row.population,
            row.statistic,
            row.protocol,
            f"{row.epsilon:g}",
            f"{row.n:,}",
            f"{row.predicted:.3g}",
            f"{row.measured:.3g}",
            f"{row.ratio:.2f}",
            f"{row.measured / row.formula:.2f}",
        ]
        for half in HALVES
        for row in kept(half)[:SHOWN]
    ]
    head = (
        "half",
        "population",
        "statistic",
        "protocol",
        "epsilon",
        "people",
        "predicted",
        "measured",
        "ratio",
        "formula's ratio",
    )
    return Table("", head, lines)


def ranges(half: str) -> list[dict[str, str]]:
    path = RESULTS / f"plan-range-{half}.csv"
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def outside(row: dict[str, str]) -> float:
    """By what factor the measured error lies outside of the stated range; 1 within it."""
    least, most, measured = (float(row[name]) for name in ("least", "greatest", "measured"))
    return max(least / measured, measured / most, 1.0)


@table("plan_zoo_range")
def nothing_known() -> Table:
    lines = []
    for half in HALVES:
        rows = ranges(half)
        for protocol in sorted({row["protocol"] for row in rows}):
            own = [outside(row) for row in rows if row["protocol"] == protocol]
            lines.append(
                [half, protocol, str(len(own)), f"{share(each == 1 for each in own):.0%}", f"{max(own):.2f}"]
            )
        if rows:
            every = [outside(row) for row in rows]
            lines.append(
                [
                    half,
                    "all",
                    str(len(every)),
                    f"{share(each == 1 for each in every):.0%}",
                    f"{max(every):.2f}",
                ]
            )
    head = ("half", "protocol", "studies", "measured error in the stated range", "furthest outside, times")
    return Table("", head, lines)
