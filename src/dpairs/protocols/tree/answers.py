"""What people of a tree study answer: randomized signs of public Hadamard rows, and how they are counted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain
from ...errors import BadFile, BadParameter
from ...formats.checks import choice, integer
from ...mechanisms import KaryResponse
from ...mechanisms.thresholds import log_above
from ...privacy.composition import check_delta, composed_ratio
from ...randomness import Randomness
from ...randomness.coins import WORDS_IN_BLOCK, Coins, Purpose, windows
from ...statistics import Statistic
from ..counts import Cells
from . import cells as tree_cells
from .coins import ROWS, even_levels, every_row, independent_levels, independent_rows, row
from .counts import TreeCounts
from .hadamard import parity
from .parities import MAX_PARITIES, packed, spanned

MAX_DEPTH = 64
SPLITTINGS = ("users", "users-independent", "budget", "budget-advanced", "budget-advanced-paper")


@dataclass(frozen=True)
class TreeAnswers(ABC):
    """One randomized bit of a random Hadamard row of a random level; or of every level.

    ``splitting``: "users" gives each person one level, every level once in each block of ``depth``
    indices; "users-independent" draws each person's level alone; "budget" asks everybody about all
    levels with an equal share of epsilon; "budget-advanced" does so under (epsilon, delta) with the
    optimal composition, "budget-advanced-paper" with the paper's formula.

    ``responses`` has one entry for each number of parities sent: a single one, of one bit, unless the
    study asks for several (``answer="several-bits"``), which pays from epsilon 2 on.
    """

    statistic: Statistic
    domains: tuple[Domain, ...]
    depth: int
    splitting: str
    rows: str
    responses: tuple[KaryResponse, ...]
    delta: float

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        self.statistic.check_domains(self.domains)
        self.check_shape()
        choice("splitting", self.splitting, SPLITTINGS)
        choice("rows", self.rows, ROWS)
        if [response.inputs for response in self.responses] != [2 << step for step in range(self.parities)]:
            raise BadParameter("a tree's responses have 2, 4, 8, ... inputs")
        integer("parities", self.parities, 1, min(MAX_PARITIES, self.depth))
        if self.parities > 1 and (self.everybody_everywhere or self.rows == "all"):
            raise BadParameter("several bits of one level need splitting by users and rows='others'")
        if "advanced" in self.splitting:
            check_delta(self.delta)
        elif self.delta != 0:
            raise BadParameter(f"splitting {self.splitting!r} is pure: it has no delta, not {self.delta!r}")

    @abstractmethod
    def check_shape(self) -> None:
        """Refuse a statistic or a depth that the tree cannot have."""

    @abstractmethod
    def people(self, columns: Sequence[Any]) -> NDArray[np.uint64]:
        """The leaf of each person."""

    @property
    def everybody_everywhere(self) -> bool:
        """Whether each person answers about all levels."""
        return self.splitting.startswith("budget")

    @property
    def parities(self) -> int:
        """How many signs of one level a report has, where the level has as many bits."""
        return len(self.responses)

    @property
    def answers(self) -> int:
        """How many bits a report has."""
        return self.depth if self.everybody_everywhere else self.parities

    @property
    def symbols(self) -> int:
        """As many as the bits of a report spell."""
        return 1 << self.answers

    @cached_property
    def epsilon(self) -> float:
        """One bit's exact loss; of all bits together, by the composition that the splitting names."""
        if not self.everybody_everywhere:
            return max(response.epsilon for response in self.responses)
        (response,) = self.responses
        if "advanced" not in self.splitting:
            return log_above(Fraction(response.floor + response.boost, response.floor) ** self.depth)
        return composed_loss(response, self.depth, self.delta)

    def randomize(
        self, coins: Coins, stratum: int, first_index: int, columns: Sequence[Any], bits: Randomness
    ) -> NDArray[Any]:
        """The randomized signs of public rows at the person's node: 0 for +1, 1 for -1."""
        leaf = self.people(columns)
        if not self.everybody_everywhere:
            return self._answered(leaf, *self._assigned(coins, stratum, first_index, leaf.size), bits)
        every = every_row(coins, stratum, first_index, leaf.size, self.depth, self.rows)
        drop = np.arange(self.depth - 1, -1, -1, dtype=np.uint64)
        asked = parity((leaf[:, None] >> drop) & every)
        sent = self.responses[0].randomize(asked.reshape(-1).astype(np.int64), bits)
        return packed(sent.reshape(asked.shape))

    def _answered(
        self, leaf: NDArray[np.uint64], levels: NDArray[np.int64], rows: NDArray[np.uint64], bits: Randomness
    ) -> NDArray[np.int64]:
        node = leaf >> (self.depth - levels).astype(np.uint64)
        symbols, words = np.zeros(leaf.size, dtype=np.int64), bits.words(leaf.size)
        for parities, response in enumerate(self.responses, start=1):
            # A level of fewer bits than parities has as many independent rows as bits.
            who = np.flatnonzero(np.minimum(levels, self.parities) == parities)
            signs = packed(parity(node[who, None] & rows[who, :parities]))
            symbols[who] = response.choose(signs.view(np.int64), words[who])
        return symbols

    @cached_property
    def cell_codes(self) -> Cells | None:
        """The codes of (level, row, bit), where a report is one bit of one row."""
        if self.everybody_everywhere or self.parities > 1:
            return None
        return tree_cells.cells(self.depth, self.rows) if self.depth <= tree_cells.MAX_DEPTH else None

    def cells_of(
        self, coins: Coins, stratum: int, indices: NDArray[np.int64], symbols: NDArray[Any]
    ) -> NDArray[np.int64]:
        """The code of each person's level and row, and of the bit."""
        if indices.size == 0:
            return np.empty(0, dtype=np.int64)
        there, place = np.unique(indices, return_inverse=True)
        if tree_cells.scattered(there):
            words = coins.words_at(Purpose.ROW, stratum, there)
            if self.splitting == "users":
                levels = tree_cells.even_levels_at(coins, stratum, there, self.depth)
            else:
                levels = independent_levels(words, self.depth)
            rows = row(words[:, 0], levels, self.rows)
        else:
            parts = [
                [each[who] for each in self._assigned(coins, stratum, first, who.size)]
                for _, first, who in windows(there)
            ]
            levels, rows = (np.concatenate(each) for each in zip(*parts, strict=True))
            rows = rows[:, 0]
        return tree_cells.encoded(levels[place], rows[place], symbols.astype(np.int64))

    def symbols_of(self, cells: NDArray[np.int64]) -> NDArray[np.int64]:
        return cells & 1

    def randomize_cells(
        self, coins: Coins, stratum: int, first_index: int, columns: Sequence[Any], bits: Randomness
    ) -> NDArray[np.int64]:
        """The cells of consecutive participants' reports, from coins that are made once."""
        leaf = self.people(columns)
        levels, rows = self._assigned(coins, stratum, first_index, leaf.size)
        return tree_cells.encoded(levels, rows[:, 0], self._answered(leaf, levels, rows, bits))

    @property
    def groups(self) -> int:
        """Into how many groups people are split, each with a level of its own."""
        return self.depth

    def _dealt(self, coins: Coins, stratum: int, first: int, count: int) -> NDArray[np.int64]:
        """The level of each of ``count`` consecutive people when levels are dealt out evenly."""
        return even_levels(coins, stratum, first, count, self.depth)

    def _assigned(
        self, coins: Coins, stratum: int, first: int, count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        words = coins.words(Purpose.ROW, stratum, first, count)
        if self.splitting == "users":
            levels = self._dealt(coins, stratum, first, count)
        else:
            levels = independent_levels(words, self.depth)
        rows = np.zeros((count, self.parities), dtype=np.uint64)
        rows[:, 0] = row(words[:, 0], levels, self.rows)
        if self.parities > 1:
            blocks = -(-(self.parities - 1) // WORDS_IN_BLOCK)
            more = coins.words(Purpose.MORE_ROWS, stratum, first * blocks, count * blocks)
            together = np.concatenate([words[:, :1], more.reshape(count, blocks * WORDS_IN_BLOCK)], axis=1)
            for parities in range(2, self.parities + 1):
                who = np.flatnonzero(np.minimum(levels, self.parities) == parities)
                rows[who, :parities] = independent_rows(together[who, :parities], levels[who])
        return levels, rows

    def empty_counts(self, coins: Coins, stratum: int) -> TreeCounts:
        """Counts by level, row and bit."""

        def expand(
            first: int, symbols: NDArray[np.uint64], there: NDArray[np.bool_] | None
        ) -> list[tuple[int, NDArray[np.uint64], NDArray[np.uint8]]]:
            count, who = (symbols.size, slice(None)) if there is None else (there.size, there)
            if self.everybody_everywhere:
                rows = every_row(coins, stratum, first, count, self.depth, self.rows)[who]
                one = np.uint64(1)
                return [
                    (level + 1, rows[:, level], (symbols >> np.uint64(level) & one).astype(np.uint8))
                    for level in range(self.depth)
                ]
            levels, rows = self._assigned(coins, stratum, first, count)
            levels, rows = levels[who], rows[who]
            order = np.argsort(levels, kind="stable")
            ends = np.searchsorted(levels[order], np.arange(1, self.depth + 2))
            picked = [order[start:end] for start, end in pairwise(ends)]
            return [
                (level, *spanned(rows[people, : min(level, self.parities)], symbols[people]))
                for level, people in enumerate(picked, start=1)
                if people.size
            ]

        return TreeCounts(
            self.depth, expand, self.symbols, self.everybody_everywhere, self.parities, self.cell_codes
        )


def composed_loss(response: KaryResponse, times: int, delta: float) -> float:
    """The exact loss of so many answers at ``delta``."""
    return log_above(composed_ratio(response.floor + response.boost, response.floor, times, delta))


def responses_from_json(name: str, floors: Any) -> tuple[KaryResponse, ...]:
    """The responses of one parity, two parities, and so on, from their floors."""
    if not isinstance(floors, list) or not all(_is_threshold(floor) for floor in floors):
        raise BadFile(f"protocol {name!r} needs floors that are whole numbers, not {floors!r}")
    return tuple(KaryResponse(2 << step, int(floor)) for step, floor in enumerate(floors[:MAX_PARITIES]))


def _is_threshold(text: Any) -> bool:
    return isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 20
