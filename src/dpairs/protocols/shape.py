"""What people may look like, and the error to expect of a study of such people."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import astuple, dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain
from ..data.grids import Axis, Grid
from ..statistics import Statistic
from ..statistics.fixed_length import reach
from ..statistics.linear import Linear, Linearizer, nominal
from ..statistics.vertices import cell_means
from .tree.haar import HaarBasis

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Prediction:
    """The parts of an error: independent of each other, so their squares add up.

    ``quantization`` is what cells do to the value of these people; ``bias`` is what the interval will allow
    for, because the same reports could come from others.
    """

    privacy: float
    sampling: float
    second_order: float
    quantization: float
    bias: float = 0.0

    @property
    def noise(self) -> float:
        """What averages out over repetitions."""
        return math.sqrt(self.privacy**2 + self.sampling**2 + self.second_order**2)

    @property
    def half_width(self) -> float:
        """Of the 95% interval, about."""
        return reach(self.noise, max(self.bias, self.quantization), 0.95)

    @property
    def total(self) -> float:
        return math.hypot(self.privacy, self.sampling, self.second_order, self.quantization)

    def times(self, factor: float) -> Prediction:
        """The same in another unit."""
        return Prediction(*(factor * part for part in astuple(self)))

    def to_json(self) -> dict[str, float | None]:
        return {
            "standard_error": self.total,
            "privacy": self.privacy,
            "sampling": self.sampling,
            "second_order": self.second_order,
            "quantization": self.quantization,
            "bias": self.bias if math.isfinite(self.bias) else None,
        }


@dataclass(frozen=True, eq=False)
class Shape:
    """Shares of the people of each stratum in the cells of a grid, and what the statistic makes of them."""

    statistic: Statistic
    domains: tuple[Domain, ...]
    grid: Grid
    masses: dict[str, Vector]
    name: str
    assumed: bool = False
    """Whether nobody knows: then people may lie unevenly within cells."""
    guessed: bool = False
    """Whether it is one of several that stand for people of whom nothing is known."""

    @cached_property
    def linearizer(self) -> Linearizer:
        """Of the statistic on these cells."""
        return self.statistic.linearizer(self.grid)

    @cached_property
    def linear(self) -> Linear:
        """The statistic's value and derivative here; people enter no prediction but as a factor."""
        return self.linearizer.at(self.masses, nominal(self.statistic))

    @cached_property
    def functions(self) -> dict[str, Vector]:
        """The derivative's mean over each cell, by stratum."""
        return {name: cell_means(self.grid, values) for name, values in self.linear.functions.items()}

    @cached_property
    def influence_variances(self) -> dict[str, float]:
        """The derivative's variance over people: n times what the choice of people does to the value."""
        variances = {}
        for name, values in self.functions.items():
            masses = self.masses[name]
            variances[name] = max(float(masses @ values**2) - float(masses @ values) ** 2, 0.0)
        return variances

    @cached_property
    def kernel(self) -> Vector:
        """The kernel on the cells; of several forms, their sum along the gradient."""
        forms = np.array([form.matrix for form in self.statistic.forms(self.grid, "average")])
        gradient = np.ones(1)
        if len(forms) > 1:
            gradient = self.statistic.finish(self.linear.forms, nominal(self.statistic)).gradient
        along: Vector = np.tensordot(gradient, forms, axes=1)
        return along

    @cached_property
    def haar(self) -> HaarBasis:
        """The nodes of a tree over the cells."""
        return HaarBasis.of(self.grid)

    @cached_property
    def crossed(self) -> Vector:
        """The kernel between the contrasts of these nodes."""
        between: Vector = self.haar.contrasts.T @ self.kernel @ self.haar.contrasts
        return between

    def sampling(self, sizes: Mapping[str, int]) -> float:
        """The variance that the choice of people causes, in the derivative's unit."""
        return sum(self.influence_variances[name] / people for name, people in sizes.items())

    @cached_property
    def scale(self) -> float:
        """From the derivative's unit to the statistic's: a statistic of one form is finished afterwards."""
        if len(self.linear.forms) > 1:
            return 1.0
        finished = self.statistic.finish(self.linear.forms, nominal(self.statistic))
        return abs(float(finished.gradient[0]))

    def for_people(self, sizes: Mapping[str, int]) -> float:
        """From an error of people without number to that of so many, of a statistic that counts people."""
        if not self.statistic.counts_people:
            return 1.0
        many, so_many = (
            self.statistic.finish(self.linear.forms, each).gradient[0]
            for each in (nominal(self.statistic), sizes)
        )
        return abs(float(so_many / many))


def parts(
    shape: Shape, privacy: float, sampling: float, second: float, off: float = 0.0, bias: float = 0.0
) -> Prediction:
    """From variances in the derivative's unit, and differences in the statistic's."""
    return Prediction(
        shape.scale * math.sqrt(max(privacy, 0.0)),
        shape.scale * math.sqrt(max(sampling, 0.0)),
        shape.scale * math.sqrt(max(second, 0.0)),
        abs(off),
        bias,
    )


def _overlap(fine: Axis, coarse: Axis) -> Matrix:
    """The share of each fine bin that lies in each coarse bin."""
    low, high, points = fine.geometry
    at, end, many = coarse.geometry
    if coarse.rounding == "random":
        return _rounded(fine, coarse)
    if (points == 1).all() and (many == 1).all():
        return np.eye(coarse.bins)
    gap = 0.0 if np.isinf(points[0]) else 1.0
    inner = np.minimum(end[:, None] + gap, high[None, :] + gap) - np.maximum(at[:, None], low[None, :])
    shares: Matrix = np.clip(inner, 0.0, None)
    shares /= shares.sum(axis=0)
    return shares


def _rounded(fine: Axis, points: Axis) -> Matrix:
    """The share of each fine bin that is rounded to each point."""
    low, high, _ = fine.geometry
    at = points.points
    starts, ends = np.maximum(at[:-1, None], low), np.minimum(at[1:, None], high)
    # A bin of one value has no extent: it lies between two points as a whole.
    gap = np.clip(np.searchsorted(at, low, side="right") - 1, 0, points.bins - 2)
    between = (np.arange(points.bins - 1)[:, None] == gap).astype(np.float64)
    wide = high > low
    between[:, wide] = np.clip(ends - starts, 0.0, None)[:, wide] / (high - low)[wide]
    up = between * ((starts + ends) / 2 - at[:-1, None]) / points.gaps[:, None]
    shares: Matrix = np.vstack([between - up, np.zeros(fine.bins)])
    shares[1:] += up
    return shares


def overlap(shape: Shape, grid: Grid) -> Matrix:
    """The share of each of the shape's cells that goes to each cell of ``grid``."""
    matrix: Matrix = np.ones((1, 1))
    for fine, coarse in zip(shape.grid.axes, grid.axes, strict=True):
        matrix = np.kron(matrix, _overlap(fine, coarse)).astype(np.float64)
    return matrix


def onto(shape: Shape, grid: Grid) -> dict[str, Vector]:
    """The shape's shares in other cells."""
    matrix = overlap(shape, grid)
    return {name: matrix @ masses for name, masses in shape.masses.items()}
