"""Section 5's theorem on pairs, which gives the error itself."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from dpairs.data.domains import Integers
from dpairs.protocols import theory
from dpairs.simulate import simulate
from dpairs.study import Study

from ..synthetic import people
from .bound_case import Case, Measured, Run, seeds
from .paper_pairs import added, between, paper_pairs


def pairs(rounds: int, n: int = 2000, epsilon: float = 2.0, clamped: bool = False) -> Run:
    """Gini's kernel on 8 values, scaled to [0, 1], with the paper's Laplace noise or our clamped one."""
    top, repeats = 7, 50 if clamped else 200
    value = np.arange(top + 1)
    matrix, shares = np.abs(value[:, None] - value) / top, np.full(top + 1, 1 / (top + 1))
    truth = float(shares @ matrix @ shares)
    zetas = theory.zetas(matrix, shares)

    def run(seed: int) -> Iterator[Measured]:
        squares, exact_noise = [], 2 * (rounds / epsilon) ** 2
        for run_seed in seeds(seed, repeats):
            draw = people(run_seed)
            cell = draw.integers(0, top, n, endpoint=True)
            if clamped:
                study = Study.create(
                    "gini_mean_difference",
                    protocol="pairwise",
                    epsilon=epsilon,
                    domain=Integers(0, top),
                    pairs=rounds,
                    noise="laplace",
                    seed=run_seed,
                )
                value = simulate(study, {"value": cell}, seed=run_seed, crypto="ideal").raw / top
                exact_noise = added(study, matrix, shares)
            else:
                kernel = partial(between, matrix, cell)
                value = paper_pairs(kernel, n, rounds, epsilon, 1.0, draw)
            squares.append((value - truth) ** 2)
        printed = theory.pairs_mse(n, rounds, *zetas, 2 * (rounds / epsilon) ** 2)
        right = theory.pairs_mse(n, rounds, *zetas, exact_noise)
        yield Measured(float(np.mean(squares)), printed, right)

    return run


CASES = (
    *(
        Case(f"pairs, P = {rounds}", f"Pairs, Laplace noise, P = {rounds}", 5, pairs(rounds), kind="equal")
        for rounds in (1, 2, 4)
    ),
    Case("our pairs, P = 1", "Pairs, our clamped Laplace noise, P = 1", 5, pairs(1, clamped=True), "ours"),
)
