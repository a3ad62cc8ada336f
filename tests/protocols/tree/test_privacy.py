"""The exact privacy of a tree's report, over all pairs of leaves, and what is promised."""

import itertools
import math
import os
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpairs import (
    BadParameter,
    Levels,
    Participant,
    Study,
)
from dpairs.mechanisms import KaryResponse, largest_ratio
from dpairs.protocols import Tree
from dpairs.randomness import WORDS
from dpairs.randomness.coins import Coins
from tests.mechanisms.exponential import exp_lower_bound

from .answers import response, study, tape, tree

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
PURE = ("users", "users-independent", "budget")


# ---------------------------------------------------------------- privacy, exactly


def pmf(made: Study, stratum: int, index: int, value: Any) -> list[Fraction]:
    """The exact distribution of the symbol, given the public coins: by the words at which answers change.

    A randomized response reads one word: one stretch gives 0, the next gives 1, the rest the truth. The
    answers at both ends of each stretch are taken from the program, and must agree.
    """
    protocol = tree(made)
    floor = response(protocol).floor
    ends = ((0, floor - 1), (floor, 2 * floor - 1), (2 * floor, WORDS - 1))
    found = [Fraction(0)] * protocol.symbols
    for stretches in itertools.product(ends, repeat=protocol.answers):
        sent = [
            protocol.randomize(made.coins, stratum, index, [[value]], tape([end[side] for end in stretches]))
            for side in (0, 1)
        ]
        assert sent[0].tolist() == sent[1].tolist()
        weight = math.prod((Fraction(end[1] - end[0] + 1, WORDS) for end in stretches), start=Fraction(1))
        found[int(sent[0][0])] += weight
    assert sum(found) == 1
    return found


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("splitting", PURE)
def test_ratio_over_all_pairs_of_leaves_is_at_most_e_to_the_epsilon(splitting, epsilon, rows):
    made = study(Levels(range(8)), epsilon, splitting=splitting, rows=rows)
    worst = Fraction(1)
    for stratum, index in itertools.product((0, 1), (0, 1, 2, 3, 10**6) if FULL else (0, 1, 10**6)):
        ratio = largest_ratio([pmf(made, stratum, index, value) for value in range(8)])
        assert ratio <= exp_lower_bound(epsilon)
        assert ratio <= exp_lower_bound(tree(made).epsilon) * (1 + Fraction(1, 10**40))
        worst = max(worst, ratio)
    # The promise is used up: by one person's bit, or by somebody whose signs differ at all levels.
    used = 1.0 if splitting != "budget" else 2 / 3
    assert worst >= exp_lower_bound(0.999 * epsilon * used)


def test_budget_multiplies_its_levels():
    """For two leaves whose signs differ at m levels the ratio is that of one bit to the power m, exactly."""
    made = study(Levels(range(8)), 1.5, splitting="budget", rows="all")
    protocol = tree(made)
    bit = response(protocol)
    one = Fraction(bit.floor + bit.boost, bit.floor)
    powers = set()
    for index in range(6):
        table = [pmf(made, 0, index, value) for value in range(8)]
        for first, second in itertools.combinations(table, 2):
            ratio = largest_ratio([first, second])
            power = next(m for m in range(4) if one**m == ratio)
            powers.add(power)
    assert powers == {0, 1, 2, 3}
    assert one**3 <= exp_lower_bound(1.5)


def test_spending_everything_at_each_level_is_noticed():
    """Negative control: the whole epsilon at each of three levels breaks the exact inequality."""
    made = study(Levels(range(8)), 1.5, splitting="budget", rows="all")
    cheat = Tree(
        made.statistic, made.domains, 3, "budget", "all", (KaryResponse.for_epsilon(2, 1.5),), delta=0.0
    )
    wrong = Study(made.statistic, made.domains, cheat, cheat.epsilon, 0.0, 1)
    ratios = [largest_ratio([pmf(wrong, 0, index, value) for value in range(8)]) for index in range(6)]
    assert max(ratios) > exp_lower_bound(1.5)
    assert cheat.epsilon == pytest.approx(4.5)
    with pytest.raises(BadParameter, match=r"loses epsilon 4\.5 .*promises 1\.5"):
        replace(wrong, epsilon=1.5)


@pytest.mark.parametrize("splitting", ["budget-advanced", "budget-advanced-paper"])
def test_delta_over_all_pairs_of_leaves(splitting):
    """Every output of every pair of leaves: the excess over e^epsilon adds up to at most delta."""
    made = study(Levels(range(16)), 0.8, splitting=splitting, delta=1e-2)
    factor = exp_lower_bound(tree(made).epsilon)
    worst = Fraction(0)
    for index in (0, 1, 2) if FULL else (0, 1):
        table = [pmf(made, 0, index, value) for value in range(16)]
        for first, second in itertools.permutations(table, 2):
            pairs = zip(first, second, strict=True)
            excess = sum((max(p - factor * q, Fraction(0)) for p, q in pairs), Fraction(0))
            worst = max(worst, excess)
    assert worst <= Fraction(1e-2) * (1 + Fraction(1, 10**9))
    assert splitting != "budget-advanced" or worst > Fraction(1, 200)


def test_public_coins_do_not_depend_on_the_value():
    """What is public is computed from the study, the stratum and the index alone."""
    made = study(Levels(range(8)), splitting="users")
    truthful = [WORDS - 1]
    for index in range(40):
        bits = [
            int(tree(made).randomize(made.coins, 0, index, [[value]], tape(truthful))[0])
            for value in range(8)
        ]
        # A row without row 0 splits the leaves in two halves, whatever its level.
        assert sum(bits) == 4


# ---------------------------------------------------------------- what is promised


def test_the_claim_says_what_it_rests_on():
    pure = study(splitting="users").privacy
    assert (pure.delta, pure.rounds) == (0, 1)
    assert "exact ratio" in pure.theorem
    assert "16 levels" in study(splitting="budget").privacy.theorem
    advanced = study(splitting="budget-advanced").privacy
    assert "Kairouz" in advanced.theorem
    assert "1e-06" in str(advanced)


def test_reports_hold_nothing_but_the_symbol():
    """Two values with the same sign at the public row give the same bytes from the same tape."""
    made = study(Levels(range(8)), rows="others")
    wires = {
        bytes(
            Participant(made, 3, "positive", bits=tape([WORDS - 1]), max_delta=made.delta).report(score=value)
        )
        for value in range(8)
    }
    assert len(wires) == 2
    assert len({wire[:18] for wire in wires}) == 1


def test_the_study_decides_over_the_coins():
    first, second = study(seed=1), study(seed=2)
    assert isinstance(first.coins, Coins)
    a, b = (
        tree(each).randomize(each.coins, 0, 0, [np.full(64, 0.7)], tape([WORDS - 1] * 64))
        for each in (first, second)
    )
    assert a.tolist() != b.tolist()
