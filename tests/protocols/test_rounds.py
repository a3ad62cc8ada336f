"""Who is asked in which round: nobody in both, everybody in one, and all can check it."""

import functools
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpairs import (
    BadParameter,
    DpairsError,
    Interval,
    Levels,
    NotAsked,
    Participant,
    Report,
    Study,
    Tally,
    WrongStudy,
    simulate_tally,
)
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.protocols.rounds import BLOCK, asked_first, place_in_first
from dpairs.protocols.sides import of_symbols
from dpairs.randomness import SeededRandomness
from dpairs.randomness.coins import Coins, Purpose
from dpairs.report import MAX_INDEX

from ..strategies import QUICK

COINS = Coins.of("0123456789abcdef" * 4)
STRATA = ("positive", "negative")


@functools.cache
def two_rounds(kind: str = "tree", fraction: float = 0.25) -> tuple[Study, Study, Tally]:
    """A first round, the second round that follows it, and the tally in between."""
    domain = Interval(0, 1) if kind == "tree" else Levels(range(6))
    first = Study.create(
        "auc", protocol="projection", epsilon=2.0, domain=domain, pilot_fraction=fraction, seed=5
    )
    rng = np.random.default_rng(3)
    tally = Tally(first)
    for place, stratum in enumerate(STRATA):
        scores = rng.random(500) if kind == "tree" else rng.integers(0, 6, 500)
        asked = first.protocol.asked(first.coins, place, 0, 500)
        assert asked is not None
        for index in np.flatnonzero(asked).tolist():
            bits = SeededRandomness(index)
            tally.add(Participant(first, index, stratum, bits=bits).report(score=scores[index].item()))
    return first, first.next(tally), tally


each_kind = pytest.mark.parametrize("kind", ["tree", "histogram"])


# ---------------------------------------------------------------- the coins


@pytest.mark.parametrize("share", [1, 4, 17, 24, 32, 63])
@pytest.mark.parametrize("stratum", [0, 1, 2])
def test_exactly_the_share_of_each_block_is_asked(stratum, share):
    asked = asked_first(COINS, stratum, 0, 100 * BLOCK, share)
    assert asked.dtype == bool
    assert asked.reshape(-1, BLOCK).sum(axis=1).tolist() == [share] * 100


def test_blocks_split_each_in_its_own_way():
    asked = asked_first(COINS, 0, 0, 200 * BLOCK, 20).reshape(-1, BLOCK)
    assert len({tuple(row) for row in asked.tolist()}) == 200
    other = asked_first(COINS, 1, 0, 200 * BLOCK, 20).reshape(-1, BLOCK)
    assert not (asked == other).all(axis=1).any()
    elsewhere = asked_first(Coins.of("f" * 64), 0, 0, 200 * BLOCK, 20).reshape(-1, BLOCK)
    assert not (asked == elsewhere).all(axis=1).any()


@pytest.mark.parametrize("loaded", [False, True])
def test_every_place_of_a_block_is_asked_equally_often(loaded):
    """Chi-square of 64 places over 4000 blocks at 1e-9; the control favours the first place a little."""
    share, blocks = 16, 4000
    counts = asked_first(COINS, 0, 0, blocks * BLOCK, share).reshape(-1, BLOCK).sum(axis=0).astype(float)
    if loaded:
        counts[0] *= 1.3
    chance = share / BLOCK
    # Counts of one block add up to the share, which takes one degree of freedom.
    spread = blocks * chance * (1 - chance) * BLOCK / (BLOCK - 1)
    statistic = float(((counts - blocks * chance) ** 2).sum() / spread)
    assert (stats.chi2.sf(statistic, BLOCK - 1) < 1e-9) == loaded


@given(
    st.integers(0, MAX_INDEX - 1000),
    st.integers(0, 300),
    st.integers(0, 2),
    st.integers(1, BLOCK - 1),
    st.integers(0, 299),
)
@QUICK
def test_random_access_and_bulk_agree(first, count, stratum, share, inside):
    bulk = asked_first(COINS, stratum, first, count, share)
    assert bulk.size == count
    if inside < count:
        alone = asked_first(COINS, stratum, first + inside, 1, share)
        assert alone.tolist() == [bulk[inside]]
        rest = asked_first(COINS, stratum, first + inside, count - inside, share)
        assert rest.tolist() == bulk[inside:].tolist()


@pytest.mark.parametrize("index", [0, 1, 63, 64, 65, 1000, MAX_INDEX - 63, MAX_INDEX])
def test_those_asked_first_are_those_with_the_smallest_words(index):
    """By the definition, from numpy's Philox itself."""
    key = np.array(COINS.key, dtype=np.uint64)
    block = index // BLOCK
    counter = np.array([block * BLOCK // 4, 1, Purpose.ROUND, 0], dtype=np.uint64)
    words = np.random.Philox(key=key, counter=counter).random_raw(BLOCK).tolist()
    rank = sorted(words).index(words[index % BLOCK])
    for share in (1, 10, 40, 63):
        assert asked_first(COINS, 1, index, 1, share).tolist() == [rank < share]


@pytest.mark.parametrize("share", [1, 13, 63])
def test_places_number_those_who_are_asked_without_gaps(share):
    start = 3 * BLOCK
    asked = np.flatnonzero(asked_first(COINS, 0, 0, 8 * BLOCK, share)).tolist()
    assert [place_in_first(COINS, 0, index, share) for index in asked] == list(range(8 * share))
    for index in range(start, start + BLOCK):
        assert place_in_first(COINS, 0, index, share) == sum(each < index for each in asked)


# ---------------------------------------------------------------- studies


@each_kind
def test_every_index_is_asked_in_exactly_one_round(kind):
    first, second, _ = two_rounds(kind)
    assert isinstance(first.protocol, Projection)
    assert isinstance(second.protocol, SecondRound)
    for place, stratum in enumerate(STRATA):
        one = first.protocol.asked(first.coins, place, 10**9, 640)
        two = second.protocol.asked(second.coins, place, 10**9, 640)
        assert one is not None
        assert (one ^ two).all()
        assert one.sum() == 160
        for index in range(10**9, 10**9 + 130):
            assert first.asks(stratum, index) != second.asks(stratum, index)
            assert first.asks(stratum, index) == one[index - 10**9]


@each_kind
def test_a_loaded_second_round_asks_the_same_people(kind):
    _, second, _ = two_rounds(kind)
    again = Study.from_json(second.to_json())
    for stratum in STRATA:
        asks = [(second.asks(stratum, index), again.asks(stratum, index)) for index in range(200)]
        assert all(one == other for one, other in asks)
        assert {one for one, _ in asks} == {True, False}


@each_kind
def test_nobody_can_be_asked_twice(kind):
    first, second, _ = two_rounds(kind)
    for stratum in STRATA:
        for index in range(128):
            mine, other = (first, second) if first.asks(stratum, index) else (second, first)
            Participant(mine, index, stratum)
            with pytest.raises(NotAsked, match=f"participant {index} of '{stratum}'") as raised:
                Participant(other, index, stratum)
            assert "\n" not in str(raised.value)
            with pytest.raises(NotAsked, match="not asked in this round"):
                Report(other, stratum, index, 0)


@each_kind
@pytest.mark.parametrize("which", [0, 1])
def test_forged_reports_of_the_other_round_are_refused(kind, which):
    """By bytes and by JSON, in both directions: a report that says another study's name does not help."""
    rounds = two_rounds(kind)[:2]
    mine, other = rounds[which], rounds[1 - which]
    index = next(index for index in range(64) if mine.asks("positive", index))
    report = Participant(mine, index, "positive").report(score=1 if kind == "histogram" else 0.5)
    wire, name = bytes(report), bytes.fromhex(other.id)[:8]
    with pytest.raises(WrongStudy):
        Report.from_json(report.to_json(), other)
    with pytest.raises(DpairsError):
        Report.from_bytes(wire, other)
    forged = wire[:1] + name + wire[9:18] + bytes(len(bytes(_any_report(other))) - 18)
    with pytest.raises(NotAsked):
        Report.from_bytes(forged, other)
    with pytest.raises(NotAsked):
        Report.from_json({**report.to_json(), "study": other.id, "symbol": 0}, other)
    with pytest.raises(WrongStudy):
        Tally(other).add(report)


def _any_report(study: Study) -> Report:
    index = next(index for index in range(64) if study.asks("positive", index))
    return Report(study, "positive", index, 0)


def test_refusing_comes_before_answering():
    """A device that is not asked neither reads a value nor draws a bit."""
    first, second, _ = two_rounds()
    index = next(index for index in range(64) if not second.asks("negative", index))
    with pytest.raises(NotAsked):
        Participant(second, index, "negative", bits=None)
    assert first.asks("negative", index)


def test_studies_of_one_round_ask_everybody():
    for protocol in ("histogram", "tree"):
        made = Study.create("auc", protocol=protocol, epsilon=1.0, domain=Interval(0, 1), bins=16)
        assert all(made.asks(stratum, index) for stratum in STRATA for index in (0, 1, 63, MAX_INDEX))
        with pytest.raises(BadParameter, match="no next"):
            made.next(Tally(made))


@each_kind
def test_a_second_round_has_no_next(kind):
    _, second, _ = two_rounds(kind)
    with pytest.raises(BadParameter, match="no next"):
        second.next(Tally(second))


@each_kind
def test_the_next_round_needs_this_rounds_tally(kind):
    first, second, tally = two_rounds(kind)
    with pytest.raises(WrongStudy):
        second.next(tally)
    with pytest.raises(WrongStudy):
        first.next(Tally(second))


@each_kind
def test_bulk_counting_is_that_of_single_reports(kind):
    """Consecutive among those who are asked: the simulation and the collector count alike."""
    first, _, _ = two_rounds(kind)
    place, stratum, start, count = 1, "negative", 70, 300
    asked = first.protocol.asked(first.coins, place, start, count)
    assert asked is not None
    indices = (start + np.flatnonzero(asked)).tolist()
    symbols = np.arange(len(indices)) % of_symbols(first).symbols
    bulk, single = Tally(first), Tally(first)
    bulk.add_symbols(stratum, symbols, indices[0])
    for index, symbol in zip(indices, symbols.tolist(), strict=True):
        single.add(Report(first, stratum, index, symbol))
    assert bulk == single
    assert bulk.sizes == {"positive": 0, "negative": len(indices)}


@each_kind
def test_a_simulation_asks_each_person_once(kind):
    first, _, _ = two_rounds(kind)
    n = 64 * 40
    label = np.repeat([1, 0], n // 2)
    score = np.linspace(0, 1, n) if kind == "tree" else np.arange(n) % 6
    last = simulate_tally(first, {"score": score, "label": label}, seed=3)
    assert isinstance(last.study.protocol, SecondRound)
    earlier = last.study.protocol.earlier
    for stratum in STRATA:
        assert earlier[stratum] + last.sizes[stratum] == n // 2
        # Any 1280 consecutive indices hold 320 of the first round, but for two blocks cut in two.
        assert abs(earlier[stratum] - n // 8) <= 32


@pytest.mark.parametrize("fraction", [1 / 64, 0.1, 0.5, 63 / 64])
def test_the_share_is_as_asked(fraction):
    made = Study.create(
        "auc", protocol="projection", epsilon=1.0, domain=Interval(0, 1), pilot_fraction=fraction
    )
    assert isinstance(made.protocol, Projection)
    assert made.protocol.share == round(64 * fraction)
    asked = made.protocol.asked(made.coins, 0, 0, 6400)
    assert asked.sum() == 100 * made.protocol.share
    assert json.loads(made.to_json())["protocol"]["share"] == made.protocol.share


@pytest.mark.parametrize("fraction", [0, 1, -0.1, 0.01, 0.99, 2, float("nan"), "half", True])
def test_shares_that_leave_a_round_empty_are_refused(fraction):
    with pytest.raises(BadParameter, match="pilot_fraction"):
        Study.create(
            "auc", protocol="projection", epsilon=1.0, domain=Interval(0, 1), pilot_fraction=fraction
        )
