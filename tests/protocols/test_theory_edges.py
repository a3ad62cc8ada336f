"""What each bound assumes: it holds at the edge, and is refused beyond."""

from typing import Any

import numpy as np
import pytest

from dpairs import BadParameter, theory

TREES = (
    theory.tree_mse_bound,
    theory.tree_mse_bound_proved,
    theory.tree_mse_bound_zero,
    theory.recursed_bound,
)


@pytest.mark.parametrize("bound", TREES)
def test_the_factor_is_above_1(bound):
    assert bound(1000, 1000, 8, 4.7, 1 + 1e-9) > 0
    for factor in (1.0, 0.5, 0.0, -1.0):
        with pytest.raises(BadParameter, match="factor"):
            bound(1000, 1000, 8, 4.7, factor)


@pytest.mark.parametrize(
    "bound",
    [
        *(lambda *given, bound=each: bound(*given, 2.0) for each in TREES[:3]),
        theory.tree_mse_corollary,
        theory.tree_mse_corollary_zero,
    ],
)
def test_the_depth_is_at_most_the_root_of_the_people(bound):
    assert bound(32, 32, 8, 1.0) > 0  # 8 = sqrt(64)
    with pytest.raises(BadParameter, match=r"sqrt\(n\) = 7.937"):
        bound(32, 31, 8, 1.0)


def test_the_lemma_begins_at_the_root():
    """(sqrt(n+) + sqrt(n-)) / (2 (sqrt(a) - 1) sqrt(C alpha)) is below 1 for a large a; the root is 1."""
    assert theory.recursed_bound(100, 100, 4, 1.0, 36.0) == 1.0
    assert theory.recursed_bound(100, 100, 4, 1.0, 4.0) == pytest.approx(5.0)


REFUSED: dict[str, Any] = {
    "nobody positive": lambda: theory.tree_mse_bound(0, 10, 2, 1.0, 2.0),
    "no level": lambda: theory.tree_factor(10, 10, 0, 1.0),
    "C of 0": lambda: theory.tree_factor_zero(10, 10, 2, 0.0),
    "more than all": lambda: theory.oracle_variance(10, 11.0, 1.0),
    "fewer than none": lambda: theory.oracle_variance_others(10, -1.0, 1.0, 3),
    "two nodes of more than all": lambda: theory.oracle_covariance_others(10, (6.0, 6.0), 1.0, 3),
    "a kernel that is not symmetric": lambda: theory.krr_variance(
        9, 1.0, np.array([[0.0, 1.0], [0.0, 0.0]]), np.ones(2) / 2
    ),
    "cells of more than 1": lambda: theory.krr_variance(9, 1.0, np.eye(2), np.ones(2)),
    "a negative slope": lambda: theory.lipschitz_quantization_bound(4, -1.0),
    "a negative density slope": lambda: theory.smooth_quantization_bound(0.1, -1.0),
    "a negative order": lambda: theory.mse_order(100, 1.0, -1.0),
    "zeta_1 above half": lambda: theory.ustatistic_variance(9, 0.2, 0.3),
    "zeta_1 below 0": lambda: theory.pairs_variance(9, 1, -0.1, 0.3),
    "excess": lambda: theory.pairs_excess(9, 2, 0.2, 0.3),
    "odd draws": lambda: theory.uncoordinated_variance(9, 3, 0.1, 0.3),
    "more draws than people": lambda: theory.uncoordinated_variance(9, 18, 0.1, 0.3),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_statement_is_about_is_refused(name):
    with pytest.raises(BadParameter):
        REFUSED[name]()


def test_edges_that_are_allowed():
    assert theory.oracle_variance(10, 10.0, 1.0) > 0
    assert theory.ustatistic_variance(9, 0.15, 0.3) > 0
    assert theory.uncoordinated_variance(9, 16, 0.1, 0.3) > 0
    assert theory.lipschitz_quantization_bound(4, 0.0) == 0.0


@pytest.mark.parametrize("pairs", [2, 4])
def test_uncoordinated_pairs_have_bloms_variance(pairs):
    """By enumeration of all draws of 5 people, of whom each draws ``pairs`` / 2 others."""
    from itertools import combinations, product

    n, kernel = 5, np.array([[0.0, 1.0, 0.3], [1.0, 0.2, 0.5], [0.3, 0.5, 0.9]])
    masses = np.array([0.5, 0.3, 0.2])
    zeta_1, zeta_2 = theory.zetas(kernel, masses)
    draws = [list(combinations([j for j in range(n) if j != i], pairs // 2)) for i in range(n)]
    sharing = same = total = 0.0
    for chosen in product(*draws):
        met = [frozenset((i, j)) for i, others in enumerate(chosen) for j in others]
        common = [len(one & other) for one in met for other in met]
        sharing, same, total = sharing + common.count(1), same + common.count(2), total + 1
    expected = 4 / (pairs * n) ** 2 * (sharing / total * zeta_1 + same / total * zeta_2)
    assert theory.uncoordinated_variance(n, pairs, zeta_1, zeta_2) == pytest.approx(expected, rel=1e-12)
    # Of many people, uncoordinated pairs are a little worse than permutations, as the paper says.
    alone, together = (
        variance(10_000, pairs, zeta_1, zeta_2)
        for variance in (theory.uncoordinated_variance, theory.pairs_variance)
    )
    assert 0 < alone - together == pytest.approx(2 * zeta_1 / (pairs * 10_000), rel=0.01)


@pytest.mark.parametrize(("columns", "apart"), [(1, 1), (2, 1), (3, 1), (1, 6), (2, 2)])
def test_bins_of_several_columns_balance_noise_and_diameter(columns, apart):
    """b is where (b^m c)^2 / (n eps^2) + m L^2 / b^2 is least."""
    n, epsilon, slope = 10**8, 0.7, 1.3
    bins = np.linspace(2, 400, 40_000)
    cost = (bins**columns * apart) ** 2 / (n * epsilon**2) + columns * slope**2 / bins**2
    best = theory.best_bins(n, epsilon, slope, columns=columns, apart=apart)
    assert best == pytest.approx(bins[np.argmin(cost)], abs=0.6)


@pytest.mark.parametrize("depth", [6, 16])
def test_at_a_fixed_depth_the_bound_falls_as_the_sampling_error(depth):
    """The remark on the first corollary: both are of the order 1 / n_min, so their ratio has a limit."""
    constant = theory.oracle_gain(1.0) ** 2

    def ratio(people: int) -> float:
        # The AUC of people without ties at random: variance (2 n + 1) / (12 n^2).
        sampling = (2 * people + 1) / (12 * people**2)
        return theory.tree_mse_corollary(people, people, depth, constant) / sampling

    limit = constant * depth**2 * 9 * 6  # C alpha^2 (2 n + 5 n_min) / n^2 over 1 / (6 n)
    far, further = (ratio(people) / limit for people in (10**8, 10**12))
    assert 1 < further < far < 1.2
    # Negative control: at another depth it has another limit.
    assert theory.tree_mse_corollary(10**8, 10**8, depth + 1, constant) * 6 * 10**8 > 1.1 * limit
