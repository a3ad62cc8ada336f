"""Who computes with whom: every pairing is fair, from public coins, and nobody is in more pairs than agreed.

Randomness is tested by chi-square over the coins of many studies; a correct pairing fails one test with
probability FAILURE. A pairing that does not mix fails it too: that is the negative control.
"""

import math
import os
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import dpairs
from dpairs import Interval, Levels, NotAsked, NotEnoughData, Study
from dpairs.protocols.pairwise.matching import GROUPS, LEAST, SPARE, Pairs, match
from dpairs.randomness.coins import Coins, Purpose

from ...every import every

FAILURE = 1e-9
FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
STUDIES = 3000 if FULL else 1500
COINS = Coins.of("5a" * 32)
SIZES = [2, 3, 4, 5, 31, 32, 63, 64, 65, 96, 127, 128, 1000, 2047, 2048, 2049, 5001]
WITHIN = ["permutations", "disjoint"]


def studies(count: int = STUDIES) -> list[Coins]:
    return [Coins((number, 2026)) for number in range(count)]


def one(n: int, pairings: int, matching: str, coins: Coins = COINS) -> Pairs:
    return match(coins, {"everybody": n}, pairings, matching)


def two(first: int, second: int, pairings: int, coins: Coins = COINS) -> Pairs:
    return match(coins, {"positive": first, "negative": second}, pairings, "classes")


def met(pairs: Pairs) -> Counter[tuple[int, int]]:
    """How often any two people meet, whoever garbles."""
    both = np.sort(np.stack([pairs.garblers, pairs.evaluators]), axis=0)
    return Counter(zip(*both.tolist(), strict=True))


# ---------------------------------------------------------------- everybody, once in each pairing


@every("matching", WITHIN)
@every("pairings", [1, 2, 4, 7])
@every("n", SIZES)
def test_everybody_is_in_one_pair_of_a_pairing(n, pairings, matching):
    pairings = min(pairings, n - 1)  # no more partners are there
    pairs = one(n, pairings, matching)
    assert len(pairs) == pairings * (n // 2)
    for number in range(pairings):
        here = pairs.pairings == number
        people = np.concatenate([pairs.garblers[here], pairs.evaluators[here]])
        assert np.unique(people).size == people.size == n // 2 * 2
        assert people.min() >= 0
        assert people.max() < n
    shares = np.bincount(np.concatenate([pairs.garblers, pairs.evaluators]), minlength=n)
    assert shares.max() <= pairings
    assert shares.sum() == 2 * len(pairs)


@pytest.mark.parametrize(("first", "second"), [(1, 1), (1, 9), (9, 1), (40, 41), (64, 500), (3000, 2048)])
@pytest.mark.parametrize("pairings", [1, 2, 4])
def test_classes_meet_across_and_the_smaller_is_in_every_pairing(first, second, pairings):
    pairs = two(first, second, pairings)
    # The first class evaluates, the last garbles.
    positives, negatives = pairs.evaluators, pairs.garblers
    assert positives.max() < first
    assert negatives.max() < second
    for number in range(pairings):
        here = pairs.pairings == number
        assert np.unique(positives[here]).size == np.unique(negatives[here]).size == here.sum()
    for people, size in ((positives, first), (negatives, second)):
        assert np.bincount(people, minlength=size).max() <= pairings
    smaller = positives if first <= second else negatives
    if max(1, min(GROUPS, min(first, second) // LEAST)) == 1:
        assert np.bincount(smaller).tolist() == [pairings] * min(first, second)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 12))
@settings(max_examples=300 if FULL else 60, deadline=None, derandomize=True, database=None)
def test_the_larger_class_is_used_up_before_anybody_of_it_is_asked_again(first, second, pairings):
    """In one group, at any time, two people of the larger class differ by one pair at most."""
    pairs = two(first, second, pairings)
    people = pairs.garblers if second >= first else pairs.evaluators
    shares = np.bincount(people, minlength=max(first, second))
    assert shares.max() - shares.min() <= 1, shares.tolist()


@pytest.mark.parametrize(("first", "second"), [(5, 6), (100, 101), (1001, 1000)])
def test_classes_of_nearly_one_size_do_not_meet_the_same_people_again(first, second):
    """Three pairings need three different partners, of whom there are plenty."""
    pairs = two(first, second, 3)
    both = list(zip(pairs.evaluators.tolist(), pairs.garblers.tolist(), strict=True))
    assert len(set(both)) == len(both)


def test_equal_classes_meet_new_people_in_every_pairing():
    pairs = two(500, 500, 8)
    both = list(zip(pairs.evaluators.tolist(), pairs.garblers.tolist(), strict=True))
    assert len(set(both)) == len(both) == 4000


# ---------------------------------------------------------------- no two people twice


@given(st.integers(2, 400), st.integers(1, LEAST - 1))
@settings(max_examples=300 if FULL else 60, deadline=None, derandomize=True, database=None)
def test_disjoint_pairs_do_not_repeat(n, pairings):
    pairs = one(n, min(pairings, n - 1), "disjoint")
    assert max(met(pairs).values()) == 1


@pytest.mark.parametrize(("n", "pairings"), [(64, 32), (64, 40), (100, 64), (2048, 32), (4000, 63)])
def test_disjoint_pairs_do_not_repeat_where_pairings_outnumber_a_groups_people(n, pairings):
    """There are enough people for it, though not in a group."""
    assert max(met(one(n, pairings, "disjoint")).values()) == 1


@pytest.mark.parametrize(("n", "pairings"), [(2, 2), (3, 4), (4, 4), (10, 64)])
def test_disjoint_pairs_that_cannot_be_are_refused(n, pairings):
    """Of n people each can meet n - 1 others only (n when one rests in each pairing)."""
    with pytest.raises(dpairs.DpairsError, match="pair"):
        one(n, pairings, "disjoint")


def test_permutations_do_repeat():
    """Negative control: independent pairings bring some two people together again."""
    assert max(met(one(40, 20, "permutations")).values()) > 1


# ---------------------------------------------------------------- groups and numbers


@every("matching", WITHIN)
@every("n", SIZES)
def test_a_pairs_number_says_its_group(n, matching):
    """People meet within their group only, so that groups share nobody."""
    pairings = min(4, n - 1 + n % 2)
    pairs = one(n, pairings, matching)
    assert np.unique(pairs.numbers).size == len(pairs)
    groups = pairs.numbers % GROUPS
    found = {
        group: set(pairs.garblers[groups == group]) | set(pairs.evaluators[groups == group])
        for group in np.unique(groups)
    }
    assert len(found) == max(1, min(GROUPS, n // max(LEAST, SPARE * pairings)))
    assert sum(map(len, found.values())) == len(set().union(*found.values()))
    sizes = sorted(map(len, found.values()))
    assert sizes[-1] - sizes[0] <= 3
    if len(found) > 1:
        assert sizes[0] >= LEAST - 2


def test_groups_of_classes_share_nobody():
    pairs = two(6000, 5000, 4)
    groups = pairs.numbers % GROUPS
    assert np.unique(groups).size == GROUPS
    for people in (pairs.garblers, pairs.evaluators):
        of_group = np.full(people.max() + 1, -1)
        of_group[people] = groups
        np.testing.assert_array_equal(of_group[people], groups)


def test_a_pair_by_its_number():
    pairs = one(500, 3, "permutations")
    for place in (0, 17, len(pairs) - 1):
        found = pairs.pair("5a" * 32, int(pairs.numbers[place]), 1)
        assert (found.garbler, found.evaluator, found.pairing) == (
            pairs.garblers[place],
            pairs.evaluators[place],
            pairs.pairings[place],
        )
    for number in (-1, 63, 10**9, 2**70):
        with pytest.raises(
            NotAsked, match=r"there is no pair .*: the 750 pairs are 0, 1, 2, 3, 4, 5, \.\.\."
        ):
            pairs.pair("5a" * 32, number, 1)


def test_people_of_two_classes_have_different_numbers_in_a_session():
    pairs = two(40, 40, 3)
    named = [pairs.pair("5a" * 32, number, 2) for number in pairs.numbers.tolist()]
    assert len({each.name for each in named}) == len(named)
    assert {each.garbler % 2 for each in named} == {1}
    assert {each.evaluator % 2 for each in named} == {0}


# ---------------------------------------------------------------- public coins


def lists(pairs: Pairs) -> list[list[int]]:
    return [each.tolist() for each in (pairs.numbers, pairs.pairings, pairs.garblers, pairs.evaluators)]


@pytest.mark.parametrize("matching", WITHIN)
def test_the_same_study_gives_the_same_pairs_and_another_gives_others(matching):
    made = [
        Study.create(
            "gini_mean_difference",
            epsilon=1.0,
            protocol="pairwise",
            pairs=2,
            matching=matching,
            domain=Interval(0, 1),
            seed=seed,
        )
        for seed in (1, 1, 2)
    ]
    found = [lists(each.protocol.match(each.coins, {"everybody": 300})) for each in made]  # type: ignore[attr-defined]
    again = Study.from_json(made[0].to_json())
    found.append(lists(again.protocol.match(again.coins, {"everybody": 300})))  # type: ignore[attr-defined]
    assert found[0] == found[1] == found[3]
    assert found[0][2:] != found[2][2:]


def test_other_parameters_make_another_study_and_other_pairs():
    made = [
        Study.create(
            "kendall_tau", epsilon=epsilon, protocol="pairwise", domain=(Levels(["a", "b"]),) * 2, seed=1
        )
        for epsilon in (1.0, 1.5)
    ]
    first, second = (each.protocol.match(each.coins, {"everybody": 100}) for each in made)  # type: ignore[attr-defined]
    assert lists(first) != lists(second)


# ---------------------------------------------------------------- fairness


def p_value(outcomes: list[object], kinds: int) -> float:
    """Of all ``kinds`` outcomes being equally likely."""
    counts = Counter(outcomes)
    assert len(counts) <= kinds
    return float(stats.chisquare([*counts.values(), *[0] * (kinds - len(counts))]).pvalue)


def ordered(pairs: Pairs, number: int) -> frozenset[tuple[int, int]]:
    """A pairing: who evaluates with whom who garbles."""
    here = pairs.pairings == number
    return frozenset(zip(pairs.evaluators[here].tolist(), pairs.garblers[here].tolist(), strict=True))


def possible(n: int) -> int:
    """Ways to make ordered pairs of n people, one resting if n is odd: n! / (n/2)!."""
    return math.factorial(n) // math.factorial(n // 2)


@pytest.mark.parametrize("matching", WITHIN)
@pytest.mark.parametrize(("n", "number"), [(2, 0), (3, 0), (4, 0), (4, 2), (5, 2)])
def test_every_pairing_is_equally_likely_every_time(n, number, matching):
    found: list[object] = [ordered(one(n, number + 1, matching, coins), number) for coins in studies()]
    assert p_value(found, possible(n)) > FAILURE


def test_pairings_are_independent():
    def both(coins: Coins) -> object:
        pairs = one(4, 2, "permutations", coins)
        return ordered(pairs, 0), ordered(pairs, 1)

    assert p_value([both(coins) for coins in studies()], possible(4) ** 2) > FAILURE


def test_a_tournaments_pairings_are_not():
    """Negative control: the same test notices that disjoint pairings depend on each other."""

    def both(coins: Coins) -> object:
        pairs = one(4, 2, "disjoint", coins)
        return ordered(pairs, 0), ordered(pairs, 1)

    assert p_value([both(coins) for coins in studies()], possible(4) ** 2) < FAILURE


def test_every_pairing_of_two_classes_is_equally_likely():
    found: list[object] = [ordered(two(2, 3, 1, coins), 0) for coins in studies()]
    assert p_value(found, 6) > FAILURE


def test_a_pairing_that_hardly_mixes_is_noticed():
    """Negative control: orders by one bit of a word instead of all of it."""

    def lazy(coins: Coins) -> object:
        words = coins.words(Purpose.PAIRING, 0, 0, 4)[:, 0] >> np.uint64(63)
        order = np.argsort(words, kind="stable").tolist()
        return frozenset([(order[0], order[1]), (order[2], order[3])])

    assert p_value([lazy(coins) for coins in studies()], possible(4)) < FAILURE


def test_any_two_people_are_as_likely_to_be_in_one_group():
    """Dealing into groups leaves a single pair a random pair of people."""
    n = 2 * LEAST
    together = [
        1 in {a for pair in met(one(n, 1, "permutations", coins)) for a in pair if 0 in pair}
        for coins in studies()
    ]
    # Person 0 meets person 1 with probability 1 / (n - 1).
    low, high = (stats.binom.ppf(tail, STUDIES, 1 / (n - 1)) for tail in (FAILURE / 2, 1 - FAILURE / 2))
    assert low <= sum(together) <= high


# ---------------------------------------------------------------- too few


@pytest.mark.parametrize("matching", WITHIN)
def test_one_person_is_no_pair_and_three_make_one(matching):
    for n in (0, 1):
        with pytest.raises(NotEnoughData, match=f"no pair can be made of {n} people"):
            one(n, 1, matching)
    assert len(one(2, 1, matching)) == len(one(3, 1, matching)) == 1


@pytest.mark.parametrize(("first", "second"), [(0, 5), (5, 0), (0, 0)])
def test_an_empty_class_makes_no_pair(first, second):
    with pytest.raises(NotEnoughData, match=f"{first} positive, {second} negative"):
        two(first, second, 1)
    study = Study.create("auc", epsilon=1.0, protocol="pairwise", domain=Interval(0, 1), seed=1)
    label = [1] * first + [0] * second
    with pytest.raises(NotEnoughData, match="no pair"):
        dpairs.simulate(study, {"score": np.full(len(label), 0.5), "label": np.array(label, dtype=int)}, 1)


@pytest.mark.parametrize("n", [2, 3])
def test_one_pair_has_no_standard_error(n):
    study = Study.create("variance", epsilon=1.0, protocol="pairwise", domain=Levels([0, 1]), seed=1)
    with pytest.raises(NotEnoughData, match="at least 2 pairs, not 1"):
        dpairs.simulate(study, {"value": np.arange(n) % 2}, 1)
