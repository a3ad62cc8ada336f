"""The cells of the zoo's table: a population, a statistic, a protocol, epsilon and the number of people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import astuple, dataclass
from functools import cache
from hashlib import sha256
from typing import Any

import numpy as np

import dpairs
from dpairs.errors import BadParameter
from dpairs.planning import Option

from .population import Population, options_of
from .third import EVERY

PROTOCOLS = ("histogram", "tree", "pairwise", "projection")
EPSILONS = (0.5, 1.0, 2.0, 4.0, 8.0)
SIZES = (2_000, 20_000, 100_000)
FEWER = 100_000
"""Of cells with so many people, one in FEW is taken: they take fifty times as long."""
FEW = 4


@dataclass(frozen=True, order=True)
class Cell:
    """One row of the table."""

    population: str
    statistic: str
    protocol: str
    epsilon: float
    n: int

    def __str__(self) -> str:
        return "/".join(map(str, astuple(self)))

    @property
    def of(self) -> Population:
        return EVERY[self.population]

    def seed(self, run: int) -> int:
        """Of its own people and noise."""
        return int.from_bytes(sha256(f"{self}/{run}".encode()).digest()[:6])

    def option(self) -> Option:
        """The plan's best study of this protocol, for somebody who knows the domain and nothing else."""
        return _planned(self.population, self.statistic, self.protocol, self.epsilon, self.n)


@cache
def _planned(population: str, statistic: str, protocol: str, epsilon: float, n: int) -> Option:
    of = EVERY[population]
    name, options = options_of(statistic)
    sizes: int | dict[str, int] = n
    if options.get("labels") == "public":
        positive = max(round(of.positives * n), 2)
        sizes = {"positive": positive, "negative": n - positive}
    made = dpairs.plan(name, domain=of.domain, epsilon=epsilon, n=sizes, protocol=protocol, **options)
    return made.options[0]


@cache
def fits(population: str, statistic: str, protocol: str) -> bool:
    """Whether a protocol computes the statistic at all: of few people, for whom its tables are small."""
    name, options = options_of(statistic)
    given: dict[str, Any] = {"domain": EVERY[population].domain, **options}
    if protocol != "pairwise":
        given["n"] = 1_000
    try:
        dpairs.Study.create(name, protocol=protocol, epsilon=1.0, **given)
    except BadParameter:
        return False
    return True


def cells(half: str) -> Iterator[Cell]:
    """All cells of a half, or of the third set, but for protocols that do not fit."""
    for population in EVERY.values():
        if population.half == half:
            for statistic in population.statistics:
                for protocol in PROTOCOLS:
                    if fits(population.name, statistic, protocol):
                        for epsilon in EPSILONS:
                            for n in SIZES:
                                yield Cell(population.name, statistic, protocol, epsilon, n)


def sample(half: str, count: int) -> list[Cell]:
    """A random sample of the cells of a half, always the same; its beginning is a sample too."""
    everything = sorted(cells(half))
    rng = np.random.default_rng(int.from_bytes(sha256(f"dpairs zoo sample, {half}".encode()).digest()[:8]))
    order = [everything[place] for place in rng.permutation(len(everything))]
    return [cell for cell in order if cell.n < FEWER or cell.seed(-1) % FEW == 0][:count]
