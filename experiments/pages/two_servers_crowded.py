"""Of the page on two servers: how often intervals cover where cells hide much; half of these held aside."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import dpairs

from ..exhibits import results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Results, Row
from ..zoo.crowded import CROWDED, HELD, LOOKED_AT, truth
from ..zoo.population import exact, options_of

HALVES = {"looked at": LOOKED_AT, "held aside": HELD}
COLUMNS: list[tuple[int, float, str]] = [
    (100, 1.0, "value"),
    (1000, 1.0, "value"),
    (10_000, 4.0, "value"),
    (100, 4.0, "two rounds"),
    (1000, 1.0, "two rounds"),
    (10_000, 4.0, "two rounds"),
]
"""People, epsilon, and what is released."""
WAYS: dict[str, dict[str, Any]] = {"value": {}, "two rounds": {"rounds": 2}}
TOGETHER = 4
"""Studies in a row of the results."""


def settings(quick: bool) -> list[Setting]:
    """Every population, statistic and column."""
    return [
        {
            "half": half,
            "population": population.name,
            "statistic": statistic,
            "people": n,
            "epsilon": loss,
            "way": way,
        }
        for half, populations in HALVES.items()
        for population in populations
        for statistic in population.statistics
        for n, loss, way in (COLUMNS[:1] if quick else COLUMNS)
    ]


@cache
def _study(population: str, statistic: str, n: int, loss: float, way: str) -> dpairs.Study:
    name, options = options_of(statistic)
    options |= {"n": n, "domain": CROWDED[population].domain, **WAYS[way]}
    return dpairs.Study.create(name, protocol="two_servers", epsilon=loss, seed=0, **options)


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """Studies of the planner's parameters, each with people and noise of its own."""
    name, statistic, way = (str(setting[each]) for each in ("population", "statistic", "way"))
    n, loss = int(setting["people"]), float(setting["epsilon"])
    study, whole = _study(name, statistic, n, loss, way), truth(name, statistic)
    made, population, sample, refused = 0, 0, 0, 0
    errors = widths = 0.0
    for run in range(seed * TOGETHER, (seed + 1) * TOGETHER):
        own = int.from_bytes(sha256(f"{name}/{statistic}/{n}/{loss}/{way}/{run}".encode()).digest()[:6])
        people = CROWDED[name].draw(n, own)
        try:
            estimate = dpairs.simulate(study, people, seed=own)
            here = exact(statistic, people)
        except (dpairs.NotEstimable, dpairs.NotEnoughData):
            refused += 1
            continue
        low, high = estimate.confidence_interval()
        least, most = estimate.confidence_interval(target="sample")
        made += 1
        population += low <= whole <= high
        sample += least <= here <= most
        errors += (estimate.value - whole) ** 2
        widths += (high - low) / 2
    return [
        {
            "studies": made,
            "refused": refused,
            "in_pop": int(population),
            "in_sample": int(sample),
            "rmse": (errors / max(made, 1)) ** 0.5,
            "width": widths / max(made, 1),
        }
    ]


EXPERIMENT = Experiment(
    "two-servers-crowded", "Intervals of two servers where cells hide much", settings, measure, runs=2
)


@table("two_servers_crowded")
def summary() -> Table:
    """How often intervals cover, over all cells of a column."""
    found, rows = results("two-servers-crowded"), []
    for half in HALVES:
        for n, loss, way in COLUMNS:
            part = found.where(half=half, people=n, epsilon=loss, way=way)
            made, refused = (float(part.column(name).sum()) for name in ("studies", "refused"))
            whole, own = (float(part.column(name).sum()) / made for name in ("in_pop", "in_sample"))
            lowest = min(_least(part.where(population=each.name)) for each in HALVES[half])
            numbers = [f"{n:,}", f"{loss:g}", f"{made:,.0f}", f"{refused:,.0f}"]
            rows.append([half, way, *numbers, f"{whole:.1%}", f"{own:.1%}", f"{lowest:.0%}"])
    head = ("populations", "release", "people", "epsilon", "studies", "refused")
    more = ("covers population", "covers sample", "least of a population")
    return Table("Coverage of 95% intervals where cells hide much", (*head, *more), rows)


def _least(part: Results) -> float:
    """The lower of both shares, over the statistics of one population."""
    made = float(part.column("studies").sum())
    return min(float(part.column(name).sum()) / made for name in ("in_pop", "in_sample")) if made else 1.0
