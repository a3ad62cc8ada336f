"""How much less than a good one the function of a poor pilot of the plane sees of how two columns depend.

Let the people depend more than the pilot by t times d = g1 s1 x g2 s2: the pilot's shares g of each column's
bins, weighted by their scores s, the shares below less those above (the dependence of Farlie, Gumbel and
Morgenstern). They have t <psi, d> more of tau, psi being the derivative at the pilot. At another pilot, off
by the noise of a first round, it is (1 + G) times as much. Imagined rounds start from a pilot, and where its
columns do not depend they never show this error. It grows with what the second round finds, the correction
c: the variance of what is missed has E(G^2) c^2 more.

A pilot has no negative shares, so it has people where nobody lies, and real people seem to be closer together
than they are. Imagined rounds start from there and show less of that. But its function is nearly a product of
both columns' scores. It sees of each column the share that these scores differ by among people, of what they
differ by in the pilot: for a distribution function F of the people and cells of shares g,

    3/2 E|s(x) - s(x')| = 6 sum_i g_i (mean of F (1 - F) over the cell i),

which is 1 where F is the pilot's own. Boxes as they were measured, some below nothing, say it without bias,
and imagined rounds say how precisely. So the variance of both columns' shares is what the first round leaves
open: E(G^2) is at least that, where a pilot of two columns of numbers is made of boxes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...formats.canonical import agreed
from ...statistics.linear import Linearizer
from .pilot import Pilot
from .pilot_cells import Parts
from .pilot_copula import scores

Vector = NDArray[np.float64]


def gain_error(linearizer: Linearizer, pilot: Pilot) -> float:
    """The mean of G^2 over imagined rounds; nothing at a pilot that tells nobody apart in a column."""
    ((stratum, masses),) = pilot.masses.items()
    columns = masses.reshape([axis.bins for axis in pilot.grid.axes])
    first, second = (shares * scores(shares) for shares in (columns.sum(axis=1), columns.sum(axis=0)))
    # A derivative is the kernel's mean over its pilot, so <psi, d> is this vector's mean over the pilot.
    along = linearizer.matrices[0] @ np.outer(first, second).reshape(-1)
    seen = float(masses @ along)
    imagined = np.array([each[stratum] for each in pilot.imagined])
    shown = float(np.mean((imagined @ along / seen - 1) ** 2)) if seen > 0 else 0.0
    return agreed(max(shown, pilot.seen_apart))


def seen_apart(measured: Parts, edges: Sequence[Vector], ends: Sequence[float], tables: Vector) -> float:
    """The variance of what a function sees of both columns, by imagined rounds as they were ``measured``.

    ``tables`` are the shares of the cells between the edges, the pilot's and then those of imagined rounds.
    """
    total, shape = 0.0, [cuts.size - 1 for cuts in edges]
    for column, (cuts, end) in enumerate(zip(edges, ends, strict=True)):
        pilot, *imagined = tables.reshape(-1, *shape).sum(axis=2 - column)
        people = np.concatenate([[0.0], np.cumsum(pilot)])
        off = [
            _apart(below, own) - _apart(people, own)
            for below, own in zip(measured.cumulated(column, cuts, end), imagined, strict=True)
        ]
        total += float(np.var(off, ddof=1))
    return total


def _apart(below: Vector, shares: Vector) -> float:
    """How much the scores of these cells differ among people of whom such shares lie below the edges.

    >>> round(_apart(np.array([0, 0.25, 0.5, 1]), np.array([0.25, 0.25, 0.5])), 9)
    1.0
    """
    low, high = below[:-1], below[1:]
    return float(6 * shares @ ((low + high) / 2 - (low**2 + low * high + high**2) / 3))
