"""The mechanism that is searched for a kernel: exact privacy, unbiased, and better than the built-in ones."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Levels, Study
from dpairs.data.grids import Axis, Grid
from dpairs.errors import BadFile, BadParameter
from dpairs.mechanisms import KaryResponse, ProjectiveResponse, TableResponse, largest_ratio
from dpairs.mechanisms.cache import MechanismCache
from dpairs.mechanisms.optimize import STEPS, Goal, optimize, target_of
from dpairs.mechanisms.thresholds import log_above
from dpairs.protocols import Histogram, Projection
from dpairs.randomness import SeededRandomness
from dpairs.statistics import KendallTau


def kendall(levels: int) -> np.ndarray:
    axis = Axis(Levels(range(levels)), levels)
    return KendallTau().forms(Grid((axis, axis)), "average")[0].matrix


@pytest.fixture(scope="module")
def found() -> TableResponse:
    made = optimize([kendall(4)], np.full(16, 1 / 16), 1.0)
    assert isinstance(made, TableResponse)
    return made


def test_privacy_is_exact(found):
    rows = [found.pmf(cell) for cell in range(found.inputs)]
    assert all(sum(row) == 1 for row in rows)
    assert log_above(largest_ratio(rows)) == found.epsilon <= 1.0
    assert found.epsilon > 0.9999
    # The same check notices one word too many.
    worse = [list(row) for row in rows]
    column = int(np.argmax(found.weights.max(axis=0) / found.weights.min(axis=0)))
    place = int(np.argmax(found.weights[:, column]))
    worse[place][column] += Fraction(1, 2**16)
    assert log_above(largest_ratio(worse)) > found.epsilon


def test_decoding_is_unbiased(found):
    np.testing.assert_allclose(found.channel @ found.decoder, np.eye(16), atol=1e-8)


def test_a_table_that_was_read_back_decodes_to_the_last_digit(found):
    again = TableResponse.from_json(found.to_json())
    assert (again.decoder == found.decoder).all()


def test_symbols_follow_the_table(found):
    people, failure = 200_000, 1e-9
    symbols = found.randomize(np.full(people, 5), SeededRandomness(1))
    seen = np.bincount(symbols, minlength=found.symbols)
    expected = found.channel[5] * people
    from scipy.stats import chi2

    critical = chi2.isf(failure, found.symbols - 1)
    assert ((seen - expected) ** 2 / expected).sum() < critical
    other = found.channel[6] * people
    assert ((seen - other) ** 2 / other).sum() > critical


def test_it_is_better_than_the_built_in_ones(found):
    prior = np.full(16, 1 / 16)
    goal = Goal(target_of([kendall(4)], prior), prior, np.e)
    cost = goal.cost(found.channel.T)[0]
    for kind in (KaryResponse, ProjectiveResponse):
        assert cost < 0.9 * goal.cost(kind.for_epsilon(16, 1.0).channel.T)[0]


def test_the_slope_is_the_costs_derivative():
    prior = np.full(4, 0.25)
    goal = Goal(target_of([kendall(2)], prior), prior, np.e)
    channel = KaryResponse.for_epsilon(4, 1.0).channel.T
    cost, slope = goal.cost(channel)
    step = np.random.default_rng(1).normal(size=channel.shape) * 1e-6
    assert goal.cost(channel + step)[0] - cost == pytest.approx(float((slope * step).sum()), rel=1e-3)


def test_a_large_epsilon_needs_no_table():
    assert isinstance(optimize([kendall(4)], np.full(16, 1 / 16), 6.0), KaryResponse | ProjectiveResponse)


def test_a_study_carries_it_and_a_cache_keeps_it(tmp_path, monkeypatch):
    levels = Levels(range(3))
    asked: dict[str, Any] = {"epsilon": 1.0, "domain": (levels, levels), "mechanism": "optimized", "seed": 1}
    folder = tmp_path / "cache"
    steps: list[int] = []
    remembered = MechanismCache(folder, steps.append)
    made = Study.create("kendall_tau", search=remembered, **asked)
    assert len(list(folder.iterdir())) == 1
    assert 0 < sum(steps) <= STEPS
    steps.clear()
    assert Study.create("kendall_tau", search=remembered, **asked) == made
    assert not steps
    assert Study.from_json(made.to_json()) == made
    next(iter(folder.iterdir())).write_text("damaged")
    assert Study.create("kendall_tau", search=remembered, **asked) == made
    # Without a search of one's own nothing is read and nothing is written.
    monkeypatch.setenv("DPAIRS_CACHE", str(tmp_path / "elsewhere"))
    assert Study.create("kendall_tau", **asked) == made
    assert not (tmp_path / "elsewhere").exists()
    rng = np.random.default_rng(1)
    people = {"x": rng.integers(0, 3, 50_000), "y": rng.integers(0, 3, 50_000)}
    people["y"] = np.where(rng.random(50_000) < 0.5, people["x"], people["y"])
    estimate = dpairs.simulate(made, people, seed=1)
    assert abs(estimate.value - dpairs.exact("kendall_tau", people)) < 5 * estimate.sample_standard_error


def test_wrong_priors_and_tables_are_refused(found):
    levels = Levels(range(3))
    for prior in ([1.0], [-1.0, 2.0, 0.5], "x", [0, 0, 0]):
        with pytest.raises(BadParameter, match="prior"):
            Study.create(
                "variance", epsilon=1.0, domain=levels, options={"mechanism": "optimized", "prior": prior}
            )
    with pytest.raises(BadParameter, match="only an optimized"):
        Study.create("variance", epsilon=1.0, domain=levels, prior=[1, 1, 1])
    spec = found.to_json()
    for change in ({"symbols": 3}, {"weights": [1]}, {"prior": [2.0]}, {"weights": "x"}):
        with pytest.raises((BadFile, BadParameter)):
            TableResponse.from_json({**spec, **change})


def test_a_first_round_carries_it():
    levels = Levels(range(4))
    asked: dict[str, Any] = {
        "protocol": "projection",
        "epsilon": 1.0,
        "domain": (levels, levels),
        "seed": 1,
        "n": 40_000,
    }
    made = Study.create("kendall_tau", mechanism="optimized", **asked)
    assert isinstance(made.protocol, Projection)
    assert isinstance(made.protocol.pilot, Histogram)
    assert isinstance(made.protocol.pilot.mechanism, TableResponse)
    assert Study.from_json(made.to_json()) == made
    assert made.privacy.epsilon <= 1.0
    # Its own prior, and the default as it was before there was a choice.
    skewed = Study.create("kendall_tau", mechanism="optimized", prior=[9.0] + [1.0] * 15, **asked)
    assert skewed.id != made.id
    assert Study.create("kendall_tau", **asked) == Study.create(
        "kendall_tau", mechanism="projective", **asked
    )
    rng = np.random.default_rng(1)
    x = rng.integers(0, 4, 40_000)
    people = {"x": x, "y": np.where(rng.random(40_000) < 0.5, x, rng.integers(0, 4, 40_000))}
    tally = dpairs.simulate_tally(made, people, seed=1)
    assert Study.from_json(tally.study.to_json()) == tally.study
    estimate = tally.estimate()
    assert abs(estimate.value - dpairs.exact("kendall_tau", people)) < 5 * estimate.standard_error
    with pytest.raises(BadParameter, match="is for pilot='histogram'"):
        Study.create("auc", protocol="projection", epsilon=1.0, domain=dpairs.Interval(0, 1), mechanism="krr")


def test_a_search_says_how_far_it_is():
    steps: list[int] = []
    optimize([kendall(3)], np.full(9, 1 / 9), 1.0, steps.append)
    assert 0 < sum(steps) <= STEPS
