"""The `tree` protocol: AUC on ordered domains of any size, with one bit from each person.

Section 4 of the paper: hierarchical histograms of both classes by Hadamard randomized response, and a
walk of the two trees. Participant's side here; the analyst's is in `tree_estimate`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Integers, Interval
from ...errors import BadFile, BadParameter
from ...estimate import Manipulation
from ...formats.checks import choice, fields, integer, real, required
from ...mechanisms import KaryResponse
from ...mechanisms.thresholds import log_above
from ...privacy import PrivacyClaim, local_claim
from ...privacy.composition import advanced_share, check_delta, composed_ratio, optimal_share
from ...randomness import Randomness
from ...randomness.coins import WORDS_IN_BLOCK, Coins, windows
from ...statistics import AUC, Statistic
from ..base import Answer, Protocol
from ..counts import Cells
from . import cells as tree_cells
from .coins import MORE_ROWS, ROW, ROWS, even_levels, every_row, independent_levels, independent_rows, row
from .counts import TreeCounts
from .estimate import ESTIMATORS, Evidence, estimate
from .hadamard import parity
from .leaves import bits_of, leaf_codes
from .manipulation import tree_manipulation
from .parities import MAX_PARITIES, best_parities, packed, spanned

MAX_DEPTH = 64
SPLITTINGS = ("users", "users-independent", "budget", "budget-advanced", "budget-advanced-paper")
DEFAULT_BINS = 2**16
ANSWERS = ("one-bit", "several-bits")


@dataclass(frozen=True)
class Tree(Protocol):
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
    name: ClassVar[str] = "tree"
    uses_coins: ClassVar[bool] = True
    options: ClassVar[tuple[str, ...]] = ("bins", "splitting", "rows", "answer", "delta", "n")
    estimators: ClassVar[tuple[str, ...]] = ESTIMATORS

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

    def check_shape(self) -> None:
        """Refuse a statistic or a depth that the tree cannot have."""
        _check_statistic(self.statistic)
        _check_depth(self.depth, self.domains[0])

    @classmethod
    def create(
        cls,
        statistic: Statistic,
        domains: tuple[Domain, ...],
        epsilon: float,
        *,
        bins: int | None = None,
        splitting: str = "users",
        rows: str = "others",
        answer: str = "one-bit",
        delta: float | None = None,
        n: int | None = None,
    ) -> Tree:
        """A tree over ``bins`` = 2^depth leaves (65,536 on an interval, all values elsewhere)."""
        _check_statistic(statistic)
        statistic.check_domains(domains)
        choice("splitting", splitting, SPLITTINGS)
        depth = _depth(bins, domains[0])
        if "advanced" in splitting and delta is None:
            raise BadParameter(f"splitting {splitting!r} needs a delta, for example delta=1e-8")
        if "advanced" not in splitting and delta:
            raise BadParameter(f"splitting {splitting!r} is pure: it takes no delta")
        share = {
            "budget": lambda: math.nextafter(epsilon / depth, 0),
            "budget-advanced": lambda: _within(
                epsilon, delta or 0, depth, optimal_share(epsilon, delta or 0, depth)
            ),
            "budget-advanced-paper": lambda: advanced_share(epsilon, delta or 0, depth),
        }.get(splitting, lambda: epsilon)()
        several = choice("answer", answer, ANSWERS) == "several-bits"
        parities = best_parities(share, depth) if several else 1
        responses = tuple(KaryResponse.for_epsilon(2 << step, share) for step in range(parities))
        return cls(statistic, domains, depth, splitting, rows, responses, float(delta or 0))

    @classmethod
    def from_json(cls, statistic: Statistic, domains: tuple[Domain, ...], spec: Mapping[str, Any]) -> Tree:
        names = ("depth", "splitting", "rows", "floors", "delta")
        fields(f"protocol {cls.name!r}", spec, ("name", *names))
        required(f"protocol {cls.name!r}", spec, names)
        depth = integer("depth", spec["depth"], 1, MAX_DEPTH)
        delta = real("delta", spec["delta"])
        responses = responses_from_json(cls.name, spec["floors"])
        return cls(statistic, domains, depth, spec["splitting"], spec["rows"], responses, delta)

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "depth": self.depth,
            "splitting": self.splitting,
            "rows": self.rows,
            "floors": [str(response.floor) for response in self.responses],
            "delta": self.delta,
        }

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
        return _composed(response, self.depth, self.delta)

    def leaves(self, values: Any) -> NDArray[np.uint64]:
        """The leaf of each value."""
        return leaf_codes(self.domains[0], self.depth, values, "score")

    def people(self, columns: Sequence[Any]) -> NDArray[np.uint64]:
        """The leaf of each person."""
        return self.leaves(columns[0])

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
        if self.everybody_everywhere or self.parities > 1 or self.rounds > 1:
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
            words = coins.words_at(ROW, stratum, there)
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

    def _assigned(
        self, coins: Coins, stratum: int, first: int, count: int
    ) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        words = coins.words(ROW, stratum, first, count)
        if self.splitting == "users":
            levels = even_levels(coins, stratum, first, count, self.depth)
        else:
            levels = independent_levels(words, self.depth)
        rows = np.zeros((count, self.parities), dtype=np.uint64)
        rows[:, 0] = row(words[:, 0], levels, self.rows)
        if self.parities > 1:
            blocks = -(-(self.parities - 1) // WORDS_IN_BLOCK)
            more = coins.words(MORE_ROWS, stratum, first * blocks, count * blocks)
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

    def evidence(self, counts: Mapping[str, TreeCounts]) -> Evidence:
        statistic = self.statistic
        ties = statistic.ties if isinstance(statistic, AUC) else "half"
        return Evidence(
            tuple(counts.values()), self.depth, self.responses, self.rows, self.everybody_everywhere, ties
        )

    def estimate(self, counts: Mapping[str, TreeCounts], estimator: str) -> Answer:
        return estimate(self.evidence(counts), self.domains[0], estimator)

    def manipulation(self, counts: Mapping[str, TreeCounts], estimator: str, people: int) -> Manipulation:
        return tree_manipulation(self.evidence(counts), estimator, people)

    def privacy(self, epsilon_asked: float) -> PrivacyClaim:
        """Pure epsilon-LDP in one round, or (epsilon, delta) under advanced composition."""
        theorem = "exact ratio of the answer's probabilities, integers out of 2^64"
        if self.splitting == "budget":
            theorem += f", composed over {self.depth} levels"
        elif self.everybody_everywhere:
            theorem += f", composed over {self.depth} levels by Kairouz, Oh and Viswanath's theorem"
        return local_claim(self.epsilon, epsilon_asked, self.delta, self.statistic.private_columns, theorem)


def _composed(response: KaryResponse, times: int, delta: float) -> float:
    """The exact loss of so many answers at ``delta``."""
    return log_above(composed_ratio(response.floor + response.boost, response.floor, times, delta))


def _within(epsilon: float, delta: float, times: int, share: float) -> float:
    """A share found in floats, lowered by its last digits until the exact loss is within ``epsilon``."""
    step = 2.0**-52
    while _composed(KaryResponse.for_epsilon(2, share), times, delta) > epsilon:
        share, step = share * (1 - step), 2 * step
    return share


def responses_from_json(name: str, floors: Any) -> tuple[KaryResponse, ...]:
    """The responses of one parity, two parities, and so on, from their floors."""
    if not isinstance(floors, list) or not all(_is_threshold(floor) for floor in floors):
        raise BadFile(f"protocol {name!r} needs floors that are whole numbers, not {floors!r}")
    return tuple(KaryResponse(2 << step, int(floor)) for step, floor in enumerate(floors[:MAX_PARITIES]))


def _is_threshold(text: Any) -> bool:
    return isinstance(text, str) and text.isascii() and text.isdigit() and len(text) <= 20


def _check_statistic(statistic: Statistic) -> None:
    if not isinstance(statistic, AUC) or statistic.name != "auc" or statistic.labels != "public":
        raise BadParameter(
            "the tree protocol computes the AUC with public labels; histogram takes any statistic"
        )


def _depth(bins: Any, domain: Domain) -> int:
    if bins is None:
        return bits_of(DEFAULT_BINS if isinstance(domain, Interval) else domain.size)
    count = integer("bins", bins, 2, 2**MAX_DEPTH)
    if count & (count - 1):
        raise BadParameter(f"bins of a tree must be a power of 2, not {bins}")
    return count.bit_length() - 1


def _check_depth(depth: int, domain: Domain) -> None:
    integer("depth", depth, 1, MAX_DEPTH)
    if isinstance(domain, Interval):
        if depth > 52:
            raise BadParameter(f"an Interval has at most 2^52 bins, not 2^{depth}; use Integers for more")
    elif isinstance(domain, Integers):
        if depth > bits_of(domain.size):
            raise BadParameter(f"bins must be at most 2^{bits_of(domain.size)} for {domain!r}, not 2^{depth}")
    elif depth != bits_of(domain.size):
        raise BadParameter(f"bins must be 2^{bits_of(domain.size)} for {domain.size} levels, not 2^{depth}")
