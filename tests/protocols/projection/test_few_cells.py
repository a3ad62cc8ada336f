"""Pilots that ask for a cell itself: whole numbers, rare classes, and cells that hold hardly anybody."""

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from dpairs import Categories, Integers, Levels, NotEstimable, Study, exact, simulate
from dpairs.protocols.counts import DenseCounts
from dpairs.protocols.projection import remainder
from dpairs.protocols.projection.divided import Divided
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot import PublicNoise, on_simplex
from dpairs.protocols.projection.pilot_agreeing import NOBODY_AGREES, Agreeing
from dpairs.protocols.projection.pilot_histogram import PilotHistogram, evened

from .cases import first_tally

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
RUNS = 200 if FULL else 40
FAILURE = 1e-4
FEWEST = int(stats.binom.ppf(FAILURE, RUNS, 0.92))
"""Of intervals that hold in 92%, so many do at least but for a chance of FAILURE, for fresh seeds."""
PEOPLE = 20_000
MONTH = Integers(0, 31)


def visits(rng: np.random.Generator, n: int = PEOPLE) -> dict[str, np.ndarray]:
    return {"value": np.minimum(rng.poisson(2.0, n), 31)}


def rare_class(rng: np.random.Generator, n: int = PEOPLE) -> dict[str, np.ndarray]:
    """Two in a hundred are hurt, and are ill no longer than others."""
    return {"score": visits(rng, n)["value"], "label": (rng.random(n) < 0.02).astype(int)}


def at_bat(rng: np.random.Generator, n: int = PEOPLE) -> dict[str, np.ndarray]:
    return {"value": np.floor(700 * rng.random(n) ** 3).astype(int)}


def covered(study: Study, draw, **options) -> int:
    """How many intervals hold the value of the people drawn."""
    held = 0
    for run in range(RUNS):
        table = draw(np.random.default_rng([3, run]))
        estimate = simulate(replace(study, seed=run), table, seed=run)
        low, high = estimate.confidence_interval(target="sample")
        held += low <= exact(study.statistic.name, table, **options) <= high
    return held


def gini(**options) -> Study:
    return Study.create(
        "gini_coefficient", protocol="projection", epsilon=1.0, domain=MONTH, n=PEOPLE, **options
    )


BANDS = Levels([0, 10, 20, 50, 100, 200, 500, 1000])
"""Not evenly spaced, so their first round is a histogram, which has an estimate of its own."""


def banded(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Incomes by bands: most of them low, so that noise may double the mean."""
    return {"value": rng.choice(BANDS.values, PEOPLE, p=np.array([30, 25, 18, 12, 8, 4, 2, 1]) / 100)}


IN_BANDS = Study.create("gini_coefficient", protocol="projection", epsilon=1.0, domain=BANDS, n=PEOPLE)


def test_intervals_hold_where_the_first_round_has_an_estimate_of_its_own():
    assert covered(IN_BANDS, banded) >= FEWEST


def test_an_estimate_of_a_ratio_is_as_uncertain_as_its_divisor_makes_it(monkeypatch):
    """A mean that noise doubles makes it seem certain along its gradient, and it had most of the weight."""
    study = Study.create("gini_coefficient", protocol="projection", epsilon=3.0, domain=BANDS, n=PEOPLE)
    tally = first_tally(study, banded(np.random.default_rng(1)))
    pilot: Any = study.protocol.pilot  # type: ignore[attr-defined]
    counts = {"everybody": tally.counts("everybody")}
    value, population, sample = pilot.own_estimate(counts)
    monkeypatch.setattr(type(study.statistic), "divisor_slack", lambda *_: 1.0)
    same, along, of_people = pilot.own_estimate(counts)
    assert same == value
    assert population / along == pytest.approx(sample / of_people, rel=1e-6)
    assert population > 1.1 * along


def test_intervals_hold_on_small_whole_numbers():
    assert covered(gini(), visits) >= FEWEST


def test_intervals_hold_if_small_whole_numbers_are_asked_for_directly():
    assert covered(gini(pilot="histogram"), visits) >= FEWEST


def test_a_divisor_from_shares_that_were_cut_is_noticed(monkeypatch):
    """Negative control: a mean that cells without people make larger, in the pilot and in imagined rounds."""
    monkeypatch.setattr(Divided, "by_shares", lambda self, *_: self)
    assert covered(gini(pilot="histogram"), visits) < FEWEST


RARE = Study.create(
    "auc", protocol="projection", epsilon=1.0, domain=MONTH, n=PEOPLE, labels="private", pilot="histogram"
)


def test_intervals_hold_for_a_rare_private_class():
    assert covered(RARE, rare_class, labels="private") >= FEWEST


def test_a_rare_class_that_cells_without_people_enlarge_is_noticed(monkeypatch):
    """Negative control, as for means."""
    monkeypatch.setattr(Divided, "by_shares", lambda self, *_: self)
    assert covered(RARE, rare_class, labels="private") < FEWEST


MANY = Study.create(
    "collision_entropy", protocol="projection", epsilon=1.0, domain=Integers(0, 800), n=PEOPLE
)


@pytest.mark.long
def test_intervals_of_entropy_hold_on_many_cells():
    assert covered(MANY, at_bat) >= FEWEST


@pytest.mark.long
def test_cells_that_noise_chose_are_noticed(monkeypatch):
    """Negative control: rounds imagined from the pilot alone."""
    monkeypatch.setattr(
        remainder, "_between", lambda statistic, linearizer, even, mean, variance: (mean, 0.0, variance)
    )
    assert covered(MANY, at_bat) < FEWEST


MILLION = Integers(0, 10**6)
"""Too many for a histogram: the first round is a tree, and cells hold several values."""


def shared(values: int, epsilon: float) -> int:
    """How many intervals hold if people share so few values of a million."""
    places = np.random.default_rng(5).integers(0, 10**6, values)
    study = Study.create(
        "collision_entropy", protocol="projection", epsilon=epsilon, domain=MILLION, n=PEOPLE
    )
    return covered(study, lambda rng: {"value": places[rng.integers(0, values, PEOPLE)]})


@pytest.mark.parametrize(
    ("values", "epsilon"),
    [
        (8, 1.0),
        (20, 1.0),
        (20, 3.0),
        *(pytest.param(each, 8.0, marks=pytest.mark.long) for each in (20, 13_545)),
    ],
)
def test_intervals_of_entropy_hold_where_cells_hide_who_agrees(values, epsilon):
    assert shared(values, epsilon) >= FEWEST


def test_cells_that_were_taken_for_evenly_filled_are_noticed(monkeypatch):
    """Negative control: nobody shares a value of a cell that was not split."""
    monkeypatch.setattr(Agreeing, "of", lambda *_: NOBODY_AGREES)
    assert shared(20, 1.0) < FEWEST


def test_shared_values_in_cells_with_too_few_people_are_noticed(monkeypatch):
    """Negative control: as if each cell had as many people as the pilot says."""
    agreeing = Agreeing.of
    monkeypatch.setattr(Agreeing, "of", lambda *given: replace(agreeing(*given), more=0.0))
    assert shared(8, 1.0) < FEWEST


# ---------------------------------------------------------------- by hand


def test_people_of_cells_that_may_be_noise_are_dealt_evenly():
    """Of five cells an error of 0.1 may be sqrt(2 log 5) 0.1 = 0.18 in one of them."""
    masses, noise = np.array([0.6, 0.2, 0.15, 0.05, 0.0]), np.full((8, 5), 0.1)
    assert evened(masses, noise) == pytest.approx([0.6, 0.2, 0.2 / 3, 0.2 / 3, 0.2 / 3])


def test_cells_that_are_sure_stay():
    masses = np.array([0.6, 0.4])
    assert evened(masses, np.full((8, 2), 0.01)) is masses


def test_a_column_of_which_hardly_anybody_differs_has_no_tau_b():
    """Agreed digits of a share of ties may be 1 where it is not: that is too few people, not a bad study."""
    domain, refused = (Levels([0, 1]), Levels(range(9))), 0
    for seed in range(40):
        y = np.round(np.random.default_rng(seed).normal(4, 1, 500).clip(0, 8)).astype(int)
        study = Study.create(
            "kendall_tau", protocol="projection", epsilon=16.0, domain=domain, n=500, variant="b", seed=seed
        )
        try:
            simulate(study, {"x": (np.arange(500) == 0).astype(int), "y": y}, seed=seed)
        except NotEstimable:
            refused += 1
    assert refused > 0


def test_pairs_that_may_agree_by_hand():
    """Two cells, of the leaf 2 and of leaves 3 to 6: of the first, one value, everything is known."""
    masses, *rounds = ({"everybody": np.array(each)} for each in ([0.4, 0.6], [0.3, 0.7], [0.5, 0.5]))
    found = Agreeing.of(np.array([2.0, 3.0, 7.0]), masses, rounds, False)
    assert found.pairs == pytest.approx(0.75 * (0.49 + 0.25) / 2)
    spread = np.std([0.7, 0.5], ddof=1)
    assert found.more == pytest.approx((0.6 + spread) * 1 - found.pairs)
    assert Agreeing.of(np.array([2.0, 3.0, 4.0]), masses, rounds, False) == NOBODY_AGREES
    assert Agreeing.of(np.array([2.0, 3.0, 4.0]), masses, rounds, True).more > 0


def test_imagined_rounds_of_rare_symbols_are_as_far_off_as_real_ones():
    """750 people send 2,257 symbols, most of them never. Cut at 0, shares of symbols are far too even."""
    shares = np.append(0.6, np.full(299, 0.4 / 299))
    study = Study.create(
        "collision_entropy", protocol="projection", epsilon=4.0, domain=Categories(range(300)), n=2000
    )
    assert isinstance(study.protocol, Projection)
    first, real, imagined, cut = study.protocol.pilot, [], [], []
    assert isinstance(first, PilotHistogram)
    channel, decoder = first.mechanism.channel, first.mechanism.decoder
    for run in range(20):
        rng = np.random.default_rng([9, run])
        table = DenseCounts(first.symbols)
        table.array += rng.multinomial(750, shares @ channel)
        pilot = first.pilot({"everybody": table}, PublicNoise(study.coins))
        assert pilot.even is not None
        real.append(float(np.sum((pilot.masses["everybody"] - shares) ** 2)))
        there = pilot.even.masses["everybody"]
        imagined += [np.sum((each["everybody"] - there) ** 2) for each in pilot.even.imagined]
        symbols = np.maximum(rng.normal(shares @ channel, np.sqrt(shares @ channel / 750)), 0)
        cut.append(np.sum((on_simplex(symbols @ decoder / symbols.sum()) - shares) ** 2))
    assert np.mean(imagined) == pytest.approx(np.mean(real), rel=0.3)
    assert np.mean(cut) > 3 * np.mean(real)
