"""Axes cut unevenly, and the values of their bins."""

from typing import Any

import numpy as np

from dpairs import Integers, Interval, Levels
from dpairs.data.grids import Axis, CutAxis

CUT_INTERVAL = CutAxis.at(Interval(-1, 3), [-1.0, -0.5, 0.0, 2.0, 3.0])
CUT_INTEGERS = CutAxis.at(Integers(-3, 12), [0, 1, 3, 4, 11, 16])
SINGLE = Axis(Levels([0, 0.5, 2, 7]), 4)
AXES: dict[str, Axis] = {
    "cut interval": CUT_INTERVAL,
    "cut integers": CUT_INTEGERS,
    "equal integers": Axis(Integers(5, 14), 4),
    "equal interval": Axis(Interval(0, 1), 3),
    "levels": SINGLE,
    "names": Axis(Levels(["bad", "fair", "good"]), 3),
}
LABEL = Axis(Levels((0, 1)), 2)


def values_of(axis: Axis, place: int) -> tuple[np.ndarray, np.ndarray]:
    """A bin's values with their shares; of an interval, nodes that average polynomials exactly."""
    low, high, points = (each[place] for each in axis.geometry)
    if np.isinf(points):
        nodes, weights = np.polynomial.legendre.leggauss(8)
        return low + (high - low) * (nodes + 1) / 2, weights / 2
    return np.linspace(low, high, int(points)), np.full(int(points), 1 / points)


def corner_values(axis: Axis) -> list[tuple[float, int, bool]]:
    """Value, bin and side of every vertex, by the definition."""
    found = []
    for place, (low, high, points) in enumerate(zip(*axis.geometry, strict=True)):
        found.append((low, place, False))
        if points > 1:
            found.append((high, place, True))
    return found


def everybody(columns: Any) -> list[tuple[float, ...]]:
    meshes = np.meshgrid(*columns, indexing="ij")
    return [tuple(row) for row in np.stack([mesh.reshape(-1) for mesh in meshes], axis=1).tolist()]
