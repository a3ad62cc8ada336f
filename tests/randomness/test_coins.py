"""Public coins: what the documentation says, at random access and in bulk, and what trees make of them."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpairs import Interval, Study
from dpairs.protocols.tree.coins import (
    even_levels,
    every_row,
    independent_levels,
    independent_rows,
    row,
)
from dpairs.randomness.coins import Coins, Purpose, below

from ..every import every
from ..strategies import QUICK

FAILURE = 1e-9
"""Probability that correct coins fail one of the statistical tests below, for a fresh key."""
COINS = Coins.of("0123456789abcdef" * 4)
WORD = 2**64 - 1


def philox(key: tuple[int, int], counter: int) -> list[int]:
    """Philox4x64-10 from its definition (Salmon, Moraes, Dror, Shaw, SC 2011), in whole numbers."""
    a, b, c, d = (counter >> 64 * place & WORD for place in range(4))
    k, m = key
    for _ in range(10):
        left, right = a * 0xD2E7470EE14C6C93, c * 0xCA5A826395121157
        a, b, c, d = right >> 64 ^ b ^ k, right & WORD, left >> 64 ^ d ^ m, left & WORD
        k, m = k + 0x9E3779B97F4A7C15 & WORD, m + 0xBB67AE8584CAA73B & WORD
    return [a, b, c, d]


# ---------------------------------------------------------------- words


def test_philox_has_the_known_answers_of_its_authors():
    """From kat_vectors of Random123, so that the second opinion below is one."""
    zeros = philox((0, 0), 0)
    ones = philox((WORD, WORD), 2**256 - 1)
    assert [f"{word:016x}" for word in zeros] == [
        "16554d9eca36314c",
        "db20fe9d672d0fdc",
        "d7e772cee186176b",
        "7e68b68aec7ba23b",
    ]
    assert [f"{word:016x}" for word in ones] == [
        "87b092c3013fe90b",
        "438c3c67be8d0224",
        "9cc7d7c69cd777b6",
        "a09caebf594f0ba0",
    ]


@every("first", [0, 1, 4095, 2**32 - 1, 2**53 - 1, 2**64 - 1])
@every("stratum", [0, 1])
@every("purpose", [Purpose.ROW, Purpose.LEVEL, Purpose.EVERY_ROW, Purpose.MORE_ROWS])
def test_words_are_numpys_and_the_definitions(purpose, stratum, first):
    words = COINS.words(purpose, stratum, first, 1)[0].tolist()
    counter = np.array([first, stratum, purpose, 0], dtype=np.uint64)
    key = np.array(COINS.key, dtype=np.uint64)
    assert words == np.random.Philox(key=key, counter=counter).random_raw(4).tolist()
    assert words == philox(COINS.key, first + (stratum << 64) + (purpose << 128) + 1)


@QUICK
@given(st.integers(0, 2**53 - 200), st.integers(0, 100), st.integers(1, 60), st.integers(0, 1))
def test_words_at_random_access_are_those_in_bulk(first, skip, count, stratum):
    bulk = COINS.words(Purpose.ROW, stratum, first, skip + count)
    np.testing.assert_array_equal(bulk[skip:], COINS.words(Purpose.ROW, stratum, first + skip, count))
    alone = [
        COINS.words(Purpose.ROW, stratum, first + place, 1)[0].tolist()
        for place in range(0, skip + count, 17)
    ]
    assert bulk[::17].tolist() == alone


def test_no_words_for_nobody():
    assert COINS.words(Purpose.ROW, 0, 5, 0).shape == (0, 4)


def test_the_key_is_the_first_128_bits_of_the_id():
    study = Study.create("auc", protocol="tree", epsilon=1.0, domain=Interval(0, 1), seed=1)
    assert study.coins.key == (int(study.id[:16], 16), int(study.id[16:32], 16))
    other = Study.create("auc", protocol="tree", epsilon=1.0, domain=Interval(0, 1), seed=2)
    assert other.coins.key != study.coins.key


def test_strata_and_purposes_have_words_of_their_own():
    seen = [COINS.words(purpose, stratum, 0, 500) for purpose in Purpose for stratum in range(2)]
    everything = np.concatenate([each.reshape(-1) for each in seen])
    assert np.unique(everything).size == everything.size


@QUICK
@given(st.integers(0, WORD), st.integers(1, 2**32))
def test_below_is_the_exact_floor(word, limit):
    words, limits = np.array([word], dtype=np.uint64), np.array([limit], dtype=np.uint64)
    assert below(words, limits).tolist() == [word * limit >> 64]


@pytest.mark.parametrize("limit", [1, 2, 3, 64, 2**31, 2**32 - 1, 2**32])
def test_below_at_its_ends(limit):
    words, limits = np.array([0, WORD], dtype=np.uint64), np.array([limit], dtype=np.uint64)
    assert below(words, limits).tolist() == [0, limit - 1]


# ---------------------------------------------------------------- levels


@pytest.mark.parametrize("depth", [1, 2, 3, 4, 5, 8, 14, 33, 63, 64])
def test_every_block_holds_every_level_once(depth):
    levels = even_levels(COINS, 0, 7 * depth, 200 * depth, depth).reshape(200, depth)
    np.testing.assert_array_equal(np.sort(levels, axis=1), np.tile(np.arange(1, depth + 1), (200, 1)))


@pytest.mark.parametrize("depth", [1, 3, 4, 5, 14, 64])
def test_the_order_of_a_block_is_that_of_its_words(depth):
    blocks = -(-depth // 4)
    for block in (0, 1, 12345, (2**53 - 1) // depth):
        words = [
            word
            for place in range(blocks)
            for word in philox(COINS.key, block * blocks + place + (1 << 64) + (Purpose.LEVEL << 128) + 1)
        ][:depth]
        ranked = sorted(range(1, depth + 1), key=lambda level: words[level - 1])
        assert even_levels(COINS, 1, block * depth, depth, depth).tolist() == ranked


@QUICK
@given(st.integers(1, 64), st.integers(0, 2**62), st.integers(0, 150), st.integers(0, 150))
def test_levels_of_a_slice_are_a_slice_of_the_levels(depth, first, skip, count):
    whole = even_levels(COINS, 0, first, skip + count, depth)
    assert whole.size == skip + count
    assert even_levels(COINS, 0, first + skip, count, depth).tolist() == whole[skip:].tolist()


@pytest.mark.parametrize("depth", [1, 5, 64])
def test_the_last_index_has_a_level(depth):
    assert 1 <= even_levels(COINS, 0, 2**53 - 1, 1, depth)[0] <= depth


def rotations(count: int, depth: int) -> np.ndarray:
    """A wrong way to split evenly: each block is a rotation, one of ``depth`` permutations."""
    starts = independent_levels(COINS.words(Purpose.ROW, 0, 0, count), depth)
    return (starts[:, None] + np.arange(depth)) % depth + 1


def drawn(count: int, depth: int) -> np.ndarray:
    return even_levels(COINS, 0, 0, count * depth, depth).reshape(count, depth)


@pytest.mark.parametrize(("draw", "wrong"), [(drawn, False), (rotations, True)])
@pytest.mark.parametrize("depth", [3, 4, 5])
def test_permutations_are_uniform(depth, draw, wrong):
    """Chi-square over all permutations; the control's blocks are fair in each place but not together."""
    blocks = 200 * math.factorial(depth)
    ranks = {each: place for place, each in enumerate(itertools.permutations(range(1, depth + 1)))}
    counts = np.bincount([ranks[tuple(each)] for each in draw(blocks, depth).tolist()], minlength=len(ranks))
    assert (stats.chisquare(counts).pvalue < FAILURE) == wrong


def halves_first(count: int, depth: int) -> np.ndarray:
    """A wrong way: one block in ten keeps its levels in order."""
    levels = drawn(count, depth)
    levels[::10] = np.arange(1, depth + 1)
    return levels


@pytest.mark.parametrize(("draw", "wrong"), [(drawn, False), (halves_first, True)])
@pytest.mark.parametrize("depth", [12, 33, 64])
def test_levels_are_uniform_at_every_place_of_a_block(depth, draw, wrong):
    """Chi-square of the table (place, level), whose margins are fixed: (d-1)/d of the sum has (d-1)^2 df."""
    blocks = 4000
    levels = draw(blocks, depth)
    table = np.array([np.bincount(levels[:, place] - 1, minlength=depth) for place in range(depth)])
    expected = blocks / depth
    total = (depth - 1) / depth * ((table - expected) ** 2 / expected).sum()
    assert (stats.chi2.sf(total, (depth - 1) ** 2) < FAILURE) == wrong


def test_strata_are_split_independently():
    first, second = (even_levels(COINS, stratum, 0, 60_000, 4) for stratum in (0, 1))
    table = np.zeros((4, 4))
    np.add.at(table, (first - 1, second - 1), 1)
    assert stats.chi2_contingency(table).pvalue > FAILURE


@pytest.mark.parametrize("depth", [1, 2, 7, 14, 64])
def test_independent_levels_are_uniform(depth):
    levels = independent_levels(COINS.words(Purpose.ROW, 0, 0, 1000 * depth), depth)
    counts = np.bincount(levels, minlength=depth + 1)
    assert counts[0] == 0
    assert counts.size == depth + 1
    assert depth == 1 or stats.chisquare(counts[1:]).pvalue > FAILURE


def test_independent_levels_are_independent_of_rows():
    words = COINS.words(Purpose.ROW, 0, 0, 64_000)
    levels, rows = independent_levels(words, 4), row(words[:, 0], 3, "all").astype(np.int64)
    table = np.zeros((4, 8))
    np.add.at(table, (levels - 1, rows), 1)
    assert stats.chi2_contingency(table).pvalue > FAILURE


# ---------------------------------------------------------------- rows


WORDS_OF_ROWS = COINS.words(Purpose.ROW, 0, 0, 100_000)[:, 0]


@every("rows", ["all", "others"])
@every("level", range(1, 65))
def test_rows_are_in_range_at_every_level(level, rows):
    ends = np.array([0, 1, 2**31, 2**32, 2**63, WORD - 1, WORD], dtype=np.uint64)
    found = row(np.concatenate([ends, WORDS_OF_ROWS[:1000]]), level, rows)
    assert found.dtype == np.uint64
    assert int(found.max()) <= 2**level - 1
    assert int(found.min()) >= (1 if rows == "others" else 0)
    assert int(found[6]) == 2**level - 1
    assert int(found[0]) == (1 if rows == "others" else 0)


@every("level", range(1, 65))
def test_rows_follow_their_definition(level):
    """In whole numbers: the top bits of the word; or a number below 2^level - 1, plus one."""
    words = WORDS_OF_ROWS[:50]
    assert row(words, level, "all").tolist() == [int(word) >> 64 - level for word in words]
    others = row(words, level, "others").tolist()
    if level <= 32:
        assert others == [(int(word) * (2**level - 1) >> 64) + 1 for word in words]
    else:
        assert others == [max(int(word) >> 64 - level, 1) for word in words]


def test_rows_of_mixed_levels_are_those_of_each_level():
    levels = np.arange(1, 65)
    words = WORDS_OF_ROWS[:64]
    for rows in ("all", "others"):
        mixed = row(words, levels, rows)
        assert mixed.tolist() == [
            int(row(words[i : i + 1], int(level), rows)[0]) for i, level in enumerate(levels)
        ]


@pytest.mark.parametrize("level", [1, 2, 3, 6])
@pytest.mark.parametrize(("rows", "claimed"), [("all", "all"), ("others", "others"), ("others", "all")])
def test_rows_are_uniform_and_all_come_up(level, rows, claimed):
    """Chi-square; the control claims that row 0 comes up as well."""
    first = 0 if claimed == "all" else 1
    counts = np.bincount(row(WORDS_OF_ROWS, level, rows).astype(np.int64), minlength=2**level)[first:]
    if rows == claimed:
        assert (counts > 0).all()
        assert counts.sum() == WORDS_OF_ROWS.size
    fair = counts.size == 1 or stats.chisquare(counts).pvalue > FAILURE
    assert fair == (rows == claimed)


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("level", [20, 31, 32, 33, 48, 63, 64])
def test_rows_of_large_levels_are_uniform_in_their_top_and_bottom_bits(level, rows):
    found = row(WORDS_OF_ROWS, level, rows)
    for shift in (0, level - 6):
        counts = np.bincount((found >> np.uint64(shift) & np.uint64(63)).astype(np.int64), minlength=64)
        assert stats.chisquare(counts).pvalue > FAILURE


@pytest.mark.parametrize("level", [1, 2, 5, 31, 32, 33, 64])
def test_no_row_of_others_is_likelier_than_another_by_much(level):
    """A row's words are a stretch; its length differs from 2^64 / (N - 1) by less than one word or, beyond
    32 levels, row 1 has row 0's stretch as well, which is 2^-level in all."""
    size = 2**level - 1
    if level <= 32:
        for place in {1, 2, size // 2, size} - {0}:
            stretch = -(-place * 2**64 // size) - -(-(place - 1) * 2**64 // size)
            assert abs(stretch - Fraction(2**64, size)) < 1
    top = row(np.array([0, (1 << (64 - min(level, 63))) - 1], dtype=np.uint64), level, "others")
    assert top.tolist() == [1, 1]


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("depth", [1, 4, 5, 20, 64])
def test_every_row_is_a_row_for_each_level_and_at_random_access(depth, rows):
    bulk = every_row(COINS, 1, 100, 30, depth, rows)
    assert bulk.shape == (30, depth)
    for place in (0, 7, 29):
        np.testing.assert_array_equal(every_row(COINS, 1, 100 + place, 1, depth, rows)[0], bulk[place])
    blocks = -(-depth // 4)
    words = [
        w
        for place in range(blocks)
        for w in philox(COINS.key, 100 * blocks + place + (1 << 64) + (Purpose.EVERY_ROW << 128) + 1)
    ]
    expected = [
        int(row(np.array([word], dtype=np.uint64), level, rows)[0])
        for level, word in enumerate(words[:depth], start=1)
    ]
    assert bulk[0].tolist() == expected


@pytest.mark.parametrize("depth", [8, 9, 16, 17, 64])
@pytest.mark.parametrize("index", [2**50, 2**52 - 1, 2**53 - 1])
def test_every_row_exists_for_every_index_a_participant_may_have(index, depth):
    found = every_row(COINS, 0, index, 1, depth, "others")
    assert found.shape == (1, depth)
    assert found.tolist() != every_row(COINS, 1, index, 1, depth, "others").tolist() or depth < 4


def test_rows_of_different_levels_are_independent():
    found = every_row(COINS, 0, 0, 60_000, 5, "all")
    for first, second in itertools.combinations(range(1, 5), 2):
        table = np.zeros((4, 4))
        top = [(found[:, level] >> np.uint64(level - 1)).astype(np.int64) for level in (first, second)]
        np.add.at(table, (top[0], top[1]), 1)
        assert stats.chi2_contingency(table).pvalue > FAILURE


# ---------------------------------------------------------------- several rows of one level


def span(rows: list[int]) -> frozenset[int]:
    found = {0}
    for each in rows:
        found |= {each ^ other for other in found}
    return frozenset(found)


@every("count", [2, 3, 6])
@every("level", [6, 7, 31, 32, 33, 40, 63, 64])
def test_several_rows_are_independent_and_in_range(level, count):
    words = COINS.words(Purpose.MORE_ROWS, 0, 0, 4000).reshape(-1, 8)[:, :count]
    ends = np.array(
        [[0] * count, [WORD] * count, [0, WORD] * (count // 2) + [0] * (count % 2)], dtype=np.uint64
    )
    together = np.concatenate([ends, words[:500]])
    found = independent_rows(together, np.full(len(together), level))
    assert found.shape == together.shape
    for each in found.tolist():
        assert max(each) < 2**level
        assert len(span(each)) == 2**count


def lazy_rows(words: np.ndarray, level: np.ndarray) -> np.ndarray:
    """A wrong way: the second row is the next number after the first, or the one before."""
    first = row(words[:, 0], level, "others")
    second = np.where(first == 1, first + np.uint64(1), first - np.uint64(1))
    return np.stack([first, second], axis=1)


@pytest.mark.parametrize(
    ("level", "count", "spaces"), [(2, 2, 1), (3, 2, 7), (4, 2, 35), (4, 3, 15), (5, 3, 155)]
)
def test_every_space_is_spanned_equally_often(level, count, spaces):
    """Chi-square over all spaces of that dimension: as many as the Gaussian binomial says."""
    people = 400 * spaces
    words = COINS.words(Purpose.MORE_ROWS, 0, 0, people)[:, :count]
    found = independent_rows(words, np.full(people, level))
    seen: dict[frozenset[int], int] = {}
    for each in found.tolist():
        key = span(each)
        seen[key] = seen.get(key, 0) + 1
    assert len(seen) == spaces
    assert spaces == 1 or stats.chisquare(list(seen.values())).pvalue > FAILURE


def test_spaces_that_are_not_equally_likely_are_noticed():
    """Negative control."""
    people = 35 * 400
    found = lazy_rows(COINS.words(Purpose.MORE_ROWS, 0, 0, people), np.full(people, 4))
    seen: dict[frozenset[int], int] = {}
    for each in found.tolist():
        key = span(each)
        seen[key] = seen.get(key, 0) + 1
    counts = [*seen.values(), *[0] * (35 - len(seen))]
    assert stats.chisquare(counts).pvalue < FAILURE
