"""Between which ends values are moved: where the interval is shortest."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ...errors import NotEstimable
from ...mechanisms import scalar_response
from ...statistics import Linear, Statistic
from ...statistics.fixed_length import reach
from ...statistics.linear import Linearizer, nominal
from ..tree.leaves import Leaves
from .pilot import TOO_NOISY, Narrowed, Pilot
from .winsorize import Ends, left_out, levelled

LEVEL = 0.95


def narrowed(
    statistic: Statistic, linearizer: Linearizer, pilot: Pilot, epsilon: float, later: float
) -> tuple[Pilot, Linear, Narrowed | None]:
    """The pilot of people moved between the best ends, the derivative there, and the ends.

    A wider range has more noise and leaves less out. ``later`` people answer in the second round.
    """
    if not pilot.narrowed:
        return pilot, linearizer.at(pilot.masses, nominal(statistic)), None
    even = np.linspace(0, 1, 65)
    response = scalar_response(epsilon, even, np.full(65, 1 / 65), (8,))
    noise = math.sqrt(float(response.variances(even).mean()) / max(later, 1.0))
    best: tuple[Pilot, Linear, Narrowed] | None = None
    shortest = math.inf
    for ends in pilot.narrowed:
        inside = pilot.within(ends)
        try:
            linear = linearizer.at(inside.masses, nominal(statistic))
        except NotEstimable:
            continue
        (values,) = linear.functions.values()
        axis = pilot.grid.axes[0]
        extent = float(np.ptp(levelled(axis, values, ends.first, ends.last)))
        bias = abs(left_out(axis, values, (ends.first, ends.last), ends.beyond))
        length = reach(noise * extent, bias, LEVEL)
        if length < shortest:
            best, shortest = (inside, linear, ends), length
    if best is None:
        raise NotEstimable(TOO_NOISY)
    return best


def as_values(ends: Ends, cuts: NDArray[np.float64], leaves: Leaves) -> Narrowed:
    """Ends among the leaves of a column as bins between these cuts, and as values."""
    low, high, _ = leaves.axis(0, cuts[:-1]).geometry
    values = np.append(low, high[-1])
    beyond, heavier = (
        tuple((share, float(np.interp(place, cuts, values))) for share, place in each)
        for each in (ends.beyond, ends.heavier)
    )
    first, last, start, stop = np.searchsorted(cuts, [ends.low, ends.high, *ends.sure]).tolist()
    bottom, top = (float(np.interp(place, cuts, values)) for place in (0.0, cuts[-1]))
    leaf = (top - bottom) / float(cuts[-1])
    means = tuple((bottom + leaf * mean, leaf * error) for mean, error in ends.means)
    tails = tuple((share, tuple(np.interp(places, cuts, values).tolist())) for share, places in ends.tails)
    return Narrowed(first, last, (start, stop), beyond, means, heavier, tails)
