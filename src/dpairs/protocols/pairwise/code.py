"""A statistic's kernel as two people compute it: which circuit, and how a value goes into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Integers, Interval
from ...data.grids import Axis, Grid
from ...errors import BadParameter
from ...garbled.custom import MAX_TABLE, Table
from ...garbled.encoding import FixedPoint
from ...garbled.kernels import PairKernel
from ...randomness import Randomness
from ...statistics import Statistic

LEVELS = 2**20
"""Most levels of a table."""
SCALES = (1, 2, 4, 8, 10, 100, 1000)
"""Steps of 1 over these are tried first: a table of such numbers is exact."""


@dataclass(frozen=True)
class PairCode:
    """A kernel, and either a fixed-point code of each column or the cells of a table."""

    kernel: PairKernel
    columns: tuple[FixedPoint, ...]
    cells: Grid | None = None
    rounding: float = 0.0
    """How far an entry of the table can lie from the kernel's value."""

    def encode(self, columns: Sequence[Any], names: Sequence[str], bits: Randomness) -> NDArray[np.uint64]:
        """A row for each person, a column for each of the kernel's."""
        if self.cells is not None:
            return self.cells.place(columns, names, bits).astype(np.uint64)[:, None]
        coded = [
            code.encode(values, name) for code, values, name in zip(self.columns, columns, names, strict=True)
        ]
        return np.stack(coded, axis=1)

    @property
    def coarseness(self) -> float:
        """The share of a domain that one step of the code covers: 0 where every value is told apart."""
        return max(
            (1 / code.largest for code in self.columns if isinstance(code.domain, Interval)), default=0.0
        )


def pair_code(
    statistic: Statistic, domains: tuple[Domain, ...], bits: int, bins: tuple[int, ...] = ()
) -> PairCode:
    """The circuit kernel of a statistic on its domains."""
    if statistic.from_table:
        return _table(statistic, domains, bins)
    codes = tuple(FixedPoint.of(domain, bits) for domain in domains)
    kernel = statistic.pair_kernel(codes)
    return PairCode(kernel, codes) if kernel is not None else _listed(statistic, domains)


def _listed(statistic: Statistic, domains: tuple[Domain, ...]) -> PairCode:
    axes = []
    for domain in domains:
        if isinstance(domain, (Interval, Integers)):
            raise BadParameter(
                f"{statistic.name} has no circuit of its own, and its table needs Levels or Categories, "
                f"not {domain!r}"
            )
        axes.append(Axis(domain, domain.size))
    grid = statistic.grid(tuple(axes))
    return _tabled(statistic.forms(grid, "average")[0].matrix, grid)


def _table(statistic: Statistic, domains: tuple[Domain, ...], bins: tuple[int, ...]) -> PairCode:
    if len(bins) != len(domains):
        raise BadParameter(f"a kernel's table needs bins for {len(domains)} column(s), not {len(bins)}")
    grid = Grid(tuple(Axis(domain, count) for domain, count in zip(domains, bins, strict=True)))
    statistic.check_grid(grid, "average")
    return _tabled(statistic.forms(grid, "average")[0].matrix, grid)


def _tabled(matrix: NDArray[np.float64], grid: Grid) -> PairCode:
    if grid.cells > MAX_TABLE:
        raise BadParameter(f"a table inside a circuit has at most {MAX_TABLE} cells, not {grid.cells}")
    low, high = float(matrix.min()), float(matrix.max())
    for scale in SCALES if low < high else ():
        whole = np.round((matrix - low) * scale)
        if whole.max() <= LEVELS and np.array_equal(whole / scale + low, matrix):
            rows = tuple(tuple(int(entry) for entry in row) for row in whole.tolist())
            return PairCode(Table(rows, Fraction(low), Fraction(1, scale)), (), grid)
    return PairCode(Table.of(matrix, LEVELS), (), grid, (high - low) / LEVELS / 2)
