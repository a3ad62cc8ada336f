"""The participant's side of a tree study: the exact privacy of a report, leaves, and what is refused."""

import itertools
import json
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpairs
from dpairs import (
    BadFile,
    BadParameter,
    BadValue,
    Categories,
    Integers,
    Interval,
    Levels,
    Participant,
    Report,
    Study,
    Tally,
)
from dpairs.formats.canonical import canonical, digest
from dpairs.mechanisms import KaryResponse, largest_ratio
from dpairs.protocols import Tree
from dpairs.protocols.tree.answers import SPLITTINGS
from dpairs.randomness import WORDS, SeededRandomness, TapeRandomness
from dpairs.randomness.coins import Coins
from tests.mechanisms.exponential import exp_lower_bound

from ...every import every
from ...strategies import QUICK

STRATA = ("positive", "negative")
PURE = ("users", "users-independent", "budget")


def study(domain: Any = None, epsilon: float = 1.0, **options: Any) -> Study:
    chosen: Any = Interval(0, 1) if domain is None else domain
    given_options = {"seed": 1, **options}
    if "advanced" in options.get("splitting", ""):
        given_options.setdefault("delta", 1e-6)
    return Study.create("auc", protocol="tree", epsilon=epsilon, domain=chosen, **given_options)


def tree(made: Study) -> Tree:
    assert isinstance(made.protocol, Tree)
    return made.protocol


def response(protocol: Tree) -> KaryResponse:
    """The randomized response of one bit."""
    return protocol.responses[0]


def tape(words: Any) -> TapeRandomness:
    return TapeRandomness(b"".join(int(word).to_bytes(8, "little") for word in words))


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
    for stratum, index in itertools.product((0, 1), (0, 1, 2, 3, 10**6)):
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
    for index in range(12):
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
    wrong = Study(made.statistic, made.domains, cheat, 1.5, 0.0, 1)
    ratios = [largest_ratio([pmf(wrong, 0, index, value) for value in range(8)]) for index in range(6)]
    assert max(ratios) > exp_lower_bound(1.5)
    assert cheat.epsilon == pytest.approx(4.5)
    with pytest.raises(BadFile, match=r"loses 4\.5"):
        Study.from_json(wrong.to_json())


@pytest.mark.parametrize("splitting", ["budget-advanced", "budget-advanced-paper"])
def test_delta_over_all_pairs_of_leaves(splitting):
    """Every output of every pair of leaves: the excess over e^epsilon adds up to at most delta."""
    made = study(Levels(range(16)), 0.8, splitting=splitting, delta=1e-2)
    factor = exp_lower_bound(tree(made).epsilon)
    worst = Fraction(0)
    for index in (0, 1, 2):
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


# ---------------------------------------------------------------- the answer itself, in whole numbers


def coins_of(made: Study, stratum: int, index: int) -> list[tuple[int, int]]:
    """(level, row) of each bit of a report, from the documentation alone."""
    protocol, key = tree(made), np.array(made.coins.key, dtype=np.uint64)

    def words(purpose: int, first: int, count: int) -> list[int]:
        counter = np.array([first, stratum, purpose, 0], dtype=np.uint64)
        return np.random.Philox(key=key, counter=counter).random_raw(4 * count).tolist()

    def row(word: int, level: int) -> int:
        if protocol.rows == "all":
            return word >> 64 - level
        return (word * (2**level - 1) >> 64) + 1 if level <= 32 else max(word >> 64 - level, 1)

    depth, blocks = protocol.depth, -(-protocol.depth // 4)
    if protocol.everybody_everywhere:
        drawn = words(2, index * blocks, blocks)
        return [(level, row(drawn[level - 1], level)) for level in range(1, depth + 1)]
    own = words(0, index, 1)
    if protocol.splitting == "users-independent":
        level = (own[1] * depth >> 64) + 1
    else:
        block, place = divmod(index, depth)
        drawn = words(1, block * blocks, blocks)[:depth]
        level = sorted(range(1, depth + 1), key=lambda each: drawn[each - 1])[place]
    first = row(own[0], level)
    found, more = [first], -(-(protocol.parities - 1) // 4)
    for word in words(3, index * more, more)[: min(level, protocol.parities) - 1] if more else ():
        short = row(word, level - len(found))
        for pivot in sorted(each.bit_length() - 1 for each in found):
            short = short >> pivot << pivot + 1 | short & (1 << pivot) - 1
        found.append(short)
    return [(level, each) for each in found]


DOMAINS = [
    Interval(-2, 3),
    Integers(-(2**63), 2**63 - 1),
    Integers(0, 1000),
    Levels(["a", "b", "c", "d", "e"]),
]


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("splitting", SPLITTINGS)
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_a_truthful_report_is_the_sign_of_its_public_rows(domain, splitting, rows):
    made = study(domain, 1.0, splitting=splitting, rows=rows)
    protocol = tree(made)
    examples: dict[str, list[Any]] = {
        "interval": [-2.0, 3.0, 0.123],
        "integers": [getattr(domain, "low", 0), getattr(domain, "high", 0), 77],
        "levels": ["a", "e", "c"],
    }
    values = examples[domain.kind]
    for index, (stratum, value) in enumerate(itertools.product((0, 1), values)):
        leaf = int(protocol.leaves([value])[0])
        expected = 0
        for place, (level, row) in enumerate(coins_of(made, stratum, index)):
            node = leaf >> protocol.depth - level
            expected |= (node & row).bit_count() % 2 << place
        report = Participant(
            made, index, STRATA[stratum], max_delta=made.delta, bits=tape([WORDS - 1] * protocol.answers)
        )
        assert report.report(score=value).symbol == expected


@pytest.mark.parametrize("splitting", [*SPLITTINGS, "several-bits"])
def test_many_and_one_at_a_time_agree(splitting):
    """One word for each response, person by person, level by level."""
    made = study(bins=2**9, splitting=splitting) if splitting in SPLITTINGS else several_bits(Interval(0, 1))
    protocol, people = tree(made), 50
    scores = np.random.default_rng(3).random(people)
    each = protocol.depth if protocol.everybody_everywhere else 1
    words = SeededRandomness(4).words(people * each).reshape(people, -1)
    for stratum, name in enumerate(STRATA):
        together = protocol.randomize(made.coins, stratum, 1000, [scores], tape(words.reshape(-1)))
        alone = [
            Participant(made, 1000 + place, name, bits=tape(words[place]), max_delta=made.delta)
            .report(score=score)
            .symbol
            for place, score in enumerate(scores)
        ]
        assert together.tolist() == alone


def test_a_bit_takes_one_word():
    for splitting, count in (("users", 1), ("users-independent", 1), ("budget", 9)):
        made = study(bins=2**9, splitting=splitting)
        with pytest.raises(dpairs.TapeExhausted):
            Participant(made, 0, "positive", bits=tape([0] * (count - 1)), max_delta=made.delta).report(
                score=0.5
            )
        Participant(made, 0, "positive", bits=tape([0] * count), max_delta=made.delta).report(score=0.5)


@pytest.mark.parametrize("splitting", ["users", "users-independent"])
@pytest.mark.parametrize("domain", [Interval(0, 1), Integers(-(2**63), 2**63 - 1)], ids=str)
def test_one_bit_leaves_the_device(domain, splitting):
    """Erratum 8: level and row are public coins, so the payload is one bit, in one byte."""
    made = study(domain, splitting=splitting)
    seen = set()
    for index in range(64):
        wire = bytes(Participant(made, index, "negative", max_delta=made.delta).report(score=1))
        assert len(wire) == 18 + 1
        seen.add(wire[18])
        assert Report.from_bytes(wire, made).symbol == wire[18]
    assert seen == {0, 1}
    with pytest.raises((BadParameter, BadValue), match="symbol"):
        Report.from_bytes(wire[:18] + b"\2", made)


@pytest.mark.parametrize(("depth", "size"), [(1, 1), (8, 1), (9, 2), (16, 2), (17, 3), (64, 8)])
def test_budget_reports_have_a_bit_for_each_level(depth, size):
    made = study(Integers(0, 2**64 - 1), bins=2**depth, splitting="budget")
    assert tree(made).symbols == 2**depth
    report = Participant(made, 5, "positive", max_delta=made.delta).report(score=2**64 - 1)
    assert len(bytes(report)) == 18 + size
    assert Report.from_bytes(bytes(report), made) == report
    tally = Tally(made)
    tally.add(Report(made, "positive", 6, 2**depth - 1))
    tally.add(Report(made, "positive", 7, 0))
    assert tally.sizes == {"positive": 2, "negative": 0}


@every("splitting", SPLITTINGS)
@every("depth", [1, 16, 17, 52])
def test_the_first_and_the_last_index_can_answer(depth, splitting):
    made = study(bins=2**depth, splitting=splitting, epsilon=0.5)
    for index in (0, 2**53 - 1):
        report = Participant(made, index, "negative", max_delta=made.delta).report(score=0.5)
        tally = Tally(made)
        tally.add(report)
        assert tally.n == 1


# ---------------------------------------------------------------- leaves


@QUICK
@given(st.floats(0, 1), st.integers(1, 52))
def test_leaves_of_the_unit_interval_are_exact(value, depth):
    found = int(tree(study(bins=2**depth)).leaves([value])[0])
    assert found == min(math.floor(Fraction(value) * 2**depth), 2**depth - 1)


@QUICK
@given(
    st.floats(-1e9, 1e9),
    st.floats(1e-3, 1e9),
    st.integers(1, 40),
    st.lists(st.floats(0, 1), min_size=2, max_size=8),
)
def test_leaves_of_any_interval_ascend_and_are_right_but_for_rounding(low, width, depth, shares):
    domain = Interval(low, low + width)
    values = sorted(min(domain.low + share * (domain.high - domain.low), domain.high) for share in shares)
    found = tree(study(domain, bins=2**depth)).leaves(values).tolist()
    assert found == sorted(found)
    assert found[-1] <= 2**depth - 1
    for value, leaf in zip(values, found, strict=True):
        place = (Fraction(value) - Fraction(domain.low)) / (Fraction(domain.high) - Fraction(domain.low))
        exact = place * 2**depth
        assert abs(leaf - min(exact, 2**depth - 1)) <= 1 + exact * Fraction(1, 2**50)


@pytest.mark.parametrize(
    ("low", "high"), [(0, 1), (-1e300, 1e300), (0, 1e-300), (-1e-300, 1e-300), (-3.5, 1e9), (1e9, 1e9 + 1)]
)
@pytest.mark.parametrize("depth", [1, 16, 52])
def test_the_ends_of_any_interval_have_the_first_and_the_last_leaf(low, high, depth):
    domain = Interval(low, high)
    protocol = tree(study(domain, bins=2**depth))
    assert protocol.leaves([domain.low, domain.high]).tolist() == [0, 2**depth - 1]
    middle = domain.low + (domain.high - domain.low) / 2
    # Rounded three times: the middle, its distance from the low end, and the product.
    assert abs(int(protocol.leaves([middle])[0]) - 2 ** (depth - 1)) <= 1 + 2 ** (depth - 50)


def test_leaves_leave_the_values_alone():
    values = np.array([0.0, 0.25, 1.0])
    tree(study()).leaves(values)
    assert values.tolist() == [0.0, 0.25, 1.0]


@pytest.mark.parametrize(
    ("low", "high"),
    [
        (-(2**63), 2**63 - 1),
        (0, 2**64 - 1),
        (-(2**63), 2**62),
        (2**63, 2**64 - 1),
        (-5, 94),
        (0, 1),
        (10, 17),
    ],
)
def test_leaves_of_integers_are_exact(low, high):
    domain = Integers(low, high)
    bits = (domain.size - 1).bit_length()
    middle = (low + high) // 2
    values = sorted({low, low + 1, middle - 1, middle, middle + 1, high - 1, high} & set_between(low, high))
    for depth in sorted({1, bits // 2, bits - 1, bits} - {0}):
        found = tree(study(domain, bins=2**depth)).leaves(np.array(values, dtype=object))
        assert found.tolist() == [value - low >> bits - depth for value in values]
    assert tree(study(domain)).depth == bits


def set_between(low: int, high: int) -> set[int]:
    middle = (low + high) // 2
    return {
        value
        for value in (low, low + 1, middle - 1, middle, middle + 1, high - 1, high)
        if low <= value <= high
    }


@pytest.mark.parametrize("values", [["low", "mid", "high"], [1, 2, 3, 4, 5], [0.5, 2.5], list(range(4096))])
def test_leaves_of_levels_are_their_places(values):
    protocol = tree(study(Levels(values)))
    assert protocol.leaves(values).tolist() == list(range(len(values)))
    assert protocol.depth == max(1, (len(values) - 1).bit_length())


def test_default_depths():
    assert tree(study(Interval(0, 1))).depth == 16
    assert tree(study(Integers(0, 99))).depth == 7
    assert tree(study(Integers(-(2**63), 2**63 - 1))).depth == 64
    assert tree(study(Levels(["a", "b"]))).depth == 1


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf, "0.5", None, [0.5]])
def test_values_outside_are_refused(value):
    with pytest.raises(BadValue, match="score"):
        Participant(study(), 0, "positive").report(score=value)


# ---------------------------------------------------------------- what is refused


@every(
    ("options", "error"),
    [
        ({"labels": "private"}, "public labels"),
        ({"bins": 3}, "power of 2"),
        ({"bins": 100}, "power of 2"),
        ({"bins": 1}, "whole number"),
        ({"bins": 0}, "whole number"),
        ({"bins": 2.0}, "whole number"),
        ({"bins": True}, "whole number"),
        ({"bins": "8"}, "whole number"),
        ({"bins": 2**65}, "whole number"),
        ({"bins": 2**53}, r"2\^52"),
        ({"domain": Integers(0, 99), "bins": 256}, r"2\^7"),
        ({"domain": Levels(range(8)), "bins": 4}, r"2\^3"),
        ({"domain": Levels(range(8)), "bins": 16}, r"2\^3"),
        ({"domain": Categories(["a", "b"])}, "ordered"),
        ({"domain": (Interval(0, 1), Interval(0, 1))}, "domain"),
        ({"splitting": "budget-advanced", "delta": None}, "needs a delta"),
        ({"splitting": "budget-advanced-paper", "delta": None}, "needs a delta"),
        ({"splitting": "budget-advanced", "delta": 0}, "delta"),
        ({"splitting": "budget-advanced", "delta": 1}, "delta"),
        ({"splitting": "budget-advanced", "delta": "1e-6"}, "delta"),
        ({"splitting": "budget-advanced", "delta": math.nan}, "delta"),
        ({"splitting": "users", "delta": 1e-6}, "takes no delta"),
        ({"splitting": "users-independent", "delta": 1e-6}, "takes no delta"),
        ({"splitting": "budget", "delta": 1e-6}, "takes no delta"),
        ({"splitting": "levels"}, "splitting"),
        ({"splitting": None}, "splitting"),
        ({"rows": "some"}, "rows"),
        ({"rows": None}, "rows"),
        ({"mechanism": "krr"}, "mechanism"),
        ({"kernel": "average"}, "kernel"),
        ({"rounding": "random"}, "rounding"),
        ({"splitting": "budget-advanced-paper", "epsilon": 3.0, "delta": 1e-6}, "optimal one"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": 1e-25}, "too small"),
    ],
)
def test_parameters_that_do_not_fit_are_refused(options, error):
    given_options: dict[str, Any] = {"epsilon": 1.0, "domain": Interval(0, 1), "seed": 1, **options}
    with pytest.raises(BadParameter, match=error):
        Study.create("auc", protocol="tree", **given_options)


@pytest.mark.parametrize(
    ("statistic", "domain"),
    [
        ("mann_whitney", Interval(0, 1)),
        ("kendall_tau", (Interval(0, 1), Interval(0, 1))),
        ("gini_mean_difference", Interval(0, 1)),
        ("variance", Interval(0, 1)),
        ("collision_entropy", Levels(range(4))),
    ],
)
def test_other_statistics_are_refused(statistic, domain):
    with pytest.raises(BadParameter, match="the tree protocol computes the AUC"):
        Study.create(statistic, protocol="tree", epsilon=1.0, domain=domain)


def test_kernels_are_refused():
    kernel = dpairs.Kernel(lambda a, b: (a > b) * 1.0, range=(0, 1), domain=Interval(0, 1))
    with pytest.raises(BadParameter, match="the tree protocol computes the AUC"):
        Study.create(kernel, protocol="tree", epsilon=1.0)


def test_a_response_to_more_than_two_inputs_is_refused():
    made = study()
    with pytest.raises(BadParameter, match="inputs"):
        Tree(made.statistic, made.domains, 16, "users", "all", (KaryResponse.for_epsilon(3, 1.0),), 0.0)


# ---------------------------------------------------------------- the study's file


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("splitting", SPLITTINGS)
@pytest.mark.parametrize("domain", DOMAINS, ids=str)
def test_json_round_trip(domain, splitting, rows):
    made = study(domain, 1.0, splitting=splitting, rows=rows, ties="zero")
    again = Study.from_json(made.to_json())
    assert again == made
    assert again.protocol == made.protocol
    assert again.coins == made.coins
    assert again.privacy == made.privacy
    assert again.privacy.epsilon <= 1.0
    assert made.privacy.delta == (1e-6 if "advanced" in splitting else 0)


@pytest.mark.parametrize("splitting", ["users", "budget", "budget-advanced"])
@pytest.mark.parametrize("epsilon", [1e-6, 0.1, 10.0, 100.0, 1e4])
def test_json_round_trip_at_small_and_large_epsilon(epsilon, splitting):
    made = study(epsilon=epsilon, splitting=splitting)
    assert Study.from_json(made.to_json()) == made
    assert made.privacy.epsilon <= epsilon


def forged(made: Study, protocol: dict[str, Any], **content: Any) -> str:
    """A changed study whose id belongs to its contents."""
    spec = json.loads(made.to_json())
    del spec["id"]
    spec["protocol"].update(protocol)
    for name in [name for name, value in spec["protocol"].items() if value is ...]:
        del spec["protocol"][name]
    spec.update(content)
    return canonical({**spec, "id": digest(spec)})


def test_forging_is_possible_at_all():
    """Negative control of the refusals below: a harmless change is accepted."""
    changed = Study.from_json(forged(study(), {"rows": "all"}))
    assert tree(changed).rows == "all"


@every(
    ("change", "error"),
    [
        ({"depth": 0}, "depth"),
        ({"depth": 53}, r"2\^52"),
        ({"depth": 65}, "depth"),
        ({"depth": 16.5}, "depth"),
        ({"depth": "16"}, "depth"),
        ({"depth": True}, "depth"),
        ({"depth": None}, "depth"),
        ({"depth": ...}, "lacks 'depth'"),
        ({"splitting": "all"}, "splitting"),
        ({"splitting": 1}, "splitting"),
        ({"splitting": ["users"]}, "splitting"),
        ({"splitting": ...}, "lacks 'splitting'"),
        ({"splitting": "budget"}, "loses"),
        ({"splitting": "budget-advanced"}, "delta"),
        ({"rows": "none"}, "rows"),
        ({"rows": {}}, "rows"),
        ({"rows": ...}, "lacks 'rows'"),
        ({"floors": ["0"]}, "floor"),
        ({"floors": ["1"]}, "loses"),
        ({"floors": ["-5"]}, "floor"),
        ({"floors": [12]}, "floor"),
        ({"floors": ["1e5"]}, "floor"),
        ({"floors": ["٣"]}, "floor"),
        ({"floors": [str(2**63)]}, "floor"),
        ({"floors": ["9" * 20]}, "floor"),
        ({"floors": ["9" * 21]}, "floor"),
        ({"floors": [None]}, "floor"),
        ({"floors": ...}, "lacks 'floors'"),
        ({"floors": []}, "parities|responses"),
        ({"floors": str(2**62)}, "floors"),
        ({"floors": {}}, "floors"),
        ({"floors": None}, "floors"),
        ({"floors": [str(2**62)] * 7}, "floor"),
        ({"delta": 1e-6}, "delta"),
        ({"delta": "0"}, "delta"),
        ({"delta": None}, "delta"),
        ({"delta": False}, "delta"),
        ({"delta": -1}, "delta"),
        ({"delta": 10**400}, "delta"),
        ({"delta": ...}, "lacks 'delta'"),
        ({"comment": "hello"}, "comment"),
        ({"name": "histogram"}, "histogram"),
        ({"name": "trees"}, "protocol"),
    ],
)
def test_forged_fields_are_refused(change, error):
    with pytest.raises(BadFile, match=error):
        Study.from_json(forged(study(), change))


@pytest.mark.parametrize("delta", [0.0, 1e-5, 1, 10**400, "1e-6", None], ids=lambda value: str(value)[:6])
def test_a_forged_delta_is_refused_in_both_places(delta):
    made = study(splitting="budget-advanced")
    for change, content in (
        ({}, {"delta": delta}),
        ({"delta": delta}, {}),
        ({"delta": delta}, {"delta": delta}),
    ):
        # A larger delta in both places is a weaker but honest study; its epsilon is below the asked one.
        if delta == 1e-5 and change and content:
            assert Study.from_json(forged(made, change, **content)).delta == 1e-5
            continue
        with pytest.raises(BadFile):
            Study.from_json(forged(made, change, **content))


def test_a_study_of_another_statistic_cannot_be_a_tree():
    made = study()
    for statistic in (
        {"name": "auc", "ties": "half", "labels": "private"},
        {"name": "mann_whitney", "ties": "half", "labels": "public"},
        {"name": "variance"},
    ):
        with pytest.raises(BadFile):
            Study.from_json(forged(made, {}, statistic=statistic))


def test_a_leading_zero_in_the_floor_is_refused():
    floor = str(response(tree(study(epsilon=5.0))).floor)
    with pytest.raises(BadFile):
        Study.from_json(forged(study(epsilon=5.0), {"floors": ["0" + floor]}))


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


# ---------------------------------------------------------------- several bits of one level


def several_bits(domain: Any, epsilon: float = 4.0, **options: Any) -> Study:
    made = study(domain, epsilon, answer="several-bits", **options)
    assert tree(made).parities > 1
    return made


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


# ---------------------------------------------------------------- vectors


VECTORS = sorted((Path(__file__).parents[3] / "vectors").glob("tree_*.json"))


@pytest.mark.parametrize("path", VECTORS, ids=lambda path: path.stem)
def test_vectors_have_the_coins_and_the_symbols_of_the_documentation(path):
    """A second opinion on every report, in whole numbers: coins, signs and the randomized response."""
    vector = json.loads(path.read_text(encoding="utf-8"))
    made = Study.from_json(vector["study"])
    protocol = tree(made)
    for step in vector["operations"]:
        if step["operation"] != "report" or not step["success"]:
            continue
        stratum, index = STRATA.index(step["stratum"]), int(step["index"])
        coins = [(each["level"], int(each["row"])) for each in step["coins"]]
        assert coins == coins_of(made, stratum, index)
        value = step["values"]["score"]
        leaf = int(protocol.leaves([int(value) if made.domains[0].kind == "integers" else value])[0])
        signs = [(leaf >> protocol.depth - level & row).bit_count() % 2 for level, row in coins]
        words = np.frombuffer(bytes.fromhex(step["tape"]), dtype="<u8").tolist()
        if not protocol.everybody_everywhere:
            signs = [sum(sign << place for place, sign in enumerate(signs))]
        used = protocol.responses[len(coins) - 1 if not protocol.everybody_everywhere else 0]
        sent = [
            word // used.floor if word // used.floor < used.inputs else sign
            for word, sign in zip(words, signs, strict=True)
        ]
        assert step["symbol"] == sum(bit << place for place, bit in enumerate(sent))


def test_there_are_vectors_of_every_splitting():
    good = [path for path in VECTORS if "_bad_" not in path.stem]
    studies = [Study.from_json(json.loads(path.read_text(encoding="utf-8"))["study"]) for path in good]
    assert {tree(made).splitting for made in studies} == set(SPLITTINGS)
    assert {tree(made).rows for made in studies} == {"all", "others"}
    assert max(tree(made).parities for made in studies) > 1
    assert max(tree(made).depth for made in studies) == 64
    assert len(VECTORS) - len(good) >= 4
