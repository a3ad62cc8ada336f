"""Kernels of whole numbers that need no table: constant above and below the diagonal of each axis.

A comparison of two bins depends only on which is higher. So the kernel's product with a vector is a
cumulative sum along an axis, and on a grid of two axes one after the other: O(k) in place of O(k^2),
exact in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Steps:
    """``below`` where the row's bin is above the column's, ``above`` where it is below, else ``diagonal``.

    >>> Steps(1, -1, np.zeros(3, dtype=np.int64)).apply(np.array([5, 7, 9]), 0).tolist()
    [-16, -4, 12]
    """

    below: int
    above: int
    diagonal: Integers

    def apply(self, table: Integers, axis: int) -> Integers:
        """The product along one axis of ``table``."""
        lower = np.cumsum(table, axis=axis) - table
        upper = table.sum(axis=axis, keepdims=True) - table - lower
        own = self.diagonal.reshape([-1 if place == axis else 1 for place in range(table.ndim)])
        result: Integers = self.below * lower + self.above * upper + own * table
        return result

    @property
    def transposed(self) -> Steps:
        return Steps(self.above, self.below, self.diagonal)


@dataclass(frozen=True, eq=False)
class Near:
    """``weight`` where the row's bin is up to ``reach`` above the column's, ``-weight`` if below, else 0.

    >>> Near(1, 1, 4).apply(np.array([5, 7, 9, 2]), 0).tolist()
    [-7, -4, 5, 9]
    """

    weight: int
    reach: int
    bins: int

    def apply(self, table: Integers, axis: int) -> Integers:
        moved = np.moveaxis(table, axis, 0)
        total = np.zeros_like(moved)
        for step in range(1, min(self.reach, self.bins - 1) + 1):
            total[step:] += moved[:-step]
            total[:-step] -= moved[step:]
        return np.moveaxis(self.weight * total, 0, axis)

    @property
    def diagonal(self) -> Integers:
        return np.zeros(self.bins, dtype=np.int64)

    @property
    def transposed(self) -> Near:
        return Near(-self.weight, self.reach, self.bins)


@dataclass(frozen=True, eq=False)
class Separable:
    """``unit`` times a sum of products of one factor for each axis; entries of the sum lie in low..high."""

    terms: tuple[tuple[Steps | Near, ...], ...]
    low: int
    high: int
    unit: float

    @property
    def span(self) -> int:
        """The most that a pair's entry changes when one of the two changes, and it may be less."""
        return self.high - self.low

    @property
    def _shape(self) -> list[int]:
        return [steps.diagonal.size for steps in self.terms[0]]

    def apply(self, people: Integers) -> Integers:
        """The sum's product with a vector over all cells."""
        total = np.zeros(people.size, dtype=np.int64)
        for factors in self.terms:
            table = people.reshape(self._shape)
            for axis, steps in enumerate(factors):
                table = steps.apply(table, axis)
            total += table.reshape(-1)
        return total

    @property
    def transposed(self) -> Separable:
        terms = tuple(tuple(steps.transposed for steps in factors) for factors in self.terms)
        return Separable(terms, self.low, self.high, self.unit)

    @property
    def diagonal(self) -> Integers:
        parts = [reduce(np.kron, [steps.diagonal for steps in factors]) for factors in self.terms]
        total: Integers = np.sum(parts, axis=0)
        return total


def flat(size: int, value: int) -> Steps:
    """A matrix with the same number in every place."""
    return Steps(value, value, np.full(size, value, dtype=np.int64))


def on_diagonal(values: Sequence[int] | Integers) -> Steps:
    """A matrix that is zero beside its diagonal."""
    return Steps(0, 0, np.asarray(values, dtype=np.int64))
