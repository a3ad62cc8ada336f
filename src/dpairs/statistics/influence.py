"""A function of one person's values, small enough for a study file: linear between the vertices of cells."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..data.grids import Axis, CutAxis, Grid
from ..errors import BadFile
from ..formats.canonical import agreed
from ..randomness import SystemRandomness
from .vertices import Vertices, cell_means, vertex_shape

STEPS = 2**16 - 1
"""Heights are whole numbers from 0 to STEPS: two bytes each, the higher first."""


@dataclass(frozen=True, eq=False)
class Influence:
    """v from 0 to 1, given at every vertex of the cells of ``grid`` in STEPS-ths.

    The influence function is ``low + (high - low) v``; its range is the analyst's, since nobody who answers
    needs it.
    """

    grid: Grid
    heights: NDArray[np.int64]

    @classmethod
    def of(cls, grid: Grid, values: NDArray[np.float64]) -> tuple[Influence, tuple[float, float]]:
        """The influence through ``values`` at the vertices, to the nearest step; and its range."""
        low, high = agreed(float(values.min())), agreed(float(values.max()))
        extent = high - low
        heights = np.round((values - low) / extent * STEPS) if extent > 0 else np.zeros_like(values)
        return cls(grid, np.clip(heights, 0, STEPS).astype(np.int64)), (low, high)

    @property
    def cells(self) -> NDArray[np.float64]:
        """The mean of v over each cell, for values that fall evenly into it."""
        return cell_means(self.grid, self.heights) / STEPS

    @cached_property
    def _table(self) -> NDArray[np.float64]:
        return self.heights.reshape(vertex_shape(self.grid)).astype(np.float64)

    @cached_property
    def _ends(self) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """The first and the last vertex of every bin, for each axis."""
        tops = [Vertices(axis).top for axis in self.grid.axes]
        return [(first := np.flatnonzero(~top), np.append(first[1:], top.size) - 1) for top in tops]

    def __call__(self, columns: Sequence[Any], names: Sequence[str]) -> NDArray[np.float64]:
        """V at each person's values: a number in [0, 1]."""
        table, ends = self._table, []
        for (first, last), axis, values, name in zip(self._ends, self.grid.axes, columns, names, strict=True):
            bins, through = _locate(axis, values, name)
            ends.append(((first[bins], 1 - through), (last[bins], through)))
        total = np.zeros(ends[0][0][0].size)
        for sides in product(*ends):
            total += math.prod(weight for _, weight in sides) * table[tuple(vertex for vertex, _ in sides)]
        return np.clip(total / STEPS, 0.0, 1.0)

    def to_json(self) -> str:
        """Its heights; the cells are written once for all strata."""
        return base64.b64encode(self.heights.astype(">u2").tobytes()).decode()

    @classmethod
    def from_json(cls, grid: Grid, heights: Any) -> Influence:
        vertices = int(np.prod(vertex_shape(grid)))
        try:
            words = base64.b64decode(heights, validate=True)
        except (TypeError, ValueError):
            raise BadFile("a function's heights are 16-bit numbers in base64") from None
        if len(words) != 2 * vertices:
            raise BadFile(f"a function on these cells has {vertices} heights")
        return cls(grid, np.frombuffer(words, dtype=">u2").astype(np.int64))


def _locate(axis: Axis, values: Any, column: str) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The bin of each value, and how far through its bin it lies."""
    if isinstance(axis, CutAxis):
        return axis.locate(values, column)
    codes = axis.place(values, column, SystemRandomness())
    return codes, np.zeros(codes.size)


def variance_shares(
    masses: Mapping[str, NDArray[np.float64]], extents: Mapping[str, float], people: Mapping[str, float]
) -> tuple[NDArray[np.float64], float]:
    """How much each stratum's cells count in the variance of a sum over strata, and what all add up to.

    A stratum adds the square of its function's range over its people.
    """
    scales = {name: extent**2 / people[name] for name, extent in extents.items()}
    total = sum(scales.values()) or 1.0
    return np.concatenate([masses[name] * (scales[name] / total) for name in extents]), total
