"""Gini's mean difference, and the Gini coefficient of inequality made from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain, ends, extent
from ..data.grids import Axis, Grid
from ..data.tables import Table
from ..errors import BadParameter, BadValue, NotEnoughData, NotEstimable
from ..garbled.encoding import FixedPoint
from ..garbled.kernels import Distance, PairKernel
from .base import CERTAIN, EVERYBODY, ErrorOf, Finished, Form, Statistic, need_two
from .binned import distance, mean
from .fixed_length import fieller, relative_reach
from .hidden import (
    below_less_above,
    distance_hidden,
    distance_uneven,
    mean_hidden,
    widths,
    within_distance,
)
from .rounded import distance_excess
from .vertices import Vertices


def mean_difference(values: NDArray[Any]) -> float:
    """The mean of |x - x'| over pairs, from the sorted values in O(n log n)."""
    need_two(values.size)
    n = values.size
    ordered = np.sort(values).astype(np.float64)
    # Centred first: the weights sum to zero, and small numbers lose fewer digits.
    ordered -= ordered[n // 2]
    weights = np.arange(1 - n, n, 2, dtype=np.float64)
    return float(weights @ ordered) * 2 / n / (n - 1)


@dataclass(frozen=True)
class GiniMeanDifference(Statistic):
    """The mean of |x - x'| over pairs of people."""

    name: ClassVar[str] = "gini_mean_difference"
    columns: ClassVar[tuple[str, ...]] = ("value",)
    integrated: ClassVar[bool] = True

    def pair_kernel(self, codes: tuple[FixedPoint, ...]) -> PairKernel | None:
        if self.form_count > 1 or not codes[0].spaced:
            return super().pair_kernel(codes)
        return Distance(codes[0].largest, codes[0].unit)

    def exact(self, table: Table) -> float:
        """The mean difference of all values."""
        return mean_difference(table["value"])

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        """The distance between two people's values."""
        return (distance(grid.axes[0], kernel),)

    def hidden(self, grid: Grid, kernel: str, masses: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
        if kernel != "average":
            return super().hidden(grid, kernel, masses)
        return np.array([distance_hidden(grid.axes[0], masses[0])])

    def excess(self, axis: Axis, masses: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        return (distance_excess(axis, masses),)

    def uneven(
        self, grid: Grid, masses: NDArray[np.float64], shares: NDArray[np.float64]
    ) -> tuple[float, float]:
        return distance_uneven(grid.axes[0], masses, shares)

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        """The distance from a person's value."""
        return {EVERYBODY: (Vertices(grid.axes[0]).distance(),)}

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        """0 to the domain's extent."""
        return (0.0, extent(domains[0]))

    def bounds(self, domains: tuple[Domain, ...], sizes: Mapping[str, int]) -> tuple[float, float]:
        """Greatest with half of the people at each end."""
        people = max(sum(sizes.values()), 2)
        return (0.0, extent(domains[0]) / 2 * people / (people - 1))

    def lipschitz(self, domains: tuple[Domain, ...]) -> float | None:
        return 1.0


@dataclass(frozen=True)
class GiniCoefficient(GiniMeanDifference):
    """The mean difference times (n - 1) / (2 n mean): 0 when all have the same, near 1 when one has all."""

    name: ClassVar[str] = "gini_coefficient"
    integrated: ClassVar[bool] = False

    @property
    def form_count(self) -> int:
        """The distance, and the mean."""
        return 2

    def check_domains(self, domains: tuple[Domain, ...], points: bool = False) -> None:
        """Also refuse negative values, of which the coefficient makes no sense."""
        super().check_domains(domains, points)
        lowest, _ = ends(domains[0])
        if lowest < 0:
            raise BadParameter(f"{self.name} needs values of at least 0, but the domain begins at {lowest:g}")

    def exact(self, table: Table) -> float:
        """The Gini coefficient of all values."""
        values = table["value"]
        difference = mean_difference(values)
        if values.min() < 0:
            raise BadValue(f"column 'value' must hold values of at least 0 for {self.name}")
        if values.max() == 0:
            raise NotEnoughData(f"{self.name} is not defined when all values are 0")
        return difference * (values.size - 1) / (2 * float(values.sum(dtype=np.float64)))

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        """The distance, and the mean."""
        return (distance(grid.axes[0], kernel), mean(grid.axes[0]))

    def hidden(self, grid: Grid, kernel: str, masses: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
        return np.append(super().hidden(grid, kernel, masses)[:1], mean_hidden(grid.axes[0], masses[0]))

    def excess(self, axis: Axis, masses: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        """Random rounding keeps the mean, and adds nothing to it."""
        return (distance_excess(axis, masses), np.zeros((axis.bins, axis.bins)))

    def uneven_divisor(self, grid: Grid, masses: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
        """A cell's mean is anywhere in it, for those who may lie anyhow."""
        return mean_hidden(grid.axes[0], masses * shares) / float(masses @ grid.axes[0].centres)

    def hidden_ratio(
        self,
        grid: Grid,
        kernel: str,
        masses: tuple[NDArray[np.float64], ...],
        finished: Finished,
        forms: NDArray[np.float64],
        noise: NDArray[np.float64],
    ) -> float | None:
        """Of D / 2m at its estimate G: |D' - 2 G m'| / 2m', in which a shift of a cell's mean partly cancels.

        That is the linear change along the gradient times m / m', for the least mean m' that is possible.
        """
        if kernel != "average":
            return None
        axis, shares = grid.axes[0], masses[0]
        along, average = finished.gradient, float(forms[1])
        least = average - mean_hidden(axis, shares)
        if least <= CERTAIN * float(noise[1]):
            raise NotEstimable(
                f"the cells leave it possible that everybody has 0, of which {self.name} is not defined: the "
                f"domain is too wide for so few bins"
            )
        shifts = np.abs(2 * along[0] * below_less_above(shares) + along[1])
        linear = float(shares * widths(axis) / 2 @ shifts) + abs(along[0]) * within_distance(axis, shares)
        return float(linear * average / least)

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        """The distance from a person's value, and the mean."""
        vertices = Vertices(grid.axes[0])
        return {EVERYBODY: (vertices.distance(), vertices.mean())}

    def finish(self, forms: NDArray[np.float64], sizes: Mapping[str, int]) -> Finished:
        """Half the relative mean difference."""
        difference, average = map(float, forms)
        n = sum(sizes.values())
        if average <= 0:
            raise NotEstimable(
                f"the estimated mean is {average:.3g}, not above 0: too few people for this epsilon"
            )
        scale = (n - 1) / (2 * n * average)
        return Finished(difference * scale, np.array([scale, -difference * scale / average]))

    def divisors(self, forms: NDArray[np.float64]) -> dict[str, tuple[float, int]]:
        return {"the mean": (float(forms[1]), 1)}

    def undefined_at(self, grid: Grid) -> NDArray[np.int64]:
        """Where everybody may have 0."""
        return np.flatnonzero(grid.axes[0].geometry[0] == 0)

    def divisor_slack(self, forms: NDArray[np.float64], error: ErrorOf) -> float:
        """For studies that are not refused: of a mean near 0 only those are told that overestimate it."""
        super().divisor_slack(forms, error)
        return fieller([relative_reach(float(forms[1]), error(np.array([0.0, 1.0])), CERTAIN, 0.95)])

    def details(
        self, forms: NDArray[np.float64], sizes: Mapping[str, int], error: ErrorOf
    ) -> dict[str, float]:
        """The mean difference and the mean that the coefficient is made of."""
        return {"gini_mean_difference": float(forms[0]), "mean": float(forms[1])}

    def exact_details(self, table: Table) -> dict[str, float]:
        """The mean difference and the mean."""
        values = table["value"]
        return {"gini_mean_difference": mean_difference(values), "mean": float(values.mean(dtype=np.float64))}

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        return (0.0, 1.0)

    def bounds(self, domains: tuple[Domain, ...], sizes: Mapping[str, int]) -> tuple[float, float]:
        return (0.0, 1.0)

    def lipschitz(self, domains: tuple[Domain, ...]) -> float | None:
        """None: a ratio of two averages has no kernel of its own."""
        return None
