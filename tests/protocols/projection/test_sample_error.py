"""The error around the value of the people who took part, where there is hardly any noise.

Both rounds together then know nearly everybody's values, and the error is a small part of the population's.
It must be added up from its own parts: as a difference it is as large as the error of what is subtracted.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs import Levels, Study
from dpairs.protocols.base import Answer
from dpairs.protocols.counts import DenseCounts
from dpairs.protocols.projection.analysis import Analysis
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.simulate import simulate_tally

RUNS, PEOPLE, FAILURE = 40, 4_000, 1e-6


@dataclass(frozen=True)
class Run:
    exact: float
    protocol: SecondRound
    counts: dict[str, DenseCounts]

    @property
    def answer(self) -> Answer:
        return self.protocol.estimate(self.counts, "combined")

    @property
    def analysis(self) -> Analysis:
        assert self.protocol.analysis is not None
        return self.protocol.analysis

    @property
    def older(self) -> "Run":
        """With an analyst's file from before it said how much noise there is."""
        spec = {name: each for name, each in self.analysis.to_json().items() if "noise" not in name}
        return replace(self, protocol=self.protocol.with_analysis(spec))


def people(rng: np.random.Generator) -> dict[str, np.ndarray]:
    label = rng.integers(0, 2, PEOPLE)
    ends = np.cumsum([[0.3, 0.25, 0.2, 0.15, 0.1], [0.25, 0.25, 0.2, 0.15, 0.15]], axis=1)
    return {"score": (rng.random(PEOPLE)[:, None] > ends[label, :4]).sum(axis=1), "label": label}


@pytest.fixture(scope="module")
def runs() -> list[Run]:
    rng, found = np.random.default_rng(8), []
    for seed in range(RUNS):
        study = Study.create(
            "auc", protocol="projection", epsilon=8.0, domain=Levels(range(5)), n=PEOPLE, seed=seed
        )
        data = people(rng)
        tally = simulate_tally(study, data, seed=seed)
        assert isinstance(tally.study.protocol, SecondRound)
        counts = {name: each for name, each in tally._counts.items() if isinstance(each, DenseCounts)}
        found.append(Run(dpairs.exact("auc", data), tally.study.protocol, counts))
    return found


def squares(runs: list[Run], stated: Callable[[Run], float]) -> float:
    """The sum of the errors' squares, in units of what is stated."""
    errors = [(each.answer.value - each.exact, stated(each)) for each in runs]
    return sum((error / unit) ** 2 if unit else math.inf for error, unit in errors)


def difference(run: Run) -> float:
    """The variance around the population's value less that of the people's own choice."""
    analysis, chosen = run.analysis, 0.0
    for name, table in run.counts.items():
        low, high = analysis.ranges[name]
        chosen += (high - low) ** 2 * analysis.variances[name] / (table.people + analysis.people[name])
    return math.sqrt(max(run.answer.standard_error**2 - chosen, 0.0))


def test_errors_around_the_people_are_as_large_as_stated(runs):
    low, high = (float(stats.chi2.ppf(each, RUNS)) for each in (FAILURE, 1 - FAILURE))
    assert low < squares(runs, lambda run: run.answer.sample_standard_error) < high
    # Negative control: some differences of large numbers are nothing, or nearly.
    assert squares(runs, difference) > high


def test_analyses_from_before_are_still_read(runs):
    """They take what noise there is from the answers, and weigh rounds by variances of their own."""
    for run in runs:
        older, newer = run.older.answer, run.answer
        assert older.value == pytest.approx(newer.value, abs=newer.standard_error / 4)
        assert older.standard_error == pytest.approx(newer.standard_error, rel=0.1)
        assert 0 < older.sample_standard_error <= older.standard_error


def test_rounds_that_count_by_their_people_know_the_sample(runs):
    """Without noise, weights other than their shares of people leave a difference of two means."""
    analysis, mechanism = runs[0].analysis, runs[0].protocol.mechanism
    strata = list(analysis.people)
    quiet = replace(
        analysis,
        people=dict.fromkeys(strata, 1000),
        noises=dict.fromkeys(strata, 0.0),
        alone_noise=0.0,
        variances=dict.fromkeys(strata, 0.2),
        ranges=dict.fromkeys(strata, (0.0, 1.0)),
    )
    table = DenseCounts(mechanism.symbols)
    table.add(0, np.arange(3000) % mechanism.symbols)
    counts = dict.fromkeys(strata, table)
    assert float(np.var(np.repeat(mechanism.decode, table.array), ddof=1)) < 0.2, "no noise shows"
    assert quiet.around_sample(mechanism, counts, 0.25, 0.0) == pytest.approx(0, abs=1e-15)
    # A tenth of the difference of the two means, in each of two classes.
    expected = 2 * 0.1**2 * 0.2 * (1 / 1000 + 1 / 3000)
    assert quiet.around_sample(mechanism, counts, 0.35, 0.0) == pytest.approx(expected)


def test_answers_that_vary_far_more_than_the_pilot_says_have_the_noise_that_they_show(runs):
    analysis, mechanism = runs[0].analysis, runs[0].protocol.mechanism
    nothing = dict.fromkeys(analysis.people, 0.0)
    stated = replace(analysis, noises=nothing, variances=nothing).around_sample(
        mechanism, runs[0].counts, 0.0, 0.0
    )
    seen = 0.0
    for name, table in runs[0].counts.items():
        low, high = analysis.ranges[name]
        variance = float(np.var(np.repeat(mechanism.decode, table.array), ddof=1))
        seen += (high - low) ** 2 * variance / table.people
    assert 0.8 * seen < stated < seen
