"""Collision (Renyi-2) entropy: minus the logarithm of the chance that two people agree."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain, Interval
from ..data.grids import Grid
from ..data.tables import Table
from ..errors import NotEstimable
from ..garbled.encoding import FixedPoint
from ..garbled.kernels import Equal, PairKernel
from .base import EVERYBODY, ErrorOf, Finished, Form, Statistic, need_two
from .binned import equal
from .bounded import Bounded
from .kendall import tied_pairs
from .separable import Separable, on_diagonal
from .vertices import Vertices


@dataclass(frozen=True)
class CollisionEntropy(Statistic):
    """-ln P(x = x') over pairs of different people, in nats."""

    name: ClassVar[str] = "collision_entropy"
    columns: ClassVar[tuple[str, ...]] = ("value",)
    needs: ClassVar[str] = "discrete"
    with_oneself: ClassVar[float] = 1.0
    logarithmic: ClassVar[bool] = True

    def pair_kernel(self, codes: tuple[FixedPoint, ...]) -> PairKernel:
        return Equal(codes[0].largest)

    def exact(self, table: Table) -> float:
        """The entropy of all values; infinite when no two agree."""
        chance = self.exact_details(table)["collision_probability"]
        return -math.log(chance) if chance > 0 else math.inf

    def exact_details(self, table: Table) -> dict[str, float]:
        n = table["value"].size
        need_two(n)
        return {"collision_probability": tied_pairs(table["value"]) / (n * (n - 1) // 2)}

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        return (equal(grid.axes[0], kernel),)

    def separable(self, grid: Grid) -> tuple[Separable, ...]:
        """Pairs in one bin: see `same_bin`."""
        return (Separable(((on_diagonal(np.ones(grid.cells, dtype=np.int64)),),), 0, 1, 1.0),)

    @property
    def same_bin(self) -> dict[int, int]:
        return {0: 0}

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        """Whether somebody agrees with a person's value."""
        return {EVERYBODY: (Vertices(grid.axes[0]).same,)}

    def most_sampling(self, kernel: Bounded, sizes: Mapping[str, int]) -> float:
        """Also 4 (U^(3/2) - U^2) / n for the collision probability U, and a second-order term.

        Hoeffding's first-order variance is 4 (sum h^3 - U^2), and sum h^3 <= (sum h^2)^(3/2).
        """
        chance, n = max(kernel.mean, 0.0), sum(sizes.values())
        first = 4 * max(chance**1.5 - chance**2, 0.0) / n
        own = float(first + 2 * kernel.variance / (n * (n - 1)))
        return min(super().most_sampling(kernel, sizes), own)

    def finish(self, forms: NDArray[np.float64], sizes: Mapping[str, int]) -> Finished:
        """Minus the logarithm of the collision probability."""
        chance = float(forms[0])
        if chance <= 0:
            raise NotEstimable(
                f"the estimated collision probability is {chance:.3g}, not above 0, so it has no logarithm: "
                f"more people or a larger epsilon are needed"
            )
        return Finished(-math.log(chance), np.array([-1 / chance]))

    def divisors(self, forms: NDArray[np.float64]) -> dict[str, tuple[float, int]]:
        """The collision probability, whose logarithm is taken."""
        return {"the collision probability": (float(forms[0]), 0)}

    def bounds(self, domains: tuple[Domain, ...], sizes: Mapping[str, int]) -> tuple[float, float]:
        """0 to that of an even spread over all values; infinite where no two people need to agree."""
        (domain,), people = domains, sum(sizes.values())
        values = math.inf if isinstance(domain, Interval) else domain.size
        return (0.0, math.log(values * (people - 1) / (people - values)) if people > values else math.inf)

    def most(self, domains: tuple[Domain, ...]) -> float:
        """That of an even spread over all values."""
        (domain,) = domains
        return math.inf if isinstance(domain, Interval) else math.log(domain.size)

    def details(
        self, forms: NDArray[np.float64], sizes: Mapping[str, int], error: ErrorOf
    ) -> dict[str, float]:
        return {"collision_probability": float(forms[0])}
