"""Predicted against simulated errors over a grid of populations, people and epsilons.

Every population has a statistic, a domain and a shape unlike those a plan assumes: one with a heavy tail, one
where many people share one value, and one of two groups. In each setting all protocols that fit are
planned twice, with the true shape as a pilot and with nothing known, and the studies of both plans are
simulated. An error is the root mean square difference from the population's value.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs
from dpairs.data.domains import as_domains
from dpairs.planning.shapes import from_sample
from dpairs.statistics import statistic

from ..experiment import Experiment, Setting
from ..runs import Results, Row

Vector = NDArray[np.float64]
Data = dict[str, NDArray[Any]]
UNIT = dpairs.Interval(0, 1)
PILOT = 400_000
"""People whose values a plan that knows the shape is given."""
TRUTH = 2_000_000
POINTS = ((10_000, 1.0), (10_000, 6.0), (100_000, 0.25), (100_000, 2.5))
LARGE = (0.25, 1.0, 4.0)
"""Epsilons of a million people: each statistic has one such population, of the shapes in turn."""
RUNS = {10_000: 100, 100_000: 60, 1_000_000: 40}
"""A root mean square of R runs is itself uncertain by 1 / sqrt(2 R): 7%, 9% and 11%."""
SHAPES = ("heavy tail", "shared value", "two groups")
HELD_OUT = ("packed tail", "two ends", "steps")
"""Shapes that played no part while predictions were made, unlike those of the grid."""


# ---------------------------------------------------------------- populations


def _normal(u: Vector) -> Vector:
    grid = np.linspace(-5, 5, 4001)
    return np.interp(u, [NormalDist().cdf(float(place)) for place in grid], grid)


def _heavy(u: Vector, scale: float = 0.05) -> Vector:
    """Lognormal: the largest of a million is 100 times the median."""
    return np.clip(scale * np.exp(_normal(u)), 0, 1)


def _shared(u: Vector, at: float, share: float, low: float, high: float) -> Vector:
    """A share of all people have one value; the others lie evenly between two."""
    return np.where(u < share, at, low + (high - low) * (u - share) / (1 - share))


def _groups(u: Vector, first: float, share: float, second: float, width: float) -> Vector:
    part = np.where(u < share, u / share, (u - share) / (1 - share))
    return np.clip(np.where(u < share, first, second) + width * _normal(part), 0, 1)


def _packed(u: Vector, scale: float = 0.01) -> Vector:
    """Pareto: nearly all people at the low end, a few anywhere."""
    return np.clip(scale * (1 - u) ** (-1 / 1.2), 0, 1)


def _ends(u: Vector, skew: float = 1.0) -> Vector:
    """The arcsine law: most people at one end or the other."""
    return np.asarray(np.sin(np.pi * u**skew / 2) ** 2)


def _steps(u: Vector, shift: float = 0.0) -> Vector:
    """Five values only, of unequal shares."""
    return np.array([0.05, 0.3, 0.35, 0.6, 0.9])[np.searchsorted([0.3, 0.45, 0.7, 0.95], u - shift)]


LINES: dict[str, Callable[[Vector], Vector]] = {
    "heavy tail": _heavy,
    "shared value": lambda u: _shared(u, 0.3, 0.4, 0.1, 0.9),
    "two groups": lambda u: _groups(u, 0.2, 0.7, 0.8, 0.05),
    "packed tail": _packed,
    "two ends": _ends,
    "steps": _steps,
}
CLASSES: dict[str, tuple[Callable[[Vector], Vector], Callable[[Vector], Vector]]] = {
    "heavy tail": (lambda u: _heavy(u, 0.08), _heavy),
    "shared value": (lambda u: _shared(u, 0.5, 0.3, 0.2, 1.0), lambda u: _shared(u, 0.5, 0.45, 0.0, 0.8)),
    "two groups": (
        lambda u: _groups(u, 0.3, 0.3, 0.7, 0.06),
        lambda u: _groups(u, 0.25, 0.6, 0.65, 0.06),
    ),
    "packed tail": (lambda u: _packed(u, 0.015), _packed),
    "two ends": (lambda u: _ends(u, 0.8), _ends),
    "steps": (lambda u: _steps(u, -0.1), _steps),
}


def _table(shape: str, size: int) -> Vector:
    """Shares of two columns' levels."""
    place = np.arange(size)
    across = np.abs(place[:, None] - place[None, :])
    if shape == "heavy tail":
        masses = 0.5 ** (place[:, None] + place[None, :]) * 0.6**across
    elif shape == "shared value":
        masses = 0.5**across
        masses[-1, -1] = 1.5 * masses.sum()
    else:
        ends = place * (size - 1 - place)
        masses = np.exp(-(ends[:, None] + ends[None, :]) / size) * 0.7**across
    return np.asarray(masses / masses.sum())


def _shares(shape: str, size: int) -> Vector:
    place = np.arange(size, dtype=np.float64)
    masses = {
        "heavy tail": 1 / (1 + place) ** 1.5,
        "shared value": np.where(place == 3, 1.5 * (size - 1), 1.0),
        "two groups": np.where(place % 3 == 0, 4.0, 1.0),
    }[shape]
    return np.asarray(masses / masses.sum())


@dataclass(frozen=True)
class Population:
    """People of one statistic and one shape."""

    statistic: str
    domain: Any
    strata: tuple[str, ...]
    value: Callable[[str, list[Vector]], Data]
    """Columns of a stratum from numbers between 0 and 1."""
    columns: int = 1

    def people(self, sizes: dict[str, int], draw: Callable[[int, int], Vector]) -> Data:
        """People of each stratum; ``draw`` gives so many numbers of one column."""
        parts = [
            self.value(name, [draw(count, column) for column in range(self.columns)])
            for name, count in sizes.items()
        ]
        return {column: np.concatenate([part[column] for part in parts]) for column in parts[0]}

    def drawn(self, sizes: dict[str, int], seed: int) -> Data:
        rng = np.random.default_rng((20_260_000, seed))
        return self.people(sizes, lambda count, _: rng.random(count))

    def split(self, n: int) -> dict[str, int]:
        return {name: n // len(self.strata) for name in self.strata}


def _line(shape: str) -> Callable[[str, list[Vector]], Data]:
    return lambda _, u: {"value": LINES[shape](u[0])}


def _whole(shape: str) -> Callable[[str, list[Vector]], Data]:
    return lambda _, u: {"value": np.round(1000 * LINES[shape](u[0])).astype(np.int64)}


def _classes(shape: str) -> Callable[[str, list[Vector]], Data]:
    def made(stratum: str, u: list[Vector]) -> Data:
        positive = stratum == "positive"
        return {
            "score": CLASSES[shape][0 if positive else 1](u[0]),
            "label": np.full(u[0].size, int(positive)),
        }

    return made


def _ratings(shape: str, size: int = 6) -> Callable[[str, list[Vector]], Data]:
    def made(_: str, u: list[Vector]) -> Data:
        cells = np.searchsorted(np.cumsum(_table(shape, size)), u[0], side="right")
        x, y = np.divmod(np.minimum(cells, size * size - 1), size)
        return {"x": x, "y": y}

    return made


def _words(shape: str, size: int = 12) -> Callable[[str, list[Vector]], Data]:
    def made(_: str, u: list[Vector]) -> Data:
        cells = np.searchsorted(np.cumsum(_shares(shape, size)), u[0], side="right")
        return {"value": np.minimum(cells, size - 1)}

    return made


KINDS: dict[str, Callable[[str], Population]] = {
    "auc": lambda shape: Population("auc", UNIT, ("positive", "negative"), _classes(shape)),
    "tau": lambda shape: Population("kendall_tau", (dpairs.Levels(range(6)),) * 2, ("all",), _ratings(shape)),
    "gini": lambda shape: Population("gini_mean_difference", UNIT, ("all",), _line(shape)),
    "variance": lambda shape: Population("variance", dpairs.Integers(0, 1000), ("all",), _whole(shape)),
    "entropy": lambda shape: Population(
        "collision_entropy", dpairs.Categories(list(range(12))), ("all",), _words(shape)
    ),
}


@cache
def population(kind: str, shape: str) -> Population:
    return KINDS[kind](shape)


@cache
def truth(kind: str, shape: str) -> float:
    """The population's value, from two million people at even quantiles."""
    people = population(kind, shape)
    data = people.people(people.split(TRUTH), lambda count, _: (np.arange(count) + 0.5) / count)
    return float(dpairs.exact(people.statistic, data, domain=people.domain))


# ---------------------------------------------------------------- the grid


def settings(quick: bool) -> list[Setting]:
    if quick:
        return [_setting(kind, SHAPES[0], 10_000, 1.0, 10) for kind in ("gini", "entropy")]
    chosen = []
    for turn, kind in enumerate(KINDS):
        for place, shape in enumerate(SHAPES):
            large = ((1_000_000, LARGE[place]),) * (place == turn % len(SHAPES))
            chosen += [_setting(kind, shape, n, epsilon, RUNS[n]) for n, epsilon in (*POINTS, *large)]
    return chosen


def _setting(kind: str, shape: str, n: int, epsilon: float, repeats: int) -> Setting:
    return {"kind": kind, "shape": shape, "people": n, "epsilon": epsilon, "repeats": repeats}


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """All options of one setting, planned with the shape and without, and simulated."""
    kind, shape, epsilon = str(setting["kind"]), str(setting["shape"]), float(setting["epsilon"])
    people, goal = population(kind, shape), truth(kind, shape)
    sizes = people.split(int(setting["people"]))
    ask: dict[str, Any] = {"domain": people.domain, "epsilon": epsilon, "n": sizes, "peers": True}
    pilot = people.drawn(people.split(PILOT), 10**6)
    # A shape, not the data: the grid is about formulas, and data would be simulated.
    known = from_sample(statistic(people.statistic), as_domains(people.domain), pilot)
    plans = {
        "shape": dpairs.plan(people.statistic, like=known, **ask),
        "nothing": dpairs.plan(people.statistic, **ask),
    }
    studies = {option.study.id: option.study for plan in plans.values() for option in plan.options}
    errors: dict[str, list[float]] = {name: [] for name in studies}
    for run in range(int(setting["repeats"]) * seed, int(setting["repeats"]) * (seed + 1)):
        drawn = people.drawn(sizes, run)
        for name, study in studies.items():
            errors[name].append(dpairs.simulate(study, drawn, seed=run).value - goal)
    measured = {name: math.sqrt(float(np.mean(np.square(each)))) for name, each in errors.items()}
    return [
        {
            "statistic": people.statistic,
            "knows": knows,
            "rank": rank,
            "protocol": option.protocol,
            "parameters": " ".join(
                f"{name}={value}" for name, value in option.parameters.items() if name != "n"
            ),
            "predicted": float(f"{option.error:.6g}"),
            "simulated": float(f"{measured[option.study.id]:.6g}"),
        }
        for knows, plan in plans.items()
        for rank, option in enumerate(plan.options, start=1)
    ]


EXPERIMENT = Experiment("plan-grid", "Predicted against simulated errors", settings, measure, runs=1)


def held_out(quick: bool) -> list[Setting]:
    """The shapes that were held out, each in two settings."""
    kinds, shapes = ("gini",) if quick else ("auc", "gini", "variance"), HELD_OUT[: 1 if quick else None]
    return [
        {"kind": kind, "shape": shape, "repeats": 5 if quick else 60} for kind in kinds for shape in shapes
    ]


def measure_held_out(setting: Setting, seed: int, data: Path) -> list[Row]:
    """How many predictions were near, and how far off the worst was."""
    kind, shape, repeats = str(setting["kind"]), str(setting["shape"]), int(setting["repeats"])
    points = (POINTS[0], POINTS[3])
    rows = [row for n, loss in points for row in measure(_setting(kind, shape, n, loss, repeats), seed, data)]
    known, blind = ([row for row in rows if row["knows"] == what] for what in ("shape", "nothing"))
    worst = {
        name: round(max(map(ratio, some)), 2) for name, some in (("worst", known), ("worst_blind", blind))
    }
    return [
        {
            "statistic": str(rows[0]["statistic"]),
            "near": sum(map(near, known)),
            "studies": len(known),
            **worst,
        }
    ]


UNSEEN = Experiment("plan-held-out", "Predictions for unseen shapes", held_out, measure_held_out, runs=1)


def ratio(row: Row) -> float:
    """Simulated over predicted."""
    return float(row["simulated"]) / float(row["predicted"])


def near(row: Row) -> bool:
    """Whether the prediction is within 20% of the simulation."""
    return abs(1 / ratio(row) - 1) <= 0.2


@dataclass(frozen=True)
class Summary:
    settings: int
    cells: int
    near: float
    """The share of cells whose prediction at the true shape is within 20% of the simulation."""
    optimistic: float
    """The largest ratio of simulated to predicted error when nothing is known."""
    chosen: float
    """The share of settings whose recommended option, at the true shape, is within 1.25 of the best."""
    chosen_blind: float
    """The same when nothing is known."""


def summary(found: Results) -> Summary:
    known, blind = (found.where(knows=what) for what in ("shape", "nothing"))
    return Summary(
        len({_place(row) for row in found}),
        len(known),
        float(np.mean([near(row) for row in known])),
        max(ratio(row) for row in blind),
        _chosen(known),
        _chosen(blind),
    )


def _place(row: Row) -> tuple[Any, ...]:
    return row["statistic"], row["shape"], row["people"], row["epsilon"]


def _chosen(found: Results) -> float:
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in found:
        groups.setdefault(_place(row), []).append(row)
    good = []
    for group in groups.values():
        first = min(group, key=lambda row: row["rank"])
        good.append(float(first["simulated"]) <= 1.25 * min(float(row["simulated"]) for row in group))
    return float(np.mean(good))
