"""Least squares on trees against the dense solution of the same normal equations."""

import itertools
from typing import Any

import numpy as np
import pytest

from dpairs.protocols.tree.hierarchy import Level, Solution, children, least_squares

from ...every import every

Vectors = list[np.ndarray]


def explored(rng: np.random.Generator, depth: int, share: float = 0.6) -> list[Level]:
    """A random tree: each node of a level is expanded or not, at least one until the last level."""
    nodes = np.zeros(1, dtype=np.uint64)
    levels = []
    for level in range(depth + 1):
        expanded = rng.random(nodes.size) < share if 0 < level < depth else np.full(nodes.size, level < depth)
        if level < depth and not expanded.any():
            expanded[rng.integers(nodes.size)] = True
        levels.append(Level(nodes, expanded))
        nodes = children(nodes[expanded])
    return levels


def sums(levels: list[Level]) -> list[np.ndarray]:
    """For each level a matrix from the numbers at the nodes without children to those of its nodes."""
    ends = sum(int((~level.expanded).sum()) for level in levels)
    tables = [np.zeros((level.nodes.size, ends)) for level in levels]
    place = 0
    for table, level in zip(tables, levels, strict=True):
        for node in np.flatnonzero(~level.expanded):
            table[node, place] = 1
            place += 1
    for depth in range(len(levels) - 2, -1, -1):
        both = tables[depth + 1].reshape(-1, 2, ends).sum(axis=1)
        tables[depth][levels[depth].expanded] = both
    return tables


def dense(levels: list[Level], measured: Vectors, noise: list[float], total: float) -> Vectors:
    """Minimize the sum of (x - y)^2 / v under the known total; of several solutions the shortest."""
    tables = sums(levels)
    used = [depth for depth in range(1, len(levels)) if np.isfinite(noise[depth])]
    ends = tables[0].shape[1]
    # Unknowns that keep the total: one solution of it, and the rest of the space.
    start = np.full(ends, total / ends)
    if not used:
        return [table @ start for table in tables]
    basis = np.linalg.svd(np.ones((1, ends)))[2][1:].T
    matrix = np.concatenate([tables[depth] / np.sqrt(noise[depth]) for depth in used])
    wanted = np.concatenate([measured[depth] / np.sqrt(noise[depth]) for depth in used])
    free = np.linalg.lstsq(matrix @ basis, wanted - matrix @ start, rcond=1e-11)[0]
    x = start + basis @ free
    return [table @ x for table in tables]


def measurements(rng: np.random.Generator, levels: list[Level]) -> Vectors:
    return [np.empty(0), *(rng.normal(10, 5, level.nodes.size) for level in levels[1:])]


def close(first: Vectors, second: Vectors) -> bool:
    return all(np.allclose(a, b, atol=1e-7) for a, b in zip(first, second, strict=True))


SEEDS = range(12)


@every("depth", [1, 2, 3, 5])
@every("seed", SEEDS)
def test_solution_is_the_dense_one(seed, depth):
    rng = np.random.default_rng([seed, depth])
    levels = explored(rng, depth)
    measured = measurements(rng, levels)
    noise = [0.0, *rng.uniform(0.1, 9, depth)]
    found = least_squares(levels, measured, noise, 100.0)
    assert close(found.estimates, dense(levels, measured, noise, 100.0))


def test_equal_weights_are_noticed():
    """Negative control: the dense solution for other variances is another one."""
    rng = np.random.default_rng(1)
    levels = explored(rng, 3)
    measured = measurements(rng, levels)
    found = least_squares(levels, measured, [0.0, 1.0, 2.0, 3.0], 100.0)
    assert not close(found.estimates, dense(levels, measured, [0.0, 1.0, 1.0, 1.0], 100.0))


@every("missing", [1, 2, 3, 4])
@every("seed", SEEDS)
def test_a_level_that_nobody_answered_is_no_measurement(seed, missing):
    """Its numbers are whatever the oracle says, and play no part; random nodes are expanded below it."""
    rng = np.random.default_rng([seed, missing])
    levels = explored(rng, 4)
    measured = measurements(rng, levels)
    measured[missing][:] = 0.0
    noise = [0.0, *rng.uniform(0.1, 9, 4)]
    noise[missing] = np.inf
    found = least_squares(levels, measured, noise, 100.0)
    assert close(found.estimates, dense(levels, measured, noise, 100.0))
    again = least_squares(
        levels, [each + 5.0 * (place == missing) for place, each in enumerate(measured)], noise, 100.0
    )
    determined = missing < 4 and all(level.expanded.all() for level in levels[1:4])
    assert not determined or close(found.estimates, again.estimates)


def test_the_child_that_was_not_measured_has_what_is_left():
    """A level nobody answered; one child is known from its own children, the other is the rest."""
    levels = [
        Level(np.array([0], dtype=np.uint64), np.array([True])),
        Level(np.array([0, 1], dtype=np.uint64), np.array([True, False])),
        Level(np.array([0, 1], dtype=np.uint64), np.array([False, False])),
    ]
    measured = [np.empty(0), np.zeros(2), np.array([10.0, 20.0])]
    found = least_squares(levels, measured, [0.0, np.inf, 1.0], 100.0)
    assert found.estimates[2].tolist() == [10.0, 20.0]
    assert found.estimates[1].tolist() == [30.0, 70.0]


@pytest.mark.parametrize("missing", [(1, 2), (2, 3), (3, 4), (1, 2, 3, 4)])
@pytest.mark.parametrize("seed", range(4))
def test_full_trees_with_several_levels_missing(seed, missing):
    """All nodes expanded, as at the top of every tree: unknown siblings share alike."""
    rng = np.random.default_rng([seed, *missing])
    levels = explored(rng, 4, share=1.1)
    measured = measurements(rng, levels)
    noise = [0.0, 1.0, 2.0, 3.0, 4.0]
    for level in missing:
        measured[level][:] = 0.0
        noise[level] = np.inf
    found = least_squares(levels, measured, noise, 64.0)
    assert all(np.isfinite(each).all() for each in found.estimates)
    assert close(found.estimates, dense(levels, measured, noise, 64.0))


@every("missing", [None, 1, 2, 4])
@every("seed", range(6))
def test_the_total_is_kept_and_parents_are_the_sums_of_their_children(seed, missing):
    rng = np.random.default_rng(seed)
    levels = explored(rng, 4)
    noise = [0.0, *rng.uniform(0.1, 9, 4)]
    if missing:
        noise[missing] = np.inf
    found = least_squares(levels, measurements(rng, levels), noise, 321.0)
    assert found.estimates[0].tolist() == [321.0]
    for depth, level in enumerate(levels[:-1]):
        both = found.estimates[depth + 1].reshape(-1, 2).sum(axis=1)
        np.testing.assert_allclose(both, found.estimates[depth][level.expanded], atol=1e-9)
    ends = [each[~level.expanded].sum() for each, level in zip(found.estimates, levels, strict=True)]
    assert sum(ends) == pytest.approx(321.0)


def operator(levels: list[Level], noise: list[float]) -> tuple[list[np.ndarray], list[tuple[int, int]]]:
    """The solution as a matrix: for each level, its nodes by all measurements (level, place)."""
    places = [(depth, node) for depth in range(1, len(levels)) for node in range(levels[depth].nodes.size)]
    columns = []
    for depth, node in places:
        unit = [np.zeros(level.nodes.size) for level in levels]
        unit[depth][node] = 1
        columns.append(least_squares(levels, unit, noise, 0.0).estimates)
    return [np.array(rows).T for rows in zip(*columns, strict=True)], places


@every("missing", [None, 1, 2, 3])
@every("seed", range(8))
def test_adjoint_is_the_transposed_operator(seed, missing):
    rng = np.random.default_rng([seed, missing or 0])
    levels = explored(rng, 3)
    noise = [0.0, *rng.uniform(0.1, 9, 3)]
    if missing:
        noise[missing] = np.inf
    tables, places = operator(levels, noise)
    solution = least_squares(levels, measurements(rng, levels), noise, 50.0)
    weights = [rng.normal(size=level.nodes.size) for level in levels]
    transposed = sum(table.T @ weight for table, weight in zip(tables, weights, strict=True))
    found = solution.adjoint(weights)
    np.testing.assert_allclose([found[depth][node] for depth, node in places], transposed, atol=1e-9)
    assert found[0].tolist() == [0.0]


def test_adjoint_leaves_the_weights_alone():
    rng = np.random.default_rng(1)
    levels = explored(rng, 3)
    solution = least_squares(levels, measurements(rng, levels), [0.0, 1.0, 2.0, 3.0], 50.0)
    weights = [rng.normal(size=level.nodes.size) for level in levels]
    kept = [each.copy() for each in weights]
    solution.adjoint(weights)
    assert all((a == b).all() for a, b in zip(weights, kept, strict=True))


@pytest.mark.parametrize("seed", range(6))
def test_adjoint_gives_the_variance_of_a_linear_function(seed):
    """The dense covariance of the solution, from independent measurements."""
    rng = np.random.default_rng(seed)
    levels = explored(rng, 3)
    noise = [0.0, *rng.uniform(0.1, 9, 3)]
    tables, places = operator(levels, noise)
    variances = np.array([noise[depth] for depth, _ in places])
    solution = least_squares(levels, measurements(rng, levels), noise, 50.0)
    weights = [rng.normal(size=level.nodes.size) for level in levels]
    whole = np.concatenate(tables)
    flat = np.concatenate(weights)
    exact = flat @ (whole * variances) @ whole.T @ flat
    found = solution.adjoint(weights)
    assert sum(noise[depth] * found[depth] @ found[depth] for depth in range(1, 4)) == pytest.approx(exact)


@pytest.mark.parametrize("missing", [None, 1, 2, 3])
def test_variances_are_those_of_a_node_from_its_own_subtree(missing):
    """A weighted average of the node's measurement and its children's sum, to the leaves."""
    rng = np.random.default_rng(3)
    levels = explored(rng, 3)
    noise = [0.0, 2.0, 3.0, 5.0]
    if missing:
        noise[missing] = np.inf
    found = least_squares(levels, measurements(rng, levels), noise, 50.0)

    def variance(depth: int, node: int) -> float:
        level = levels[depth]
        if not level.expanded[node]:
            return noise[depth]
        first = 2 * int(level.expanded[:node].sum())
        below = variance(depth + 1, first) + variance(depth + 1, first + 1)
        precision = 1 / noise[depth] + (0 if np.isinf(below) else 1 / below)
        return 1 / precision if precision else np.inf

    for depth, level in itertools.islice(enumerate(levels), 1, None):
        expected = [variance(depth, node) for node in range(level.nodes.size)]
        np.testing.assert_allclose(found.variances[depth], expected)


def test_consistent_measurements_stay():
    """When everything fits already nothing moves, whatever the variances."""
    rng = np.random.default_rng(5)
    levels = explored(rng, 4)
    tables = sums(levels)
    x: np.ndarray = rng.uniform(0, 10, size=(tables[0].shape[1],))
    measured = [table @ x for table in tables]
    found: Solution = least_squares(levels, measured, [0.0, 1.0, 7.0, 0.1, 3.0], float(x.sum()))
    assert close(found.estimates, measured)


@pytest.mark.parametrize("nodes", [[0], [0, 1, 5], [2**62, 2**63 - 1]])
def test_children_are_in_order(nodes: Any):
    found = children(np.array(nodes, dtype=np.uint64))
    assert found.tolist() == [2 * node + side for node in nodes for side in (0, 1)]


def test_the_papers_example_of_a_hierarchical_histogram():
    """{0, 1, 2, 2, 3} over four values: 5 at the root, then 2 and 3, then 1, 1, 2, 1; they are consistent."""
    leaves = np.bincount([0, 1, 2, 2, 3], minlength=4).astype(np.float64)
    assert leaves.tolist() == [1, 1, 2, 1]
    levels = [Level(np.arange(2**depth, dtype=np.uint64), np.full(2**depth, depth < 2)) for depth in range(3)]
    assert children(levels[1].nodes).tolist() == levels[2].nodes.tolist()
    printed = [np.array([5.0]), np.array([2.0, 3.0]), leaves]
    found = least_squares(levels, printed, [0.0, 1.0, 1.0], 5.0)
    for counts, shown in zip(found.estimates, printed, strict=True):
        np.testing.assert_allclose(counts, shown, atol=1e-12)
    # Negative control: counts that do not add up are changed.
    other = least_squares(levels, [printed[0], np.array([2.0, 4.0]), leaves], [0.0, 1.0, 1.0], 5.0)
    assert not np.allclose(other.estimates[1], [2.0, 4.0])
