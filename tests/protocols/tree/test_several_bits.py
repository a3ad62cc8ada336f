"""Reports of several bits of one level: private, short, and refused where they do not fit."""

from fractions import Fraction
from typing import Any

import pytest

from dpairs import (
    BadFile,
    BadParameter,
    Integers,
    Interval,
    Levels,
    Participant,
    Study,
)
from dpairs.mechanisms import largest_ratio
from dpairs.randomness import WORDS
from tests.mechanisms.exponential import exp_lower_bound

from .answers import DOMAINS, coins_of, forged, several_bits, study, tape, tree


@pytest.mark.parametrize("splitting", ["users", "users-independent"])
@pytest.mark.parametrize("epsilon", [2.5, 6.0])
def test_several_bits_keep_the_ratio_over_all_pairs_of_leaves(epsilon, splitting):
    """By the words at which symbols change, of the response that the person's level has."""
    made = several_bits(Levels(range(16)), epsilon, splitting=splitting)
    protocol = tree(made)
    seen, worst = set(), Fraction(1)
    levels = {coins_of(made, 0, index)[0][0]: index for index in range(8)}
    for level, index in levels.items():  # people of one level answer alike, about other rows
        parities = min(level, protocol.parities)
        seen.add(parities)
        used = protocol.responses[parities - 1]
        ends = [(place * used.floor, (place + 1) * used.floor - 1) for place in range(used.inputs)]
        ends.append((used.inputs * used.floor, WORDS - 1))
        table = []
        for value in range(16):
            chances = [Fraction(0)] * protocol.symbols
            for first, last in ends:
                sent = [
                    int(protocol.randomize(made.coins, 0, index, [[value]], tape([word]))[0])
                    for word in (first, last)
                ]
                assert sent[0] == sent[1]
                chances[sent[0]] += Fraction(last - first + 1, WORDS)
            assert sum(chances) == 1
            assert all(chance == 0 for chance in chances[used.inputs :])
            table.append(chances[: used.inputs])
        ratio = largest_ratio(table)
        assert ratio <= exp_lower_bound(epsilon)
        worst = max(worst, ratio)
    assert protocol.parities in seen
    assert len(seen) > 1
    assert worst >= exp_lower_bound(0.999 * epsilon)


def test_several_bits_fit_one_byte():
    made = several_bits(Interval(0, 1), 8.0)
    protocol = tree(made)
    assert protocol.symbols == 2**protocol.parities <= 64
    for index in range(32):
        wire = bytes(Participant(made, index, "positive", max_delta=made.delta).report(score=0.3))
        assert len(wire) == 19
        assert wire[18] < 2 ** min(coins_of(made, 0, index)[0][0], protocol.parities)


@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_several_bits_round_trip(domain):
    made = several_bits(domain, 5.0, ties="zero")
    again = Study.from_json(made.to_json())
    assert again == made
    assert again.protocol == made.protocol
    assert made.privacy.epsilon <= 5.0


def test_one_bit_is_chosen_where_several_do_not_pay():
    assert tree(study(epsilon=0.5, answer="several-bits")).parities == 1
    assert tree(study(epsilon=0.5, answer="several-bits")) == tree(study(epsilon=0.5))


@pytest.mark.parametrize(
    "options",
    [
        {"splitting": "budget", "epsilon": 90.0},
        {"rows": "all", "epsilon": 5.0},
        {"answer": "two", "epsilon": 5.0},
    ],
)
def test_several_bits_that_do_not_fit_are_refused(options):
    given_options: dict[str, Any] = {"answer": "several-bits", **options}
    with pytest.raises(BadParameter, match=r"several bits|answer"):
        study(**given_options)


@pytest.mark.parametrize("index", [0, 2**52, 2**53 - 1])
def test_several_bits_exist_for_every_index(index):
    made = several_bits(Integers(0, 2**64 - 1), 8.0)
    assert (
        Participant(made, index, "negative", max_delta=made.delta).report(score=5).symbol < tree(made).symbols
    )


@pytest.mark.parametrize("wrong", ["drop", "swap", "lower the last"])
def test_forged_floors_are_refused(wrong):
    made = several_bits(Interval(0, 1), 5.0)
    floors = [str(each.floor) for each in tree(made).responses]
    changed = {
        "drop": floors[1:],
        "swap": floors[::-1],
        "lower the last": [*floors[:-1], str(int(floors[-1]) // 2)],
    }[wrong]
    with pytest.raises(BadFile):
        Study.from_json(forged(made, {"floors": changed}))
