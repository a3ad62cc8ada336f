"""Estimates from trees whose counts are exact, and the parts that explain an estimate."""

import numpy as np
import pytest

import dpairs
from dpairs import Integers, Interval, Levels, Study, simulate

from ...every import every
from .perfect import ESTIMATORS, HALF, NORMALS, answer, check_parts, people, study

# ---------------------------------------------------------------- exact counts


def exact(positive: np.ndarray, negative: np.ndarray, ties: str) -> float:
    places = np.arange(positive.size)
    data = people(np.repeat(places, positive // 1000), np.repeat(places, negative // 1000))
    return dpairs.exact("auc", data, ties=ties)


SHAPES = {
    "uneven": lambda rng, k: 1000 * rng.integers(20, 90, k),
    "with empty leaves": lambda rng, k: 1000 * rng.integers(20, 90, k) * (rng.random(k) < 0.5),
    "one leaf": lambda rng, k: 1_000_000 * (np.arange(k) == rng.integers(k)),
}


@every("ties", ["half", "zero"])
@every("estimator", ESTIMATORS)
@every("depth", [1, 2, 4, 6])
@every("shape", SHAPES)
def test_exact_counts_give_the_exact_auc_of_the_leaves(shape, depth, estimator, ties):
    rng = np.random.default_rng([depth, len(shape)])
    positive, negative = (SHAPES[shape](rng, 2**depth) for _ in range(2))
    positive[-1] += 1_000_000
    negative[0] += 1_000_000
    found = answer(positive, negative, estimator, ties)
    assert found.value == pytest.approx(exact(positive, negative, ties), abs=1e-12)


def test_ties_in_leaves_count_as_asked():
    """All in one leaf: half of the pairs, or none (erratum 7)."""
    together = 1_000_000 * (np.arange(8) == 5)
    for estimator in HALF:
        assert answer(together, together, estimator, "half").value == pytest.approx(0.5, abs=1e-12)
        assert answer(together, together, estimator, "zero").value == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_explanation_of_exact_counts(estimator):
    rng = np.random.default_rng(3)
    positive, negative = (SHAPES["with empty leaves"](rng, 32) for _ in range(2))
    found = answer(positive, negative, estimator).explanation
    assert found is not None
    check_parts(found, 0.0, 1.0)
    assert found.positive.sum() == pytest.approx(1)
    assert found.negative.sum() == pytest.approx(1)
    for low, high, share in zip(found.low, found.high, found.positive, strict=True):
        inside = positive[round(low * 32) : round(high * 32)].sum()
        assert share == pytest.approx(inside / positive.sum(), abs=1e-12)


@pytest.mark.parametrize(("estimator", "credit"), [("paper", 0.5), ("paper-zero", 0.0)])
def test_a_discarded_node_counts_half_and_zero_in_the_variant(estimator, credit):
    """Few people and exact counts: the walk stops early; both classes alike, so half would be right."""
    positive, negative = np.ones(16, dtype=np.int64), np.ones(16, dtype=np.int64)
    found = answer(positive, negative, estimator)
    explained = found.explanation
    assert explained is not None
    assert explained.recursed_nodes[0] == 1
    assert sum(explained.discarded_nodes) > 0
    unseen = float((explained.positive * explained.negative)[explained.discarded].sum())
    assert found.value == pytest.approx(0.5 - (0.5 - credit) * unseen, abs=1e-12)


# ---------------------------------------------------------------- explanations


@every("splitting", ["users", "budget"])
@every("estimator", ESTIMATORS)
@every("depth", [1, 6, 14, 18])
def test_parts_cover_the_interval(depth, estimator, splitting):
    made = study(Interval(-1, 3), 4.0, bins=2**depth, splitting=splitting)
    found = simulate(made, NORMALS, seed=1, estimator=estimator).explain()
    check_parts(found, -1.0, 3.0)
    for level, (recursed, discarded) in enumerate(
        zip(found.recursed_nodes, found.discarded_nodes, strict=True)
    ):
        assert recursed <= 2**level
        assert discarded <= 2**level
    if estimator == "pruned":
        # Its trees are consistent; the paper's levels know nothing of each other.
        assert found.positive.sum() == pytest.approx(1)
        assert found.negative.sum() == pytest.approx(1)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("domain", "low", "high"),
    [(Integers(10, 73), 10.0, 74.0), (Integers(-5, 94), -5.0, 123.0), (Levels(range(8)), 0.0, 8.0)],
)
def test_parts_cover_whole_numbers_and_levels(domain, low, high, estimator):
    """Up to the next power of two: what lies beyond the domain is empty but for noise."""
    rng = np.random.default_rng(4)
    first, last = (domain.low, domain.high) if isinstance(domain, Integers) else (0, 7)
    data = people(rng.integers(first, last + 1, 5000), rng.integers(first, last + 1, 5000))
    check_parts(simulate(study(domain, 4.0), data, seed=1, estimator=estimator).explain(), low, high)


def test_a_histogram_has_nothing_to_explain():
    other = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=8, seed=1)
    with pytest.raises(dpairs.BadParameter, match="nothing to explain"):
        simulate(other, NORMALS, seed=1).explain()
