"""Any symmetric kernel, given as a vectorised function.

A study is a public file and cannot carry a Python function, so it carries the kernel's table on its
cells instead: `TabulatedKernel`. Averages over bins are taken by quadrature, extremes on a fine grid.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..axes import Axis, Grid
from ..checks import choice, fields, real, text
from ..data import Table
from ..domains import Domain, Integers, as_domains
from ..errors import BadFile, BadParameter
from .base import KERNELS, Form, Statistic, need_two

BLOCK = 2**21
"""Kernel values held at once when the exact statistic or a table is computed."""
MAX_TABLE_CELLS = 512
MAX_NODES = 2**14
MAX_VALUES = 32
_COLUMNS = {1: ("value",), 2: ("x", "y")}
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
        low, high = _range(range)
        domains = as_domains(domain)
        if len(domains) not in _COLUMNS:
            raise BadParameter(f"a kernel takes one domain or a pair of them, not {len(domains)}")
        object.__setattr__(self, "f", f)
        object.__setattr__(self, "range_", (low, high))
        object.__setattr__(self, "lipschitz_", None if lipschitz is None else real("lipschitz", lipschitz))
        object.__setattr__(self, "domain", domains)
        object.__setattr__(self, "label", text("label", label))

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """``value``, or ``x`` and ``y``."""
        return _COLUMNS[len(self.domain)]

    def options(self) -> dict[str, Any]:
        """Only a study's table can be written down."""
        raise BadParameter("a Kernel has no JSON form of its own; create a Study, which carries its table")

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        """As given."""
        return self.range_

    def lipschitz(self, domains: tuple[Domain, ...]) -> float | None:
        """As given."""
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
            self.label, kernel, len(self.domain), self.range_, self.lipschitz_, form.matrix, form.spread
        )

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        """The kernel on cells: quadrature for the average, a fine grid for the extremes."""
        sides = [_extreme_nodes(axis) for axis in grid.axes]
        nodes, _ = _cells_nodes(sides)
        low, high = self._reduce(nodes, nodes, "extremes")
        matrix = (low + high) / 2
        if kernel == "average":
            orders = _orders(grid)
            first = _cells_nodes(
                [_average_nodes(axis, order) for axis, order in zip(grid.axes, orders, strict=True)]
            )
            # The second side uses one node fewer, so that a kernel's jump at equality is not sampled.
            second = _cells_nodes(
                [_average_nodes(axis, order - 1) for axis, order in zip(grid.axes, orders, strict=True)]
            )
            (matrix,) = self._reduce(first[0], second[0], "average", first[1], second[1])
        self._check(matrix, low, high)
        return (Form((matrix + matrix.T) / 2, (high - low) / 2),)

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
                parts.append([cube.min(axis=(1, 3)), cube.max(axis=(1, 3))])
            else:
                here = weights_first[start // per_cell : start // per_cell + cube.shape[0]]
                parts.append([np.einsum("ia,iajb,jb->ij", here, cube, weights_second)])
        return [np.concatenate(column) for column in zip(*parts, strict=True)]


@dataclass(frozen=True, eq=False)
class TabulatedKernel(Statistic):
    """A custom kernel as a study carries it: its table on the study's cells."""

    label: str
    kernel: str
    dimensions: int
    range_: tuple[float, float]
    lipschitz_: float | None
    matrix: NDArray[np.float64] = field(repr=False)
    spread: NDArray[np.float64] = field(repr=False)
    name: ClassVar[str] = "kernel"
    needs: ClassVar[str] = "any"

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """``value``, or ``x`` and ``y``."""
        return _COLUMNS[self.dimensions]

    def options(self) -> dict[str, Any]:
        """The table's lower triangle, row by row."""
        lower = np.tril_indices(len(self.matrix))
        return {
            "label": self.label,
            "kernel": self.kernel,
            "columns": list(self.columns),
            "range": list(self.range_),
            "lipschitz": self.lipschitz_,
            "matrix": self.matrix[lower].tolist(),
            "spread": self.spread[lower].tolist(),
        }

    def check_grid(self, grid: Grid, kernel: str) -> None:
        """Refuse cells or a kind of kernel that the table was not made for."""
        if len(self.matrix) != grid.cells:
            raise BadParameter(f"the kernel's table has {len(self.matrix)} cells and the study {grid.cells}")
        if kernel != self.kernel:
            raise BadParameter(f"the kernel's table is of kind {self.kernel!r}, not {kernel!r}")

    def exact(self, table: Table) -> float:
        """Not possible from a table."""
        raise BadParameter(
            "a study carries only its kernel's table; for the exact value, "
            "call dpairs.exact with the Kernel itself"
        )

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        """The table."""
        return (Form(self.matrix, self.spread),)

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        """As given."""
        return self.range_

    def lipschitz(self, domains: tuple[Domain, ...]) -> float | None:
        """As given."""
        return self.lipschitz_

    @classmethod
    def from_json(cls, spec: Mapping[str, Any]) -> TabulatedKernel:
        """Read a table back."""
        names = ("name", "label", "kernel", "columns", "range", "lipschitz", "matrix", "spread")
        fields("statistic 'kernel'", spec, names)
        missing = [name for name in names if name not in spec]
        if missing:
            raise BadFile(f"statistic 'kernel' lacks {missing[0]!r}")
        dimensions = next((size for size, names in _COLUMNS.items() if spec["columns"] == list(names)), None)
        if dimensions is None:
            raise BadFile(f"statistic 'kernel' cannot have the columns {spec['columns']!r}")
        matrix, spread = _square(spec["matrix"]), _square(spec["spread"])
        if matrix.shape != spread.shape or spread.min() < 0:
            raise BadFile("a kernel's spread must be as large as its matrix and nowhere below 0")
        slope = spec["lipschitz"]
        return cls(
            text("label", spec["label"]),
            choice("kernel", spec["kernel"], KERNELS),
            dimensions,
            _range(spec["range"]),
            None if slope is None else real("lipschitz", slope),
            matrix,
            spread,
        )


def _range(given: Any) -> tuple[float, float]:
    try:
        low, high = given
    except (TypeError, ValueError):
        raise BadParameter(f"range must be two numbers (low, high), not {given!r}") from None
    low, high = real("range low", low), real("range high", high)
    if not low < high:
        raise BadParameter(f"range must have low < high, not {given!r}")
    return low, high


def _square(lower: Any) -> NDArray[np.float64]:
    if not isinstance(lower, list) or not lower or not all(type(item) in (int, float) for item in lower):
        raise BadFile("a kernel's table must be a list of numbers")
    try:
        flat = np.array(lower, dtype=np.float64)
    except OverflowError:
        raise BadFile("a kernel's table must be a list of finite numbers") from None
    cells = int((math.isqrt(8 * flat.size + 1) - 1) // 2)
    if cells * (cells + 1) // 2 != flat.size or not np.isfinite(flat).all():
        raise BadFile("a kernel's table must be the lower triangle of a square matrix of finite numbers")
    matrix = np.zeros((cells, cells))
    matrix[np.tril_indices(cells)] = flat
    return matrix + np.tril(matrix, -1).T


Nodes = tuple[NDArray[np.float64], NDArray[np.float64]]


def _orders(grid: Grid) -> list[int]:
    """Quadrature nodes per axis: as many as the budget of kernel evaluations allows."""
    for order in (8, 6, 4, 3):
        nodes = math.prod(order if _wide(axis) else 1 for axis in grid.axes) * grid.cells
        if nodes <= MAX_NODES:
            break
    return [order] * len(grid.axes)


def _wide(axis: Axis) -> bool:
    return bool((axis.geometry[2] > 1).any())


def _average_nodes(axis: Axis, order: int) -> Nodes:
    """Gauss-Legendre nodes on each continuous bin; the values themselves on a discrete one.

    A bin of more than `MAX_VALUES` integers is represented by as many of them, evenly spread.
    """
    low, high, points = axis.geometry
    if not _wide(axis):
        return low[:, None], np.ones((axis.bins, 1))
    if isinstance(axis.domain, Integers):
        steps = np.arange(int(min(points.max(), MAX_VALUES)))
        used = np.minimum(points, MAX_VALUES)[:, None]
        inside = steps[None, :] < used
        offsets = np.floor((np.minimum(steps, used - 1) + 0.5) * points[:, None] / used)
        return low[:, None] + offsets, inside / used
    roots, weights = np.polynomial.legendre.leggauss(order)
    unit = (roots + 1) / 2
    return low[:, None] + (high - low)[:, None] * unit, np.broadcast_to(weights / 2, (axis.bins, order))


def _extreme_nodes(axis: Axis) -> Nodes:
    """Evenly spaced values from one end of each bin to the other."""
    low, high, _ = axis.geometry
    if not _wide(axis):
        return low[:, None], np.ones((axis.bins, 1))
    unit = np.linspace(0, 1, 5)
    if isinstance(axis.domain, Integers):
        return low[:, None] + np.floor((high - low)[:, None] * unit), np.ones((axis.bins, 5))
    # A bin's upper end belongs to the next bin, where a kernel with a jump has another value.
    inside = np.minimum(low[:, None] + (high - low)[:, None] * unit, np.nextafter(high, -np.inf)[:, None])
    return inside, np.ones((axis.bins, 5))


def _cells_nodes(sides: list[Nodes]) -> tuple[list[NDArray[np.float64]], NDArray[np.float64]]:
    """The nodes of a grid's cells from the nodes of its axes' bins."""
    if len(sides) == 1:
        return [sides[0][0]], sides[0][1]
    (x, weight_x), (y, weight_y) = sides
    shape = (x.shape[0], y.shape[0], x.shape[1], y.shape[1])
    cells, nodes = shape[0] * shape[1], shape[2] * shape[3]
    flat = [
        np.broadcast_to(side, shape).reshape(cells, nodes)
        for side in (x[:, None, :, None], y[None, :, None, :])
    ]
    weights = weight_x[:, None, :, None] * weight_y[None, :, None, :]
    return flat, np.ascontiguousarray(weights).reshape(cells, nodes)
