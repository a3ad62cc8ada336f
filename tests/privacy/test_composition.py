"""Composition against whole-number probabilities: every output enumerated, no logarithm involved."""

import functools
import itertools
import math
from fractions import Fraction

import pytest

from dpairs import BadParameter, Interval, Study
from dpairs.mechanisms import KaryResponse
from dpairs.privacy.composition import advanced_share, check_delta, composed_ratio, delta_of, optimal_share
from dpairs.protocols import Tree
from dpairs.randomness import WORDS

from ..every import every

TERMS = 240


@functools.cache
def exp_bounds(exponent: float) -> tuple[Fraction, Fraction]:
    """Rationals around e^x for 0 <= x <= 60: the Taylor series, and its rest below a geometric one."""
    over, under = Fraction(exponent).as_integer_ratio()
    total, scale = 1, 1  # Horner's rule on whole numbers: 1 + x / 1 (1 + x / 2 (1 + ...))
    for step in range(TERMS - 2, 0, -1):
        total, scale = scale * under * step + over * total, scale * under * step
    rest = Fraction(over ** (TERMS - 1), under ** (TERMS - 1) * math.factorial(TERMS - 1))
    # Shorter fractions, rounded outwards: 300 bits after the point.
    fine = 2**300
    most = Fraction(total, scale) + 2 * rest
    return Fraction(total * fine // scale, fine), Fraction(math.ceil(most * fine), fine)


def exact_delta(response: KaryResponse, times: int, epsilon: float) -> tuple[Fraction, Fraction]:
    """Bounds of the exact delta of ``times`` answers to two inputs that differ in all of them."""
    truth, lie = response.floor + response.boost, response.floor
    low, high = exp_bounds(epsilon)

    def delta(factor: Fraction) -> Fraction:
        over, under = factor.numerator, factor.denominator
        excess = 0
        for flips in range(times + 1):
            first = truth ** (times - flips) * lie**flips
            second = truth**flips * lie ** (times - flips)
            excess += math.comb(times, flips) * max(under * first - over * second, 0)
        return Fraction(excess, under * WORDS**times)

    return delta(high), delta(low)


def test_the_exponential_is_bounded_on_both_sides():
    for exponent in (0.0, 0.1, 1.0, 10.0, 40.0):
        low, high = exp_bounds(exponent)
        assert low <= Fraction(math.nextafter(math.exp(exponent), math.inf))
        assert high >= Fraction(math.nextafter(math.exp(exponent), 0))
        assert high - low <= low * Fraction(1, 10**40)


@pytest.mark.parametrize("times", [1, 2, 5, 8])
@pytest.mark.parametrize("each", [0.05, 0.3, 1.0, 2.5])
def test_binomial_sum_is_the_enumeration_of_all_outputs(times, each):
    """2^k outputs one by one, the reference's own check."""
    response = KaryResponse.for_epsilon(2, each)
    zero, one = response.pmf(0), response.pmf(1)
    for epsilon in (0.0, each, 0.6 * times * each):
        factor = exp_bounds(epsilon)[0]
        total = Fraction(0)
        for output in itertools.product((0, 1), repeat=times):
            first = math.prod((zero[bit] for bit in output), start=Fraction(1))
            second = math.prod((one[bit] for bit in output), start=Fraction(1))
            total += max(first - factor * second, Fraction(0))
        assert total == exact_delta(response, times, epsilon)[1]


@every("times", [1, 2, 3, 8, 16, 64])
@every("each", [0.01, 0.1, 0.5, 1.0, 3.0])
def test_delta_is_the_exact_one(times, each):
    response = KaryResponse.for_epsilon(2, each)
    for share in (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99):
        epsilon = min(share * times * response.epsilon, 50.0)
        low, high = exact_delta(response, times, epsilon)
        found = delta_of(response.epsilon, times, epsilon)
        assert float(low) * (1 - 1e-8) - 1e-300 <= found <= float(high) * (1 + 1e-8) + 1e-300


@pytest.mark.parametrize("times", [1, 7, 64])
def test_nothing_is_lost_beyond_the_sum_of_all(times):
    assert delta_of(0.25, times, 0.25 * times) == 0
    assert delta_of(0.25, times, 0.25 * times + 1) == 0
    assert delta_of(0.25, times, 0.25 * times * 0.999) > 0


def test_delta_at_epsilon_zero_is_the_distance():
    """Total variation of one answer: tanh(e0 / 2)."""
    assert delta_of(1.0, 1, 0.0) == pytest.approx(math.tanh(0.5), rel=1e-12)


def test_delta_falls_with_epsilon_and_rises_with_the_rest():
    found = [delta_of(0.2, 16, epsilon) for epsilon in (0.0, 0.5, 1.0, 2.0, 3.0)]
    assert found == sorted(found, reverse=True)
    assert delta_of(0.2, 16, 1.0) < delta_of(0.21, 16, 1.0)
    assert delta_of(0.2, 16, 1.0) < delta_of(0.2, 17, 1.0)


@every("times", [1, 2, 3, 8, 16, 64])
@every("each", [0.01, 0.5, 3.0])
@every("delta", [1e-12, 1e-3, 0.5])
def test_the_composed_ratio_solves_for_epsilon_exactly(times, each, delta):
    """At e^epsilon the exact delta is the given one; a little below, it is more."""
    response = KaryResponse.for_epsilon(2, each)
    truth, lie = response.floor + response.boost, response.floor
    ratio = composed_ratio(truth, lie, times, delta)

    def exact(factor: Fraction) -> Fraction:
        excess = Fraction(0)
        for flips in range(times + 1):
            first = truth ** (times - flips) * lie**flips
            second = truth**flips * lie ** (times - flips)
            excess += math.comb(times, flips) * max(first - factor * second, Fraction(0))
        return excess / WORDS**times

    assert 1 <= ratio <= Fraction(truth, lie) ** times
    assert exact(ratio) <= Fraction(delta)
    if ratio > 1:
        assert exact(ratio) == Fraction(delta)
        assert exact(1 + (ratio - 1) * Fraction(999, 1000)) > Fraction(delta)


@pytest.mark.parametrize("each", [0.01, 0.02, 0.0201])
def test_a_wrong_share_is_noticed(each):
    """Negative control of the exact comparison: a share 0.5% off gives another delta."""
    claimed = KaryResponse.for_epsilon(2, 0.02)
    low, high = exact_delta(claimed, 16, 0.1)
    inside = float(low) * (1 - 1e-8) <= delta_of(each, 16, 0.1) <= float(high) * (1 + 1e-8)
    assert inside == (each == 0.02)


EPSILONS = (0.1, 0.5, 1.0, 1.5, 3.0, 5.0)
DELTAS = (1e-12, 1e-8, 1e-6, 1e-3, 0.05)
DEPTHS = (1, 2, 4, 10, 16, 20, 32, 64)


@every("times", DEPTHS)
@every("delta", DELTAS)
def test_optimal_share_keeps_its_promise_exactly_and_wastes_nothing(delta, times):
    for epsilon in EPSILONS:
        share = optimal_share(epsilon, delta, times)
        response = KaryResponse.for_epsilon(2, share)
        assert exact_delta(response, times, epsilon)[1] <= Fraction(delta)
        assert share >= epsilon / times
        more = share * 1.001
        if more < epsilon:
            assert delta_of(more, times, epsilon) > delta


@every("times", DEPTHS)
@every("delta", [*DELTAS, 0.5, 0.99])
def test_the_papers_share_is_private_and_never_better_than_the_optimal_one(delta, times):
    """The paper's condition eps <= sqrt(k) ln 2 is not what its proof needs; the exact delta holds anyway."""
    for epsilon in (*EPSILONS, math.sqrt(times) * math.log(2)):
        if epsilon > math.sqrt(times) * math.log(2):
            with pytest.raises(BadParameter, match="optimal one"):
                advanced_share(epsilon, delta, times)
            continue
        share = advanced_share(epsilon, delta, times)
        assert share == pytest.approx(
            epsilon / (math.sqrt(times) * (1 + math.sqrt(2 * math.log(1 / delta)))), rel=1e-14
        )
        response = KaryResponse.for_epsilon(2, share)
        assert exact_delta(response, times, epsilon)[1] <= Fraction(delta)
        assert optimal_share(epsilon, delta, times) >= share * (1 - 1e-12) or share > epsilon


def test_the_papers_share_beats_basic_composition_only_for_many_levels():
    """k > (1 + sqrt(2 ln(1/delta)))^2, about 39 levels for delta 1e-6; the optimal one is better from two."""
    limit = (1 + math.sqrt(2 * math.log(1e6))) ** 2
    for times in DEPTHS:
        basic = 1.0 / times
        if times > 1:
            assert optimal_share(1.0, 1e-6, times) > basic
        if times > 2:
            assert (advanced_share(1.0, 1e-6, times) > basic) == (times > limit)


@pytest.mark.parametrize("epsilon", [100.0, 709.0, 1000.0, 1e4, 1e6])
def test_a_large_epsilon_has_an_optimal_share(epsilon):
    share = optimal_share(epsilon, 1e-6, 16)
    assert epsilon / 16 <= share <= epsilon


@pytest.mark.parametrize("delta", [0, 1, -0.1, 1.5, math.nan, math.inf, "0.1", True, None])
def test_delta_must_lie_between_zero_and_one(delta):
    for call in (
        lambda: check_delta(delta),
        lambda: optimal_share(1.0, delta, 8),
        lambda: advanced_share(1.0, delta, 8),
    ):
        with pytest.raises(BadParameter, match="delta"):
            call()


@pytest.mark.parametrize("epsilon", [0, -1, math.nan, math.inf, "1", None])
def test_epsilon_must_be_positive(epsilon):
    for share in (optimal_share, advanced_share):
        with pytest.raises(BadParameter, match="epsilon"):
            share(epsilon, 1e-6, 8)


@pytest.mark.parametrize("times", [0, -1, 2.5, 10_001])
def test_times_must_be_a_sensible_number(times):
    with pytest.raises(BadParameter, match="times"):
        delta_of(0.1, times, 1.0)


# ---------------------------------------------------------------- what a study claims


def study(splitting: str, epsilon: float, depth: int, delta: float | None = None) -> Tree:
    made = Study.create(
        "auc",
        protocol="tree",
        epsilon=epsilon,
        domain=Interval(0, 1),
        options={"bins": 2**depth, "splitting": splitting, "delta": delta},
        seed=1,
    )
    assert isinstance(made.protocol, Tree)
    assert made.privacy.epsilon <= epsilon
    assert made.privacy.delta == made.delta == (delta or 0)
    assert Study.from_json(made.to_json()) == made
    return made.protocol


def ratio(tree: Tree) -> Fraction:
    return Fraction(tree.responses[0].floor + tree.responses[0].boost, tree.responses[0].floor)


@every("depth", [1, 2, 3, 7, 16, 33, 52])
@every("epsilon", [0.01, 0.1, 1.0, 3.0, 7.7, 20.0])
def test_budget_loses_at_most_epsilon_exactly(epsilon, depth):
    tree = study("budget", epsilon, depth)
    whole = ratio(tree) ** depth
    assert whole <= exp_bounds(epsilon)[0]
    assert whole <= exp_bounds(tree.epsilon)[1]
    assert 0.9999 * epsilon <= tree.epsilon <= epsilon


def test_one_level_too_many_is_noticed():
    """Negative control: the share of 15 levels, spent on 16."""
    assert ratio(study("budget", 1.0, 15)) ** 16 > exp_bounds(1.0)[1]


@pytest.mark.parametrize("splitting", ["users", "users-independent"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 20.0])
def test_one_level_loses_at_most_epsilon_exactly(epsilon, splitting):
    tree = study(splitting, epsilon, 16)
    assert ratio(tree) <= exp_bounds(epsilon)[0]
    assert 0.9999 * epsilon <= tree.epsilon <= epsilon
    assert tree.answers == 1


@pytest.mark.parametrize("splitting", ["budget-advanced", "budget-advanced-paper"])
@pytest.mark.parametrize("depth", [2, 8, 16, 40])
@pytest.mark.parametrize("delta", [1e-9, 1e-4])
def test_advanced_claims_an_epsilon_that_holds_exactly(delta, depth, splitting):
    epsilon = 0.9
    tree = study(splitting, epsilon, depth, delta)
    assert tree.epsilon <= epsilon
    low, high = exact_delta(tree.responses[0], depth, tree.epsilon)
    assert high <= Fraction(delta)
    if splitting == "budget-advanced":
        assert tree.epsilon >= 0.999 * epsilon
        # Not much less would do: the claim is the exact loss, not a bound far above it.
        assert exact_delta(tree.responses[0], depth, 0.99 * tree.epsilon)[0] > Fraction(delta)
    assert low <= high


def test_thresholds_fill_all_words():
    tree = study("budget", 1.0, 16)
    assert 2 * tree.responses[0].floor + tree.responses[0].boost == WORDS


@pytest.mark.parametrize("depth", [2, 3, 5, 8, 16])
def test_the_last_digit_of_a_claim_is_within_epsilon(depth):
    """At epsilon 4 and delta 1e-8 a share found in floats may lose 1e-15 more than was asked."""
    for epsilon in (0.5, 1.0, 2.0, 4.0, 8.0):
        for delta in (1e-3, 1e-8, 1e-12):
            tree = study("budget-advanced", epsilon, depth, delta)
            low, high = exact_delta(tree.responses[0], depth, epsilon)
            assert low <= high <= Fraction(delta)
            assert tree.epsilon > epsilon * (1 - 1e-6)
