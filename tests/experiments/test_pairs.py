"""The experiment on hotel ratings: formulas, seeds, checks that can fail."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dpairs
from dpairs.protocols import theory
from experiments import sources
from experiments.catalogue import EXPERIMENTS
from experiments.experiment import Setting
from experiments.paper import (
    bounds,
    entropy,
    gini,
    kendall_statements,
    kendall_tripadvisor,
    ratings_population,
)
from experiments.paper.paper_pairs import between, paper_pairs
from experiments.runs import Results, Row

from .measured import FEW, NOWHERE, changed, run

pytestmark = pytest.mark.usefixtures("forget_ratings")


@pytest.fixture
def ratings(monkeypatch: pytest.MonkeyPatch) -> dict[str, np.ndarray]:
    """Made-up ratings in place of the real ones, for both readings."""
    draw = np.random.default_rng(0)
    levels = np.array([-1, 1, 2, 3, 4, 5])
    place = draw.integers(0, 6, FEW)
    table = {
        "x": levels[place],
        "y": levels[np.clip(place + draw.integers(-1, 2, FEW), 0, 5)],
    }
    monkeypatch.setattr(sources, "ratings", lambda data, rated_only=False: table)
    ratings_population.population.cache_clear()
    return table


# ---------------------------------------------------------------- all of them


OURS = [kendall_tripadvisor.EXPERIMENT, bounds.EXPERIMENT, gini.EXPERIMENT, entropy.EXPERIMENT]


@pytest.mark.parametrize("experiment", OURS, ids=lambda each: each.name)
def test_settings_are_plain_values_of_the_same_names_and_all_differ(experiment):
    for quick in (True, False):
        settings = experiment.settings(quick)
        assert settings == experiment.settings(quick)
        assert len({tuple(each.items()) for each in settings}) == len(settings)
        assert len({tuple(each) for each in settings}) == 1
        assert all(isinstance(value, (str, int, float)) for each in settings for value in each.values())
    assert len(experiment.settings(True)) < len(experiment.settings(False))


@pytest.mark.parametrize("experiment", OURS, ids=lambda each: each.name)
def test_it_is_in_the_catalogue(experiment):
    assert experiment in EXPERIMENTS


# ---------------------------------------------------------------- hotel ratings


def test_the_shares_of_cells_give_tau_exactly(ratings):
    population = ratings_population.population(NOWHERE, False)
    assert population.truth == pytest.approx(dpairs.exact("kendall_tau", ratings), abs=1e-12)
    assert population.shares.sum() == pytest.approx(1)
    assert population.people == FEW


def test_the_kernel_between_two_people_is_the_product_of_signs(ratings):
    population = ratings_population.population(NOWHERE, False)
    one, other = np.arange(100), np.arange(100, 200)
    x, y = ratings["x"], ratings["y"]
    expected = np.sign(x[one] - x[other]) * np.sign(y[one] - y[other])
    assert np.array_equal(between(population.kernel, population.cells, one, other), expected)


def test_the_mean_over_all_rounds_of_pairs_is_the_statistic_when_epsilon_is_huge():
    values = np.array([0.0, 1.0, 3.0, 7.0])
    kernel = np.abs(values[:, None] - values)
    cells = np.arange(4)
    draw = np.random.default_rng(0)
    found = paper_pairs(partial(between, kernel, cells), 4, 30_000, 1e9, 7.0, draw)
    expected = np.mean([abs(a - b) for a, b in combinations(values, 2)])
    assert found == pytest.approx(expected, abs=0.05)


def test_the_papers_pairs_have_laplace_noise_of_scale_width_times_rounds_over_epsilon():
    n, rounds, epsilon, width = 20_000, 2, 0.5, 2.0
    found = [
        paper_pairs(lambda a, b: np.zeros(a.size), n, rounds, epsilon, width, np.random.default_rng(seed))
        for seed in range(400)
    ]
    expected = width**2 * theory.pairs_laplace_noise(n, rounds, epsilon)
    # The variance of 400 normal numbers has a relative standard deviation of 7%.
    assert np.var(found) == pytest.approx(expected, rel=0.35)
    assert np.var(found) != pytest.approx(expected / 2, rel=0.35)


def test_hotel_ratings_run_and_the_same_seed_gives_the_same_rows(ratings):
    setting: Setting = {"missing": "kept", "epsilon": 1.0, "most": 2}
    measure = kendall_tripadvisor.measure
    assert measure(setting, 3, NOWHERE) == measure(setting, 3, NOWHERE)
    assert measure(setting, 3, NOWHERE) != measure(setting, 4, NOWHERE)


def test_hotel_ratings_have_findings_and_a_picture(ratings):
    results = run(kendall_tripadvisor.EXPERIMENT, kendall_tripadvisor.settings(True))
    found = kendall_tripadvisor.findings(results)
    assert len(found.checks) == 11
    assert len(found.tables) == 2
    (picture,) = kendall_tripadvisor.pictures(results)
    plt.close(picture.figure)


def made_up(error: Any) -> Results:
    """Results whose errors are a function of the method, its pairs and epsilon."""
    rows: list[Row] = []
    for reading in kendall_statements.READINGS:
        for epsilon in kendall_tripadvisor.EPSILONS:
            ways = [("randomized response", 0), ("all pairs", 999), ("our clamped Laplace", 1)]
            ways += [(name, pairs) for name in kendall_statements.NOISES for pairs in (1, 2, 4, 8)]
            for method, pairs in ways:
                size = error(method, pairs, epsilon)
                rows += [
                    {
                        "missing": reading,
                        "epsilon": epsilon,
                        "method": method,
                        "pairs": pairs,
                        "value": 0.58 + sign * size,
                        "truth": 0.58,
                        "expected": size,
                        "people": 1000,
                    }
                    for sign in (-1.1, 0.9, 1.1, -0.9)
                ]
    return Results(rows)


def as_the_paper_says(method: str, pairs: int, epsilon: float) -> float:
    if method == "all pairs":
        return 1.2 / epsilon
    if method == "randomized response":
        return 1 / epsilon if epsilon <= 2 else 0.03
    return math.sqrt(0.01 * pairs / epsilon**2 + 0.001 / pairs)


def verdicts(results: Results) -> dict[str, bool]:
    return {check.statement: check.holds for check in kendall_tripadvisor.findings(results).checks}


def test_statements_hold_where_errors_are_as_the_paper_says():
    assert all(verdicts(made_up(as_the_paper_says)).values())


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            "One pair",
            lambda m, p, e: 1 / e if m == "randomized response" else as_the_paper_says(m, 8 * p, e) * 3,
        ),
        ("More than one pair", lambda m, p, e: 1 / (e * max(p, 1)) if m != "all pairs" else 9.0),
        ("All pairs has", lambda m, p, e: 0.001 if m == "all pairs" else as_the_paper_says(m, p, e)),
        (
            "For epsilon 10 a larger",
            lambda m, p, e: 1e-4 if m == "randomized response" else as_the_paper_says(m, p, e),
        ),
        ("Randomized response is", lambda m, p, e: 0.001 if m == "all pairs" else as_the_paper_says(m, p, e)),
    ],
)
def test_a_statement_fails_where_errors_say_otherwise(words, error):
    told = {name: holds for name, holds in verdicts(made_up(error)).items() if name.startswith(words)}
    assert told
    assert not any(told.values())


def test_errors_twice_the_theorems_are_noticed():
    results = changed(made_up(as_the_paper_says), lambda row: {**row, "expected": float(row["expected"]) / 3})
    assert not verdicts(results)["The errors are those of the theorems (with errata 4 and 5)."]
