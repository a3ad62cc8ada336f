"""From the parts where descents ended to the cells that a second round's functions are given on.

A part is a box of leaves that was not split. Cells are the products of bins of each column. One column
is cut where its parts end. With several columns each is halved where most people are, by its marginal shares,
until there are enough bins: a grid of about equal shares, with narrow bins around values that many have.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Integers, Interval
from ...data.grids import Axis, CutAxis, Grid
from ...statistics.vertices import Vertices, vertex_shape
from ..tree.leaves import Leaves, bits_of

Vector = NDArray[np.float64]
MAX_CUTS = 512
"""Bins of a single column."""
PLANE_CELLS = 1024
"""Cells of several columns together."""
FILLINGS = 4
"""How often parts of the plane are filled like the marginals that this gives."""
TOGETHER = 4096
"""Parts of a line that are put into bins at once."""
AROUND = 8
"""A leaf is one value if it holds most of the people of so many leaves around it."""


@dataclass(frozen=True)
class Parts:
    """Evenly filled boxes: first leaf and number of leaves in every column (a row each), and their shares.

    Shares of several rounds have a row each.
    """

    starts: Vector
    widths: Vector
    shares: Vector

    def cumulated(self, column: int, at: Vector, end: float) -> Vector:
        """The share of people below each leaf ``at``."""
        low = self.starts[column]
        high = np.minimum(low + self.widths[column], end)
        steep = self.shares / (high - low)
        places, back = np.unique(np.concatenate([low, high]), return_inverse=True)
        below = []
        for row in np.atleast_2d(np.concatenate([steep, -steep], axis=-1)):
            slopes = np.cumsum(np.bincount(back, row))
            reached = np.concatenate([[0.0], np.cumsum(slopes[:-1] * np.diff(places))])
            below.append(np.interp(at, places, reached))
        return np.reshape(below, (*self.shares.shape[:-1], -1))

    def on(self, edges: Sequence[Vector], ends: Sequence[float]) -> Vector:
        """The shares of the cells between the edges of every column, the last column's running fastest.

        In the plane a part is filled like the columns' marginal shares, within its box: a value that many
        people have runs through all parts, also through those that are too light to be split. The
        marginals come from the parts so filled, beginning with even ones.
        """
        if len(edges) == 1:
            line = np.zeros((*self.shares.shape[:-1], edges[0].size - 1))
            for start in range(0, self.shares.shape[-1], TOGETHER):
                part = self._some(slice(start, start + TOGETHER))
                line += part.shares @ part._sides(edges, ends)[1][0]
            return line
        sides = self._sides(edges, ends)
        if self.shares.ndim == 1:
            return _filled(self.shares, *sides)
        return np.array([_filled(each, *sides) for each in self.shares])

    def like(self, edges: Sequence[Vector], ends: Sequence[float], marginals: Sequence[Vector]) -> Vector:
        """The same in the plane, as a table, with parts filled like these marginals (of each round)."""
        sides = self._sides(edges, ends)
        if self.shares.ndim == 1:
            return _like(self.shares, *sides, marginals)
        rounds = zip(self.shares, *marginals, strict=True)
        return np.array([_like(shares, *sides, own) for shares, *own in rounds])

    def together(self, edges: Sequence[Vector], ends: Sequence[float], filled: Vector) -> Vector:
        """The share of pairs in one part or cell, for every two cells of the plane: a row for each cell.

        ``filled`` are the shares of the cells (`on`), as a table.
        """
        first, second = _within(*self._sides(edges, ends), (filled.sum(axis=1), filled.sum(axis=0)))
        # Most parts of a large study lie within one cell, whose pairs count anyhow.
        several = np.flatnonzero((first > 0).sum(axis=1) * (second > 0).sum(axis=1) > 1)
        pairs = np.zeros((filled.size, filled.size))
        for start in range(0, several.size, PLANE_CELLS):
            some = several[start : start + PLANE_CELLS]
            cells = self.shares[some, None, None] * first[some, :, None] * second[some, None, :]
            cells = cells.reshape(some.size, -1)
            pairs += cells.T @ cells
        np.fill_diagonal(pairs, filled.reshape(-1) ** 2)
        # People may have been moved out of parts: no more of a pair of cells are in one part than there are.
        return np.minimum(pairs, np.outer(filled, filled))

    def _some(self, which: slice) -> Parts:
        return Parts(self.starts[:, which], self.widths[:, which], self.shares[..., which])

    def _sides(self, edges: Sequence[Vector], ends: Sequence[float]) -> tuple[list[Vector], list[Vector]]:
        """Of every part and bin of each column: the share of the bin inside the part, and of the part."""
        sides, evens = [], []
        for column, (cuts, end) in enumerate(zip(edges, ends, strict=True)):
            low = self.starts[column][:, None]
            high = np.minimum(low + self.widths[column][:, None], end)
            inner = np.clip(np.minimum(high, cuts[None, 1:]) - np.maximum(low, cuts[None, :-1]), 0.0, None)
            sides.append(inner / np.diff(cuts))
            evens.append(inner / (high - low))
        return sides, evens


def _filled(shares: Vector, sides: list[Vector], evens: list[Vector]) -> Vector:
    """The cells of the plane in a row, from parts filled like the marginals that this gives."""
    there = shares > 0
    shares, sides, evens = shares[there], [each[there] for each in sides], [each[there] for each in evens]
    filled = _product(shares, *evens)
    for _ in range(FILLINGS):
        filled = _like(shares, sides, evens, (filled.sum(axis=1), filled.sum(axis=0)))
    return filled.reshape(-1)


def _like(shares: Vector, sides: list[Vector], evens: list[Vector], marginals: Sequence[Vector]) -> Vector:
    return _product(shares, *_within(sides, evens, marginals))


def _within(sides: list[Vector], evens: list[Vector], marginals: Sequence[Vector]) -> list[Vector]:
    """How each column fills every part."""
    within = []
    for inside, even, marginal in zip(sides, evens, marginals, strict=True):
        weights = inside * marginal
        total = weights.sum(axis=1, keepdims=True)
        within.append(np.where(total > 0, weights / np.where(total > 0, total, 1.0), even))
    return within


def _product(shares: Vector, first: Vector, second: Vector) -> Vector:
    """Every part's share as the product of how each column fills it, added up."""
    return np.asarray((first * shares[:, None]).T @ second)


def column_ends(leaves: Leaves) -> list[float]:
    """One more than the last leaf of each column that holds a value."""
    return [
        Leaves((domain,), (bits,)).end if isinstance(domain, (Interval, Integers)) else float(domain.size)
        for domain, bits in zip(leaves.domains, leaves.bits, strict=True)
    ]


def column_edges(parts: Mapping[str, Parts], leaves: Leaves) -> list[Vector]:
    """The edges of each column's bins, in leaves."""
    ends = column_ends(leaves)
    listed = [not isinstance(domain, (Interval, Integers)) for domain in leaves.domains]
    if len(ends) == 1:
        return [np.arange(ends[0] + 1) if listed[0] else _every_cut(parts, ends[0])]
    taken = math.prod(int(end) for end, given in zip(ends, listed, strict=True) if given)
    free = sum(not given for given in listed)
    most = int((PLANE_CELLS / taken) ** (1 / free) + 1e-9) if free else 0
    return [
        np.arange(end + 1) if given else heaviest_halved(parts, column, leaves.bits[column], end, most)
        for column, (end, given) in enumerate(zip(ends, listed, strict=True))
    ]


def _every_cut(parts: Mapping[str, Parts], end: float) -> Vector:
    """Where some stratum's tree was cut: the coarsest cuts, if there are too many."""
    starts = np.concatenate([each.starts[0] for each in parts.values()])
    widths = np.concatenate([each.widths[0] for each in parts.values()])
    order = np.lexsort((-widths, starts))
    starts, first = np.unique(starts[order], return_index=True)
    # The first part's start is the domain's, however narrow that part is.
    wide = np.where(starts == 0, np.inf, widths[order][first])
    kept = np.sort(np.argsort(-wide, kind="stable")[:MAX_CUTS])
    return np.concatenate([starts[kept], [end]])


def heaviest_halved(
    parts: Mapping[str, Parts], column: int, bits: int, end: float, most: int
) -> NDArray[np.float64]:
    """Halve the bin that holds most people, while there is something to see in it."""
    cuts = np.unique(
        np.concatenate(
            [
                np.concatenate([each.starts[column], each.starts[column] + each.widths[column]])
                for each in parts.values()
            ]
        )
    )

    def share(low: float, high: float) -> float:
        at = np.array([low, high])
        return max(float(np.diff(each.cumulated(column, at, end))[0]) for each in parts.values())

    waiting = [(-1.0, 0.0, 2.0**bits)]
    done: list[float] = []
    while waiting and len(waiting) + len(done) < most:
        _, low, high = heapq.heappop(waiting)
        inside = np.searchsorted(cuts, high, side="left") > np.searchsorted(cuts, low, side="right")
        if not inside or high - low <= 1:
            done.append(low)
            continue
        middle = (low + high) / 2
        for side in ((low, middle), (middle, high)):
            if side[0] < end:
                heapq.heappush(waiting, (-share(*side), *side))
    return np.sort(np.array([*done, *(low for _, low, _ in waiting), end]))


@dataclass(frozen=True)
class AtomAxis(CutAxis):
    """An axis some of whose bins are taken for one value, which many people share."""

    atoms: tuple[bool, ...] = ()

    @property
    def geometry(self) -> tuple[Vector, Vector, Vector]:
        low, high, points = CutAxis.at(self.domain, self.edges).geometry  # type: ignore[arg-type]
        single = np.array(self.atoms)
        middle = (low + high) / 2
        return np.where(single, middle, low), np.where(single, middle, high), np.where(single, 1.0, points)


def named_atoms(cuts: Vector, masses: Sequence[Vector], wide: bool = False) -> NDArray[np.bool_]:
    """Bins of one leaf that hold most of the people of the leaves around them, in some stratum.

    ``wide``: bins of any width, and so many times their own width around them: the pilot of a plane sees
    values that many people share, but not to a leaf.
    """
    widths = np.diff(cuts)
    single = (AROUND * widths < cuts[-1]) if wide else widths == 1
    atoms = np.zeros(single.size, dtype=bool)
    for shares in masses:
        reached = np.concatenate([[0.0], np.cumsum(shares)])
        first = np.floor(cuts[:-1] / (AROUND * widths)) * AROUND * widths
        around = np.interp(first + AROUND * widths, cuts, reached) - np.interp(first, cuts, reached)
        atoms |= single & (shares > around / 2) & (shares > 0)
    return atoms


def every_atom(
    edges: Sequence[Vector], masses: Mapping[str, Vector], wide: bool = False
) -> list[NDArray[np.bool_]]:
    """The bins of every column that are taken for one value, by its marginal shares in the strata."""
    shape, atoms = [each.size - 1 for each in edges], []
    for place, column in enumerate(edges):
        others = tuple(other for other in range(len(edges)) if other != place)
        marginals = [each.reshape(shape).sum(axis=others) for each in masses.values()]
        atoms.append(named_atoms(column, marginals, wide))
    return atoms


def cut_axis(domain: Domain, bits: int, cuts: Vector, atoms: NDArray[np.bool_]) -> tuple[Axis, Axis]:
    """The column's bins as devices have them, and with atoms as the statistic has them."""
    axis = Leaves((domain,), (bits,)).axis(0, cuts[:-1])
    if (
        not isinstance(axis, CutAxis)
        or not atoms.any()
        or (isinstance(domain, Integers) and bits == bits_of(domain.size))
    ):
        return axis, axis
    return axis, AtomAxis(domain, axis.bins, "simple", axis.edges, tuple(atoms.tolist()))


def at_vertices(seen: Grid, given: Grid, values: Vector) -> Vector:
    """A function at the vertices of the statistic's cells, at the vertices of the devices'."""
    if seen == given:
        return values
    table = values.reshape(vertex_shape(seen))
    for place, (mine, theirs) in enumerate(zip(seen.axes, given.axes, strict=True)):
        own, wanted = Vertices(mine), Vertices(theirs)
        first = np.flatnonzero(~own.top)
        last = np.append(first[1:], own.top.size) - 1
        table = table.take(np.where(wanted.top, last[wanted.bins], first[wanted.bins]), axis=place)
    return np.asarray(table.reshape(-1))
