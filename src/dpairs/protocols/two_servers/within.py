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
from ...statistics.base import TWO_SIDED
from ...statistics.separable import Separable
from ...statistics.vertices import cell_means
from .forms import within_kernel
from .hidden import compared_classes
from .law import ErrorLaw
from .sampling import Rough
from .standing_out import (
    Vector,
    cut_places,
    hiding_places,
    pairs_by_noise,
    possibly_crowded,
    standing_out,
    widths,
)

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
    if rough.finer == 0 or rough.statistic.arity > 2 or two_columns(rough):
        return 0.0
    kernel = within_kernel(rough.statistic, rough.bins)
    if kernel is None:
        return 0.0
    if isinstance(kernel, Separable):
        own = scale if rough.statistic.form_count == 1 else 1.0
        seen, even = (own * each for each in _of_classes(rough))
        if rough.statistic.ties_apart:
            # Equal values are seen nowhere: all pairs of one bin may be such.
            seen, even = own * _in_one_cell(rough), -math.inf
    else:
        seen, even = _of_table(rough, counted, kernel)
        jumps = rough.statistic.lipschitz(()) is None
        seen, even = (scale * (seen + even if jumps else seen), scale * even)
    if within is None:
        return seen
    scaled = Within(scale * within.value, scale**2 * within.variance, within.laplace)
    return scaled.most if scaled.clearly_above(even) else min(seen, scaled.most)


def two_columns(rough: Rough) -> bool:
    """Whether what bins hide of pairs is that of a tau-a."""
    return len(cut_places(rough.grid)) > 1 and rough.statistic.within(rough.bins) is not None


def near_in_two(rough: Rough, within: Within | None, released: float) -> float:
    """A bound of the bias of a tau-a, whose pairs in one bin of either column are made up for by near ones.

    Let m be the mean sign of the pairs that bins tell apart, a share 1 - W. If columns go together about a
    line, with a spread of sqrt(1 - m^2) about it, the mean sign of two people bends over distances such as
    that, and a bin is about W / 2 wide: so about a share W / (2 sqrt(1 - m^2)) of W m may be made up for
    wrongly. This is a rule of thumb, which nothing proves for every smooth density; for normal, exponential,
    uniform and Student's columns, up to 20 times as narrow as their domain, bins hid less. Where W is clearly
    larger than people who lie evenly in coarse cells have it, they may lie anyhow there: then all of W counts
    at the rate at which the bins see pairs of one coarse cell go together.
    """
    seen = rough.hidden(released)
    if not rough.finer_along or rough.place is not None:
        return seen
    even = _evenly_in_two(rough)
    if rough.merging:
        return seen if within is None else min(seen, within.most)
    share = even if within is None else min(max(within.value, even), 1.0)
    mean = min(abs(released) / max(1 - share, TINY), 1.0)
    bent = share / (2 * math.sqrt(max(1 - mean**2, TINY)))
    smooth = max(seen, share * mean * min(bent, 1.0))
    if within is None:
        return max(smooth, rough.crammed(released))
    if within.clearly_above(even):
        smooth = max(smooth, within.most * rough.rate(released, share))
    return min(smooth, within.most)


def order_hides(rough: Rough) -> float:
    """The pairs that share a bin of two columns, whose order near pairs would tell, if that were released."""
    if rough.merging or rough.place is not None or rough.statistic.order(rough.bins) is None:
        return 0.0
    return _evenly_in_two(rough)


def _evenly_in_two(rough: Rough) -> float:
    """The pairs that share a bin of either column, if people lie evenly in coarse cells."""
    (masses,), shape = rough.masses.values(), [axis.bins for axis in rough.grid.axes]
    total, both = 0.0, masses.reshape(shape) ** 2
    for place, near in rough.finer_along.items():
        along = masses.reshape(shape).sum(axis=1 - place)
        total += float(along**2 @ near)
        both = both * (near[:, None] if place == 0 else near[None, :])
    return total - float(both.sum()) if len(rough.finer_along) > 1 else total


def _of_classes(rough: Rough) -> tuple[float, float]:
    """Half of the pairs of both classes that may share a bin, of those who stand out; and of even people."""
    noise = {name: math.sqrt(rough.variance) / people for name, people in rough.sizes.items()}
    classes = compared_classes(rough.statistic, rough.grid, rough.masses, noise)
    if classes is None:
        return 0.5, 0.0
    (place,) = cut_places(rough.grid)
    (first, second), deviations = classes
    width = widths(rough.grid.axes[place])
    near = rough.finer_along[place]
    both = tuple(zip((first, second), deviations, strict=True))
    # A small class is too noisy to tell what the other one shows, or both together do.
    spike = np.any(
        [standing_out(each, width, deviation, 1) > 0 for each, deviation in (*both, _together(both))], axis=0
    )
    # Two cells side by side may be a hump.
    clear = spike | np.any([standing_out(each, width, deviation) > 0 for each, deviation in both], axis=0)
    crowds = [np.where(clear, each * standing_out(each, width, 0.0), 0.0) for each, _ in both]
    # Who stands out may be in one bin, at either end of it, beside those who lie evenly there.
    others = crowds[0] * (second - crowds[1]) + (first - crowds[0]) * crowds[1]
    off = float(crowds[0] @ crowds[1] + near @ others) / 2
    off += pairs_by_noise((np.where(spike, crowds[0], 0.0), np.where(spike, crowds[1], 0.0)), deviations) / 2
    return off, float(first @ (near * second)) / 2


def noise_hides(rough: Rough) -> float:
    """How far crowds in one bin each may move comparisons if noise alone hides them.

    What stands out of k cells is seen through noise of two counts each, of a variance v. With another
    noise w of a second class, the pairs of those who stand out are known up to a variance of k v w, which an
    AUC counts half; within one column of a plane, as in `standing_out.possibly_crowded`.
    """
    if not rough.finer_along or rough.place is not None or rough.statistic.needs != "ordered":
        return 0.0
    if rough.statistic.arity > 2:
        return 0.0
    noise = {name: math.sqrt(rough.variance) / people for name, people in rough.sizes.items()}
    if len(cut_places(rough.grid)) > 1:
        ((name, masses),) = rough.masses.items()
        return possibly_crowded(rough.grid, masses, noise[name], [0.0] * len(hiding_places(rough.grid)))
    classes = compared_classes(rough.statistic, rough.grid, rough.masses, noise)
    if classes is None:
        return 0.0
    (first, _), (one, two) = classes
    return min(TWO_SIDED * math.sqrt(first.size) * one * two, 0.5)


def _in_one_cell(rough: Rough) -> float:
    """Half of the pairs of both classes that share a coarse cell."""
    classes = compared_classes(rough.statistic, rough.grid, rough.masses, dict.fromkeys(rough.masses, 0.0))
    return 0.5 if classes is None else float(classes[0][0] @ classes[0][1]) / 2


def _together(both: tuple[tuple[Vector, float], ...]) -> tuple[Vector, float]:
    """The mean of two noisy distributions that is least noisy, and its noise."""
    weights = np.array([1 / max(deviation, TINY) ** 2 for _, deviation in both])
    mean = weights / weights.sum() @ np.array([each for each, _ in both])
    return np.asarray(mean), 1 / math.sqrt(float(weights.sum()))


def _of_table(rough: Rough, counted: Grid, farthest: Vector) -> tuple[float, float]:
    """The same of a kernel's table: every two who stand out may be where it is least known."""
    ((name, masses),), place = rough.masses.items(), rough.place
    even = float(masses @ farthest @ masses)
    if place is None or len(cut_places(counted)) != 1 or len(counted.axes) != 1:
        return float(farthest.max()), even
    coarse = np.bincount(place, weights=masses, minlength=counted.cells).astype(np.float64)
    width, deviation = widths(counted.axes[0]), math.sqrt(rough.variance) / rough.sizes[name]
    # A hump of two cells is seen in the bins, where these are finer.
    most = 1 if counted.cells < rough.grid.cells else 2
    clear = standing_out(coarse, width, deviation, most) > 0
    crowd = coarse * np.where(clear, standing_out(coarse, width, 0.0, most), 0.0)
    starts = np.searchsorted(place, np.arange(counted.cells))
    worst = np.maximum.reduceat(np.maximum.reduceat(farthest, starts, axis=0), starts, axis=1)
    return float(crowd @ worst @ crowd), even


def unseen_in_table(rough: Rough, counted: Grid) -> float:
    """The sampling variance at most that coarse cells hide of a kernel's table.

    Those who stand out of a cell, or of two side by side, may be anywhere in it. Their mean kernel is then
    spread over an interval of up to the kernel's range over pairs of cells, averaged over those who stand out
    beside them; a number from an interval of length l has a variance of at most l^2 / 4.
    """
    place = rough.place
    if not rough.statistic.from_table or rough.statistic.arity > 2 or place is None or len(counted.axes) != 1:
        return 0.0
    if not rough.finer_along:
        return 0.0
    ((name, masses),), (form,) = rough.masses.items(), rough.statistic.forms(rough.grid, "average")
    coarse = np.bincount(place, weights=masses, minlength=counted.cells).astype(np.float64)
    deviation = math.sqrt(rough.variance) / rough.sizes[name]
    crowd = coarse * standing_out(coarse, widths(counted.axes[0]), deviation)
    starts = np.searchsorted(place, np.arange(counted.cells))
    low, high = form.matrix - form.uncertainty, form.matrix + form.uncertainty
    for axis in (0, 1):
        low, high = np.minimum.reduceat(low, starts, axis), np.maximum.reduceat(high, starts, axis)
    least, most = rough.statistic.range(())
    length = (np.minimum(high, most) - np.maximum(low, least)) @ crowd
    # A derivative has twice the mean kernel.
    return float(crowd @ length**2) / rough.sizes[name]


def at_few_values(rough: Rough, counted: Grid) -> float:
    """The variance of a kernel without jumps, if all of a coarse cell are at one place of their bins.

    People at whole numbers are not seen as such. Where psi rises by d over a bin, a cell of mass p at a
    place of its bins that chance chooses adds a variance of p^2 d^2 / 12.
    """
    place = rough.place
    if (
        not rough.statistic.from_table
        or rough.statistic.arity > 2
        or place is None
        or len(rough.grid.axes) > 1
    ):
        return 0.0
    if not rough.finer_along or rough.statistic.lipschitz(()) is None:
        return 0.0
    ((name, masses),) = rough.masses.items()
    rises = np.gradient(cell_means(rough.grid, rough.linear.functions[name])) ** 2
    crowd = np.bincount(place, weights=masses, minlength=counted.cells)
    return float(np.bincount(place, weights=masses * rises, minlength=counted.cells) @ crowd) / 12
