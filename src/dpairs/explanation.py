"""What an estimate from trees rests on: where it looked closely and where it did not."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Explanation:
    """The two estimated distributions, on parts of the domain from the lowest to the highest.

    ``discarded`` parts were not looked into: their pairs were taken to be won half of the time.
    ``recursed_nodes`` and ``discarded_nodes`` are by level, the root first.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    positive: NDArray[np.float64]
    negative: NDArray[np.float64]
    discarded: NDArray[np.bool_]
    recursed_nodes: tuple[int, ...]
    discarded_nodes: tuple[int, ...]

    def rows(self) -> list[tuple[int, int, int]]:
        """(level, recursed nodes, discarded nodes), for a table."""
        pairs = zip(self.recursed_nodes, self.discarded_nodes, strict=True)
        return [(level, recursed, discarded) for level, (recursed, discarded) in enumerate(pairs)]
