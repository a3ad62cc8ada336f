"""The paper's section 5: zeta_1 and zeta_2, the MSE theorem with its errata, and the best number of pairs."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest

from dpairs import InvalidInput
from dpairs.garbled.noise_registry import best_noise
from dpairs.privacy.composition import advanced_share
from dpairs.protocols import theory

from ..every import every

FAILURE = 1e-9
PEOPLE = 243_837
"""Of the hotel ratings."""


def a_kernel(k, seed):
    rng = np.random.default_rng([k, seed])
    upper = np.triu(rng.uniform(0, 1, (k, k)))
    return upper + np.triu(upper, 1).T, rng.dirichlet(np.ones(k))


# ---------------------------------------------------------------- zetas


@pytest.mark.parametrize("seed", range(4))
def test_zetas_by_enumeration(seed):
    kernel, masses = a_kernel(5, seed)
    cells = list(itertools.product(range(5), repeat=2))
    mean = sum(masses[a] * masses[b] * kernel[a, b] for a, b in cells)
    projection = [sum(masses[b] * kernel[a, b] for b in range(5)) for a in range(5)]
    first = sum(masses[a] * (projection[a] - mean) ** 2 for a in range(5))
    second = sum(masses[a] * masses[b] * (kernel[a, b] - mean) ** 2 for a, b in cells)
    assert theory.zetas(kernel, masses) == pytest.approx((first, second), rel=1e-10)


def covariances(kernel, masses, count, seed):
    """Products of deviations over random people: of f(X, Y) with f(X, Z), and with itself."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.choice(len(masses), size=(3, count), p=masses)
    mean = masses @ kernel @ masses
    return (kernel[x, y] - mean) * (kernel[x, z] - mean), (kernel[x, y] - mean) ** 2


def score(sample, expected):
    """How many standard errors the sample's mean lies from ``expected``."""
    return abs(sample.mean() - expected) / (sample.std() / math.sqrt(sample.size))


@pytest.mark.parametrize("seed", range(3))
def test_zetas_by_monte_carlo(seed):
    kernel, masses = a_kernel(6, seed)
    limit = NormalDist().inv_cdf(1 - FAILURE / 2)
    for sample, expected in zip(
        covariances(kernel, masses, 400_000, seed), theory.zetas(kernel, masses), strict=True
    ):
        assert score(sample, expected) < limit


@pytest.mark.parametrize("seed", range(3))
def test_erratum_5_zeta_1_as_printed_is_something_else(seed):
    """Negative control: the mean of Var(f(x, X) | x) is zeta_2 - zeta_1, and the same test rejects it."""
    kernel, masses = a_kernel(6, seed)
    along = kernel @ masses
    printed = float(masses @ (kernel**2 @ masses - along**2))
    first, second = theory.zetas(kernel, masses)
    assert printed == pytest.approx(second - first)
    sample = covariances(kernel, masses, 400_000, seed)[0]
    assert score(sample, printed) > NormalDist().inv_cdf(1 - FAILURE / 2)


@pytest.mark.parametrize("seed", range(5))
def test_zeta_1_is_at_most_half_of_zeta_2(seed):
    first, second = theory.zetas(*a_kernel(7, seed))
    assert 0 <= 2 * first <= second


def test_sums_reach_that_half():
    """f(a, b) = g(a) + g(b): the paper's extreme case, in which more pairs never pay."""
    values, masses = np.array([0.1, 0.4, 0.2, 0.45]), np.array([0.1, 0.2, 0.3, 0.4])
    first, second = theory.zetas(values[:, None] + values[None, :], masses)
    assert second == pytest.approx(2 * first)
    for pairs in (1, 2, 5, 20):
        assert theory.pairs_variance(1000, pairs, first, second) == pytest.approx(4 * first / 1000)


# ---------------------------------------------------------------- the theorem


def pairings(people):
    """All ways to pair people up."""
    if not people:
        yield []
        return
    first, *rest = people
    for place, partner in enumerate(rest):
        for others in pairings([*rest[:place], *rest[place + 1 :]]):
            yield [(first, partner), *others]


@pytest.mark.parametrize("pairs", [1, 2, 3])
def test_blom_by_enumeration(pairs):
    """4 people on 3 cells, all ways to pair them in every round: the variance of the mean, exactly."""
    kernel, masses = a_kernel(3, 1)
    mean = masses @ kernel @ masses
    rounds = [
        list(itertools.chain(*choice)) for choice in itertools.product(pairings([0, 1, 2, 3]), repeat=pairs)
    ]
    second_moment = 0.0
    for cells in itertools.product(range(3), repeat=4):
        chance = math.prod(masses[cell] for cell in cells)
        for chosen in rounds:
            value = np.mean([kernel[cells[a], cells[b]] for a, b in chosen])
            second_moment += chance / len(rounds) * (value - mean) ** 2
    assert theory.pairs_variance(4, pairs, *theory.zetas(kernel, masses)) == pytest.approx(second_moment)


def test_all_pairs_are_the_limit():
    """A tournament's n - 1 rounds are all pairs: Hoeffding's variance, which no number of pairs undercuts."""
    first, second = 0.03, 0.2
    for n in (10, 100):
        best = theory.ustatistic_variance(n, first, second)
        excess = theory.pairs_excess(n, n - 1, first, second)
        assert theory.pairs_variance(n, n - 1, first, second) - excess == pytest.approx(best)
        for pairs in (1, 2, 50):
            assert theory.pairs_variance(n, pairs, first, second) > best


def test_noise_adds_its_mean():
    assert theory.pairs_mse(500, 3, 0.1, 0.3, 7.0) == pytest.approx(
        theory.pairs_variance(500, 3, 0.1, 0.3) + 7.0 / (3 * 500 / 2)
    )


@pytest.mark.parametrize(("pairs", "epsilon"), [(1, 0.5), (2, 1.0), (4, 3.0)])
def test_erratum_4_the_noise_term(pairs, epsilon):
    """P n / 2 pairs of Laplace noise of variance 2 (P / epsilon)^2 each: twice what is printed."""
    n = 1000
    noise = theory.pairs_laplace_noise(n, pairs, epsilon)
    each = 2 * (pairs / epsilon) ** 2
    assert noise == pytest.approx(each / (pairs * n / 2))
    assert noise == pytest.approx(theory.pairs_mse(n, pairs, 0.0, 0.0, each))
    assert noise == pytest.approx(2 * (2 * pairs / (n * epsilon**2)))
    rng = np.random.default_rng(pairs)
    means = rng.laplace(0, pairs / epsilon, (4000, pairs * n // 2)).mean(axis=1)
    # The mean of 4,000 squares has a relative deviation of sqrt(2 / 4,000) = 2.2%.
    reach = NormalDist().inv_cdf(1 - FAILURE / 2) * math.sqrt(2 / 4000)
    assert (means**2).mean() == pytest.approx(noise, rel=reach)
    assert (means**2).mean() != pytest.approx(noise / 2, rel=reach)


# ---------------------------------------------------------------- how many pairs


def laplace(share):
    return 2 / share**2


def cost(n, P, epsilon, first, second, noise):
    """The theorem's terms, written out."""
    pairs = 2 / (P * n) * (2 * (P - 1) * (n - 2) / (n - 1) * first + (n + P - 2) / (n - 1) * second)
    return pairs + noise(epsilon / P) / (P * n / 2)


@every("epsilon", [0.1, 1.0, 4.0, 10.0, 30.0])
@every(("first", "second"), [(0.0, 0.25), (0.02, 0.2), (0.1, 0.2), (0.08, 0.25)])
def test_best_pairs_by_brute_force(epsilon, first, second):
    for n, most in ((100, 64), (10_000, 64), (10_000, 3)):
        for noise in (laplace, lambda share: 1 / math.expm1(share), lambda share: 0.0):
            costs = [cost(n, P, epsilon, first, second, noise) for P in range(1, most + 1)]
            found = theory.best_pairs(n, epsilon, first, second, noise, most)
            assert costs[found - 1] == pytest.approx(min(costs), rel=1e-12)


def test_one_pair_is_best_for_sums_and_for_little_epsilon():
    assert theory.best_pairs(10_000, 100.0, 0.1, 0.2, laplace) == 1
    assert theory.best_pairs(10_000, 0.5, 0.05, 0.25, laplace) == 1


@pytest.mark.parametrize("kernel", ["tau", "gini"])
def test_more_pairs_pay_at_epsilon_10(kernel):
    """With the noise that a study would choose."""
    index = np.arange(6)
    if kernel == "tau":
        sign = np.sign(index[:5, None] - index[None, :5])
        matrix, masses, top, step = np.kron(sign, sign), np.full(25, 1 / 25), 2, 1.0
    else:
        matrix, masses, top, step = np.abs(index[:, None] - index) / 5, np.full(6, 1 / 6), 2**32 - 1, 2.0**-32
    first, second = theory.zetas(matrix, masses)

    def noise(share: float) -> float:
        made = best_noise(top, share)
        return step**2 * max(made.variance(level) for level in (0, top // 2, top))

    mse = {
        (epsilon, P): theory.pairs_mse(PEOPLE, P, first, second, noise(epsilon / P))
        for epsilon in (1.0, 10.0)
        for P in (1, 2, 3)
    }
    assert mse[10.0, 2] < mse[10.0, 1]
    assert mse[1.0, 1] < mse[1.0, 2] < mse[1.0, 3]
    assert theory.best_pairs(PEOPLE, 10.0, first, second, noise, 6) >= 2
    assert theory.best_pairs(PEOPLE, 1.0, first, second, noise, 3) == 1


@pytest.mark.parametrize("n", [4, 50, 3000])
def test_permutations_cost_a_little_more_than_disjoint_pairs(n):
    assert theory.pairs_excess(n, 1, 0.1, 0.3) == 0
    assert theory.pairs_excess(n, 3, 0.15, 0.3) == pytest.approx(0)
    for first, second in ((0.0, 0.3), (0.1, 0.3), (0.149, 0.3)):
        excess = theory.pairs_excess(n, 3, first, second)
        assert excess > 0
        # Pairs of a tournament share one person with 2 (P - 1) others each and never two.
        disjoint = 2 / (3 * n) * (second + 2 * 2 * first)
        assert theory.pairs_variance(n, 3, first, second) - disjoint == pytest.approx(excess)


def test_all_pairs_are_noisier_than_one_pair_each():
    """The paper's baseline: 1 / n^2 of the noise is no match for a share of 1 / sqrt(n) of epsilon."""
    for epsilon in (0.1, 0.5, 1.0, 2.0):
        assert theory.all_pairs_noise(PEOPLE, epsilon, 1e-8) > theory.pairs_laplace_noise(PEOPLE, 1, epsilon)
    share = advanced_share(1.0, 1e-8, PEOPLE - 1)
    each = 2 / share**2
    assert theory.all_pairs_noise(PEOPLE, 1.0, 1e-8) == pytest.approx(each / (PEOPLE * (PEOPLE - 1) / 2))
    # sqrt(2 k ln(1/delta)) shares: the ratio is about 2 ln(1/delta), whatever n.
    ratio = theory.all_pairs_noise(PEOPLE, 1.0, 1e-8) / theory.pairs_laplace_noise(PEOPLE, 1, 1.0)
    assert 30 < ratio < 60


REFUSED = {
    "one person": lambda: theory.pairs_variance(1, 1, 0.1, 0.3),
    "no pairs": lambda: theory.pairs_variance(100, 0, 0.1, 0.3),
    "no pairs with noise": lambda: theory.pairs_mse(100, 0, 0.1, 0.3, 1.0),
    "no epsilon": lambda: theory.pairs_laplace_noise(100, 1, 0.0),
    "nobody": lambda: theory.pairs_laplace_noise(0, 1, 1.0),
    "no pairs to choose from": lambda: theory.best_pairs(100, 1.0, 0.1, 0.3, laplace, 0),
    "excess of no pairs": lambda: theory.pairs_excess(100, 0, 0.1, 0.3),
    "all pairs of one": lambda: theory.all_pairs_noise(1, 1.0, 1e-8),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_arguments_are_refused(name):
    """As by the rest of the module."""
    with pytest.raises(InvalidInput):
        REFUSED[name]()
