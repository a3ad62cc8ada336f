"""Tree studies, and counts of them without noise."""

from dataclasses import dataclass
from typing import Any

import numpy as np

import dpairs
from dpairs import Interval, Study
from dpairs.mechanisms import KaryResponse
from dpairs.protocols import Answer
from dpairs.protocols.tree.counts import LevelCounts
from dpairs.protocols.tree.estimate import Evidence, estimate
from dpairs.protocols.tree.hadamard import parity

ESTIMATORS = ("pruned", "paper", "paper-zero")
HALF = ("pruned", "paper")


def study(domain: Any = None, epsilon: float = 1.0, **options: Any) -> Study:
    chosen: Any = Interval(0, 1) if domain is None else domain
    if "advanced" in options.get("splitting", ""):
        options.setdefault("delta", 1e-6)
    return Study.create("auc", protocol="tree", epsilon=epsilon, domain=chosen, **{"seed": 1, **options})


def people(positive: Any, negative: Any) -> dict[str, np.ndarray]:
    first, second = np.asarray(positive), np.asarray(negative)
    return {
        "score": np.concatenate([first, second]),
        "label": np.repeat([1, 0], [first.size, second.size]),
    }


@dataclass(frozen=True)
class Perfect:
    """Counts as if each person had answered about every row of every level, and never lied.

    The oracle's estimates are then the counts themselves.
    """

    people: int
    levels: list[LevelCounts]


def perfect(leaves: np.ndarray) -> Perfect:
    depth, levels = int(np.log2(leaves.size)), []
    for level in range(1, depth + 1):
        nodes = leaves.reshape(2**level, -1).sum(axis=1)
        places = np.arange(2**level, dtype=np.uint64)
        shared: Any = places[:, None] & places[None, :]
        odd = parity(shared).astype(np.int64)
        counts = LevelCounts(level)
        counts.counts = np.array([(1 - odd) @ nodes, odd @ nodes])
        levels.append(counts)
    return Perfect(int(leaves.sum()), levels)


def answer(positive: np.ndarray, negative: np.ndarray, estimator: str, ties: str = "half") -> Answer:
    counts: Any = (perfect(positive), perfect(negative))
    depth = int(np.log2(positive.size))
    # With a floor of one word in 2^64 nobody lies.
    evidence = Evidence(counts, depth, (KaryResponse(2, 1),), "all", True, ties)
    return estimate(evidence, Interval(0, 1), estimator)


def check_parts(found: dpairs.Explanation, low: float, high: float) -> None:
    """From one end to the other in order, without gaps or overlaps, as many as the walk's nodes."""
    assert found.low[0] == low
    assert found.high[-1] == high
    np.testing.assert_allclose(found.low[1:], found.high[:-1], rtol=1e-14, atol=1e-300)
    assert (found.high > found.low).all()
    sizes = {len(each) for each in (found.low, found.high, found.positive, found.negative, found.discarded)}
    assert len(sizes) == 1
    recursed, discarded = found.recursed_nodes, found.discarded_nodes
    assert recursed[0] == 1
    assert len(recursed) == len(discarded)
    assert int(found.discarded.sum()) == sum(discarded)
    # Every node below a recursed one is recursed, discarded, or a leaf.
    for above, here, left in zip(recursed, recursed[1:], discarded[1:], strict=False):
        assert here + left <= 2 * above
    assert sum(recursed) + 1 == len(found.low)
    assert found.rows() == [
        (level, *pair) for level, pair in enumerate(zip(recursed, discarded, strict=True))
    ]


NORMALS = people(
    np.clip(np.random.default_rng(1).normal(0.6, 0.15, 20_000), 0, 1),
    np.clip(np.random.default_rng(2).normal(0.4, 0.15, 20_000), 0, 1),
)
