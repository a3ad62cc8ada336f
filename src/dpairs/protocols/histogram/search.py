"""What an optimized mechanism is searched for: the kernel that matters, at the shares that are expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...data.grids import Grid
from ...errors import BadParameter
from ...mechanisms import Mechanism
from ...statistics import Statistic

Search = Callable[[list[NDArray[np.float64]], NDArray[np.float64], float], Mechanism]
"""From kernels, the prior and epsilon to a mechanism: `optimize`, or something that remembers."""


def prior_of(given: Sequence[float] | None, cells: int) -> NDArray[np.float64]:
    """The shares of people in the cells, as far as anybody knows before the study."""
    if given is None:
        return np.full(cells, 1 / cells)
    try:
        shares = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadParameter("prior must be a list of numbers, one for each cell") from None
    if shares.shape != (cells,) or not np.isfinite(shares).all() or shares.min() < 0 or shares.sum() <= 0:
        raise BadParameter(f"prior must be {cells} numbers, one for each cell, none below 0 and not all 0")
    # Nobody is quite sure of a prior, and a cell that cannot occur would never be decoded.
    sure: NDArray[np.float64] = 0.99 * shares / shares.sum() + 0.01 / cells
    return sure


def kernels_of(
    statistic: Statistic, grid: Grid, kernel: str, prior: NDArray[np.float64]
) -> list[NDArray[np.float64]]:
    """The kernel that matters at the prior: of several forms, their sum along the gradient."""
    matrices = np.array([form.matrix for form in statistic.forms(grid, kernel)])
    gradient = np.ones(1)
    if len(matrices) > 1:
        values = np.array([prior @ matrix @ prior for matrix in matrices])
        gradient = statistic.finish(values, dict.fromkeys(statistic.strata, 1000)).gradient
    along: NDArray[np.float64] = np.tensordot(gradient, matrices, axes=1)
    return [along] if len(statistic.strata) == 1 else [along, along.T]
