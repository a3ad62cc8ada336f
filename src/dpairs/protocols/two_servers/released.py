"""The numbers that two servers release: an estimate is a pure function of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
class NoisyCounts:
    """Released counts of one stratum, perhaps below 0, and how many people there are."""

    array: NDArray[np.int64]
    people: int


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


@dataclass(frozen=True, eq=False)
class SharedNumbers:
    """One server's shares of `Numbers`: elements of a field."""

    totals: list[int] = field(repr=False)
    counts: dict[str, list[int]] = field(repr=False)

    def with_noise(self, noise: Numbers, modulus: int) -> SharedNumbers:
        """What a server hands out."""

        def add(shares: list[int], drawn: Iterable[int]) -> list[int]:
            return [(share + each) % modulus for share, each in zip(shares, drawn, strict=True)]

        counts = {name: add(each, noise.counts[name].tolist()) for name, each in self.counts.items()}
        return SharedNumbers(add(self.totals, noise.totals), counts)

    def open(self, other: SharedNumbers, modulus: int) -> Numbers:
        """The numbers, from both servers' shares: whole numbers around 0."""

        def both(one: list[int], two: list[int]) -> list[int]:
            sums = [(a + b) % modulus for a, b in zip(one, two, strict=True)]
            return [each - modulus if each > modulus // 2 else each for each in sums]

        counts = {
            name: np.array(both(each, other.counts[name]), dtype=np.int64)
            for name, each in self.counts.items()
        }
        return Numbers(tuple(both(self.totals, other.totals)), counts)

    def to_json(self) -> dict[str, Any]:
        return {
            "totals": [big_integer(each) for each in self.totals],
            "counts": {name: [big_integer(each) for each in shares] for name, shares in self.counts.items()},
        }


def read_shares(spec: Any, totals: int, cells: Mapping[str, int], modulus: int) -> SharedNumbers:
    """Shares of that shape, or `BadFile`."""
    if not isinstance(spec, Mapping) or set(spec) != {"totals", "counts"}:
        raise BadFile("a server's release is 'totals' and 'counts'")
    counts = spec["counts"]
    if not isinstance(counts, Mapping) or set(counts) != set(cells):
        raise BadFile(f"a release of this study has counts for {', '.join(cells) or 'nobody'}")
    read = {name: _elements(counts[name], size, modulus) for name, size in cells.items()}
    return SharedNumbers(_elements(spec["totals"], totals, modulus), read)


def _elements(given: Any, length: int, modulus: int) -> list[int]:
    elements = [read_integer(each) for each in given] if isinstance(given, list) else []
    good = all(type(each) is int and 0 <= each < modulus for each in elements)
    if len(elements) != length or not good or not isinstance(given, list):
        raise BadFile(f"a server's share is a list of {length} elements of the field")
    return elements


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
        listed = counts[name]
        if not isinstance(listed, list) or len(listed) != size:
            raise BadFile(f"a release of this study has {size} counts for {name}")
        if not all(type(count) is int and abs(count) <= MAX_COUNT for count in listed):
            raise BadFile("a released count is a whole number below 2^53")
    return Numbers(tuple(numbers), {name: np.array(counts[name], dtype=np.int64) for name in cells})
