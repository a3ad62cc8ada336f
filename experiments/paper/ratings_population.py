"""The people of the hotel ratings as shares of 36 cells, and the errors that the theorems give for them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpairs.protocols import theory

from .. import sources

DELTA = 1e-8
"""Of the baseline that computes all pairs, as in the paper."""


@dataclass(frozen=True)
class Population:
    """The rated pairs of people as shares of cells, and their kernel."""

    cells: NDArray[np.int64]
    shares: NDArray[np.float64]
    kernel: NDArray[np.float64]
    truth: float

    @property
    def people(self) -> int:
        return self.cells.size

    @property
    def sampling(self) -> float:
        """The variance that comes from the choice of people, which is no error around these people."""
        return theory.ustatistic_variance(self.people, *theory.zetas(self.kernel, self.shares))

    def response_error(self, epsilon: float) -> float:
        """The theorem's root of the mean squared error of randomized response, for a kernel in [0, 1]."""
        variance = 4 * theory.krr_variance(self.people, epsilon, (self.kernel + 1) / 2, self.shares)
        return math.sqrt(variance - self.sampling)

    def pairs_error(self, pairs: int, noise: float) -> float:
        """The same of pairs, each with noise of this variance."""
        zetas = theory.zetas(self.kernel, self.shares)
        return math.sqrt(theory.pairs_mse(self.people, pairs, *zetas, noise) - self.sampling)

    def all_pairs_error(self, epsilon: float) -> float:
        """The same of all pairs: noise only, for a kernel whose range is 2."""
        return math.sqrt(4 * theory.all_pairs_noise(self.people, epsilon, DELTA))


@cache
def population(data: Path, rated_only: bool) -> Population:
    table = sources.ratings(data, rated_only)
    levels = sources.LEVELS.size
    x, y = np.indices((levels, levels)).reshape(2, -1)
    value = np.array(sources.LEVELS.values)
    place = np.searchsorted(value, table["x"]) * levels + np.searchsorted(value, table["y"])
    shares = np.bincount(place, minlength=x.size) / place.size
    kernel = (np.sign(x[:, None] - x) * np.sign(y[:, None] - y)).astype(np.float64)
    # A person is tied with itself, so pairs of equal people add nothing to the sum over all.
    truth = float(shares @ kernel @ shares) * place.size / (place.size - 1)
    return Population(place, shares, kernel, truth)
