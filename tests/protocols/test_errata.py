"""Errata 12 to 15: what is printed is refuted, and the correction holds."""

import math

import numpy as np
import pytest

from dpairs import BadParameter, Interval, theory
from dpairs.data.grids import Axis, Grid
from dpairs.privacy.composition import advanced_share, delta_of
from dpairs.protocols.tree.walk import walk_raw, worth
from dpairs.statistics import AUC

# positives, negatives, depth, C
SETTINGS: list[tuple[int, int, int, float]] = [
    (1000, 1000, 8, 4.7),
    (50_000, 200_000, 14, 1.2),
    (10**6, 10**6, 20, 4.7),
    (400, 90_000, 6, 20.0),
]


@pytest.mark.parametrize("setting", SETTINGS)
def test_erratum_12_the_first_corollary_says_15_not_14(setting):
    """The theorem at the corollary's own a is above what is printed, and is what is corrected."""
    positives, negatives, depth, constant = setting
    n, least = positives + negatives, min(positives, negatives)
    factor = theory.tree_factor(*setting)
    theorem = theory.tree_mse_bound(positives, negatives, depth, constant, factor)
    last = (constant * n * least**2 * depth) ** 0.25
    common = constant * depth**2 / (positives * negatives)
    printed = common * (2 * n + (4 * factor + 1) * least + 14 * last)
    assert printed < theorem
    assert theory.tree_mse_corollary(*setting) == pytest.approx(theorem, rel=1e-12)
    assert math.sqrt(168) * 2**0.25 == pytest.approx(15.41, abs=0.01)
    zero = theory.tree_factor_zero(*setting)
    assert theory.tree_mse_corollary_zero(*setting) == pytest.approx(
        theory.tree_mse_bound_zero(positives, negatives, depth, constant, zero), rel=1e-12
    )


def discarded_square(h: float, low: float, chance: float, factor: float) -> float:
    """E[1 h^2] / v of a two-point estimate of mean h: ``low`` with that chance; 1 is whether it is small."""
    high = (h - chance * low) / (1 - chance)
    variance = chance * (h - low) ** 2 + (1 - chance) * (high - h) ** 2
    end = 2 * math.sqrt(factor)
    if variance > 1:
        return 0.0
    return h**2 * (chance * (low < end) + (1 - chance) * (high < end))


@pytest.mark.parametrize("factor", [1.05, 1.5, 4.0])
def test_erratum_13_the_proofs_4v_fails_and_its_correction_holds(factor):
    """The event is an estimate below 2 sqrt(a v), so Chebyshev gives (1 + 2 sqrt(a))^2 v, not 4 v."""
    largest = 0.0
    for h in np.linspace(0.05, 3 + 3 * math.sqrt(factor), 60):
        for low in np.linspace(h - 4, h, 60):
            for chance in (1e-9, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7):
                largest = max(largest, discarded_square(float(h), float(low), chance, factor))
    assert largest > 4.0
    assert largest <= (1 + 2 * math.sqrt(factor)) ** 2


@pytest.mark.parametrize("shape", ["even", "near the threshold", "one end"])
def test_erratum_13_the_theorem_itself_was_not_broken(shape):
    """Oracles that meet all four conditions, on people who were chosen to hurt: far below the bound."""
    depth, constant, runs = 6, 3.0, 300
    leaves = 2**depth
    counts = {
        "even": np.full(leaves, 30),
        "near the threshold": np.where(np.arange(leaves) % 8 == 0, 240, 0),
        "one end": np.where(np.arange(leaves) == 0, 30 * leaves, 0),
    }[shape]
    n = int(counts.sum())
    factor = theory.tree_factor(n, n, depth, constant)
    variance = constant * n * depth
    rng, squares = np.random.default_rng(1), []
    # Ties count nothing here, as in the paper.
    truth = float((counts * (np.cumsum(counts) - counts)).sum())

    def query(level: int, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        sums = counts.reshape(2**level, -1).sum(axis=1)[nodes.astype(np.int64)]
        noise = rng.normal(0, math.sqrt(variance), (2, nodes.size))
        return sums + noise[0], sums + noise[1]

    for _ in range(runs):
        walk = walk_raw(query, worth((variance, variance), factor), depth, (n, n), 0.0, 0.5)
        squares.append((walk.total - truth) ** 2 / float(n) ** 4)
    found, error = float(np.mean(squares)), float(np.std(squares) / math.sqrt(runs))
    bound = theory.tree_mse_bound(n, n, depth, constant, factor)
    assert found + 5 * error < bound
    assert bound < theory.tree_mse_bound_proved(n, n, depth, constant, factor)
    # Negative control: a tenth of a percent of the bound is exceeded, so the comparison can fail.
    assert found > bound / 1000


def test_erratum_14_the_aucs_diagonal_term_is_a_quarter():
    """Delta_ii is a quarter of (max - min)^2 by definition: 1/4 for [x > y], where the paper prints 1/2."""
    values = np.linspace(0.25, 0.5, 1000)
    kernel = (values[:, None] > values[None, :]).astype(float)
    assert (kernel.max() - kernel.min()) ** 2 / 4 == 0.25
    # Our own Delta is the square of the uncertainty, which is half of max - min.
    form = AUC(ties="zero").forms(Grid((Axis(Interval(0, 1), 4),)), "midpoint")[0]
    np.testing.assert_array_equal(np.diag(form.uncertainty) ** 2, np.full(4, 0.25))
    assert form.matrix[2, 2] == 0.5


def test_erratum_15_the_papers_condition_on_advanced_composition_is_not_enough():
    """At k = 10^4, eps = 40 < sqrt(k) ln 2 the printed share has an exact delta of 6e-6, not 1e-8."""
    times, epsilon, delta = 10_000, 40.0, 1e-8
    assert epsilon <= math.sqrt(times) * math.log(2)
    printed = epsilon / (math.sqrt(times) * (1 + math.sqrt(2 * math.log(1 / delta))))
    assert delta_of(printed, times, epsilon) == pytest.approx(6e-6, rel=0.2)
    with pytest.raises(BadParameter, match="does not keep delta"):
        advanced_share(epsilon, delta, times)


@pytest.mark.parametrize("times", [4, 64, 1000, 10_000])
@pytest.mark.parametrize("delta", [1e-10, 1e-6, 0.1])
def test_erratum_15_the_corrected_condition_is_enough(times, delta):
    """e0 <= ln(1 + 1/sqrt(k)), at its edge."""
    root = math.sqrt(times)
    epsilon = root * (1 + math.sqrt(2 * math.log(1 / delta))) * math.log1p(1 / root)
    epsilon = min(epsilon, root * math.log(2)) * (1 - 1e-12)
    share = advanced_share(epsilon, delta, times)
    assert delta_of(share, times, epsilon) <= delta
