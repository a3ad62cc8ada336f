"""Projective geometry response: a symbol from a hyperplane that belongs to the true bin.

Feldman, Nelson, Nguyen and Talwar, "Private frequency estimation via projective geometry" (ICML 2022).
Bins are points of the projective space of dimension t - 1 over the field of q elements (q prime);
symbols are points too, and bin x favours the points orthogonal to it. Any two bins share the same
number of favoured symbols, so the variance is that of subset selection, with one integer as symbol.

Dimension t = 2 is a line, on which every point is orthogonal to a single point: up to names, the bins
favour themselves and the mechanism is k-ary randomized response. That is what few bins or a large
epsilon call for, so the line with exactly as many points as bins (q = k - 1, prime or not) is one of
the geometries to choose from.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.grids import MAX_BINS
from ..errors import BadParameter
from ..formats.checks import integer, positive
from ..randomness import WORDS, Randomness
from .base import Mechanism
from .thresholds import floor_and_boost, log_above

MAX_SYMBOLS = 2**16
LINE = 2
"""The dimension in which the mechanism is k-ary randomized response."""


def geometric(order: int, terms: int) -> int:
    """1 + q + ... + q^(terms-1): the number of points of a projective space.

    >>> geometric(2, 3)
    7
    """
    return sum(order**power for power in range(terms))


def is_prime(number: int) -> bool:
    """Whether ``number`` is prime, by trial division: field orders are small."""
    return number >= 2 and all(number % divisor for divisor in range(2, math.isqrt(number) + 1))


def design_variance(epsilon: float, cells: int, symbols: int, favoured: int, shared: int) -> float:
    """About the variance that each report adds to a count, for cells equally filled.

    Each input favours ``favoured`` of ``symbols`` symbols, any two inputs sharing ``shared``. The last
    factor is what knowing the total of all counts saves when there are more symbols than cells.
    """
    boost = math.expm1(min(epsilon, 64.0))
    total = symbols + favoured * boost
    truth = favoured * (1 + boost) / total
    other = (favoured + shared * boost) / total
    if truth == other:
        return math.inf
    variance = (1 - 1 / cells) * other * (1 - other) + truth * (1 - truth) / cells
    return variance / (truth - other) ** 2 * (1 - 1 / cells) / (1 - 1 / symbols)


def best_geometry(cells: int, epsilon: float) -> tuple[int, int]:
    """The order q and dimension t of least variance among the geometries with at least ``cells`` points."""
    candidates = [(design_variance(epsilon, cells, cells, 1, 0), cells - 1, LINE)]
    for order in filter(is_prime, range(2, math.isqrt(MAX_SYMBOLS))):
        dimension = LINE + 1
        while geometric(order, dimension) < cells:
            dimension += 1
        if geometric(order, dimension) <= MAX_SYMBOLS:
            counts = [geometric(order, dimension - drop) for drop in (0, 1, 2)]
            candidates.append((design_variance(epsilon, cells, *counts), order, dimension))
    variance, order, dimension = min(candidates)
    if math.isinf(variance):
        raise BadParameter(f"epsilon {epsilon!r} is too small for {cells} cells of 64-bit probabilities")
    return order, dimension


@dataclass(frozen=True)
class ProjectiveResponse(Mechanism):
    """P(y | x) = (A + B [y orthogonal to x] + [y < leftover]) / 2^64.

    The leftover words, fewer than one hyperplane has points, go to the same symbols whatever the
    input, so they cost no privacy.
    """

    inputs: int
    order: int
    dimension: int
    floor: int
    boost: int
    name: ClassVar[str] = "projective"

    def __post_init__(self) -> None:
        """Refuse geometries that do not exist or are too small, and thresholds that are no probabilities."""
        integer("projective inputs", self.inputs, 2, MAX_BINS)
        integer("projective order", self.order, 1, MAX_SYMBOLS)
        integer("projective dimension", self.dimension, LINE, 16)
        if self.dimension == LINE and self.order != self.inputs - 1:
            raise BadParameter(f"projective order must be {self.inputs - 1} in dimension 2, not {self.order}")
        if self.dimension > LINE and not is_prime(self.order):
            raise BadParameter(f"projective order must be prime, not {self.order}")
        integer("projective symbols", self.symbols, self.inputs, MAX_SYMBOLS)
        integer("projective floor", self.floor, 1, WORDS // self.symbols)
        integer("projective boost", self.boost, 1, WORDS)
        if not 0 <= self.leftover < self.favoured:
            raise BadParameter("projective floor and boost do not fill 64-bit words")

    @classmethod
    def for_epsilon(cls, inputs: int, epsilon: float) -> ProjectiveResponse:
        """The best geometry for ``inputs`` bins and the most accurate thresholds that keep ``epsilon``."""
        order, dimension = best_geometry(
            integer("projective inputs", inputs, 2, MAX_BINS), positive("epsilon", epsilon)
        )
        floor, boost = floor_and_boost(epsilon, geometric(order, dimension), geometric(order, dimension - 1))
        return cls(inputs, order, dimension, floor, boost)

    @cached_property
    def symbols(self) -> int:  # type: ignore[override]
        """The points of the geometry."""
        return geometric(self.order, self.dimension)

    @cached_property
    def favoured(self) -> int:
        """The points of a hyperplane."""
        return geometric(self.order, self.dimension - 1)

    @property
    def leftover(self) -> int:
        """Words that neither the floors nor the boosts use."""
        return WORDS - self.symbols * self.floor - self.favoured * self.boost

    @cached_property
    def points(self) -> NDArray[np.int64]:
        """All points, a row of coordinates each: the first coordinate that is not 0 is 1.

        They are in the order of the number their coordinates spell in base q.
        """
        rows = []
        for zeros in reversed(range(self.dimension)):
            free = self.dimension - zeros - 1
            rest = np.arange(self.order**free)
            digits = rest[:, None] // self.order ** np.arange(free - 1, -1, -1)[None, :] % self.order
            block = np.zeros((rest.size, self.dimension), dtype=np.int64)
            block[:, zeros] = 1
            block[:, zeros + 1 :] = digits
            rows.append(block)
        return np.concatenate(rows)

    def hyperplane(self, bin: int) -> NDArray[np.int64]:
        """The symbols that ``bin`` favours, in ascending order."""
        if self.dimension == LINE:
            return np.array([bin])
        return np.flatnonzero(self.points @ self.points[bin] % self.order == 0)

    @cached_property
    def _hyperplanes(self) -> NDArray[np.int64]:
        return np.array([self.hyperplane(index) for index in range(self.inputs)], dtype=np.int64)

    @cached_property
    def epsilon(self) -> float:
        """ln((A + B) / A): the leftover symbols only make the ratio smaller."""
        return log_above(Fraction(self.floor + self.boost, self.floor))

    def _weights(self, bin: int) -> list[int]:
        weights = [self.floor + (symbol < self.leftover) for symbol in range(self.symbols)]
        for symbol in self.hyperplane(bin).tolist():
            weights[symbol] += self.boost
        return weights

    def pmf(self, bin: int) -> list[Fraction]:
        return [Fraction(weight, WORDS) for weight in self._weights(bin)]

    @cached_property
    def channel(self) -> NDArray[np.float64]:
        favours = np.zeros((self.inputs, self.symbols))
        np.put_along_axis(favours, self._hyperplanes, 1.0, axis=1)
        common = self.floor + (np.arange(self.symbols) < self.leftover)
        return (common.astype(np.float64) + favours * float(self.boost)) / float(WORDS)

    def randomize(self, bins: NDArray[np.int64], bits: Randomness) -> NDArray[np.int64]:
        """The word falls into a floor's stretch, or into a boost's, or among the leftovers."""
        words = bits.words(bins.size)
        symbols = (words // np.uint64(self.floor)).view(np.int64)
        base = np.uint64(self.symbols * self.floor)
        above = np.flatnonzero(words >= base)
        rest = words[above] - base
        member = (rest // np.uint64(self.boost)).view(np.int64)
        inside = member < self.favoured
        # One person needs one hyperplane, not the table of all.
        alone = bins.size == 1
        table = self.hyperplane(int(bins[0]))[None, :] if alone else self._hyperplanes
        rows = np.zeros_like(above) if alone else bins[above]
        chosen = table[rows, np.minimum(member, self.favoured - 1)]
        leftover = (rest - np.uint64(self.favoured * self.boost)).view(np.int64)
        symbols[above] = np.where(inside, chosen, leftover)
        return symbols

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "inputs": self.inputs,
            "order": self.order,
            "dimension": self.dimension,
            "floor": str(self.floor),
            "boost": str(self.boost),
        }
