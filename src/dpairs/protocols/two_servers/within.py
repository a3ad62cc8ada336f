"""What bins hide of pairs, measured: a bound of the bias where people crowd, or where a kernel jumps.

Two people in two bins have a kernel that lies off its average over these bins by up to D. The mean W of D
over all pairs is a form like others: for the AUC half of the pairs of both classes that share a bin. So the
servers can release it with a little of epsilon, and noisy counts of all bins tell it for nothing. Whoever
lies evenly in bins is off by much less. So W counts only where people are not seen to do so, by coarse counts
or by W itself; and always for a kernel that may jump, since a jump falls between bins as it likes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...data.grids import Grid
from .forms import farthest_off
from .hidden import compared_classes
from .law import ErrorLaw
from .sampling import Rough
from .standing_out import Vector, cut_places, pairs_by_noise, standing_out, widths

TINY = 1e-9
SURE = 0.95
"""W is at most as large as the upper end of its interval of this level."""
CLEARLY = 0.998
"""And clearly larger than a number below its interval of that one."""


@dataclass(frozen=True)
class Within:
    """W as released, and the variance of its noise, which is that of two Laplace numbers or normal."""

    value: float
    variance: float
    laplace: bool

    @property
    def _noise(self) -> ErrorLaw:
        return ErrorLaw(noise=(self.variance,)) if self.laplace else ErrorLaw(self.variance)

    @property
    def most(self) -> float:
        return max(self.value, 0.0) + self._noise.reach(SURE)

    def clearly_above(self, value: float) -> bool:
        return self.value - value > self._noise.reach(CLEARLY)


def crowded_pairs(rough: Rough, counted: Grid, within: Within | None, scale: float) -> float:
    """The bias that is possible, in the statistic's unit; ``scale`` is what one of W is in it.

    ``counted`` are the cells of the coarse counts. Of a ratio, these tell the statistic itself.
    """
    if rough.finer == 0 or rough.statistic.arity > 2:
        return 0.0
    if rough.statistic.from_table:
        seen, even = _of_table(rough, counted)
        jumps = rough.statistic.lipschitz(()) is None
        seen, even = (scale * (seen + even if jumps else seen), scale * even)
    elif rough.statistic.within(rough.bins) is not None:
        own = scale if rough.statistic.form_count == 1 else 1.0
        seen, even = (own * each for each in _of_classes(rough))
    else:
        return 0.0
    if within is None:
        return seen
    scaled = Within(scale * within.value, scale**2 * within.variance, within.laplace)
    return scaled.most if scaled.clearly_above(even) else min(seen, scaled.most)


def _of_classes(rough: Rough) -> tuple[float, float]:
    """Half of the pairs of both classes that may share a bin, of those who stand out; and of even people."""
    noise = {name: math.sqrt(rough.variance) / people for name, people in rough.sizes.items()}
    classes = compared_classes(rough.statistic, rough.grid, rough.masses, noise)
    if classes is None:
        return 0.5, 0.0
    (place,) = cut_places(rough.grid)
    (first, second), doubts = classes
    width = widths(rough.grid.axes[place])
    near = np.minimum(rough.finer_along[place] * width.min() / width, 1.0)
    both = tuple(zip((first, second), doubts, strict=True))
    # A small class is too noisy to tell what the other one shows, or both together do.
    spike = np.any(
        [standing_out(each, width, doubt, 1) > 0 for each, doubt in (*both, _together(both))], axis=0
    )
    # Two cells side by side may be a hump.
    clear = spike | np.any([standing_out(each, width, doubt) > 0 for each, doubt in both], axis=0)
    crowds = [np.where(clear, each * standing_out(each, width, 0.0), 0.0) for each, _ in both]
    off = float(crowds[0] @ crowds[1]) / 2
    off += pairs_by_noise((np.where(spike, crowds[0], 0.0), np.where(spike, crowds[1], 0.0)), doubts) / 2
    return off, float(first @ (near * second)) / 2


def _together(both: tuple[tuple[Vector, float], ...]) -> tuple[Vector, float]:
    """The mean of two noisy distributions that is least noisy, and its noise."""
    weights = np.array([1 / max(doubt, TINY) ** 2 for _, doubt in both])
    mean = weights / weights.sum() @ np.array([each for each, _ in both])
    return np.asarray(mean), 1 / math.sqrt(float(weights.sum()))


def _of_table(rough: Rough, counted: Grid) -> tuple[float, float]:
    """The same of a kernel's table: every two who stand out may be where it is least known."""
    farthest = farthest_off(rough.statistic, rough.grid)
    ((name, masses),), place = rough.masses.items(), rough.place
    even = float(masses @ farthest @ masses)
    if place is None or len(cut_places(counted)) != 1 or len(counted.axes) != 1:
        return float(farthest.max()), even
    coarse = np.bincount(place, weights=masses, minlength=counted.cells).astype(np.float64)
    width, doubt = widths(counted.axes[0]), math.sqrt(rough.variance) / rough.sizes[name]
    clear = standing_out(coarse, width, doubt, 1) > 0
    crowd = coarse * np.where(clear, standing_out(coarse, width, 0.0, 1), 0.0)
    starts = np.searchsorted(place, np.arange(counted.cells))
    worst = np.maximum.reduceat(np.maximum.reduceat(farthest, starts, axis=0), starts, axis=1)
    return float(crowd @ worst @ crowd), even
