"""Values that many people share, told from crowds by a level far below the leaves."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import BadParameter, Integers, Interval, Study
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot_atoms import Cut
from dpairs.protocols.projection.pilot_levels import check_levels, walked_levels
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.tree.counts import LevelCounts
from dpairs.protocols.tree.oracle import Oracle

UNIT = Interval(0, 1)


def made(statistic: str = "auc", epsilon: float = 4.0, **options: Any) -> Study:
    given: dict[str, Any] = {"domain": UNIT, "n": 5_000, "seed": 1, **options}
    return Study.create(statistic, protocol="projection", epsilon=epsilon, **given)


def tree(statistic: str = "auc", epsilon: float = 4.0, **options: Any) -> PilotTree:
    protocol = made(statistic, epsilon, **options).protocol
    assert isinstance(protocol, Projection)
    assert isinstance(protocol.pilot, PilotTree)
    return protocol.pilot


# ---------------------------------------------------------------- the level


@pytest.mark.parametrize(("labels", "bits"), [("public", (32,)), ("private", (31, 1))])
def test_a_score_has_one_level_far_below(labels, bits):
    pilot = tree(labels=labels)
    assert pilot.bits == bits
    assert pilot.dealt.count(32) == 1
    assert pilot.walked.bits == (16, *bits[1:])
    assert max(pilot.walked.dealt) == pilot.walked.depth


@pytest.mark.parametrize(
    ("statistic", "options"),
    [
        ("auc", {"epsilon": 0.5}),
        ("auc", {"bins": 2**16}),
        ("auc", {"domain": Integers(0, 2**20 - 1)}),
        ("auc", {"domain": Interval(1e10, 1e10 + 1)}),
        ("gini_coefficient", {}),
        ("vus", {}),
    ],
    ids=["too few people", "bins", "whole numbers", "too few floats", "distances", "triples"],
)
def test_others_have_none(statistic, options):
    pilot = tree(statistic, **options)
    assert pilot.walked is pilot
    assert pilot.depth <= 20


def test_most_people_answer_about_other_levels():
    for epsilon, groups in ((1.0, 18), (4.0, 17)):
        pilot = tree(epsilon=epsilon, n=100_000)
        assert pilot.groups == groups
        noise = pilot.walked.node_variance(1_000.0 * (groups - 1) / groups)
        assert pilot.node_variance(1_000.0) == pytest.approx(noise)


def test_a_walk_ends_before_a_gap():
    assert walked_levels((2, 4, 6, 14)) == (2, 4, 6, 14)
    assert walked_levels((2, 4, 6, 15)) == (2, 4, 6)
    assert walked_levels((2, 2, 4, 4, 4, 20)) == (2, 2, 4, 4, 4)
    assert walked_levels((20,)) == ()


@pytest.mark.parametrize(
    ("dealt", "parities"), [((31, 1), 1), ((9,), 1), ((20, 32), 1), ((2, 32), 3), ((2, 4, 32), 5)]
)
def test_levels_far_below_no_tree_are_refused(dealt, parities):
    """A walk over a gap of 30 levels looked into every node of it, and never ended."""
    with pytest.raises(BadParameter, match=f"deals out level {max(dealt)} needs others down to level"):
        check_levels(dealt, 32, parities)


def test_levels_far_below_a_tree_are_taken():
    for dealt, parities in (((), 6), ((1,), 6), ((8,), 1), ((2, 32), 2), ((2, 4, 6, 32), 6), ((1, 9, 17), 6)):
        check_levels(dealt, 32, parities)


def test_counts_below_a_node_are_those_of_its_nodes():
    rng, counts = np.random.default_rng(1), LevelCounts(9)
    counts.add(rng.integers(1, 2**9, 500).astype(np.uint64), rng.integers(0, 2, 500).astype(np.uint8))
    oracle = Oracle(counts, 1.5, "others", 2_000)
    nodes = (5 << 4) + np.arange(16, dtype=np.uint64)
    assert oracle.below(5, 4) == pytest.approx(oracle(nodes))


def test_a_leaf_is_cut_around_the_node_of_a_value():
    cut = Cut.around(np.array([0.0, 8.0, 9.0, 16.0]), np.array([-1, 5, -1]), 4, 0, [3])
    assert cut.cuts.tolist() == [0, 8, 8 + 4 / 16, 8 + 7 / 16, 9, 16]
    assert cut.bins.tolist() == [0, -1, 1, -1, 2]
    assert cut.masses({"everybody": np.array([0.1, 0.7, 0.2])})["everybody"].tolist() == [0.1, 0, 0.7, 0, 0.2]
    at_the_start = Cut.around(np.array([0.0, 1.0, 4.0]), np.array([0, -1]), 4, 0, [2])
    assert at_the_start.cuts.tolist() == [0, 2 / 16, 1, 4]


# ---------------------------------------------------------------- intervals


def scores(kind: str, rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Most people at 0.3: exactly, in a bunch of 1e-6 of the domain, or half of them each."""
    label = rng.permutation(n) % 2
    bunch = 0.3 + 1e-6 * rng.normal(2.0 * label)
    there = {"value": np.full(n, 0.3), "bunch": bunch, "both": np.where(rng.random(n) < 0.5, 0.3, bunch)}
    rest = rng.normal(0.5 + 0.2 * label, 0.1).clip(0, 1)
    return {"score": np.where(rng.random(n) < 0.92, there[kind], rest), "label": label}


@pytest.mark.parametrize("labels", ["public", "private"])
@pytest.mark.parametrize(("kind", "shortest", "longest"), [("value", 0, 0.1), ("bunch", 0.3, 0.5)])
def test_a_value_has_a_short_interval_and_a_crowd_a_long_one(kind, shortest, longest, labels):
    """The same leaf holds both. Negative control: ties are no answer for the crowd, whose AUC is 0.9."""
    rng, n, study = np.random.default_rng(2), 5_000, made(labels=labels)
    for run in range(4):
        people = scores(kind, rng, n)
        estimate = dpairs.simulate(study, people, seed=run)
        (low, high), exact = estimate.confidence_interval(), dpairs.exact("auc", people)
        assert low <= exact <= high
        assert shortest <= (high - low) / 2 <= longest
        assert (abs(estimate.value - exact) > 0.2) is (kind == "bunch")


def test_pairs_beside_a_value_are_allowed_for():
    """Half of the leaf's people lie around the value: pairs of two such people were not told apart."""
    rng, study = np.random.default_rng(3), made(n=20_000)
    for run in range(4):
        people = scores("both", rng, 20_000)
        estimate = dpairs.simulate(study, people, seed=run)
        low, high = estimate.confidence_interval()
        assert low <= dpairs.exact("auc", people) <= high
        assert 0.05 < estimate.bias < 0.2


def test_a_study_with_a_level_too_far_below_is_walked_without_it():
    """Nobody looks into 2^36 nodes, whatever a file lists."""
    study = made()
    spec = study.protocol.to_json()
    spec["pilot"] |= {"bits": [52], "levels": [2, 4, 6, 8, 10, 12, 14, 16, 52]}
    forged = replace(study, protocol=Projection.from_json(study.statistic, study.domains, spec))
    people = scores("value", np.random.default_rng(4), 2_000)
    assert 0 < dpairs.simulate(forged, people, seed=1).value < 1
