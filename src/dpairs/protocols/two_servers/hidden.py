"""What the cells of a pilot hide of people: bounds of the bias that the second round cannot see."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...data.grids import Grid
from ...formats.canonical import agreed
from ...statistics import Statistic
from ...statistics.linear import Masses, nominal
from .coarse import coarsened
from .sampling import Rough, cell_ends
from .standing_out import Vector, cut_places, hiding_places, standing_out, ties, together, undecided, widths


def hidden_by(statistic: Statistic, grid: Grid, masses: Mapping[str, Vector]) -> float:
    """The bias that may be left of how two columns go together within the pilot's cells.

    On cells of width w the pilot's value is off by about c w^2 where dependence is smooth, and merging
    neighbours moves it by 3 c w^2. Where all pairs of a cell go the same way it is off by c w, as much as
    merging moves it. The rate at which pairs that merging hides go together tells how near that is. The
    influence function makes up for some of it, how much is not known. One column hides no dependence.
    """
    if not _plane(statistic, grid):
        return 0.0
    off, rate = _merging(statistic, grid, masses)
    return agreed(off * (1 + 2 * rate) / 3)


def _plane(statistic: Statistic, grid: Grid) -> bool:
    return len(cut_places(grid)) > 1 and statistic.arity == 2


def _merging(statistic: Statistic, grid: Grid, masses: Mapping[str, Vector]) -> tuple[float, float]:
    """By how much merging neighbouring cells moves the value; and that for each pair that it hides."""
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
    here, there = (
        sum(together(cells, each) for each in shares.values())
        for cells, shares in ((grid, masses), (wider, merged))
    )
    off, more = abs(fine - coarse), there - here
    return off, min(off / more, 1.0) if more > 0 else 1.0


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


def together_within(statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], value: float) -> float:
    """A bound of what those who stand out of cells of two columns may do.

    Who lies evenly in a cell is seen. Two who stand out of one may go either way, and if they are equal they
    make tau-b's divisor smaller.
    """
    if not _plane(statistic, grid) or statistic.needs != "ordered":
        return 0.0
    ((_, shares),) = masses.items()
    equal = ties(grid, shares, 0.0)
    return agreed(min(sum(equal), 1.0) + statistic.tied(equal) * abs(value))


class Uneven(NamedTuple):
    """How people within cells of numbers move the first form: at a guess, and off that at most; a divisor."""

    shift: float = 0.0
    most: float = 0.0
    divisor: float = 0.0


def uneven_within(statistic: Statistic, grid: Grid, masses: Mapping[str, Vector]) -> Uneven:
    """The middle of what those who stand out of cells may do, and how far from that everybody may be.

    Who does not stand out is taken to lie evenly, but may be at a few values that all cells have, such as
    whole tens.
    """
    if statistic.needs != "numeric" or len(hiding_places(grid)) != 1 or len(grid.axes) != 1:
        return Uneven()
    ((_, shares),) = masses.items()
    alone = standing_out(shares, widths(grid.axes[0]), 0.0)
    shift = sum(statistic.uneven(grid, shares, alone)) / 2
    least, most = statistic.uneven(grid, shares, np.ones_like(shares))
    divisor = statistic.uneven_divisor(grid, shares, alone)
    return Uneven(*map(agreed, (shift, max(most - shift, shift - least), divisor)))


def crowded_bins(rough: Rough) -> float:
    """A bound of what crowds, each in one bin of its coarse cell, do to a statistic of numbers in one round.

    A crowd P at the place t of its bin, from -1 to 1, adds t P D / 2 to a derivative that rises by D over the
    bin; and its pairs are nearer, or further, than those of an even spread: see `Statistic.uneven`.
    """
    statistic, grid, bins = rough.statistic, rough.grid, rough.bins
    if (
        statistic.needs != "numeric"
        or not rough.finer_along
        or len(grid.axes) != 1
        or rough.place is not None
    ):
        return 0.0
    ((name, masses),), (axis,), (fine,) = rough.masses.items(), grid.axes, bins.axes
    crowd = masses * standing_out(masses, widths(axis), math.sqrt(rough.variance) / rough.sizes[name], 1)
    (rise,) = slopes(grid, rough.linear.functions[name]).values()
    first = float(crowd @ np.abs(rise * widths(fine).max() / widths(axis))) / 2
    low, high, _ = axis.geometry
    middle = np.searchsorted(fine.geometry[0], (low + high) / 2, side="right") - 1
    in_bins = np.zeros(fine.bins)
    in_bins[middle] = crowd
    off = statistic.uneven(bins, in_bins, np.ones(fine.bins))
    steepness = float(statistic.finish(rough.linear.forms, rough.sizes).gradient[0])
    return first + (abs(steepness) if statistic.form_count > 1 else 1.0) * max(map(abs, off))


def crowd_variance(
    grid: Grid, functions: Mapping[str, Vector], imagined: Sequence[Mapping[str, Vector]], people: Masses
) -> float:
    """Of what noise in the pilot does to those who stand out of cells, and so lie anywhere in them.

    Noise moves the influence function by D from one end of a cell to the other, which adds t P D / 2 to the
    answer if a mass P of people is at the place t, from -1 to 1. ``imagined`` functions tell D. The places
    of different cells are not known: all alike or by chance, whichever varies more.
    """
    total = 0.0
    for name, function in functions.items():
        moved = [slopes(grid, there[name] - function) for there in imagined]
        for place in hiding_places(grid):
            crowd = _crowd(grid, people[name], place)
            others = tuple(at for at in range(crowd.ndim) if at != place)
            off = np.array([(crowd * each[place] / 2).sum(axis=others) for each in moved])
            total += max(float((off.sum(axis=1) ** 2).mean()), float((off**2).sum(axis=1).mean()))
    return total


def slopes(grid: Grid, heights: Vector) -> dict[int, Vector]:
    """By how much a function that is linear within cells rises along each axis, on average over a cell."""
    ends = [cell_ends(axis) for axis in grid.axes]
    found = {}
    for place in hiding_places(grid):
        values = heights.reshape([int(last[-1]) + 1 for _, last in ends])
        for at, (first, last) in enumerate(ends):
            low, high = np.take(values, first, axis=at), np.take(values, last, axis=at)
            values = high - low if at == place else (low + high) / 2
        found[place] = values
    return found


def _crowd(grid: Grid, masses: Vector, place: int) -> Vector:
    """The masses that stand out along an axis, of each level of an axis that is not cut."""
    table = masses.reshape([axis.bins for axis in grid.axes])
    others = tuple(at for at in hiding_places(grid) if at != place)
    along = np.moveaxis(table.sum(axis=others, keepdims=True), place, 0)
    flat, width = along.reshape(along.shape[0], -1), widths(grid.axes[place])
    alone = np.array([standing_out(each, width, 0.0) for each in flat.T]).T
    return np.asarray(table * np.moveaxis(alone.reshape(along.shape), 0, place))


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
