"""Cells of a tree: the codes, the coins of people far apart, and counts that were made elsewhere."""

from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs.errors import BadParameter, BadValue
from dpairs.protocols.sides import alone, of_symbols
from dpairs.protocols.tree import cells as tree_cells
from dpairs.protocols.tree.coins import even_levels
from dpairs.randomness import SeededRandomness
from dpairs.randomness.coins import Coins, Purpose

UNIT = dpairs.Interval(0, 1)
TREES: dict[str, dict[str, Any]] = {
    "even": {"bins": 2**16},
    "independent": {"bins": 2**7, "splitting": "users-independent"},
    "all rows": {"bins": 2**5, "rows": "all"},
    "deep": {"bins": 2**50},
    "deepest": {"domain": dpairs.Integers(0, 2**61 - 1), "bins": 2**61},
}


def tree(name: str) -> dpairs.Study:
    return dpairs.Study.create("auc", protocol="tree", epsilon=1.0, seed=3, **{"domain": UNIT, **TREES[name]})


def test_a_code_is_a_one_the_row_and_the_bit():
    levels, rows = np.array([1, 3, 16, 61]), np.array([1, 5, 2**16 - 1, 2**60], dtype=np.uint64)
    codes = tree_cells.encoded(levels, rows, np.array([0, 1, 1, 0]))
    assert codes.tolist() == [0b110, 0b11011, 2**18 - 1, (2**61 + 2**60) * 2]
    again = tree_cells.decoded(codes, 61)
    assert [each.tolist() for each in again] == [levels.tolist(), rows.tolist(), [0, 1, 1, 0]]


@pytest.mark.parametrize(("rows", "missing"), [("others", 1), ("all", 0)])
def test_every_code_is_the_cell_of_one_level_row_and_bit(rows, missing):
    codes = tree_cells.cells(4, rows)
    there = np.flatnonzero(codes.has(np.arange(200)))
    wanted = [
        (2**level | row) * 2 | bit
        for level in range(1, 5)
        for row in range(missing, 2**level)
        for bit in (0, 1)
    ]
    assert there.tolist() == wanted


@pytest.mark.parametrize("depth", [1, 3, 4, 16, 61])
def test_coins_of_people_far_apart_are_those_of_their_neighbours(depth):
    coins = Coins((2**64 - 5, 2**63 + 11))
    indices = np.array([0, 1, 15, 16, 2**32 - 1, 2**40 + 7, 2**53 - 1])
    for purpose in (Purpose.ROW, Purpose.LEVEL):
        words = coins.words_at(purpose, 1, indices)
        assert words.tolist() == [coins.words(purpose, 1, index, 1)[0].tolist() for index in indices.tolist()]
    levels = tree_cells.even_levels_at(coins, 1, indices, depth)
    assert levels.tolist() == [even_levels(coins, 1, index, 1, depth)[0] for index in indices.tolist()]


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("far", [1, 10**6])
def test_cells_count_what_reports_count(name, far):
    study = tree(name)
    rng = np.random.default_rng(5)
    tally, by_cell = dpairs.Tally(study), dpairs.Tally(study)
    for place, stratum in enumerate(study.strata):
        indices = rng.permutation(rng.integers(0, 2000, 1000)) * far
        indices = indices[np.sort(np.unique(indices, return_index=True)[1])]
        symbols = rng.integers(0, 2, indices.size)
        tally.add_reports(stratum, indices, symbols)
        cells = alone(study).cells_of(study.coins, place, indices, symbols)
        assert (alone(study).symbols_of(cells) == symbols).all()
        codes = study.protocol.cell_codes
        assert codes is not None
        assert codes.has(cells).all()
        by_cell.add_cells(stratum, *np.unique(cells, return_counts=True))
    assert by_cell == tally
    assert by_cell.sizes == tally.sizes
    assert (by_cell + tally).to_bytes() == (tally + tally).to_bytes()


@pytest.mark.parametrize("protocol", ["tree", "histogram"])
def test_randomized_cells_are_those_of_the_reports(protocol):
    study = dpairs.Study.create("auc", protocol=protocol, epsilon=1.0, domain=UNIT, bins=16, seed=3)
    columns = (np.linspace(0, 1, 1000),)
    way, coins = alone(study), study.coins
    symbols = way.randomize(coins, 1, 50, columns, SeededRandomness(1))
    cells = way.randomize_cells(coins, 1, 50, columns, SeededRandomness(1))
    assert (cells == way.cells_of(coins, 1, np.arange(50, 1050), symbols)).all()


def test_cells_of_a_histogram_are_its_symbols():
    study = dpairs.Study.create("auc", protocol="histogram", epsilon=1.0, domain=UNIT, bins=4)
    tally, symbols = dpairs.Tally(study), np.array([0, 3, 3])
    tally.add_symbols("positive", symbols)
    by_cell = dpairs.Tally(study)
    by_cell.add_cells("positive", np.array([3, 0]), np.array([2, 1]))
    assert by_cell == tally
    with pytest.raises(BadValue, match="codes from 0 to"):
        by_cell.add_cells("positive", np.array([of_symbols(study).symbols]), np.array([1]))


@pytest.mark.parametrize(
    ("cells", "counts"),
    [
        ([3], [1]),
        ([4], [1]),
        ([9], [1]),
        ([2**18], [1]),
        ([-7], [1]),
        ([6], [0]),
        ([6], [-1]),
        ([6], [2**53]),
        ([6, 7], [2**62, 2**62]),
        ([6, 7], [1]),
    ],
)
def test_cells_that_cannot_be_are_refused(cells, counts):
    tally = dpairs.Tally(tree("even"))
    with pytest.raises(BadValue):
        tally.add_cells("positive", np.array(cells), np.array(counts))
    assert tally.n == 0
    tally.add_cells("positive", np.array([6, 10]), np.array([2**52, 1]))
    assert tally.n == 2**52 + 1


@pytest.mark.parametrize(
    "options",
    [
        {"protocol": "tree", "bins": 2**6, "splitting": "budget"},
        {"protocol": "tree", "bins": 2**12, "answer": "several-bits", "epsilon": 4.0},
        {"protocol": "tree", "domain": dpairs.Integers(0, 2**62 - 1)},
        {"protocol": "projection"},
        {"protocol": "pairwise"},
    ],
)
def test_reports_of_several_cells_have_no_code(options):
    study = dpairs.Study.create("auc", **{"epsilon": 1.0, "domain": UNIT, "seed": 1, **options})
    assert study.protocol.cell_codes is None
    with pytest.raises(BadParameter, match="their files hold symbols"):
        dpairs.Tally(study).add_cells(study.strata[0], np.array([6]), np.array([1]))
