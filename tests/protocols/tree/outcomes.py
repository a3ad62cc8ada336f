"""What every outcome of a tiny oracle gives, with its probability."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpairs.mechanisms import KaryResponse
from dpairs.protocols.tree.counts import LevelCounts
from dpairs.protocols.tree.oracle import Oracle
from dpairs.randomness import WORDS

FAILURE = 1e-9
"""Probability that a correct oracle fails one of the seeded tests, for a fresh seed."""
EPSILON = 1.0
RESPONSE = KaryResponse.for_epsilon(2, EPSILON)
GAIN = WORDS / RESPONSE.boost
KEPT = (RESPONSE.floor + RESPONSE.boost) / WORDS
Estimator = Callable[[int, str, int, tuple[int, ...], list[int]], np.ndarray]
"""From the level, the kind of rows, the people of the stratum, rows and bits to estimates of all nodes."""


def counts_of(level: int, rows: Any, bits: Any) -> LevelCounts:
    counts = LevelCounts(level)
    counts.add(np.array(rows, dtype=np.uint64), np.array(bits, dtype=np.uint8))
    return counts


def outcomes(
    level: int, nodes: tuple[int, ...], rows: str
) -> Iterator[tuple[float, tuple[int, ...], list[int]]]:
    """(probability, rows, bits) of every outcome of people at these nodes."""
    choices = list(itertools.product(range(rows == "others", 2**level), (0, 1)))
    for outcome in itertools.product(choices, repeat=len(nodes)):
        flips = sum(flip for _, flip in outcome)
        weight = KEPT ** (len(nodes) - flips) * (1 - KEPT) ** flips
        weight /= (2**level - (rows == "others")) ** len(nodes)
        bits = [(j & q).bit_count() % 2 ^ flip for (j, flip), q in zip(outcome, nodes, strict=True)]
        yield weight, tuple(j for j, _ in outcome), bits


def by_oracle(level: int, rows: str, people: int, chosen: tuple[int, ...], bits: list[int]) -> np.ndarray:
    oracle = Oracle(counts_of(level, chosen, bits), GAIN, rows, people)
    return oracle(np.arange(2**level, dtype=np.uint64))


def moments(
    level: int, nodes: tuple[int, ...], rows: str, estimator: Estimator
) -> tuple[np.ndarray, np.ndarray]:
    """The exact mean and covariance of the estimates of all nodes."""
    first, second, total = np.zeros(2**level), np.zeros((2**level, 2**level)), 0.0
    for weight, chosen, bits in outcomes(level, nodes, rows):
        found = estimator(level, rows, len(nodes), chosen, bits)
        first += weight * found
        second += weight * np.outer(found, found)
        total += weight
    assert total == pytest.approx(1, abs=1e-12)
    return first, second - np.outer(first, first)


def spread_p_value(values: np.ndarray, variance: float) -> float:
    """Two-sided, for values that are close to normal."""
    total = ((values - values.mean()) ** 2).sum() / variance
    return float(2 * min(stats.chi2.cdf(total, values.size - 1), stats.chi2.sf(total, values.size - 1)))
