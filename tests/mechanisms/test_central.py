"""Noise on sums: exact probabilities first, then seeded draws with a control."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from dpairs import BadParameter
from dpairs.mechanisms.central import (
    Draws,
    discrete_gaussian,
    discrete_laplace,
    laplace_variance,
)
from dpairs.privacy.concentrated import delta_of, rho_for
from dpairs.randomness import SeededRandomness

from .exponential import laplace_pmf

FAILURE = 1e-9
"""Probability that correct noise fails a seeded test below, for a fresh seed."""
DRAWS = 20_000
TERMS = 40
"""How many standard deviations of a discrete Gaussian are summed; the rest is below the smallest float."""


def gaussian_delta(variance: float, sensitivity: int, epsilon: float) -> float:
    """The exact delta of one number with discrete Gaussian noise (Canonne et al. 2020, theorem 7).

    P(Y > e v / D - D / 2) - e^e P(Y > e v / D + D / 2) for Y of parameter v, sensitivity D and epsilon e.
    """
    reach = math.ceil(TERMS * math.sqrt(variance)) + sensitivity
    weights = {place: math.exp(-place * place / (2 * variance)) for place in range(-reach, reach + 1)}
    norm = math.fsum(weights.values())

    def above(level: float) -> float:
        return math.fsum(weight for place, weight in weights.items() if place > level) / norm

    middle = epsilon * variance / sensitivity
    return max(above(middle - sensitivity / 2) - math.exp(epsilon) * above(middle + sensitivity / 2), 0.0)


def gaussian_pmf(variance: float, reach: int) -> np.ndarray:
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    return weights / weights.sum()


def fits(draws: np.ndarray, pmf: np.ndarray) -> float:
    """The p-value of a chi-square test; what is rare is put together at both ends."""
    reach = len(pmf) // 2
    expected = pmf * draws.size
    common = np.flatnonzero(expected > 10)
    first, last = common[0], common[-1]
    counts = np.bincount(np.clip(draws + reach, first, last) - first, minlength=last - first + 1)
    wanted = expected[first : last + 1].copy()
    wanted[0] += expected[:first].sum()
    wanted[-1] += draws.size - expected[: last + 1].sum()
    return float(stats.chisquare(counts, wanted).pvalue)


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(40)])
def test_laplace_draws_have_the_stated_probabilities(scale):
    draws = discrete_laplace(scale, DRAWS // 2, SeededRandomness(1))
    reach = int(60 * float(scale)) + 2
    assert fits(draws, laplace_pmf(float(scale), reach)) > FAILURE
    if scale >= 1:
        assert fits(draws, laplace_pmf(1.3 * float(scale), reach)) < FAILURE


@pytest.mark.parametrize("variance", [Fraction(1, 2), Fraction(9), Fraction(400)])
def test_gaussian_draws_have_the_stated_probabilities(variance):
    draws = discrete_gaussian(variance, DRAWS // 2, SeededRandomness(2))
    reach = int(12 * math.sqrt(variance)) + 2
    assert fits(draws, gaussian_pmf(float(variance), reach)) > FAILURE
    assert fits(draws, gaussian_pmf(1.3 * float(variance), reach)) < FAILURE


@pytest.mark.parametrize("scale", [0.3, 1.0, 7.5, 200.0])
def test_laplace_probabilities_add_up_and_have_the_stated_variance(scale):
    reach = int(60 * scale) + 5
    pmf = laplace_pmf(scale, reach)
    places = np.arange(-reach, reach + 1)
    assert math.isclose(pmf.sum(), 1.0, rel_tol=1e-12)
    assert math.isclose(float(pmf @ places**2), laplace_variance(scale), rel_tol=1e-9)


def test_a_shift_changes_a_laplace_probability_by_the_claimed_factor_and_no_more():
    scale, shift = 12.0, 5
    pmf = laplace_pmf(scale, 100)
    ratio = np.abs(np.log(pmf[shift:] / pmf[:-shift]))
    assert ratio.max() <= shift / scale + 1e-12
    assert math.isclose(ratio.max(), shift / scale, rel_tol=1e-9)


def test_exponential_chances():
    draws = Draws(SeededRandomness(3))
    for numerator, denominator in ((0, 1), (1, 3), (1, 1), (7, 2)):
        hits = sum(draws.exponential_chance(numerator, denominator) for _ in range(DRAWS))
        chance = math.exp(-numerator / denominator)
        assert stats.binomtest(hits, DRAWS, chance).pvalue > FAILURE
    assert stats.binomtest(hits, DRAWS, 1.3 * chance).pvalue < FAILURE


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (4.0, 1e-12)])
def test_concentrated_loss_fits_epsilon_and_delta(epsilon, delta):
    rho = rho_for(epsilon, delta)
    assert delta_of(float(rho), epsilon) <= delta < delta_of(1.001 * float(rho), epsilon)
    # The exact delta of one number is no larger, and at half the variance it is.
    variance = 100 / (2 * float(rho))
    assert gaussian_delta(variance, 10, epsilon) <= delta
    assert gaussian_delta(variance / 2, 10, epsilon) > delta


def test_scales_must_be_above_zero():
    with pytest.raises(BadParameter, match="above 0"):
        discrete_laplace(Fraction(0), 1, SeededRandomness(1))
