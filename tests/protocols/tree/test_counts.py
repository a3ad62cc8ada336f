"""Counts of tree studies: against a plain dictionary, dense and sparse, merged, written, and their memory."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest

from dpairs import BadValue, Integers, Interval, Study, Tally, simulate_tally
from dpairs.protocols.sides import of_symbols
from dpairs.protocols.tree.counts import CROWDED, DENSE_LEVELS, SMALL_LEVELS, LevelCounts, TreeCounts

from ...every import every
from .answers import coins_of
from .tallies import STRATA, Cells, cells, filled, study, symbols, tree, with_level

DEPTHS = [1, 3, 21, 24, 40, 64]
SPLITTINGS = ["users", "users-independent", "budget"]


def expected(made: Study, stratum: int, first: int, given: np.ndarray) -> Cells:
    found: Cells = Counter()
    for place, symbol in enumerate(given.tolist()):
        for bit, (level, row) in enumerate(coins_of(made, stratum, first + place)):
            found[level, row, symbol >> bit & 1] += 1
    return found


# ---------------------------------------------------------------- adding


@every("rows", ["all", "others"])
@every("splitting", SPLITTINGS)
@every("depth", DEPTHS)
def test_counts_are_those_of_a_plain_dictionary(depth, splitting, rows):
    made = study(depth, splitting, rows=rows)
    for stratum, name in enumerate(STRATA):
        given = symbols(depth, splitting, 90, 7)
        tally = Tally(made)
        tally.add_symbols(name, given, 33)
        counts = tree(tally.counts(name))
        assert cells(counts) == expected(made, stratum, 33, given)
        assert counts.people == 90
        answered = [level.people for level in counts.levels]
        assert sum(answered) == 90 * (depth if splitting == "budget" else 1)
        if splitting == "users" and depth < 45:
            assert max(answered) - min(answered) <= 2


@pytest.mark.parametrize("splitting", SPLITTINGS)
@pytest.mark.parametrize("depth", [3, 24, 64])
def test_one_at_a_time_in_slices_and_at_once_are_the_same(depth, splitting):
    made, given = study(depth, splitting), symbols(depth, splitting, 60, 8)
    once, slices, alone = Tally(made), Tally(made), Tally(made)
    once.add_symbols("positive", given, 10)
    for start, end in ((40, 60), (0, 7), (7, 40)):
        slices.add_symbols("positive", given[start:end], 10 + start)
    for place in np.random.default_rng(1).permutation(60):
        alone.add_symbols("positive", given[place : place + 1], 10 + int(place))
    assert once == slices == alone
    assert once.n == 60


def test_nothing_is_nothing():
    tally = Tally(study(24))
    tally.add_symbols("positive", np.zeros(0, dtype=np.int64), 5)
    assert tally.n == 0
    assert tally == Tally(study(24))


@pytest.mark.parametrize(("splitting", "bad"), [("users", 2), ("users", -1), ("budget", 8), ("budget", -1)])
def test_symbols_out_of_range_are_refused_and_change_nothing(splitting, bad):
    tally = Tally(study(3, splitting))
    with pytest.raises(BadValue, match="symbols of this study"):
        tally.add_symbols("positive", np.array([0, bad]))
    assert tally == Tally(study(3, splitting))


@pytest.mark.parametrize("level", [DENSE_LEVELS, DENSE_LEVELS + 1])
def test_signs_are_zeros_minus_ones(level):
    counts = LevelCounts(level)
    counts.add(np.array([3, 3, 3, 9], dtype=np.uint64), np.array([0, 0, 1, 1], dtype=np.uint8))
    assert counts.people == 4
    by_row = {int(row): int(sign) for row, sign in zip(counts.rows, counts.signs, strict=True) if sign}
    assert by_row == {3: 1, 9: -1}


def test_many_reports_settle_on_the_way():
    """More than the buffer, at a sparse level with few rows: counted, not kept."""
    counts, rng = LevelCounts(30), np.random.default_rng(2)
    truth: Cells = Counter()
    for _ in range(5):
        rows = rng.integers(0, 50, 40_000, dtype=np.uint64)
        bits = rng.integers(0, 2, 40_000, dtype=np.uint8)
        counts.add(rows, bits)
        truth.update(zip([30] * rows.size, rows.tolist(), bits.tolist(), strict=True))
    counts.settle()
    assert counts.rows.tolist() == sorted(set(counts.rows.tolist()))
    found = {
        (30, int(row), bit): int(counts.counts[bit, place])
        for place, row in enumerate(counts.rows)
        for bit in (0, 1)
    }
    assert found == truth


def test_several_bits_stand_for_all_rows_that_theirs_span():
    made = Study.create(
        "auc", protocol="tree", epsilon=5.0, domain=Integers(0, 2**64 - 1), answer="several-bits", seed=5
    )
    parities = of_symbols(made).symbols.bit_length() - 1
    assert parities > 1
    tally = Tally(made)
    truth: Cells = Counter()
    for index in range(200):
        coins = coins_of(made, 0, index)
        symbol = index % 2 ** len(coins)
        tally.add_symbols("positive", np.array([symbol]), index)
        for chosen in range(1, 2 ** len(coins)):
            row = 0
            for place, (_, each) in enumerate(coins):
                row ^= each * (chosen >> place & 1)
            truth[coins[0][0], row, (symbol & chosen).bit_count() % 2] += 1
    assert cells(tally.counts("positive")) == truth
    assert tally.n == 200
    again = Tally.from_json(tally.to_json(), made)
    assert again == tally
    assert again.n == 200
    assert (again + tally).n == 400


# ---------------------------------------------------------------- merging


@pytest.mark.parametrize("splitting", ["users", "budget"])
@pytest.mark.parametrize("depth", [1, 3, 21, 40, 64])
def test_merging_is_adding_in_any_order(depth, splitting):
    made = study(depth, splitting)
    first, second, third = (filled(made, splitting, 40, seed, 100 * seed) for seed in (1, 2, 3))
    before = [each.to_json() for each in (first, second, third)]
    assert first + second == second + first
    assert (first + second) + third == first + (second + third)
    assert first + Tally(made) == first
    direct = Tally(made)
    for seed in (3, 1, 2):
        for place, stratum in enumerate(STRATA):
            given = symbols(depth, splitting, 40, seed + place)
            direct.add_symbols(stratum, given, 100 * seed)
    both = first + second + third
    assert both == direct
    assert both.sizes == {"positive": 120, "negative": 120}
    assert [each.to_json() for each in (first, second, third)] == before


@pytest.mark.parametrize("depth", [3, 24])
def test_a_merged_tally_goes_on_counting(depth):
    made = study(depth)
    first, second = filled(made, "users", 30, 1), filled(made, "users", 30, 2, 30)
    both = first + second
    given = symbols(depth, "users", 30, 9)
    both.add_symbols("positive", given, 60)
    first.add_symbols("positive", given, 60)
    assert both == first + second


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("splitting", ["users", "budget"])
@pytest.mark.parametrize("depth", [1, 3, 24, 40, 64])
def test_json_round_trip_also_after_a_merge(depth, splitting):
    made = study(depth, splitting)
    first, second = filled(made, splitting, 70, 4), filled(made, splitting, 50, 5, 1000)
    for tally in (Tally(made), first, first + second):
        again = Tally.from_json(tally.to_json(), made)
        assert again == tally
        assert again.sizes == tally.sizes
        for stratum in STRATA:
            assert cells(again.counts(stratum)) == cells(tally.counts(stratum))
        assert Tally.from_json((again + again).to_json(), made) == tally + tally


def test_a_read_tally_goes_on_counting_and_estimates_the_same(tmp_path):
    made = study(24)
    rng = np.random.default_rng(1)
    people = {
        "score": rng.integers(0, 2**63, 4000, dtype=np.uint64),
        "label": np.arange(4000) % 2,
    }
    tally = simulate_tally(made, people, seed=1)
    tally.save(tmp_path / "tally.json")
    again = Tally.load(tmp_path / "tally.json", made)
    for name in ("pruned", "paper", "paper-zero"):
        assert again.estimate(name) == tally.estimate(name)
    for each in (tally, again):
        each.add_symbols("positive", np.array([1, 0, 1]), 10**6)
    assert again == tally


@pytest.mark.parametrize("largest", [255, 256, 65535, 65536, 2**32 - 1, 2**32, 2**52])
def test_counts_of_every_width_are_written_and_read(largest):
    """The width of packed integers grows with the largest one."""
    made = study(2)
    text = with_level(made, 1, [0, 1], [largest, 1], [0, 5], largest + 6)
    assert Tally.from_json(text, made).to_json() == text


@pytest.mark.parametrize("last", [2**21 - 1, 2**32, 2**63, 2**64 - 1])
def test_rows_of_every_width_are_written_and_read(last):
    made = study(64)
    text = with_level(made, 64, [7, last], [1, 2], [0, 5], 8)
    tally = Tally.from_json(text, made)
    assert tally.to_json() == text
    assert cells(tally.counts("positive")) == {(64, 7, 0): 1, (64, last, 0): 2, (64, last, 1): 5}


def test_a_tally_of_many_people_can_be_read_again():
    """What is written can be read: here with all levels answered by 100,000 people of each class."""
    made = Study.create(
        "auc",
        protocol="tree",
        epsilon=2.0,
        domain=Interval(0, 1),
        bins=2**32,
        splitting="budget",
        rows="all",
        seed=5,
    )
    tally = filled(made, "budget", 100_000, 1)
    # In the tally's own bits, not in the domain's: 32 levels of at most 6 bytes for each person.
    text = tally.to_json()
    assert 2**24 < len(text) < 2 * 100_000 * 32 * 6 * 4 / 3
    assert Tally.from_json(text, made) == tally


# ---------------------------------------------------------------- memory


def held_bytes(counts: TreeCounts) -> int:
    for level in counts.levels:
        level.settle()
    return sum(level.rows.nbytes + level.counts.nbytes for level in counts.levels)


def test_memory_is_proportional_to_the_reports_and_not_to_the_domain():
    """2^64 leaves: levels keep 24 bytes for a row, and at most CROWDED times as many rows as reports.

    The small ones are plain arrays.
    """
    made = study(64)
    for people in (1000, 10_000, 50_000):
        tally = filled(made, "users", people, 3)
        for stratum in STRATA:
            assert held_bytes(tree(tally.counts(stratum))) <= 24 * (
                CROWDED * people + 2 ** (SMALL_LEVELS + 1)
            )


def test_counting_takes_little_more_than_what_is_kept():
    made = study(64)
    tally = Tally(made)
    given = symbols(64, "users", 2**16, 3)
    tracemalloc.start()
    try:
        for part in range(4):
            tally.add_symbols("positive", given, part * 2**16)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # A slice of 2^16 people with their coins, and 2^18 rows in all of 9 bytes while they wait.
    assert peak < 2**25
