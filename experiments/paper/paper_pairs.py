"""The paper's protocol for pairs as it simulates it: random permutations, the kernel, plain Laplace numbers.

dpairs makes its noise inside a circuit, with integers, and clamps what lies beyond the kernel's range. That
has less variance than a Laplace number of the same epsilon, so the paper's errors need the paper's noise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from dpairs.protocols.pairwise.protocol import Pairwise
from dpairs.study import Study

Places = NDArray[np.int64]


def paper_pairs(
    kernel: Callable[[Places, Places], NDArray[np.float64]],
    n: int,
    rounds: int,
    epsilon: float,
    width: float,
    draw: np.random.Generator,
) -> float:
    """The mean over pairs of the kernel plus Laplace noise of scale width P / eps; its range is ``width``."""
    total, half = 0.0, n // 2
    for _ in range(rounds):
        order = draw.permutation(n)[: 2 * half]
        noise = draw.laplace(0.0, width * rounds / epsilon, half)
        total += float((kernel(order[:half], order[half:]) + noise).sum())
    return total / (rounds * half)


def between(matrix: NDArray[np.float64], cells: Places, first: Places, second: Places) -> NDArray[np.float64]:
    """The kernel's matrix at people's cells and their partners'."""
    return matrix[cells[first], cells[second]]


def added(study: Study, matrix: NDArray[np.float64], shares: NDArray[np.float64]) -> float:
    """The variance that a study's noise adds to a pair, for a kernel in [0, 1] given on cells."""
    protocol = study.protocol
    if not isinstance(protocol, Pairwise):
        raise TypeError("only a study of pairs has noise in a pair")
    top = protocol.code.kernel.top
    each = np.array([protocol.noise.variance(level) for level in range(top + 1)]) / top**2
    return float(shares @ each[np.rint(matrix * top).astype(np.int64)] @ shares)
