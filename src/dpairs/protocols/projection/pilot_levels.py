"""Which levels of a tree the people of a first round are dealt."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import gcd
from typing import TYPE_CHECKING

from ...data.domains import Interval
from ...errors import BadParameter
from ..tree.answers import MAX_DEPTH
from ..tree.leaves import told_by_floats
from ..tree.predict import level_noise
from .pilot_atoms import standing_out_by_chance
from .pilot_descent import FAR

if TYPE_CHECKING:
    from .pilot_tree import PilotTree

COARSE = 8
"""Levels that decide how well a pilot fits."""
TOGETHER = 12
"""Up to this level all even ones are dealt, however many columns there are."""
SEVERAL = 2.0
"""From this epsilon on a report of several bits tells nodes apart at every level."""
GRID_BITS = 10
"""Up to so many bits all leaves are cells; deeper trees, of one column, are cut where people are."""
DEEPEST = 32
"""The level that tells values from crowds."""
MOST_BELOW = 16
"""Halvings below the walk's leaves of a level that is searched whole."""
Levels = tuple[int, ...]


def dealt_levels(bits: tuple[int, ...], epsilon: float, deep: int = 0) -> Levels:
    """Every second level from the leaves up; at a small epsilon the coarse ones several times.

    A level that nobody is asked about costs nothing: its nodes are sums of those below. Levels of few nodes
    decide how well the pilot fits at all, and where noise is large deep ones see nothing but values that very
    many people share. One more level, ``deep`` below the leaves, tells such values from crowds
    (`pilot_atoms`): one person in 17 or 18 is asked about it.

    >>> dealt_levels((16,), 4.0)
    (2, 4, 6, 8, 10, 12, 14, 16)
    >>> dealt_levels((16,), 1.0)
    (2, 2, 2, 4, 4, 4, 6, 6, 6, 8, 8, 8, 10, 10, 12, 14, 16)
    >>> dealt_levels((16,), 4.0, 32)
    (2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14, 16, 16, 32)

    Columns are halved in turns, and a level at which one was halved more often than the other says less of
    how both go together. Of several columns the levels are therefore even ones, and deep ones lie as many
    halvings of each column of numbers apart as on a column alone.

    >>> dealt_levels((10, 10), 4.0)
    (2, 4, 6, 8, 10, 12, 16, 20)
    >>> dealt_levels((16, 1), 4.0), dealt_levels((17,), 4.0)
    ((2, 4, 6, 8, 10, 12, 14, 17), (1, 3, 5, 7, 9, 11, 13, 15, 17))
    """
    depth, numbers = sum(bits), sum(each > 1 for each in bits)
    often = (3, 2, 1) if epsilon < SEVERAL else (2, 2, 2) if deep else (1, 1, 1)
    if len(bits) == 1:
        levels = [*range(2 - depth % 2, depth + 1, 2)]
    else:
        coarse, apart = range(2, min(TOGETHER, depth - 2) + 1, 2), 2 * numbers
        levels = [*coarse, *range(TOGETHER + apart, depth - 1, apart), depth]
    near = (level for level in levels for _ in range(often[(level > COARSE) + (level > GRID_BITS)]))
    return (*near, deep) if deep else tuple(near)


def walked_levels(dealt: Levels) -> Levels:
    """The levels that a walk from the root reaches, as often as they are dealt for each other.

    >>> walked_levels((2, 2, 4, 4, 6, 6, 24))
    (2, 4, 6)
    """
    often = Counter(dealt)
    reached = {0: 0}
    for level in sorted(often):
        if level - max(reached) > FAR:
            break
        reached[level] = often[level]
    common = gcd(*reached.values()) or 1
    return tuple(level for level, count in reached.items() for _ in range(count // common))


def check_levels(dealt: Levels, depth: int, parities: int) -> None:
    """Refuse levels that a tree does not have, or that a walk from the root does not lead to.

    Where levels lie far below, those above have to be a tree of their own: of two levels, and as many as a
    report has parities. A walk over the gap would look into every node of it.
    """
    if dealt and (len(dealt) > MAX_DEPTH or max(dealt) > depth):
        raise BadParameter(
            f"a pilot tree of {depth} levels deals out up to {MAX_DEPTH} of these, not {dealt}"
        )
    reached, least = max(walked_levels(dealt), default=0), max(parities, 2)
    if dealt and reached < max(dealt) and reached < least:
        raise BadParameter(
            f"a pilot tree that deals out level {max(dealt)} needs others down to level {least} or further, "
            f"at most {FAR} apart, not {dealt}"
        )


def deeper(tree: PilotTree, epsilon: float) -> PilotTree | None:
    """The same tree with one level far below, where that tells values from crowds of one column.

    None if nobody compares its numbers, or its floats are too few.
    """
    domain, more = tree.domains[0], DEEPEST - tree.depth
    if len(tree.domains) > 1 or not isinstance(domain, Interval) or tree.compared is None:
        return None
    bits = (tree.bits[0] + more, *tree.bits[1:])
    if not 0 < more <= MOST_BELOW or not told_by_floats(domain, bits[0]):
        return None
    return replace(tree, depth=DEEPEST, bits=bits, dealt=dealt_levels(tree.bits, epsilon, DEEPEST))


def tells_values(tree: PilotTree, people: float) -> bool:
    """Whether a value that all of so many people have would stand out at the level far below the others."""
    noise = float(level_noise(tree, people).own[-1])
    return noise * standing_out_by_chance(tree.depth - tree.walked.depth) ** 2 < 1
