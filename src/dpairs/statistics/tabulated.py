"""A custom kernel as a study carries it: a table on the study's cells."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..data.domains import Domain
from ..data.grids import Grid
from ..errors import BadFile, BadParameter
from ..formats.checks import choice, fields, real, required, text
from .base import EVERYBODY, KERNELS, Form, Statistic
from .named import COLUMNS, NamedKernel, dimensions, kernel_range
from .vertices import Vertices


@dataclass(frozen=True, eq=False)
class TabulatedKernel(Statistic):
    """A custom kernel as a study carries it: its table on the study's cells."""

    label: str
    kernel: str
    dimensions: int
    range_: tuple[float, float]
    lipschitz_: float | None
    matrix: NDArray[np.float64] = field(repr=False)
    uncertainty: NDArray[np.float64] = field(repr=False)
    name: ClassVar[str] = "kernel"
    needs: ClassVar[str] = "any"
    from_table: ClassVar[bool] = True

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """``value``, or ``x`` and ``y``."""
        return COLUMNS[self.dimensions]

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
            "spread": self.uncertainty[lower].tolist(),  # the word of the first version, part of ids
        }

    def check_grid(self, grid: Grid, kernel: str) -> None:
        """Refuse cells or a kind of kernel that the table was not made for."""
        if len(self.matrix) != grid.cells:
            raise BadParameter(f"the kernel's table has {len(self.matrix)} cells and the study {grid.cells}")
        if kernel != self.kernel:
            raise BadParameter(f"the kernel's table has kind {self.kernel!r}, not {kernel!r}")

    def forms(self, grid: Grid, kernel: str) -> tuple[Form, ...]:
        return (Form(self.matrix, self.uncertainty),)

    def against(self, grid: Grid) -> dict[str, tuple[NDArray[np.float64], ...]]:
        """The row of the vertex's cell: a table knows nothing finer."""
        cells = np.zeros(1, dtype=np.int64)
        for axis in grid.axes:
            cells = (cells[:, None] * axis.bins + Vertices(axis).bins[None, :]).reshape(-1)
        return {EVERYBODY: (self.matrix[cells],)}

    def hidden(self, grid: Grid, kernel: str, masses: tuple[NDArray[np.float64], ...]) -> NDArray[np.float64]:
        """A midpoint is off by its uncertainty at most; an average lies anywhere within twice that."""
        far = self.uncertainty if self.kernel == "midpoint" else 2 * self.uncertainty
        return np.array([float(masses[0] @ far @ masses[-1])])

    def kernel_uncertainty(self, masses: NDArray[np.float64]) -> float:
        return float(masses @ self.uncertainty @ masses)

    def described(self) -> NamedKernel:
        """Its name and range, without the table."""
        return NamedKernel(self.label, self.dimensions, self.range_)

    def range(self, domains: tuple[Domain, ...]) -> tuple[float, float]:
        return self.range_

    def lipschitz(self, domains: tuple[Domain, ...]) -> float | None:
        return self.lipschitz_

    @classmethod
    def from_json(cls, spec: Mapping[str, Any]) -> TabulatedKernel:
        names = ("name", "label", "kernel", "columns", "range", "lipschitz", "matrix", "spread")
        fields("statistic 'kernel'", spec, names)
        required("statistic 'kernel'", spec, names)
        matrix, uncertainty = _square(spec["matrix"]), _square(spec["spread"])
        if matrix.shape != uncertainty.shape or uncertainty.min() < 0:
            raise BadFile("a kernel's spread must be as large as its matrix and nowhere below 0")
        slope = spec["lipschitz"]
        return cls(
            text("label", spec["label"]),
            choice("kernel", spec["kernel"], KERNELS),
            dimensions(spec["columns"]),
            kernel_range(spec["range"]),
            None if slope is None else real("lipschitz", slope),
            matrix,
            uncertainty,
        )


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
