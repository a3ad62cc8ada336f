"""Where two columns go together more narrowly than coarse cells are wide: an X, a chessboard, a curve.

Where a density is smooth across cells, those beside a cell tell how people lie in it. A cell that holds more
than both cells beside it along an axis, beyond noise, may have its people in any order there: the share that
is narrow. Pairs of such people in one bin of the axis may all go the same way; and coarse cells do not see
how much these people's comparisons with each other differ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from ...data.grids import Grid
from .standing_out import Vector, hiding_places, widths

FALSELY = 0.01
"""The chance at most that noise makes any cell of a grid look narrow."""


def surely(cells: int) -> float:
    """Standard deviations that none of so many noises is beyond, but for that chance.

    The sum of two Laplace numbers of scale s has a standard deviation of 2 s and is above t s with a chance
    of (2 + t) e^-t / 4; normal noise has lighter tails.
    """
    scales, chance = 1.0, 4 * FALSELY / cells
    for _ in range(64):
        scales = math.log((2 + scales) / chance)
    return scales / 2


def narrow(grid: Grid, masses: Vector, deviation: float) -> dict[int, Vector]:
    """The share of every cell that is narrow along each axis whose bins hold several values."""
    shape = [axis.bins for axis in grid.axes]
    doubt, found = surely(masses.size) * deviation, {}
    for place in hiding_places(grid):
        table = np.moveaxis(masses.reshape(shape), place, 0)
        width = widths(grid.axes[place]).reshape(-1, *[1] * (table.ndim - 1))
        if len(table) == 1:
            found[place] = np.ones(shape)
            continue
        dense, scale = table / width, np.ones_like(table) / width
        beside, other = np.full_like(dense, -math.inf), np.ones_like(dense)
        for here, there in ((slice(1, None), slice(None, -1)), (slice(None, -1), slice(1, None))):
            denser = dense[there] > beside[here]
            beside[here] = np.where(denser, dense[there], beside[here])
            other[here] = np.where(denser, scale[there], other[here])
        beyond = table - width * beside
        clear = beyond > doubt * np.sqrt(1 + (width * other) ** 2)
        share = np.divide(beyond, table, out=np.zeros_like(table), where=clear & (table > 0))
        found[place] = np.moveaxis(np.clip(share, 0.0, 1.0), 0, place)
    return found


def unordered(grid: Grid, masses: Vector, shares: Mapping[int, Vector], finer: Mapping[int, float]) -> float:
    """The pairs of narrow people that share a bin of an axis, if people lie evenly in a cell's bins.

    ``finer`` has a bin's share of the narrowest cell of each axis.
    """
    total = 0.0
    for place, share in shares.items():
        others = tuple(at for at in range(share.ndim) if at != place)
        along = (masses.reshape(share.shape) * share).sum(axis=others)
        width = widths(grid.axes[place])
        near = np.minimum(finer.get(place, 0.0) * width.min() / width, 1.0)
        total += float(along**2 @ near)
    return total


def turning(masses: Vector, shares: Mapping[int, Vector]) -> float:
    """The pairs within narrow cells, or two of them side by side: those of lines that turn within a few."""
    if not shares:
        return 0.0
    share = _either(shares)
    people = masses.reshape(share.shape) * share
    beside = sum(float((people[1:] * people[:-1]).sum()) for people in (people, people.T))
    return float((people**2).sum()) + 2 * beside


def unseen(masses: Vector, shares: Mapping[int, Vector], moved: float) -> float:
    """The variance at most of how narrow people's pairs within a cell move their mean signs.

    Those of a cell of mass p move them by d in -p..p, whose mean over all people is ``moved``: so d varies by
    at most the mean of p^2 less the square of that.
    """
    if not shares:
        return 0.0
    share = _either(shares).reshape(-1)
    return max(float(masses**3 @ share**2) - moved**2, 0.0)


def _either(shares: Mapping[int, Vector]) -> Vector:
    """The share of every cell that is narrow along whichever axis has more."""
    return np.asarray(np.max(np.array(list(shares.values())), axis=0))
