"""The frequency oracle: every outcome of tiny studies enumerated, then seeded runs at the errata's size."""

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpairs.mechanisms import KaryResponse
from dpairs.protocols import theory
from dpairs.protocols.tree.counts import DENSE_LEVELS, LevelCounts
from dpairs.protocols.tree.hadamard import parity
from dpairs.protocols.tree.oracle import FEW, Oracle
from dpairs.randomness import WORDS

FAILURE = 1e-9
"""Probability that a correct oracle fails one of the seeded tests below, for a fresh seed."""
EPSILON = 1.0
RESPONSE = KaryResponse.for_epsilon(2, EPSILON)
GAIN = WORDS / RESPONSE.boost
KEPT = (RESPONSE.floor + RESPONSE.boost) / WORDS


def counts_of(level: int, rows: Any, bits: Any) -> LevelCounts:
    counts = LevelCounts(level)
    counts.add(np.array(rows, dtype=np.uint64), np.array(bits, dtype=np.uint8))
    return counts


# ---------------------------------------------------------------- all outcomes


def outcomes(
    level: int, nodes: tuple[int, ...], rows: str
) -> Iterator[tuple[float, tuple[int, ...], list[int]]]:
    """(probability, rows, bits) of every outcome of people at these nodes."""
    choices = list(itertools.product(range(rows == "others", 2**level), (0, 1)))
    for outcome in itertools.product(choices, repeat=len(nodes)):
        flips = sum(flip for _, flip in outcome)
        weight = KEPT ** (len(nodes) - flips) * (1 - KEPT) ** flips
        weight /= (2**level - (rows == "others")) ** len(nodes)
        bits = [(j & q).bit_count() % 2 ^ flip for (j, flip), q in zip(outcome, nodes, strict=True)]
        yield weight, tuple(j for j, _ in outcome), bits


Estimator = Callable[[int, str, int, tuple[int, ...], list[int]], np.ndarray]
"""From the level, the kind of rows, the people of the stratum, rows and bits to estimates of all nodes."""


def by_oracle(level: int, rows: str, people: int, chosen: tuple[int, ...], bits: list[int]) -> np.ndarray:
    oracle = Oracle(counts_of(level, chosen, bits), GAIN, rows, people)
    return oracle(np.arange(2**level, dtype=np.uint64))


def as_printed(level: int, rows: str, people: int, chosen: tuple[int, ...], bits: list[int]) -> np.ndarray:
    """Erratum 2: Algorithms 2 and 3 to the letter, with 2^(-l/2) on both sides."""
    scale = 2 ** (-level / 2)
    found = [
        sum(
            scale * (-1) ** (j & q).bit_count() * scale * (-1) ** bit
            for j, bit in zip(chosen, bits, strict=True)
        )
        for q in range(2**level)
    ]
    return GAIN * np.array(found)


def moments(
    level: int, nodes: tuple[int, ...], rows: str, estimator: Estimator
) -> tuple[np.ndarray, np.ndarray]:
    """The exact mean and covariance of the estimates of all nodes."""
    first, second, total = np.zeros(2**level), np.zeros((2**level, 2**level)), 0.0
    for weight, chosen, bits in outcomes(level, nodes, rows):
        found = estimator(level, rows, len(nodes), chosen, bits)
        first += weight * found
        second += weight * np.outer(found, found)
        total += weight
    assert total == pytest.approx(1, abs=1e-12)
    return first, second - np.outer(first, first)


CASES = [(1, (0,)), (1, (0, 1, 1)), (2, (3,)), (2, (0, 0)), (2, (1, 3)), (2, (0, 1, 3)), (3, (2, 5))]


def unbiased(level: int, nodes: tuple[int, ...], rows: str, estimator: Estimator) -> bool:
    truth = np.bincount(nodes, minlength=2**level)
    return bool(np.allclose(moments(level, nodes, rows, estimator)[0], truth, atol=1e-9))


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize(("level", "nodes"), CASES)
def test_counts_are_unbiased_exactly(level, nodes, rows):
    assert unbiased(level, nodes, rows, by_oracle)


@pytest.mark.parametrize(("level", "nodes"), CASES)
def test_erratum_2_the_printed_scaling_is_too_small_by_the_size(level, nodes):
    """Negative control: the same test rejects the printed algorithm, whose mean is 2^-l of the count."""
    assert not unbiased(level, nodes, "all", as_printed)
    truth = np.bincount(nodes, minlength=2**level)
    np.testing.assert_allclose(moments(level, nodes, "all", as_printed)[0], truth / 2**level, atol=1e-9)


def claimed_covariance(level: int, nodes: tuple[int, ...], rows: str) -> np.ndarray:
    n, counts = len(nodes), np.bincount(nodes, minlength=2**level)
    if rows == "all":
        return np.diag([theory.oracle_variance(n, count, EPSILON) for count in counts])
    table = np.empty((2**level, 2**level))
    for p, q in itertools.product(range(2**level), repeat=2):
        pair = float(counts[p]), float(counts[q])
        table[p, q] = (
            theory.oracle_variance_others(n, pair[0], EPSILON, level)
            if p == q
            else theory.oracle_covariance_others(n, pair, EPSILON, level)
        )
    return table


def as_in_the_lemma(level: int, nodes: tuple[int, ...], rows: str) -> np.ndarray:
    """Erratum 3: the printed 4 n e^eps / (e^eps - 1)^2."""
    each = 4 * len(nodes) * math.exp(EPSILON) / math.expm1(EPSILON) ** 2
    return np.diag([each] * 2**level)


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize(("level", "nodes"), CASES)
def test_variances_and_covariances_are_the_stated_ones_exactly(level, nodes, rows):
    found = moments(level, nodes, rows, by_oracle)[1]
    np.testing.assert_allclose(found, claimed_covariance(level, nodes, rows), atol=1e-8)


def dependence(level: int, nodes: tuple[int, ...], rows: str) -> float:
    """The largest |P(both) - P(one) P(other)| over two nodes of a level and all values of their counts."""
    seen: list[tuple[float, tuple[float, ...]]] = []
    for weight, chosen, bits in outcomes(level, nodes, rows):
        found = by_oracle(level, rows, len(nodes), chosen, bits)
        seen.append((weight, tuple(round(float(count), 6) for count in found)))
    largest = 0.0
    for p, q in itertools.combinations(range(2**level), 2):
        both: Counter[tuple[float, float]] = Counter()
        one: Counter[float] = Counter()
        other: Counter[float] = Counter()
        for weight, counts in seen:
            both[counts[p], counts[q]] += weight  # type: ignore[assignment]
            one[counts[p]] += weight  # type: ignore[assignment]
            other[counts[q]] += weight  # type: ignore[assignment]
        largest = max(largest, *(abs(both[a, b] - one[a] * other[b]) for a in one for b in other))
    return largest


@pytest.mark.parametrize(("level", "nodes"), CASES)
def test_two_counts_of_a_level_are_independent_exactly(level, nodes):
    """Lemma "pairwiseindep", for all rows; without row 0 it does not hold, which is the control."""
    assert dependence(level, nodes, "all") < 1e-12
    assert dependence(level, nodes, "others") > 1e-3


@pytest.mark.parametrize(("level", "nodes"), CASES)
def test_erratum_3_the_printed_variance_is_too_small(level, nodes):
    """Negative control: the same comparison rejects the lemma, except where a node holds everybody."""
    found, printed = moments(level, nodes, "all", by_oracle)[1], as_in_the_lemma(level, nodes, "all")
    counts = np.bincount(nodes, minlength=2**level)
    assert not np.allclose(found, printed, atol=1e-8)
    for variance, bound, count in zip(np.diag(found), np.diag(printed), counts, strict=True):
        assert (variance > bound + 1e-9) == (count < len(nodes))


def test_the_other_kind_of_rows_has_another_covariance():
    """Negative control: "others" does not fit the formulas of "all", nor the other way round."""
    level, nodes = 2, (0, 1, 3)
    for rows, wrong in (("all", "others"), ("others", "all")):
        found = moments(level, nodes, rows, by_oracle)[1]
        assert not np.allclose(found, claimed_covariance(level, nodes, wrong), atol=1e-3)


@pytest.mark.parametrize("level", [1, 2, 3])
def test_without_row_0_counts_sum_to_the_people_and_vary_less(level):
    nodes = (0, 2**level - 1)
    ones = np.ones(2**level)
    others, everything = (moments(level, nodes, rows, by_oracle)[1] for rows in ("others", "all"))
    assert ones @ others @ ones == pytest.approx(0, abs=1e-9)
    assert ones @ everything @ ones > 1
    for _, chosen, bits in outcomes(level, nodes, "others"):
        assert by_oracle(level, "others", 2, chosen, bits).sum() == pytest.approx(2, abs=1e-9)
    assert (np.diag(others) < np.diag(everything)).all()


# ---------------------------------------------------------------- linear functions


LINEAR = [(1, (0, 1)), (2, (0, 1)), (2, (2, 2)), (2, (0, 1, 3)), (3, (2, 5))]


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize(("level", "nodes"), LINEAR)
def test_variance_of_a_linear_function_for_given_people(level, nodes, rows):
    """Everybody answers: only rows and flips are chance. Estimates are scaled to 7 people in all."""
    rng = np.random.default_rng(level)
    shares = np.bincount(nodes, minlength=2**level) / len(nodes)
    covariance = moments(level, nodes, rows, by_oracle)[1] * (7 / len(nodes)) ** 2
    oracle = Oracle(counts_of(level, [1] * len(nodes), [0] * len(nodes)), GAIN, rows, 7)
    for weights in (rng.normal(size=2**level), np.ones(2**level), np.eye(2**level)[1]):
        exact = weights @ covariance @ weights
        assert oracle.variance(weights, shares, resampled=False) == pytest.approx(exact, abs=1e-8)


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("level", [1, 2])
def test_variance_of_a_linear_function_for_people_who_are_a_sample(level, rows):
    """Two people whose nodes are drawn as well: every pair of nodes, rows and flips."""
    shares = np.array([0.1, 0.6, 0.0, 0.3] if level == 2 else [0.25, 0.75])
    rng = np.random.default_rng(level)
    for weights in (rng.normal(size=2**level), np.ones(2**level), np.eye(2**level)[1]):
        mean = square = 0.0
        for nodes in itertools.product(range(2**level), repeat=2):
            chance = shares[nodes[0]] * shares[nodes[1]]
            for weight, chosen, bits in outcomes(level, nodes, rows) if chance else ():
                value = weights @ by_oracle(level, rows, 7, chosen, bits)
                mean += chance * weight * value
                square += chance * weight * value**2
        assert mean == pytest.approx(7 * weights @ shares, abs=1e-9)
        oracle = Oracle(counts_of(level, [1, 1], [0, 0]), GAIN, rows, 7)
        exact = square - mean**2
        found = oracle.variance(weights, shares, resampled=True)
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-8)
        if weights[0] != weights[1]:
            # Negative control: the sampling of people is part of it.
            assert oracle.variance(weights, shares, resampled=False) < exact - 1e-3


@pytest.mark.parametrize("resampled", [True, False])
@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("wrong", [False, True])
def test_variance_of_a_linear_function_by_many_runs(rows, resampled, wrong):
    """A level of 64 nodes and 300 people; the control's people draw at 30% more epsilon than claimed."""
    level, people, runs = 6, 300, 3000
    rng = np.random.default_rng(17)
    shares = rng.dirichlet(np.ones(2**level) / 4)
    nodes = rng.choice(2**level, people, p=shares)
    if not resampled:
        shares = np.bincount(nodes, minlength=2**level) / people
    weights = rng.normal(size=2**level)
    used = KaryResponse.for_epsilon(2, 1.3 * EPSILON) if wrong else RESPONSE
    places = np.arange(2**level, dtype=np.uint64)
    values = []
    for _ in range(runs):
        who = rng.choice(2**level, people, p=shares) if resampled else nodes
        chosen = rng.integers(rows == "others", 2**level, people).astype(np.uint64)
        flips = rng.random(people) < used.floor / WORDS
        bits = parity(chosen & who.astype(np.uint64)) ^ flips
        values.append(weights @ Oracle(counts_of(level, chosen, bits), WORDS / used.boost, rows, 900)(places))
    claimed = Oracle(counts_of(level, np.ones(people), np.zeros(people)), GAIN, rows, 900).variance(
        weights, shares, resampled
    )
    assert (spread_p_value(np.array(values), claimed) < FAILURE) == wrong


def spread_p_value(values: np.ndarray, variance: float) -> float:
    """Two-sided, for values that are close to normal."""
    total = ((values - values.mean()) ** 2).sum() / variance
    return float(2 * min(stats.chi2.cdf(total, values.size - 1), stats.chi2.sf(total, values.size - 1)))


def test_nobody_answered():
    oracle = Oracle(LevelCounts(3), GAIN, "others", 100)
    assert oracle.noise == np.inf
    assert oracle.scale == 0
    assert oracle.variance(np.ones(8), np.full(8, 1 / 8), resampled=True) == 0
    assert oracle(np.arange(8, dtype=np.uint64)).tolist() == [0.0] * 8


@pytest.mark.parametrize("rows", ["all", "others"])
def test_noise_is_an_empty_nodes_variance_but_for_the_people_elsewhere(rows):
    """Never below the exact variance of any node, and within 1 / (N - 1)^2 of it at an empty one."""
    n = 500
    for level in (1, 2, 5, 14):
        oracle = Oracle(counts_of(level, [1] * n, [0] * n), GAIN, rows, n)
        for count in (0, 100, n):
            exact = (
                theory.oracle_variance(n, count, EPSILON)
                if rows == "all"
                else theory.oracle_variance_others(n, count, EPSILON, level)
            )
            assert oracle.noise >= exact - 1e-6
            if count == 0:
                assert oracle.noise - exact <= n / 4 ** (level - 1) + 1e-6
        assert Oracle(oracle.counts, GAIN, rows, 3 * n).noise == pytest.approx(9 * oracle.noise)


# ---------------------------------------------------------------- the errata's example, by many runs


def runs(rows: str, count: int, seed: int) -> tuple[np.ndarray, int, int]:
    """Estimates of a node with about n/64 of 20,000 people, and another, empty, in ``count`` runs."""
    level, n, here = 6, 20_000, 329
    rng = np.random.default_rng(seed)
    who = np.concatenate([np.full(here, 9), rng.choice([q for q in range(64) if q not in (9, 20)], n - here)])
    nodes = who.astype(np.uint64)
    found = []
    for _ in range(count):
        chosen = rng.integers(rows == "others", 64, n, dtype=np.uint8)
        bits = parity(chosen.astype(np.uint64) & nodes) ^ (rng.random(n, dtype=np.float32) < 1 - KEPT)
        oracle = Oracle(counts_of(level, chosen, bits), GAIN, rows, n)
        found.append(oracle(np.array([9, 20], dtype=np.uint64)))
    return np.array(found), n, here


RUNS = 5000


@pytest.fixture(scope="module", params=["all", "others"])
def many(request: pytest.FixtureRequest) -> tuple[str, np.ndarray, int, int]:
    return (request.param, *runs(request.param, RUNS, 5))


def test_many_runs_have_the_stated_mean_and_variance(many):
    rows, found, n, here = many
    for place, count in enumerate((here, 0)):
        stated = (
            theory.oracle_variance(n, count, EPSILON)
            if rows == "all"
            else theory.oracle_variance_others(n, count, EPSILON, 6)
        )
        values = found[:, place]
        assert spread_p_value(values, stated) > FAILURE
        assert abs(values.mean() - count) < stats.norm.isf(FAILURE / 2) * math.sqrt(stated / RUNS)
    pair = (float(here), 0.0)
    stated = 0.0 if rows == "all" else theory.oracle_covariance_others(n, pair, EPSILON, 6)
    spread = math.sqrt(np.var(found[:, 0]) * np.var(found[:, 1]))
    covariance = np.cov(found.T)[0, 1]
    assert abs(covariance - stated) < stats.norm.isf(FAILURE / 2) * 1.1 * spread / math.sqrt(RUNS)


def test_erratum_3_at_the_size_of_its_example(many):
    """The paper's 73,654 and the true 93,325: the same test accepts one and rejects the other."""
    rows, found, n, here = many
    printed = 4 * n * math.exp(EPSILON) / math.expm1(EPSILON) ** 2
    true = theory.oracle_variance(n, here, EPSILON)
    assert (round(printed), round(true)) == (73_654, 93_325)
    assert spread_p_value(found[:, 0], printed) < FAILURE
    assert rows == "others" or spread_p_value(found[:, 0], true) > FAILURE


def test_erratum_2_at_the_size_of_the_example(many):
    """The printed scaling makes the estimate 64 times too small: the mean is far off."""
    _, found, n, here = many
    shrunk = found[:, 0] / 64
    reach = stats.norm.isf(FAILURE / 2) * math.sqrt(theory.oracle_variance(n, here, EPSILON) / RUNS)
    assert abs(shrunk.mean() - here) > reach


# ---------------------------------------------------------------- two ways to the same numbers


def deep_counts(level: int, people: int, seed: int) -> LevelCounts:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2**64, people, dtype=np.uint64) >> np.uint64(64 - level)
    return counts_of(level, rows, rng.integers(0, 2, people))


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("level", [9, 12, DENSE_LEVELS])
def test_few_nodes_and_all_nodes_agree(level, rows):
    """Up to FEW nodes are asked one by one, more by the transform."""
    counts = deep_counts(level, 3000, level)
    oracle = Oracle(counts, GAIN, rows, 10_000)
    everything = oracle(np.arange(2**level, dtype=np.uint64))
    rng = np.random.default_rng(1)
    for size in (1, FEW, FEW + 1):
        nodes = np.sort(rng.choice(2**level, size, replace=False)).astype(np.uint64)
        np.testing.assert_allclose(oracle(nodes), everything[nodes.astype(np.int64)], rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("level", [DENSE_LEVELS + 1, 40, 64])
def test_sparse_levels_are_what_their_definition_says(level, rows):
    counts = deep_counts(level, 400, level)
    counts.settle()
    oracle = Oracle(counts, GAIN, rows, 1000)
    nodes = [0, 1, 2**level // 3, 2**level - 1]
    found = oracle(np.array(nodes, dtype=np.uint64))
    for node, estimate in zip(nodes, found, strict=True):
        signs = [
            (-1) ** (int(row) & node).bit_count() * int(sign)
            for row, sign in zip(counts.rows, counts.signs, strict=True)
        ]
        raw = GAIN * sum(signs)
        if rows == "others":
            raw = raw * (1 - 2.0**-level) + 400 / 2.0**level
        assert estimate == pytest.approx(raw * 2.5, rel=1e-9, abs=1e-6)


def test_sparse_nodes_in_parts_are_the_same(monkeypatch):
    """Many nodes are asked in parts, so that memory is bounded."""
    counts = deep_counts(30, 500, 3)
    nodes = np.arange(1000, dtype=np.uint64)
    whole = Oracle(counts, GAIN, "others", 500)(nodes)
    monkeypatch.setattr("dpairs.protocols.tree.oracle.PRODUCTS", 1700)
    np.testing.assert_array_equal(Oracle(counts, GAIN, "others", 500)(nodes), whole)


def test_a_sparse_and_a_dense_level_with_the_same_rows_agree():
    """Level 21 with rows below 2^20 asks the same of a node's low bits as level 20 does."""
    rng = np.random.default_rng(4)
    rows, bits = rng.integers(0, 2**20, 2000), rng.integers(0, 2, 2000)
    dense, sparse = (
        Oracle(counts_of(level, rows, bits), GAIN, "all", 2000) for level in (DENSE_LEVELS, DENSE_LEVELS + 1)
    )
    nodes = np.sort(rng.choice(2**20, 300, replace=False)).astype(np.uint64)
    np.testing.assert_allclose(sparse(nodes), dense(nodes), rtol=1e-9, atol=1e-6)
    np.testing.assert_allclose(sparse(nodes + np.uint64(2**20)), dense(nodes), rtol=1e-9, atol=1e-6)


# ---------------------------------------------------------------- several bits of one level


def spaces(level: int, parities: int) -> list[tuple[int, ...]]:
    """A basis of every space of rows, each space once."""
    found: dict[frozenset[int], tuple[int, ...]] = {}
    for basis in itertools.combinations(range(1, 2**level), parities):
        span = {0}
        for each in basis:
            span |= {each ^ other for other in span}
        if len(span) == 2**parities:
            found.setdefault(frozenset(span), basis)
    return list(found.values())


def several(level: int, parities: int, node: int) -> Iterator[tuple[float, list[int], list[int]]]:
    """(probability, rows, bits) of every report of one person: all rows that the chosen ones span."""
    symbols, response = 2**parities, KaryResponse.for_epsilon(2**parities, EPSILON)
    every = spaces(level, parities)
    for basis in every:
        truth = sum((row & node).bit_count() % 2 << place for place, row in enumerate(basis))
        for symbol, chance in enumerate(response.pmf(truth)):
            rows, bits = [], []
            for chosen in range(1, symbols):
                picked = [row for place, row in enumerate(basis) if chosen >> place & 1]
                rows.append(int(np.bitwise_xor.reduce(picked)))
                bits.append((symbol & chosen).bit_count() % 2)
            yield float(chance) / len(every), rows, bits


def several_oracle(level: int, parities: int, rows: list[int], bits: list[int], people: int) -> Oracle:
    response = KaryResponse.for_epsilon(2**parities, EPSILON)
    gain = WORDS / (response.boost * (2**parities - 1))
    return Oracle(counts_of(level, rows, bits), gain, "others", people, parities)


def several_moments(level: int, parities: int, node: int) -> tuple[np.ndarray, np.ndarray]:
    """The exact mean and second moments of one person's estimates of all nodes."""
    places = np.arange(2**level, dtype=np.uint64)
    first, second = np.zeros(2**level), np.zeros((2**level, 2**level))
    for weight, rows, bits in several(level, parities, node):
        oracle = several_oracle(level, parities, rows, bits, 1)
        assert oracle.answered == 1
        found = oracle(places)
        assert found.sum() == pytest.approx(1, abs=1e-9)
        first += weight * found
        second += weight * np.outer(found, found)
    return first, second


SEVERAL = [(2, 2), (3, 2), (3, 3), (4, 2), (4, 3), (4, 4)]


@pytest.mark.parametrize(("level", "parities"), SEVERAL)
def test_several_bits_are_unbiased_exactly(level, parities):
    for node in range(0, 2**level, 3):
        mean = several_moments(level, parities, node)[0]
        np.testing.assert_allclose(mean, np.eye(2**level)[node], atol=1e-9)


@pytest.mark.parametrize(("level", "parities"), SEVERAL)
def test_several_bits_have_the_stated_variance_exactly(level, parities):
    """One person drawn from the shares, scaled to five: the exact variance of linear functions."""
    rng = np.random.default_rng(level)
    shares = rng.dirichlet(np.ones(2**level))
    both = [several_moments(level, parities, node) for node in range(2**level)]
    mean = sum(share * first for share, (first, _) in zip(shares, both, strict=True))
    second = sum(share * square for share, (_, square) in zip(shares, both, strict=True))
    covariance = second - np.outer(mean, mean)
    _, rows, bits = next(several(level, parities, 0))
    oracle = several_oracle(level, parities, rows, bits, 5)
    for weights in (rng.normal(size=2**level), np.ones(2**level), np.eye(2**level)[1]):
        exact = 25 * weights @ covariance @ weights
        found = oracle.variance(weights, shares, resampled=True)
        assert found == pytest.approx(exact, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize(("level", "parities"), SEVERAL)
def test_several_bits_have_about_the_stated_noise(level, parities):
    """The mean of the nodes' variances when people are spread evenly."""
    shares = np.full(2**level, 2.0**-level)
    _, rows, bits = next(several(level, parities, 0))
    oracle = several_oracle(level, parities, rows, bits, 1)
    exact = np.mean([oracle.variance(unit, shares, resampled=True) for unit in np.eye(2**level)])
    assert oracle.noise == pytest.approx(exact, rel=0.15)
