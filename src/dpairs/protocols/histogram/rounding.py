"""What random rounding adds to a mean: between nothing and a bound B of `statistics.rounded`.

The truth lies between D - B and D, for the mean D over decoded reports. Both are forms of the same reports.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..manipulation import Reach
from ..projection.pilot import on_simplex

if TYPE_CHECKING:
    from .protocol import Histogram

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


def shares(protocol: Histogram, counts: Vector) -> Vector:
    """The distribution nearest to the decoded counts."""
    return on_simplex(counts @ protocol.mechanism.decoder / counts.sum())


def excess(protocol: Histogram, masses: Vector) -> tuple[Matrix, ...] | None:
    """For each form, the form of the most that rounding adds; None where it does not only add."""
    axis = protocol.grid.axes[0]
    return None if axis.rounding == "simple" else protocol.statistic.excess(axis, masses)


def adds(protocol: Histogram) -> bool:
    """Whether rounding adds to all forms, or leaves them as they are."""
    return excess(protocol, _halfway(protocol)) is not None


def _halfway(protocol: Histogram) -> Vector:
    """Everybody halfway between two points, where rounding adds most."""
    return np.where(np.arange(protocol.grid.axes[0].bins) < 2, 0.5, 0.0)


def amounts(matrices: Sequence[Matrix], masses: Vector) -> list[float]:
    return [float(masses @ matrix @ masses) for matrix in matrices]


def lower_end(
    protocol: Histogram, forms: Vector, added: Sequence[Matrix], masses: Vector, sizes: Mapping[str, int]
) -> Matrix:
    """The kernel of D - B, along the gradient there: that of a ratio is smaller where less is divided."""
    least = forms - amounts(added, masses)
    least[0] = max(least[0], 0.0)
    gradient = protocol.statistic.finish(least, sizes).gradient
    kernels = [form.matrix - more for form, more in zip(protocol.forms, added, strict=True)]
    return np.tensordot(gradient, np.array(kernels), axes=1)


def middle_reach(protocol: Histogram, vectors: Sequence[Vector]) -> list[Reach]:
    """How far lies move the forms through what `middle` takes off: now ``up``, and between 0 and its most."""
    pair = [(excess(protocol, each), each) for each in (shares(protocol, vectors[0]), _halfway(protocol))]
    (now, most) = (None if matrices is None else amounts(matrices, masses) for matrices, masses in pair)
    if now is None or most is None:
        return [Reach(0.0, 0.0)] * len(protocol.forms)
    return [Reach((b - a) / 2, a / 2) for a, b in zip(now, most, strict=True)]
