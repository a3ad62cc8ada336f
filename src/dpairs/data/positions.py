"""Where a value lies among an interval's edges: what protocols work on in place of the value.

The position of a value x between the edges e(i) <= x < e(i+1) is i + (x - e(i)) / (e(i+1) - e(i)). It never
falls when x rises, so a statistic of ranks is the same of positions as of values, but for values so close
that floats cannot tell their positions apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .domains import Domain, Interval


@dataclass(frozen=True, repr=False)
class Positions(Interval):
    """The positions 0 .. k among the k + 1 edges of ``interval``; it is given values, and checks them."""

    interval: Interval = Interval(0, 1)  # noqa: RUF009 - frozen

    @property
    def scaled(self) -> bool:
        return True

    @cached_property
    def _edges(self) -> NDArray[np.float64]:
        return np.array([self.interval.low, *self.interval.edges, self.interval.high])

    def check(self, values: Any, column: str) -> NDArray[np.float64]:
        """The position of each value, all of them inside the interval."""
        numbers = self.interval.check(values, column)
        edges = self._edges
        piece = np.searchsorted(edges[1:-1], numbers, side="right")
        position: NDArray[np.float64] = piece + (numbers - edges[piece]) / (edges[piece + 1] - edges[piece])
        return position

    def values_at(self, places: NDArray[np.float64]) -> NDArray[np.float64]:
        edges = self._edges
        piece = np.clip(places.astype(np.int64), 0, edges.size - 2)
        values = edges[piece] + (places - piece) * (edges[piece + 1] - edges[piece])
        return np.clip(values, edges[piece], edges[piece + 1])

    def to_json(self) -> dict[str, Any]:
        return self.interval.to_json()

    def __repr__(self) -> str:
        return repr(self.interval)


def placed(domains: Sequence[Domain]) -> tuple[Domain, ...]:
    """The domains that a protocol works on: positions where an interval has edges."""
    return tuple(
        Positions(0.0, float(len(domain.edges) + 1), interval=domain)
        if isinstance(domain, Interval) and domain.edges
        else domain
        for domain in domains
    )
