"""What a pilot's cells hide of two columns that are compared: how records lie within cells.

Let F be the distribution of a cell's records within the cell, U the even one. For two cells of one column or
row the derivative at U sees all but P(F > G) - P(F < G) - 2 (mean F - mean G), which is nothing for halves of
a cell. A cell by itself adds p^2 (tau(F) - 2 E s(F, U)) for its mass p, with the sign kernel s:

- Where F has even margins this is p^2 (tau - 2/3 rho) with Spearman's rho, at most p^2 / 3 (Daniels, "Rank
  correlation and population models", JRSS B 1950), and nearly nothing unless records follow a line within the
  cell. Cells that are four times as wide show it, at the pilot's own cells: at least four times of it, since
  a line passes through 4 of their 16 cells, and 256 times where the density is smooth.
- If a share s of the records lie in one place and the others evenly, it is -2 p^2 s^2 E s(place, U): at most
  2 (p s)^2. So much is allowed for those that are beyond what neighbouring cells suggest, in both columns;
  where they are in one alone, E s is 0.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from ..two_servers.sampling import coarsened
from ..two_servers.standing_out import CLEAR, cut_places, widths

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def in_blocks(grid: Grid, kernel: Matrix, masses: Vector) -> Vector:
    """What each block of four by four cells misses, if records are taken to lie evenly in it."""
    wider, run = coarsened(grid)
    widest, again = coarsened(wider)
    place = again[run]
    held = np.bincount(place, minlength=widest.cells)
    apart = masses - (np.bincount(place, masses, widest.cells) / held)[place]
    within = apart * (kernel * (place[:, None] == place[None, :]) @ apart)
    return np.bincount(place, within, widest.cells).astype(np.float64)


def along_lines(grid: Grid, kernel: Matrix, masses: Vector, imagined: list[Vector]) -> float:
    """A quarter of what blocks miss; what noise adds is taken off, as the same noise adds it again."""
    seen = in_blocks(grid, kernel, masses)
    again = np.mean([in_blocks(grid, kernel, each) for each in imagined], axis=0)
    return float(np.abs(2 * seen - again).sum()) / 4


def in_one_place(grid: Grid, kernel: Matrix, masses: Vector, deviation: float) -> float:
    """The most that records in one place add; ``deviation`` is that of a mass.

    In one place are at most those of a cell, and those that are `beyond` in its row and in its column.
    """
    shape = [axis.bins for axis in grid.axes]
    table = np.maximum(masses, 0.0).reshape(shape)
    together = table
    for place in cut_places(grid):
        others = tuple(at for at in range(len(shape)) if at != place)
        along, noise = table.sum(axis=others), deviation * float(np.sqrt(masses.size / shape[place]))
        out = beyond(along, widths(grid.axes[place]), noise)
        together = np.minimum(together, np.expand_dims(out, others))
    return float(2 * np.abs(kernel).max() * (together**2).sum())


def beyond(masses: Vector, width: Vector, deviation: float) -> Vector:
    """What each cell holds beyond a density that goes on as beside it, up to noise.

    A log-concave density rises from one cell to the next by no larger a factor than before. So from two cells
    of densities f, d on one side it is at most d (d / f)^k in the k-th cell after them, or d where it falls.
    Two cells side by side may share a place on the edge between them, and are looked at together, too.
    """
    found = np.zeros(masses.size)
    dense, doubt = masses / width, CLEAR * deviation / width
    for together in (1, 2):
        for first in range(masses.size - together + 1):
            cells = np.arange(first, first + together)
            sides = [(first - 1, first - 2), (first + together, first + together + 1)]
            known = [(near, far) for near, far in sides if 0 <= near < masses.size and 0 <= far < masses.size]
            if not known:
                continue
            allowed = 0.0
            for near, far in known:
                most, least = float(dense[near] + doubt[near]), float(dense[far] - doubt[far])
                rise = max(most / least, 1.0) if least > 0 else np.inf
                allowed = max(allowed, sum(most * rise**step for step in range(1, together + 1)))
            held = float(masses[cells].sum()) + CLEAR * deviation * math.sqrt(together)
            over = held - allowed * float(width[cells].mean())
            if over > 2 * CLEAR * deviation * math.sqrt(together):
                found[cells] = np.maximum(found[cells], over)
    return np.minimum(found, np.maximum(masses, 0.0))


def tied_in_cells(grid: Grid, pair: tuple[Vector, Vector], deviations: tuple[float, float]) -> float:
    """How far counts alone may be off where two classes are compared on a line, by records in one place.

    Counts take pairs of one cell for even. Where both classes lie evenly they are; of masses p and q of which
    shares s and t are in one place the others may all go one way: p q (1 - (1 - s)(1 - t)) / 2.
    """
    (place,) = cut_places(grid)
    width = widths(grid.axes[place])
    first, second = pair
    shares = [
        np.divide(beyond(each, width, noise), each, out=np.zeros_like(each), where=each > 0)
        for each, noise in zip(pair, deviations, strict=True)
    ]
    return float((first * second * (1 - (1 - shares[0]) * (1 - shares[1]))).sum()) / 2


def cut_twice(grid: Grid) -> bool:
    """Whether two columns are cut into cells."""
    return len(cut_places(grid)) == 2
