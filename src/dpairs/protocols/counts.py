"""Counts of symbols in one stratum: what a tally is made of."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from ..errors import BadFile, BadValue

MAX_COUNT = 2**53 - 1


@dataclass(frozen=True)
class Cells:
    """The codes of what a report can count in: from ``first`` to ``last``, but for holes."""

    first: int
    last: int
    holes: tuple[int, ...] = ()

    def has(self, codes: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of the codes stand for a cell.

        >>> Cells(1, 3, (2,)).has(np.arange(5)).tolist()
        [False, True, False, True, False]
        """
        there: NDArray[np.bool_] = (codes >= self.first) & (codes <= self.last) & ~np.isin(codes, self.holes)
        return there

    def check(self, codes: NDArray[np.int64], counts: NDArray[np.int64] | None) -> None:
        """Refuse codes of no cell, and counts that cannot be."""
        if counts is not None and codes.size != counts.size:
            raise BadValue(f"{codes.size} cells cannot have {counts.size} counts")
        if codes.size and not self.has(codes).all():
            raise BadValue(
                f"cells of this study have codes from {self.first} to {self.last}, not all of them"
            )
        if counts is None or not counts.size:
            return
        # As floats: a sum of forged integers could wrap around to something that looks right.
        if counts.min() < 1 or counts.sum(dtype=np.float64) > MAX_COUNT:
            raise BadValue("counts of cells must be above 0, and below 2^53 together")


class Sums(Protocol):
    """What the people of one stratum reported, added up."""

    @property
    def people(self) -> int:
        """How many reports were counted."""
        ...

    def plus(self, other: Self) -> Self: ...

    def to_json(self) -> dict[str, Any]:
        """The counts as plain values."""
        ...

    def read(self, spec: Mapping[str, Any]) -> None:
        """Fill empty counts from plain values; refuse what cannot be."""
        ...


class Counts(Sums, Protocol):
    """How often each symbol was reported by the people of one stratum."""

    def add(self, first_index: int, symbols: NDArray[Any]) -> None:
        """Count the symbols of consecutive participants, the first being ``first_index``."""
        ...

    def add_at(self, indices: NDArray[np.int64], places: NDArray[np.int64], symbols: NDArray[Any]) -> None:
        """Count the symbols of participants with these ascending indices, at these places among the asked."""
        ...

    def add_cells(self, cells: NDArray[np.int64], counts: NDArray[np.int64] | None = None) -> None:
        """Count as many reports as ``counts`` says in each of these cells, or one."""
        ...


class DenseCounts:
    """A count for each of a few symbols."""

    def __init__(self, symbols: int) -> None:
        self.array = np.zeros(symbols, dtype=np.int64)

    @property
    def people(self) -> int:
        """How many reports were counted."""
        return int(self.array.sum())

    def add(self, first_index: int, symbols: NDArray[Any]) -> None:
        """Count symbols; the index plays no part."""
        if symbols.size == 0:
            return
        if symbols.min() < 0 or symbols.max() >= self.array.size:
            raise BadValue(f"symbols of this study are 0 to {self.array.size - 1}")
        self.array += np.bincount(symbols, minlength=self.array.size)

    def add_at(self, indices: NDArray[np.int64], places: NDArray[np.int64], symbols: NDArray[Any]) -> None:
        """Count symbols; the index plays no part."""
        self.add(0, symbols)

    def add_cells(self, cells: NDArray[np.int64], counts: NDArray[np.int64] | None = None) -> None:
        """Count reports by cell, which is the symbol."""
        Cells(0, self.array.size - 1).check(cells, counts)
        np.add.at(self.array, cells, 1 if counts is None else counts)

    def plus(self, other: Self) -> Self:
        both = copy.copy(self)
        both.array = self.array + other.array
        if both.array.max() > MAX_COUNT:
            raise BadValue("a tally counts fewer than 2^53 reports of each symbol")
        return both

    def to_json(self) -> dict[str, Any]:
        """The symbols that were seen, and how often."""
        seen = np.flatnonzero(self.array)
        return {"symbols": seen.tolist(), "counts": self.array[seen].tolist()}

    def read(self, spec: Mapping[str, Any]) -> None:
        """Fill empty counts from plain values."""
        if set(spec) != {"symbols", "counts"}:
            raise BadFile("each stratum of a tally has 'symbols' and 'counts'")
        where, counts = spec["symbols"], spec["counts"]
        if not isinstance(where, list) or not isinstance(counts, list) or len(where) != len(counts):
            raise BadFile("a tally's symbols and counts must be two lists of one length")
        good = all(type(value) is int and 0 <= value < self.array.size for value in where) and all(
            type(value) is int and 0 < value <= MAX_COUNT for value in counts
        )
        if not good or sorted(set(where)) != where:
            raise BadFile(
                f"a tally's symbols must ascend from 0 to {self.array.size - 1} at most, "
                f"and its counts be above 0"
            )
        self.array[where] = counts
