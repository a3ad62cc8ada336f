"""How much less than a good one the function of a poor pilot of the plane sees of how two columns depend.

Let the people depend more than the pilot by t times d = g1 s1 x g2 s2: the pilot's shares g of each column's
bins, weighted by their scores s, the shares below less those above (the dependence of Farlie, Gumbel and
Morgenstern). They have t <psi, d> more of tau, psi being the derivative at the pilot. At another pilot, off
by the noise of a first round, it is (1 + G) times as much. Imagined rounds start from a pilot, and where its
columns do not depend they never show this error. It grows with what the second round finds, the correction
c: the variance of what is missed has E(G^2) c^2 more.
"""

from __future__ import annotations

import numpy as np

from ...formats.canonical import agreed
from ...statistics.linear import Linearizer
from .pilot import Pilot
from .pilot_copula import scores


def gain_error(linearizer: Linearizer, pilot: Pilot) -> float:
    """The mean of G^2 over imagined rounds; nothing at a pilot that tells nobody apart in a column."""
    ((stratum, masses),) = pilot.masses.items()
    columns = masses.reshape([axis.bins for axis in pilot.grid.axes])
    first, second = (shares * scores(shares) for shares in (columns.sum(axis=1), columns.sum(axis=0)))
    # A derivative is the kernel's mean over its pilot, so <psi, d> is this vector's mean over the pilot.
    along = linearizer.matrices[0] @ np.outer(first, second).reshape(-1)
    seen = float(masses @ along)
    if seen <= 0:
        return 0.0
    imagined = np.array([each[stratum] for each in pilot.imagined])
    return agreed(float(np.mean((imagined @ along / seen - 1) ** 2)))
