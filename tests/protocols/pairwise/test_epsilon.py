"""The epsilon of all of a person's pairs, and what is claimed of it."""

import itertools

import numpy as np
import pytest

from dpairs import (
    Integers,
    Interval,
)
from dpairs.protocols.pairwise.protocol import Pairwise

from .kernels import TWO, pairwise, protocol_of

TOPS = {
    "auc": ("auc", Interval(0, 1), ("response", "laplace")),
    "kendall": ("kendall_tau", TWO, ("response", "kary", "laplace")),
    "gini": ("gini_mean_difference", Interval(0, 1), ("response", "laplace")),
    "variance": ("variance", Integers(0, 2), ("response", "kary", "laplace")),
}
EPSILONS = [0.1, 0.35, 0.7, 1.0, 1.7, 2.0, 3.3, 5.0, 7.3, 7.9, 8.0]


@pytest.mark.parametrize("pairs", [1, 2, 3, 4])
@pytest.mark.parametrize("name", TOPS)
def test_epsilon_is_that_of_all_pairs_and_hardly_below_what_was_asked(name, pairs):
    statistic, domain, noises = TOPS[name]
    for epsilon, noise in itertools.product(EPSILONS, noises):
        study = pairwise(statistic, domain, epsilon=epsilon, pairs=pairs, noise=noise)
        made = protocol_of(study).noise
        assert made.name == noise
        assert study.privacy.epsilon == pairs * made.epsilon <= epsilon
        assert study.privacy.epsilon_asked == epsilon
        if noise != "kary":
            assert study.privacy.epsilon >= 0.99 * epsilon, (epsilon, noise)


@pytest.mark.parametrize("name", TOPS)
def test_epsilon_is_the_largest_ratio_of_a_pairs_probabilities(name):
    """The claim against the exact distribution, at every level where there are few."""
    statistic, domain, noises = TOPS[name]
    for noise in noises:
        protocol = protocol_of(pairwise(statistic, domain, epsilon=1.5, pairs=3, noise=noise))
        top = protocol.code.kernel.top
        levels = range(top + 1) if top < 10 else (0, 1, top // 2, top - 1, top)
        chances = [protocol.noise.pmf(level) for level in levels]
        ratio = max(a / b for column in zip(*chances, strict=True) for a in column for b in column)
        assert protocol.epsilon >= 3 * np.log(float(ratio)) * (1 - 1e-12)
        assert protocol.epsilon == pytest.approx(3 * np.log(float(ratio)), rel=1e-9)


def test_without_a_name_the_noise_of_least_variance_is_taken():
    for statistic, domain, noises in TOPS.values():
        for epsilon in (0.5, 2.0, 8.0):
            best = protocol_of(pairwise(statistic, domain, epsilon=epsilon, pairs=2))
            top = best.code.kernel.top

            def worst(protocol: Pairwise, top: int = top) -> float:
                return max(protocol.noise.variance(level) for level in (0, top // 2, top))

            others = [
                protocol_of(pairwise(statistic, domain, epsilon=epsilon, pairs=2, noise=n)) for n in noises
            ]
            assert worst(best) == min(map(worst, others))


def test_the_privacy_claim_is_computational():
    claim = pairwise("auc", Interval(0, 1), pairs=3).privacy
    assert claim.kind == "computational"
    assert claim.delta == 0
    assert "collude" in claim.trust
    assert "computational differential privacy for any change of one person's score" in str(claim)
    assert "times 3 pair(s)" in claim.theorem
