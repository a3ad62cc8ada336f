"""What cells can hide: bounds that no arrangement of people within their cells exceeds, and some attain."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dpairs
from dpairs.data.grids import Axis, Grid
from dpairs.errors import NotEstimable
from dpairs.statistics import statistic
from tests.strategies import QUICK

BINS = 5


def value(made, columns):
    names = made.columns
    return made.exact({name: np.asarray(each) for name, each in zip(names, columns, strict=True)})


def binned(made, grid, cells):
    """The forms and the finished value of people known by their cells alone, and what these hide."""
    shares = tuple(np.bincount(each, minlength=grid.cells) / each.size for each in cells)
    forms = []
    for form in made.forms(grid, "average"):
        if len(cells) == 2:
            forms.append(shares[0] @ form.matrix @ shares[1])
        else:
            (count,) = (np.bincount(each, minlength=grid.cells).astype(float) for each in cells)
            n = count.sum()
            forms.append((count @ form.matrix @ count - count @ np.diag(form.matrix)) / (n * (n - 1)))
    return shares, np.array(forms)


@st.composite
def arrangements(draw):
    """Cells of some people, and where in its cell everybody is; ends are likely."""
    cells = draw(st.lists(st.integers(0, BINS - 1), min_size=3, max_size=12))
    through = draw(
        st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.999]), min_size=len(cells), max_size=len(cells))
    )
    return np.array(cells), np.array(through)


@given(arrangements())
@QUICK
def test_no_arrangement_moves_distances_further(arrangement):
    cells, through = arrangement
    grid = Grid((Axis(dpairs.Interval(0, BINS), BINS),))
    n = cells.size
    for name in ("gini_mean_difference", "variance"):
        made = statistic(name)
        shares, forms = binned(made, grid, [cells])
        # Pairs of different people: a cell's pairs with itself are fewer than its share's square says.
        exact = value(made, [cells + through])
        slack = 2 * BINS**2 / n if name == "variance" else 2 * BINS / n
        assert abs(exact - forms[0]) <= made.hidden(grid, "average", shares)[0] + slack


def test_distances_reach_their_bound_at_the_ends_of_cells():
    """Two far cells with people at their outer ends: off by the whole width, as the bound says."""
    grid = Grid((Axis(dpairs.Interval(0, 10), 10),))
    masses = np.zeros(10)
    masses[[0, 9]] = 0.5
    made = statistic("gini_mean_difference")
    even = float(masses @ made.forms(grid, "average")[0].matrix @ masses)
    outer = 0.5 * 10.0  # at 0 and at 10
    assert outer - even == pytest.approx(0.5 - 1 / 6)
    found = made.hidden(grid, "average", (masses,))[0]
    assert outer - even <= found <= 0.5 + 1 / 6 + 1e-12


def test_comparisons_can_be_off_by_half_of_the_pairs_within_cells():
    grid = Grid((Axis(dpairs.Interval(0, 1), 4),))
    h, g = np.array([0.5, 0.5, 0, 0]), np.array([0, 0.25, 0.75, 0])
    made = statistic("auc")
    assert made.hidden(grid, "average", (h, g))[0] == pytest.approx(0.5 * 0.25 / 2)
    levels = Grid((Axis(dpairs.Levels(range(4)), 4),))
    assert made.hidden(levels, "average", (h, g))[0] == 0


def test_tau_can_be_off_by_all_pairs_that_share_a_bin():
    axis = Axis(dpairs.Interval(0, 1), 2)
    grid, made = Grid((axis, axis)), statistic("kendall_tau")
    assert made.hidden(grid, "average", (np.full(4, 0.25),))[0] == pytest.approx(0.75)


@given(st.lists(st.floats(0, 1), min_size=BINS, max_size=BINS), st.integers(0, 2**20))
@QUICK
def test_no_arrangement_moves_a_ratio_further(weights, seed):
    masses = np.array(weights) + np.array([0, 0, 0.1, 0.1, 0.1])
    masses /= masses.sum()
    grid = Grid((Axis(dpairs.Interval(0, BINS), BINS),))
    made = statistic("gini_coefficient")
    forms = np.array([masses @ form.matrix @ masses for form in made.forms(grid, "average")])
    many = {"everybody": 10**9}
    finished = made.finish(forms, many)
    bound = made.hidden_ratio(grid, "average", (masses,), finished, forms, np.zeros(2))
    # Everybody of a cell at one place of it.
    rng = np.random.default_rng(seed)
    for through in [rng.random(BINS), rng.integers(0, 2, BINS), np.zeros(BINS), np.ones(BINS)]:
        places = np.arange(BINS) + through
        spread = float(masses @ np.abs(np.subtract.outer(places, places)) @ masses)
        assert abs(spread / 2 / float(masses @ places) - finished.value) <= (bound or 0) + 1e-6


def test_a_ratio_whose_cells_may_all_be_zero_is_refused():
    grid = Grid((Axis(dpairs.Interval(0, 100), 4),))
    made, masses = statistic("gini_coefficient"), np.array([1.0, 0, 0, 0])
    forms = np.array([masses @ form.matrix @ masses for form in made.forms(grid, "average")])
    with pytest.raises(NotEstimable, match="everybody has 0"):
        made.hidden_ratio(
            grid, "average", (masses,), made.finish(forms, {"everybody": 100}), forms, np.zeros(2)
        )
