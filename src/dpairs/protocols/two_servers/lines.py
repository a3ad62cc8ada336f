"""What a second round misses of people who follow a line within the cells of two columns.

Let F be the distribution of a cell's people within the cell, U the even one. The derivative at U sees all of
a cell of mass p but p^2 (tau(F) - 2 E s(F, U)), with the sign kernel s. Where F has even margins this is
p^2 (tau - 2/3 rho) with Spearman's rho, at most p^2 / 3 (Daniels, "Rank correlation and population models",
JRSS B 1950), and nearly nothing unless people follow a line. Cells that are four times as wide show it, at
the pilot's own cells: at least four times of it, since a line passes through 4 of their 16 cells, and 256
times where the density is smooth.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...data.grids import Grid
from .coarse import coarsened
from .standing_out import Vector

Matrix = Vector


def along_lines(grid: Grid, kernel: Matrix, masses: Vector, imagined: Sequence[Vector]) -> float:
    """A quarter of what blocks of four by four cells miss, if people are taken to lie evenly in them.

    What noise adds is taken off, as the same noise adds it again.
    """
    wider, run = coarsened(grid)
    widest, again = coarsened(wider)
    place = again[run]
    held = np.bincount(place, minlength=widest.cells)
    within = kernel * (place[:, None] == place[None, :])

    def missed(people: Vector) -> Vector:
        apart = people - (np.bincount(place, people, widest.cells) / held)[place]
        return np.bincount(place, apart * (within @ apart), widest.cells).astype(np.float64)

    usual = np.mean([missed(each) for each in imagined], axis=0)
    return float(np.abs(2 * missed(masses) - usual).sum()) / 4
