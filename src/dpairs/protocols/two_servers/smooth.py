"""What bins of two columns hide of dependence that is smooth across coarse cells.

If the mean sign in the other column of two people rises with their distance, a cell of mass p and width w
hides p^2 w of it, and its bins of width v hide p^2 w (v / w)^2. Where that is made up for, (v / w)^4 is left
of what bends within the cell. So B, what lies between the cells' value and the released one, shrinks by the
mean of that over p^2 w.

Narrow cells hide little beside their noise, and tell nothing of bins as wide as they are. So neighbours are
merged while B grows as p^2 w does, give or take noise: dependence is smooth across such cells.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from ...statistics.base import CLEAR
from .coarse import LEAST_PLANE, coarsened, finer
from .standing_out import cut_places, hiding_places, widths

if TYPE_CHECKING:
    from .sampling import Rough

TINY = 1e-9


def bent(rough: Rough, released: float) -> float:
    """That share of B, on the widest cells across which dependence is smooth."""
    here, off = rough, released - rough.value
    while min(here.grid.axes[place].bins for place in cut_places(here.grid)) >= 2 * LEAST_PLANE - 1:
        wider = _merged(here)
        further = released - wider.value
        grown = max(_together(wider, place) / _together(here, place) for place in cut_places(here.grid))
        if abs(off) * grown > abs(further) + CLEAR * math.sqrt(grown**2 * here.noise + wider.noise):
            break
        here, off = wider, further
    return here.beyond(off) * _shrinking(here)


def _merged(rough: Rough) -> Rough:
    grid, place = coarsened(rough.grid)
    counts = {
        name: np.bincount(place, each, grid.cells).astype(np.int64) for name, each in rough.counts.items()
    }
    return replace(rough, grid=grid, counts=counts, variance=rough.variance * rough.grid.cells / grid.cells)


def _together(rough: Rough, place: int) -> float:
    """The sum of p^2 w along an axis."""
    (masses,), shape = rough.masses.values(), [axis.bins for axis in rough.grid.axes]
    along = masses.reshape(shape).sum(axis=1 - place)
    return float(along**2 @ widths(rough.grid.axes[place]))


def _shrinking(rough: Rough) -> float:
    """The mean of (v / w)^4 over p^2 w; of (v / w)^2 where what bins hide is not made up for."""
    (masses,), shape, most = rough.masses.values(), [axis.bins for axis in rough.grid.axes], 0.0
    for place in hiding_places(rough.bins):
        axis, bins = rough.grid.axes[place], rough.bins.axes[place]
        made_up = rough.near and rough.statistic.makes_up(bins)
        along = masses.reshape(shape).sum(axis=1 - place)
        hidden = float(along**2 * widths(axis) @ finer(axis, bins, 4.0 if made_up else 2.0))
        # B lacks what bins hide, too, where that is not made up for.
        whole = _together(rough, place) - (0.0 if made_up else hidden)
        most = max(most, hidden / max(whole, TINY * hidden))
    return most
