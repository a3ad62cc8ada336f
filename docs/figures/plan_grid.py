"""Predicted against simulated errors over a grid of populations, people and epsilons.

    python docs/figures/plan_grid.py              # the whole grid, into plan_grid.csv and plan_grid.txt
    python docs/figures/plan_grid.py auc gini     # only some populations, printed and not written
    python docs/figures/plan_grid.py held-out     # shapes that were held out, into plan_held_out.txt

Every population has a statistic, a domain and a shape unlike those a plan assumes: one with a heavy tail, one
where many people share one value, and one of two groups. In each setting all protocols that fit are
planned twice, with the true shape as a pilot and with nothing known, and the studies of both plans are
simulated. An error is the root mean square difference from the population's value. Everything is seeded.
"""

from __future__ import annotations

import csv
import math
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs

Vector = NDArray[np.float64]
Data = dict[str, NDArray[Any]]
HERE = Path(__file__).parent
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
        """At random."""
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


@dataclass(frozen=True)
class Cell:
    """One study: what was predicted, and what came out."""

    statistic: str
    shape: str
    people: int
    epsilon: float
    knows: str
    """What the plan was given: "shape" or "nothing"."""
    rank: int
    """1 for the recommended option."""
    protocol: str
    parameters: str
    predicted: float
    simulated: float
    runs: int

    @property
    def ratio(self) -> float:
        """Simulated over predicted."""
        return self.simulated / self.predicted

    @property
    def near(self) -> bool:
        """Whether the prediction is within 20% of the simulation."""
        return abs(self.predicted / self.simulated - 1) <= 0.2


@dataclass(frozen=True)
class Setting:
    """Where on the grid."""

    kind: str
    shape: str
    people: int
    epsilon: float
    runs: int


def settings(kinds: Iterable[str]) -> Iterator[Setting]:
    """The whole grid."""
    for kind in kinds:
        turn = list(KINDS).index(kind) % len(SHAPES)
        for place, shape in enumerate(SHAPES):
            large = ((1_000_000, LARGE[place]),) * (place == turn)
            for n, epsilon in (*POINTS, *large):
                yield Setting(kind, shape, n, epsilon, RUNS[n])


def held_out() -> Iterator[Setting]:
    """The shapes that were held out, in two settings of each."""
    for kind in ("auc", "gini", "variance"):
        for shape in HELD_OUT:
            for n, epsilon in (POINTS[0], POINTS[3]):
                yield Setting(kind, shape, n, epsilon, RUNS[100_000])


def cells(setting: Setting) -> list[Cell]:
    """All options of one setting, planned with the shape and without, and simulated."""
    people = population(setting.kind, setting.shape)
    sizes = people.split(setting.people)
    ask: dict[str, Any] = {"domain": people.domain, "epsilon": setting.epsilon, "n": sizes, "peers": True}
    pilot = people.drawn(people.split(PILOT), 10**6)
    plans = {
        "shape": dpairs.plan(people.statistic, like=pilot, **ask),
        "nothing": dpairs.plan(people.statistic, **ask),
    }
    studies = {option.study.id: option.study for plan in plans.values() for option in plan.options}
    goal = truth(setting.kind, setting.shape)
    errors: dict[str, list[float]] = {name: [] for name in studies}
    for run in range(setting.runs):
        data = people.drawn(sizes, run)
        for name, study in studies.items():
            errors[name].append(dpairs.simulate(study, data, seed=run).value - goal)
    measured = {name: math.sqrt(float(np.mean(np.square(each)))) for name, each in errors.items()}
    return [
        Cell(
            people.statistic,
            setting.shape,
            setting.people,
            setting.epsilon,
            knows,
            rank,
            option.protocol,
            " ".join(f"{name}={value}" for name, value in option.parameters.items() if name != "n"),
            option.error,
            measured[option.study.id],
            setting.runs,
        )
        for knows, plan in plans.items()
        for rank, option in enumerate(plan.options, start=1)
    ]


@dataclass(frozen=True)
class Summary:
    """What the grid shows."""

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

    def __str__(self) -> str:
        return "\n".join(f"{each.name:<14}{getattr(self, each.name):.4g}" for each in fields(self))


def summary(found: list[Cell]) -> Summary:
    known = [each for each in found if each.knows == "shape"]
    blind = [each for each in found if each.knows == "nothing"]
    return Summary(
        len({_place(each) for each in found}),
        len(known),
        float(np.mean([each.near for each in known])),
        max(each.ratio for each in blind),
        _chosen(known),
        _chosen(blind),
    )


def _place(cell: Cell) -> tuple[Any, ...]:
    return cell.statistic, cell.shape, cell.people, cell.epsilon


def _chosen(found: list[Cell]) -> float:
    groups: dict[tuple[Any, ...], list[Cell]] = {}
    for each in found:
        groups.setdefault(_place(each), []).append(each)
    good = [
        min(group, key=lambda each: each.rank).simulated <= 1.25 * min(each.simulated for each in group)
        for group in groups.values()
    ]
    return float(np.mean(good))


def run_all(wanted: list[Setting], jobs: int) -> list[Cell]:
    """Every setting, on several processors; the largest first."""
    order = sorted(wanted, key=lambda each: -each.people * each.runs)
    with ProcessPoolExecutor(jobs) as pool:
        done = dict(zip(order, pool.map(cells, order), strict=True))
    return [cell for setting in wanted for cell in done[setting]]


def read(path: Path = HERE / "plan_grid.csv") -> list[Cell]:
    """The committed grid."""
    kinds = {"str": str, "int": int, "float": float}
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Cell(**{each.name: kinds[str(each.type)](row[each.name]) for each in fields(Cell)})
            for row in csv.DictReader(file)
        ]


def write(found: list[Cell], path: Path) -> None:
    """As a tidy table: a row for each study."""
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, [each.name for each in fields(Cell)], lineterminator="\n")
        table.writeheader()
        for each in found:
            row = asdict(each)
            row["predicted"], row["simulated"] = f"{each.predicted:.6g}", f"{each.simulated:.6g}"
            table.writerow(row)


def apart(found: list[Cell]) -> str:
    """For each shape: how often predictions were near, and how far off the worst was."""
    lines = [
        "| statistic | shape | within 20%, shape known | most too small | nothing known: most too small |"
    ]
    lines.append("| --- | --- | ---: | ---: | ---: |")
    for statistic, shape in dict.fromkeys((each.statistic, each.shape) for each in found):
        mine = [each for each in found if (each.statistic, each.shape) == (statistic, shape)]
        known, blind = ([each for each in mine if each.knows == what] for what in ("shape", "nothing"))
        near = sum(each.near for each in known)
        worst = [max(each.ratio for each in some) for some in (known, blind)]
        off = " | ".join(f"{each:.2f} times" for each in worst)
        lines.append(f"| {statistic} | {shape} | {near} of {len(known)} | {off} |")
    return "\n".join(lines) + "\n"


def main(names: list[str]) -> None:
    start = time.monotonic()
    jobs = int(os.environ.get("JOBS", "2"))
    if names == ["held-out"]:
        text = apart(run_all(list(held_out()), jobs))
        (HERE / "plan_held_out.txt").write_text(text, encoding="utf-8")
        print(text)
        return
    found = run_all(list(settings(names or KINDS)), jobs)
    print(summary(found))
    print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)
    if not names:
        write(found, HERE / "plan_grid.csv")
        (HERE / "plan_grid.txt").write_text(f"{summary(found)}\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
