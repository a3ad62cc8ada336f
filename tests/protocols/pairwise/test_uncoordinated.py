"""Pairs that everybody draws alone, and all pairs under one delta."""

from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpairs import BadParameter, Levels, Study, simulate, theory
from dpairs.privacy.composition import delta_of
from dpairs.protocols import Pairwise
from dpairs.protocols.pairwise.matching import Pairs, match
from dpairs.randomness.coins import Coins

FAILURE = 1e-9
RATINGS = Levels(range(6))


def drawn(n: int, pairs: int, key: int = 0) -> Pairs:
    return match(Coins((key, 7)), {"everybody": n}, pairs, "uncoordinated")


@pytest.mark.parametrize("pairs", [2, 4, 8])
@pytest.mark.parametrize("n", [3, 10, 1000, 9001])
def test_nobody_meets_oneself_nor_more_than_was_promised(n, pairs):
    found = drawn(n, pairs)
    assert (found.garblers != found.evaluators).all()
    degrees = np.bincount(np.concatenate([found.garblers, found.evaluators]), minlength=n)
    assert degrees.max() <= pairs
    assert np.unique(found.numbers).size == len(found)
    # One person draws another once at most.
    assert max(Counter(zip(found.evaluators.tolist(), found.garblers.tolist(), strict=True)).values()) == 1
    if n >= 1000:
        assert 0.6 * n * pairs / 2 < len(found) < n * pairs / 2


def test_draws_are_uniform_over_the_others():
    """Of 5 people, the first one's first partner over many keys: a chi-squared test, and a control."""
    partners = []
    for key in range(4000):
        found = drawn(5, 2, key)
        first = found.garblers[found.evaluators == 0]
        partners += first[:1].tolist()
    counts = np.bincount(partners, minlength=5)
    assert counts[0] == 0
    # Whom others drew first decides who is left, alike for all four.
    assert stats.chisquare(counts[1:]).pvalue > FAILURE
    skewed = counts[1:] + np.array([200, 0, 0, -200])
    assert stats.chisquare(skewed).pvalue < FAILURE


def people(n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, n)
    return {"x": x, "y": np.where(rng.random(n) < 0.5, x, rng.integers(0, 6, n))}


def test_estimates_are_unbiased_and_their_errors_honest():
    """60 studies: their squared z-scores around the population's value, by a chi-squared test."""
    study = Study.create(
        "kendall_tau",
        protocol="pairwise",
        epsilon=4.0,
        domain=(RATINGS, RATINGS),
        pairs=4,
        matching="uncoordinated",
        seed=1,
    )
    assert Study.from_json(study.to_json()) == study
    # Of two people with independent signs in x and in y; but in half of the draws y is x.
    shares, order = np.eye(6) / 12 + 1 / 72, np.sign(np.subtract.outer(np.arange(6), np.arange(6)))
    truth = float(np.sum(shares * (order @ shares @ order.T)))
    found = [simulate(study, people(4000, seed), seed=seed) for seed in range(1, 61)]
    scores = np.array([(each.value - truth) / each.standard_error for each in found])
    assert stats.chi2.sf((scores**2).sum(), scores.size) > FAILURE
    # Negative control: standard errors of two thirds are noticed.
    assert stats.chi2.sf((scores**2).sum() * 2.25, scores.size) < 1e-3


def test_odd_numbers_cannot_be_halved():
    with pytest.raises(BadParameter, match="must be even"):
        Study.create(
            "variance", protocol="pairwise", epsilon=1.0, domain=RATINGS, pairs=3, matching="uncoordinated"
        )


# ---------------------------------------------------------------- all pairs, one delta


@pytest.mark.parametrize("n", [4, 16, 64])
def test_all_pairs_of_few_people_are_a_study(n):
    """The paper's baseline: everybody meets everybody, composed with a delta."""
    study = Study.create(
        "gini_mean_difference",
        protocol="pairwise",
        epsilon=2.0,
        delta=1e-6,
        domain=RATINGS,
        pairs=n - 1,
        matching="disjoint",
        seed=1,
    )
    protocol = study.protocol
    assert isinstance(protocol, Pairwise)
    assert Study.from_json(study.to_json()) == study
    assert (study.delta, study.privacy.delta) == (1e-6, 1e-6)
    assert study.privacy.epsilon <= 2.0
    assert delta_of(protocol.noise.epsilon, n - 1, 2.0) <= 1e-6
    if n > 4:
        assert protocol.noise.epsilon > 2.0 / (n - 1)
    pairs = protocol.match(study.coins, {"everybody": n})
    everybody = {tuple(sorted(pair)) for pair in zip(pairs.garblers, pairs.evaluators, strict=True)}
    assert len(everybody) == len(pairs) == n * (n - 1) // 2
    found = simulate(study, {"value": np.arange(n) % 6}, seed=1)
    assert found.strata == {"pairs": n * (n - 1) // 2}


def test_all_pairs_pay_for_it():
    """One pair each beats all pairs, as the theory says, at the same epsilon."""
    n = 64
    variances = {}
    ways: tuple[tuple[int, dict[str, Any]], ...] = ((1, {}), (n - 1, {"delta": 1e-6, "matching": "disjoint"}))
    for pairs, more in ways:
        study = Study.create(
            "variance", protocol="pairwise", epsilon=1.0, domain=RATINGS, pairs=pairs, noise="laplace", **more
        )
        assert isinstance(study.protocol, Pairwise)
        variances[pairs] = study.protocol.noise.variance(0) / (pairs * n / 2)
    assert variances[n - 1] > variances[1]
    assert theory.all_pairs_noise(n, 1.0, 1e-6) > theory.pairs_laplace_noise(n, 1, 1.0)


def test_a_delta_of_a_pure_study_is_refused():
    pure = Study.create("variance", protocol="pairwise", epsilon=1.0, domain=RATINGS, pairs=2, seed=1)
    assert "delta" not in pure.protocol.to_json()
    for delta in (1.5, -0.1):
        with pytest.raises(BadParameter, match="delta"):
            Study.create("variance", protocol="pairwise", epsilon=1.0, domain=RATINGS, pairs=2, delta=delta)
    with pytest.raises(BadParameter, match="pairs of a study with a delta"):
        Study.create("variance", protocol="pairwise", epsilon=1.0, domain=RATINGS, pairs=1, delta=1e-6)
