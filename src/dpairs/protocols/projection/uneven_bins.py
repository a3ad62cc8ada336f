"""Bins of the plane within which people do not lie evenly: what that does together with a pilot's errors.

The derivative is linear between a bin's edges, as if people lay evenly there.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Axis, Grid
from ...statistics import Linear
from ...statistics.binned import several
from ...statistics.vertices import cell_means
from .pilot import Pilot

Vector = NDArray[np.float64]


def slab_deviation(pilot: Pilot) -> float:
    """What errors e of the pilot do together with people who lie unevenly within bins of the plane.

    The derivative is linear between a bin's edges. If all people of a bin i of one column have one value, at
    the share (1 + t) / 2 of its width, it is off by t C_ij at the cells (i, j), where C_ij is the share of
    the bin's people who are below j in the other column less that above; and the remainder has 2 sum_ij e_ij
    t_i C_ij in it, likewise for the other column. The values lie anywhere: t is even on [-1, 1], of variance
    1/3, either in each bin by itself, or the same in all, as of round numbers. The larger of both counts. The
    errors are those of imagined rounds.
    """
    (stratum,) = pilot.masses
    masses = pilot.masses[stratum]
    errors = np.array([each[stratum] for each in pilot.imagined]) - masses
    total = 0.0
    for off in _moved_within(pilot.grid, masses, errors):
        total += float(max((off**2).sum(axis=1).mean(), (off.sum(axis=1) ** 2).mean()))
    return 2 * math.sqrt(total / 3)


def _moved_within(grid: Grid, masses: Vector, errors: NDArray[np.float64]) -> Iterator[NDArray[np.float64]]:
    """For every column, the sum over j of e_ij C_ij for errors e, a row each, and all bins i."""
    shape = [axis.bins for axis in grid.axes]
    table, rows = masses.reshape(shape), errors.reshape(-1, *shape)
    for place, axis in enumerate(grid.axes):
        along = 1 - place
        below = np.cumsum(table, axis=along) - table
        contrast = 2 * below + table - table.sum(axis=along, keepdims=True)
        yield (rows * contrast).sum(axis=1 + along) * several(axis)


def at_ends(pilot: Pilot, linear: Linear) -> float:
    """How much of a correction is wrong if people lie at the ends of the domain, and not evenly beside them.

    Values beyond a domain are moved there. So t is -1 and 1 (see `slab_deviation`) for people of the first
    and the last bin, as far as it is denser than the bin beside it, and one error is not random: the second
    round's correction says how far the pilot is off along its function psi. The distribution nearest to the
    pilot g with a correction c is g (1 + c (psi - mean) / variance), in the chi-square distance. This is the
    remainder's 2 sum_ij e_ij t_i C_ij of that error, for c = 1.
    """
    (stratum,) = pilot.masses
    masses = pilot.masses[stratum]
    values = cell_means(pilot.grid, linear.functions[stratum])
    around = values - float(values @ masses)
    variance = float(masses @ around**2)
    if variance <= 0:
        return 0.0
    table = masses.reshape([axis.bins for axis in pilot.grid.axes])
    moved = _moved_within(pilot.grid, masses, masses * around / variance)
    return 2 * abs(
        sum(
            float(_excess(axis, table.sum(axis=1 - place)) @ off[0])
            for place, (axis, off) in enumerate(zip(pilot.grid.axes, moved, strict=True))
        )
    )


def _excess(axis: Axis, shares: Vector) -> Vector:
    """The part of the first and of the last bin's people beyond those of a bin as dense as the next one."""
    excess = np.zeros(axis.bins)
    if axis.bins > 1:
        low, high, _ = axis.geometry
        for end, beside, side in ((0, 1, -1.0), (-1, -2, 1.0)):
            even = shares[beside] * (high - low)[end]
            here = shares[end] * (high - low)[beside]
            excess[end] = side * max(1 - even / here, 0.0) if here > 0 else 0.0
    return excess
