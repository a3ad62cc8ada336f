"""Of the page on two servers: errors with the planner's own choices, intervals, and other kinds of trust."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import FancyBboxPatch
from numpy.typing import NDArray

import dpairs
from dpairs.mechanisms.central import discrete_laplace
from dpairs.protocols.two_servers.forms import integer_forms, pairs
from dpairs.randomness import SeededRandomness

from ..exhibits import picture, results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Results, Row
from ..sources import HOSPITAL, LEVELS, RATINGS, hospital, missing, ratings
from ..style import BLACK, BLUE, GREEN, VERMILION

OTHERS = 10
"""Runs of the ways that are shown for comparison."""
NORMAL = 1.959963984540054
"""An interval of 95% is given as the standard error of a normal one of its length."""
WIDE = 3e5
Data = dict[str, NDArray[Any]]
NEAR = dpairs.Kernel(
    lambda a, b: np.abs(a - b) < 0.1, range=(0, 1), domain=dpairs.Interval(0, 1), label="within 0.1"
)
UNIT, SQUARE = dpairs.Interval(0, 1), (dpairs.Interval(-4, 4), dpairs.Interval(-4, 4))


def _scores(rng: np.random.Generator, n: int) -> Data:
    score = np.concatenate([rng.normal(0.55, 0.15, n), rng.normal(0.45, 0.15, n)]).clip(0, 1)
    return {"score": score, "label": np.repeat([1, 0], n)}


def _hidden(rng: np.random.Generator, n: int) -> Data:
    label = (rng.random(n) < 0.3).astype(np.int64)
    return {"score": rng.normal(0.45 + 0.1 * label, 0.15).clip(0, 1), "label": label}


def _plane(rng: np.random.Generator, n: int) -> Data:
    x = rng.normal(size=n)
    y = 0.5 * x + math.sqrt(0.75) * rng.normal(size=n)
    return {"x": x.clip(-4, 4), "y": y.clip(-4, 4)}


def _incomes(rng: np.random.Generator, n: int) -> Data:
    return {"value": np.exp(rng.normal(10.3, 0.7, n)).clip(0, WIDE)}


def _words(rng: np.random.Generator, n: int) -> Data:
    chance = 1 / np.arange(1, 51)
    return {"value": rng.choice(50, n, p=chance / chance.sum())}


def _line(rng: np.random.Generator, n: int) -> Data:
    return {"value": rng.normal(0.5, 0.15, n).clip(0, 1)}


CASES: dict[str, tuple[Any, dict[str, Any], Any, tuple[int, ...], float]] = {
    "auc": ("auc", {"domain": UNIT}, _scores, (100, 300, 1000, 10_000, 100_000), 0.681324),
    "tau": ("kendall_tau", {"domain": SQUARE}, _plane, (300, 1000, 4521), 1 / 3),
    "private labels": ("auc", {"domain": UNIT, "labels": "private"}, _hidden, (1000,), 0.681324),
    "gini": ("gini_coefficient", {"domain": dpairs.Interval(0, WIDE)}, _incomes, (1000,), 0.37874),
    "entropy": ("collision_entropy", {"domain": dpairs.Integers(0, 49)}, _words, (1000,), 2.52221),
    "kernel": (NEAR, {}, _line, (1000,), 0.36281),
}
"""Statistic, options, people, how many (of each class), and the population's value."""
REAL = ("diabetes", "tripadvisor")
WAYS = ("value", "counts", "two rounds", "histogram", "projection", "pairwise", "curator")


def settings(quick: bool) -> list[Setting]:
    """Every statistic in its sizes; the real data sets as they are."""
    made: list[Setting] = [
        {"case": name, "people": people}
        for name, (*_, sizes, _) in CASES.items()
        for people in (sizes[:1] if quick else sizes)
    ]
    real: list[Setting] = [{"case": name, "people": 0} for name in REAL]
    return [*made[:-4], *real, *made[-4:]]


def _people(case: str, count: int, seed: int, data: Path) -> Data | None:
    if case == "diabetes":
        return None if missing((HOSPITAL,), data) else hospital(data)
    if case == "tripadvisor":
        return None if missing((RATINGS,), data) else ratings(data)
    rng = np.random.default_rng([seed, count, list(CASES).index(case)])
    people: Data = CASES[case][2](rng, count)
    return people


def _asked(case: str) -> tuple[Any, dict[str, Any]]:
    if case == "diabetes":
        return "auc", {"domain": UNIT}
    if case == "tripadvisor":
        return "kendall_tau", {"domain": (LEVELS, LEVELS)}
    return CASES[case][:2]


@cache
def _statistic(case: str) -> Any:
    statistic, options = _asked(case)
    given = {} if case == "kernel" else options
    return dpairs.Study.create(statistic, epsilon=1.0, n=1000, **given).statistic


@cache
def _study(case: str, way: str, sizes: tuple[tuple[str, int], ...]) -> dpairs.Study:
    """The planner's own choice; for the other releases of two servers, theirs."""
    statistic, options = _asked(case)
    n = sum(people for _, people in sizes)
    domain = {} if case == "kernel" else options
    if way in ("counts", "two rounds"):
        more: dict[str, Any] = {"release": "counts"} if way == "counts" else {"rounds": 2}
        return dpairs.Study.create(
            statistic, protocol="two_servers", epsilon=1.0, n=n, seed=0, **more, **domain
        )
    name = "two_servers" if way == "value" else way
    return dpairs.plan(statistic, epsilon=1.0, n=dict(sizes), protocol=name, **domain).options[0].study


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """Every way on the same people; the slower ways in the first runs only."""
    case, count = str(setting["case"]), int(setting["people"])
    people = _people(case, count, seed, data)
    if people is None:
        return []
    statistic, options = _asked(case)
    own = {name: value for name, value in options.items() if name not in ("domain", "labels")}
    truth = dpairs.exact(statistic, people, **own)
    sizes = tuple((name, len(columns[0])) for name, columns in _statistic(case).split(people))
    population = CASES[case][4] if case in CASES else truth
    rows: list[Row] = []
    for way in WAYS:
        if way != "value" and (seed >= OTHERS or sum(n for _, n in sizes) > 50_000):
            continue
        try:
            row = _row(case, way, sizes, people, truth, population, seed)
        except (dpairs.BadParameter, dpairs.NotEstimable):
            continue
        rows.append({"way": way, "truth": truth, "open_error": _open(case, people), **row})
    return rows


def _row(
    case: str,
    way: str,
    sizes: tuple[tuple[str, int], ...],
    people: Data,
    truth: float,
    population: float,
    seed: int,
) -> Row:
    if way == "curator":
        return {
            "value": _curator(case, sizes, truth, seed),
            "error": 0.0,
            "noise": 0.0,
            "in_pop": 0,
            "in_sample": 0,
        }
    estimate = dpairs.simulate(_study(case, way, sizes), people, seed=seed)
    low, high = estimate.confidence_interval()
    least, most = estimate.confidence_interval(target="sample")
    return {
        "value": estimate.value,
        "error": (high - low) / (2 * NORMAL),
        "noise": (most - least) / (2 * NORMAL),
        "in_pop": int(low <= population <= high),
        "in_sample": int(least <= truth <= most),
    }


def _curator(case: str, sizes: tuple[tuple[str, int], ...], truth: float, seed: int) -> float:
    """Somebody trusted with all values, who adds noise once: for statistics of one form."""
    protocol: Any = _study(case, "value", sizes).protocol
    if protocol.statistic.form_count > 1 or protocol.statistic.name == "collision_entropy":
        raise dpairs.BadParameter("a curator's noise is drawn here for statistics of one form")
    (form,) = integer_forms(protocol.statistic, protocol.grid)
    people = [n for _, n in sizes]
    (noise,) = discrete_laplace(Fraction(form.sensitivity(people)), 1, SeededRandomness(seed))
    return truth + form.unit * int(noise) / pairs(people)


def _open(case: str, people: Data) -> float:
    """The standard error of people who hand over their values: DeLong's, and Hoeffding's for tau; else 0."""
    if case in ("auc", "diabetes"):
        positive = people["label"] == 1
        above, below = people["score"][positive], people["score"][~positive]
        parts = []
        for mine, others in ((above, np.sort(below)), (below, np.sort(above))):
            ranks = np.searchsorted(others, mine) + np.searchsorted(others, mine, side="right")
            parts.append((ranks / (2 * others.size)).var(ddof=1) / mine.size)
        return math.sqrt(sum(parts))
    if case == "tau":
        x, y = people["x"], people["y"]
        means = np.array(
            [(np.sign(x - a) @ np.sign(y - b)) / (x.size - 1) for a, b in zip(x, y, strict=True)]
        )
        return 2 * float(means.std(ddof=1)) / math.sqrt(x.size)
    return 0.0


EXPERIMENT = Experiment(
    "two-servers",
    "Two servers, beside nobody and a curator",
    settings,
    measure,
    runs=200,
    wants=(HOSPITAL, RATINGS),
)
"""The population's values of gini and the kernel are means over 10 million people."""


def _cell(found: Results) -> str:
    return f"{found.error.mean:.2g}" if len(found) else "-"


@table("two_servers_errors")
def errors() -> Table:
    """The mean absolute error of every way."""
    found, rows = results("two-servers"), []
    for case in found.values("case"):
        for people in found.where(case=case).values("people"):
            part = found.where(case=case, people=people)
            rows.append(
                [case, f"{people:,}" if people else "all", *(_cell(part.where(way=way)) for way in WAYS)]
            )
    return Table(
        "Mean absolute error at epsilon 1", ("statistic", "people", "planner's choice", *WAYS[1:]), rows
    )


@table("two_servers_intervals")
def intervals() -> Table:
    """How wide intervals are, and how often they cover."""
    found, rows = results("two-servers").where(way="value"), []
    for case in found.values("case"):
        for people in found.where(case=case).values("people"):
            part = found.where(case=case, people=people)
            width = part.column("error").mean() / max(part.column("open_error").mean(), 1e-300)
            rows.append(
                [
                    case,
                    f"{people:,}" if people else "all",
                    f"{part.error.mean:.2g}",
                    f"{width:.3f}" if part.column("open_error").any() else "-",
                    f"{part.column('in_pop').mean():.1%}" if people else "-",
                    f"{part.column('in_sample').mean():.1%}",
                    str(len(part)),
                ]
            )
    head = (
        "statistic",
        "people",
        "error",
        "interval, times open",
        "covers population",
        "covers sample",
        "runs",
    )
    return Table("The planner's own choice at epsilon 1", head, rows)


@picture("two_servers_flow")
def flow() -> Any:
    """Who sends what to whom."""
    figure, axes = plt.subplots(figsize=(9, 4.2))
    boxes = {
        "people": (0.02, 0.36, "people\n\na value in one\nof k cells"),
        "first": (0.37, 0.62, "server 0\n\nadds up: $h_0$\nrandom numbers"),
        "second": (0.37, 0.08, "server 1\n\nadds up: $h_1$\nrandom numbers"),
        "analyst": (0.79, 0.36, "analyst\n\nestimate,\ninterval"),
    }
    for x, y, words in boxes.values():
        box = FancyBboxPatch(
            (x, y), 0.19, 0.28, boxstyle="round,pad=0.01", edgecolor=BLACK, facecolor="white"
        )
        axes.add_patch(box)
        axes.text(x + 0.095, y + 0.14, words, ha="center", va="center", fontsize=10)
    arrows = [
        ((0.22, 0.55), (0.36, 0.74), "a share\nand proofs", BLUE, (0.215, 0.72)),
        ((0.22, 0.45), (0.36, 0.24), "a seed", BLUE, (0.245, 0.27)),
        ((0.57, 0.74), (0.78, 0.55), "its part of $h'Ah$\n+ its noise", GREEN, (0.68, 0.72)),
        ((0.57, 0.24), (0.78, 0.45), "its part of $h'Ah$\n+ its noise", GREEN, (0.68, 0.20)),
    ]
    for start, end, words, colour, place in arrows:
        axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": colour, "lw": 1.8})
        axes.text(*place, words, fontsize=9, color=colour, va="center")
    between = {"arrowstyle": "<->", "color": VERMILION, "lw": 1.8}
    axes.annotate("", (0.465, 0.38), (0.465, 0.60), arrowprops=between)
    axes.text(
        0.48,
        0.49,
        "verify; one inner product\n$h_0'(A h_1)$ by oblivious transfer",
        fontsize=9,
        color=VERMILION,
        va="center",
    )
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.axis("off")
    return figure
