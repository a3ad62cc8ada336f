"""How far binning can have moved the answer: the largest bias that the counts of cells leave possible.

What a kernel can do within cells (`statistics.hidden`), or what random rounding adds (`statistics.rounded`),
at the estimated shares of the cells. Those are the decoded counts moved to the nearest distribution: noise
then makes shares of pairs in one cell larger, not smaller, on average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...statistics import ErrorOf, Finished
from ..manipulation import Reach, at_vertices
from .rounding import amounts, excess, shares

if TYPE_CHECKING:
    from .protocol import Histogram

Vector = NDArray[np.float64]


def binning_bias(
    protocol: Histogram,
    vectors: Sequence[Vector],
    forms: Vector,
    finished: Finished,
    sizes: Mapping[str, int],
    error: ErrorOf,
    bounds: Sequence[float] | None = None,
) -> Reach:
    """How far from the value the truth may be; ``error`` gives the standard error along a gradient.

    ``bounds`` are those of what random rounding has added to the forms, where it only adds.
    """
    if bounds is not None:
        return below_forms(protocol, forms, bounds, sizes)
    masses = tuple(shares(protocol, counts) for counts in vectors)
    noise = np.array([error(each) for each in np.eye(len(forms))]) if len(forms) > 1 else np.zeros(1)
    return hidden_bias(protocol, masses, forms, finished, sizes, noise)


def below_forms(
    protocol: Histogram, forms: Vector, bounds: Sequence[float], sizes: Mapping[str, int]
) -> Reach:
    """How far the value moves if the forms are smaller by up to these bounds."""
    ends = [Reach(each, 0.0) for each in bounds]
    return at_vertices(lambda each: protocol.statistic.finish(each, sizes).value, forms, ends)


def hidden_bias(
    protocol: Histogram,
    masses: tuple[Vector, ...],
    forms: Vector,
    finished: Finished,
    sizes: Mapping[str, int],
    noise: Vector | None = None,
) -> Reach:
    """The same for given shares of the cells, and given standard errors of the forms."""
    statistic, grid = protocol.statistic, protocol.grid
    if grid.single and all(axis.rounding == "simple" for axis in grid.axes):
        return Reach(0.0, 0.0)
    if protocol.rounding == "random":
        added = excess(protocol, masses[0])
        if added is not None:
            return below_forms(protocol, forms, amounts(added, masses[0]), sizes)
        moved = np.full(len(forms), _rounding_bias(protocol, masses))
    else:
        known = np.zeros(len(forms)) if noise is None else noise
        ratio = statistic.hidden_ratio(grid, protocol.kernel, masses, finished, forms, known)
        if ratio is not None:
            return Reach(ratio, ratio)
        moved = statistic.hidden(grid, protocol.kernel, masses)
    if len(forms) == 1:
        off = abs(float(finished.gradient[0])) * float(moved[0])
        return Reach(off, off)
    reach = at_vertices(
        lambda each: statistic.finish(each, sizes).value, forms, [Reach(each, each) for each in moved]
    )
    return Reach(max(reach.down, reach.up), max(reach.down, reach.up))


def _rounding_bias(protocol: Histogram, masses: tuple[Vector, ...]) -> float:
    """Of random rounding: by the kernel's slope, or by pairs at the same point or at neighbouring ones.

    Two people between other points are rounded in the same order as they were.
    """
    slope = protocol.statistic.lipschitz(protocol.domains)
    axes = protocol.grid.axes
    if slope is not None:
        return slope * max(axis.width for axis in axes)
    low, high = protocol.statistic.range(protocol.domains)
    near = np.zeros((1, 1))
    for axis in axes:
        apart = np.abs(np.subtract.outer(np.arange(axis.bins), np.arange(axis.bins)))
        here = (
            (apart <= 1).astype(np.float64)
            if axis.rounding == "random"
            else np.zeros_like(apart, dtype=float)
        )
        near = 1 - np.kron(1 - near, 1 - here)
    return (high - low) * float(masses[0] @ near @ masses[-1])
