"""Counts of a tree study: for each level and Hadamard row, how many bits were 0 and how many 1.

A level keeps only the rows that came up, so memory is proportional to the reports and never to the domain;
where many came up, it is a plain array of all rows.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadFile, BadValue
from ...formats.compact import packed, unpacked
from ...randomness.coins import windows
from ..counts import MAX_COUNT, Cells
from .cells import decoded

DENSE_LEVELS = 20
"""Levels up to this one may be plain arrays."""
SMALL_LEVELS = 12
"""Levels up to this one are plain arrays from the beginning: 200 kB in all."""
CROWDED = 8
"""A level of so many times as many rows as came up, or fewer, is a plain array: 24 bytes a row either way."""
BUFFER = 2**16
Expand = Callable[
    [int, NDArray[Any], NDArray[np.bool_] | None], list[tuple[int, NDArray[np.uint64], NDArray[np.uint8]]]
]
"""From the first index, the symbols, and which of the places they are at (None: consecutive ones), to
(level, rows, bits) of every level that was answered."""


class LevelCounts:
    """How often each row's bit was 0 and 1, at one level."""

    def __init__(self, level: int) -> None:
        self.level = level
        self.rows = np.zeros(0, dtype=np.uint64)
        self.counts = np.zeros((2, 0), dtype=np.int64)
        self._dense = False
        self._waiting: list[tuple[NDArray[np.uint64], NDArray[np.uint8], NDArray[np.int64] | None]] = []
        self._waiting_size = 0
        if level <= SMALL_LEVELS:
            self._densify()

    def add(
        self, rows: NDArray[np.uint64], bits: NDArray[np.uint8], counts: NDArray[np.int64] | None = None
    ) -> None:
        """Keep reports until enough can be counted at once; each counts once, or ``counts`` times."""
        self._waiting.append((rows, bits, counts))
        self._waiting_size += rows.size
        if self._waiting_size >= max(BUFFER, self.rows.size):
            self.settle()

    def settle(self) -> None:
        """Count the reports that wait."""
        if not self._waiting:
            return
        single = [(rows, bits) for rows, bits, counts in self._waiting if counts is None]
        several = [(rows, bits, counts) for rows, bits, counts in self._waiting if counts is not None]
        self._densify_if_crowded(self._waiting_size)
        self._waiting, self._waiting_size = [], 0
        if single:
            rows, bits = (np.concatenate(each) for each in zip(*single, strict=True))
            if self._dense:
                keys = rows.view(np.int64) * 2 + bits
                self.counts += np.bincount(keys, minlength=2 * self.rows.size).reshape(-1, 2).T
            else:
                self._add_sparse(rows, bits, 1)
        if several:
            rows, bits, counts = (np.concatenate(each) for each in zip(*several, strict=True))
            if self._dense:
                np.add.at(self.counts, (bits, rows), counts)
            else:
                self._add_sparse(rows, bits, counts)

    def _add_sparse(
        self, rows: NDArray[np.uint64], bits: NDArray[np.uint8], counts: NDArray[np.int64] | int
    ) -> None:
        added = np.zeros((2, rows.size), dtype=np.int64)
        added[bits, np.arange(rows.size)] = counts
        self._merge(rows, added)

    def _merge(self, rows: NDArray[np.uint64], counts: NDArray[np.int64]) -> None:
        everything = np.concatenate([self.rows, rows])
        self.rows, place = np.unique(everything, return_inverse=True)
        both = np.concatenate([self.counts, counts], axis=1)
        self.counts = np.array([np.bincount(place, weights=side, minlength=self.rows.size) for side in both])
        self.counts = self.counts.astype(np.int64)
        self._densify_if_crowded()

    def _densify_if_crowded(self, more: int = 0) -> None:
        crowded = CROWDED * (self.rows.size + more) >= 2**self.level
        if crowded and self.level <= DENSE_LEVELS and not self._dense:
            self._densify()

    def _densify(self) -> None:
        """Have every row, also those that did not come up."""
        rows, counts = self.rows, self.counts
        self.rows = np.arange(2**self.level, dtype=np.uint64)
        self.counts = np.zeros((2, self.rows.size), dtype=np.int64)
        self.counts[:, rows.view(np.int64)] = counts
        self._dense = True

    def absorb(self, other: LevelCounts) -> None:
        """Add another level's counts to these."""
        self.settle()
        other.settle()
        if other._dense and not self._dense:
            self._densify()
        if other._dense:
            self.counts += other.counts
        elif self._dense:
            self.counts[:, other.rows.view(np.int64)] += other.counts
        else:
            self._merge(other.rows, other.counts)

    @property
    def people(self) -> int:
        """How many bits were counted."""
        self.settle()
        return int(self.counts.sum())

    @property
    def signs(self) -> NDArray[np.int64]:
        """For each of `rows`: bits that were 0 (the sign +1) minus bits that were 1."""
        self.settle()
        difference: NDArray[np.int64] = self.counts[0] - self.counts[1]
        return difference

    @property
    def every_sign(self) -> NDArray[np.int64]:
        """`signs` of all 2^level rows."""
        signs = self.signs
        if self._dense:
            return signs
        every = np.zeros(2**self.level, dtype=np.int64)
        every[self.rows.view(np.int64)] = signs
        return every

    def to_json(self) -> dict[str, Any]:
        """Rows that came up, by their differences, and their counts."""
        self.settle()
        seen = np.flatnonzero(self.counts.sum(axis=0))
        rows = self.rows[seen]
        steps = np.diff(rows, prepend=np.uint64(0))
        return {
            "rows": _packed(steps),
            "zeros": _packed(self.counts[0, seen].astype(np.uint64)),
            "ones": _packed(self.counts[1, seen].astype(np.uint64)),
        }

    def read(self, spec: Any) -> None:
        """Fill empty counts from plain values."""
        if not isinstance(spec, Mapping) or set(spec) != {"rows", "zeros", "ones"}:
            raise BadFile("each level of a tree's tally has 'rows', 'zeros' and 'ones'")
        steps, zeros, ones = (_unpacked(spec[name]) for name in ("rows", "zeros", "ones"))
        if not steps.size == zeros.size == ones.size:
            raise BadFile("a level's rows, zeros and ones must be equally many")
        rows = np.cumsum(steps, dtype=np.uint64)
        limit = 2**self.level
        ascending = bool((steps[1:] > 0).all()) and bool((rows[1:] > rows[:-1]).all())
        if rows.size and (not ascending or int(rows[-1]) >= limit):
            raise BadFile(f"a level's rows must ascend below {limit}")
        # As floats: a sum of forged integers could wrap around to something that looks right.
        if zeros.sum(dtype=np.float64) + ones.sum(dtype=np.float64) > MAX_COUNT:
            raise BadFile("a level's counts must be below 2^53 together")
        if bool((zeros + ones == 0).any()):
            raise BadFile("a level's counts must be above 0")
        counts = np.array([zeros, ones]).astype(np.int64)
        if self._dense:
            self.counts[:, rows.view(np.int64)] = counts
        else:
            self.rows, self.counts = rows, counts
            self._densify_if_crowded()


class TreeCounts:
    """The counts of every level, for one stratum."""

    def __init__(
        self,
        depth: int,
        expand: Expand,
        symbols: int,
        everybody: bool,
        parities: int = 1,
        cells: Cells | None = None,
    ) -> None:
        """No reports yet.

        ``expand`` recomputes participants' coins; a report is one of ``symbols``, and stands for a row of
        every level (``everybody``), or for all rows that ``parities`` rows of one level span. ``cells``
        are the codes of level, row and bit, where a report is one of these.
        """
        self.levels = [LevelCounts(level) for level in range(1, depth + 1)]
        self._expand = expand
        self._symbols = symbols
        self._everybody = everybody
        self._parities = parities
        self._cells = cells
        self._people = 0

    @property
    def people(self) -> int:
        """How many reports were counted."""
        return self._people

    def add(self, first_index: int, symbols: NDArray[Any]) -> None:
        """Count the symbols of consecutive participants."""
        if self._check(symbols):
            self._count(first_index, symbols, None)

    def add_at(self, indices: NDArray[np.int64], places: NDArray[np.int64], symbols: NDArray[Any]) -> None:
        """Count the symbols of participants with these ascending indices, at these places among the asked."""
        if self._check(symbols):
            for part, _, there in windows(places):
                self._count(int(indices[part][0]), symbols[part], there)

    def add_cells(self, cells: NDArray[np.int64], counts: NDArray[np.int64] | None = None) -> None:
        """Count reports by the code of their level, row and bit."""
        if self._cells is None:
            raise BadValue("a report of this study counts in several cells")
        self._cells.check(cells, counts)
        levels, rows, bits = decoded(cells, len(self.levels))
        # Of so small numbers the order is found without comparing.
        order = np.argsort(levels.astype(np.uint8), kind="stable")
        ends = np.searchsorted(levels[order], np.arange(1, len(self.levels) + 2))
        for level, (start, end) in zip(self.levels, pairwise(ends.tolist()), strict=True):
            if start < end:
                who = order[start:end]
                level.add(rows[who], bits[who], None if counts is None else counts[who])
        self._people += cells.size if counts is None else int(counts.sum())

    def _check(self, symbols: NDArray[Any]) -> bool:
        if symbols.size == 0:
            return False
        if int(symbols.min()) < 0 or int(symbols.max()) >= self._symbols:
            raise BadValue(f"symbols of this study are 0 to {self._symbols - 1}")
        return True

    def _count(self, first_index: int, symbols: NDArray[Any], there: NDArray[np.bool_] | None) -> None:
        for level, rows, bits in self._expand(first_index, symbols.astype(np.uint64), there):
            self.levels[level - 1].add(rows, bits)
        self._people += symbols.size

    def plus(self, other: TreeCounts) -> TreeCounts:
        both = TreeCounts(
            len(self.levels), self._expand, self._symbols, self._everybody, self._parities, self._cells
        )
        for mine, first, second in zip(both.levels, self.levels, other.levels, strict=True):
            mine.absorb(first)
            mine.absorb(second)
        both._people = self._people + other._people
        if max(level.people for level in both.levels) > MAX_COUNT:
            raise BadValue("a tally counts fewer than 2^53 reports of each level")
        return both

    def to_json(self) -> dict[str, Any]:
        """The counts as plain values."""
        return {"people": self._people, "levels": [level.to_json() for level in self.levels]}

    def read(self, spec: Mapping[str, Any]) -> None:
        """Fill empty counts from plain values."""
        if set(spec) != {"people", "levels"} or not isinstance(spec["levels"], list):
            raise BadFile("each stratum of a tree's tally has 'people' and 'levels'")
        if len(spec["levels"]) != len(self.levels):
            raise BadFile(f"a tally of this study has {len(self.levels)} levels, not {len(spec['levels'])}")
        for level, table in zip(self.levels, spec["levels"], strict=True):
            level.read(table)
        spanned = [2 ** min(level.level, self._parities) - 1 for level in self.levels]
        answered = [divmod(level.people, rows) for level, rows in zip(self.levels, spanned, strict=True)]
        whole = [people for people, _ in answered]
        people = whole[0] if self._everybody else sum(whole)
        uneven = any(rest for _, rest in answered) or (self._everybody and set(whole) != {people})
        if spec["people"] != people or isinstance(spec["people"], bool) or uneven:
            raise BadFile("a tally's number of people must be that of its levels")
        self._people = people


def _packed(numbers: NDArray[np.uint64]) -> str:
    return base64.b64encode(packed(numbers)).decode()


def _unpacked(text: Any) -> NDArray[np.uint64]:
    try:
        return unpacked(base64.b64decode(text, validate=True))
    except (TypeError, ValueError, binascii.Error):
        raise BadFile("a tree's tally holds packed integers in base64") from None
