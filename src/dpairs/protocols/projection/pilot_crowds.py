"""Crowds of the plane: bins that many people share, of whom a pilot cannot tell whether they share a value.

An atom is a bin that holds most of the people around it. Its pairs count as ties. But a domain that is far
too wide has everybody in one leaf, or in a few beside each other. Such bins may hold any values. Then how
their people depend was not seen: they may have nothing to do with each other, or depend as the others do.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from .crowded import Crowded
from .pilot import Masses
from .pilot_atoms import DeepLevel, Told
from .pilot_cells import AROUND, AtomAxis
from .winsorize import SIGNIFICANT

Vector = NDArray[np.float64]
BESIDE = AROUND**2
"""For comparisons of one column. A leaf of people whose density falls so much from leaf to leaf holds all but
one in so many; with fewer beside it, a first round does not tell them from an atom and its tail."""


def crowds(
    cuts: Vector,
    atoms: NDArray[np.bool_],
    shares: Vector,
    repeated: Vector,
    around: float = AROUND,
    least: Vector | float = 0.0,
) -> NDArray[np.bool_]:
    """Of one column, atoms that hold everybody, or that lie beside people; and these.

    People are beside an atom if the next bin has more than ``least``, and one in ``around`` of its density.
    An atom holds everybody if what is left is noise, by the same shares from imagined rounds (a row each),
    which also show how many people noise takes from it.
    """
    density = shares / np.diff(cuts)
    beside = np.concatenate([[0.0], np.where(shares > least, density, 0.0), [0.0]])
    lower, upper = (atoms & (around * each > density) for each in (beside[:-2], beside[2:]))
    everybody = atoms & (1 - _whole(shares, repeated) <= noise(repeated))
    crowd: NDArray[np.bool_] = lower | upper | everybody
    crowd[:-1] |= lower[1:]
    crowd[1:] |= upper[:-1]
    return crowd


def _whole(shares: Vector, repeated: Vector) -> Vector:
    """With the people whom noise took: as many as it takes from imagined rounds."""
    return np.asarray(2 * shares - repeated.mean(axis=0))


def noise(repeated: Vector) -> Vector:
    """What a share may be off by noise, by imagined rounds."""
    return np.asarray(SIGNIFICANT * repeated.std(axis=0, ddof=1))


def atoms_of(grid: Grid) -> list[NDArray[np.bool_]]:
    """Which bins of each column are atoms."""
    return [
        np.array(axis.atoms) if isinstance(axis, AtomAxis) else np.zeros(axis.bins, dtype=bool)
        for axis in grid.axes
    ]


def told_leaves(
    deep: DeepLevel | None,
    place: int,
    edges: list[Vector],
    atoms: list[NDArray[np.bool_]],
    masses: Masses,
    rounds: Sequence[Masses],
) -> tuple[Told | None, Masses, list[Masses]]:
    """What is known of leaves that many people share in the column at this place, cut around values.

    A leaf that surely holds more people of a stratum than both leaves beside it is no part of a smooth
    column. Its people have one value, which a deep level may show, or lie anyhow.
    """
    shape, cuts = [each.size - 1 for each in edges], edges[place]
    single = np.zeros(shape[place], dtype=bool)
    for stratum in masses:
        columns = _marginal(stratum, place, shape, masses, rounds)
        padded = np.concatenate([[0.0], columns[0] / np.diff(cuts), [0.0]])
        single |= columns[0] - (padded[:-2] + padded[2:]) > noise(columns[1:])
    single &= (np.diff(cuts) == 1) & ~atoms[place]
    if deep is None:
        return Told.without_atoms(single, masses) if single.any() else None, masses, list(rounds)
    told, cut = deep.tell(place, cuts, atoms[place], single, shape, masses)
    edges[place], atoms[place] = cut.cuts, cut.marks(atoms[place]) | told.atoms
    return told, cut.masses(masses), [cut.masses(each) for each in rounds]


def _marginal(
    stratum: str, place: int, shape: Sequence[int], masses: Masses, imagined: Sequence[Masses]
) -> NDArray[np.float64]:
    """The shares of one column's bins, and of imagined rounds, a row each."""
    rounds = np.array([masses[stratum], *(each[stratum] for each in imagined)]).reshape(-1, *shape)
    columns: NDArray[np.float64] = np.moveaxis(rounds, 1 + place, 1).reshape(len(rounds), shape[place], -1)
    return np.asarray(columns.sum(axis=2))


def crowded_people(
    grid: Grid, place: int, cuts: Vector, masses: Masses, imagined: Sequence[Masses], told: Told | None = None
) -> Masses | None:
    """The people of every cell in a crowd of the column at this place, if any stratum has one.

    With those whom noise took from it. Of an atom that a deep level shows, those who may not have its value:
    one standard error more than were measured there are missing.
    """
    shape = [axis.bins for axis in grid.axes]
    atoms, crowd, people = atoms_of(grid)[place], np.zeros(shape[place], dtype=bool), {}
    if told is not None:
        atoms, crowd = atoms & ~told.atoms, told.crowds.copy()
    for stratum in masses:
        columns = _marginal(stratum, place, shape, masses, imagined)
        shares, repeated = columns[0], columns[1:]
        least = noise(repeated)
        crowd |= crowds(cuts, atoms, shares, repeated, BESIDE, least)
        whole = np.clip(_whole(shares, repeated), shares, 1.0)
        whole[1 - whole <= least] = 1.0
        people[stratum] = whole / np.where(shares > 0, shares, 1.0)
    if not crowd.any() and (told is None or not told.atoms.any()):
        return None
    every = np.indices(shape)[place].reshape(-1)
    anyhow = {}
    for stratum, factor in people.items():
        whole = factor[every] * masses[stratum]
        anyhow[stratum] = crowd[every] * whole
        if told is not None:
            elsewhere = np.maximum(whole - told.held[stratum], 0.0) + told.errors[stratum]
            anyhow[stratum] += (told.atoms & ~crowd)[every] * np.minimum(elsewhere, whole)
    return anyhow


def crowded_pairs(grid: Grid, edges: Sequence[Vector], shares: Vector, imagined: Sequence[Vector]) -> Crowded:
    shape = [axis.bins for axis in grid.axes]
    table, repeated = shares.reshape(shape), np.array(imagined).reshape(-1, *shape)
    marked, crowded = [], []
    for place, (atoms, cuts) in enumerate(zip(atoms_of(grid), edges, strict=True)):
        other = 1 - place
        crowd = crowds(cuts, atoms, table.sum(axis=other), repeated.sum(axis=1 + other))
        crowded.append(crowd)
        marked.append(crowd | atoms)
    return Crowded(*(_measured(table, repeated, *marks) for marks in (crowded, marked)))


def _measured(table: Vector, repeated: Vector, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> float:
    """The share of pairs in one marked bin, and what noise took from it: as much as from imagined rounds."""
    if not first.any() and not second.any():
        return 0.0
    pairs = float(pairs_in(table, first, second))
    return min(max(2 * pairs - float(pairs_in(repeated, first, second).mean()), pairs), 1.0)


def pairs_in(tables: Vector, first: NDArray[np.bool_], second: NDArray[np.bool_]) -> Vector:
    """The share of pairs that lie in one marked bin of the first column or of the second."""
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    both = (tables[..., first, :][..., second] ** 2).sum(axis=(-1, -2))
    return np.asarray((rows[..., first] ** 2).sum(axis=-1) + (columns[..., second] ** 2).sum(axis=-1) - both)
