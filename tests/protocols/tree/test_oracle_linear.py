"""The frequency oracle: the variance of a linear function of its counts."""

import itertools
import os

import numpy as np
import pytest

from dpairs.mechanisms import KaryResponse
from dpairs.protocols import theory
from dpairs.protocols.tree.counts import LevelCounts
from dpairs.protocols.tree.hadamard import parity
from dpairs.protocols.tree.oracle import Oracle
from dpairs.randomness import WORDS

from .outcomes import (
    EPSILON,
    FAILURE,
    GAIN,
    RESPONSE,
    by_oracle,
    counts_of,
    moments,
    outcomes,
    spread_p_value,
)

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
LINEAR = [(1, (0, 1)), (2, (0, 1)), (2, (2, 2)), (2, (0, 1, 3)), (3, (2, 5))]


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize(("level", "nodes"), LINEAR)
def test_variance_of_a_linear_function_for_given_people(level, nodes, rows):
    """Everybody answers: only rows and flips are chance. Estimates are scaled to 7 people in all."""
    rng = np.random.default_rng(level)
    shares = np.bincount(nodes, minlength=2**level) / len(nodes)
    covariance = moments(level, nodes, rows, by_oracle)[1] * (7 / len(nodes)) ** 2
    oracle = Oracle(counts_of(level, [1] * len(nodes), [0] * len(nodes)), GAIN, rows, 7)
    for weights in (rng.normal(size=2**level), np.ones(2**level), np.eye(2**level)[1]):
        exact = weights @ covariance @ weights
        assert oracle.variance(weights, shares, resampled=False) == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("level", [1, 2])
def test_variance_of_a_linear_function_for_people_who_are_a_sample(level, rows):
    """Two people whose nodes are drawn as well: every pair of nodes, rows and flips."""
    shares = np.array([0.1, 0.6, 0.0, 0.3] if level == 2 else [0.25, 0.75])
    rng = np.random.default_rng(level)
    for weights in (rng.normal(size=2**level), np.ones(2**level), np.eye(2**level)[1]):
        mean = square = 0.0
        for nodes in itertools.product(range(2**level), repeat=2):
            chance = shares[nodes[0]] * shares[nodes[1]]
            for weight, chosen, bits in outcomes(level, nodes, rows) if chance else ():
                value = weights @ by_oracle(level, rows, 7, chosen, bits)
                mean += chance * weight * value
                square += chance * weight * value**2
        assert mean == pytest.approx(7 * weights @ shares, abs=1e-9)
        oracle = Oracle(counts_of(level, [1, 1], [0, 0]), GAIN, rows, 7)
        exact = square - mean**2
        found = oracle.variance(weights, shares, resampled=True)
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-8)
        if weights[0] != weights[1]:
            # Negative control: the sampling of people is part of it.
            assert oracle.variance(weights, shares, resampled=False) < exact - 1e-3


@pytest.mark.parametrize("resampled", [True, False])
@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("wrong", [False, True])
def test_variance_of_a_linear_function_by_many_runs(rows, resampled, wrong):
    """A level of 64 nodes and 300 people; the control's people draw at 30% more epsilon than claimed."""
    level, people, runs = 6, 300, 3000 if FULL else 1200
    rng = np.random.default_rng(17)
    shares = rng.dirichlet(np.ones(2**level) / 4)
    nodes = rng.choice(2**level, people, p=shares)
    if not resampled:
        shares = np.bincount(nodes, minlength=2**level) / people
    weights = rng.normal(size=2**level)
    used = KaryResponse.for_epsilon(2, 1.3 * EPSILON) if wrong else RESPONSE
    places = np.arange(2**level, dtype=np.uint64)
    values = []
    for _ in range(runs):
        who = rng.choice(2**level, people, p=shares) if resampled else nodes
        chosen = rng.integers(rows == "others", 2**level, people).astype(np.uint64)
        flips = rng.random(people) < used.floor / WORDS
        bits = parity(chosen & who.astype(np.uint64)) ^ flips
        values.append(weights @ Oracle(counts_of(level, chosen, bits), WORDS / used.boost, rows, 900)(places))
    claimed = Oracle(counts_of(level, np.ones(people), np.zeros(people)), GAIN, rows, 900).variance(
        weights, shares, resampled
    )
    assert (spread_p_value(np.array(values), claimed) < FAILURE) == wrong


def test_nobody_answered():
    oracle = Oracle(LevelCounts(3), GAIN, "others", 100)
    assert oracle.noise == np.inf
    assert oracle.scale == 0
    assert oracle.variance(np.ones(8), np.full(8, 1 / 8), resampled=True) == 0
    assert oracle(np.arange(8, dtype=np.uint64)).tolist() == [0.0] * 8


@pytest.mark.parametrize("rows", ["all", "others"])
def test_noise_is_an_empty_nodes_variance_but_for_the_people_elsewhere(rows):
    """Never below the exact variance of any node, and within 1 / (N - 1)^2 of it at an empty one."""
    n = 500
    for level in (1, 2, 5, 14):
        oracle = Oracle(counts_of(level, [1] * n, [0] * n), GAIN, rows, n)
        for count in (0, 100, n):
            exact = (
                theory.oracle_variance(n, count, EPSILON)
                if rows == "all"
                else theory.oracle_variance_others(n, count, EPSILON, level)
            )
            assert oracle.noise >= exact - 1e-6
            if count == 0:
                assert oracle.noise - exact <= n / 4 ** (level - 1) + 1e-6
        assert Oracle(oracle.counts, GAIN, rows, 3 * n).noise == pytest.approx(9 * oracle.noise)
