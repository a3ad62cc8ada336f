"""Rounds in which a person shares the cell that the value lies in, as a one-hot vector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...data.grids import Axis, Grid
from ...randomness import SystemRandomness
from ...statistics import Statistic
from .shared import Shared, one_hot_bits

if TYPE_CHECKING:
    from ...vdaf.prio3 import Prio3


def grid_of(statistic: Statistic, domains: tuple[Domain, ...], bins: Sequence[int]) -> Grid:
    return statistic.grid(tuple(Axis(domain, count) for domain, count in zip(domains, bins, strict=True)))


def as_table(statistic: Statistic, domains: tuple[Domain, ...], bins: Sequence[int]) -> Statistic:
    """The statistic as a study can carry it: a user's own kernel by its table on the cells."""
    if not statistic.from_table:
        return statistic
    return statistic.tabulate(grid_of(statistic, domains, bins), "average")


class OneHot(Shared):
    """A round of one-hot vectors over the cells of ``grid``."""

    bins: tuple[int, ...]

    @cached_property
    def grid(self) -> Grid:
        return grid_of(self.statistic, self.domains, self.bins)

    @cached_property
    def vdaf(self) -> Mapping[str, Prio3]:
        """A one-hot vector over Field64 with three proofs."""
        from ...vdaf.instances import one_hot

        return dict.fromkeys(self.strata, one_hot(self.cells))

    def of_records(self, stratum: str, records: int) -> Prio3:
        """Counts in cells that add up to the declared number."""
        from ...vdaf.instances import records as of_size

        return of_size(self.cells, records)

    def of_site(self, stratum: str, columns: Sequence[Any]) -> list[int]:
        return [int(count) for count in self.added(stratum, self.measure(stratum, columns))]

    @property
    def cells(self) -> int:
        """The length of a person's one-hot vector."""
        return self.grid.cells

    @property
    def report_bits(self) -> int:
        return one_hot_bits(self.cells)

    def measure(self, stratum: str, columns: Sequence[Any]) -> NDArray[np.int64]:
        """The cell of each person: what is shared."""
        return self.grid.place(columns, self.statistic.private_columns, SystemRandomness())

    def added(self, stratum: str, measurements: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many people are in each cell."""
        return np.bincount(measurements, minlength=self.cells)
