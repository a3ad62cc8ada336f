"""What cells hide of records that are compared: how they lie within cells.

Let F be the distribution of a cell's records within the cell, U the even one. For two cells of one column or
row the derivative at U sees all but P(F > G) - P(F < G) - 2 (mean F - mean G), which is nothing for halves of
a cell. A cell by itself adds p^2 (tau(F) - 2 E s(F, U)) for its mass p, with the sign kernel s:

- Where F has even margins this is p^2 (tau - 2/3 rho) with Spearman's rho, at most p^2 / 3 (Daniels, "Rank
  correlation and population models", JRSS B 1950), and nearly nothing unless records follow a line within the
  cell. Cells that are four times as wide show it, at the pilot's own cells: at least four times of it, since
  a line passes through 4 of their 16 cells, and 256 times where the density is smooth.
- Records that stand out of their cells (`standing_out`) may lie anyhow. Of two that stand out of one cell of
  a column, the derivative misses sign(d) - 2 d for their distance d in cells: at most 1 for each column, and
  so at most 2 for two of the same cell of both.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from ...statistics import Statistic
from ...statistics.linear import nominal
from ..projection.pilot import on_simplex
from ..two_servers.coarse import coarsened
from ..two_servers.hidden import compared_classes
from ..two_servers.sampling import LEAST_RATIO
from ..two_servers.standing_out import cut_places, hiding_places, standing_out, widths

Vector = NDArray[np.float64]


def by_merging(statistic: Statistic, grid: Grid, masses: Vector) -> float:
    """How far counts may be off by numbers within cells, or by how two columns go together, by extrapolation.

    Cells of width w are off by about c w^a, so merging neighbours moves the value by D = (2^a - 1) c w^a and
    merging again by 2^a D: a is 2 for a smooth density, and 1 for records along a line.
    """
    plane = statistic.needs == "ordered" and cut_twice(grid)
    if not plane and not (statistic.needs == "numeric" and len(grid.axes) == 1 and hiding_places(grid)):
        return 0.0
    (name,) = statistic.strata
    values, now = [], on_simplex(masses)
    for _ in range(3):
        values.append(statistic.linearizer(grid).at({name: now}, nominal(statistic)).value)
        grid, place = coarsened(grid)
        now = np.bincount(place, now, grid.cells).astype(np.float64)
    near, far = values[0] - values[1], values[1] - values[2]
    ratio = min(max(far / near if near else 4.0, LEAST_RATIO), 4.0)
    return abs(near) / (ratio - 1)


def anyhow(masses: Vector, width: Vector, deviation: float) -> Vector:
    """The share of every cell that may lie anyhow: what stands out beyond noise, and then the most of it."""
    least, seen = (standing_out(masses, width, noise) for noise in (deviation, 0.0))
    return np.where(least > 0, np.minimum(2 * seen - least, 1.0), 0.0)


def by_standing_out(
    statistic: Statistic,
    grid: Grid,
    masses: Mapping[str, Vector],
    noise: Mapping[str, float],
    value: float,
    *,
    followed: bool,
) -> float:
    """How far comparisons may be off by records that may lie anyhow in their cells, in the form's unit.

    ``followed``: whether a function follows records within cells. It misses only how two that stand out
    compare. Counts take all pairs of a cell for even, and miss those of which one stands out.
    """
    if statistic.needs != "ordered" or statistic.arity > 2 or not hiding_places(grid):
        return 0.0
    nearest = {name: on_simplex(each) for name, each in masses.items()}
    compared = compared_classes(statistic, grid, nearest, noise) if len(cut_places(grid)) == 1 else None
    if compared is not None:
        return _scale(statistic, grid) * _between_classes(grid, *compared, followed)
    ((name, shares),) = nearest.items()
    off, equal = 0.0, []
    for along, alone in _axes(grid, shares, noise[name]):
        equal.append(float(((along * alone) ** 2).sum()))
        off += equal[-1] if followed else float((along**2 * alone * (2 - alone)).sum())
    # Pairs that are equal make the divisor of tau-b smaller.
    less = statistic.tied(equal)
    return off * (1 + less) + abs(value) * less


def uneven_within(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], noise: Mapping[str, float]
) -> tuple[float, float]:
    """How far records that may lie anyhow in cells move the first form of numbers; a divisor, as a share."""
    if statistic.needs != "numeric" or len(hiding_places(grid)) != 1 or len(grid.axes) != 1:
        return 0.0, 0.0
    ((name, shares),) = masses.items()
    alone = anyhow(shares, widths(grid.axes[0]), noise[name])
    least, most = statistic.uneven(grid, shares, alone)
    return max(-least, most), statistic.uneven_divisor(grid, shares, alone)


def followed_wrongly(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], noise: Mapping[str, float]
) -> float:
    """The variance that a pilot's noise adds where records of two classes share a place within cells.

    A function rises within a cell by the pilot's mass of the other class, whose noise is e. Records of masses
    p and q at the place u of a cell so add (u - 1/2)(p e_q - q e_p), which even ones do not. What stands out
    may be at an edge; seen through noise, its square is on average larger by twice the noise's.
    """
    if statistic.needs != "ordered" or statistic.arity > 2 or len(cut_places(grid)) != 1:
        return 0.0
    nearest = {name: on_simplex(each) for name, each in masses.items()}
    compared = compared_classes(statistic, grid, nearest, noise)
    if compared is None:
        return 0.0
    (place,) = cut_places(grid)
    width = widths(grid.axes[place])
    total = 0.0
    for (effect, deviation), other in zip(zip(*compared, strict=True), reversed(compared[1]), strict=True):
        alone = (effect * standing_out(effect, width, 0.0)) ** 2 + 2 * deviation**2
        total += other**2 * float(np.minimum(alone, effect**2 + deviation**2).sum())
    return _scale(statistic, grid) ** 2 * total / 4


def _scale(statistic: Statistic, grid: Grid) -> float:
    """What a share of pairs is in the form's unit."""
    low, high = statistic.range(tuple(axis.domain for axis in grid.axes))
    return high - low if math.isfinite(high - low) else 1.0


def _axes(grid: Grid, masses: Vector, deviation: float) -> Iterator[tuple[Vector, Vector]]:
    """Of every column whose cells hold several values: their masses, and the shares that may lie anyhow."""
    shape = [axis.bins for axis in grid.axes]
    for place in hiding_places(grid):
        along = masses.reshape(shape).sum(axis=tuple(at for at in range(len(shape)) if at != place))
        noise = deviation * math.sqrt(masses.size / along.size)
        yield along, anyhow(along, widths(grid.axes[place]), noise)


def _between_classes(
    grid: Grid, pair: tuple[Vector, Vector], deviations: tuple[float, float], followed: bool
) -> float:
    """The same of the share of pairs in which the first class is higher.

    In a cell of masses p and q of which shares s and t may lie anyhow: p q s t / 2 where records are
    followed (see `two_servers.standing_out.undecided`), and else p q (1 - (1 - s)(1 - t)) / 2.
    """
    (place,) = cut_places(grid)
    width = widths(grid.axes[place])
    one, other = (anyhow(each, width, noise) for each, noise in zip(pair, deviations, strict=True))
    either = one * other if followed else 1 - (1 - one) * (1 - other)
    return float((pair[0] * pair[1] * either).sum()) / 2


def cut_twice(grid: Grid) -> bool:
    """Whether two columns are cut into cells."""
    return len(cut_places(grid)) == 2
