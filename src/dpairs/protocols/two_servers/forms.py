"""A statistic's forms in whole numbers: what two servers compute on shared histograms.

With the histogram h of one stratum, the sum of A over ordered pairs of different people is h'Ah - diag(A)'h;
with two strata a and b it is a'Ab. Whole numbers, so that shares modulo a prime add up to them exactly and
the noise can be discrete.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from ...statistics import Statistic
from ...statistics.separable import Separable

EXACT = (1, 2, 3, 4, 6, 12)
"""Denominators that make tables of signs, ties and levels whole."""
STEPS = 2**20
"""Steps across the range of a kernel without such a denominator: rounding moves a mean by half of one."""
OFFSET = 2**10
"""How far from 0 a kernel may lie, in its ranges, before its steps get wider."""
LIMB = 22
"""Bits of an element's limbs: |entry| 2^22 k stays below 2^63, for signs of 2^20 cells and tables of 512."""
Vector = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class KernelTable:
    """A kernel between cells as a table of whole numbers."""

    entries: NDArray[np.int64]

    def apply(self, people: Vector) -> Vector:
        product: Vector = self.entries @ people
        return product

    @property
    def transposed(self) -> KernelTable:
        return KernelTable(self.entries.T)

    @property
    def diagonal(self) -> Vector:
        return np.diagonal(self.entries)

    @cached_property
    def low(self) -> int:
        return int(self.entries.min())

    @cached_property
    def high(self) -> int:
        return int(self.entries.max())

    @cached_property
    def span(self) -> int:
        """The most that a pair's entry changes when one of the two changes."""
        return int(max(np.ptp(self.entries, axis=0).max(), np.ptp(self.entries, axis=1).max()))


@dataclass(frozen=True, eq=False)
class IntegerForm:
    """A kernel between cells: ``unit`` times whole numbers, to the nearest."""

    kernel: KernelTable | Separable
    unit: float
    rounding: float
    """The most that rounding moves a mean."""

    @property
    def largest(self) -> int:
        """The largest |A_ij|: what one pair can add to the form, in units."""
        return max(abs(self.kernel.low), abs(self.kernel.high))

    @property
    def matrix(self) -> NDArray[np.float64]:
        """A in h'Ah: the kernel between every two cells, in the statistic's unit."""
        if isinstance(self.kernel, KernelTable):
            return np.asarray(self.unit * self.kernel.entries)
        cells = np.eye(self.kernel.diagonal.size, dtype=np.int64)
        return np.asarray(self.unit * np.stack([self.kernel.apply(cell) for cell in cells], axis=1))

    def total(self, histograms: Sequence[Vector]) -> int:
        """The sum over all pairs, in units."""
        if len(histograms) == 2:
            first, second = histograms
            return dot(first, self.kernel.apply(second))
        (people,) = histograms
        return dot(people, self.kernel.apply(people)) - dot(people, self.kernel.diagonal)

    def sensitivity(self, sizes: Sequence[int]) -> int:
        """The most that one person's other value changes `total`, whoever the others are.

        A person is in n - 1 pairs, each counted in both orders, or in as many as the other stratum has, and
        none of them changes by more than `span`.
        """
        return self.kernel.span * (2 * (sizes[0] - 1) if len(sizes) == 1 else max(sizes))

    def apply_modulo(self, share: Sequence[int], modulus: int, transposed: bool = False) -> list[int]:
        """The kernel's product with a vector of field elements."""
        kernel = self.kernel.transposed if transposed else self.kernel
        mask, total = (1 << LIMB) - 1, [0] * len(share)
        for shift in range(0, modulus.bit_length(), LIMB):
            limb = np.array([element >> shift & mask for element in share], dtype=np.int64)
            part = kernel.apply(limb).tolist()
            total = [before + (each << shift) for before, each in zip(total, part, strict=True)]
        return [each % modulus for each in total]


def dot(first: Vector, second: Vector) -> int:
    """The inner product, however large."""
    return sum(a * b for a, b in zip(first.tolist(), second.tolist(), strict=True))


def pairs(sizes: Sequence[int]) -> int:
    """How many pairs `IntegerForm.total` adds up."""
    return sizes[0] * (sizes[0] - 1) if len(sizes) == 1 else sizes[0] * sizes[1]


def integer_forms(statistic: Statistic, grid: Grid, near: bool = True) -> tuple[IntegerForm, ...]:
    """The forms of ``statistic`` on the cells of ``grid``; ``near`` pairs make up for those in one bin."""
    separable = statistic.separable(grid) if near else statistic.plain(grid)
    if separable is not None:
        return tuple(IntegerForm(form, form.unit, 0.0) for form in separable)
    return tuple(_integer(form.matrix) for form in statistic.forms(grid, "average"))


def within_kernel(statistic: Statistic, grid: Grid) -> Separable | NDArray[np.float64] | None:
    """How far a pair may lie off the first form: a kernel of its own, a table's, or None if nobody knows."""
    separable = statistic.within(grid)
    if separable is not None or not statistic.from_table:
        return separable
    return farthest_off(statistic, grid)


def farthest_off(statistic: Statistic, grid: Grid) -> NDArray[np.float64]:
    """Of every two cells: how far a kernel that is known by its table may lie off it.

    A table says half of the kernel's range over two cells, so it lies within twice that of its average, and
    within the range of the whole kernel.
    """
    (form,), (low, high) = statistic.forms(grid, "average"), statistic.range(())
    return np.minimum(2 * form.uncertainty, np.maximum(high - form.matrix, form.matrix - low))


def within_form(statistic: Statistic, grid: Grid) -> IntegerForm | None:
    """The same as a form; None also where bins hide nothing."""
    kernel = within_kernel(statistic, grid)
    if isinstance(kernel, Separable):
        hiding = kernel.apply(np.ones(grid.cells, dtype=np.int64)).any()
        return IntegerForm(kernel, kernel.unit, 0.0) if hiding else None
    return None if kernel is None or not kernel.any() else _integer(kernel)


def order_form(statistic: Statistic, grid: Grid) -> IntegerForm | None:
    """How pairs of neighbouring bins go together: see `Statistic.order`."""
    kernel = statistic.order(grid)
    return None if kernel is None else IntegerForm(kernel, kernel.unit, 0.0)


def _integer(matrix: NDArray[np.float64]) -> IntegerForm:
    row = matrix[0]
    for bottom in EXACT:
        if not np.array_equal(np.rint(row * bottom) / bottom, row):
            continue  # as all the others would say, in less time
        whole = np.rint(matrix * bottom)
        if np.abs(whole).max() < STEPS and np.array_equal(whole / bottom, matrix):
            return IntegerForm(KernelTable(whole.astype(np.int64)), 1 / bottom, 0.0)
    # A table may differ by nothing but rounding, and entries must leave room for limbs.
    extent = max(float(np.ptp(matrix)), float(np.abs(matrix).max()) / OFFSET) or 1.0
    # A power of two, so that units multiply without rounding.
    unit = 2.0 ** math.ceil(math.log2(extent / STEPS))
    return IntegerForm(KernelTable(np.rint(matrix / unit).astype(np.int64)), unit, unit / 2)


def multiplicands(
    forms: Sequence[IntegerForm], server: int, shares: Sequence[Sequence[int]], modulus: int
) -> list[list[int]]:
    """One server's side of the cross products that forms need of shared histograms.

    With one stratum that is h0'(A h1) for each form, with two a0'(A b1) and b0'(A'a1): the first factor is
    server 0's, the second server 1's.
    """
    if server == 0:
        return [list(share) for _ in forms for share in shares]
    sides = [(shares[-1], False), (shares[0], True)][: len(shares)]
    return [form.apply_modulo(share, modulus, down) for form in forms for share, down in sides]


def total_shares(
    forms: Sequence[IntegerForm], shares: Sequence[Sequence[int]], products: Sequence[int], modulus: int
) -> list[int]:
    """One server's shares of the forms' totals, from its shares of histograms and of cross products."""
    totals, per_form = [], len(products) // max(len(forms), 1)
    for place, form in enumerate(forms):
        crossed = sum(products[place * per_form : (place + 1) * per_form])
        own = _inner(shares[0], form.apply_modulo(shares[-1], modulus))
        if len(shares) == 1:
            crossed *= 2
            own -= _inner(shares[0], form.kernel.diagonal.tolist())
        totals.append((own + crossed) % modulus)
    return totals


def _inner(first: Sequence[int], second: Sequence[int]) -> int:
    return sum(a * b for a, b in zip(first, second, strict=True))
