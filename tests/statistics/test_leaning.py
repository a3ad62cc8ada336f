"""The third moments that an interval leans by: against sums over people, and where they are known."""

from itertools import permutations

import numpy as np
import pytest

import dpairs
from dpairs.protocols.histogram.protocol import Histogram
from dpairs.statistics.leaning import lean
from dpairs.statistics.ustatistics import OneSample

PEOPLE = 9


def reports(kernel: np.ndarray, decoder: np.ndarray, symbols: np.ndarray) -> tuple[np.ndarray, OneSample]:
    average = OneSample(decoder, kernel)
    counts = np.bincount(symbols, minlength=len(decoder)).astype(float)
    vectors = decoder[symbols]
    return vectors @ kernel @ vectors.T - average.mean([counts]), average


@pytest.mark.parametrize("seed", range(4))
def test_moments_are_means_over_different_people(seed):
    rng = np.random.default_rng(seed)
    points = rng.random(3)
    kernel, decoder = np.abs(np.subtract.outer(points, points)), rng.normal(size=(4, 3))
    symbols = rng.integers(0, 4, PEOPLE)
    pairs, average = reports(kernel, decoder, symbols)
    paths = list(permutations(range(PEOPLE), 4))
    stars = np.mean([pairs[i, j] * pairs[i, k] * pairs[i, m] for i, j, k, m in paths])
    chains = np.mean([pairs[i, j] * pairs[j, k] * pairs[k, m] for i, j, k, m in paths])
    triangles = np.mean([pairs[i, j] * pairs[j, k] * pairs[k, i] for i, j, k, _ in paths])
    first = np.mean([pairs[i, j] * pairs[i, k] for i, j, k, _ in paths])
    found = lean(np.bincount(symbols, minlength=4).astype(float), average, 2.0)
    assert found.skewness == pytest.approx(8 * stars / PEOPLE**2 / 2 if first > 0 else 0.0)
    kept = chains if chains * triangles > 0 else 0.0
    assert found.curvature == pytest.approx((16 * kept / PEOPLE**2 + 8 * triangles / PEOPLE**3) / 2)


@pytest.mark.parametrize("middle", [0.0, 2.0, 8.0])
def test_a_square_moves_by_as_much_wherever_it_is(middle):
    """-(x + e)^2 with normal e of deviation s: 2 B + C is -4 s^2 V at every x, here with s = 1."""
    n, grid = 400.0, np.linspace(-6, 6, 121)
    counts = n * np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    # The mean of n values with deviation sqrt(n) has deviation 1.
    values = middle + np.sqrt(n) * grid
    average = OneSample(np.eye(len(grid)), -np.multiply.outer(values, values))
    found = lean(counts, average, average.variances([counts]).population)
    assert found.curvature == pytest.approx(-4, rel=0.05)
    assert found.down(1.96) == pytest.approx(4.84, rel=0.05)


def test_the_mean_and_its_variance_go_together_as_the_moments_say():
    """Among 4,000 answers their covariance with their variance is A + 2 B + C, and so is its estimate."""
    study = dpairs.Study.create(
        "gini_mean_difference", epsilon=2.0, domain=dpairs.Interval(0, 1), bins=8, rounding="random"
    )
    assert isinstance(study.protocol, Histogram)
    mechanism, (form,) = study.protocol.mechanism, study.protocol.forms
    average, n = OneSample(mechanism.decoder, form.matrix), 2_000
    chances = np.array([0.85, 0, 0, 0, 0, 0, 0, 0.15]) @ mechanism.channel
    pairs = mechanism.decoder @ form.matrix @ mechanism.decoder.T
    g = pairs @ chances - chances @ pairs @ chances
    psi = pairs - np.add.outer(g, g) - chances @ pairs @ chances
    weighed = psi * chances
    known = 8 / n**2 * (chances @ g**3 + 2 * (chances * g) @ psi @ (chances * g))
    known += 8 / n**3 * np.trace(weighed @ weighed @ weighed)

    drawn = np.random.default_rng(1).multinomial(n, chances / chances.sum(), 4_000).astype(float)
    means = np.array([average.mean([each]) for each in drawn])
    variances = np.array([average.variances([each]).population for each in drawn])
    leans = [lean(each, average, variance) for each, variance in zip(drawn, variances, strict=True)]
    estimated = variances * [each.skewness + each.curvature for each in leans]
    for found in ((means - means.mean()) * (variances - variances.mean()), estimated):
        # Five standard errors, a failure in a million; and what remains of the order 1 / n.
        off = 5 * found.std() / np.sqrt(len(found)) - 0.02 * known
        assert known < -off
        assert abs(found.mean() - known) < off


def test_nothing_leans_without_noise():
    average = OneSample(np.eye(2), np.zeros((2, 2)))
    assert lean(np.array([5.0, 5.0]), average, 0.0).down(1.96) == 0
