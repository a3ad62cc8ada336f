"""A statistic of two people that a user's own package adds: the mean of the smaller of two values."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dpairs.data.domains import Domain, ends
from dpairs.data.grids import Grid
from dpairs.data.tables import Table
from dpairs.garbled.custom import Expression
from dpairs.garbled.encoding import FixedPoint
from dpairs.garbled.kernels import PairKernel
from dpairs.statistics import EVERYBODY, Form, Statistic
from dpairs.statistics.binned import distance
from dpairs.statistics.vertices import Vertices


@dataclass(frozen=True)
class MeanMinimum(Statistic):
    """min(x, x') = (x + x' - |x - x'|) / 2, on average over pairs."""

    name: ClassVar[str] = "mean_minimum"
    columns: ClassVar[tuple[str, ...]] = ("value",)

    def exact(self, table: Table) -> float:
        """In O(n log n): the i-th smallest value is the minimum of n - i pairs."""
        values = np.sort(table["value"].astype(np.float64))
        n = values.size
        return float(values @ np.arange(n - 1, -1, -1)) * 2 / n / (n - 1)

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        (axis,) = grid.axes
        low, high, _ = axis.geometry
        sums = axis.centres[:, None] + axis.centres[None, :]
        apart = distance(axis, kernel).matrix
        reach = np.minimum.outer(high, high) - np.minimum.outer(low, low)
        return (Form((sums - apart) / 2, reach / 2),)

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        vertices = Vertices(grid.axes[0])
        sums = vertices.places[:, None] + grid.axes[0].centres[None, :]
        return {EVERYBODY: ((sums - vertices.distance()) / 2,)}

    def pair_kernel(self, codes: tuple[FixedPoint, ...]) -> PairKernel | None:
        (code,) = codes
        if not code.spaced:
            return super().pair_kernel(codes)
        return Expression(lambda a, b: (a < b).choose(a, b), code.largest, step=code.unit)

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        return ends(domains[0])

    def lipschitz(self, domains: tuple[Domain, ...]) -> float | None:
        return 1.0


@dataclass(frozen=True)
class MinimumIn(MeanMinimum):
    """The same in another unit, which is its option."""

    unit: float = 1.0
    name: ClassVar[str] = "minimum_in"

    def exact(self, table: Table) -> float:
        return super().exact(table) / self.unit

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        return tuple(
            Form(form.matrix / self.unit, form.uncertainty / self.unit)
            for form in super().forms(grid, kernel)
        )

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        return {
            name: tuple(each / self.unit for each in forms) for name, forms in super().against(grid).items()
        }

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        low, high = super().range(domains)
        return low / self.unit, high / self.unit

    def lipschitz(self, domains: tuple[Domain, ...]) -> float | None:
        return 1 / self.unit
