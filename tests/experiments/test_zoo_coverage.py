"""Sixty cells of the zoo, thirty of each half, as `make validate` runs them."""

import os
from functools import cache

import pytest
from scipy import stats

from experiments.zoo.cells import Cell, sample
from experiments.zoo.measure import measure

FAILURE, CELLS, RUNS, HELD = 1e-3, 60, 100, 0.92
FEWEST = stats.binom.ppf(FAILURE / CELLS / 2, RUNS, HELD) / RUNS
"""Of intervals that hold in 92%, one of all cells shows less than this with probability FAILURE."""
MOST_REFUSALS = 0.5
"""Where more runs than this are refused, those that are not say nothing about the others."""


@cache
def chosen() -> list[Cell]:
    return [
        cell
        for half in ("first", "second")
        for cell in [each for each in sample(half, 200) if each.n <= 20_000][: CELLS // 2]
    ]


@pytest.mark.skipif(os.environ.get("DPAIRS_VALIDATE") != "1", reason="takes half an hour: DPAIRS_VALIDATE=1")
@pytest.mark.long
@pytest.mark.parametrize("place", range(CELLS))
def test_intervals_hold(place):
    cell = chosen()[place]
    found = measure(cell, RUNS, first=1_000_000)
    if found.refused <= MOST_REFUSALS * RUNS:
        assert min(found.covered, found.covered_sample) >= FEWEST, cell


def test_the_cells_are_sixty():
    assert len(set(chosen())) == len(chosen()) == CELLS
