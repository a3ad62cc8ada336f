"""The sample variance as a statistic over pairs: the mean of (x - x')^2 / 2."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain, extent
from ..data.grids import Axis, Grid
from ..data.tables import Table
from ..garbled.encoding import FixedPoint
from ..garbled.kernels import PairKernel, SquaredDistance
from .base import EVERYBODY, Form, Statistic, need_two
from .binned import half_square
from .hidden import half_square_hidden, half_square_uneven
from .rounded import half_square_excess
from .vertices import Vertices


@dataclass(frozen=True)
class Variance(Statistic):
    """The unbiased sample variance (divisor n - 1)."""

    name: ClassVar[str] = "variance"
    columns: ClassVar[tuple[str, ...]] = ("value",)

    def pair_kernel(self, codes: tuple[FixedPoint, ...]) -> PairKernel | None:
        (code,) = codes
        return SquaredDistance(code.largest, code.unit**2 / 2) if code.spaced else None

    def exact(self, table: Table) -> float:
        """The variance of all values."""
        need_two(table["value"].size)
        return float(np.var(table["value"].astype(np.float64), ddof=1))

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        return (half_square(grid.axes[0], kernel),)

    def hidden(self, grid: Grid, kernel: str, masses: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
        if kernel != "average":
            return super().hidden(grid, kernel, masses)
        return np.array([half_square_hidden(grid.axes[0], masses[0])])

    def excess(self, axis: Axis, masses: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        return (half_square_excess(axis, masses),)

    def uneven(
        self, grid: Grid, masses: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> tuple[float, float]:
        return half_square_uneven(grid.axes[0], masses, shares)

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        """Half the squared distance from a person's value."""
        return {EVERYBODY: (Vertices(grid.axes[0]).half_square(),)}

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        """0 to half the squared extent."""
        return (0.0, extent(domains[0]) ** 2 / 2)

    def bounds(self, domains: tuple[Domain, ...], sizes: Mapping[str, int]) -> tuple[float, float]:
        """Greatest with half of the people at each end."""
        people = max(sum(sizes.values()), 2)
        return (0.0, extent(domains[0]) ** 2 / 4 * people / (people - 1))

    def lipschitz(self, domains: tuple[Domain, ...]) -> float | None:
        """The domain's extent: the slope of (x - y)^2 / 2 at its ends."""
        return extent(domains[0])
