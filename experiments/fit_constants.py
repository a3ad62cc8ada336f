"""Measure the fitted constants of the remainder again: `python -m experiments.fit_constants`.

For each population many pilots are made, and what each pilot's derivative truly misses is compared with what
its imagined rounds say. One row for each population: how much more than imagined the remainder varies, the
`SMOOTH` that would say so, and how far the allowed standard error is off with the constants as they are (a
root mean square of 1 is right, below 1 is cautious). Populations of the first half were looked at when the
constants were chosen; those of the second half were not.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs
from dpairs.protocols import Projection, SecondRound, fitted
from dpairs.protocols.projection.pilot import PublicNoise
from dpairs.protocols.projection.remainder import imagined_remainders
from dpairs.simulate import simulate_round
from dpairs.statistics.linear import nominal

Table = dict[str, NDArray[Any]]
UNIT = dpairs.Interval(0, 1)
MANY = 50_000
"""People who stand for a population."""


@dataclass(frozen=True)
class Population:
    """People of one kind, the statistic of them, and whether a constant was fitted to them."""

    name: str
    statistic: str
    domain: Any
    draw: Callable[[np.random.Generator, int], Table]
    looked_at: bool


def _classes(rng: np.random.Generator, n: int, of: Callable[[NDArray[Any]], NDArray[Any]]) -> Table:
    label = np.arange(n) % 2
    return {"score": np.clip(of(label), 0, 1), "label": label}


def _plane(rng: np.random.Generator, n: int, correlation: float, heavy: bool) -> Table:
    x, y = rng.normal(size=(2, n))
    y = correlation * x + np.sqrt(1 - correlation**2) * y
    scale = np.sqrt(rng.chisquare(3, n) / 3) if heavy else 1.0
    return {"x": np.clip(0.5 + x / scale / 8, 0, 1), "y": np.clip(0.5 + y / scale / 8, 0, 1)}


POPULATIONS = (
    Population(
        "two normal classes",
        "auc",
        UNIT,
        lambda rng, n: _classes(rng, n, lambda label: rng.normal(0.4 + 0.2 * label, 0.15)),
        True,
    ),
    Population(
        "lognormal",
        "gini_mean_difference",
        UNIT,
        lambda rng, n: {"value": np.minimum(rng.lognormal(0, 0.7, n), 10) / 10},
        True,
    ),
    Population(
        "normal plane, 0.5", "kendall_tau", (UNIT, UNIT), lambda rng, n: _plane(rng, n, 0.5, False), True
    ),
    Population(
        "two beta classes",
        "auc",
        UNIT,
        lambda rng, n: _classes(rng, n, lambda label: rng.beta(2 + 2 * label, 4)),
        False,
    ),
    Population(
        "two groups", "gini_mean_difference", UNIT, lambda rng, n: {"value": _two_groups(rng, n)}, False
    ),
    Population(
        "heavy plane, -0.3", "kendall_tau", (UNIT, UNIT), lambda rng, n: _plane(rng, n, -0.3, True), False
    ),
)


def _two_groups(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return np.clip(np.where(rng.random(n) < 0.7, rng.normal(0.2, 0.05, n), rng.normal(0.8, 0.1, n)), 0, 1)


def measured(population: Population, n: int, epsilon: float, pilots: int) -> NDArray[np.float64]:
    """A row for each pilot: what it missed, the imagined and the allowed standard error, half the range."""
    rng = np.random.default_rng(1)
    everybody = population.draw(rng, MANY)
    truth = dpairs.exact(population.statistic, everybody)
    rows = []
    for seed in range(pilots):
        study = dpairs.Study.create(
            population.statistic,
            protocol="projection",
            epsilon=epsilon,
            domain=population.domain,
            n=n,
            seed=seed,
        )
        first, tally = study.protocol, simulate_round(study, population.draw(rng, n), seed)
        last = study.next(tally).protocol
        if not isinstance(first, Projection) or not isinstance(last, SecondRound) or last.analysis is None:
            raise TypeError("a projection study has a second round, with an analysis")
        counts: dict[str, Any] = {stratum: tally.counts(stratum) for stratum in study.strata}
        pilot = first.pilot.pilot(counts, PublicNoise(study.coins))
        linearizer = study.statistic.linearizer(pilot.grid)
        linear = linearizer.at(pilot.masses, nominal(study.statistic))
        imagined = float(np.std(imagined_remainders(study.statistic, linearizer, linear, pilot)[0], ddof=1))
        analysis, seen = last.analysis, last.analysis.value
        for stratum, columns in study.statistic.split(everybody):
            low, high = analysis.ranges[stratum]
            heights = last.influences[stratum](columns, study.statistic.private_columns)
            seen += (high - low) * (float(heights.mean()) - analysis.means[stratum])
        extent = max(high - low for low, high in analysis.ranges.values())
        half = extent / (4 if len(analysis.ranges) == 1 else 2)
        missed = truth - seen - analysis.remainder.mean
        rows.append((missed, imagined, np.sqrt(analysis.remainder.variance), half))
    return np.array(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pilots", type=int, default=100)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    asked = parser.parse_args()
    print({name: value for name, value in vars(fitted).items() if name.isupper()})
    print("population | looked at | missed / imagined | smooth that would fit | missed / allowed")
    for population in POPULATIONS:
        missed, imagined, allowed, half = measured(population, asked.people, asked.epsilon, asked.pilots).T
        square = float((missed**2).mean())
        smooth = (square - float((imagined**2).mean())) / float((imagined**3 / half).mean())
        beyond, off = square / float((imagined**2).mean()), float(((missed / allowed) ** 2).mean())
        print(
            f"{population.name} | {'yes' if population.looked_at else 'no'} | {np.sqrt(beyond):.2f} | "
            f"{smooth:.1f} | {np.sqrt(off):.2f}"
        )


if __name__ == "__main__":
    main()
