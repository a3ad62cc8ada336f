"""Values that many people share, found in each column of a plane by itself.

A box of the plane holds few people, and none less than nobody: noise moves people from a value to beside it.
All answers about one column together show a node whose people stay in one half, halving after halving. That
is taken for one value, an atom. The plane's people are then moved along that column so that it holds what was
measured, everybody keeping the rank that they have in it: how the columns depend stays as boxes show it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers, Interval
from ...data.grids import Grid
from ..tree.hierarchy import Solution
from .pilot import REPLICATES, Masses, PublicNoise
from .pilot_cells import AROUND, named_atoms
from .pilot_crowds import atoms_of
from .pilot_descent import Descent, Explored, imagined
from .pilot_ties import Room
from .winsorize import SIGNIFICANT

Vector = NDArray[np.float64]
HALVINGS = AROUND.bit_length() - 1
"""As many as people must stay in one half of."""


@dataclass(frozen=True)
class Atom:
    """A node of a column's own tree: the first leaf, the number of leaves, and the depth."""

    start: float
    width: float
    depth: int

    @property
    def stop(self) -> float:
        return self.start + self.width


@dataclass(frozen=True, eq=False)
class AtomColumn:
    """A column of a plane by itself: its explored tree, the same in imagined rounds, and its atoms."""

    explored: Explored
    descent: Descent
    repeated: Solution
    given: tuple[Atom, ...] | None = None
    """These atoms and no others."""

    @cached_property
    def room(self) -> Room | None:
        """How many of its pairs may be ties; listed values show that themselves."""
        (domain,) = self.explored.leaves.domains
        if not isinstance(domain, (Interval, Integers)):
            return None
        return Room.of(self.explored, self.descent.masses, self.repeated)

    @cached_property
    def errors(self) -> list[Vector]:
        """The standard errors of all nodes."""
        return [each.std(axis=0, ddof=1) for each in self.repeated.estimates]

    @cached_property
    def atoms(self) -> list[Atom]:
        """The narrowest nodes that surely hold nearly all people of a node `AROUND` times as wide.

        Nearly all: all but as many as may lie beside an atom on both sides, one in `AROUND` of its density.
        No atom are nodes whose own halves both surely hold people, and one that holds everybody.
        """
        if self.given is not None:
            return list(self.given)
        column, shares = self.explored, self.explored.solution.estimates
        alive, atoms = list(self.descent.reached()), list[Atom]()
        whole = [depth for depth, each in enumerate(column.levels) if each.nodes.size == 2**depth]
        for depth in range(whole[-1], HALVINGS, -1):
            here, noise = shares[depth], SIGNIFICANT * self.errors[depth]
            around = np.repeat(shares[depth - HALVINGS], AROUND)
            sure = alive[depth] & (here - noise > (1 - 2 / AROUND) * around) & (1 - here > noise)
            beside = np.concatenate([[0.0], here, [0.0]])
            sure &= np.maximum(beside[:-2], beside[2:]) < here / AROUND
            if depth < whole[-1]:
                below = (shares[depth + 1] - SIGNIFICANT * self.errors[depth + 1]).reshape(-1, 2)
                sure &= below.min(axis=1) <= 0
            width = 2.0 ** (sum(column.leaves.bits) - depth)
            for start in (np.flatnonzero(sure) * width).tolist():
                if not any(start < atom.stop and atom.start < start + width for atom in atoms):
                    atoms.append(Atom(start, width, depth))
        return atoms

    @property
    def tied(self) -> float:
        """The share of pairs in one atom."""
        pairs = 0.0
        for atom in self.atoms:
            pairs += float(self.descent.masses[atom.depth][int(atom.start / atom.width)]) ** 2
        return pairs

    def cut(self, cuts: Vector) -> Vector:
        """These cuts with a bin for each atom."""
        kept = [cut for cut in cuts.tolist() if not any(atom.start < cut < atom.stop for atom in self.atoms)]
        return np.unique([*kept, *(end for atom in self.atoms for end in (atom.start, atom.stop))])

    def named(self, cuts: Vector) -> NDArray[np.bool_]:
        """Which bins between the cuts are atoms."""
        return np.isin(cuts[:-1], [atom.start for atom in self.atoms])

    def shares(self, cuts: Vector) -> Vector:
        """The shares of the bins between the cuts, here and in every imagined round, a row each."""
        read = self.descent, self.explored.read(self.repeated)
        return np.vstack([each.parts.on([cuts], self.explored.ends) for each in read])


def imagined_columns(alone: Sequence[Explored], noise: PublicNoise) -> list[AtomColumn]:
    """The columns of a plane by themselves (`margins`), with imagined rounds."""
    known = [(column, column.descend()) for column in alone]
    again = imagined([(column, descent.masses) for column, descent in known], noise, REPLICATES)
    return [AtomColumn(*each, repeated) for each, repeated in zip(known, again, strict=True)]


def rooms(
    columns: Sequence[AtomColumn], grid: Grid, edges: Sequence[Vector], masses: Masses
) -> list[Room | None]:
    """Of each column how many pairs may be ties, and which count as ties and may be none."""
    if not columns:
        return []
    (shares,) = masses.values()
    table = shares.reshape([axis.bins for axis in grid.axes])
    room: list[Room | None] = []
    for place, (column, atoms, cuts) in enumerate(zip(columns, atoms_of(grid), edges, strict=True)):
        bound, shares = column.room, table.sum(axis=1 - place)
        if bound is not None:
            # Pairs in one atom count as ties already.
            known = float((shares[atoms] ** 3).sum())
            cubes, most = (max(number - known, 0.0) for number in (bound.cubes, bound.most_cubes))
            wide = float((shares[atoms & (np.diff(cuts) > 1)] ** 2).sum())
            bound = replace(bound, cubes=cubes, most_cubes=most, doubted=wide)
        room.append(bound)
    return room


def seen_alone(columns: Sequence[AtomColumn], edges: Sequence[Vector], shares: Vector) -> list[AtomColumn]:
    """The columns, some without atoms: those that stay hold as many pairs as lie in one node further down.

    No more than a standard error above that: a skewed column has nearly everybody in one node as well.

    Where boxes show atoms of one leaf that hold more pairs, these are better.
    """
    table = shares.reshape([cuts.size - 1 for cuts in edges])
    chosen = []
    for place, (column, cuts) in enumerate(zip(columns, edges, strict=True)):
        own = table.sum(axis=1 - place)
        pairs = float((own[named_atoms(cuts, [own])] ** 2).sum())
        room = column.room
        fits = room is not None and pairs < column.tied < room.pairs + room.error
        chosen.append(column if fits else replace(column, given=()))
    return chosen


def with_atoms(columns: Sequence[AtomColumn], edges: Sequence[Vector], tables: Vector) -> Vector:
    """Shares of the plane's cells, and of imagined rounds (a row each), with the atoms of each column."""
    shape = [cuts.size - 1 for cuts in edges]
    for place, (column, cuts) in enumerate(zip(columns, edges, strict=True)):
        if not column.atoms:
            continue
        rows = [np.moveaxis(each.reshape(shape), place, 0) for each in tables]
        moved = [rearranged(each, own) for each, own in zip(rows, column.shares(cuts), strict=True)]
        tables = np.array([np.moveaxis(each, 0, place).reshape(-1) for each in moved])
    return tables


def rearranged(table: NDArray[np.float64], wanted: Vector) -> NDArray[np.float64]:
    """The shares of cells with people moved along the rows so that each has the wanted share, in their order.

    >>> rearranged(np.array([[0.1, 0.4], [0.3, 0.2]]), np.array([0.75, 0.25])).round(3).tolist()
    [[0.25, 0.5], [0.15, 0.1]]
    """
    rows = table.sum(axis=1)
    given, taken = (np.concatenate([[0.0], np.cumsum(each)]) for each in (rows, wanted / wanted.sum()))
    given[-1] = taken[-1] = 1.0
    common = np.minimum(given[1:, None], taken[1:]) - np.maximum(given[:-1, None], taken[:-1])
    moved = np.clip(common, 0.0, None)
    total = moved.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(moved, total, out=np.zeros_like(moved), where=total > 0).T @ table)
