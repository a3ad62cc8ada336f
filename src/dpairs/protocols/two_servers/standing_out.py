"""Who stands out of the neighbouring cells, and so may lie anyhow within a cell.

Where a density goes on as beside a cell, people lie about evenly in it. What a cell holds beyond that, a
spike or an edge, may be all in one place: nothing that was counted tells. So a cell of mass p and width w,
beside cells of a density of at most d, has a share (p - w d) / p that stands out. Two cells side by side may
share a spike on the edge between them, and are looked at together, too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Integers, Interval
from ...data.grids import Axis, Grid
from ...statistics.base import CLEAR, TWO_SIDED

Vector = NDArray[np.float64]


class PairRates(NamedTuple):
    """How many of the pairs in one bin go the same way, of a crowd in one cell, of a hump and of a curve."""

    crowd: float
    hump: float
    curve: float


def cut_places(grid: Grid) -> list[int]:
    """The axes that are cut into bins."""
    return [at for at, axis in enumerate(grid.axes) if isinstance(axis.domain, (Interval, Integers))]


def hiding_places(grid: Grid) -> list[int]:
    """Those of them whose bins hold several values."""
    return [at for at in cut_places(grid) if not grid.axes[at].single]


def widths(axis: Axis) -> Vector:
    """Of every bin: its length, or how many values it holds."""
    low, high, points = axis.geometry
    return np.where(np.isinf(points), high - low, points)


def standing_out(masses: Vector, width: Vector, deviation: float, most: int = 2) -> Vector:
    """The share of every cell that stands out of the denser cell beside it, beyond noise on the masses.

    Up to ``most`` cells are looked at together.
    """
    dense, shares = masses / width, np.zeros(masses.size)
    for together in range(1, min(most, masses.size) + 1):
        windows = [slice(at, masses.size - together + 1 + at) for at in range(together)]
        mass, wide = (np.sum([each[cells] for cells in windows], axis=0) for each in (masses, width))
        if together == masses.size:
            # Cells that are the whole axis have nothing to stand out of.
            shares[:] = np.where(mass > 0, 1.0, shares)
            continue
        # Beside cells lie one before and one after: a density, and how much noise of one count moves what
        # it puts into the cells. At the ends of the axis there is one of them.
        density, scale = np.full((2, 2, mass.size), -np.inf)
        density[0, 1:], density[1, :-1] = dense[: mass.size - 1], dense[together:]
        scale[0, 1:], scale[1, :-1] = wide[1:] / width[: mass.size - 1], wide[:-1] / width[together:]
        densest = density.max(axis=0)
        furthest = np.where(density == densest, scale, -np.inf).max(axis=0)
        margin = CLEAR * deviation * np.sqrt(together + furthest**2)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(mass > 0, (mass - wide * densest - margin) / mass, 0.0)
        for cells in windows:
            shares[cells] = np.maximum(shares[cells], share)
    return np.clip(shares, 0.0, 1.0)


def unresolved(
    grid: Grid, masses: Vector, deviation: float, finer: Mapping[int, Vector], rates: PairRates
) -> float:
    """How far people who share a bin of either axis may move a tau, whose pairs in a bin count 0.

    Those who clearly stand out of a single cell may all be in one bin. Two cells side by side are a hump,
    whose people share a bin as its share of the cell. So do people of a curve, of whom also those may be in
    one bin whom noise does not tell from others. ``finer`` has every axis whose bins hold several values, and
    the chance that two of a cell share one. ``deviation`` is that of the noise of one cell's mass.
    """
    total = 0.0
    for place, width, along, alone in _axes(grid, masses, deviation):
        near = finer.get(place, np.zeros(along.size))
        if not near.any():
            continue
        noise = deviation * float(np.sqrt(masses.size / along.size))
        single = standing_out(along, width, 0.0, 1) ** 2
        # Noise that would hide everybody in one cell excludes no crowd.
        blind = CLEAR * noise * math.sqrt(2) >= 1
        clear = single if blind else np.where(standing_out(along, width, noise, 1) > 0, single, 0.0)
        parts = (
            rates.crowd * clear,
            rates.hump * alone * (2 - alone) * near,
            rates.curve * np.maximum(near, single),
        )
        total += float(along**2 @ np.max(parts, axis=0))
    return total


def together(grid: Grid, masses: Vector) -> float:
    """The pairs of people that share a cell of either axis, or of both."""
    single = sum(float((along**2).sum()) for _, _, along, _ in _axes(grid, masses, 0.0))
    return single - float((masses**2).sum())


def ties(grid: Grid, masses: Vector, deviation: float) -> list[float]:
    """Of every axis that is cut, the most pairs that may be equal in it: all who stand out of a cell."""
    return [float(((along * alone) ** 2).sum()) for _, _, along, alone in _axes(grid, masses, deviation)]


def possibly_crowded(grid: Grid, masses: Vector, deviation: float, seen: Sequence[float]) -> float:
    """Of pairs in one cell of either axis, as many as may be of people who stand out.

    Let c be the masses that stand out of the k cells of an axis. Each is seen through noise of two counts, of
    variance v, so that the sum of c^2 is known up to a variance of 2 k v^2 + 4 v c'c; ``seen`` is what is
    clear of it. Whoever stands out, there are no more than the pairs that share a cell of an axis.
    """
    total = 0.0
    for (_, _, along, _), square in zip(_axes(grid, masses, deviation), seen, strict=True):
        variance = 2 * deviation**2 * masses.size / along.size
        margin = math.sqrt(2 * along.size * variance**2 + 4 * variance * square)
        total += min(square + TWO_SIDED * margin, float(along @ along))
    return min(total, together(grid, masses))


def _axes(grid: Grid, masses: Vector, deviation: float) -> Iterator[tuple[int, Vector, Vector, Vector]]:
    """Of every axis that is cut: its place, widths, masses, and the shares of these that stand out."""
    shape = [axis.bins for axis in grid.axes]
    for place in hiding_places(grid):
        width = widths(grid.axes[place])
        along = masses.reshape(shape).sum(axis=tuple(at for at in range(len(shape)) if at != place))
        others = masses.size / along.size
        yield place, width, along, standing_out(along, width, deviation * float(np.sqrt(others)))


def undecided(
    grid: Grid, pair: tuple[Vector, Vector], deviations: tuple[float, float], everybody: bool = False
) -> float:
    """How far comparisons within cells of a line may move the share of pairs in which the first is higher.

    In a cell of masses p and q the derivative at even masses sees p q (1/2 + u - v) for mean places u and v.
    What it misses is a form of both deviations from an even spread, so that those who lie evenly in
    either class add nothing, and at most p q / 2 where everybody stands out, or is taken to.
    """
    (place,) = cut_places(grid)
    width = widths(grid.axes[place])
    first, second = pair if everybody else (each * standing_out(each, width, 0.0) for each in pair)
    return (float(first @ second) + pairs_by_noise((first, second), deviations)) / 2


def pairs_by_noise(pair: tuple[Vector, Vector], deviations: tuple[float, float]) -> float:
    """How many more pairs of two classes may share a cell than are seen through noise of these deviations."""
    (first, second), (one, two) = pair, deviations
    return TWO_SIDED * float(np.sqrt(one**2 * (second @ second) + two**2 * (first @ first)))
