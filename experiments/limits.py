"""The error that one answer from each person could reach at best, if the distribution were known beforehand.

A statistic over pairs is, up to a rest of second order, the mean over people of their projection psi. One
bit says which end of psi's range a person is nearer to; above epsilon 1 a symbol says more. Nobody knows psi
before the study; here the people themselves say it, so nothing is left but the noise of the answer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dpairs.data.domains import Levels
from dpairs.mechanisms import BitResponse, spaced_response

OF_NORMAL = math.sqrt(2 / math.pi)
"""The mean absolute value of a standard normal number."""
Vector: TypeAlias = "NDArray[np.float64]"
Data: TypeAlias = "dict[str, NDArray[Any]]"
Known: TypeAlias = list[tuple[Vector, float, float]]
"""For each stratum: psi of every person, and the least and the largest value that psi has anywhere."""
CELLS = 512
"""Of each side of a plane of numbers."""
LEVELLED = (0.0, 0.0003, 0.001, 0.003, 0.01, 0.03)
"""Shares of people with the largest psi who may be taken for less."""


def one_bit(statistic: str, domain: Any, data: Data, epsilon: float) -> float:
    """The mean absolute error of one bit from everybody."""
    bit = BitResponse.for_epsilon(epsilon)
    variance = 0.0
    for psi, low, high in FUNCTIONS[statistic](domain, data):
        if high > low:
            inside = np.clip((psi - low) / (high - low), 0, 1)
            variance += (high - low) ** 2 * float(bit.variances(inside).mean()) / psi.size
    return OF_NORMAL * math.sqrt(variance)


def one_symbol(statistic: str, domain: Any, data: Data, epsilon: float) -> tuple[float, float]:
    """Root mean square errors of the best symbol from everybody: around the population's value, the people's.

    For one stratum. The function is kept level from where that is best, as if this were known too: what it
    leaves out counts as a bias.
    """
    ((psi, *_),) = {**FUNCTIONS, **RATIOS}[statistic](domain, data)
    squares = []
    for share in LEVELLED:
        level = np.minimum(psi, np.quantile(psi, 1 - share))
        extent = float(np.ptp(level))
        inside = (level - level.min()) / extent
        response = spaced_response(epsilon, inside, np.full(inside.size, 1 / inside.size))
        noise = extent**2 * float(response.variances(inside).mean()) / psi.size
        squares.append(noise + float(np.mean(psi - level)) ** 2)
    return math.sqrt(min(squares) + float(psi.var()) / psi.size), math.sqrt(min(squares))


def below(ordered: NDArray[Any], values: NDArray[Any], tie: float = 0.5) -> Vector:
    """The share of ``ordered`` below each value; a tie counts ``tie``."""
    less, reached = (np.searchsorted(ordered, values, side=side) for side in ("left", "right"))
    shares: Vector = (less + tie * (reached - less)) / ordered.size
    return shares


def _ends(domain: Any) -> NDArray[Any]:
    return np.array([domain.low, domain.high], dtype=np.uint64 if domain.kind == "integers" else np.float64)


def known_auc(domain: Any, data: Data) -> Known:
    """A positive wins against those below, a negative loses against those above."""
    positive, negative = (np.sort(data["score"][data["label"] == label]) for label in (1, 0))
    ends = _ends(domain)
    low, high = below(negative, ends).tolist()
    last, first = (1 - below(positive, ends)).tolist()
    return [(below(negative, positive), low, high), (1 - below(positive, negative), first, last)]


def known_gini(domain: Any, data: Data) -> Known:
    """Twice the mean distance to all others."""
    ordered = np.sort(data["value"])
    sums, total = np.concatenate(([0.0], np.cumsum(ordered))), float(ordered.sum())

    def distance(values: NDArray[Any]) -> Vector:
        place = np.searchsorted(ordered, values)
        mean: Vector = 2 * (values * (2 * place - ordered.size) + total - 2 * sums[place]) / ordered.size
        return mean

    psi = distance(ordered)
    return [(psi, float(psi.min()), float(distance(_ends(domain)).max()))]


def known_gini_coefficient(domain: Any, data: Data) -> Known:
    """The derivative of half the mean distance over the mean; only at the people's own values."""
    value = np.sort(data["value"])
    ((distance, *_),) = known_gini(domain, {"value": value})
    mean = float(value.mean())
    coefficient = float(distance.mean()) / (4 * mean)
    psi = distance / (2 * mean) - coefficient * value / mean
    return [(psi, float(psi.min()), float(psi.max()))]


def known_tau(domain: Any, data: Data) -> Known:
    """Twice the mean concordance with all others; numbers in 512 x 512 cells."""
    sizes, codes = [], []
    for side, name in zip(domain, ("x", "y"), strict=True):
        if isinstance(side, Levels):
            codes.append(np.searchsorted(np.array(side.values), data[name]))
            sizes.append(side.size)
        else:
            where = (data[name] - side.low) / (side.high - side.low) * CELLS
            codes.append(np.minimum(where, CELLS - 1).astype(np.int64))
            sizes.append(CELLS)
    shares = np.zeros(sizes)
    np.add.at(shares, tuple(codes), 1 / codes[0].size)
    signs = [np.sign(np.subtract.outer(np.arange(size), np.arange(size))) for size in sizes]
    psi = 2 * signs[0] @ shares @ signs[1].T
    return [(psi[tuple(codes)], float(psi.min()), float(psi.max()))]


def known_vus(domain: Any, data: Data) -> Known:
    """How often a person of each class completes a triple in order (scores without ties)."""
    low, middle, high = (np.sort(data["score"][data["label"] == label]) for label in (0, 1, 2))
    under, over = below(low, middle), 1 - below(high, middle)
    # Sums over the middle people below (above) a value.
    upto = np.concatenate(([0.0], np.cumsum(under))) / middle.size
    onwards = np.concatenate(([0.0], np.cumsum(over))) / middle.size
    first = onwards[-1] - onwards[np.searchsorted(middle, low)]
    third = upto[np.searchsorted(middle, high)]
    between = under * over
    return [
        (first, 0.0, float(onwards[-1])),
        (between, 0.0, float(between.max())),
        (third, 0.0, float(upto[-1])),
    ]


FUNCTIONS: dict[str, Callable[[Any, Data], Known]] = {
    "auc": known_auc,
    "gini_mean_difference": known_gini,
    "kendall_tau": known_tau,
    "vus": known_vus,
}
RATIOS: dict[str, Callable[[Any, Data], Known]] = {"gini_coefficient": known_gini_coefficient}
"""Functions of forms of all pairs: psi is their derivative."""
