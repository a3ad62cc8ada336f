"""Counting reports of scattered indices at once equals counting them one by one."""

from __future__ import annotations

import numpy as np
import pytest

import dpairs
from dpairs.protocols.rounds import asked_first, place_in_first, places_in_first
from dpairs.protocols.sides import of_symbols
from dpairs.randomness.coins import GAP, SPAN, windows

UNIT = dpairs.Interval(0, 1)


def studies():
    yield dpairs.Study.create("auc", epsilon=1.0, domain=UNIT, bins=16, seed=1)
    for splitting in ("users", "users-independent", "budget"):
        yield dpairs.Study.create(
            "auc", protocol="tree", epsilon=1.0, domain=UNIT, bins=2**9, splitting=splitting, seed=2
        )
    yield dpairs.Study.create(
        "auc", protocol="tree", epsilon=3.0, domain=UNIT, bins=2**9, answer="several-bits", seed=2
    )
    yield dpairs.Study.create(
        "auc", protocol="projection", epsilon=1.0, domain=UNIT, pilot="tree", n=10_000, seed=3
    )
    yield dpairs.Study.create("gini_mean_difference", protocol="projection", epsilon=1.0, domain=UNIT, seed=4)


@pytest.mark.parametrize("study", list(studies()), ids=lambda study: f"{study.protocol.name}-{study.id[:6]}")
def test_scattered_indices_are_counted_as_one_by_one(study):
    rng = np.random.default_rng(5)
    indices = rng.choice(np.concatenate([np.arange(3000), 10**7 + np.arange(300), [2**53 - 1]]), 900, False)
    stratum = study.strata[-1]
    indices = np.array([each for each in indices.tolist() if study.asks(stratum, each)])
    # Symbols of a budget split have one bit for each level.
    symbols = rng.integers(0, study.protocol.symbols, indices.size, dtype=np.int64)
    one, many = dpairs.Tally(study), dpairs.Tally(study)
    for index, symbol in zip(indices.tolist(), symbols.tolist(), strict=True):
        one.add(dpairs.Report(study, stratum, index, symbol))
    many.add_reports(stratum, indices, symbols)
    assert many == one
    assert many.n == indices.size > 50
    # The comparison can fail: with other indices, coins are others.
    if study.protocol.uses_coins and study.protocol.name == "tree":
        moved = dpairs.Tally(study)
        moved.add_reports(stratum, indices[::-1].copy(), symbols)
        assert moved != one


def test_the_second_round_counts_alike_and_refuses_the_first_rounds_people():
    study = dpairs.Study.create(
        "gini_mean_difference", protocol="projection", epsilon=1.0, domain=UNIT, seed=4
    )
    stratum = study.strata[0]
    first = np.array([each for each in range(2000) if study.asks(stratum, each)])
    tally = dpairs.Tally(study)
    symbols = np.random.default_rng(1).integers(0, of_symbols(study).symbols, first.size)
    tally.add_reports(stratum, first, symbols)
    second = dpairs.Tally(study.next(tally))
    others = np.setdiff1d(np.arange(2000), first)
    second.add_reports(stratum, others, np.zeros(others.size, dtype=np.int64))
    assert second.n == others.size
    with pytest.raises(dpairs.NotAsked, match="not asked in this round"):
        second.add_reports(stratum, np.array([int(others[0]), int(first[3])]), np.zeros(2, dtype=np.int64))
    assert second.n == others.size


@pytest.mark.parametrize(
    ("indices", "symbols", "words"),
    [
        (np.array([1, 2]), np.array([0]), "2 indices cannot have 1 symbols"),
        (np.array([-1]), np.array([0]), "an index must lie between 0 and"),
        (np.array([2**53]), np.array([0]), "an index must lie between 0 and"),
        (np.array([1]), np.array([99]), "symbols of this study are 0 to"),
        (np.array([1]), np.array([-1]), "symbols of this study are 0 to"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_counted(indices, symbols, words):
    tally = dpairs.Tally(dpairs.Study.create("auc", protocol="tree", epsilon=1.0, domain=UNIT, bins=8))
    with pytest.raises(dpairs.BadValue, match=words):
        tally.add_reports("positive", indices, symbols)
    assert tally.n == 0
    tally.add_reports("positive", np.array([], dtype=np.int64), np.array([], dtype=np.int64))
    assert tally.n == 0


def test_places_among_the_first_round():
    study = dpairs.Study.create("auc", protocol="projection", epsilon=1.0, domain=UNIT, seed=3)
    asked = np.flatnonzero(asked_first(study.coins, 1, 0, 5000, 9))[::3]
    expected = [place_in_first(study.coins, 1, int(each), 9) for each in asked]
    assert places_in_first(study.coins, 1, asked, 9).tolist() == expected


def test_windows_hold_every_number_once():
    numbers = np.array([0, 1, GAP + 1, 2 * GAP + 2, 2 * GAP + 2 + SPAN, 2 * GAP + 3 + SPAN])
    found = [first + int(place) for _, first, there in windows(numbers) for place in np.flatnonzero(there)]
    assert found == numbers.tolist()
    assert list(windows(np.array([], dtype=np.int64))) == []
    long = np.arange(0, 3 * SPAN, GAP)
    assert [there.size <= SPAN for _, _, there in windows(long)] == [True] * 3
