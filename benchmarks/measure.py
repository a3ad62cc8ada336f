"""How the benchmarks measure: alternating repeats, processor time, medians; and what a row of results is."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

TOLERANCE = 1e-12
"""How far two results may lie apart, relative to the larger, and still count as the same."""


@dataclass(frozen=True)
class Row:
    """One comparison. A ratio above 1 is in our favour, whatever the unit.

    ``theirs`` is None when the other side could not be measured, ``wanted`` when there is no target.
    """

    name: str
    against: str
    ours: float
    theirs: float | None
    unit: str
    wanted: float | None = None
    difference: float | None = None
    note: str = ""

    @property
    def ratio(self) -> float | None:
        """How many times better ours is: faster, or smaller."""
        if self.theirs is None:
            return None
        more_is_better = self.unit.endswith("/s")
        return self.ours / self.theirs if more_is_better else self.theirs / self.ours

    @property
    def passed(self) -> str:
        """Whether the wanted ratio was reached, with results that agree."""
        if self.difference is not None and not self.difference <= TOLERANCE:
            return "no"
        if self.ratio is None:
            return "not measured"
        if self.wanted is None:
            return "no target"
        return "yes" if self.ratio >= self.wanted else "no"

    def to_json(self) -> dict[str, Any]:
        """The row with what follows from it."""
        return {**asdict(self), "ratio": self.ratio, "pass": self.passed}


def seconds(repeats: int, **functions: Callable[[], Any]) -> dict[str, float]:
    """Median processor seconds of each function.

    Repeats alternate between the functions, so that a slow moment of the machine hits all of them. One
    untimed call of each comes first.
    """
    for function in functions.values():
        function()
    times: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            start = time.process_time()
            function()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(each) for name, each in times.items()}


def difference(ours: float, theirs: float) -> float:
    """How far two results lie apart, relative to the larger."""
    scale = max(abs(ours), abs(theirs))
    return abs(ours - theirs) / scale if scale > 0 else 0.0
