"""Averages of local AUCs against the AUC over all pairs: exact, simulated, and our estimate.

A client holds records of many people. The AUC asks about all pairs of a positive and a negative; a local AUC
only about pairs within one client, and an average of local AUCs about no other pairs either.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri

import dpairs

from ..exhibits import picture, results, table
from ..experiment import Experiment, Setting, Table
from ..runs import Row
from ..style import BLACK, BLUE, GREEN, SKY, VERMILION

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
    return np.asarray(ndtr(difference / (wide * math.sqrt(2))))


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
    offsets = ndtri((np.arange(clients) + 0.5) / clients) * spread
    low = 0.5 - gap / 2 + offsets
    return Clients(np.full(clients, 1 / clients), np.full(clients, 0.5), low, low + gap, wide)


def many_shifted(spread: float, gap: float = 0.1, wide: float = 0.1) -> float:
    """The AUC over all pairs of infinitely many clients with normal offsets: a difference of two normals."""
    return float(ndtr(gap / math.sqrt(2 * (wide**2 + spread**2))))


# ---------------------------------------------------------------- runs

RECORDS, LOSS = 200_000, 1.0
SPREADS = np.linspace(0, 0.3, 61)
CASES = {
    "2 clients, scores tell only the client": sorted_by_clients(),
    "2 clients, each on a scale of its own": uncalibrated(),
    "10 clients, offsets spread by 0.1": shifted(10, 0.1),
    "100 clients, offsets spread by 0.3": shifted(100, 0.3),
    f"{RECORDS:,} clients with one record, offsets spread by 0.1": shifted(RECORDS, 0.1),
}


def settings(quick: bool) -> list[Setting]:
    return [{"clients": name, "records": RECORDS // 20 if quick else RECORDS} for name in CASES]


def measure(setting: Setting, seed: int, data: Path) -> list[Row]:
    """The average of local AUCs, the AUC over all pairs and our estimate, of the same records."""
    clients, records = CASES[str(setting["clients"])], int(setting["records"])
    client, label, score = clients.draw(records, seed)
    if clients.sizes.size == RECORDS:  # everybody once, which a draw with repetition would not give
        client = np.arange(records)
    truth = dpairs.exact("auc", {"score": score, "label": label})
    average = local_average(client, label, score)[0]
    return [{"average": average, "truth": truth, "value": estimated(label, score, seed).value}]


EXPERIMENT = Experiment("federated", "Averages of local AUCs", settings, measure, runs=10)


def estimated(label: Any, score: Any, seed: int) -> dpairs.Estimate:
    """Our estimate when every record belongs to a person of its own, who sends one report."""
    data = {"score": np.clip(score, -1, 2), "label": label}
    study = dpairs.Study.create(
        "auc", protocol="projection", epsilon=LOSS, domain=dpairs.Interval(-1, 2), n=label.size, seed=seed
    )
    return dpairs.simulate(study, data, seed=seed)


@table("comparison_federated")
def federated_table() -> Table:
    rows = []
    for name, clients in CASES.items():
        # Alone, no client has a pair; and so many clients are as good as infinitely many.
        alone = clients.sizes.size == RECORDS
        known = (math.nan, many_shifted(0.1)) if alone else (clients.average(), clients.overall())
        found = results("federated").where(clients=name)
        means = [float(found.column(each).mean()) for each in ("average", "truth", "value")]
        rows.append([name, *map(_number, (*known, *means, math.sqrt(found.square.mean)))])
    head = [
        "",
        "average of local AUCs, exact",
        "AUC over all pairs, exact",
        "average, simulated",
        "AUC, simulated",
        "dpairs, epsilon 1",
        "its error",
    ]
    return Table("", head, rows)


def _number(value: float) -> str:
    return "none" if math.isnan(value) else f"{value:.4f}"


@picture("comparison_federated")
def federated() -> Any:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, 3.6))
    left.axhline(shifted(2, 0).average(), color=VERMILION, lw=1.6, label="average of local AUCs")
    for clients, colour, style in ((2, SKY, "-."), (10, GREEN, "--")):
        left.plot(
            SPREADS,
            [shifted(clients, spread).overall() for spread in SPREADS],
            style,
            color=colour,
            label=f"all pairs, {clients} clients",
        )
    left.plot(SPREADS, list(map(many_shifted, SPREADS)), color=BLACK, lw=1.6, label="all pairs, many clients")
    for seed, spread in enumerate((0.0, 0.1, 0.2, 0.3)):
        _, label, score = shifted(1000, spread).draw(RECORDS, 100 + seed)
        found = estimated(label, score, 100 + seed)
        left.errorbar(
            spread,
            found.value,
            1.96 * found.standard_error,
            fmt="o",
            color=BLUE,
            ms=4,
            capsize=2,
            label="dpairs, 1,000 clients, epsilon 1" if seed == 0 else None,
        )
    left.set(xlabel="spread of the clients' offsets, in score", ylabel="AUC", ylim=(0.5, 0.8))
    left.legend(fontsize=8, loc="lower left")
    records = np.arange(1, 101)
    for share, colour, style in ((0.5, BLUE, "-"), (0.1, GREEN, "--"), (0.01, VERMILION, ":")):
        right.plot(records, both_classes(records, share), style, color=colour, label=f"{share:.0%} positives")
    right.set(xscale="log", xlabel="records of a client", ylabel="share of clients with a local AUC")
    right.set_xticks([1, 2, 5, 10, 20, 50, 100], ["1", "2", "5", "10", "20", "50", "100"])
    right.minorticks_off()
    right.legend(fontsize=8.5)
    figure.tight_layout()
    return figure
