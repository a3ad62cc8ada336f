"""How far liars can move the answer of a tree: a bound, for trees of at most 14 levels.

The answer is bilinear in the two classes' estimates of nodes *as long as the same nodes are recursed into*,
and these are linear in the reports: a report of level l and row j adds a_l (-1)^<j, q> times its sign to
the measurement of every node q. So the bound has three parts:

1. the nodes stay, one class at a time: linear, and exact. A report's weight is a_l times the Hadamard
   transform of the weights that the walk gives to the measurements of its level, at its row;
2. the nodes stay, both classes: at most R+ R- / 4 for each pair of nodes that the walk multiplies, with R
   the most by which all liars together move an estimate of that level;
3. the nodes change. Whether a node is recursed into can change only where its estimates, moved by R, reach
   the other side of the pruning rule. Over all such choices the largest and the smallest sum are found from
   the leaves up, each product at the end of its range.

The last part is generous: with many liars the rule decides nothing, and the bound is of no use, which is
said as infinity. That is no fault of the bound alone: a tree answers by levels, so a liar counts as often
as there are levels.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...estimate import Manipulation
from ...randomness import WORDS
from ...statistics.auc import TIES
from ..manipulation import Reach, taken
from .estimate import PRUNING, WHOLE_LEVELS, Evidence, explored, paper_rule
from .hadamard import transform
from .hierarchy import Solution
from .oracle import Oracle
from .walk import Keep, worth

Vector = NDArray[np.float64]
Sides = tuple[list[Vector], list[Vector]]
USEFUL = 1.0
"""An AUC lies between 0 and 1: a bound beyond that says nothing."""


def tree_manipulation(evidence: Evidence, estimator: str, people: int) -> Manipulation:
    """A bound on what ``people`` replaced reports change; infinite where none of use is known."""
    multiplier = max(WORDS / response.boost for response in evidence.responses)
    reach = Reach(math.inf, math.inf)
    if evidence.depth <= WHOLE_LEVELS:
        reach = _bound(_grown(evidence, estimator), people)
    down, up = (each if each <= USEFUL else math.inf for each in (reach.down, reach.up))
    return Manipulation(people, people, down, up, False, multiplier)


@dataclass(frozen=True, eq=False)
class _Grown:
    """Both classes' estimates of all nodes, root first, and how the walk goes through them."""

    evidence: Evidence
    estimates: Sides
    rules: list[Keep]
    """Which nodes of a level are recursed into, from level 1 on."""
    credit: float
    solutions: tuple[Solution, Solution] | None

    @property
    def tie(self) -> float:
        return TIES[self.evidence.ties]


def _grown(evidence: Evidence, estimator: str) -> _Grown:
    depth, sizes = evidence.depth, evidence.sizes
    if estimator == "pruned":
        solutions = explored(evidence)
        floors = zip(*(solution.variances[1:] for solution in solutions), strict=True)
        rules = [worth(both, PRUNING) for both in floors]
        return _Grown(evidence, (solutions[0].estimates, solutions[1].estimates), rules, 0.5, solutions)
    keep, credit = paper_rule(evidence, estimator)
    above: Sides = ([np.array([float(sizes[0])])], [np.array([float(sizes[1])])])
    for level in range(1, depth + 1):
        for side, nodes in enumerate(evidence.query(level, np.arange(2**level, dtype=np.uint64))):
            above[side].append(nodes)
    return _Grown(evidence, above, [keep] * depth, credit, None)


def _bound(grown: _Grown, people: int) -> Reach:
    kept = [np.ones(1, dtype=bool)] + [
        rule(h, g) for rule, h, g in zip(grown.rules, *(each[1:] for each in grown.estimates), strict=True)
    ]
    alive = [np.ones(1, dtype=bool)]
    for into in kept[:-1]:
        alive.append(np.repeat(alive[-1] & into, 2))
    radii = _radii(grown, 0, people), _radii(grown, 1, people)
    pairs = math.prod(map(float, grown.evidence.sizes))
    fixed = _fixed(grown, kept, alive, people)
    both = _crossed(grown, kept, alive, radii) / 4
    moved = _moved(grown, kept, radii)
    return Reach((fixed.down + both + moved.down) / pairs, (fixed.up + both + moved.up) / pairs)


def _step(oracle: Oracle) -> float:
    """a_l: what a sign adds to the measurement of a node."""
    return oracle.gain * oracle.scale * (1.0 if oracle.rows == "all" else 1 - 1 / oracle.size)


def _radii(grown: _Grown, side: int, people: int) -> list[float]:
    """R: the most by which so many liars of one class move an estimate of each level."""
    oracles = grown.evidence.oracles[side]
    most = [_step(oracle) * 2**oracle.parities for oracle in oracles]
    there = [min(people, oracle.answered) for oracle in oracles]
    if grown.solutions is None:
        return [0.0] + [each * count for each, count in zip(most, there, strict=True)]
    solution, radii = grown.solutions[side], [0.0]
    for level in range(1, grown.evidence.depth + 1):
        # All nodes of a level are alike: one of them tells how much each level's measurements count.
        unit = [np.zeros_like(each) for each in solution.estimates]
        unit[level][0] = 1.0
        shares = [float(np.abs(each).sum()) for each in solution.adjoint(unit)[1:]]
        worth_most = np.array([share * each for share, each in zip(shares, most, strict=True)])
        together = sum(there) if grown.evidence.everybody else people
        radii.append(taken(worth_most, np.array(there, dtype=np.float64), together))
    return radii


def _fixed(
    grown: _Grown, kept: list[NDArray[np.bool_]], alive: list[NDArray[np.bool_]], people: int
) -> Reach:
    """The walk's own nodes, one class at a time: reports sorted by what turning a sign adds."""
    evidence, weights = grown.evidence, _weights(grown, kept, alive)
    ups: list[list[tuple[Vector, Vector]]] = [[] for _ in range(evidence.depth)]
    downs: list[list[tuple[Vector, Vector]]] = [[] for _ in range(evidence.depth)]
    for side, oracles in enumerate(evidence.oracles):
        for place, oracle in enumerate(oracles):
            oracle.counts.settle()
            turned = 2 * _step(oracle) * transform(weights[side][place])
            gains, there = np.concatenate([-turned, turned]), oracle.counts.counts.reshape(-1)
            for moves, sign in ((ups, 1.0), (downs, -1.0)):
                better = np.flatnonzero((sign * gains > 0) & (there > 0))
                moves[place].append((sign * gains[better], there[better].astype(np.float64)))
    # A report of several parities stands for all rows that they span.
    most = people * (2 ** max(oracle.parities for oracle in evidence.oracles[0]) - 1)
    return Reach(_best(downs, most, evidence.everybody), _best(ups, most, evidence.everybody))


def _best(levels: list[list[tuple[Vector, Vector]]], most: int, everybody: bool) -> float:
    groups = levels if everybody else [[each for level in levels for each in level]]
    return sum(
        taken(
            np.concatenate([gains for gains, _ in each]), np.concatenate([there for _, there in each]), most
        )
        for each in groups
    )


def _weights(grown: _Grown, kept: list[NDArray[np.bool_]], alive: list[NDArray[np.bool_]]) -> Sides:
    """The gradient of the walk's sum, for the measurements of each class from level 1 on."""
    depth = grown.evidence.depth
    weights: Sides = tuple([np.zeros_like(each) for each in side] for side in grown.estimates)  # type: ignore[assignment]
    for level in range(depth):
        into, out = alive[level] & kept[level], alive[level] & ~kept[level]
        h, g = (side[level + 1].reshape(-1, 2) for side in grown.estimates)
        first, second = (side[level + 1].reshape(-1, 2) for side in weights)
        first[into, 1] += g[into, 0]
        second[into, 0] += h[into, 1]
        first[out] += grown.credit * g[out].sum(axis=1, keepdims=True)
        second[out] += grown.credit * h[out].sum(axis=1, keepdims=True)
    leaves = alive[depth]
    for side in (0, 1):
        weights[side][depth][leaves] += grown.tie * grown.estimates[1 - side][depth][leaves]
    if grown.solutions is None:
        return weights[0][1:], weights[1][1:]
    first_side, second_side = (
        solution.adjoint(side)[1:] for solution, side in zip(grown.solutions, weights, strict=True)
    )
    return first_side, second_side


def _crossed(
    grown: _Grown,
    kept: list[NDArray[np.bool_]],
    alive: list[NDArray[np.bool_]],
    radii: tuple[list[float], list[float]],
) -> float:
    """What liars of both classes add together: a product of two errors for each product of the walk."""
    depth, total = grown.evidence.depth, 0.0
    for level in range(depth):
        product = radii[0][level + 1] * radii[1][level + 1]
        total += product * float((alive[level] & kept[level]).sum())
        total += 4 * grown.credit * product * float((alive[level] & ~kept[level]).sum())
    return total + grown.tie * radii[0][depth] * radii[1][depth] * float(alive[depth].sum())


def _products(h: Vector, g: Vector, first: float, second: float) -> tuple[Vector, Vector]:
    """The least and the largest product of two numbers that may be off by so much."""
    ends = [(h + one * first) * (g + other * second) for one in (-1, 1) for other in (-1, 1)]
    return np.minimum.reduce(ends), np.maximum.reduce(ends)


def _moved(grown: _Grown, kept: list[NDArray[np.bool_]], radii: tuple[list[float], list[float]]) -> Reach:
    """What other decisions of the pruning rule can change, from the leaves up."""
    depth, (h, g) = grown.evidence.depth, grown.estimates
    low, high = _products(h[depth], g[depth], radii[0][depth], radii[1][depth])
    # Of each subtree: the ends of its sum for the decisions as they are, and for any that are possible; and
    # how far possible decisions lie below and above those as they are.
    now_low, now_high = any_low, any_high = grown.tie * low, grown.tie * high
    below, above = np.zeros(low.size), np.zeros(low.size)
    for level in range(depth - 1, -1, -1):
        first, second = radii[0][level + 1], radii[1][level + 1]
        left, right = g[level + 1].reshape(-1, 2)[:, 0], h[level + 1].reshape(-1, 2)[:, 1]
        keep_low, keep_high = _products(right, left, first, second)
        h_sum, g_sum = (side[level + 1].reshape(-1, 2).sum(axis=1) for side in (h, g))
        out_low, out_high = (grown.credit * each for each in _products(h_sum, g_sum, 2 * first, 2 * second))
        into, can_keep, can_leave = kept[level], np.ones(1, dtype=bool), np.zeros(1, dtype=bool)
        if level:
            rule, off = grown.rules[level - 1], (radii[0][level], radii[1][level])
            can_keep = rule(h[level] + off[0], g[level] + off[1])
            can_leave = ~rule(h[level] - off[0], g[level] - off[1])

        def both(children: Vector) -> Vector:
            total: Vector = children.reshape(-1, 2).sum(axis=1)
            return total

        whole_low, whole_high = keep_low + both(any_low), keep_high + both(any_high)
        same = np.where(into, both(below), 0.0), np.where(into, both(above), 0.0)
        kept_now = keep_low + both(now_low), keep_high + both(now_high)
        # The other decision, if it is possible, against the least and the largest of this one.
        turned_low = np.where(into, out_low - kept_now[1], whole_low - out_high)
        turned_high = np.where(into, out_high - kept_now[0], whole_high - out_low)
        can_turn = np.where(into, can_leave, can_keep)
        below = np.where(can_turn, np.maximum(same[0], -turned_low), same[0])
        above = np.where(can_turn, np.maximum(same[1], turned_high), same[1])
        now_low, now_high = np.where(into, kept_now[0], out_low), np.where(into, kept_now[1], out_high)
        any_low = np.minimum(np.where(can_keep, whole_low, np.inf), np.where(can_leave, out_low, np.inf))
        any_high = np.maximum(np.where(can_keep, whole_high, -np.inf), np.where(can_leave, out_high, -np.inf))
    return Reach(float(below[0]), float(above[0]))
