"""A pilot of two columns of numbers: each column by itself, and how they depend as one number.

Which pilot is better, this one or boxes as they are measured, imagined rounds say: what a derivative misses
is the form e'Ae of a pilot's errors e. Where few boxes hold nearly everybody, a column's nodes have the noise
of all other boxes in them, and boxes alone are better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from ..tree.hierarchy import Solution
from ..tree.leaves import Leaves
from ..tree.oracle import Oracle
from .pilot import REPLICATES, Masses, Pilot, PublicNoise
from .pilot_cells import PLANE_CELLS, heaviest_halved
from .pilot_column_atoms import AtomColumn, rooms
from .pilot_copula import Copula, form
from .pilot_crowds import crowded_pairs
from .pilot_descent import Descent, Explored, imagined
from .pilot_missed import missed_share
from .winsorize import SIGNIFICANT

Vector = NDArray[np.float64]
Table = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SmoothPlane:
    """Shares of cells between ``edges``, the same from imagined rounds, and how far the copula may be off."""

    edges: list[Vector]
    shares: Table
    imagined: list[Table]
    deviation: float
    """The standard deviation of the form of the measured dependence less the copula's."""
    better: bool
    """Whether that form is no more than noise, and boxes as they are measured would miss more."""
    inside: float
    """What pairs within one cell add to tau at most: nothing if they are ties."""

    @classmethod
    def of(cls, explored: Explored, columns: Sequence[Explored], noise: PublicNoise) -> SmoothPlane:
        descents = [column.descend() for column in columns]
        most = math.isqrt(PLANE_CELLS)
        edges = [
            heaviest_halved({"": descent.parts}, 0, bits, column.ends[0], most)
            for column, descent, bits in zip(columns, descents, explored.leaves.bits, strict=True)
        ]

        def seen(descents: Sequence[Descent], solution: Solution) -> tuple[list[Vector], Table]:
            """The shares of both columns' bins, and of cells as they were measured."""
            own = [
                descent.parts.on([cuts], column.ends)
                for descent, cuts, column in zip(descents, edges, columns, strict=True)
            ]
            return own, explored.terminal(solution).like(edges, explored.ends, own)

        def smooth(first: Vector, second: Vector, measured: Table) -> tuple[Copula, float, Table, float]:
            copula = Copula(first, second)
            correlation = copula.correlation(measured)
            shares = copula.shares(correlation)
            return copula, correlation, shares, copula.missed(measured, shares)

        (first, second), measured = seen(descents, explored.solution)
        copula, correlation, shares, left = smooth(first, second, measured)
        known = [(column, descent.masses) for column, descent in zip(columns, descents, strict=True)]
        known.append((explored, _boxes(explored, edges, shares)))
        *solutions, plane = imagined(known, noise, REPLICATES)
        again = [column.read(each) for column, each in zip(columns, solutions, strict=True)]
        own, tables = seen(again, plane)
        rounds = [smooth(*each) for each in zip(*own, tables, strict=True)]
        smoothed, lefts = np.array([each[2] for each in rounds]), [each[3] for each in rounds]
        boxes = explored.read(plane).parts.on(edges, explored.ends).reshape(smoothed.shape)
        forms = [
            (form(mine - shares), form(theirs - shares)) for mine, theirs in zip(smoothed, boxes, strict=True)
        ]
        deviation = float(np.std(lefts, ddof=1))
        fits = abs(left - float(np.mean(lefts))) <= SIGNIFICANT * deviation
        mine, theirs = np.sqrt(np.square(forms).mean(axis=0))
        better = bool(fits and mine < theirs)
        return cls(edges, shares, list(smoothed), deviation, better, _inside(copula, correlation, shares))

    def pilot(
        self,
        stratum: str,
        shares: Sequence[Masses],
        cells: tuple[Grid, Grid],
        oracles: Sequence[Oracle],
        leaves: Leaves,
        columns: Sequence[AtomColumn],
    ) -> Pilot:
        """The pilot on these cells, as devices have them and with atoms: its shares, and imagined ones."""
        masses, *repeated = shares
        given, seen = cells
        return Pilot(
            seen,
            masses,
            repeated,
            float((self.shares**2).sum()),
            given=given,
            inside=self.inside,
            one_part=np.diag(masses[stratum] ** 2),
            crowded=crowded_pairs(seen, self.edges, masses[stratum], [each[stratum] for each in repeated]),
            deviation=self.deviation,
            missed=missed_share([(oracles, self.shares)], leaves, self.edges)[0],
            room=rooms(columns, seen, self.edges, masses),
        )


def _boxes(explored: Explored, edges: Sequence[Vector], shares: Table) -> list[Vector]:
    """The shares of the boxes of every level, if cells are filled evenly."""
    levels = []
    for boxes in explored.boxes:
        sides = []
        for start, width, cuts, end in zip(boxes.starts, boxes.widths, edges, explored.ends, strict=True):
            low, high = start[:, None], np.minimum(start + width, end)[:, None]
            inner = np.clip(np.minimum(high, cuts[None, 1:]) - np.maximum(low, cuts[None, :-1]), 0.0, None)
            sides.append(inner / np.diff(cuts))
        levels.append(((sides[0] @ shares) * sides[1]).sum(axis=1))
    return levels


def _inside(copula: Copula, correlation: float, shares: Table) -> float:
    """What pairs within one cell add, which count as ties, if they depend as the cell's quarters do."""
    quarters = Copula(np.repeat(copula.first / 2, 2), np.repeat(copula.second / 2, 2)).shares(correlation)
    rising = float((quarters[::2, ::2] * quarters[1::2, 1::2]).sum())
    falling = float((quarters[::2, 1::2] * quarters[1::2, ::2]).sum())
    if rising + falling <= 0:
        return 0.0
    ratio = (rising - falling) / (rising + falling)
    return float((shares**2).sum()) * ratio
