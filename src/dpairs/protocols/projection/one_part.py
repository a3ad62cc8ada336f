"""Pairs within one part of the plane, or within one cell, count as ties.

A part is taken to be filled evenly. To the others in it, somebody at (u, v) of its sides is in order by
(2u - 1)(2v - 1). With w times this, pairs within a part are off by t - 2 w E (2u - 1)(2v - 1), t being their
tau: by 2 w if all have the value of a corner, as round numbers do where a domain is halved, and by 1 + 2 w
at most, if they are in order around one. So w is 0, which leaves ties as they are.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ...statistics import Linear, Statistic
from ...statistics.vertices import vertex_cells
from .pilot import Pilot


def between_parts(statistic: Statistic, linear: Linear, pilot: Pilot, gradient: float) -> Linear:
    """The derivative of the same statistic if pairs within one part or cell add nothing to its first form.

    In expectation an evenly filled part adds nothing either, so values and forms are the same.
    """
    if pilot.one_part is None:
        return linear
    ((stratum, values),) = linear.functions.items()
    masses = pilot.masses[stratum]
    matrix = statistic.against(pilot.grid)[stratum][0]
    partners = pilot.one_part / np.where(masses > 0, masses, 1.0)[:, None]
    less: NDArray[np.float64] = np.einsum("vc,vc->v", matrix, partners[vertex_cells(pilot.grid)])
    return replace(linear, functions={stratum: values - 2 * gradient * less})
