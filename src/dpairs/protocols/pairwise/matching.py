"""Who computes with whom: pairs of people from public coins.

People are first dealt into groups, at random and of equal sizes, and only people of one group meet. That
changes nothing about a single pair, which is a random pair of people all the same; but groups share nobody,
so the spread of their means is an honest standard error however many pairs a person is in.

`permutations`: in every pairing a fresh random order, neighbours meet (the paper's scheme).
`disjoint`: the pairings of a round-robin tournament, so that no two people meet twice (its footnote).
`classes`: a person of one class meets one of the other, so that no pair is wasted on two people of one class;
the larger class is used up before anybody of it is asked again.
`uncoordinated`: everybody draws half as many others as there are pairings (the paper's alternative, for
people without a common order). Whoever has been in as many pairs as there are pairings meets nobody more, so
that a person's loss is bounded; the pairs that are left are random pairs all the same.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...errors import NotAsked, NotEnoughData
from ...garbled.wire import Pair
from ...randomness.coins import WORDS_IN_BLOCK, Coins, Purpose, below

GROUPS = 64
LEAST, SPARE = 64, 16
"""People of each class that a group has at least, where there are several; and for each pairing."""
Index = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Pairs:
    """All pairs of a study: a pair's number says its group (number % 64), pairing, and place in it."""

    numbers: Index
    pairings: Index
    garblers: Index
    """The index of the one who garbles, in the last stratum where there are two."""
    evaluators: Index
    """The index of the one who evaluates, in the first stratum."""

    def pair(self, study_id: str, number: int, strata: int) -> Pair:
        """The pair of that number, as its session names it: people of two strata get different numbers."""
        there = np.flatnonzero(self.numbers == number)
        if there.size == 0:
            raise NotAsked(f"there is no pair {number}: the {len(self)} pairs are {self._few()}")
        place = int(there[0])
        garbler, evaluator = int(self.garblers[place]), int(self.evaluators[place])
        if strata == 2:
            garbler, evaluator = 2 * garbler + 1, 2 * evaluator
        return Pair(study_id, garbler, evaluator, int(self.pairings[place]))

    def _few(self) -> str:
        shown = ", ".join(map(str, np.sort(self.numbers)[:6].tolist()))
        return shown if len(self) <= 6 else f"{shown}, ..."

    def __len__(self) -> int:
        """How many pairs there are."""
        return self.numbers.size


def match(coins: Coins, sizes: Mapping[str, int], pairings: int, matching: str, first: int = 0) -> Pairs:
    """The pairs of ``sizes`` people in ``pairings`` pairings; each person is in at most as many of them.

    ``first`` is the index of the first person; all coins are those of the indices from there on.
    """
    least = min(sizes.values())
    if least < (2 if len(sizes) == 1 else 1):
        there = ", ".join(f"{n} {name}" for name, n in sizes.items()) if len(sizes) > 1 else f"{least} people"
        raise NotEnoughData(f"no pair can be made of {there}")
    others = least - 1 + least % 2
    if matching == "disjoint" and pairings > others:
        raise NotEnoughData(f"{pairings} disjoint pairings need more people: {least} have {others}")
    groups = max(1, min(GROUPS, least // max(LEAST, SPARE * pairings)))
    dealt = [
        _dealt(coins, stratum, first, people, groups, pairings)
        for stratum, people in enumerate(sizes.values())
    ]
    made: list[tuple[Index, Index, int, int]] = []
    for group in range(groups):
        if matching == "uncoordinated":
            made += [
                (*pairs, group, number) for number, pairs in enumerate(_drawn(*dealt[0][group], pairings))
            ]
            continue
        for number in range(pairings):
            if len(dealt) == 1:
                pairs = _in_group(*dealt[0][group], number, matching)
            else:
                pairs = _across(dealt[0][group][0], dealt[1][group][0], number)
            made.append((*pairs, group, number))
    places = max(pairs[0].size for pairs in made)
    numbers = [GROUPS * (number * places + np.arange(one.size)) + group for one, _, group, number in made]
    return Pairs(
        np.concatenate(numbers),
        np.concatenate([np.full(one.size, number) for one, _, _, number in made]),
        np.concatenate([other for _, other, _, _ in made]),
        np.concatenate([one for one, _, _, _ in made]),
    )


def _dealt(
    coins: Coins, stratum: int, first: int, people: int, groups: int, pairings: int
) -> list[tuple[Index, NDArray[np.uint64]]]:
    """Each group's members in a random order, with a public word of each for every pairing."""
    blocks = -(-(pairings + 1) // WORDS_IN_BLOCK)
    words = coins.words(Purpose.PAIRING, stratum, first * blocks, people * blocks).reshape(
        people, blocks * WORDS_IN_BLOCK
    )
    order = np.argsort(words[:, 0], kind="stable")
    # Even sizes, so that at most one person is left over, not one of each group.
    ends = [2 * round(group * people / (2 * groups)) for group in range(groups)] + [people]
    members = [order[start:end] for start, end in pairwise(ends)]
    return [(each, words[each, 1:]) for each in members]


def _in_group(members: Index, words: NDArray[np.uint64], number: int, matching: str) -> tuple[Index, Index]:
    """The pairs of one pairing within a group."""
    if matching == "permutations":
        order = members[np.argsort(words[:, number], kind="stable")]
        half = order.size // 2 * 2
        return order[0:half:2], order[1:half:2]
    # A round-robin tournament: one stays, the others move on by one place; opposite places meet. With an odd
    # number of people, who meets the empty place rests.
    size = members.size + members.size % 2
    seats = np.concatenate(([0], 1 + (np.arange(size - 1) + number) % (size - 1)))
    first, second = seats[: size // 2], seats[: size // 2 - 1 : -1]
    both = (first < members.size) & (second < members.size)
    return members[first[both]], members[second[both]]


def _drawn(members: Index, words: NDArray[np.uint64], pairings: int) -> list[tuple[Index, Index]]:
    """The pairs of each draw, of whom who drew evaluates; nobody is in more than ``pairings`` pairs."""
    size, draws = members.size, min(pairings // 2, members.size - 1)
    places = np.arange(size)
    # The r-th draw is uniform over those others whom this person did not draw before.
    drawn = np.empty((draws, size), dtype=np.int64)
    for number in range(draws):
        left = np.full(size, size - 1 - number, dtype=np.uint64)
        step = below(words[:, number], left).astype(np.int64)
        taken = np.sort(np.concatenate([places[None, :], drawn[:number]]), axis=0)
        for row in taken:
            step += step >= row
        drawn[number] = step
    kept: list[tuple[Index, Index]] = []
    met = [0] * size
    for row in drawn.tolist():
        pairs = []
        for one, other in enumerate(row):
            if met[one] < pairings and met[other] < pairings:
                met[one] += 1
                met[other] += 1
                pairs.append((one, other))
        both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        kept.append((members[both[:, 0]], members[both[:, 1]]))
    return kept


def _across(first: Index, second: Index, number: int) -> tuple[Index, Index]:
    """The pairs of one pairing between two classes of a group.

    The smaller class goes through the larger one, in stretches of its own size. Every L / gcd(S, L) pairings
    it is through and back at the beginning; then it starts one place further, so that nobody meets twice.
    """
    small, large = (first, second) if first.size <= second.size else (second, first)
    turns = large.size // math.gcd(small.size, large.size)
    partners = large[(np.arange(small.size) + number * small.size + number // turns) % large.size]
    return (small, partners) if small is first else (partners, small)
