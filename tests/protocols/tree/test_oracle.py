"""The frequency oracle: every outcome of tiny studies enumerated."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

from dpairs.mechanisms import KaryResponse
from dpairs.protocols import theory
from dpairs.protocols.tree.oracle import Oracle
from dpairs.randomness import WORDS

from .outcomes import EPSILON, GAIN, Estimator, by_oracle, counts_of, moments, outcomes

# ---------------------------------------------------------------- all outcomes


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
