"""Measure the fitted constants again: `python -m experiments.fit_constants`.

For each population many pilots are made, and what each pilot's derivative truly misses is compared with what
its imagined rounds say. One row for each population: how much more than imagined the remainder varies, the
`SMOOTH` that would say so, and how far the allowed standard error is off with the constants as they are (a
root mean square of 1 is right, below 1 is cautious). Populations of the first half were looked at when the
constants were chosen; those of the second half were not.

The constants of plans follow, each with the value that would fit the population; those of three classes are
fitted on the normal ones.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dpairs
from dpairs.planning.shapes import from_sample
from dpairs.protocols import Projection, SecondRound, Tree, fitted
from dpairs.protocols.projection.analysis import Analysis
from dpairs.protocols.projection.pilot import PublicNoise
from dpairs.protocols.projection.pilot_histogram import PilotHistogram
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.projection.remainder import imagined_remainders
from dpairs.protocols.rounds import BLOCK
from dpairs.randomness import WORDS
from dpairs.simulate import simulate_round
from dpairs.statistics.linear import nominal

Table = dict[str, NDArray[Any]]
UNIT = dpairs.Interval(0, 1)
MANY = 50_000
"""People who stand for a population."""
TIMES = (1, 3, 10, 30)
"""How many times as many people, to see how the remainder of three classes falls with their number."""


@dataclass(frozen=True)
class Population:
    """People of one kind, the statistic of them, and whether a constant was fitted to them."""

    name: str
    statistic: str
    domain: Any
    draw: Callable[[np.random.Generator, int], Table]
    looked_at: bool = False


def _classes(n: int, many: int, of: Callable[[NDArray[Any]], NDArray[Any]]) -> Table:
    label = np.arange(n) % many
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
        lambda rng, n: _classes(n, 2, lambda label: rng.normal(0.4 + 0.2 * label, 0.15)),
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
        lambda rng, n: _classes(n, 2, lambda label: rng.beta(2 + 2 * label, 4)),
    ),
    Population("two groups", "gini_mean_difference", UNIT, lambda rng, n: {"value": _two_groups(rng, n)}),
    Population("heavy plane, -0.3", "kendall_tau", (UNIT, UNIT), lambda rng, n: _plane(rng, n, -0.3, True)),
)
SMALL = (
    Population(
        "6 levels by 5, correlation 0.5",
        "kendall_tau",
        (dpairs.Levels(range(6)), dpairs.Levels(range(5))),
        lambda rng, n: _levels(_plane(rng, n, 0.5, False), (6, 5)),
    ),
    Population(
        "32 whole numbers, geometric",
        "gini_mean_difference",
        dpairs.Integers(0, 31),
        lambda rng, n: {"value": np.minimum(rng.geometric(0.15, n) - 1, 31)},
    ),
    Population(
        "10 levels, most at the ends",
        "variance",
        dpairs.Levels(range(10)),
        lambda rng, n: {"value": np.minimum((10 * rng.beta(0.5, 0.5, n)).astype(np.int64), 9)},
    ),
)
"""For the cost of a histogram pilot."""
THREE_CLASSES = (
    Population(
        "three normal classes",
        "vus",
        UNIT,
        lambda rng, n: _classes(n, 3, lambda label: rng.normal(0.3 + 0.2 * label, 0.15)),
        True,
    ),
    Population(
        "three beta classes",
        "vus",
        UNIT,
        lambda rng, n: _classes(n, 3, lambda label: rng.beta(2 + 2 * label, 4)),
    ),
)


def _levels(table: Table, counts: tuple[int, int]) -> Table:
    return {
        name: np.minimum((table[name] * count).astype(np.int64), count - 1)
        for name, count in zip(("x", "y"), counts, strict=True)
    }


def _two_groups(rng: np.random.Generator, n: int) -> NDArray[np.float64]:
    return np.clip(np.where(rng.random(n) < 0.7, rng.normal(0.2, 0.05, n), rng.normal(0.8, 0.1, n)), 0, 1)


@dataclass(frozen=True, eq=False)
class Pilot:
    """A first round, and what its derivative missed of everybody's value."""

    study: dpairs.Study
    tally: dpairs.Tally
    analysis: Analysis
    missed: float

    @property
    def protocol(self) -> Projection:
        return projection(self.study)

    @property
    def extent(self) -> float:
        """The range of the function that the second round asks for."""
        return max(high - low for low, high in self.analysis.ranges.values())


def projection(study: dpairs.Study) -> Projection:
    if not isinstance(study.protocol, Projection):
        raise TypeError("this is not a projection study")
    return study.protocol


def made(population: Population, n: int, epsilon: float, pilots: int) -> Iterator[Pilot]:
    """Pilots of different people, each beside everybody's exact value."""
    rng = np.random.default_rng(1)
    everybody = population.draw(rng, MANY)
    truth = dpairs.exact(population.statistic, everybody)
    for seed in range(pilots):
        study = dpairs.Study.create(
            population.statistic,
            protocol="projection",
            epsilon=epsilon,
            domain=population.domain,
            n=n,
            seed=seed,
        )
        tally = simulate_round(study, population.draw(rng, n), seed)
        last = study.next(tally).protocol
        if not isinstance(last, SecondRound) or last.analysis is None:
            raise TypeError("a projection study has a second round, with an analysis")
        analysis, seen = last.analysis, last.analysis.value
        for stratum, columns in study.statistic.split(everybody):
            low, high = analysis.ranges[stratum]
            heights = last.influences[stratum](columns, study.statistic.private_columns)
            seen += (high - low) * (float(heights.mean()) - analysis.means[stratum])
        yield Pilot(study, tally, analysis, truth - seen - analysis.remainder.mean)


def remainder_line(population: Population, n: int, epsilon: float, pilots: int) -> str:
    """What pilots missed, against what their imagined rounds say and against what is allowed for."""
    rows = []
    for pilot in made(population, n, epsilon, pilots):
        study, analysis = pilot.study, pilot.analysis
        counts: dict[str, Any] = {stratum: pilot.tally.counts(stratum) for stratum in study.strata}
        seen = pilot.protocol.pilot.pilot(counts, PublicNoise(study.coins))
        linearizer = study.statistic.linearizer(seen.grid)
        linear = linearizer.at(seen.masses, nominal(study.statistic))
        imagined = float(np.std(imagined_remainders(study.statistic, linearizer, linear, seen)[0], ddof=1))
        half = pilot.extent / (4 if len(analysis.ranges) == 1 else 2)
        rows.append((pilot.missed, imagined, np.sqrt(analysis.remainder.variance), half))
    missed, imagined_, allowed, half_ = np.array(rows).T
    square, expected = float((missed**2).mean()), float((imagined_**2).mean())
    smooth = (square - expected) / float((imagined_**3 / half_).mean())
    off = float(((missed / allowed) ** 2).mean())
    return f"{np.sqrt(square / expected):.2f} | {smooth:.1f} | {np.sqrt(off):.2f}"


def share_missed(pilots: Iterable[Pilot]) -> float:
    """The root mean square of what they missed, in units of the function's range."""
    return float(np.sqrt(np.mean([(pilot.missed / pilot.extent) ** 2 for pilot in pilots])))


def roughness(population: Population, n: int, epsilon: float, pilots: int) -> float:
    """The `HISTOGRAM_ROUGHNESS` r at which pilots missed r cells c^2 / people, with c = coth(epsilon / 2)."""
    all_made = list(made(population, n, epsilon, pilots))
    protocol = all_made[0].protocol
    if not isinstance(protocol.pilot, PilotHistogram):
        raise TypeError("this population's pilot is a tree")
    people = n * protocol.share / BLOCK
    return share_missed(all_made) * people * math.tanh(epsilon / 2) ** 2 / protocol.pilot.grid.cells


def classes(population: Population, sizes: Sequence[int], epsilon: float, pilots: int) -> tuple[float, float]:
    """`CLASSES` and `CLASSES_POWER`: the line through the logarithms of noise and of what was missed."""
    noises, shares = [], []
    for n in sizes:
        all_made = list(made(population, n, epsilon, pilots))
        protocol = all_made[0].protocol
        if not isinstance(protocol.pilot, PilotTree):
            raise TypeError("this population's pilot is a histogram")
        people = n * protocol.share / BLOCK / len(all_made[0].study.strata)
        gain = WORDS / (protocol.pilot.responses[-1].boost * (2**protocol.pilot.parities - 1))
        noises.append(gain**2 * protocol.pilot.depth / people)
        shares.append(share_missed(all_made))
    power, height = np.polyfit(np.log(noises), np.log(shares), 1)
    return float(np.exp(height)), float(power)


def pruned(population: Population, n: int, epsilon: float, runs: int) -> float:
    """The `PRUNED` at which the tree's predicted error is the measured one, at the shape of these people."""
    rng = np.random.default_rng(1)
    everybody = population.draw(rng, MANY)
    truth = dpairs.exact(population.statistic, everybody)
    squares = []
    for seed in range(runs):
        study = dpairs.Study.create(
            population.statistic, protocol="tree", epsilon=epsilon, domain=population.domain, n=n, seed=seed
        )
        squares.append((dpairs.simulate(study, population.draw(rng, n), seed=seed).raw - truth) ** 2)
    shape, tree = from_sample(study.statistic, study.domains, everybody), study.protocol
    if not isinstance(tree, Tree):
        raise TypeError("this is not a tree study")
    expected = tree.predict(shape, dict.fromkeys(study.strata, n // len(study.strata)))
    noise = float(np.mean(squares)) - expected.sampling**2 - expected.second_order**2
    return float(fitted.PRUNED * np.sqrt(max(noise, 0.0)) / expected.privacy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--pilots", type=int, default=100)
    parser.add_argument("--people", type=int, default=20_000)
    parser.add_argument("--epsilon", type=float, default=1.0)
    asked = parser.parse_args()
    given = (asked.people, asked.epsilon, asked.pilots)
    print({name: value for name, value in vars(fitted).items() if name.isupper()})
    print("population | looked at | missed / imagined | smooth that would fit | missed / allowed")
    for population in POPULATIONS:
        told = remainder_line(population, *given)
        print(f"{population.name} | {'yes' if population.looked_at else 'no'} | {told}", flush=True)
    print("population | HISTOGRAM_ROUGHNESS that would fit")
    for population in SMALL:
        print(f"{population.name} | {roughness(population, *given):.2f}", flush=True)
    print("population | CLASSES and CLASSES_POWER that would fit")
    sizes = [asked.people * times for times in TIMES]
    for population in THREE_CLASSES:
        height, power = classes(population, sizes, asked.epsilon, asked.pilots)
        print(f"{population.name} | {height:.3f} x^{power:.2f}", flush=True)
    print("population | PRUNED that would fit")
    for population in POPULATIONS:
        if population.statistic == "auc":
            print(f"{population.name} | {pruned(population, *given):.2f}", flush=True)


if __name__ == "__main__":
    main()
