"""What random rounding adds to distances: no people exceed the bound, and some attain it."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

import dpairs
from dpairs.data.grids import Axis, Grid
from dpairs.planning.shapes import from_sample
from dpairs.protocols.shape import overlap
from dpairs.statistics import statistic
from dpairs.statistics.rounded import rounding_variances
from tests.strategies import QUICK

POINTS = 5
AXIS = Axis(dpairs.Interval(0, 2.0 * (POINTS - 1)), POINTS, "random")
UNEVEN = Axis(dpairs.Interval(0, 9, edges=(0.25, 1.0, 8.5)), POINTS, "random")
AXES = pytest.mark.parametrize("axis", [AXIS, UNEVEN], ids=["even", "edges"])
KERNELS = {
    "gini_mean_difference": lambda apart: np.abs(apart),
    "variance": lambda apart: apart**2 / 2,
}


def values(axis, places):
    return np.interp(places, np.arange(POINTS), axis.points)


def rounded(places, shares):
    """The shares of the points, for people with these shares so many intervals from the first point."""
    masses = np.zeros(POINTS)
    below = np.minimum(places.astype(int), POINTS - 2)
    np.add.at(masses, below, shares * (1 - places + below))
    np.add.at(masses, below + 1, shares * (places - below))
    return masses


def added(name, places, shares, axis=AXIS):
    """The mean of the kernel over pairs of rounded people, less that of the people themselves."""
    kernel, points = KERNELS[name], axis.geometry[0]
    masses, true = rounded(places, shares), values(axis, places)
    after = masses @ kernel(np.subtract.outer(points, points)) @ masses
    return float(after - shares @ kernel(np.subtract.outer(true, true)) @ shares)


def bound(name, masses, axis=AXIS):
    (matrix,) = statistic(name).excess(axis, masses) or ()
    assert np.array_equal(matrix, matrix.T)
    return float(masses @ matrix @ masses)


def divisions(masses):
    """Everybody at a point comes from one side: who is in which interval, and where, for every choice."""
    for ups in product((False, True), repeat=POINTS - 2):
        from_above = np.array([True, *ups, False])
        down, up = masses * from_above, masses * ~from_above
        inside = down[:-1] + up[1:]
        with np.errstate(invalid="ignore"):
            through = np.where(inside > 0, up[1:] / inside, 0.0)
        yield np.arange(POINTS - 1) + through, inside


@given(
    st.lists(st.tuples(st.floats(0, POINTS - 1), st.integers(1, 9)), min_size=1, max_size=8),
    st.sampled_from(sorted(KERNELS)),
    st.sampled_from([AXIS, UNEVEN]),
)
@QUICK
def test_rounding_adds_no_less_than_nothing_and_no_more_than_the_bound(people, name, axis):
    places, weights = (np.array(each, dtype=float) for each in zip(*people, strict=True))
    shares = weights / weights.sum()
    masses = rounded(places, shares)
    assert -1e-12 <= added(name, places, shares, axis) <= bound(name, masses, axis) + 1e-12
    mean = shares @ values(axis, places)
    assert masses @ axis.geometry[0] == pytest.approx(mean, rel=1e-9, abs=1e-9), "the mean is kept"


@AXES
def test_people_at_one_place_in_every_other_interval_attain_the_bound_of_distances(axis):
    rng = np.random.default_rng(1)
    for _ in range(30):
        masses = rng.dirichlet(np.full(POINTS, 0.5))
        most = max(
            added("gini_mean_difference", places, shares, axis) for places, shares in divisions(masses)
        )
        assert bound("gini_mean_difference", masses, axis) == pytest.approx(most, rel=1e-12)


def test_even_points_do_not_bound_what_edges_add():
    """Negative control: half of the people at either end of the widest interval, at points that are even."""
    even, masses = Axis(dpairs.Interval(0, 9), POINTS, "random"), np.array([0.0, 0.0, 0.5, 0.5, 0.0])
    most = max(added("gini_mean_difference", places, shares, UNEVEN) for places, shares in divisions(masses))
    assert most > bound("gini_mean_difference", masses, even)


@AXES
def test_the_bound_of_squares_is_the_largest_over_all_divisions(axis):
    rng = np.random.default_rng(2)
    for _ in range(10):
        masses = rng.dirichlet(np.ones(POINTS))

        def less(down, masses=masses):
            b = np.concatenate([masses[:1], down])
            a = np.append(masses[1:-1] - down, masses[-1])
            return -float((axis.gaps**2 * a * b / (a + b)).sum())

        ends = [(1e-9 * each, (1 - 1e-9) * each) for each in masses[1:-1]]
        best = minimize(less, masses[1:-1] / 2, bounds=ends, tol=1e-12)
        most = -best.fun
        assert most * (1 - 1e-6) <= bound("variance", masses, axis) <= most * 1.002


@pytest.mark.parametrize("through", [0.0, 0.1, 0.5, 0.8])
@pytest.mark.parametrize("name", sorted(KERNELS))
@AXES
def test_what_rounding_adds_to_one_atom_is_known(name, through, axis):
    place = np.array([1 + through])
    exact = added(name, place, np.ones(1), axis)
    assert bound(name, rounded(place, np.ones(1)), axis) == pytest.approx(exact, abs=1e-4 * axis.width**2)


def test_a_coefficient_divides_by_a_mean_that_is_kept():
    masses = np.array([0.2, 0.3, 0.1, 0.4, 0.0])
    of_distance, of_mean = statistic("gini_coefficient").excess(AXIS, masses) or ()
    assert masses @ of_distance @ masses == bound("gini_mean_difference", masses)
    assert not of_mean.any()
    assert statistic("auc").excess(AXIS, masses) is None


def test_the_variance_of_rounding_is_that_of_one_step_between_two_points():
    """Of one atom it is u (1 - u) times the square of the step beside it; other steps do not count."""
    masses = np.array([0.0, 0.25, 0.75, 0.0])
    assert masses @ rounding_variances(masses, np.array([9.0, 4.0, 9.0])) == pytest.approx(3 / 4, rel=1e-3)
    assert masses @ rounding_variances(masses, np.array([9.0, 0.0, 0.0])) == 0


@AXES
def test_a_shape_is_rounded_as_its_people_are(axis):
    rng = np.random.default_rng(3)
    people = np.append(rng.beta(2, 5, 4_000), np.full(4_000, 0.3)) * 8
    made = statistic("variance")
    shape = from_sample(made, (axis.domain,), {"value": people})
    shares = overlap(shape, Grid((axis,))) @ shape.masses["everybody"]
    places = np.interp(people, axis.points, np.arange(POINTS))
    expected = rounded(places, np.full(people.size, 1 / people.size))
    assert np.abs(shares - expected).max() < 2e-3
    assert shares.sum() == pytest.approx(1, abs=1e-12)
    assert shares @ axis.geometry[0] == pytest.approx(shape.masses["everybody"] @ shape.grid.axes[0].centres)


def test_whole_numbers_of_a_shape_are_rounded_as_their_people_are():
    """Bins of one number and of several: what is even between two points is half at each, on average."""
    few, many = dpairs.Integers(0, 12), dpairs.Integers(0, 1200)
    for domain in (few, many):
        values = np.arange(domain.size)
        shape = from_sample(statistic("variance"), (domain,), {"value": values})
        axis = Axis(domain, POINTS, "random")
        shares = overlap(shape, Grid((axis,))) @ shape.masses["everybody"]
        expected = rounded(values / axis.width, np.full(values.size, 1 / values.size))
        assert np.abs(shares - expected).max() < 1e-3
