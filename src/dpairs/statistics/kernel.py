"""Any symmetric kernel, given as a vectorised function.

A study is a public file and cannot carry a Python function, so it carries the kernel's table on its
cells instead: `TabulatedKernel`. Averages over bins are taken by quadrature, extremes on a fine grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain, as_domains
from ..data.grids import Grid
from ..data.tables import Table
from ..errors import BadParameter
from ..formats.checks import real, text
from .base import Form, Statistic, need_two
from .named import COLUMNS, kernel_range
from .quadrature import average_nodes, cell_nodes, extreme_nodes, orders, split_nodes
from .tabulated import TabulatedKernel

BLOCK = 2**17
"""Kernel values held at once when the exact statistic or a table is computed."""
MAX_TABLE_CELLS = 512
CLOSE, PARTS = 1e-4, {1: 64, 2: 4}
"""Averages of a kernel that may jump: how near two of them come; most parts of a bin, by columns."""
Person = Any
"""What the kernel sees of one side of the pairs: an array, or a tuple (x, y) of arrays."""


@dataclass(frozen=True)
class Kernel(Statistic):
    """The mean of ``f(a, b)`` over pairs of people, for any symmetric vectorised ``f``.

    With one domain, ``a`` and ``b`` are arrays of values; with two, each is a tuple ``(x, y)`` of
    arrays. ``f`` must broadcast: the two sides come as a column and a row.

    >>> import numpy as np
    >>> from dpairs import Interval, exact
    >>> close = Kernel(lambda a, b: np.abs(a - b) < 0.1, range=(0, 1), domain=Interval(0, 1))
    >>> round(exact(close, {"value": [0.0, 0.05, 0.5]}), 4)
    0.3333
    """

    f: Callable[[Person, Person], Any]
    range_: tuple[float, float]
    lipschitz_: float | None
    domain: tuple[Domain, ...]
    label: str
    name: ClassVar[str] = "kernel"
    needs: ClassVar[str] = "any"
    from_table: ClassVar[bool] = True

    def __init__(
        self,
        f: Callable[[Person, Person], Any],
        *,
        range: tuple[float, float],
        domain: Domain | Sequence[Domain],
        lipschitz: float | None = None,
        label: str = "custom kernel",
    ) -> None:
        """Describe the kernel: its values lie in ``range``, its slope below ``lipschitz`` if given."""
        if not callable(f):
            raise BadParameter(f"a kernel must be a function of two arrays, not {type(f).__name__}")
        low, high = kernel_range(range)
        domains = as_domains(domain)
        if len(domains) not in COLUMNS:
            raise BadParameter(f"a kernel takes one domain or a pair of them, not {len(domains)}")
        object.__setattr__(self, "f", f)
        object.__setattr__(self, "range_", (low, high))
        object.__setattr__(self, "lipschitz_", None if lipschitz is None else real("lipschitz", lipschitz))
        object.__setattr__(self, "domain", domains)
        object.__setattr__(self, "label", text("label", label))

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """``value``, or ``x`` and ``y``."""
        return COLUMNS[len(self.domain)]

    @classmethod
    def option_names(cls) -> tuple[str, ...]:
        return ()

    @property
    def own_domain(self) -> tuple[Domain, ...]:
        return self.domain

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        return self.range_

    def lipschitz(self, domains: tuple[Domain, ...]) -> float | None:
        return self.lipschitz_

    def exact(self, table: Table) -> float:
        """The mean over all pairs in O(n^2) kernel evaluations, holding a block of them at a time."""
        columns = [
            domain.check(table[name], name) for domain, name in zip(self.domain, self.columns, strict=True)
        ]
        n = columns[0].size
        need_two(n)
        total = math.fsum(float(block.sum()) for _, block in self._blocks(columns, columns))
        same = self._call([column[:, None] for column in columns], [column[:, None] for column in columns])
        value = (total - float(same.sum())) / (n * (n - 1))
        if not math.isfinite(value):
            raise BadParameter("the kernel returned a NaN or an infinite value")
        return value

    def tabulate(self, grid: Grid, kernel: str) -> TabulatedKernel:
        """The kernel's table on the cells of ``grid``."""
        if grid.cells > MAX_TABLE_CELLS:
            raise BadParameter(
                f"a custom kernel is carried as a table of at most {MAX_TABLE_CELLS} cells, not {grid.cells}"
            )
        form = self.forms(grid, kernel)[0]
        return TabulatedKernel(
            self.label, kernel, len(self.domain), self.range_, self.lipschitz_, form.matrix, form.uncertainty
        )

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        """The kernel on cells: quadrature for the average, a fine grid for the extremes."""
        sides = [extreme_nodes(axis) for axis in grid.axes]
        nodes, _ = cell_nodes(sides)
        low, high = self._reduce(nodes, nodes, "extremes")
        matrix = (low + high) / 2
        if kernel == "average":
            matrix = self._averages(grid, 0)
        self._check(matrix, low, high)
        if kernel == "average" and self.lipschitz_ is None:
            # Without a slope the kernel may jump: where fewer nodes say otherwise, or where it varies and all
            # nodes say the same.
            near = CLOSE / 100 * (self.range_[1] - self.range_[0])
            differ = np.abs(matrix - self._averages(grid, 1)) > near
            missed = (matrix - low <= near) | (high - matrix <= near)
            self._subdivide(matrix, grid, (high > low) & (differ | missed))
        return (Form(matrix, (high - low) / 2),)

    def _averages(self, grid: Grid, fewer: int) -> NDArray[np.float64]:
        """The mean over all pairs of cells, by quadrature with so many nodes fewer than usual."""
        counts = [order - fewer for order in orders(grid)]
        first = cell_nodes(
            [average_nodes(axis, order) for axis, order in zip(grid.axes, counts, strict=True)]
        )
        # The second side uses one node fewer, so that a kernel's jump at equality is not sampled.
        second = cell_nodes(
            [average_nodes(axis, order - 1) for axis, order in zip(grid.axes, counts, strict=True)]
        )
        (matrix,) = self._reduce(first[0], second[0], "average", first[1], second[1])
        symmetric: NDArray[np.float64] = (matrix + matrix.T) / 2
        return symmetric

    def _subdivide(self, matrix: NDArray[np.float64], grid: Grid, jumps: NDArray[np.bool_]) -> None:
        """Average anew, on ever finer parts, over the pairs of cells in which the kernel may jump.

        Each turn halves the parts of all pairs of cells whose last two averages differ by more than `CLOSE`
        of the range, until none is left or a bin has `PARTS` parts. What is left of the error is tested:
        below 2e-4 of the range on one column, below 2e-3 on two.
        """
        extent = self.range_[1] - self.range_[0]
        rows, columns = np.nonzero(np.triu(jumps))
        parts = 1
        while rows.size and parts < PARTS[len(grid.axes)]:
            parts *= 2
            # Parts of two sizes, so that a jump at a constant distance does not run along the nodes.
            sides = [
                cell_nodes([split_nodes(axis, count, order) for axis in grid.axes])
                for count, order in ((parts, 3), (parts + 1, 2))
            ]
            moved = np.zeros(rows.size)
            for place, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
                here = [side[row][:, None] for side in sides[0][0]]
                there = [side[column][None, :] for side in sides[1][0]]
                average = float(sides[0][1][row] @ self._call(here, there) @ sides[1][1][column])
                moved[place] = abs(average - matrix[row, column])
                matrix[row, column] = matrix[column, row] = average
            # Two coarse averages may agree by chance.
            left = (moved > CLOSE * extent) | (parts <= PARTS[len(grid.axes)] // 4)
            rows, columns = rows[left], columns[left]

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        """Those of its table on the same cells."""
        return self.tabulate(grid, "average").against(grid)

    def _check(
        self, matrix: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
    ) -> None:
        least, most = float(low.min()), float(high.max())
        slack = 1e-9 * max(1.0, abs(self.range_[0]), abs(self.range_[1]))
        if not (np.isfinite(least) and np.isfinite(most)):
            raise BadParameter("the kernel returned a NaN or an infinite value on its domain")
        if least < self.range_[0] - slack or most > self.range_[1] + slack:
            raise BadParameter(
                f"the kernel takes values from {least:g} to {most:g}, outside its range {list(self.range_)}"
            )
        gap = np.abs(low - low.T) + np.abs(high - high.T)
        if float(gap.max()) > 1e-6 * max(most - least, 1e-300):
            raise BadParameter("the kernel is not symmetric: f(a, b) and f(b, a) differ")

    def _call(
        self, a: Sequence[NDArray[np.float64]], b: Sequence[NDArray[np.float64]]
    ) -> NDArray[np.float64]:
        sides = (a[0], b[0]) if len(self.domain) == 1 else (tuple(a), tuple(b))
        try:
            result = np.asarray(self.f(*sides), dtype=np.float64)
        except Exception as error:
            raise BadParameter(f"the kernel must be vectorised, but failed on arrays: {error}") from error
        shape = np.broadcast_shapes(a[0].shape, b[0].shape)
        if result.shape != shape:
            raise BadParameter(
                f"the kernel must be vectorised: for inputs that broadcast to {shape} "
                f"it returned shape {result.shape}"
            )
        return result

    def _blocks(
        self, a: Sequence[NDArray[np.float64]], b: Sequence[NDArray[np.float64]], align: int = 1
    ) -> Iterator[tuple[int, NDArray[np.float64]]]:
        rows = max(align, BLOCK // max(b[0].size, 1) // align * align)
        for start in range(0, a[0].size, rows):
            left = [column[start : start + rows, None] for column in a]
            yield start, self._call(left, [column[None, :] for column in b])

    def _reduce(
        self,
        first: list[NDArray[np.float64]],
        second: list[NDArray[np.float64]],
        how: str,
        weights_first: NDArray[np.float64] | None = None,
        weights_second: NDArray[np.float64] | None = None,
    ) -> list[NDArray[np.float64]]:
        """Evaluate f at every cell's nodes and reduce each pair of cells to its extremes or its average."""
        cells, per_cell = first[0].shape
        other = second[0].shape[1]
        flat_first = [side.reshape(-1) for side in first]
        flat_second = [side.reshape(-1) for side in second]
        parts: list[list[NDArray[np.float64]]] = []
        for start, block in self._blocks(flat_first, flat_second, align=per_cell):
            cube = block.reshape(-1, per_cell, cells, other)
            if how == "extremes" or weights_first is None or weights_second is None:
                # A whole line at a time: over both axes at once it takes four times as long.
                parts.append([cube.min(axis=1).min(axis=2), cube.max(axis=1).max(axis=2)])
            else:
                here = weights_first[start // per_cell : start // per_cell + cube.shape[0]]
                parts.append([np.einsum("ia,iajb,jb->ij", here, cube, weights_second)])
        return [np.concatenate(column) for column in zip(*parts, strict=True)]
