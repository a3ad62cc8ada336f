"""Averages of local AUCs against the AUC over all pairs, exact and simulated, for make_comparison.py.

A client holds records of many people. The AUC asks about all pairs of a positive and a negative; a local AUC
only about pairs within one client, and an average of local AUCs about no other pairs either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Clients:
    """Clients with normal scores: negatives around ``low``, positives around ``high``, all as wide."""

    sizes: Vector
    """The share of all records that each client has."""
    positives: Vector
    """The share of positives among a client's records."""
    low: Vector
    high: Vector
    wide: float

    def local(self) -> Vector:
        """The AUC within each client."""
        return _wins(self.high - self.low, self.wide)

    def average(self) -> float:
        """Local AUCs averaged by size, as by the number of examples."""
        return float(self.sizes @ self.local() / self.sizes.sum())

    def overall(self) -> float:
        """The AUC over all pairs, whoever holds the two."""
        above = self.sizes * self.positives
        below = self.sizes * (1 - self.positives)
        wins = _wins(np.subtract.outer(self.high, self.low), self.wide)
        return float(above @ wins @ below / (above.sum() * below.sum()))

    def draw(self, records: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64], Vector]:
        """Client, label and score of so many records."""
        rng = np.random.default_rng(seed)
        client = rng.choice(self.sizes.size, records, p=self.sizes / self.sizes.sum())
        label = (rng.random(records) < self.positives[client]).astype(np.int64)
        centre = np.where(label == 1, self.high[client], self.low[client])
        return client.astype(np.int64), label, rng.normal(centre, self.wide)


def _wins(difference: Vector, wide: float) -> Vector:
    """How often the first of two normals is larger, by the difference of their centres."""
    return np.asarray(norm.cdf(difference / (wide * math.sqrt(2))))


def local_average(client: NDArray[np.int64], label: NDArray[np.int64], score: Vector) -> tuple[float, float]:
    """The average of local AUCs by size, over clients that have one; and the share of clients that do."""
    order = np.lexsort((score, client))
    client, label = client[order], label[order]
    starts = np.flatnonzero(np.diff(client, prepend=-1))
    sizes = np.diff(np.append(starts, client.size))
    ranks = np.arange(client.size) - np.repeat(starts, sizes) + 1.0  # scores are continuous: no ties
    positives = np.add.reduceat(label, starts)
    negatives = sizes - positives
    sums = np.add.reduceat(ranks * label, starts)
    there = (positives > 0) & (negatives > 0)
    if not there.any():
        return math.nan, 0.0
    won = sums[there] - positives[there] * (positives[there] + 1) / 2
    found = won / (positives[there] * negatives[there])
    return float(np.average(found, weights=sizes[there])), float(there.mean())


def both_classes(records: NDArray[np.int64], positives: float) -> Vector:
    """How likely a client with so many records has a local AUC at all."""
    return 1 - positives**records - (1 - positives) ** records


# ---------------------------------------------------------------- cases


def sorted_by_clients() -> Clients:
    """Within each client scores say nothing; the client says nearly all. Average 0.5, truth 0.9."""
    far = np.array([0.3, 0.7])
    return Clients(np.full(2, 0.5), np.array([0.1, 0.9]), far, far, 0.05)


def uncalibrated() -> Clients:
    """Each client separates its classes, each on its own scale. Average 1.0, truth 0.5."""
    share = math.sqrt(0.5)  # of positives, with the client that scores low: 1 - share^2 of all pairs are won
    low = np.array([0.1, 0.7])
    return Clients(np.full(2, 0.5), np.array([share, 1 - share]), low, low + 0.2, 0.02)


def shifted(clients: int, spread: float, gap: float = 0.1, wide: float = 0.1) -> Clients:
    """As many positives everywhere, and offsets that are quantiles of a normal with this spread."""
    offsets = norm.ppf((np.arange(clients) + 0.5) / clients) * spread
    low = 0.5 - gap / 2 + offsets
    return Clients(np.full(clients, 1 / clients), np.full(clients, 0.5), low, low + gap, wide)


def many_shifted(spread: float, gap: float = 0.1, wide: float = 0.1) -> float:
    """The AUC over all pairs of infinitely many clients with normal offsets: a difference of two normals."""
    return float(norm.cdf(gap / math.sqrt(2 * (wide**2 + spread**2))))
