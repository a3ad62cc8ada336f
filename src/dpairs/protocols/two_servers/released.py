"""The numbers that two servers release: an estimate is a pure function of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadFile
from ...formats.canonical import big_integer, read_integer
from ..counts import MAX_COUNT

LARGEST = 2**127
"""No released number is larger."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """Totals of forms or of influence values, and counts of cells by stratum; or noise for them."""

    totals: tuple[int, ...]
    counts: dict[str, NDArray[np.int64]] = field(default_factory=dict)

    def plus(self, other: Numbers) -> Numbers:
        totals = tuple(a + b for a, b in zip(self.totals, other.totals, strict=True))
        return Numbers(totals, {name: each + other.counts[name] for name, each in self.counts.items()})

    def to_json(self) -> dict[str, Any]:
        return {
            "totals": [big_integer(each) for each in self.totals],
            "counts": {name: each.tolist() for name, each in self.counts.items()},
        }


def read_numbers(spec: Any, totals: int, cells: Mapping[str, int]) -> Numbers:
    """Numbers of that shape, or `BadFile`."""
    if not isinstance(spec, Mapping) or set(spec) != {"totals", "counts"}:
        raise BadFile("released numbers are 'totals' and 'counts'")
    given, counts = spec["totals"], spec["counts"]
    if not isinstance(given, list) or len(given) != totals:
        raise BadFile(f"a release of this study has {totals} total(s)")
    numbers = [read_integer(each) for each in given]
    if not all(type(each) is int and abs(each) <= LARGEST for each in numbers):
        raise BadFile("a released total is a whole number")
    if not isinstance(counts, Mapping) or set(counts) != set(cells):
        raise BadFile(f"a release of this study has counts for {', '.join(cells) or 'nobody'}")
    for name, size in cells.items():
        each = counts[name]
        if not isinstance(each, list) or len(each) != size:
            raise BadFile(f"a release of this study has {size} counts for {name}")
        if not all(type(count) is int and abs(count) <= MAX_COUNT for count in each):
            raise BadFile("a released count is a whole number below 2^53")
    return Numbers(tuple(numbers), {name: np.array(counts[name], dtype=np.int64) for name in cells})
