"""Pairs within one part of the plane count as ties, and people at the ends of a domain are allowed for."""

import numpy as np

from dpairs import Interval
from dpairs.data.grids import CutAxis, Grid
from dpairs.protocols.projection.one_part import between_parts
from dpairs.protocols.projection.pilot import Pilot
from dpairs.protocols.projection.pilot_cells import Parts
from dpairs.protocols.projection.uneven_bins import at_ends
from dpairs.statistics import Linear, statistic
from dpairs.statistics.influence import Influence

TAU = statistic("kendall_tau")
STRATUM = "everybody"


def cells(bins: int) -> Grid:
    return Grid((CutAxis.at(Interval(0, bins), list(map(float, range(bins + 1)))),) * 2)


def missed(linear: Linear, pilot: Pilot, points: np.ndarray, weights: np.ndarray) -> float:
    """Tau of weighted points less what the pilot's derivative makes of them."""
    influence, (low, high) = Influence.of(pilot.grid, linear.functions[STRATUM])
    signs = [np.sign(column[:, None] - column) for column in points]
    tau = float(weights @ (signs[0] * signs[1]) @ weights)
    moved = weights @ influence(list(points), ("x", "y")) - pilot.masses[STRATUM] @ influence.cells
    return tau - linear.value - (high - low) * float(moved)


def at_corners(bins: int, wide: int, shares: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All people of every box of so many cells at its lower corner."""
    corners = np.meshgrid(*(np.arange(0.0, bins, wide),) * 2, indexing="ij")
    return np.stack([each.reshape(-1) for each in corners]), shares.reshape(-1)


def pilot_of(bins: int, wide: int, shares: np.ndarray) -> Pilot:
    """Parts of so many cells in each column, filled evenly."""
    edges = [np.arange(bins + 1.0)] * 2
    starts, _ = at_corners(bins, wide, shares)
    parts = Parts(starts, np.full_like(starts, wide), shares.reshape(-1))
    ends = [float(bins)] * 2
    shares_of_cells = parts.on(edges, ends)
    one_part = parts.together(edges, ends, shares_of_cells.reshape(bins, bins))
    masses = {STRATUM: shares_of_cells}
    return Pilot(cells(bins), masses, [masses] * 2, one_part=one_part)


def left(wide: int, between: bool) -> tuple[float, float]:
    """What is missed of people at corners of parts whose shares are known, and the share of pairs in one."""
    shares = np.random.default_rng(wide).dirichlet(np.ones((6 // wide) ** 2))
    pilot = pilot_of(6, wide, shares)
    linear = TAU.linearizer(pilot.grid).at(pilot.masses, {STRATUM: 1000})
    taken = between_parts(TAU, linear, pilot, 1.0) if between else linear
    return missed(taken, pilot, *at_corners(6, wide, shares)), float((shares**2).sum())


def test_round_numbers_at_the_corners_of_parts_are_ties():
    for wide in (1, 2, 3):
        off, together = left(wide, between=True)
        assert abs(off) < 1e-4  # heights have two bytes
        assert together > 0.02


def test_an_even_part_would_take_them_for_pairs_in_order():
    """Negative control: pairs in other cells of the same part then count as if they lay above in both."""
    for wide in (1, 2, 3):
        off, together = left(wide, between=False)
        assert off < -1.5 * together


def test_pairs_of_one_part_or_cell_are_counted_once():
    shares = np.random.default_rng(1).dirichlet(np.ones(9))
    pairs = pilot_of(6, 2, shares).one_part
    assert pairs is not None
    assert np.isclose(pairs.sum(), (shares**2).sum())
    # Parts narrower than cells: the cells count.
    fine = Parts(np.array([[0.0, 0.5], [0.0, 0.5]]), np.full((2, 2), 0.5), np.array([0.3, 0.7]))
    edges, ends = [np.arange(3.0)] * 2, [2.0, 2.0]
    assert np.isclose(fine.together(edges, ends, fine.on(edges, ends).reshape(2, 2)).sum(), 1.0)


def clipped(heavy: float, correction: float, at_the_ends: bool) -> tuple[float, float]:
    """What is missed of a correction if the excess of the outer bins is at the ends, and `at_ends`."""
    bins, fine = 4, 40
    margin = np.array([heavy, 1 - heavy, 1 - heavy, heavy]) / 2
    masses = np.outer(margin, margin).reshape(-1)
    pilot = Pilot(cells(bins), {STRATUM: masses}, [], one_part=np.diag(masses**2))
    linear = TAU.linearizer(pilot.grid).at(pilot.masses, {STRATUM: 1000})
    linear = between_parts(TAU, linear, pilot, 1.0)
    influence, (low, high) = Influence.of(pilot.grid, linear.functions[STRATUM])
    values = influence.cells * (high - low)
    around = values - values @ masses
    people = masses * (1 + correction * around / (masses @ around**2))
    inside = (np.arange(fine) + 0.5) / fine
    places = np.concatenate([np.arange(bins)[:, None] + inside, [[0.0] * fine], [[bins] * fine]])
    filled = np.zeros((bins, bins + 2, fine))
    filled[np.arange(bins), np.arange(bins)] = 1 / fine
    if at_the_ends:
        excess = 1 - (1 - heavy) / heavy
        for end, place in ((0, bins), (bins - 1, bins + 1)):
            filled[end, end] *= 1 - excess
            filled[end, place] = excess / fine
    flat = filled.reshape(bins, -1)
    weights = np.einsum("ij,ia,jb->ab", people.reshape(bins, bins), flat, flat)
    kept = np.unique(places.reshape(-1), return_inverse=True)
    table = np.zeros((kept[0].size,) * 2)
    np.add.at(table, (kept[1][:, None], kept[1][None, :]), weights)
    x, y = np.meshgrid(kept[0], kept[0], indexing="ij")
    below = np.sign(kept[0][:, None] - kept[0])
    tau = float((table * (below @ table @ below.T)).sum())
    moved = table.reshape(-1) @ influence([x.reshape(-1), y.reshape(-1)], ("x", "y"))
    seen = linear.value + (high - low) * float(moved - masses @ influence.cells)
    return tau - seen, at_ends(pilot, linear)


def test_people_at_the_ends_are_allowed_for():
    """To first order in the correction: what two corrections of opposite sign leave differs by it."""
    step = 1e-3
    (up, share), (down, _) = (clipped(0.7, sign * step, True) for sign in (1, -1))
    assert abs(abs(up - down) / (2 * step) - share) < 0.02 * share
    assert share > 0.1


def test_people_who_lie_evenly_leave_only_second_order():
    """Negative control; and no allowance where the last bins are not denser than those beside them."""
    step = 1e-3
    (up, share), (down, _) = (clipped(0.7, sign * step, False) for sign in (1, -1))
    assert abs(up - down) / (2 * step) < 0.1 * share
    assert clipped(0.5, step, False)[1] < 1e-9
