"""Of the page on two servers: how often intervals cover on the zoo's populations, half of them held aside."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

import numpy as np

from ..exhibits import results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Results, Row
from ..zoo.cells import Cell, fits
from ..zoo.measure import measure as measure_cell
from ..zoo.populations import POPULATIONS

HALVES = ("first", "second")
CELLS = 40
"""Of each half: a random sample, always the same."""
SIZES, EPSILONS = (100, 1000, 10_000), (0.5, 1.0, 4.0)
TOGETHER = 25
"""Studies in a row of the results."""
LOW, HIGH = 0.92, 0.98
SHOWN = 12
"""Cells of the page's list."""


@cache
def cells(half: str) -> tuple[Cell, ...]:
    """Drawn from all populations, statistics, epsilons and sizes of a half."""
    everything = [
        Cell(population.name, statistic, "two_servers", epsilon, n)
        for population in POPULATIONS.values()
        if population.half == half
        for statistic in population.statistics
        if fits(population.name, statistic, "two_servers")
        for epsilon in EPSILONS
        for n in SIZES
    ]
    seed = int.from_bytes(sha256(f"dpairs two servers, {half}".encode()).digest()[:8])
    order = np.random.default_rng(seed).permutation(len(everything))
    return tuple(everything[place] for place in order[:CELLS])


def settings(quick: bool) -> list[Setting]:
    """Every cell of both samples."""
    return [
        {
            "half": half,
            "population": cell.population,
            "statistic": cell.statistic,
            "epsilon": cell.epsilon,
            "people": cell.n,
        }
        for half in HALVES
        for cell in (cells(half)[:2] if quick else cells(half))
    ]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """Studies of the planner's own choice, each with people and noise of its own."""
    cell = Cell(
        str(setting["population"]),
        str(setting["statistic"]),
        "two_servers",
        float(setting["epsilon"]),
        int(setting["people"]),
    )
    outcome = measure_cell(cell, TOGETHER, seed * TOGETHER)
    made = TOGETHER - outcome.refused
    if not made:
        return [{"studies": 0, "refused": TOGETHER, "in_pop": 0, "in_sample": 0, "rmse": 0.0, "width": 0.0}]
    return [
        {
            "studies": made,
            "refused": outcome.refused,
            "in_pop": round(outcome.covered * made),
            "in_sample": round(outcome.covered_sample * made),
            "rmse": outcome.rmse,
            "width": outcome.width,
        }
    ]


EXPERIMENT = Experiment(
    "two-servers-zoo", "Intervals of two servers on the zoo's populations", settings, measure, runs=2
)


def shares(part: Results) -> tuple[float, float]:
    """How often intervals cover the population's value and the sample's; of cells without an answer, nan."""
    made = float(part.column("studies").sum())
    if not made:
        return float("nan"), float("nan")
    return float(part.column("in_pop").sum()) / made, float(part.column("in_sample").sum()) / made


@dataclass(frozen=True)
class Covered:
    """How often the intervals of one cell cover the population's value and the sample's: nan without any."""

    half: str
    people: str
    asked: str
    n: int
    epsilon: float
    population: float
    sample: float

    @property
    def least(self) -> float:
        return min(self.population, self.sample)


def summarised(caption: str, halves: Sequence[Sequence[Covered]]) -> Table:
    """Cells of each half by how often their intervals cover."""
    rows = []
    for cells in halves:
        for target in ("population", "sample"):
            values = np.array([getattr(cell, target) for cell in cells], dtype=float)
            told = values[~np.isnan(values)]
            rows.append(
                [
                    cells[0].half,
                    target,
                    str(values.size),
                    str(int((told < LOW).sum())),
                    str(int(((told >= LOW) & (told <= HIGH)).sum())),
                    str(int((told > HIGH).sum())),
                    f"{told.min():.0%}",
                    str(int(np.isnan(values).sum())),
                ]
            )
    head = ("populations", "covers", "cells", "below 92%", "92% to 98%", "above", "lowest", "no answer")
    return Table(caption, head, rows)


def worst(cells: Sequence[Covered]) -> Table:
    """The cells whose intervals cover least often."""
    told = [cell for cell in cells if not math.isnan(cell.population)]
    rows = [
        [
            cell.half,
            cell.people,
            cell.asked.replace(":", ", "),
            f"{cell.n:,}",
            f"{cell.epsilon:g}",
            f"{cell.population:.0%}",
            f"{cell.sample:.0%}",
        ]
        for cell in sorted(told, key=lambda cell: cell.least)[:SHOWN]
    ]
    head = ("half", "people like", "statistic", "people", "epsilon", "covers population", "covers sample")
    return Table("The cells that cover least", head, rows)


def _covered(half: str) -> list[Covered]:
    found, rows = results("two-servers-zoo"), []
    for cell in cells(half):
        part = found.where(
            half=half,
            population=cell.population,
            statistic=cell.statistic,
            epsilon=cell.epsilon,
            people=cell.n,
        )
        name = f"{half} half, {'held aside' if half == 'second' else 'looked at'}"
        rows.append(Covered(name, cell.population, cell.statistic, cell.n, cell.epsilon, *shares(part)))
    return rows


@table("two_servers_zoo")
def summary() -> Table:
    """Cells by how often their intervals cover."""
    return summarised(
        "Cells of the zoo by how often 95% intervals cover", [_covered(half) for half in HALVES]
    )


@table("two_servers_zoo_lowest")
def lowest() -> Table:
    """The cells whose intervals cover least often."""
    return worst([row for half in HALVES for row in _covered(half)])
