"""A plane's pilot from each column by itself and a copula: sums of boxes, shapes, and who is chosen when."""

import math

import numpy as np
import pytest

from dpairs import Interval, Study
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot import PublicNoise
from dpairs.protocols.projection.pilot_cells import named_atoms
from dpairs.protocols.projection.pilot_copula import Copula, dependence, form
from dpairs.protocols.projection.pilot_descent import explore
from dpairs.protocols.projection.pilot_margins import margins
from dpairs.protocols.projection.pilot_plane import SmoothPlane
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.tree.counts import TreeCounts
from dpairs.protocols.tree.estimate import Evidence
from dpairs.simulate import simulate_round

UNIT = Interval(0, 1)


def first_round(x, y, seed=1, domain=(UNIT, UNIT)):
    """A study of two columns, and the frequency oracles of its first round."""
    size = len(x)
    study = Study.create("kendall_tau", protocol="projection", epsilon=4.0, domain=domain, n=size, seed=seed)
    tally = simulate_round(study, {"x": x, "y": y}, seed=seed)
    tree, counts = pilot(study), tally.counts("everybody")
    assert isinstance(counts, TreeCounts)
    return study, Evidence((counts,), tree.depth, tree.responses, tree.rows, False, "half").oracles[0]


def pilot(study):
    assert isinstance(study.protocol, Projection)
    assert isinstance(study.protocol.pilot, PilotTree)
    return study.protocol.pilot


def people(size, seed):
    return np.random.default_rng(seed).random((2, size))


# ---------------------------------------------------------------- each column by itself


def test_a_columns_nodes_are_sums_of_boxes():
    study, oracles = first_round(*people(3_000, 1))
    leaves = pilot(study).nodes
    oracle = oracles[5]  # 64 boxes, eight by eight
    boxes = oracle(np.arange(64, dtype=np.uint64))
    fixed = leaves.boxes(6, np.arange(64, dtype=np.uint64))
    for place in (0, 1):
        steps = np.flatnonzero(np.array(leaves.turns[:6]) == place)
        added = oracle.added((5 - steps).astype(np.uint64))
        expected = np.bincount(fixed[place][1].view(np.int64), boxes)
        np.testing.assert_allclose(added, expected, rtol=1e-9)
        assert added.sum() == pytest.approx(oracle.people)


def test_a_value_that_half_of_all_share_is_seen_in_its_own_column():
    """Its bin holds half of the people, to three standard errors of its level; the other column has none."""
    x, y = people(30_000, 2)
    y[:15_000] = 0.4
    study, oracles = first_round(x, y)
    columns = margins(oracles, pilot(study).nodes)
    found = []
    for column in columns:
        parts = column.descend().parts
        places = 0.4 * 2**10
        at = (parts.starts[0] <= places) & (places < parts.starts[0] + parts.widths[0])
        found.append((float(parts.shares[at][0]), float(parts.widths[0][at][0])))
    (other, _), (share, width) = found
    error = math.sqrt(columns[1].noise[10 - int(math.log2(width))])
    assert abs(share - 0.5 - width / 2**11) < 3 * error < 0.5
    assert width <= 16
    assert other < 0.25


def test_bins_of_any_width_are_atoms_where_most_people_around_are_in_them():
    cuts, shares = np.array([0.0, 8, 16, 24, 32, 64, 1024]), np.array([0.02, 0.02, 0.5, 0.02, 0.04, 0.4])
    assert named_atoms(cuts, [shares], wide=True).tolist() == [False, False, True, False, False, False]
    assert not named_atoms(cuts, [shares]).any()
    even = np.diff(cuts) / cuts[-1]
    assert not named_atoms(cuts, [even], wide=True).any()


# ---------------------------------------------------------------- the copula


def test_the_form_is_that_of_pairs_in_order():
    error = np.random.default_rng(3).normal(size=(4, 5))
    signs = [np.sign(np.subtract.outer(np.arange(each), np.arange(each))) for each in error.shape]
    assert form(error) == pytest.approx(np.einsum("ij,ik,jl,kl->", error, *signs, error))
    assert form(np.outer(np.arange(4), np.ones(5))) == pytest.approx(0)


@pytest.mark.parametrize("correlation", [-0.9, 0.0, 0.3, 0.99])
def test_a_copula_has_its_marginals_its_tau_and_its_correlation(correlation):
    """Tau of normal columns is 2 / pi asin(r); a table has none of it within cells, which hold few pairs."""
    even = np.full(128, 1 / 128)
    copula = Copula(even, even)
    shares = copula.shares(correlation)
    np.testing.assert_allclose(shares.sum(axis=1), even, rtol=1e-9)
    np.testing.assert_allclose(shares.sum(axis=0), even, rtol=0.02)
    assert form(shares) == pytest.approx(2 / math.pi * math.asin(correlation), abs=0.002)
    assert copula.correlation(shares) == pytest.approx(correlation, abs=1e-5)
    assert copula.missed(shares, shares) == 0
    np.testing.assert_allclose(dependence(np.outer(even, even)), 0, atol=1e-18)


def test_bins_without_people_do_no_harm():
    copula = Copula(np.array([0.0, 0.5, 0.5, 0.0]), np.array([0.0, 0.0, 1.0]))
    shares = copula.shares(0.5)
    assert np.isfinite(shares).all()
    assert shares.sum() == pytest.approx(1)


# ---------------------------------------------------------------- which pilot


def smooth(x, y):
    study, oracles = first_round(x, y)
    nodes = pilot(study).nodes
    return SmoothPlane.of(explore(oracles, nodes), margins(oracles, nodes), PublicNoise(study.coins))


def test_a_copula_is_taken_where_it_fits_and_boxes_where_it_does_not():
    """Two falling lines, one above the other: tau is 0, and that of a copula with such ranks is a third."""
    x, y = people(20_000, 4)
    assert smooth(x, y).better
    assert not smooth(x, np.where(x < 0.5, 0.5 - x, 1.5 - x)).better
