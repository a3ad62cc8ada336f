"""What the cells of a pilot hide of people: bounds of the bias that the second round cannot see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...data.grids import Grid
from ...formats.canonical import agreed
from ...statistics import Statistic
from ...statistics.linear import nominal
from .sampling import coarsened
from .standing_out import Vector, cut_places, hiding_places, standing_out, ties, undecided, widths


def hidden_by(statistic: Statistic, grid: Grid, masses: Mapping[str, Vector]) -> float:
    """The bias that may be left of how two columns go together within the pilot's cells.

    On cells of width w the pilot's value is off by about c w^2; merging neighbours moves it by 3 c w^2. The
    influence function makes up for some of that, how much is not known. One column has no such
    dependence to hide.
    """
    if len(cut_places(grid)) < 2 or statistic.arity > 2:
        return 0.0
    wider, place = coarsened(grid)
    merged = {
        name: np.bincount(place, weights=each, minlength=wider.cells).astype(np.float64)
        for name, each in masses.items()
    }
    people = nominal(statistic)
    fine, coarse = (
        statistic.linearizer(cells).at(each, people).value
        for cells, each in ((grid, masses), (wider, merged))
    )
    return agreed(abs(fine - coarse) / 3)


def compared_within(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], noise: Mapping[str, float]
) -> float:
    """A bound of what comparisons within cells of one column may do: see `undecided`.

    The function follows people within cells, but not how those who stand out compare with each other.
    """
    if len(cut_places(grid)) != 1 or statistic.arity > 2:
        return 0.0
    classes = compared_classes(statistic, grid, masses, noise)
    return 0.0 if classes is None else agreed(undecided(grid, *classes))


def together_within(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], noise: Mapping[str, float], value: float
) -> float:
    """A bound of what those who stand out of cells of two columns may do.

    Who lies evenly in a cell is seen; two who stand out of one may go either way, and if they are equal they
    make tau-b's divisor smaller.
    """
    if len(cut_places(grid)) < 2 or statistic.arity > 2 or statistic.needs != "ordered":
        return 0.0
    ((name, shares),) = masses.items()
    equal = ties(grid, shares, noise[name])
    return agreed(min(sum(equal), 1.0) + statistic.tied(equal) * abs(value))


class Uneven(NamedTuple):
    """How far people who stand out of cells of numbers may move the first form, and a divisor."""

    least: float = 0.0
    most: float = 0.0
    divisor: float = 0.0


def uneven_within(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], noise: Mapping[str, float]
) -> Uneven:
    if statistic.needs != "numeric" or len(hiding_places(grid)) != 1 or len(grid.axes) != 1:
        return Uneven()
    ((name, shares),) = masses.items()
    alone = standing_out(shares, widths(grid.axes[0]), noise[name])
    ends = statistic.uneven(grid, shares, alone)
    return Uneven(*map(agreed, (*ends, statistic.uneven_divisor(grid, shares, alone))))


def compared_classes(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], noise: Mapping[str, float]
) -> tuple[tuple[Vector, Vector], tuple[float, float]] | None:
    """The two classes that a statistic compares, on cells of a line, and the noise of their masses."""
    if statistic.needs != "ordered":
        return None
    if len(masses) == 2:
        one, two = masses
        return (masses[one], masses[two]), (noise[one], noise[two])
    (name,) = masses
    (place,) = cut_places(grid)
    table = np.moveaxis(masses[name].reshape([axis.bins for axis in grid.axes]), place, 0)
    table = table.reshape(table.shape[0], -1)
    shares = table.sum(axis=0)
    if table.shape[1] != 2 or not shares.all():
        return None
    lower, upper = (table / shares).T
    return (lower, upper), (noise[name] / float(shares[0]), noise[name] / float(shares[1]))
