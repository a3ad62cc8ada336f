"""Pairs of one bin, and how many of them are equal; what a pilot's noise does to people in one place."""

from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Integers, Interval, Levels, Study
from dpairs.data.grids import Axis, CutAxis, Grid
from dpairs.protocols.projection.pilot import PublicNoise
from dpairs.protocols.two_servers.coarse import coarse_grid
from dpairs.protocols.two_servers.hidden import crowd_variance, slopes, uneven_within
from dpairs.protocols.two_servers.ties import ties_of, ties_of_counts
from dpairs.randomness.coins import Coins
from dpairs.statistics import statistic as named

TAU = named("kendall_tau", variant="b")
SIZES = {"everybody": 1000}


def pairs_of_a_bin(grid, masses):
    table = masses.reshape([axis.bins for axis in grid.axes])
    return np.array([0.3, (table.sum(axis=1) ** 2).sum(), (table.sum(axis=0) ** 2).sum()])


def test_bins_of_one_value_hide_nothing():
    grid = Grid((Axis(Levels(range(3)), 3), Axis(Integers(0, 3), 4)))
    forms = np.array([0.2, 0.4, 0.3])
    ties = ties_of(TAU, grid, forms, grid, None, 0.0, 1000)
    assert ties.bias(TAU, SIZES) == 0.0
    assert ties.likely is not forms
    assert ties.likely.tolist() == forms.tolist()


@pytest.mark.parametrize(("domain", "fewest"), [(Interval(0, 1), 0.0), (Integers(0, 127), 0.25)])
def test_equal_pairs_lie_between_none_and_all_of_a_bin(domain, fewest):
    """Who lies evenly in coarse cells is not taken for equal; an atom is."""
    grid = Grid((Axis(domain, 32),) * 2)
    coarse, place = coarse_grid(grid, 8)
    even, atom = np.full(grid.cells, 1 / grid.cells), np.zeros(grid.cells)
    atom[5 * 32 + 5] = 1.0
    for masses, likely in ((even, fewest / 32), (0.5 * even + 0.5 * atom, 0.25)):
        forms = pairs_of_a_bin(grid, masses)
        shares = np.bincount(place, masses, coarse.cells).astype(np.float64)
        ties = ties_of(TAU, grid, forms, coarse, shares, 0.0, 1000)
        assert ties.least[1:] == pytest.approx(fewest * forms[1:])
        assert ties.most.tolist() == forms.tolist()
        assert ties.likely[1:] == pytest.approx([likely] * 2, abs=0.03)
        value = TAU.finish(ties.likely, SIZES).value
        ends = [TAU.finish(each, SIZES).value for each in (ties.least, ties.most)]
        assert ties.bias(TAU, SIZES) == pytest.approx(max(abs(end - value) for end in ends))
        assert ties.stretch(TAU, SIZES) == pytest.approx(value / ends[0])


def test_counts_tell_the_same_by_merged_neighbours():
    grid = Grid((Axis(Interval(0, 1), 16),) * 2)
    counts = np.full(grid.cells, 4.0)
    ties = ties_of_counts(TAU, grid, pairs_of_a_bin(grid, counts / counts.sum()), counts, 0.0, 1024)
    assert ties.likely[1:] == pytest.approx([0, 0], abs=1e-12)
    assert ties.most[1:] == pytest.approx([1 / 16] * 2)


def test_a_function_rises_within_cells():
    grid = Grid((CutAxis.at(Interval(0, 1), [0.0, 0.5, 1.0]), Axis(Levels(range(2)), 2)))
    heights = np.array([[0, 1], [2, 5], [2, 5], [3, 3]], dtype=float).reshape(-1)
    assert slopes(grid, heights)[0].tolist() == [[2, 4], [1, -2]]


def test_noise_moves_those_in_one_place_by_half_of_what_it_tilts():
    """Everybody at an end of one cell: the answer takes up t P D / 2, and half of that for half of them."""
    grid = Grid((CutAxis.at(Interval(0, 1), [0.0, 0.25, 0.5, 0.75, 1.0]),))
    flat, tilted = np.zeros(8), np.array([0, 0, 0, 0.2, 0, 0, 0, 0])
    spike, even = np.array([0.0, 1.0, 0.0, 0.0]), np.full(4, 0.25)
    found = crowd_variance(grid, {"a": flat}, [{"a": tilted}, {"a": -tilted}], {"a": spike})
    assert found == pytest.approx(0.1**2)
    assert crowd_variance(grid, {"a": flat}, [{"a": tilted}], {"a": even}) == 0.0


def test_everybody_may_be_at_a_few_values_of_all_cells():
    """Whole tens in cells of ten: no cell stands out, and nobody is as far from others of a cell as taken."""
    gini, grid = named("gini_mean_difference"), Grid((Axis(Interval(0, 100), 10),))
    uneven = uneven_within(gini, grid, {"everybody": np.full(10, 0.1)})
    assert uneven.shift == 0.0
    assert uneven.most == pytest.approx(10 * 0.01 * 10 / 3)


def test_nobody_is_a_pair_with_oneself():
    """Two rounds and no noise to speak of: the entropy of pairs of two, 0.085 above that with oneself."""
    people = {"value": np.repeat(np.arange(5), 10)}
    study = Study.create(
        "collision_entropy", protocol="two_servers", epsilon=1e4, domain=Levels(range(10)), n=50, rounds=2
    )
    found = dpairs.simulate(study, people, seed=1).value
    assert found == pytest.approx(dpairs.exact("collision_entropy", people), abs=1e-3)
    assert found - np.log(5) > 0.08


def test_rounds_are_imagined_with_the_tails_of_two_laplace_numbers():
    """Kurtosis 4.5, to six standard errors; that of a normal number is 3."""
    study = Study.create(
        "collision_entropy", protocol="two_servers", epsilon=1.0, domain=Levels(range(10)), rounds=2
    )
    protocol: Any = study.protocol
    drawn = protocol._noise(PublicNoise(Coins((1, 2))), [200_000], 1)[0]
    assert drawn.var() == pytest.approx(1.0, abs=0.03)
    assert (drawn**4).mean() == pytest.approx(4.5, abs=0.4)
