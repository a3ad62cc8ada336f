"""Of the page on two servers: how often intervals cover where cells hide much; half of these held aside."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import dpairs

from ..exhibits import results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row
from ..zoo.crowded import CROWDED, HELD, LOOKED_AT, truth
from ..zoo.population import exact, options_of
from .two_servers_zoo import Covered, shares, summarised, worst

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
TOGETHER = 50
"""Studies in a row of the results."""
ANSWERED = 20
"""Studies of a cell that must have an answer, before it says how often intervals cover."""


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
    "two-servers-crowded", "Intervals of two servers where cells hide much", settings, measure, runs=1
)


def _covered(half: str) -> list[Covered]:
    found, rows = results("two-servers-crowded").where(half=half), []
    for setting in settings(False):
        if setting["half"] != half:
            continue
        part = found.where(**setting)
        enough = part.column("studies").sum() >= ANSWERED
        whole, own = shares(part) if enough else (float("nan"), float("nan"))
        people, way = str(setting["population"]).replace("-", " "), str(setting["way"])
        n, loss = int(setting["people"]), float(setting["epsilon"])
        rows.append(Covered(half, people, f"{setting['statistic']}, {way}", n, loss, whole, own))
    return rows


@table("two_servers_crowded")
def summary() -> Table:
    """Cells by how often their intervals cover."""
    return summarised("Cells with ties, atoms and ends", [_covered(half) for half in HALVES])


@table("two_servers_crowded_lowest")
def lowest() -> Table:
    """The cells whose intervals cover least often."""
    return worst([row for half in HALVES for row in _covered(half)])
