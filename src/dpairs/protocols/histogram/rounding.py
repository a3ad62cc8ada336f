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
    bins = protocol.grid.axes[0].bins
    return excess(protocol, np.full(bins, 1 / bins)) is not None


def _halfway(protocol: Histogram) -> Vector:
    """Everybody halfway between the two points that lie furthest apart, where rounding adds most."""
    axis = protocol.grid.axes[0]
    masses = np.zeros(axis.bins)
    masses[axis.gaps.argmax() + np.arange(2)] = 0.5
    return masses


def amounts(matrices: Sequence[Matrix], masses: Vector) -> list[float]:
    return [float(masses @ matrix @ masses) for matrix in matrices]


def most(protocol: Histogram, people: float) -> list[float]:
    """The amounts of so many people among whom rounding adds most."""
    there = _halfway(protocol)
    return [_apart(people) * each for each in amounts(excess(protocol, there) or (), there)]


def _apart(people: float) -> float:
    """How many times the mean over pairs of different people is that over all pairs, themselves included."""
    return people / (people - 1)


def told(protocol: Histogram, matrices: Sequence[Matrix], counts: Vector) -> list[float]:
    """The amounts at the nearest distribution, or by the mean over pairs of reports where that is more.

    Of people who are all between two points noise makes the nearest distribution lack some: it has nobody
    below 0 elsewhere, and so too many there. Amounts of so few would be too small on average.
    """
    people = float(counts.sum())
    least = [_apart(people) * each for each in amounts(matrices, shares(protocol, counts))]
    means = [_apart(people) * protocol.average(matrix).mean([counts]) for matrix in matrices]
    ends = zip(least, means, most(protocol, people), strict=True)
    return [max(low, min(mean, high)) for low, mean, high in ends]


def lower_end(
    protocol: Histogram,
    forms: Vector,
    added: Sequence[Matrix],
    bounds: Sequence[float],
    sizes: Mapping[str, int],
) -> Matrix:
    """The kernel of D - B, along the gradient there: that of a ratio is smaller where less is divided."""
    least = forms - bounds
    least[0] = max(least[0], 0.0)
    gradient = protocol.statistic.finish(least, sizes).gradient
    kernels = [form.matrix - more for form, more in zip(protocol.forms, added, strict=True)]
    return np.tensordot(gradient, np.array(kernels), axes=1)


def middle_reach(protocol: Histogram, vectors: Sequence[Vector]) -> list[Reach]:
    """How far lies move the forms through what `middle` takes off: now ``up``, and between 0 and its most."""
    added = excess(protocol, shares(protocol, vectors[0]))
    if added is None:
        return [Reach(0.0, 0.0)] * len(protocol.forms)
    now = told(protocol, added, vectors[0])
    largest = most(protocol, float(vectors[0].sum()))
    return [Reach((b - a) / 2, a / 2) for a, b in zip(now, largest, strict=True)]
