"""Mechanisms, strongest test first: exact probabilities, then decoding, then seeded statistics."""

import math
import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpairs import BadFile, BadParameter, BadValue
from dpairs.mechanisms import (
    BitResponse,
    KaryResponse,
    ProjectiveResponse,
    count_variance,
    largest_ratio,
    mechanism,
    mechanism_from_json,
)
from dpairs.mechanisms.projective import LINE, geometric, is_prime
from dpairs.mechanisms.thresholds import exp_below, floor_and_boost, log_above
from dpairs.randomness import WORDS, SeededRandomness, TapeRandomness
from tests.mechanisms.exponential import exp_lower_bound

from ..every import every

EPSILONS = (0.01, 0.1, 1.0, 5.0, 20.0)
CELLS = (2, 3, 8, 36, 64)
NAMES = ("krr", "projective")
FAILURE = 1e-9
"""Probability that a correct mechanism fails one of the seeded tests below, for a fresh seed."""


@every("epsilon", EPSILONS)
@every("cells", CELLS)
@every("name", NAMES)
def test_exact_ratio_is_at_most_e_to_the_epsilon(name, cells, epsilon):
    made = mechanism(name, cells, epsilon)
    rows = [made.pmf(index) for index in range(cells)]
    assert all(sum(row) == 1 for row in rows)
    ratio = largest_ratio(rows)
    assert ratio <= exp_lower_bound(epsilon)
    assert 0.9999 * epsilon <= made.epsilon <= epsilon
    assert ratio <= exp_lower_bound(made.epsilon) * (1 + Fraction(1, 10**40))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_exact_ratio_of_the_bit_is_at_most_e_to_the_epsilon(epsilon):
    made = BitResponse.for_epsilon(epsilon)
    rows = [made.pmf(value) for value in (0.0, 1e-12, 0.25, 0.5, 0.7, 1.0)]
    assert all(sum(row) == 1 for row in rows)
    ratio = largest_ratio(rows)
    assert ratio <= exp_lower_bound(epsilon)
    assert 0.9999 * epsilon <= made.epsilon <= epsilon


@pytest.mark.parametrize("name", NAMES)
def test_one_step_less_privacy_is_noticed(name):
    """Negative control: a floor lower by one word in 2^64 breaks the exact inequality."""
    made: Any = mechanism(name, 8, 1.0)
    floor, favoured = made.floor - 1, getattr(made, "favoured", 1)
    boost = (WORDS - made.symbols * floor) // favoured
    assert Fraction(floor + boost, floor) > exp_lower_bound(1.0)


@every("epsilon", EPSILONS)
@every("cells", CELLS)
@every("name", NAMES)
def test_decoding_is_unbiased(name, cells, epsilon):
    made = mechanism(name, cells, epsilon)
    exact = np.array([[float(p) for p in made.pmf(index)] for index in range(cells)])
    np.testing.assert_allclose(made.channel, exact, rtol=1e-12)
    scale = np.abs(made.decoder).max()
    np.testing.assert_allclose(made.channel @ made.decoder, np.eye(cells), atol=1e-14 * scale * cells)
    np.testing.assert_allclose(made.decoder.sum(axis=1), 1, atol=1e-13 * scale * cells)


def test_erratum_1_the_printed_probabilities_do_not_sum_to_one():
    k, epsilon = 5, 1.0
    beta = k / (k + math.expm1(epsilon))
    assert (1 - beta) + (k - 1) * beta / k == pytest.approx(1 - beta / k)
    truth = float(KaryResponse.for_epsilon(k, epsilon).pmf(2)[2])
    assert truth == pytest.approx(1 - beta + beta / k) == pytest.approx(math.e / (k + math.e - 1))


def subset_selection_variance(cells: int, epsilon: float) -> float:
    """The best subset size's variance of a count per report, cells equally filled (Ye and Barg 2018)."""
    odds, best = math.exp(epsilon), math.inf
    for size in range(1, cells):
        truth = odds * size / (odds * size + cells - size)
        other = (truth * (size - 1) + (1 - truth) * size) / (cells - 1)
        noise = (1 - 1 / cells) * other * (1 - other) + truth * (1 - truth) / cells
        best = min(best, noise / (truth - other) ** 2)
    return best


SWEEP = (0.01, 0.1, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 8.0, 20.0)
"""Epsilons; of more than 64 cells, whose variance takes a second for all of these, every fourth."""


@every("cells", [*range(2, 41), 48, 49, 64, 100, 128, 200, 256])
def test_projective_variance_is_within_1_3_of_subset_selection(cells):
    for epsilon in SWEEP if cells <= 64 or os.environ.get("DPAIRS_VALIDATE") else SWEEP[::4]:
        made = ProjectiveResponse.for_epsilon(cells, epsilon)
        if made.symbols * cells > 2**22:
            continue
        ratio = count_variance(made) / subset_selection_variance(cells, epsilon)
        assert ratio <= 1.3, (cells, epsilon, made.order, made.dimension)


def test_plain_randomized_response_is_far_from_subset_selection():
    """Negative control of the test above: with 64 cells at epsilon 1 krr misses the factor by far."""
    assert count_variance(KaryResponse.for_epsilon(64, 1.0)) > 3 * subset_selection_variance(64, 1.0)


@pytest.mark.parametrize(("order", "dimension"), [(2, 3), (2, 5), (3, 3), (5, 3), (3, 4)])
def test_hyperplanes_form_a_design(order, dimension):
    points = geometric(order, dimension)
    floor, boost = floor_and_boost(1.0, points, geometric(order, dimension - 1))
    made = ProjectiveResponse(points, order, dimension, floor, boost)
    planes = [set(made.hyperplane(index).tolist()) for index in range(points)]
    assert {len(plane) for plane in planes} == {geometric(order, dimension - 1)}
    shared = {len(a & b) for place, a in enumerate(planes) for b in planes[:place]}
    assert shared == {geometric(order, dimension - 2)}


@pytest.mark.parametrize(
    ("name", "cells", "epsilon"), [("krr", 5, 1.0), ("projective", 9, 1.0), ("projective", 3, 2.0)]
)
def test_words_map_to_symbols_as_the_weights_say(name, cells, epsilon):
    """The words at both ends of every stretch give that stretch's symbol."""
    made: Any = mechanism(name, cells, epsilon)
    for index in range(cells):
        weights = [int(p * WORDS) for p in made.pmf(index)]
        favoured = np.flatnonzero(np.array(weights) > made.floor + 1).tolist()
        base = made.symbols * made.floor
        ends = [
            (symbol * made.floor, (symbol + 1) * made.floor - 1, symbol) for symbol in range(made.symbols)
        ]
        ends += [
            (base + place * made.boost, base + (place + 1) * made.boost - 1, symbol)
            for place, symbol in enumerate(favoured)
        ]
        ends += [
            (word, word, word - base - len(favoured) * made.boost)
            for word in range(base + len(favoured) * made.boost, WORDS)
        ]
        for first, last, symbol in ends:
            for word in (first, last):
                tape = TapeRandomness(word.to_bytes(8, "little"))
                assert made.randomize(np.array([index]), tape).tolist() == [symbol]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("wrong", [False, True])
def test_frequencies_match_the_exact_probabilities(name, wrong):
    """Chi-square at one named failure probability; the control draws at 30% more epsilon and must fail."""
    cells, people = 6, 400_000
    claimed = mechanism(name, cells, 1.0)
    used = mechanism(name, cells, 1.3) if wrong else claimed
    assert used.symbols == claimed.symbols
    symbols = used.randomize(np.full(people, 2), SeededRandomness(11))
    expected = people * np.array([float(p) for p in claimed.pmf(2)])
    p_value = stats.chisquare(np.bincount(symbols, minlength=claimed.symbols), expected).pvalue
    assert (p_value < FAILURE) == wrong


def test_many_and_one_at_a_time_agree():
    made = ProjectiveResponse.for_epsilon(20, 1.0)
    assert made.dimension > LINE
    bins = np.arange(20).repeat(30)
    together = made.randomize(bins, SeededRandomness(3))
    words = SeededRandomness(3).words(bins.size)
    alone = [
        made.randomize(bins[place : place + 1], TapeRandomness(int(word).to_bytes(8, "little")))[0]
        for place, word in enumerate(words)
    ]
    assert together.tolist() == alone


def test_bit_decodes_to_its_value_with_the_stated_variance():
    made = BitResponse.for_epsilon(1.5)
    scale = (math.exp(1.5) + 1) / (math.exp(1.5) - 1)
    zero, one = made.decode
    for value in (0.0, 0.1, 0.5, 0.9, 1.0):
        chance = [float(p) for p in made.pmf(value)]
        assert chance[0] * zero + chance[1] * one == pytest.approx(value, abs=1e-9)
        assert made.variance(value) == pytest.approx(scale**2 / 4 - (value - 0.5) ** 2, rel=1e-6)


@pytest.mark.parametrize("shift", [0.0, 0.01])
def test_bit_frequency(shift):
    """Exact binomial test; the control claims a value that is 0.01 off."""
    made, people = BitResponse.for_epsilon(1.0), 2_000_000
    ones = int(made.randomize(np.full(people, 0.3), SeededRandomness(5)).sum())
    chance = float(made.pmf(0.3 + shift)[1])
    assert (stats.binomtest(ones, people, chance).pvalue < FAILURE) == (shift > 0)


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf])
def test_bit_refuses_numbers_outside(value):
    with pytest.raises(BadValue, match=r"\[0, 1\]"):
        BitResponse.for_epsilon(1.0).randomize(np.array([value]), SeededRandomness(0))


@pytest.mark.parametrize("name", NAMES)
def test_json_round_trip(name):
    made = mechanism(name, 36, 0.5)
    assert mechanism_from_json(made.to_json()) == made


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"order": 4}, "prime"),
        ({"dimension": 2}, "order must be"),
        ({"floor": "0"}, "floor"),
        ({"floor": 12}, "floor"),
        ({"boost": "1"}, "fill"),
        ({"boost": "99999999999999999999999"}, "boost"),
        ({"inputs": 1}, "inputs"),
        ({"inputs": True}, "inputs"),
        ({"name": "laplace"}, "mechanism"),
        ({"more": 1}, "more"),
    ],
)
def test_damaged_json_is_refused(change, error):
    spec = {**ProjectiveResponse.for_epsilon(36, 0.5).to_json(), **change}
    with pytest.raises((BadFile, BadParameter), match=error):
        mechanism_from_json(spec)


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", True, None])
def test_epsilon_must_be_a_positive_number(epsilon):
    for name in NAMES:
        with pytest.raises(BadParameter, match="epsilon"):
            mechanism(name, 4, epsilon)


@pytest.mark.parametrize("cells", [0, 1, -3, 2.5, 5000])
def test_cells_must_be_a_sensible_number(cells):
    for name in NAMES:
        with pytest.raises(BadParameter, match="whole number from 2"):
            mechanism(name, cells, 1.0)


def test_tiny_and_huge_epsilon_stay_within_what_64_bits_can_say():
    assert 0 < mechanism("krr", 4, 1e-12).epsilon <= 1e-12
    huge = mechanism("krr", 4, 1e6)
    assert huge.epsilon < 45
    with pytest.raises(BadParameter, match="too small"):
        mechanism("krr", 4, 1e-25)


def test_logarithm_and_exponential_round_to_the_safe_side():
    for epsilon in (1e-6, 0.3, 1.0, 7.7, 40.0):
        below = exp_below(epsilon)
        assert below < exp_lower_bound(epsilon) or epsilon > 20
        assert log_above(below) <= epsilon
        assert Fraction(log_above(below)) >= Fraction(math.log(below)) - Fraction(1, 2**40)


def test_primes():
    assert [number for number in range(20) if is_prime(number)] == [2, 3, 5, 7, 11, 13, 17, 19]
