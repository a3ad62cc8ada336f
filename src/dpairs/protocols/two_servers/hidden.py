"""What the cells of a pilot hide of people: bounds of the bias that the second round cannot see."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ...data.grids import Grid
from ...errors import NotEstimable
from ...formats.canonical import agreed
from ...statistics import Statistic
from ...statistics.base import TWO_SIDED
from ...statistics.linear import Masses, nominal
from ..projection.pilot import on_simplex
from .forms import farthest_off
from .lines import along_lines
from .moments import cell_ends, moments
from .narrow import narrow, turning
from .sampling import Rough
from .standing_out import (
    Vector,
    cut_places,
    hiding_places,
    possibly_crowded,
    standing_out,
    ties,
    undecided,
    widths,
)

FEW = 16
"""Imagined pilots by which what noise adds is taken off."""


def hidden_by(
    statistic: Statistic,
    grid: Grid,
    masses: Mapping[str, Vector],
    imagined: Sequence[Mapping[str, Vector]],
    noise: Mapping[str, float],
) -> float:
    """The bias that may be left of how two columns go together within the pilot's cells: see `lines`.

    Lines that turn within a few cells are seen as `narrow` ones. ``imagined`` are masses such as these with
    the same noise once more. One column hides no dependence.
    """
    if not _plane(statistic, grid) or statistic.needs != "ordered":
        return 0.0
    kernels = np.array([form.matrix for form in statistic.forms(grid, "average")])
    forms = statistic.linearizer(grid).at(masses, nominal(statistic)).forms
    gradient = statistic.finish(forms, nominal(statistic)).gradient
    ((name, shares),) = masses.items()
    again = [each[name] for each in imagined[:FEW]]
    lines = along_lines(grid, np.tensordot(gradient, kernels, axes=1), shares, again)
    people = on_simplex(shares)
    turned = abs(float(gradient[0])) * turning(people, narrow(grid, people, noise[name]))
    return agreed(max(lines, turned))


def _plane(statistic: Statistic, grid: Grid) -> bool:
    return len(cut_places(grid)) > 1 and statistic.arity == 2 and bool(hiding_places(grid))


def compared_within(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], noise: Mapping[str, float]
) -> float:
    """A bound of what comparisons within cells of one column may do: see `undecided`.

    The function follows people within cells, but not how those who stand out compare with each other: c'Uc
    for those c of each level, with U half of the kernel's range over two cells. Nor does it see equal values.
    """
    if len(cut_places(grid)) != 1 or statistic.arity > 2 or not hiding_places(grid):
        return 0.0
    if statistic.needs != "ordered":
        return 0.0
    if len(masses) == 2:
        one, two = masses
        pair, deviations = (masses[one], masses[two]), (noise[one], noise[two])
        return agreed(undecided(grid, pair, deviations, statistic.ties_apart))
    ((name, shares),), steepness = masses.items(), 1.0
    crowd = shares if statistic.ties_apart else _crowd_of_levels(grid, shares)
    if statistic.form_count > 1:
        try:
            there = statistic.linearizer(grid).at(masses, nominal(statistic)).forms
        except NotEstimable:
            return 0.0
        steepness = abs(float(statistic.finish(there, nominal(statistic)).gradient[0]))
    along = statistic.forms(grid, "average")[0].uncertainty @ crowd
    margin = 2 * TWO_SIDED * noise[name] * math.sqrt(float(along @ along))
    return agreed(steepness * (float(crowd @ along) + margin))


def together_within(
    statistic: Statistic,
    grid: Grid,
    masses: Mapping[str, Vector],
    value: float,
    noise: Mapping[str, float],
) -> float:
    """A bound of what those who stand out of cells of two columns may do.

    Who lies evenly in a cell is seen. Two who stand out of one may go either way, and if they are equal they
    make tau-b's divisor smaller. Beside a column of levels only the latter: see `compared_within`. Of those
    who may go either way, as many count as noise leaves possible: see `standing_out.possibly_crowded`.
    """
    if statistic.needs != "ordered" or statistic.arity > 2 or not hiding_places(grid) or len(masses) > 1:
        return 0.0
    ((name, shares),) = masses.items()
    clear = ties(grid, shares, noise[name])
    equal = [most if least > 0 else 0.0 for least, most in zip(clear, ties(grid, shares, 0.0), strict=True)]
    either_way = possibly_crowded(grid, shares, noise[name], equal) if _plane(statistic, grid) else 0.0
    return agreed(either_way + statistic.tied(equal) * abs(value))


def table_within(
    statistic: Statistic, grid: Grid, masses: Mapping[str, Vector], noise: Mapping[str, float]
) -> float:
    """A bound of what people within cells may do to a kernel that is known by its table.

    Its function is flat within cells, so nothing of this is seen: two cells of masses p and q are off by up
    to p q D (see `forms.farthest_off`) if both lie anyhow, and by half of the kernel's range over them if one
    does. All may where a kernel may jump; else those who stand out, and what noise may hide of them. What
    every interval of a table allows for, half of the range over all pairs, is taken off.
    """
    if not statistic.from_table or statistic.arity > 2 or not hiding_places(grid):
        return 0.0
    ((name, shares),), farthest = masses.items(), farthest_off(statistic, grid)
    allowed = statistic.kernel_uncertainty(shares)
    if statistic.lipschitz(()) is None or len(grid.axes) > 1:
        return agreed(max(float(shares @ farthest @ shares) - allowed, 0.0))
    crowd = shares * standing_out(shares, widths(grid.axes[0]), 0.0)
    (form,), along = statistic.forms(grid, "average"), farthest @ crowd
    margin = 2 * TWO_SIDED * noise[name] * float(np.sqrt((along**2)[crowd > 0].sum()))
    off = float(crowd @ along) + margin + 2 * float(crowd @ form.uncertainty @ (shares - crowd))
    return agreed(max(off - allowed, 0.0))


class Uneven(NamedTuple):
    """How people within cells of numbers move the first form: at a guess, and off that at most; a divisor."""

    shift: float = 0.0
    most: float = 0.0
    divisor: float = 0.0


def uneven_within(
    statistic: Statistic,
    grid: Grid,
    masses: Mapping[str, Vector],
    noisy: Mapping[str, Vector] | None = None,
    noise: Mapping[str, float] | None = None,
) -> Uneven:
    """The middle of what those who stand out of cells may do, and how far from that everybody may be.

    Who does not stand out is taken to lie evenly, but may be at a few values that all cells have, such as
    whole tens. If the ``noisy`` shares leave it possible that a divisor is 0, all of it may be wrong.
    """
    if statistic.needs != "numeric" or len(hiding_places(grid)) != 1 or len(grid.axes) != 1:
        return Uneven()
    ((_, shares),) = masses.items()
    alone = standing_out(shares, widths(grid.axes[0]), 0.0)
    shift = sum(statistic.uneven(grid, shares, alone)) / 2
    least, most = statistic.uneven(grid, shares, np.ones_like(shares))
    divisor = statistic.uneven_divisor(grid, shares, alone)
    if divisor > 0 and noisy is not None and noise is not None:
        ((name, measured),), centres = noisy.items(), grid.axes[0].centres
        error = noise[name] * math.sqrt(float(centres @ centres)) / float(measured @ centres)
        if statistic.uneven_divisor(grid, measured, np.ones_like(measured)) + TWO_SIDED * error >= 1:
            divisor = 1.0
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
    crowd = masses * standing_out(
        masses, widths(axis), math.sqrt(rough.variance) / rough.sizes[name], 2 if rough.merging else 1
    )
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


def variance_at_most(grid: Grid, heights: Vector, masses: Vector, statistic: Statistic) -> float:
    """The variance of a function of people who lie evenly in cells, and of numbers that stand out at most.

    These may be all at that end of their cell where the function is farther from its mean.
    """
    even = moments(grid, heights, masses)[0]
    if statistic.needs != "numeric" or len(hiding_places(grid)) != 1 or len(grid.axes) != 1:
        return even
    (axis,) = grid.axes
    first, last = cell_ends(axis)
    low, high = heights[first], heights[last]
    mean = float(masses @ (low + high) / 2)
    farthest = np.maximum((low - mean) ** 2, (high - mean) ** 2)
    usual = ((low - mean) ** 2 + (low - mean) * (high - mean) + (high - mean) ** 2) / 3
    return even + float(masses * standing_out(masses, widths(axis), 0.0) @ (farthest - usual))


def slopes(grid: Grid, heights: Vector) -> dict[int, Vector]:
    """By how much a function that is linear within cells rises along each axis, on average over a cell."""
    ends = [cell_ends(axis) for axis in grid.axes]
    steepest = {}
    for place in hiding_places(grid):
        values = heights.reshape([int(last[-1]) + 1 for _, last in ends])
        for at, (first, last) in enumerate(ends):
            low, high = np.take(values, first, axis=at), np.take(values, last, axis=at)
            values = high - low if at == place else (low + high) / 2
        steepest[place] = values
    return steepest


def _crowd(grid: Grid, masses: Vector, place: int) -> Vector:
    """The masses that stand out along an axis, of each level of an axis that is not cut."""
    table = masses.reshape([axis.bins for axis in grid.axes])
    others = tuple(at for at in hiding_places(grid) if at != place)
    along = np.moveaxis(table.sum(axis=others, keepdims=True), place, 0)
    flat, width = along.reshape(along.shape[0], -1), widths(grid.axes[place])
    alone = np.array([standing_out(each, width, 0.0) for each in flat.T]).T
    return np.asarray(table * np.moveaxis(alone.reshape(along.shape), 0, place))


def _crowd_of_levels(grid: Grid, masses: Vector) -> Vector:
    """Those who stand out along the axis that is cut, of every level, or of all together.

    A level whose density rises in a cell does not show the crowd that it has there with others.
    """
    (place,), table = cut_places(grid), masses.reshape([axis.bins for axis in grid.axes])
    others = tuple(at for at in range(table.ndim) if at != place)
    alone = standing_out(table.sum(axis=others), widths(grid.axes[place]), 0.0)
    all_together = table * np.expand_dims(alone, others)
    return np.maximum(_crowd(grid, masses, place), all_together).reshape(-1)


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
