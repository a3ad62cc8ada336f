"""Of the page on two servers: tau of people on curves within bins, which is not smooth dependence."""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs

from ..exhibits import results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row

Vector = NDArray[np.float64]
LARGE = 400_000
"""People whose exact value stands for the population's."""
EDGES = np.array([0.0, 0.1, 0.17, 0.4, 0.62, 0.7, 1.0])


def _uneven(x: Vector) -> Vector:
    """Six falling teeth."""
    tooth = np.searchsorted(EDGES, x, side="right") - 1
    return np.asarray(1 - (x - EDGES[tooth]) / np.diff(EDGES)[tooth])


SHAPES: dict[str, Any] = {
    "5 teeth": lambda x, rng: 5 * x % 1,
    "12 teeth": lambda x, rng: 12 * x % 1,
    "5 blurred teeth": lambda x, rng: (5 * x % 1) + rng.normal(0, 0.03, x.size),
    "a blurred line": lambda x, rng: x + rng.normal(0, 0.01, x.size),
    "unrelated": lambda x, rng: rng.random(x.size),
    "normal, rho 0.5": lambda x, rng: 0.5 * x + math.sqrt(0.75) * rng.normal(size=x.size),
}
LATER: dict[str, Any] = {
    "3 teeth": lambda x, rng: 3 * x % 1,
    "7 teeth": lambda x, rng: 7 * x % 1,
    "6 uneven, falling teeth": lambda x, rng: _uneven(x),
    "three lines": lambda x, rng: (x + rng.integers(0, 3, x.size) / 3) % 1,
    "4 peaks": lambda x, rng: np.abs(8 * x % 2 - 1),
    "normal, rho -0.97": lambda x, rng: -0.97 * x + math.sqrt(1 - 0.97**2) * rng.normal(size=x.size),
}
"""Written before the estimator, and run once it was made."""
SIZES, EPSILONS = (1000, 5000, 20_000), (1.0, 2.0)
TOGETHER = 25
"""Studies in a row of the results."""


def settings(quick: bool) -> list[Setting]:
    """Every shape, of so many people, at each epsilon."""
    return [
        {"shape": shape, "people": n, "epsilon": loss}
        for shape in (*SHAPES, *LATER)
        for n in (SIZES[:1] if quick else SIZES)
        for loss in EPSILONS
    ]


def _end(shape: str) -> float:
    """People fill a square, but for normal ones."""
    return 4.0 if shape.startswith("normal") else 0.0


def _people(shape: str, rng: np.random.Generator, n: int) -> dict[str, Vector]:
    end = _end(shape)
    x = rng.normal(size=n) if end else rng.random(n)
    y = {**SHAPES, **LATER}[shape](x, rng)
    return {"x": x.clip(-end, end or 1.0), "y": y.clip(-end, end or 1.0)}


@cache
def _population(shape: str) -> float:
    return dpairs.exact("kendall_tau", _people(shape, np.random.default_rng(900), LARGE))


@cache
def _study(shape: str, n: int, loss: float) -> dpairs.Study:
    side = dpairs.Interval(-_end(shape), _end(shape) or 1.0)
    return dpairs.Study.create(
        "kendall_tau", protocol="two_servers", epsilon=loss, n=n, seed=0, domain=(side, side)
    )


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """Studies that each have people and noise of their own."""
    shape, count, loss = str(setting["shape"]), int(setting["people"]), float(setting["epsilon"])
    bits = np.random.default_rng([seed, count, round(10 * loss), *shape.encode()])
    hits, lengths = np.zeros(2, dtype=int), np.zeros(2)
    for _ in range(TOGETHER):
        people = _people(shape, bits, count)
        estimate = dpairs.simulate(_study(shape, count, loss), people, seed=int(bits.integers(2**63)))
        truths = (_population(shape), dpairs.exact("kendall_tau", people))
        for place, (target, truth) in enumerate(zip(("population", "sample"), truths, strict=True)):
            low, high = estimate.confidence_interval(target=target)
            hits[place] += low <= truth <= high
            lengths[place] += (high - low) / (2 * TOGETHER)
    return [
        {
            "in_pop": int(hits[0]),
            "in_sample": int(hits[1]),
            "reach_pop": float(lengths[0]),
            "reach_sample": float(lengths[1]),
        }
    ]


EXPERIMENT = Experiment(
    "two-servers-curves", "Tau of people on curves within bins", settings, measure, runs=8
)


@table("two_servers_curves")
def curves() -> Table:
    """How often 95% intervals cover, and how far they reach."""
    rows = []
    for shape in (*SHAPES, *LATER):
        cells = []
        for n in SIZES:
            for loss in EPSILONS:
                part = results("two-servers-curves").where(shape=shape, people=n, epsilon=loss)
                if not len(part):
                    cells.append("-")
                    continue
                hits = (part.column(name).mean() / TOGETHER for name in ("in_pop", "in_sample"))
                reach = (part.column(name).mean() for name in ("reach_pop", "reach_sample"))
                covers, reaches = ", ".join(f"{x:.1%}" for x in hits), ", ".join(f"{x:.2g}" for x in reach)
                cells.append(f"{covers} (±{reaches})")
        rows.append([f"{shape} (looked at later)" if shape in LATER else shape, *cells])
    head = ("people", *(f"{n:,}, epsilon {loss:g}" for n in SIZES for loss in EPSILONS))
    return Table("Coverage of the population's and of the sample's tau by 95% intervals", head, rows)
