"""A tree's errors, half by half: how far each node's two halves are told apart, and what that does.

A tree knows how many people there are in all; each node then adds one number, by how much its first half
exceeds its second. Least squares over all levels gives these numbers with independent errors, so the error of
the shares is the sum of these errors times fixed contrasts, Haar's wavelets of the tree. That makes
everything a plan needs a sum over nodes. Nodes with too few people are not split by a pilot, and their
number, which the shape knows, is missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers, Interval
from ...data.grids import CutAxis, Grid
from .leaves import Leaves, bits_of

CUT_BITS = 24
"""Levels down to which a value that many people share is followed."""
Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HaarBasis:
    """The nodes of a tree over cells: a column of ``contrasts`` for each, half of each half's mean."""

    contrasts: Matrix
    inside: Matrix
    """Which cells lie in each node."""
    level: NDArray[np.int64]
    above: NDArray[np.int64]
    """The number of the node that a node is half of; its own for the root."""

    @classmethod
    def of(cls, grid: Grid) -> HaarBasis:
        """Of a tree that halves the columns in turn, down to the cells."""
        order, depth, widths = _leaves(grid)
        contrasts, inside, levels, above = [], [], [], []
        # The number of the last node that each cell lies in.
        within = np.zeros(grid.cells, dtype=np.int64)
        for level in range(depth):
            nodes, cells = np.unique(order >> (depth - level), return_counts=True)
            for node in nodes[cells > 1].tolist():
                here = order >> (depth - level) == node
                first = here & (order >> (depth - level - 1) == 2 * node)
                second = here & ~first
                if not (first.any() and second.any()):
                    continue
                sides = [half * widths / (half @ widths) for half in (first, second)]
                contrasts.append((sides[0] - sides[1]) / 2)
                inside.append(here.astype(np.float64))
                levels.append(level)
                above.append(int(within[here][0]))
                within[here] = len(levels) - 1
        return cls(np.array(contrasts).T, np.array(inside).T, np.array(levels), np.array(above))


def _leaves(grid: Grid) -> tuple[NDArray[np.int64], int, Vector]:
    """The first leaf of each cell, how many levels tell cells apart, and how wide cells are."""
    codes, bits, widths = [], [], []
    for axis in grid.axes:
        starts, depth = np.arange(axis.bins), bits_of(axis.bins)
        wide = np.ones(axis.bins)
        if isinstance(axis, CutAxis):
            low, high, _ = axis.geometry
            if isinstance(axis.domain, Interval):
                extent, depth = axis.domain.high - axis.domain.low, CUT_BITS
                starts = np.round((low - axis.domain.low) / extent * 2.0**CUT_BITS).astype(np.int64)
                wide = (high - low) / extent
            elif isinstance(axis.domain, Integers):
                depth = min(bits_of(axis.domain.size), CUT_BITS)
                spare = bits_of(axis.domain.size) - depth
                starts = np.array([int(edge) >> spare for edge in axis.edges[:-1]])
                wide = (high - low + 1) / float(axis.domain.size)
        codes.append(starts)
        bits.append(depth)
        widths.append(wide)
    places = np.indices([axis.bins for axis in grid.axes]).reshape(len(bits), -1)
    leaves = Leaves(tuple(axis.domain for axis in grid.axes), tuple(bits))
    order = leaves.interleave([each[at].astype(np.uint64) for each, at in zip(codes, places, strict=True)])
    area = np.prod([each[at] for each, at in zip(widths, places, strict=True)], axis=0)
    return order.astype(np.int64), sum(bits), area


def apart_of(haar: HaarBasis, masses: Vector) -> Vector:
    """By how much the first half of each node exceeds the second."""
    sums: Vector = 2 * (masses @ (np.sign(haar.contrasts) / 2))
    return sums


def remainder_square(crossed: Matrix, errors: Mapping[str, tuple[Vector, Vector]]) -> float:
    """The mean square of e'Ae, or of e'Be of two strata; ``crossed`` is the kernel between contrasts.

    What noise alone adds to the mean is left out: a second round takes it off.
    """
    (mean, variance), *others = errors.values()
    if others:
        other, its = others[0]
        missed = float(mean @ crossed @ other) ** 2
        along = float(variance @ (crossed @ other) ** 2 + its @ (mean @ crossed) ** 2)
        return missed + along + float(variance @ crossed**2 @ its)
    missed = float(mean @ crossed @ mean) ** 2
    return missed + 4 * float(variance @ (crossed @ mean) ** 2) + 2 * float(variance @ crossed**2 @ variance)
