"""Frequency oracles of others on the zoo's people: one round, shares of bins, the statistic of the shares.

Optimized unary encoding (Wang, Blocki, Li and Jha, USENIX Security 2017), Hadamard response (Acharya, Sun and
Zhang, AISTATS 2019) and k-ary randomized response, drawn from the exact distribution of their counts, with
the shares scaled to a sum of 1 or moved to the nearest distribution. Fast enough to choose bins and
normalization after the fact, which an analyst cannot.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import hadamard

from dpairs.data.domains import Domain, Integers, Interval
from dpairs.data.grids import Axis, Grid
from dpairs.errors import NotEstimable
from dpairs.protocols.projection.pilot import on_simplex
from dpairs.randomness import SeededRandomness
from dpairs.statistics import Statistic

Vector = NDArray[np.float64]
Oracle = Callable[[NDArray[np.int64], float, np.random.Generator], Vector]
"""From the counts of people in bins to unbiased shares."""


def unary(counts: NDArray[np.int64], epsilon: float, rng: np.random.Generator) -> Vector:
    """A bit for each bin: the own one is kept with probability 1/2, others are set with 1/(e^eps + 1)."""
    n, other = int(counts.sum()), 1 / (math.exp(epsilon) + 1)
    seen = rng.binomial(counts, 0.5) + rng.binomial(n - counts, other)
    return np.asarray((seen / n - other) / (0.5 - other))


def hadamard_response(counts: NDArray[np.int64], epsilon: float, rng: np.random.Generator) -> Vector:
    """A symbol of those at which the bin's row of a Hadamard matrix is +1, or of the others."""
    size = 2 ** math.ceil(math.log2(counts.size + 1))
    rows = hadamard(size)[1 : counts.size + 1] > 0
    kept = math.exp(epsilon) / (math.exp(epsilon) + 1)
    seen = np.zeros(size)
    for row, count in zip(rows, counts.tolist(), strict=True):
        seen += rng.multinomial(count, np.where(row, kept, 1 - kept) * 2 / size)
    inside = rows @ (seen / counts.sum())
    return np.asarray((inside - 0.5) / (kept - 0.5))


def k_ary(counts: NDArray[np.int64], epsilon: float, rng: np.random.Generator) -> Vector:
    """The own bin with probability e^eps / (k - 1 + e^eps), else another."""
    k, n = counts.size, int(counts.sum())
    other = 1 / (k - 1 + math.exp(epsilon))
    truth = other * math.exp(epsilon)
    seen = np.zeros(k)
    for place, count in enumerate(counts.tolist()):
        chances = np.full(k, other)
        chances[place] = truth
        seen += rng.multinomial(count, chances)
    return np.asarray((seen / n - other) / (truth - other))


ORACLES: dict[str, Oracle] = {"OUE": unary, "Hadamard": hadamard_response, "k-RR": k_ary}


def grid_of(statistic: Statistic, domains: tuple[Domain, ...], bins: int) -> Grid:
    """Equal bins of every column of numbers; levels are their own."""
    axes = []
    for domain in domains:
        if isinstance(domain, Interval):
            axes.append(Axis(domain, bins))
        else:
            axes.append(Axis(domain, min(bins, domain.size) if isinstance(domain, Integers) else domain.size))
    return statistic.grid(tuple(axes))


def cell_counts(
    statistic: Statistic, grid: Grid, data: dict[str, NDArray[np.float64]]
) -> list[NDArray[np.int64]]:
    """How many people of each stratum are in each cell."""
    bits = SeededRandomness(0)
    return [
        np.bincount(grid.place(columns, statistic.private_columns, bits), minlength=grid.cells)
        for _, columns in statistic.split(data)
    ]


def values_of(
    statistic: Statistic,
    grid: Grid,
    counts: list[NDArray[np.int64]],
    oracle: Oracle,
    epsilon: float,
    rng: np.random.Generator,
) -> dict[str, float]:
    """The statistic of the estimated shares, by what was done to them."""
    raw = [oracle(each, epsilon, rng) for each in counts]
    sizes = dict(zip(statistic.strata, (int(each.sum()) for each in counts), strict=True))
    forms = statistic.forms(grid, "average")
    values_by_way = {}
    for name, shares in (
        ("scaled", [each / each.sum() for each in raw]),
        ("norm-sub", [on_simplex(each) for each in raw]),
    ):
        values = np.array([float(shares[0] @ form.matrix @ shares[-1]) for form in forms])
        try:
            values_by_way[name] = statistic.finish(values, sizes).value
        except NotEstimable:
            values_by_way[name] = math.nan
    return values_by_way
