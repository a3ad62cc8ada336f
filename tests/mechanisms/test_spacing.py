"""Windows with knots: exact probabilities first, then where knots are put."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from dpairs import BadFile, BadParameter, BadValue
from dpairs.mechanisms import (
    BitResponse,
    WindowResponse,
    largest_ratio,
    scalar_from_json,
    scalar_response,
    spaced_response,
)
from dpairs.mechanisms.scalar import WORTH, WORTH_SPACING
from dpairs.mechanisms.spacing import EVEN_PART, GRID, _Crowd, _decoding
from dpairs.mechanisms.window import STEPS
from dpairs.randomness import WORDS, SeededRandomness, TapeRandomness
from tests.mechanisms.exponential import exp_lower_bound

from ..every import every
from ..strategies import QUICK

FAILURE = 1e-9
"""Probability that a correct mechanism fails one of the seeded tests below, for a fresh seed."""
EPSILONS = (0.01, 1.0, 4.0, 20.0)
SHAPES = ((3, 1), (4, 2), (6, 1), (7, 3), (16, 3), (32, 9))


def with_knots(symbols: int, width: int, epsilon: float, seed: int = 0) -> WindowResponse:
    """Knots close to 0, close to each other, and close to 1."""
    rng, inner = np.random.default_rng([symbols, width, seed]), symbols - width - 1
    drawn = {1, STEPS // 2, STEPS // 2 + 1, STEPS - 1} if inner > 4 else set()
    while len(drawn) < inner:
        drawn.add(int(rng.integers(1, STEPS)))
    return WindowResponse.for_epsilon(symbols, width, epsilon, tuple(sorted(drawn)[:inner]))


def each_value(made: WindowResponse) -> list[float]:
    knots = [0, *made.knots, STEPS]
    middles = [(low + high) / 2 for low, high in itertools.pairwise(knots)]
    near = [knot + step for knot in knots for step in (-1, 1)]
    own = [each / STEPS for each in (*knots, *middles, *near) if 0 <= each <= STEPS]
    return [*own, 0.123456789, 1 / math.pi]


def sent(made: WindowResponse, value: float) -> Fraction:
    """The number that is sent: whole steps, and whole steps of the gap between its knots."""
    steps, knots = round(value * STEPS), [0, *made.knots, STEPS]
    start = max(place for place in range(made.last) if knots[place] <= steps)
    gap = knots[start + 1] - knots[start]
    share = Fraction(math.floor(Fraction(steps - knots[start], gap) * STEPS + Fraction(1, 2)), STEPS)
    return (knots[start] + share * gap) / STEPS


def exact_decode(made: WindowResponse) -> list[Fraction]:
    """Unbiased, and of least mean square if windows are equally likely: Gauss in whole fractions."""
    windows = [made._window(start) for start in range(made.last + 1)]
    knots = [Fraction(knot, STEPS) for knot in (0, *made.knots, STEPS)]
    chances = [sum(column) / len(windows) for column in zip(*windows, strict=True)]
    # Lagrange: chances[y] d[y] = sum over s of l[s] P(y | s), and sum over y of P(y | s) d[y] = knots[s].
    rows = [
        [
            sum((a * b / q for a, b, q in zip(one, other, chances, strict=True)), Fraction(0))
            for other in windows
        ]
        for one in windows
    ]
    multipliers = solved(rows, knots)
    return [
        sum((lag * window[y] for lag, window in zip(multipliers, windows, strict=True)), Fraction(0))
        / chances[y]
        for y in range(made.symbols)
    ]


def solved(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    size = len(right)
    table = [[*row, value] for row, value in zip(rows, right, strict=True)]
    for place in range(size):
        pivot = table[place][place]
        table[place] = [each / pivot for each in table[place]]
        for other in range(size):
            if other != place and table[other][place]:
                factor = table[other][place]
                table[other] = [a - factor * b for a, b in zip(table[other], table[place], strict=True)]
    return [row[-1] for row in table]


def tape(*words: int) -> TapeRandomness:
    return TapeRandomness(b"".join(word.to_bytes(8, "little") for word in words))


# ---------------------------------------------------------------- exact


@every("epsilon", EPSILONS)
@every(("symbols", "width"), SHAPES)
def test_exact_ratio_of_all_pairs_of_numbers_is_at_most_e_to_the_epsilon(symbols, width, epsilon):
    made = with_knots(symbols, width, epsilon)
    rows = [made.pmf(value) for value in each_value(made)]
    assert all(sum(row) == 1 and len(row) == symbols for row in rows)
    ratio = largest_ratio(rows)
    assert ratio <= exp_lower_bound(epsilon)
    if symbols >= 2 * width:
        assert ratio >= exp_lower_bound(0.9999 * epsilon), "the promise is used up"
    even = WindowResponse.for_epsilon(symbols, width, epsilon)
    assert made.epsilon == even.epsilon == replace(made, knots=()).epsilon


@given(st.integers(3, 40), st.data(), st.floats(0.001, 30), st.lists(st.floats(0, 1), max_size=5))
@QUICK
def test_any_knots_keep_epsilon_and_any_number_is_sent_whole(symbols, data, epsilon, values):
    width = data.draw(st.integers(1, symbols - 2))
    inner = symbols - width - 1
    knots = data.draw(st.sets(st.integers(1, STEPS - 1), min_size=inner, max_size=inner))
    made = WindowResponse.for_epsilon(symbols, width, epsilon, tuple(sorted(knots)))
    rows = [made.pmf(value) for value in [0.0, 1.0, *values]]
    assert all(sum(row) == 1 for row in rows)
    assert largest_ratio(rows) <= exp_lower_bound(epsilon)
    assert rows[:2] == [made._window(0), made._window(made.last)]


@pytest.mark.parametrize(("symbols", "width"), SHAPES)
def test_one_word_less_privacy_is_noticed(symbols, width):
    """Negative control: a floor lower by one word in 2^64 breaks the exact inequality."""
    good = with_knots(symbols, width, 1.0)
    floor = good.floor - 1
    bad = replace(good, floor=floor, boost=(WORDS - symbols * floor) // width)
    assert bad.epsilon > 1.0
    if symbols >= 2 * width and bad.leftover == 0:
        assert largest_ratio([bad.pmf(0.0), bad.pmf(1.0)]) > exp_lower_bound(1.0)


@every("epsilon", EPSILONS)
@every(("symbols", "width"), SHAPES[:-1])
def test_decoding_has_the_number_sent_as_its_mean_exactly(symbols, width, epsilon):
    """Each decoded number is the double nearest to the exact one; the exact one is unbiased."""
    made = with_knots(symbols, width, epsilon)
    exact = exact_decode(made)
    assert made.decode.tolist() == [float(each) for each in exact]
    for value in each_value(made):
        mean = sum((d * p for d, p in zip(exact, made.pmf(value), strict=True)), Fraction(0))
        assert mean == sent(made, value)
        assert abs(mean - Fraction(value)) <= Fraction(1, STEPS)


def test_another_decoder_is_noticed():
    """Negative control: that of even windows is biased here."""
    made = with_knots(16, 3, 4.0)
    even = replace(made, knots=()).decode
    value = made.knots[3] / STEPS
    chances = [float(each) for each in made.pmf(value)]
    assert abs(chances @ made.decode - value) < 1e-9 < 1e-3 < abs(chances @ even - value)


@every("epsilon", EPSILONS)
@every(("symbols", "width"), SHAPES)
def test_variances_are_those_of_the_exact_probabilities(symbols, width, epsilon):
    made = with_knots(symbols, width, epsilon)
    values = each_value(made)
    decode = [Fraction(each) for each in made.decode.tolist()]
    for value, variance in zip(values, made.variances(np.array(values)).tolist(), strict=True):
        mean = sent(made, value)
        square = sum((d * d * p for d, p in zip(decode, made.pmf(value), strict=True)), Fraction(0))
        scale = float(max(d * d for d in decode))
        assert variance == pytest.approx(float(square - mean**2), rel=1e-8, abs=1e-9 * scale)


def test_the_first_word_rounds_between_two_windows():
    made = WindowResponse.for_epsilon(4, 1, 2.0, (STEPS // 3, STEPS // 3 + 7))
    value = 0.2
    rest = math.floor(Fraction(round(value * STEPS), STEPS // 3) * STEPS + Fraction(1, 2))
    member, change = made.symbols * made.floor, (STEPS - rest) << 32
    for word, window in ((0, 0), (change - 1, 0), (change, 1), (WORDS - 1, 1)):
        assert made.randomize(np.array([value]), tape(word, member)).tolist() == [window]


@pytest.mark.parametrize("made", [WindowResponse.for_epsilon(16, 3, 3.0), with_knots(16, 3, 3.0)])
def test_many_and_one_at_a_time_agree(made):
    values = np.concatenate((np.linspace(0, 1, 97), np.array(made.knots) / STEPS))
    together = made.randomize(values, SeededRandomness(3))
    words = SeededRandomness(3).words(2 * values.size).tolist()
    alone = [
        made.randomize(values[place : place + 1], tape(words[place], words[values.size + place]))[0]
        for place in range(values.size)
    ]
    assert together.tolist() == alone


# ---------------------------------------------------------------- seeded


@pytest.mark.parametrize("value", [0.0, 0.37, 1.0])
@pytest.mark.parametrize("wrong", ["nothing", "epsilon", "knots"])
def test_frequencies_match_the_exact_probabilities(value, wrong):
    """Chi-square at one named failure probability; controls draw at 30% more epsilon, or without knots."""
    people, knots = 400_000, tuple(range(2**27, 2**27 * 9, 2**27))
    claimed = WindowResponse.for_epsilon(12, 3, 1.0, knots)
    used = {"epsilon": WindowResponse.for_epsilon(12, 3, 1.3, knots), "knots": replace(claimed, knots=())}
    symbols = used.get(wrong, claimed).randomize(np.full(people, value), SeededRandomness(11))
    expected = people * np.array([float(p) for p in claimed.pmf(value)])
    p_value = stats.chisquare(np.bincount(symbols, minlength=claimed.symbols), expected).pvalue
    differs = wrong == "epsilon" or (wrong == "knots" and 0 < value < 1)
    assert (p_value < FAILURE) == differs


@pytest.mark.parametrize("shift", [0.0, 0.02])
def test_the_mean_of_decoded_symbols_is_the_value(shift):
    """Normal test of the mean with the stated variance; the control claims a value that is 0.02 off."""
    values = np.random.default_rng(4).beta(0.3, 3, 500_000)
    made = spaced_response(4.0, values[:1000], np.full(1000, 1e-3))
    assert isinstance(made, WindowResponse)
    assert made.knots
    decoded = made.decode[made.randomize(values, SeededRandomness(5))]
    error = np.sqrt(made.variances(values).sum()) / values.size
    far = abs(decoded.mean() - values.mean() - shift) / error
    assert (2 * stats.norm.sf(far) < FAILURE) == (shift > 0)


# ---------------------------------------------------------------- where knots are put


def normal() -> Any:
    values = stats.norm.ppf((np.arange(300) + 0.5) / 300)
    return np.abs(values[:, None] - values).mean(axis=1)


POPULATIONS = {
    "even": np.linspace(0, 1, 129),
    "distances of normals": (normal() - normal().min()) / np.ptp(normal()),
    "nine tenths at 0": np.concatenate((np.zeros(900), np.linspace(0, 1, 100) ** 3)),
    "two ends": np.repeat([0.0, 1.0], 50),
    "one number": np.full(10, 0.3),
}


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 1.0, 2.0, 4.0, 8.0, 20.0])
@pytest.mark.parametrize("name", POPULATIONS)
def test_knots_are_taken_only_where_they_help_and_keep_epsilon(name, epsilon):
    values = POPULATIONS[name]
    weights = np.full(values.size, 1 / values.size)
    plain, made = (choose(epsilon, values, weights) for choose in (scalar_response, spaced_response))
    bit = BitResponse.for_epsilon(epsilon)
    even, spaced, most = (float(weights @ each.variances(values)) for each in (plain, made, bit))
    assert made == plain or (spaced < WORTH_SPACING * even and spaced < WORTH * most)
    assert made.epsilon <= epsilon
    assert made == spaced_response(epsilon, values, weights), "the same again"


@pytest.mark.parametrize(("name", "epsilon"), [("distances of normals", 4.0), ("nine tenths at 0", 8.0)])
def test_the_search_finds_what_a_general_optimizer_finds(name, epsilon):
    """L-BFGS on the logarithms of the gaps, for the same shape, from where the search ended."""
    values = POPULATIONS[name]
    weights = np.full(values.size, 1 / values.size)
    made = spaced_response(epsilon, values, weights)
    assert isinstance(made, WindowResponse)
    even, crowd = replace(made, knots=()), _Crowd(values, weights)
    grid = np.arange(GRID + 1) / GRID

    def variance(logarithms: Any) -> float:
        gaps = np.exp(logarithms - logarithms.max())
        knots = np.cumsum(gaps / gaps.sum())[:-1] * STEPS
        try:
            spaced = replace(made, knots=tuple(map(round, knots.tolist())))
        except BadParameter:
            return 1.0
        return float(crowd.masses @ spaced.variances(grid))

    found = variance(np.log(np.diff([0, *made.knots, STEPS])))
    start = np.log(np.diff([0, *made.knots, STEPS]))
    best = optimize.minimize(variance, start, method="L-BFGS-B", options={"maxiter": 20}).fun
    assert found < 1.02 * best
    assert found < 0.95 * float(crowd.masses @ even.variances(grid))


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("epsilon", [2.0, 4.0, 8.0])
def test_people_elsewhere_cost_a_bounded_factor(name, epsilon):
    """The search begins with even knots, and a share of the people counts as anywhere, which is a bound."""
    values, everywhere = POPULATIONS[name], np.linspace(0, 1, GRID + 1)
    weights = np.full(values.size, 1 / values.size)
    made = spaced_response(epsilon, values, weights)
    if not isinstance(made, WindowResponse) or not made.knots:
        return
    gaps = np.arange(1, made.last) * STEPS // made.last
    even = replace(made, knots=tuple(map(int, gaps)))
    saved = float(weights @ (even.variances(values) - made.variances(values)))
    more = float((made.variances(everywhere) - even.variances(everywhere)).mean())
    assert saved > 0
    assert EVEN_PART * more <= 1.01 * (1 - EVEN_PART) * saved + 1e-4 * float(weights @ even.variances(values))
    assert made.variances(everywhere).max() < 12 * even.variances(everywhere).max()


@every(("symbols", "width"), SHAPES)
def test_the_search_computes_the_mechanism_s_own_variances(symbols, width):
    made = WindowResponse.for_epsilon(symbols, width, 3.0)
    rng = np.random.default_rng(symbols)
    values, weights = rng.random(50), np.full(50, 1 / 50)
    knots = np.sort(rng.choice(np.arange(1, GRID), made.last - 1, replace=False))
    spaced = replace(made, knots=tuple(int(knot) * (STEPS // GRID) for knot in knots))
    ends = np.concatenate(([0], knots, [GRID]))
    np.testing.assert_allclose(np.diff(ends) / GRID @ _decoding(made), spaced.decode, rtol=1e-9, atol=1e-9)
    crowd = _Crowd(values, weights)
    grid = np.arange(GRID + 1) / GRID
    own = float(crowd.masses @ spaced.variances(grid))
    assert crowd.variances(made, ends[None])[0] == pytest.approx(own, rel=1e-9)


def test_a_function_that_is_the_same_for_everybody_needs_no_knots():
    assert spaced_response(4.0, np.zeros(3), np.zeros(3)) == scalar_response(4.0, np.zeros(3), np.zeros(3))


# ---------------------------------------------------------------- refusals and files


@pytest.mark.parametrize(
    "knots",
    [
        (5,),
        (5, 6, 7),
        (6, 5),
        (5, 5),
        (0, 5),
        (5, STEPS),
        (-1, 5),
        (5, 2**70),
        (5, 6.0),
        (5, "6"),
        (True, 5),
        (5, math.nan),
        (5, None),
    ],
)
def test_knots_that_are_no_places_in_order_are_refused(knots):
    with pytest.raises(BadParameter, match="knot"):
        WindowResponse.for_epsilon(4, 1, 1.0, knots)
    spec = {**WindowResponse.for_epsilon(4, 1, 1.0).to_json(), "knots": list(knots)}
    with pytest.raises((BadFile, BadParameter), match="knot"):
        scalar_from_json(spec)


@pytest.mark.parametrize("knots", [[], None, 5, "5", {"5": 6}, (5, 6), [5] * 10_000, [[5], 6]])
def test_what_is_no_list_of_knots_is_refused(knots):
    spec = {**WindowResponse.for_epsilon(4, 1, 1.0).to_json(), "knots": knots}
    with pytest.raises(BadFile, match="knots"):
        scalar_from_json(spec)
    with pytest.raises(BadParameter, match="knots"):
        scalar_from_json({**BitResponse.for_epsilon(1.0).to_json(), "knots": [5]})


def test_json_round_trip_and_even_windows_as_before():
    made = with_knots(16, 3, 4.0)
    assert scalar_from_json(made.to_json()) == made
    assert made.to_json()["knots"] == list(made.knots)
    assert set(replace(made, knots=()).to_json()) == {"name", "symbols", "width", "floor", "boost"}


@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan])
def test_numbers_outside_are_refused(value):
    made = with_knots(16, 3, 4.0)
    with pytest.raises(BadValue, match=r"\[0, 1\]"):
        made.randomize(np.array([0.5, value]), SeededRandomness(0))
