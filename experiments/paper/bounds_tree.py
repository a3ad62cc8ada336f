"""Section 4's bounds: the frequency oracle, the nodes that are split, and the error of the AUC."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dpairs.data.domains import Integers
from dpairs.mechanisms import KaryResponse
from dpairs.protocols import theory
from dpairs.protocols.tree.counts import LevelCounts
from dpairs.protocols.tree.hadamard import parity
from dpairs.protocols.tree.oracle import Oracle
from dpairs.randomness import WORDS, SeededRandomness
from dpairs.simulate import simulate_tally
from dpairs.study import Study

from ..synthetic import people, scored
from .bound_case import Case, Measured, Run, seeds

Vector = NDArray[np.float64]
SIZE, LEVEL, COUNT = 20_000, 6, 330
"""Of the frequency oracle: people, a level of 64 nodes, and how many of the people one of them holds."""


def node_counts(seed: int, repeats: int, epsilon: float = 1.0) -> Vector:
    """The oracle's estimates of one node's count, from a randomized sign of a random row of each person."""
    answer = KaryResponse.for_epsilon(2, epsilon)
    node = np.where(np.arange(SIZE) < COUNT, 0, 1 + np.arange(SIZE) % (2**LEVEL - 1)).astype(np.uint64)
    counted = []
    for run_seed in seeds(seed, repeats):
        rows = people(run_seed).integers(0, 2**LEVEL, SIZE, dtype=np.uint64)
        sent = answer.randomize(parity(node & rows).astype(np.int64), SeededRandomness(run_seed))
        counts = LevelCounts(LEVEL)
        counts.add(rows, sent.astype(np.uint8))
        counted.append(Oracle(counts, WORDS / answer.boost, "all", SIZE)(np.zeros(1, dtype=np.uint64))[0])
    return np.array(counted)


def oracle(seed: int) -> Iterator[Measured]:
    """The variance of a node's count."""
    right = theory.oracle_variance(SIZE, COUNT, 1.0)
    yield Measured(float(np.mean((node_counts(seed, 100) - COUNT) ** 2)), right, right)


@dataclass(frozen=True)
class Trees:
    """People of each class, the depth of their trees, and how often one run repeats them."""

    size: int = SIZE
    depth: int = 8
    repeats: int = 10


POPULATIONS = {"auc_one": 1.0, "ur": 0.5}
"""The AUC of the population; of auc_one it is everybody's."""
SMALL, LARGE = Trees(), Trees(1_000_000, 16, 3)


def tree(data: str, estimator: str, shape: Trees = SMALL, nodes: bool = False) -> Run:
    """The AUC of two classes by the paper's tree, or how many nodes of each level it splits.

    People are split evenly over levels, the paper's main choice; its bound is then around the population.
    """
    size, depth = shape.size, shape.depth
    sizes = size, size, depth, theory.oracle_gain(1.0) ** 2
    zero, population = estimator == "paper-zero", POPULATIONS[data]
    factor = theory.tree_factor_zero(*sizes) if zero else theory.tree_factor(*sizes)
    bound = theory.tree_mse_bound_zero if zero else theory.tree_mse_bound

    def run(seed: int) -> Iterator[Measured]:
        study = Study.create(
            "auc",
            protocol="tree",
            epsilon=1.0,
            domain=Integers(0, 2**depth - 1),
            splitting="users",
            rows="all",
            seed=0,
        )
        squares, recursed = [], np.zeros(depth)
        for each in seeds(seed, shape.repeats):
            table = scored(data, depth, size, each)
            found = simulate_tally(study, table, seed=each).estimate(estimator)
            squares.append((found.value - population) ** 2)
            counts = found.explain().recursed_nodes[:depth]
            recursed[: len(counts)] += np.array(counts) / shape.repeats
        if nodes:
            limit = theory.recursed_bound(*sizes, factor)
            yield from (Measured(float(mean), limit, place=level) for level, mean in enumerate(recursed))
        else:
            yield Measured(float(np.mean(squares)), bound(*sizes, factor))

    return run


HARD = Case("tree, auc_one, 10^6", "Tree, classes apart, 10^6 in each", 4, tree("auc_one", "paper", LARGE))
CASES = (
    Case("oracle", "Frequency oracle (corrected), a count of 330 of 20,000", 4, oracle, kind="equal"),
    Case("recursed, ur", "Recursed nodes, uniform scores", 4, tree("ur", "paper", nodes=True)),
    Case("recursed, auc_one", "Recursed nodes, classes apart", 4, tree("auc_one", "paper", nodes=True)),
    Case("tree, ur", "Tree, uniform scores", 4, tree("ur", "paper")),
    Case("tree, auc_one", "Tree, classes apart", 4, tree("auc_one", "paper")),
    HARD,
    Case("tree zero, ur", "Tree, discarded nodes 0, uniform scores", 4, tree("ur", "paper-zero")),
    Case("tree zero, auc_one", "Tree, discarded nodes 0, classes apart", 4, tree("auc_one", "paper-zero")),
)
