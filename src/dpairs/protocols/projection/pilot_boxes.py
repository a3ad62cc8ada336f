"""The boxes of a tree's explored nodes: no estimate changes them, so imagined rounds share them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..tree.hierarchy import Level
from ..tree.leaves import Leaves
from .pilot_cells import column_ends

Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Boxes:
    """Of the nodes of one level, which are the halves of boxes of the level above, two by two."""

    starts: Vector
    """The first leaf, a row for each column."""
    widths: Vector
    """The number of leaves in each column."""
    there: NDArray[np.bool_]
    """Whether a box begins within the domain."""
    even: Vector
    """Of every two halves, the first one's part of the values."""
    halved: NDArray[np.bool_]
    """Whether both halves hold values."""
    slabs: NDArray[np.int64]
    """Which boxes of two halves lie alike in the column that is halved: numbers from 0 on, without gaps."""

    @classmethod
    def of(cls, leaves: Leaves, number: int, level: Level) -> Boxes:
        boxes = leaves.boxes(number, level.nodes)
        widths = [2.0 ** (bits - fixed) for bits, (fixed, _) in zip(leaves.bits, boxes, strict=True)]
        starts = np.array([value * wide for wide, (_, value) in zip(widths, boxes, strict=True)])
        there = np.logical_and.reduce(starts < np.array(column_ends(leaves))[:, None], axis=0)
        if number == 0:
            none = np.empty(0)
            return cls(starts, np.array(widths), there, none, none.astype(bool), none.astype(np.int64))
        extent = leaves.extents(number, level.nodes).reshape(-1, 2)
        total = extent.sum(axis=1)
        even = np.divide(extent[:, 0], total, out=np.full(total.size, 0.5), where=total > 0)
        halved = (extent[:, 0] > 0) & (extent[:, 1] > 0)
        _, slabs = np.unique(boxes[leaves.turns[number - 1]][1][::2] >> np.uint64(1), return_inverse=True)
        return cls(starts, np.array(widths), there, even, halved, slabs)
