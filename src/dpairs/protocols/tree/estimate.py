"""Estimators of the `tree` protocol: from the counts of both classes to an AUC with its error.

Each estimator is a walk whose result is bilinear in the two classes' estimates, once it is settled which
nodes are recursed into. So its variance is, to first order, that of two linear functions, one for each
class, with the other class's estimates as weights; and those of a level's bits have an exact variance.
Using estimates as weights adds the second-order (trace) term once for each class: once too often, so the
standard error is a little too large where trees are noisy. It also allows for what discarding may hide.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...data.domains import Domain, Integers, Interval
from ...errors import NotEnoughData
from ...estimate import Explanation, Quantization
from ...mechanisms import KaryResponse
from ...randomness import WORDS
from ...statistics.auc import TIES
from ...statistics.labels import NEGATIVE, POSITIVE, need_both
from .. import theory
from ..base import Answer
from .counts import LevelCounts, TreeCounts
from .hierarchy import Level, Solution, children, least_squares
from .oracle import Oracle
from .walk import Keep, Walk, walk_raw, walk_solution, worth

ESTIMATORS = ("pruned", "paper", "paper-zero")
PRUNING = 2.0
"""The factor a of the rule by which `pruned` discards nodes: how much larger counts are than their noise.

Let a node of counts h and g have halves that differ by d and e. To recurse adds (d g - h e) / 4 to half of
all pairs, with d and e of variances 2v and 2w if h and g have v and w: noise of variance
(g^2 v + h^2 w + 2 v w) / 8. For r = h^2 / v = g^2 / w, that is less than the square of what it adds from
r^2 = r + 1 on if all positives are in one half and all negatives in the other, and on average from
r^2 = 6 (r + 1) on if halves of any size are as likely: at r = 1.6 and 6.9. The rule recurses from r = a on.
What it leaves out is a bias, so 2 is near the first. No interval depends on it: they allow for what
discarding hides.
"""
WHOLE_LEVELS = 14
"""Levels explored whole; below, only the children of nodes that are worth it."""
Vector = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The counts of the positives and of the negatives, and how the bits were made."""

    counts: tuple[TreeCounts, ...]
    depth: int
    responses: tuple[KaryResponse, ...]
    rows: str
    everybody: bool
    ties: str

    @property
    def sizes(self) -> tuple[int, int]:
        """How many people each class has."""
        return self.counts[0].people, self.counts[1].people

    @cached_property
    def oracles(self) -> tuple[list[Oracle], ...]:
        """The frequency oracles of each class, the first level's first."""
        return tuple([self._oracle(level, each.people) for level in each.levels] for each in self.counts)

    def _oracle(self, counts: LevelCounts, people: int) -> Oracle:
        parities = min(counts.level, len(self.responses))
        # p m - 1 for a response of m symbols that is kept with probability p = (floor + boost) / 2^64.
        gain = WORDS / (self.responses[parities - 1].boost * (2**parities - 1))
        return Oracle(counts, gain, self.rows, people, parities)

    def query(self, level: int, nodes: NDArray[np.uint64]) -> tuple[Vector, Vector]:
        """The estimates of both classes at nodes of a level."""
        return self.oracles[0][level - 1](nodes), self.oracles[1][level - 1](nodes)


def estimate(evidence: Evidence, domain: Domain, estimator: str) -> Answer:
    """The AUC by the named estimator."""
    positive, negative = evidence.sizes
    need_both(positive, negative)
    for oracles, name in zip(evidence.oracles, (POSITIVE, NEGATIVE), strict=True):
        silent = [oracle.counts.level for oracle in oracles if not oracle.answered]
        if silent:
            raise NotEnoughData(
                f"nobody in the {name} class answered about level {silent[0]} of {evidence.depth}: "
                f"more people are needed, or fewer bins"
            )
    walk = _pruned(evidence) if estimator == "pruned" else _paper(evidence, estimator)
    pairs = float(positive) * float(negative)
    sides = [_variance(evidence, walk, side) / pairs**2 for side in (0, 1)]
    variance = sum(sides)
    parts = _in_order(walk)
    shares = np.clip(parts[1], 0, None) / positive, np.clip(parts[2], 0, None) / negative
    # Between none and all of the discarded pairs are won. Where half were counted, half of them are
    # allowed for; where none were, all of it, because about that much is missing.
    unseen = float((shares[0] * shares[1])[parts[3]].sum()) / 2
    variance += (unseen if estimator == "paper-zero" else unseen / 2) ** 2
    sampling = _sampling_variance(parts, sides, positive, negative)
    population, sample = (
        (variance + sampling, variance) if evidence.everybody else (variance, variance - sampling)
    )
    # A leaf of one value hides nothing; one of many values may, like a discarded part.
    hidden = parts[3] | _binned(domain, evidence.depth)
    uncertain = float((shares[0] * shares[1])[hidden].sum()) / 2
    # Noise of the two classes is independent, so that not clipped at 0 it cancels in the sum over leaves.
    together = float((parts[1] * parts[2])[hidden & ~parts[3]].sum()) / pairs
    return Answer(
        value=walk.total / pairs,
        standard_error=math.sqrt(population),
        sample_standard_error=math.sqrt(max(sample, 0.0)),
        quantization=Quantization(bound=None, estimate=uncertain, delta=uncertain / 2),
        explanation=_explanation(walk, parts, domain, evidence),
        # Pairs within one leaf counted for one half each, or as ties; all of them may be won, or none.
        bias=max(together, 0.0) * max(TIES[evidence.ties], 1 - TIES[evidence.ties]),
    )


def paper_rule(evidence: Evidence, estimator: str) -> tuple[Keep, float]:
    """Which nodes the paper's estimators recurse into, and what a discarded node's pairs are worth."""
    zero = estimator == "paper-zero"
    noise = [max(oracle.noise for oracle in side) for side in evidence.oracles]
    sizes = evidence.sizes
    constant = max(each / (size * evidence.depth) for each, size in zip(noise, sizes, strict=True))
    choose = theory.tree_factor_zero if zero else theory.tree_factor
    return worth((noise[0], noise[1]), choose(*sizes, evidence.depth, constant)), 0.0 if zero else 0.5


def _paper(evidence: Evidence, estimator: str) -> Walk:
    """The paper's estimator: no connection between levels; discarded nodes count half, or nothing."""
    keep, credit = paper_rule(evidence, estimator)
    return walk_raw(evidence.query, keep, evidence.depth, evidence.sizes, TIES[evidence.ties], credit)


def _pruned(evidence: Evidence) -> Walk:
    """Least squares over all levels, then the paper's pruning; deep levels are explored where it pays."""
    solutions = explored(evidence)
    walk = walk_solution(*solutions, _kept(solutions), evidence.depth, TIES[evidence.ties])
    # Weights of the estimates become weights of the measurements, whose noise is independent.
    for side, solution in enumerate(solutions):
        walk.weights[side][:] = solution.adjoint(walk.weights[side])[1:]
        walk.estimates[side][:] = solution.estimates[1:]
    return walk


def explored(evidence: Evidence) -> tuple[Solution, Solution]:
    """Solve on all nodes of the levels that are small enough, and below on worthwhile nodes' children."""
    top = min(evidence.depth, WHOLE_LEVELS)
    levels = [
        Level(np.arange(2**level, dtype=np.uint64), np.full(2**level, level < top))
        for level in range(top + 1)
    ]
    measured = [evidence.query(level, levels[level].nodes) for level in range(1, top + 1)]
    while True:
        solutions = _solve(evidence, levels, measured)
        if len(levels) > evidence.depth:
            return solutions
        kept = _kept(solutions)
        alive = np.ones(1, dtype=bool)
        for level in range(len(levels) - 1):
            alive = np.repeat((alive & kept[level])[levels[level].expanded], 2)
        into = alive & kept[-1]
        if not into.any():
            return solutions
        levels[-1] = Level(levels[-1].nodes, into)
        below = children(levels[-1].nodes[into])
        measured.append(evidence.query(len(levels), below))
        levels.append(Level(below, np.zeros(below.size, dtype=bool)))


def _solve(
    evidence: Evidence, levels: list[Level], measured: list[tuple[Vector, Vector]]
) -> tuple[Solution, Solution]:
    first, second = (
        least_squares(
            levels,
            [np.empty(0)] + [both[side] for both in measured],
            [0.0] + [oracle.noise for oracle in evidence.oracles[side][: len(measured)]],
            float(evidence.sizes[side]),
        )
        for side in (0, 1)
    )
    return first, second


def _kept(solutions: tuple[Solution, Solution]) -> list[NDArray[np.bool_]]:
    """The paper's rule at every explored node but the root, which is always recursed into."""
    h, g = (solution.estimates for solution in solutions)
    v, w = (solution.variances for solution in solutions)
    rules = [worth((v[depth], w[depth]), PRUNING)(h[depth], g[depth]) for depth in range(1, len(h))]
    return [np.ones(1, dtype=bool), *rules]


def _variance(evidence: Evidence, walk: Walk, side: int) -> float:
    size = evidence.sizes[side]
    total = 0.0
    for oracle, weights, estimates in zip(
        evidence.oracles[side], walk.weights[side], walk.estimates[side], strict=False
    ):
        # Not clipped at 0: noise then cancels in the sum over nodes, where clipped noise adds up.
        noise = oracle.variance(weights, estimates / size, resampled=not evidence.everybody)
        # The mean whose square is taken off was estimated from as many people.
        total += noise * oracle.answered / max(oracle.answered - 1, 1)
    return total


def _binned(domain: Domain, depth: int) -> bool:
    if isinstance(domain, Integers):
        return (domain.size - 1).bit_length() > depth
    return isinstance(domain, Interval)


Parts = tuple[NDArray[np.float64], Vector, Vector, NDArray[np.bool_], NDArray[np.float64]]


def _in_order(walk: Walk) -> Parts:
    """Where the walk ended, from the lowest leaf to the highest: start, both counts, discarded?, width.

    Starts and widths are shares of the domain.
    """
    starts = np.concatenate([nodes.astype(np.float64) * 2.0**-level for level, nodes, *_ in walk.parts])
    widths = np.concatenate([np.full(nodes.size, 2.0**-level) for level, nodes, *_ in walk.parts])
    first = np.concatenate([each[2] for each in walk.parts])
    second = np.concatenate([each[3] for each in walk.parts])
    discarded = np.concatenate([np.full(each[1].size, each[4]) for each in walk.parts])
    order = np.lexsort((widths, starts))
    return starts[order], first[order], second[order], discarded[order], widths[order]


def _sampling_variance(parts: Parts, sides: list[float], positive: int, negative: int) -> float:
    """What the choice of people adds: Var F-(x+) / n+ + Var F+(x-) / n-, from the estimated parts.

    Not clipped at 0, so that noise cancels in means over parts. It does not cancel in the square of a
    cumulated share, which is larger by that share's own variance: on average over people by no less than
    what the class adds to the variance of the whole, which is taken off.
    """
    h, g = parts[1] / positive, parts[2] / negative
    below = np.cumsum(g) - g / 2
    above = np.cumsum(h) - h / 2
    variances = (
        float(h @ below**2 - (h @ below) ** 2) - sides[1],
        float(g @ above**2 - (g @ above) ** 2) - sides[0],
    )
    # A share between 0 and 1 varies by a quarter at most.
    return min(max(variances[0], 0.0), 0.25) / positive + min(max(variances[1], 0.0), 0.25) / negative


def _explanation(walk: Walk, parts: Parts, domain: Domain, evidence: Evidence) -> Explanation:
    starts, h, g, discarded, widths = parts
    if isinstance(domain, Interval):
        low, extent = domain.low, domain.high - domain.low
    elif isinstance(domain, Integers):
        low, extent = float(domain.low), 2.0 ** max(1, (domain.size - 1).bit_length())
    else:
        low, extent = 0.0, 2.0**evidence.depth
    first, last = low + starts * extent, low + (starts + widths) * extent
    if isinstance(domain, Interval):
        first, last = domain.values_at(first), domain.values_at(last)
    return Explanation(
        low=first,
        high=last,
        positive=h / evidence.sizes[0],
        negative=g / evidence.sizes[1],
        discarded=discarded,
        recursed_nodes=tuple(walk.recursed),
        discarded_nodes=tuple(walk.discarded),
    )
