"""What a poor pilot of the plane sees of dependence, against tau of whole tables; which levels it asks."""

from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest

import dpairs
from dpairs import Integers, Interval, Levels
from dpairs.data.grids import Axis, Grid
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.gain import _apart, gain_error, seen_apart
from dpairs.protocols.projection.pilot import Pilot
from dpairs.protocols.projection.pilot_cells import Parts
from dpairs.protocols.projection.pilot_levels import check_levels, dealt_levels, walked_levels
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.statistics.kendall import KendallTau
from dpairs.statistics.linear import Linearizer
from experiments.zoo.outside_people import stays

GRID = Grid((Axis(Levels(range(3)), 3), Axis(Levels(range(4)), 4)))


def tau(table: list[list[Fraction]]) -> Fraction:
    """Tau-a of people with these shares of the cells, pair by pair."""
    places = list(product(range(3), range(4)))
    sign = {place: (place > 0) - (place < 0) for place in range(-3, 4)}
    return sum(
        (table[a][b] * table[c][d] * sign[a - c] * sign[b - d] for (a, b), (c, d) in product(places, places)),
        Fraction(0),
    )


def added(pilot: list[list[Fraction]], more: list[list[Fraction]]) -> Fraction:
    """By how much tau grows along ``more`` at a pilot: tau is quadratic, so the difference is exact."""
    up, down = (
        tau(
            [
                [one + side * other for one, other in zip(*rows, strict=True)]
                for rows in zip(pilot, more, strict=True)
            ]
        )
        for side in (1, -1)
    )
    return (up - down) / 2


def dependence(pilot: list[list[Fraction]]) -> list[list[Fraction]]:
    """Shares of both columns, times what lies below less what lies above."""
    none = Fraction(0)
    columns = [sum(row, none) for row in pilot], [sum(column, none) for column in zip(*pilot, strict=True)]
    scored = [
        [
            share * (sum(shares[:place], none) - sum(shares[place + 1 :], none))
            for place, share in enumerate(shares)
        ]
        for shares in columns
    ]
    return [[one * other for other in scored[1]] for one in scored[0]]


def random_table(rng: np.random.Generator) -> list[list[Fraction]]:
    counts = rng.integers(1, 30, (3, 4))
    return [[Fraction(int(each), int(counts.sum())) for each in row] for row in counts]


def as_masses(table: list[list[Fraction]]) -> dict[str, np.ndarray]:
    return {"everybody": np.array(table, dtype=float).reshape(-1)}


def test_the_gain_is_that_of_whole_tables():
    rng = np.random.default_rng(1)
    statistic = KendallTau("a")
    for _ in range(5):
        here, *there = (random_table(rng) for _ in range(4))
        more = dependence(here)
        gains = [added(each, more) / added(here, more) - 1 for each in there]
        expected = float(sum(gain**2 for gain in gains) / len(gains))
        pilot = Pilot(GRID, as_masses(here), [as_masses(each) for each in there])
        assert gain_error(Linearizer(statistic, GRID), pilot) == pytest.approx(expected, rel=1e-8)
        # Negative control: pilots that are the same see all of it.
        alike = Pilot(GRID, as_masses(here), [as_masses(here)])
        assert gain_error(Linearizer(statistic, GRID), alike) == pytest.approx(0, abs=1e-20)


def test_a_pilot_that_tells_nobody_apart_has_no_gain():
    one_cell = {"everybody": np.eye(1, 12, 5)[0]}
    assert gain_error(Linearizer(KendallTau("a"), GRID), Pilot(GRID, one_cell, [one_cell])) == 0


@pytest.mark.parametrize(
    "domains",
    [(Integers(1, 14), Integers(0, 100)), (Integers(0, 25), Interval(0, 500)), (Interval(0, 1),) * 2],
)
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_both_columns_are_halved_equally_often_at_coarse_levels(domains, epsilon):
    study = dpairs.Study.create(
        "kendall_tau", protocol="projection", epsilon=epsilon, domain=domains, n=20_000, seed=1
    )
    assert isinstance(study.protocol, Projection)
    tree = study.protocol.pilot
    assert isinstance(tree, PilotTree)
    assert max(tree.dealt) == tree.depth
    coarse = [level for level in tree.dealt if level <= 2 * min(tree.bits)]
    for level in set(coarse):
        assert tree.nodes.turns[:level].count(0) == tree.nodes.turns[:level].count(1)


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_no_walk_ends_before_the_leaves(epsilon):
    alone = [(bits,) for bits in range(11, 53)]
    together = [(first, second) for first in range(1, 17) for second in range(1, 17) if first + second > 10]
    for bits in (*alone, *together):
        dealt = dealt_levels(bits, epsilon)
        check_levels(dealt, sum(bits), 1)
        assert max(walked_levels(dealt)) == sum(bits)
    for bits in alone:
        assert {after - before for before, after in pairwise(sorted(set(dealt_levels(bits, epsilon))))} == {2}


def test_a_sparse_column_of_many_whole_numbers_has_a_second_round():
    rng = np.random.default_rng(1)
    label = (rng.random(20_000) < 0.4).astype(int)
    data = {"score": np.clip(rng.normal(1000 + 150 * label, 200), 0, None).astype(int), "label": label}
    study = dpairs.Study.create(
        "auc", protocol="projection", epsilon=4.0, domain=Integers(0, 2_000_000), seed=2
    )
    low, high = dpairs.simulate(study, data, seed=2).confidence_interval()
    assert low <= dpairs.exact("auc", data) <= high
    assert high - low < 0.1


def test_few_levels_beside_a_skewed_column_are_covered():
    """Where levels halved the first column more often, 83.5% of 200 such studies held."""
    domains, rng = (Integers(1, 14), Integers(0, 100)), np.random.default_rng(3)
    truth = dpairs.exact("kendall_tau", stays(rng, 200_000))
    held = 0
    for run in range(40):
        study = dpairs.Study.create(
            "kendall_tau", protocol="projection", epsilon=1.0, domain=domains, n=20_000, seed=run
        )
        low, high = dpairs.simulate(study, stays(rng, 20_000), seed=run).confidence_interval()
        held += low <= truth <= high
    assert held >= 32  # 40 runs of 95% have fewer once in 7,000


def boxes(tables: np.ndarray) -> Parts:
    """Every cell of a table of 3 by 4, of several rounds, as a part of its own."""
    starts = np.indices((3, 4)).reshape(2, -1).astype(float)
    return Parts(starts, np.ones_like(starts), tables.reshape(len(tables), -1))


def scores_apart(shares: np.ndarray, people: np.ndarray) -> float:
    """3/2 E|s(x) - s(x')| of people who lie evenly in cells, by very many places in each."""
    places = (np.arange(400) + 0.5) / 400
    score = np.interp(np.add.outer(np.arange(shares.size), places), np.arange(shares.size + 1), ends(shares))
    weight = np.repeat(people / 400, 400)
    return float(3 * weight @ np.abs(score.reshape(-1, 1) - score.reshape(-1)) @ weight)


def ends(shares: np.ndarray) -> np.ndarray:
    return np.concatenate([[0.0], np.cumsum(shares)])


def test_what_a_function_sees_of_a_column_is_how_far_its_scores_lie_apart():
    rng = np.random.default_rng(4)
    for _ in range(5):
        shares, people = rng.dirichlet(np.ones(6), 2)
        assert _apart(ends(people), shares) == pytest.approx(scores_apart(shares, people), abs=1e-4)
        assert _apart(ends(shares), shares) == pytest.approx(1)
    # People in one place of the pilot's widest cell: it tells none of them from each other.
    assert _apart(ends(np.array([1.0, 0.0])), np.array([0.01, 0.99])) < 0.02


def test_what_a_first_round_leaves_open_is_measured_before_shares_are_cut():
    rng = np.random.default_rng(5)
    pilot = rng.dirichlet(np.ones(12)).reshape(3, 4)
    edges, last = [np.arange(4.0), np.arange(5.0)], [3.0, 4.0]
    measured = pilot + rng.normal(0, 0.05, (400, 3, 4))
    measured += ((1 - measured.sum(axis=(1, 2))) / 12)[:, None, None]
    cut = np.clip(measured, 0, None)
    cut /= cut.sum(axis=(1, 2), keepdims=True)
    tables = np.concatenate([pilot[None], cut]).reshape(401, -1)
    own = [
        [_apart(ends(one.sum(axis=1 - place)), other.sum(axis=1 - place)) for one, other in rounds]
        for place in (0, 1)
        for rounds in (zip(measured, cut, strict=True), ((pilot, other) for other in cut))
    ]
    first, before, second, earlier = map(np.array, own)
    expected = np.var(first - before, ddof=1) + np.var(second - earlier, ddof=1)
    assert seen_apart(boxes(measured), edges, last, tables) == pytest.approx(expected)
    # Negative control: rounds without noise leave nothing open.
    still = np.repeat(pilot[None], 4, axis=0)
    assert seen_apart(boxes(still), edges, last, np.repeat(pilot.reshape(1, -1), 5, axis=0)) < 1e-20


def test_the_larger_of_both_counts():
    statistic, rng = KendallTau("a"), np.random.default_rng(6)
    here, there = (as_masses(random_table(rng)) for _ in range(2))
    linearizer = Linearizer(statistic, GRID)
    imagined = gain_error(linearizer, Pilot(GRID, here, [there]))
    assert gain_error(linearizer, Pilot(GRID, here, [there], seen_apart=imagined / 2)) == imagined
    assert gain_error(linearizer, Pilot(GRID, here, [there], seen_apart=2 * imagined)) == pytest.approx(
        2 * imagined
    )
