"""First rounds become rough distributions: leaves, descents, histograms."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpairs import Categories, Integers, Interval, Levels, Study, Tally
from dpairs.protocols.projection import pilot_cells
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot import Pilot, PublicNoise, on_simplex
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.protocols.tree.leaves import Leaves, bits_of, leaf_codes
from dpairs.randomness import SeededRandomness
from dpairs.randomness.coins import Coins
from dpairs.simulate import simulate_round

from ...strategies import QUICK

FAILURE = 1e-9
"""Probability that a right program fails one of the seeded tests below, for a fresh seed."""
COINS = Coins.of("0123456789abcdef" * 4)


def pilot_of(study: Study, tally: Tally) -> Pilot:
    protocol = study.protocol
    assert isinstance(protocol, Projection)
    counts: dict[str, Any] = {stratum: tally.counts(stratum) for stratum in study.strata}
    return protocol.pilot.pilot(counts, PublicNoise(study.coins))


def auc(epsilon: float, domain: Any, **options: Any) -> Study:
    return Study.create("auc", protocol="projection", epsilon=epsilon, domain=domain, seed=1, **options)


def labelled(score: np.ndarray, seed: int = 1) -> dict[str, np.ndarray]:
    return {"score": score, "label": np.random.default_rng(seed).integers(0, 2, score.size)}


# ---------------------------------------------------------------- the nearest distribution


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=12), st.integers(0, 10**6))
@QUICK
def test_nearest_distribution(values, seed):
    given_values = np.array(values)
    nearest = on_simplex(given_values)
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(1, abs=1e-12)
    distance = np.linalg.norm(given_values - nearest)
    rng = np.random.default_rng(seed)
    for other in rng.dirichlet(np.full(len(values), 0.5), 50):
        assert distance <= np.linalg.norm(given_values - other) + 1e-12


def test_a_distribution_is_its_own_nearest():
    given_values = np.random.default_rng(1).dirichlet(np.ones(50))
    np.testing.assert_allclose(on_simplex(given_values), given_values, atol=1e-15)


@pytest.mark.parametrize("scale", [1e3, 1e9, 1e12])
def test_very_noisy_estimates_are_still_a_distribution(scale):
    nearest = on_simplex(scale * np.random.default_rng(2).normal(size=20))
    assert nearest.min() >= 0
    assert nearest.sum() == pytest.approx(1, abs=1e-3)


# ---------------------------------------------------------------- public noise


def test_public_noise_is_the_same_for_all_and_goes_on():
    one, two = PublicNoise(COINS), PublicNoise(COINS)
    parts = [one.normals(count) for count in (1, 5, 8, 3)]
    again = [two.normals(count) for count in (1, 5, 8, 3)]
    assert all((a == b).all() for a, b in zip(parts, again, strict=True))
    assert [part.size for part in parts] == [1, 5, 8, 3]
    assert len({value for part in parts for value in part.tolist()}) == 17
    assert (PublicNoise(Coins.of("f" * 64)).normals(8) != PublicNoise(COINS).normals(8)).all()


def test_rounds_of_public_noise_are_those_of_one_after_the_other():
    one, two = PublicNoise(COINS), PublicNoise(COINS)
    together = one.rounds((3, 8, 1), 4)
    for number in range(4):
        for count, rows in zip((3, 8, 1), together, strict=True):
            assert (two.normals(count) == rows[number]).all()
    assert one.used == two.used


@pytest.mark.parametrize("scale", [1.0, 1.05])
def test_public_noise_is_normal(scale):
    """Kolmogorov and Smirnov's test at one named failure probability; the control is 5% too wide."""
    drawn = PublicNoise(COINS).normals(200_000) * scale
    assert np.isfinite(drawn).all()
    assert (stats.kstest(drawn, "norm").pvalue < FAILURE) == (scale != 1)
    halves = np.corrcoef(drawn[:100_000], drawn[100_000:])[0, 1]
    assert abs(halves) < stats.norm.isf(FAILURE / 2) / np.sqrt(100_000)


# ---------------------------------------------------------------- leaves


def test_leaves_take_turns_highest_bits_first():
    leaves = Leaves((Integers(0, 15), Levels(range(4)), Integers(0, 1)), (4, 2, 1))
    assert leaves.turns == (0, 1, 2, 0, 1, 0, 0)
    for x, y, z in itertools.product(range(16), range(4), range(2)):
        bits = {0: f"{x:04b}", 1: f"{y:02b}", 2: f"{z:01b}"}
        used = dict.fromkeys(bits, 0)
        spelled = ""
        for place in leaves.turns:
            spelled += bits[place][used[place]]
            used[place] += 1
        code = leaves.codes([np.array([x]), np.array([y]), np.array([z])], ("x", "y", "z"))
        assert code.tolist() == [int(spelled, 2)]


@pytest.mark.parametrize(
    ("domains", "bits"),
    [
        ((Interval(0, 1),), (5,)),
        ((Integers(-3, 17),), (5,)),
        ((Integers(0, 999),), (4,)),
        ((Levels(range(5)),), (3,)),
        ((Interval(-1, 1), Levels(range(3))), (3, 2)),
        ((Integers(0, 4), Integers(10, 16)), (3, 2)),
    ],
)
def test_extents_are_shares_of_the_domain(domains, bits):
    """At every level the nodes share the domain; children share their parent; nodes without values have 0."""
    leaves = Leaves(domains, bits)
    depth, above = sum(bits), np.ones(1)
    for level in range(depth + 1):
        nodes = np.arange(2**level, dtype=np.uint64)
        extents = leaves.extents(level, nodes)
        assert extents.sum() == pytest.approx(1)
        if level:
            np.testing.assert_allclose(extents.reshape(-1, 2).sum(axis=1), above, atol=1e-15)
        above = extents
    if not any(isinstance(domain, Interval) for domain in domains):
        columns = [
            np.arange(d.low, d.high + 1) if isinstance(d, Integers) else np.array(d.values) for d in domains
        ]
        every = np.array(list(itertools.product(*columns))).T
        codes = leaves.codes(list(every), ("x", "y")[: len(domains)])
        counted = np.bincount(codes.view(np.int64), minlength=2**depth) / codes.size
        np.testing.assert_allclose(counted, above, atol=1e-15)


@pytest.mark.parametrize(
    ("domain", "bits"),
    [(Interval(-2, 6), 6), (Integers(-5, 94), 7), (Integers(-5, 94), 4), (Integers(0, 2**40), 9)],
)
def test_an_axis_of_all_leaves_places_values_as_the_tree_does(domain, bits):
    rng = np.random.default_rng(1)
    low, high = float(domain.low), float(domain.high)
    values = rng.uniform(low, high, 2000)
    if isinstance(domain, Integers):
        values = np.floor(values).astype(np.int64)
        values[:2] = domain.low, domain.high
    axis = Leaves((domain,), (bits,)).axis(0)
    assert (
        axis.place(values, "v", SeededRandomness(0)).tolist()
        == leaf_codes(domain, bits, values, "v").tolist()
    )


def test_bits():
    assert [bits_of(size) for size in (2, 3, 4, 5, 8, 9, 1024, 1025)] == [1, 2, 2, 3, 3, 4, 10, 11]


# ---------------------------------------------------------------- descents


DOMAINS: dict[str, tuple[Any, dict[str, Any], Any]] = {
    "interval": (Interval(0, 1), {}, lambda u: u),
    "shallow": (Interval(0, 1), {"bins": 64}, lambda u: u),
    "integers": (Integers(0, 10**6), {}, lambda u: (u * 10**6).astype(int)),
    "levels": (Levels(range(100)), {}, lambda u: (u * 100).astype(int)),
    "odd levels": (Levels(range(65)), {}, lambda u: (u * 65).astype(int)),
    "histogram": (Levels(range(30)), {}, lambda u: (u * 30).astype(int)),
    "many levels": (Levels(range(1500)), {}, lambda u: (u * 1500).astype(int)),
}


@pytest.mark.parametrize("epsilon", [0.5, 4.0, 20.0])
@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("shape", ["even", "skewed", "atom"])
def test_pilots_are_distributions_on_common_cells(name, epsilon, shape, few_replicates):
    domain, options, scaled = DOMAINS[name]
    rng = np.random.default_rng(3)
    uniform = rng.random(6000) * 0.999999
    values = {"even": uniform, "skewed": uniform**6, "atom": np.where(rng.random(6000) < 0.4, 0.0, uniform)}
    study = auc(epsilon, domain, **options)
    made = pilot_of(study, simulate_round(study, labelled(scaled(values[shape])), 1))
    assert len(made.imagined) == few_replicates
    for masses in (made.masses, *made.imagined):
        assert set(masses) == {"positive", "negative"}
        for each in masses.values():
            assert each.shape == (made.grid.cells,)
            assert each.min() >= -1e-12
            assert each.sum() == pytest.approx(1, abs=1e-9)
    assert 0 <= made.uneven <= 1


def test_many_cuts_keep_the_whole_distribution(monkeypatch):
    """Where there are more cuts than are kept, the first edge must be, even when many people are there."""
    rng = np.random.default_rng(1)
    people = 200_000
    score = np.where(rng.random(people) < 0.3, 0, np.clip(rng.normal(0.5, 0.15, people), 0, 1))
    study = auc(10.0, Interval(0, 1))
    monkeypatch.setattr(pilot_cells, "MAX_CUTS", 100)
    made = pilot_of(study, simulate_round(study, labelled(score), 1))
    assert made.grid.cells == 100
    for masses in (made.masses, *made.imagined):
        for each in masses.values():
            assert each.sum() == pytest.approx(1, abs=1e-9)
    assert made.masses["positive"][0] == pytest.approx(0.3, abs=0.05)


@pytest.mark.parametrize("name", ["interval", "integers", "levels", "odd levels", "histogram"])
def test_with_little_noise_the_pilot_is_near_the_truth(name):
    domain, options, scaled = DOMAINS[name]
    rng = np.random.default_rng(4)
    value = np.minimum(rng.beta(2, 5, 40_000), 0.999999)
    study = auc(8.0, domain, **options)
    made = pilot_of(study, simulate_round(study, labelled(scaled(value)), 2))
    below = [np.cumsum(made.masses[stratum]) for stratum in ("positive", "negative")]
    axis = made.grid.axes[0]
    ends = axis.geometry[1] + (0.5 if name != "interval" else 0)
    truth = np.array([(scaled(value) < end).mean() for end in ends])
    for found in below:
        assert np.abs(found - truth).max() < 0.08


@pytest.mark.parametrize("size", [5, 33, 100])
def test_no_share_goes_where_no_value_is(size):
    """A tree over levels that do not fill it: everybody stays on levels that exist."""
    study = Study.create(
        "vus", protocol="projection", epsilon=1.0, domain=Levels(range(size)), seed=1, pilot_fraction=0.5
    )
    rng = np.random.default_rng(5)
    table = {"score": rng.integers(0, size, 3000), "label": rng.integers(0, 3, 3000)}
    made = pilot_of(study, simulate_round(study, table, 3))
    assert made.grid.cells == size
    for masses in (made.masses, *made.imagined):
        for each in masses.values():
            assert each.sum() == pytest.approx(1, abs=1e-12)


def test_cells_of_two_columns_are_where_people_are():
    """The order of the tree's leaves is not that of the grid's cells; a crowd must stay in its place."""
    study = Study.create(
        "kendall_tau",
        protocol="projection",
        epsilon=8.0,
        domain=(Interval(0, 1), Levels(range(11))),
        bins=[16, 16],
        seed=1,
    )
    x, y = np.full(20_000, 0.66), np.full(20_000, 7)
    made = pilot_of(study, simulate_round(study, {"x": x, "y": y}, 1))
    shape = [axis.bins for axis in made.grid.axes]
    assert shape == [5, 11]  # halved around the crowd alone: 1/2, 3/4, 5/8 and 11/16
    assert made.masses["everybody"].reshape(shape)[2, 7] > 0.9


def test_nothing_is_uneven_on_single_values_and_something_within_parts():
    even = pilot_of(*_with_tally(auc(1.0, Levels(range(100))), np.arange(6000) % 100))
    parts = pilot_of(*_with_tally(auc(1.0, Interval(0, 1)), np.linspace(0, 1, 6000)))
    assert even.uneven == 0
    assert 0 < parts.uneven < 1


def test_wide_bins_of_integers_may_be_uneven():
    """A part of several whole numbers may hold people anyhow, as a part of an interval may."""
    score = (np.arange(6000) % 5) * 200_000
    made = pilot_of(*_with_tally(auc(1.0, Integers(0, 10**6), bins=64), score))
    assert made.uneven > 0


def _with_tally(study: Study, score: np.ndarray) -> tuple[Study, Tally]:
    return study, simulate_round(study, labelled(score), 1)


@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_a_histogram_pilot_is_right_on_average(shift):
    """Far from the simplex's edges the cells are unbiased; the control claims other shares."""
    shares = np.array([0.3, 0.2, 0.3, 0.2])
    study = Study.create("variance", protocol="projection", epsilon=2.0, domain=Levels(range(4)), seed=1)
    rng, found = np.random.default_rng(1), []
    for run in range(30):
        made = pilot_of(study, simulate_round(study, {"value": rng.choice(4, 8000, p=shares)}, run))
        found.append(made.masses["everybody"])
    cells = np.array(found)
    claimed = shares + shift * np.array([1, -1, 0, 0])
    error = cells.std(axis=0, ddof=1) / np.sqrt(30)
    far = np.abs(cells.mean(axis=0) - claimed) / error
    assert (far.max() > stats.t.isf(FAILURE / 8, 29)) == (shift > 0)
    # The imagined pilots scatter around their own as the pilots do around the truth.
    spread = np.array([each["everybody"] for each in made.imagined]).std(axis=0, ddof=1)
    assert (np.abs(np.log(spread / cells.std(axis=0, ddof=1))) < 0.7).all()


@pytest.mark.parametrize(("domain", "bins"), [(Levels(range(8)), None), (Interval(0, 7), 8)])
def test_a_histogram_answers_alone_only_where_its_cells_hide_nothing(domain, bins):
    study = auc(2.0, domain, pilot="histogram", bins=bins)
    score = np.random.default_rng(1).integers(0, 8, 400)
    second = study.next(simulate_round(study, labelled(score), 1)).protocol
    assert isinstance(second, SecondRound)
    assert second.analysis is not None
    assert (second.analysis.alone is None) == isinstance(domain, Interval)


def test_categories_have_no_order_to_cut():
    study = Study.create(
        "collision_entropy", protocol="projection", epsilon=4.0, domain=Categories(range(12)), seed=1
    )
    made = pilot_of(study, simulate_round(study, {"value": np.arange(6000) % 12}, 1))
    assert made.masses["everybody"] == pytest.approx(np.full(12, 1 / 12), abs=0.05)
