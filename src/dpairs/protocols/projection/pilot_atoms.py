"""Atoms told from crowds by a level far below the leaves.

A leaf that many people share may be one value, or people who lie close together on a domain far too wide. One
level of the tree that has very many nodes in each leaf tells them apart: a value is in one of these nodes, a
crowd in none that stands out. Where one does, the leaf is cut around it, and the pilot has the leaf's people
there. Whoever lies elsewhere in the leaf is compared rightly with those at the value by the second round's
function, which steps there: what is left are pairs of people who both lie elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..tree.leaves import Leaves
from ..tree.oracle import Oracle
from .pilot import Masses
from .pilot_descent import TINY, chance_of
from .pilot_missed import CHANCE, third_cumulant
from .winsorize import SIGNIFICANT

Vector = NDArray[np.float64]
Marks = NDArray[np.bool_]


def standing_out_by_chance(bits: int, leaves: int = 1) -> float:
    """The standard errors that no node of so many leaves, halved so often, exceeds in 19 studies of 20."""
    from scipy.special import ndtri

    return -float(ndtri(CHANCE / 2**bits / max(leaves, 1)))


@dataclass(frozen=True, eq=False)
class Told:
    """What a deep level says of each bin of a column: which are surely one value, and which surely not."""

    atoms: Marks
    crowds: Marks
    held: Masses
    """The share of people of each cell who were measured at the value."""
    errors: Masses
    """Standard errors of these."""

    @classmethod
    def without_atoms(cls, crowds: Marks, masses: Masses) -> Told:
        nobody = [{name: np.zeros_like(own) for name, own in masses.items()} for _ in range(2)]
        return cls(np.zeros_like(crowds), crowds, *nobody)

    def regained(self, masses: Masses, imagined: Sequence[Masses]) -> Masses:
        """The shares of cells, at values with the people whom noise took: as many as from imagined rounds."""
        lost = {
            name: own - np.mean([each[name] for each in imagined], axis=0) for name, own in masses.items()
        }
        return {name: own + (self.errors[name] > 0) * lost[name] for name, own in masses.items()}


@dataclass(frozen=True, eq=False)
class Cut:
    """Bins of the column at ``place`` that are cut around values: the old bin of each new one, or -1."""

    cuts: Vector
    bins: NDArray[np.int64]
    place: int
    shape: tuple[int, ...]
    """The old bins of all columns."""

    @classmethod
    def around(
        cls, cuts: Vector, nodes: NDArray[np.int64], bits: int, place: int, shape: Sequence[int]
    ) -> Cut:
        """Around the nodes found in some bins, with the next ones: rounding may move a value there."""
        starts, bins = [], []
        for number, (low, high, node) in enumerate(zip(cuts[:-1], cuts[1:], nodes, strict=True)):
            first, last = low, high
            if node >= 0:
                first, last = low + max(node - 1, 0) / 2**bits, low + min(node + 2, 2**bits) / 2**bits
            for start, stop, old in ((low, first, -1), (first, last, number), (last, high, -1)):
                if stop > start:
                    starts.append(start)
                    bins.append(old)
        return cls(np.array([*starts, cuts[-1]]), np.array(bins), place, tuple(shape))

    def marks(self, marks: Marks) -> Marks:
        return np.asarray(marks[self.bins] & (self.bins >= 0))

    def masses(self, masses: Masses) -> Masses:
        """The same people in the new cells: nobody in a bin beside a value."""
        moved = {}
        for name, own in masses.items():
            table = np.moveaxis(own.reshape(self.shape), self.place, -1)[..., self.bins] * (self.bins >= 0)
            moved[name] = np.moveaxis(table, -1, self.place).reshape(-1)
        return moved

    def told(self, told: Told, single: Marks) -> Told:
        """The same in the new cells; whoever is alone in a leaf of these, and was not found, lies anyhow."""
        atoms = self.marks(told.atoms)
        marks = atoms, self.marks(told.crowds | single) & ~atoms
        return Told(*marks, self.masses(told.held), self.masses(told.errors))


@dataclass(frozen=True, eq=False)
class DeepLevel:
    """The answers of every stratum about one level, ``bits`` below the leaves of a walk."""

    oracles: Mapping[str, Oracle]
    leaves: Leaves
    bits: int

    def tell(
        self, place: int, cuts: Vector, atoms: Marks, single: Marks, shape: Sequence[int], masses: Masses
    ) -> tuple[Told, Cut]:
        """What is known of the atoms of the column at this place, and the bins cut around those found.

        What matters are pairs in a leaf, so a value is looked for that all strata share, and people with all
        values of the other columns. If they are shares t of the people, M t have it. The measured shares of a
        node, added up with weights t / s^2 for noise s^2 and divided by r = sqrt(sum t^2 / s^2), then have
        mean M r and variance 1. A node is found if it stands out beyond what all nodes of the leaves that
        are searched would by chance in one study of twenty; these hold more than one standard error. If
        none is found, and the leaf's own M r is clearly beyond that, the leaf is no value. ``single`` are
        leaves that are no atoms by themselves, and hold more than those beside them: one value, or no.
        """
        cells = np.indices(shape).reshape(len(shape), -1)
        noise = {name: max(each.noise / each.people**2, TINY) for name, each in self.oracles.items()}
        weights = {name: self._totals(own, place, shape) / noise[name] for name, own in masses.items()}
        first = cells[place] == 0
        strength = np.sqrt(sum(noise[name] * float(own[first] @ own[first]) for name, own in weights.items()))
        expected = np.bincount(
            np.tile(cells[place], len(masses)),
            np.concatenate([own * weights[name] for name, own in masses.items()]) / strength,
        )
        looked = np.flatnonzero((atoms | single) & (expected > 1))
        limit = standing_out_by_chance(self.bits, looked.size)
        third = sum(
            float((weights[name][first] ** 3).sum()) * third_cumulant(oracle, 1 / noise[name])
            for name, oracle in self.oracles.items()
        )
        limit += third / strength**3 * (limit**2 - 1) / 6
        told = Told.without_atoms(np.zeros_like(atoms), masses)
        nodes = np.full(shape[place], -1)
        for leaf in looked:
            there = cells[place] == leaf
            shares = {name: self._below(name, place, cuts[leaf], cells[:, there]) for name in masses}
            standing_out = sum(weights[name][there] @ rows for name, rows in shares.items()) / strength
            node = int(np.argmax(standing_out))
            if standing_out[node] <= limit:
                told.crowds[leaf] = expected[leaf] > limit + SIGNIFICANT
                continue
            told.atoms[leaf], nodes[leaf] = True, node
            for name, rows in shares.items():
                held = told.held[name][there] = rows[:, node]
                chance = chance_of(self.oracles[name]) * np.maximum(held * (1 - held), 0.0)
                told.errors[name][there] = np.sqrt(noise[name] + chance)
        cut = Cut.around(cuts, nodes, self.bits, place, shape)
        return cut.told(told, single), cut

    def _totals(self, masses: Vector, place: int, shape: Sequence[int]) -> Vector:
        """Of each cell, the share of people with its values of the other columns."""
        table = masses.reshape(shape)
        return np.broadcast_to(table.sum(axis=place, keepdims=True), table.shape).reshape(-1)

    def _below(self, stratum: str, place: int, leaf: float, cells: NDArray[np.int64]) -> NDArray[np.float64]:
        """The measured shares of all nodes below a leaf, a row for each of these cells."""
        parts = list(cells.astype(np.uint64))
        parts[place] = np.full(cells.shape[1], leaf, dtype=np.uint64)
        oracle = self.oracles[stratum]
        counts = [oracle.below(int(node), self.bits) for node in self.leaves.interleave(parts)]
        return np.array(counts) / oracle.people
