"""Imagined first rounds miss what true ones miss."""

import functools
import os

import numpy as np
import pytest
from scipy import stats

from dpairs import Levels, Study, Tally, exact
from dpairs.protocols.projection import remainder as remainders
from dpairs.protocols.projection.pilot import PublicNoise
from dpairs.protocols.projection.remainder import Remainder
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.protocols.projection.winsorize import _left
from dpairs.simulate import simulate_round
from dpairs.statistics.influence import Influence

from ...statistics.populations import continuous

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
PILOTS = 100 if FULL else 24
CHANCE = 1e-5
LEAST, MOST = (float(np.sqrt(stats.chi2.ppf(p, PILOTS) / PILOTS)) for p in (CHANCE / 2, 1 - CHANCE / 2))
SHIFT = float(stats.norm.isf(CHANCE / 2) / np.sqrt(PILOTS))
"""What is left, in imagined standard errors: where its root mean square and its mean lie but for CHANCE.

Imagined rounds are no more than about right, so with many pilots the limits are widened by SLACK.
"""
SLACK = 1.3
UNIFORM = (np.arange(4000) + 0.5) / 4000
EVERYBODY = {
    "normals-public": {
        "positive": np.clip(stats.norm.ppf(UNIFORM) * 0.15 + 0.6, 0, 1),
        "negative": np.clip(stats.norm.ppf(UNIFORM) * 0.15 + 0.4, 0, 1),
    },
    "gini-lognormal": {"everybody": np.minimum(stats.lognorm(0.7).ppf(UNIFORM), 10) / 10},
}


@functools.cache
def first_rounds(name: str) -> tuple[Study, list[Tally]]:
    population = continuous()[name]
    study, rng = population.study(1.0, protocol="projection", n=20_000, bins=64), np.random.default_rng(6)
    return study, [simulate_round(study, population.draw(rng, 20_000), run) for run in range(PILOTS)]


def left_over(name: str) -> np.ndarray:
    """What each pilot's derivative truly misses, less what was imagined, in imagined standard errors.

    Where the function is kept level beyond some ends, that is about people who were moved between these; what
    it leaves out of the others must lie within the bias that the interval allows for.
    """
    population, (study, tallies) = continuous()[name], first_rounds(name)
    found = []
    for tally in tallies:
        second = study.next(tally).protocol
        assert isinstance(second, SecondRound)
        analysis = second.analysis
        assert analysis is not None
        seen = analysis.value
        for stratum, influence in second.influences.items():
            heights = influence([EVERYBODY[name][stratum]], second.statistic.private_columns)
            low, high = analysis.ranges[stratum]
            seen += (high - low) * (heights.mean() - analysis.means[stratum])
        truth = population.truth
        if analysis.remainder.bias and len(second.influences) == 1:
            (influence,) = second.influences.values()
            moved = np.clip(EVERYBODY[name]["everybody"], *level_ends(influence))
            truth = exact(population.statistic, {"value": moved})
            assert abs(population.truth - truth) <= analysis.remainder.bias
        missed = truth - seen - analysis.remainder.mean
        found.append(missed / np.sqrt(analysis.remainder.variance))
    return np.array(found)


def level_ends(influence: Influence) -> tuple[float, float]:
    """The ends of a domain beyond which a function on one column does not change."""
    (axis,) = influence.grid.axes
    low, high, _ = axis.geometry
    bins = influence.heights.reshape(-1, 2)
    inner = np.flatnonzero(bins[:, 0] != bins[:, 1])
    return float(low[inner[0]]), float(high[inner[-1]])


@pytest.mark.parametrize("name", EVERYBODY)
def test_imagined_rounds_miss_what_true_rounds_miss(name, monkeypatch):
    """Mean and size of the rest; the allowance for uneven parts is left out, which has no part in it."""
    for allowance in ("UNEVEN", "UNEVEN_LINE", "ALL_TOGETHER"):
        monkeypatch.setattr(remainders, allowance, 0.0)
    left = left_over(name)
    assert LEAST / SLACK < np.sqrt((left**2).mean()) < MOST * SLACK
    assert abs(left.mean()) < SHIFT * SLACK


def test_errors_of_two_classes_are_expected_to_cancel():
    """Their product is 0 on average; of one stratum the same is a square, and is not."""
    for name, cancels in (("normals-public", True), ("gini-lognormal", False)):
        study, tallies = first_rounds(name)
        second = study.next(tallies[0]).protocol
        assert isinstance(second, SecondRound)
        assert second.analysis is not None
        assert (second.analysis.remainder.mean == 0) is cancels


@pytest.mark.parametrize("name", EVERYBODY)
def test_half_the_imagined_noise_is_noticed(name, monkeypatch):
    """Negative control: with noise of half the size the same test fails."""
    for allowance in ("UNEVEN", "UNEVEN_LINE", "ALL_TOGETHER"):
        monkeypatch.setattr(remainders, allowance, 0.0)
    whole = PublicNoise.rounds
    monkeypatch.setattr(
        PublicNoise, "rounds", lambda self, counts, rounds: [each / 2 for each in whole(self, counts, rounds)]
    )
    assert np.sqrt((left_over(name) ** 2).mean()) > MOST * SLACK


def test_imagined_rounds_of_one_study_are_the_same_for_everybody():
    study, tallies = first_rounds("gini-lognormal")
    one, two = (study.next(tallies[0]).protocol for _ in range(2))
    assert isinstance(one, SecondRound)
    assert isinstance(two, SecondRound)
    assert one.analysis == two.analysis
    assert one.analysis is not None
    assert one.analysis.remainder.variance > 0


def levels_study(statistic: str, people: int, shares: np.ndarray) -> Remainder:
    """The remainder of a histogram's pilot of so many people with these shares of levels."""
    study = Study.create(
        statistic,
        protocol="projection",
        epsilon=1.0,
        domain=Levels(range(shares.size)),
        n=people,
        pilot="histogram",
        seed=1,
    )
    rng = np.random.default_rng(2)
    value = rng.choice(shares.size, people, p=shares)
    second = study.next(simulate_round(study, {"value": value}, 3)).protocol
    assert isinstance(second, SecondRound)
    assert second.analysis is not None
    return second.analysis.remainder


ZIPF = 1 / np.arange(1, 33)


def test_shares_that_noise_would_cut_leave_the_remainder_open():
    """A histogram of which nothing is cut at 0 misses as much as imagined; of rare levels, it may be more."""
    even = levels_study("gini_mean_difference", 200_000, np.full(4, 0.25))
    assert even.uncut == even.bias == 0
    rare = levels_study("gini_mean_difference", 2_000, ZIPF / ZIPF.sum())
    assert rare.bias > abs(rare.mean)
    assert rare.uncut > rare.variance / 2
    # The nearest distribution is nearest for equality: nothing is left open.
    assert levels_study("collision_entropy", 2_000, ZIPF / ZIPF.sum()).uncut == 0


@pytest.mark.parametrize(("left", "stated"), [(0.1, 0.25), (0.5, 0.5), (0.7, 0.7)])
def test_tails_fall_as_slowly_as_they_were_seen_to_but_not_faster_than_a_quarter(left, stated):
    shares = 0.4 * left ** np.arange(4.0)
    assert _left(shares, np.full(4, 1e-6)) == pytest.approx(stated)
    # Distances beyond which nobody surely lies say nothing.
    assert _left(shares, np.full(4, 1.0)) == 1.0
