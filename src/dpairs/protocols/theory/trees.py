"""Section 4: the AUC by trees."""

from __future__ import annotations

import math

from ...errors import BadParameter
from ...formats.checks import integer, positive, real
from .generic import MAX_PEOPLE


def oracle_gain(epsilon: float) -> float:
    """What undoes the flips of a randomized sign: c = (e^eps + 1) / (e^eps - 1).

    >>> round(oracle_gain(1.0), 4)
    2.164
    """
    return 1 / math.tanh(positive("epsilon", epsilon) / 2)


def oracle_variance(n: int, count: float, epsilon: float) -> float:
    """Lemma "fomse", corrected: the exact variance of a node's count from n people is n c^2 - count.

    Erratum 3: the printed 4 n e^eps / (e^eps - 1)^2 leaves out that each person answers about one row
    only, and is too small.

    >>> round(oracle_variance(20_000, 330.0, 1.0))
    93324
    """
    people, there = integer("n", n, 1, MAX_PEOPLE), _count(n, count)
    return people * oracle_gain(epsilon) ** 2 - there


def oracle_variance_others(n: int, count: float, epsilon: float, level: int) -> float:
    """The same without row 0, N = 2^level: ((N-1)/N)^2 [n c^2 - count - (n - count)/(N-1)^2]."""
    size = 2.0 ** integer("level", level, 1, 64)
    count = _count(integer("n", n, 1, MAX_PEOPLE), count)
    return (1 - 1 / size) ** 2 * (n * oracle_gain(epsilon) ** 2 - count - (n - count) / (size - 1) ** 2)


def oracle_covariance_others(n: int, counts: tuple[float, float], epsilon: float, level: int) -> float:
    """The covariance of two nodes' counts without row 0; with all rows it is zero."""
    size = 2.0 ** integer("level", level, 1, 64)
    both = _count(integer("n", n, 1, MAX_PEOPLE), counts[0] + counts[1])
    raw = (both - n * oracle_gain(epsilon) ** 2) / (size - 1) - (n - both) / (size - 1) ** 2
    return (1 - 1 / size) ** 2 * raw


def _count(n: int, count: float) -> float:
    """A node's people: from 0 to all."""
    number = real("count", count)
    if not 0 <= number <= n:
        raise BadParameter(f"a node has from 0 to {n} people, not {count!r}")
    return number


def _classes(positives: int, negatives: int, depth: int, constant: float) -> tuple[int, int, int, float]:
    """Check what every statement on the tree assumes: people of both classes, a depth and C above 0."""
    return (
        integer("positives", positives, 1, MAX_PEOPLE),
        integer("negatives", negatives, 1, MAX_PEOPLE),
        integer("depth", depth, 1, 64),
        positive("constant", constant),
    )


def _within(people: int, depth: int) -> None:
    """The theorem's alpha <= sqrt(n)."""
    if depth**2 > people:
        raise BadParameter(
            f"the theorem needs a depth of at most sqrt(n) = {math.sqrt(people):.4g}, not {depth}"
        )


def _excess(factor: float) -> float:
    """sqrt(a) - 1 for the lemma's a > 1."""
    excess = math.sqrt(positive("factor", factor)) - 1
    if not excess > 0:
        raise BadParameter(f"the factor a must be above 1, not {factor!r}")
    return excess


def recursed_bound(positives: int, negatives: int, depth: int, constant: float, factor: float) -> float:
    """Lemma "recursed": at most (sqrt(n+) + sqrt(n-)) / (2 (sqrt(a) - 1) sqrt(C alpha)) nodes a level.

    ``constant`` is C, for which C n alpha is the variance of a node's count; ``factor`` is a > 1. The proof
    begins at the root, which is always recursed into, so nothing below 1 is a bound: 1 then.
    """
    above, below, levels, variance = _classes(positives, negatives, depth, constant)
    people = math.sqrt(above) + math.sqrt(below)
    return max(1.0, people / (2 * _excess(factor) * math.sqrt(variance * levels)))


def tree_mse_bound(positives: int, negatives: int, depth: int, constant: float, factor: float) -> float:
    """Theorem "aucacc" for the AUC (the theorem's bound on the sum over pairs, over (n+ n-)^2), as printed.

    Assumes counts that are unbiased, of variance at most C n alpha, pairwise independent within a level, and
    independent between levels: not so around this sample when people are split over the levels. Needs
    a > 1 and alpha <= sqrt(n). Erratum 13: its proof gives `tree_mse_bound_proved`.
    """
    return _tree_bound(positives, negatives, depth, constant, factor, (4, 1), 21.0)


def tree_mse_bound_proved(
    positives: int, negatives: int, depth: int, constant: float, factor: float
) -> float:
    """The same with 5 + 4 (1 + 2 sqrt(a))^2 in place of 21, which is what the proof gives (erratum 13)."""
    proved = 5 + 4 * (1 + 2 * math.sqrt(positive("factor", factor))) ** 2
    return _tree_bound(positives, negatives, depth, constant, factor, (4, 1), proved)


def tree_mse_bound_zero(positives: int, negatives: int, depth: int, constant: float, factor: float) -> float:
    """The bound of the variant that gives discarded nodes zero; under the same conditions."""
    return _tree_bound(positives, negatives, depth, constant, factor, (8, 2), 1.0)


def _tree_bound(
    positives: int,
    negatives: int,
    depth: int,
    constant: float,
    factor: float,
    discarded: tuple[int, int],
    last: float,
) -> float:
    above, below, levels, variance = _classes(positives, negatives, depth, constant)
    n, least, excess = above + below, min(above, below), _excess(factor)
    _within(n, levels)
    middle = (discarded[0] * factor + discarded[1]) * least
    remainder = last * math.sqrt(2 * n * variance * levels) / excess
    return variance * levels**2 * (2 * n + middle + remainder) / (above * below)


def tree_factor(positives: int, negatives: int, depth: int, constant: float) -> float:
    """The first corollary's a = (1 + sqrt(21/8) (2 C n alpha / n_min^2)^(1/4))^2."""
    above, below, levels, variance = _classes(positives, negatives, depth, constant)
    root = math.sqrt(math.sqrt(2 * variance * (above + below) * levels / min(above, below) ** 2))
    return (1 + math.sqrt(21 / 8) * root) ** 2


def tree_factor_zero(positives: int, negatives: int, depth: int, constant: float) -> float:
    """The second corollary's a = (1 + sqrt(sqrt(2 C alpha n) / (16 n_min)))^2."""
    above, below, levels, variance = _classes(positives, negatives, depth, constant)
    return (1 + math.sqrt(math.sqrt(2 * variance * levels * (above + below)) / (16 * min(above, below)))) ** 2


def tree_mse_corollary(positives: int, negatives: int, depth: int, constant: float) -> float:
    """The first AUC corollary, corrected: the theorem at `tree_factor`.

    C alpha^2 / (n+ n-) (2 n + (4 a + 1) n_min + sqrt(168) (2 C n alpha n_min^2)^(1/4)). Erratum 12: the
    printed last constant is 14; sqrt(168) 2^(1/4) is 15.4.
    """
    factor = tree_factor(positives, negatives, depth, constant)
    n, least = positives + negatives, min(positives, negatives)
    _within(n, depth)
    last = math.sqrt(168) * math.pow(2 * constant * n * depth * least**2, 0.25)
    return constant * depth**2 * (2 * n + (4 * factor + 1) * least + last) / (positives * negatives)


def tree_mse_corollary_zero(positives: int, negatives: int, depth: int, constant: float) -> float:
    """The second AUC corollary: the variant's bound at `tree_factor_zero`.

    C alpha^2 / (n+ n-) ((8 a + 2) n_min + 2 n + (512 C alpha n n_min^2)^(1/4)).
    """
    factor = tree_factor_zero(positives, negatives, depth, constant)
    n, least = positives + negatives, min(positives, negatives)
    _within(n, depth)
    last = math.pow(512 * constant * depth * n * least**2, 0.25)
    return constant * depth**2 * (2 * n + (8 * factor + 2) * least + last) / (positives * negatives)


TREE_ORDERS = {
    "budget": "alpha^3 / (n eps^2)",
    "budget-advanced": "alpha^2 log(1/delta) / (n eps^2)",
    "users, around the sample": "alpha^3 / (n eps^2)",
    "users, around the population": "alpha^2 / (n eps^2)",
}
"""The paper's table of the orders of the MSE, upper bounds, by splitting."""
