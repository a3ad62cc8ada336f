"""The paper's section 3: exact variances by enumeration and simulation, bounds, and its errata."""

from __future__ import annotations

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from dpairs import Interval, exact
from dpairs.data.grids import Axis, Grid
from dpairs.errors import BadParameter, InvalidInput
from dpairs.protocols import theory
from dpairs.randomness import TapeRandomness
from dpairs.statistics import statistic

from ..every import every

FAILURE = 1e-9
"""The probability with which a correct variance fails the simulation."""

RUNS = 40_000


def symmetric(k, rng, whole=False):
    """A random symmetric kernel with values in [0, 1], or in {0, 1}."""
    upper = np.triu(rng.integers(0, 2, (k, k)) if whole else rng.uniform(0, 1, (k, k)))
    return upper + np.triu(upper, 1).T


def a_population(k, seed, whole=False):
    rng = np.random.default_rng([k, seed])
    return symmetric(k, rng, whole), rng.dirichlet(np.ones(k))


def report_probabilities(cells, beta):
    return (1 - beta) * cells + beta / len(cells)


def unbiased_kernel(kernel, beta):
    """(e_y - b)' A (e_y' - b) / (1 - beta)^2 for all reports y, y': Algorithm 1's estimator of one pair."""
    k = len(kernel)
    decode = (np.eye(k) - beta / k) / (1 - beta)
    return decode @ kernel @ decode.T


def mean_and_variance_by_enumeration(n, kernel, probabilities):
    """Of the U-statistic of a kernel, over every outcome of n independent draws."""
    moments = np.zeros(2)
    for outcome in itertools.product(range(len(kernel)), repeat=n):
        value = np.mean([kernel[a, b] for a, b in itertools.combinations(outcome, 2)])
        moments += math.prod(probabilities[cell] for cell in outcome) * np.array([value, value**2])
    return moments[0], moments[1] - moments[0] ** 2


# ---------------------------------------------------------------- erratum 1: randomized response

EPSILONS = [0.01, 0.5, 1.0, 3.0, 10.0]


@every("epsilon", EPSILONS)
@every("k", [1, 2, 5, 100])
def test_answers_have_total_probability_one_and_ratio_e_to_the_epsilon(k, epsilon):
    beta = theory.redraw_probability(k, epsilon)
    truth, other = 1 - beta + beta / k, beta / k
    assert truth + (k - 1) * other == pytest.approx(1, abs=1e-12)
    assert truth == pytest.approx(math.exp(epsilon) / (k + math.exp(epsilon) - 1), rel=1e-10)
    assert truth / other == pytest.approx(math.exp(epsilon), rel=1e-9)


@pytest.mark.parametrize("k", [2, 5, 100])
def test_the_printed_probabilities_do_not_sum_to_one(k):
    beta = theory.redraw_probability(k, 1.0)
    printed = (1 - beta) + (k - 1) * beta / k
    assert printed == pytest.approx(1 - beta / k)
    assert printed < 0.999


def test_a_huge_epsilon_is_almost_the_truth_or_refused():
    try:
        beta = theory.redraw_probability(2, 1000.0)
    except BadParameter:
        return
    assert 0 <= beta < 1e-300


# ---------------------------------------------------------------- variance of a U-statistic


def projections(kernel, cells):
    """Hoeffding's zeta_1 and zeta_2, and the erratum's mistaken zeta_1."""
    mean = cells @ kernel @ cells
    zeta_1 = cells @ (kernel @ cells) ** 2 - mean**2
    zeta_2 = cells @ kernel**2 @ cells - mean**2
    mistaken = cells @ (kernel**2 @ cells - (kernel @ cells) ** 2)
    return zeta_1, zeta_2, mistaken


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_hoeffdings_variance_is_that_of_enumeration(n, k):
    kernel, cells = a_population(k, n)
    zeta_1, zeta_2, _ = projections(kernel, cells)
    _, variance = mean_and_variance_by_enumeration(n, kernel, cells)
    assert theory.ustatistic_variance(n, zeta_1, zeta_2) == pytest.approx(variance, rel=1e-10)


def test_zeta_1_is_the_variance_of_the_projection():
    """Erratum 5: with the variance of f given x_1 in its place the formula is wrong."""
    kernel, cells = np.array([[0.0, 1.0], [1.0, 0.0]]), np.array([0.5, 0.5])
    zeta_1, zeta_2, mistaken = projections(kernel, cells)
    _, variance = mean_and_variance_by_enumeration(4, kernel, cells)
    assert (zeta_1, mistaken) == (0.0, 0.25)  # whatever x_1 is, half of the others differ from it
    assert theory.ustatistic_variance(4, zeta_1, zeta_2) == pytest.approx(variance, rel=1e-10)
    assert 2 / (4 * 3) * (2 * 2 * mistaken + zeta_2) > 4 * variance
    with pytest.raises(BadParameter, match="half of zeta_2"):
        theory.ustatistic_variance(4, mistaken, zeta_2)


# ---------------------------------------------------------------- lemma "discretevariance"


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize(("n", "k"), [(2, 2), (2, 4), (3, 2), (3, 3), (4, 2), (4, 3)])
def test_the_exact_variance_is_that_of_enumeration(n, k, epsilon):
    kernel, cells = a_population(k, n)
    beta = theory.redraw_probability(k, epsilon)
    mean, variance = mean_and_variance_by_enumeration(
        n, unbiased_kernel(kernel, beta), report_probabilities(cells, beta)
    )
    assert mean == pytest.approx(cells @ kernel @ cells, rel=1e-9)
    assert theory.krr_variance(n, epsilon, kernel, cells) == pytest.approx(variance, rel=1e-9)


@pytest.mark.parametrize("n", [2, 10, 1000])
def test_the_exact_variance_is_hoeffdings_for_reports(n):
    kernel, cells = a_population(5, 1)
    beta = theory.redraw_probability(5, 1.0)
    zeta_1, zeta_2, _ = projections(unbiased_kernel(kernel, beta), report_probabilities(cells, beta))
    expected = theory.ustatistic_variance(n, zeta_1, zeta_2)
    assert theory.krr_variance(n, 1.0, kernel, cells) == pytest.approx(expected, rel=1e-9)


def simulated(n, epsilon, kernel, cells, seed):
    """RUNS estimates, each from n fresh people and their reports."""
    beta = theory.redraw_probability(len(cells), epsilon)
    pairs = unbiased_kernel(kernel, beta)
    counts = np.random.default_rng(seed).multinomial(n, report_probabilities(cells, beta), RUNS)
    all_pairs = np.einsum("ra,ab,rb->r", counts, pairs, counts)
    return (all_pairs - counts @ np.diag(pairs)) / (n * (n - 1))


def is_the_variance_of(estimates, variance):
    """Whether the sample variance lies within its own error of ``variance``, up to FAILURE."""
    squares = (estimates - estimates.mean()) ** 2
    critical = NormalDist().inv_cdf(1 - FAILURE / 2)
    return abs(squares.mean() - variance) <= critical * squares.std() / math.sqrt(estimates.size)


SIMULATIONS = [(50, 4, 1.0), (200, 8, 2.0), (20, 2, 0.5)]


@pytest.mark.parametrize(("n", "k", "epsilon"), SIMULATIONS)
def test_simulated_estimates_have_the_exact_variance(n, k, epsilon):
    kernel, cells = a_population(k, n)
    estimates = simulated(n, epsilon, kernel, cells, seed=n)
    assert is_the_variance_of(estimates, theory.krr_variance(n, epsilon, kernel, cells))


@pytest.mark.parametrize("factor", [0.7, 1.3])
@pytest.mark.parametrize(("n", "k", "epsilon"), SIMULATIONS)
def test_the_simulation_rejects_a_variance_that_is_off_by_30_percent(n, k, epsilon, factor):
    kernel, cells = a_population(k, n)
    estimates = simulated(n, epsilon, kernel, cells, seed=n)
    assert not is_the_variance_of(estimates, factor * theory.krr_variance(n, epsilon, kernel, cells))


# ---------------------------------------------------------------- bounds of the variance


@every("whole", [False, True])
@every("epsilon", EPSILONS)
@every("k", [2, 3, 10, 50])
def test_the_bound_is_above_the_exact_variance(k, epsilon, whole):
    for n, seed in itertools.product([2, 10, 10_000], range(5)):
        kernel, cells = a_population(k, seed, whole)
        assert theory.krr_variance(n, epsilon, kernel, cells) <= theory.krr_variance_bound(n, k, epsilon)


def test_the_bound_of_a_worked_example():
    beta = 2 / (1 + math.e)
    expected = 1 / (10 * (1 - beta) ** 2) + (1 + beta) ** 2 / (2 * 10 * 9 * (1 - beta) ** 4)
    assert theory.krr_variance_bound(10, 2, 1.0) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [2, 10])
def test_the_approximation_is_that_of_the_bound_for_small_epsilon(k):
    n, epsilon = 10**10, 0.01  # n is far above k^2 / epsilon^2
    approximation = theory.krr_variance_approximation(n, k, epsilon)
    assert approximation == pytest.approx(theory.krr_variance_bound(n, k, epsilon), rel=0.02)
    assert theory.krr_variance_approximation(100, 2, 0.5) == pytest.approx(5**2 / 100 + 5**4 / 20_000)


# ---------------------------------------------------------------- quantization, and erratum 6


def quantized(values, k, kernel):
    """The mean of the kernel on cells over all pairs of values, each with each."""
    axis = Axis(Interval(0, 1), k)
    share = np.bincount(axis.place(values, "value", TapeRandomness(b"")), minlength=k) / len(values)
    (form,) = statistic("gini_mean_difference").forms(Grid((axis,)), kernel)
    return share @ form.matrix @ share


def test_the_printed_lipschitz_constant_has_a_counter_example():
    """Erratum 6: half the mass just below 1/2 and half just above, in two bins."""
    values = np.array([0.5 - 1e-9, 0.5 + 1e-9])
    true = np.abs(values[:, None] - values[None, :]).mean()
    error = (quantized(values, 2, "midpoint") - true) ** 2
    printed, corrected = 1 / (2 * 2**2), theory.lipschitz_quantization_bound(2, 1.0)
    assert quantized(values, 2, "midpoint") == pytest.approx(0.375)
    assert error == pytest.approx(0.1406, abs=1e-4)
    assert printed == 0.125
    assert printed < error < corrected == 0.25


@pytest.mark.parametrize("k", [2, 3, 7, 20])
def test_the_lipschitz_bound_holds_for_any_data(k):
    rng = np.random.default_rng(k)
    edge = np.arange(1, k) / k
    data = [
        rng.uniform(0, 1, 40),
        rng.beta(0.1, 0.1, 40),
        np.concatenate([edge - 1e-9, edge + 1e-9]),
        [0.0, 1.0],
    ]
    for values in map(np.asarray, data):
        true = np.abs(values[:, None] - values[None, :]).mean()
        assert (quantized(values, k, "midpoint") - true) ** 2 <= theory.lipschitz_quantization_bound(k, 1.0)


def test_the_lipschitz_bound_is_the_square_of_slope_over_bins():
    assert theory.lipschitz_quantization_bound(10, 3.0) == pytest.approx(0.09)


@pytest.mark.parametrize("slope", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("k", [2, 5, 16])
def test_the_smooth_bound_holds_for_a_linear_density(k, slope):
    points = 10_000 * k
    x = (np.arange(points) + 0.5) / points
    weights = (1 + slope * (x - 0.5)) / points
    below = np.cumsum(weights)
    true = 2 * (below * (1 - below)).sum() / points  # E|x - x'| = 2 integral F (1 - F)
    share = weights.reshape(k, -1).sum(axis=1)
    (form,) = statistic("gini_mean_difference").forms(Grid((Axis(Interval(0, 1), k),)), "average")
    error = (share @ form.matrix @ share - true) ** 2
    assert error <= theory.smooth_quantization_bound(1 / k, slope)


def test_the_smooth_bound_of_a_worked_example():
    assert theory.smooth_quantization_bound(0.1, 2.0) == pytest.approx(4 * 0.04 * 1.04)


@pytest.mark.parametrize("k", [2, 30])
def test_mse_bounds_are_variance_plus_quantization(k):
    variance = theory.krr_variance_bound(1000, k, 1.0)
    assert theory.mse_bound_lipschitz_kernel(1000, k, 1.0, 2.0) == pytest.approx(variance + 4 / k**2)
    assert theory.mse_bound_smooth_data(1000, k, 1.0, 2.0) == pytest.approx(variance + 16 / k**2 + 64 / k**4)


# ---------------------------------------------------------------- choosing k


@pytest.mark.parametrize(
    ("n", "epsilon", "lipschitz", "bins"),
    [(10_000, 1.0, 1.0, 10), (160_000, 0.25, 1.0, 10), (160_000, 0.25, 4.0, 20), (200_000, 1.0, 1.0, 21)],
)
def test_best_bins_is_the_fourth_root_of_n_times_the_root_of_slope_and_epsilon(n, epsilon, lipschitz, bins):
    assert theory.best_bins(n, epsilon, lipschitz) == bins
    assert theory.best_bins(n, epsilon, lipschitz) == round(n**0.25 * math.sqrt(lipschitz * epsilon))


@pytest.mark.parametrize(("n", "epsilon", "lipschitz"), [(1, 1.0, 1.0), (100, 0.01, 1.0), (10**6, 1.0, 0.0)])
def test_there_are_at_least_two_bins(n, epsilon, lipschitz):
    assert theory.best_bins(n, epsilon, lipschitz) == 2


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [10**6, 10**8, 10**10])
def test_the_bound_at_the_best_bins_is_near_its_minimum(n, epsilon):
    bound = [theory.mse_bound_lipschitz_kernel(n, k, epsilon, 1.0) for k in range(2, 500)]
    here = theory.mse_bound_lipschitz_kernel(n, theory.best_bins(n, epsilon), epsilon, 1.0)
    assert here <= 1.5 * min(bound)
    assert here <= 4 * theory.mse_order(n, epsilon)


def test_the_order_of_the_mse():
    assert theory.mse_order(10_000, 0.5, 3.0) == pytest.approx(3 / (100 * 0.5))


def test_the_bound_covers_what_estimates_do():
    """Theorem "dphist-main" end to end: privacy noise, sampling and binning together stay below it."""
    n, k, epsilon, values = 500, 8, 2.0, np.arange(101) / 100
    axis = Axis(Interval(0, 1), k)
    (form,) = statistic("gini_mean_difference").forms(Grid((axis,)), "midpoint")
    cells = np.bincount(axis.place(values, "value", TapeRandomness(b"")), minlength=k) / values.size
    estimates = simulated(n, epsilon, form.matrix, cells, seed=5)
    # The mean over a population of equal shares pairs a value with itself too.
    true = exact("gini_mean_difference", {"value": values}) * (values.size - 1) / values.size
    assert np.mean((estimates - true) ** 2) <= theory.mse_bound_lipschitz_kernel(n, k, epsilon, 1.0)


# ---------------------------------------------------------------- refused arguments

REFUSED = {
    "no bins": (lambda: theory.redraw_probability(0, 1.0), "k must be a whole number"),
    "half a bin": (lambda: theory.redraw_probability(2.5, 1.0), "k must be a whole number"),  # type: ignore[arg-type]
    "epsilon 0": (lambda: theory.redraw_probability(2, 0.0), "epsilon must be above 0"),
    "epsilon NaN": (lambda: theory.redraw_probability(2, math.nan), "epsilon must be a finite number"),
    "one person": (lambda: theory.ustatistic_variance(1, 1.0, 1.0), "n must be a whole number from 2"),
    "one reporter": (lambda: theory.krr_variance_bound(1, 2, 1.0), "n must be a whole number from 2"),
    "one answer": (
        lambda: theory.krr_variance(1, 1.0, np.eye(2), np.ones(2) / 2),
        "n must be a whole number from 2",
    ),
    "approximately one": (
        lambda: theory.krr_variance_approximation(1, 2, 1.0),
        "n must be a whole number from 2",
    ),
    "slope": (lambda: theory.best_bins(100, 1.0, -1.0), "lipschitz must be at least 0"),
    "slope NaN": (
        lambda: theory.lipschitz_quantization_bound(2, math.nan),
        "lipschitz must be a finite number",
    ),
    "diameter": (lambda: theory.smooth_quantization_bound(0.0, 1.0), "diameter must be above 0"),
    "nobody": (lambda: theory.best_bins(0, 1.0), "n must be a whole number from 1"),
    "order": (lambda: theory.mse_order(100, -1.0), "epsilon must be above 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arguments_are_refused(name):
    call, message = REFUSED[name]
    with pytest.raises(InvalidInput, match=message):
        call()
