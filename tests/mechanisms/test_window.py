"""The window mechanism and the choice of a mechanism for numbers: exact probabilities first."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpairs import BadFile, BadParameter, BadValue
from dpairs.mechanisms import BitResponse, WindowResponse, largest_ratio, scalar_from_json, scalar_response
from dpairs.mechanisms.scalar import CANDIDATES, WORTH
from dpairs.mechanisms.window import STEPS
from dpairs.randomness import WORDS, SeededRandomness, TapeRandomness
from tests.mechanisms.exponential import exp_lower_bound

from ..every import every
from ..strategies import QUICK

EPSILONS = (0.01, 1.0, 4.0, 20.0)
SHAPES = ((2, 1), (3, 1), (3, 2), (5, 2), (8, 7), (16, 3), (32, 3), (64, 30))
FAILURE = 1e-9
"""Probability that a correct mechanism fails one of the seeded tests below, for a fresh seed."""


def each_value(made: WindowResponse) -> list[float]:
    """Every window's own number, and numbers between windows: the smallest step, the middle, anywhere."""
    own = [start / made.last for start in range(made.last + 1)]
    return [*own, 1 / STEPS, 1 - 1 / STEPS, 0.5 / made.last, 1 - 0.5 / made.last, 0.123456789, 1 / math.pi]


def rounded(value: float) -> Fraction:
    """The number that is sent: whole steps."""
    return Fraction(round(value * STEPS), STEPS)


def mean(pmf: list[Fraction]) -> Fraction:
    return sum((symbol * chance for symbol, chance in enumerate(pmf)), Fraction(0))


def tape(*words: int) -> TapeRandomness:
    return TapeRandomness(b"".join(word.to_bytes(8, "little") for word in words))


# ---------------------------------------------------------------- exact


@every("epsilon", EPSILONS)
@every(("symbols", "width"), SHAPES)
def test_exact_ratio_is_at_most_e_to_the_epsilon(symbols, width, epsilon):
    made = WindowResponse.for_epsilon(symbols, width, epsilon)
    rows = [made.pmf(value) for value in each_value(made)]
    assert all(sum(row) == 1 and len(row) == symbols for row in rows)
    ratio = largest_ratio(rows)
    assert ratio <= exp_lower_bound(epsilon)
    assert ratio <= exp_lower_bound(made.epsilon) * (1 + Fraction(1, 10**40))
    # The promise is used up by two windows that do not overlap, which exist when a window is not too wide.
    if symbols >= 2 * width:
        assert ratio >= exp_lower_bound(0.9999 * epsilon)
    assert 0.9999 * epsilon <= made.epsilon <= epsilon


@given(st.integers(2, 40), st.data(), st.floats(0.001, 30), st.lists(st.floats(0, 1), max_size=5))
@QUICK
def test_any_window_keeps_its_epsilon(symbols, data, epsilon, values):
    made = WindowResponse.for_epsilon(symbols, data.draw(st.integers(1, symbols - 1)), epsilon)
    rows = [made.pmf(value) for value in [0.0, 1.0, *values]]
    assert all(sum(row) == 1 for row in rows)
    assert largest_ratio(rows) <= exp_lower_bound(epsilon)


@pytest.mark.parametrize(("symbols", "width"), SHAPES)
def test_one_word_less_privacy_is_noticed(symbols, width):
    """Negative control: a floor lower by one word in 2^64 breaks the exact inequality."""
    good = WindowResponse.for_epsilon(symbols, width, 1.0)
    floor = good.floor - 1
    bad = WindowResponse(symbols, width, floor, (WORDS - symbols * floor) // width)
    assert Fraction(bad.floor + bad.boost, bad.floor) > exp_lower_bound(1.0)
    if symbols >= 2 * width and bad.leftover == 0:
        assert largest_ratio([bad.pmf(0.0), bad.pmf(1.0)]) > exp_lower_bound(1.0)
    assert bad.epsilon > 1.0


@every("epsilon", EPSILONS)
@every(("symbols", "width"), SHAPES)
def test_the_mean_symbol_is_linear_in_the_value_exactly(symbols, width, epsilon):
    made = WindowResponse.for_epsilon(symbols, width, epsilon)
    first, last = mean(made.pmf(0.0)), mean(made.pmf(1.0))
    for value in each_value(made):
        assert mean(made.pmf(value)) == first + (last - first) * rounded(value)


@every("epsilon", EPSILONS)
@every(("symbols", "width"), SHAPES)
def test_decoding_is_unbiased_up_to_the_last_digit(symbols, width, epsilon):
    """Each decoded number is the double nearest to the exact one, whose mean is the value."""
    made = WindowResponse.for_epsilon(symbols, width, epsilon)
    first, last = mean(made.pmf(0.0)), mean(made.pmf(1.0))
    exact = [(symbol - first) / (last - first) for symbol in range(symbols)]
    assert made.decode.tolist() == [float(each) for each in exact]
    for value in each_value(made):
        decoded = sum((e * p for e, p in zip(exact, made.pmf(value), strict=True)), Fraction(0))
        assert decoded == rounded(value)


@every("epsilon", EPSILONS)
@every(("symbols", "width"), SHAPES)
def test_variances_are_those_of_the_exact_probabilities(symbols, width, epsilon):
    made = WindowResponse.for_epsilon(symbols, width, epsilon)
    values = [float(rounded(value)) for value in each_value(made)]
    decode = [Fraction(each) for each in made.decode.tolist()]
    for value, variance in zip(values, made.variances(np.array(values)).tolist(), strict=True):
        pmf = made.pmf(value)
        square = sum((d * d * p for d, p in zip(decode, pmf, strict=True)), Fraction(0))
        scale = float(max(d * d for d in decode))
        assert variance == pytest.approx(float(square - Fraction(value) ** 2), rel=1e-9, abs=1e-13 * scale)


def test_the_largest_number_of_symbols():
    made = WindowResponse.for_epsilon(256, 100, 1.0)
    rows = [made.pmf(value) for value in (0.0, 0.25, 0.4999, 1.0)]
    assert all(sum(row) == 1 for row in rows)
    assert exp_lower_bound(0.9999) <= largest_ratio(rows) <= exp_lower_bound(1.0)


def test_two_symbols_are_one_bit():
    window, bit = WindowResponse.for_epsilon(2, 1, 1.3), BitResponse.for_epsilon(1.3)
    assert (window.floor, window.boost) == (bit.floor, bit.boost)
    values = np.linspace(0, 1, 11)
    np.testing.assert_allclose(window.decode, bit.decode, rtol=1e-15)
    np.testing.assert_allclose(window.variances(values), bit.variances(values), rtol=1e-12)
    for value in values.tolist():
        assert window.pmf(value)[1] == pytest.approx(float(bit.pmf(value)[1]), abs=1e-15)


@pytest.mark.parametrize("value", [0.0, 1.0, 0.5, 1 / STEPS, 0.3])
def test_variance_formula_of_the_bit_is_that_of_its_probabilities(value):
    made = BitResponse.for_epsilon(0.7)
    zero, one = made.decode.tolist()
    (chance,) = [float(made.pmf(value)[1])]
    exact = chance * (1 - chance) * (one - zero) ** 2
    assert made.variances(np.array([value]))[0] == pytest.approx(exact, rel=1e-8)
    assert made.variance(value) == pytest.approx(exact, rel=1e-12)


# ---------------------------------------------------------------- words


@pytest.mark.parametrize(
    ("symbols", "width", "epsilon"), [(6, 2, 1.0), (7, 3, 0.5), (6, 5, 4.0), (3, 1, 9.0)]
)
def test_words_map_to_windows_and_symbols_as_the_weights_say(symbols, width, epsilon):
    """The words at both ends of every stretch give that stretch's window and symbol."""
    made = WindowResponse.for_epsilon(symbols, width, epsilon)
    base, end = symbols * made.floor, symbols * made.floor + width * made.boost
    for start in range(made.last + 1):
        value = np.array([start / made.last])
        assert (value * STEPS).tolist() == [start * STEPS // made.last], "the first word must not decide"
        ends = [(symbol * made.floor, (symbol + 1) * made.floor - 1, symbol) for symbol in range(symbols)]
        ends += [
            (base + place * made.boost, base + (place + 1) * made.boost - 1, start + place)
            for place in range(width)
        ]
        ends += [(word, word, word - end) for word in range(end, WORDS)]
        weights = [0] * symbols
        for first, last, symbol in ends:
            weights[symbol] += last - first + 1
            for word in (first, last):
                for any_window in (0, WORDS - 1):
                    assert made.randomize(value, tape(any_window, word)).tolist() == [symbol]
        assert [Fraction(weight, WORDS) for weight in weights] == made.pmf(start / made.last)


def test_the_first_word_rounds_between_two_windows():
    made = WindowResponse.for_epsilon(6, 2, 2.0)
    value = 0.3
    start, rest = divmod(round(value * STEPS) * made.last, STEPS)
    member = made.symbols * made.floor
    # The upper window is taken from the word on at which the rest is carried over.
    change = (STEPS - rest) << 32
    for word, window in ((0, start), (change - 1, start), (change, start + 1), (WORDS - 1, start + 1)):
        assert made.randomize(np.array([value]), tape(word, member)).tolist() == [window]


def test_every_symbol_of_a_large_epsilon_is_a_symbol():
    """From epsilon 44 on the floor is a single word, and a word divided by it has all of 64 bits."""
    made = WindowResponse.for_epsilon(4, 1, 50.0)
    assert made.floor == 1
    symbols = made.randomize(np.full(1000, 1.0), SeededRandomness(1))
    assert symbols.tolist() == [3] * 1000


# ---------------------------------------------------------------- seeded


@pytest.mark.parametrize("value", [0.0, 0.37, 1.0])
@pytest.mark.parametrize("wrong", ["nothing", "epsilon", "value"])
def test_frequencies_match_the_exact_probabilities(value, wrong):
    """Chi-square at one named failure probability; controls draw at 30% more epsilon, or 0.05 off."""
    people, claimed = 400_000, WindowResponse.for_epsilon(12, 3, 1.0)
    used = WindowResponse.for_epsilon(12, 3, 1.3) if wrong == "epsilon" else claimed
    sent = abs(value - 0.05) if wrong == "value" else value
    symbols = used.randomize(np.full(people, sent), SeededRandomness(11))
    expected = people * np.array([float(p) for p in claimed.pmf(value)])
    p_value = stats.chisquare(np.bincount(symbols, minlength=claimed.symbols), expected).pvalue
    assert (p_value < FAILURE) == (wrong != "nothing")


@pytest.mark.parametrize("shift", [0.0, 0.02])
def test_the_mean_of_decoded_symbols_is_the_value(shift):
    """Normal test of the mean with the stated variance; the control claims a value that is 0.02 off."""
    made, people = WindowResponse.for_epsilon(32, 3, 4.0), 500_000
    values = np.random.default_rng(4).beta(2, 3, people)
    decoded = made.decode[made.randomize(values, SeededRandomness(5))]
    error = np.sqrt(made.variances(values).sum()) / people
    far = abs(decoded.mean() - values.mean() - shift) / error
    assert (2 * stats.norm.sf(far) < FAILURE) == (shift > 0)


# ---------------------------------------------------------------- which mechanism


EVEN = np.linspace(0, 1, 65), np.full(65, 1 / 65)
ENDS = np.array([0.0, 1.0]), np.array([0.5, 0.5])


@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 1.0, 2.0, 3.0, 5.0, 8.0, 20.0])
@pytest.mark.parametrize("spread", [EVEN, ENDS], ids=["even", "ends"])
def test_the_choice_is_never_worse_than_the_bit_and_keeps_epsilon(spread, epsilon):
    values, weights = spread
    made, bit = scalar_response(epsilon, values, weights), BitResponse.for_epsilon(epsilon)
    chosen, plain = (float(weights @ each.variances(values)) for each in (made, bit))
    assert made == bit or chosen < WORTH * plain
    rows = [made.pmf(value) for value in (0.0, 0.2, 0.5, 1.0)]
    assert largest_ratio(rows) <= exp_lower_bound(epsilon)
    assert made.epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [0.5, 1.5, 2.5, 4.0])
def test_the_choice_is_within_half_a_percent_of_the_best_of_all_windows(epsilon):
    """It does not look at widths that are far from the best share, which costs next to nothing."""
    values, weights = EVEN
    made = scalar_response(epsilon, values, weights)
    every: list[Any] = [
        WindowResponse.for_epsilon(symbols, width, epsilon)
        for symbols in CANDIDATES
        for width in range(1, symbols)
    ]
    best = min(float(weights @ each.variances(values)) for each in every)
    plain = float(weights @ BitResponse.for_epsilon(epsilon).variances(values))
    chosen = float(weights @ made.variances(values))
    assert chosen <= 1.005 * best if best < WORTH * plain else chosen == plain


def test_a_small_epsilon_sends_a_bit_and_a_large_one_many_symbols():
    assert isinstance(scalar_response(0.5, *EVEN), BitResponse)
    assert scalar_response(5.0, *EVEN).symbols >= 16
    # For a function of two values a bit is all there is to say.
    assert isinstance(scalar_response(1.0, *ENDS), BitResponse)


# ---------------------------------------------------------------- refusals and files


@pytest.mark.parametrize("value", [-0.1, 1.1, -5e-324, math.nextafter(1, 2), math.nan, math.inf])
def test_numbers_outside_are_refused(value):
    made = WindowResponse.for_epsilon(8, 2, 1.0)
    with pytest.raises(BadValue, match=r"\[0, 1\]"):
        made.randomize(np.array([0.5, value]), SeededRandomness(0))
    with pytest.raises(BadValue, match=r"\[0, 1\]"):
        made.pmf(value)


def test_nobody_draws_nothing():
    assert WindowResponse.for_epsilon(8, 2, 1.0).randomize(np.empty(0), tape()).size == 0


@pytest.mark.parametrize(
    ("symbols", "width"), [(1, 1), (0, 1), (257, 3), (4, 4), (4, 0), (4, -1), (2.5, 1), (4, True), ("4", 1)]
)
def test_windows_that_cannot_move_are_refused(symbols, width):
    with pytest.raises(BadParameter, match="window"):
        WindowResponse(symbols, width, 2**58, 2**58)


def test_tiny_epsilon_is_refused_in_one_sentence():
    assert 0 < WindowResponse.for_epsilon(8, 2, 1e-12).epsilon <= 1e-12
    with pytest.raises(BadParameter, match="too small"):
        WindowResponse.for_epsilon(8, 2, 1e-25)


@pytest.mark.parametrize("made", [WindowResponse.for_epsilon(24, 5, 2.0), BitResponse.for_epsilon(2.0)])
def test_json_round_trip(made):
    assert scalar_from_json(made.to_json()) == made


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"symbols": 1}, "symbols"),
        ({"symbols": 23}, "fill"),
        ({"symbols": 257}, "symbols"),
        ({"symbols": "24"}, "symbols"),
        ({"symbols": True}, "symbols"),
        ({"width": 24}, "width"),
        ({"width": 0}, "width"),
        ({"width": 5.0}, "width"),
        ({"floor": "0"}, "floor"),
        ({"floor": 12}, "floor"),
        ({"floor": "-5"}, "floor"),
        ({"floor": "１"}, "floor"),
        ({"boost": "1"}, "fill"),
        ({"boost": "0"}, "boost"),
        ({"boost": "99999999999999999999999"}, "boost"),
        ({"name": "krr"}, "mechanism"),
        ({"name": ["window"]}, "mechanism"),
        ({"more": 1}, "more"),
    ],
)
def test_damaged_json_is_refused(change, error):
    spec = {**WindowResponse.for_epsilon(24, 5, 2.0).to_json(), **change}
    with pytest.raises((BadFile, BadParameter), match=error):
        scalar_from_json(spec)


@pytest.mark.parametrize("name", ["symbols", "width", "floor", "boost", "name"])
def test_missing_fields_are_refused(name):
    spec = WindowResponse.for_epsilon(24, 5, 2.0).to_json()
    del spec[name]
    with pytest.raises((BadFile, BadParameter), match=name if name != "name" else "mechanism"):
        scalar_from_json(spec)
    with pytest.raises(BadFile, match="JSON object"):
        scalar_from_json([])
