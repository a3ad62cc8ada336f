"""Experiments on hotel ratings, bounds, errata, Gini, entropy: formulas, seeds, checks that can fail."""

from __future__ import annotations

import math
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dpairs
from dpairs.data.grids import Axis, Grid
from dpairs.errors import NotEstimable
from dpairs.protocols import theory
from dpairs.statistics import statistic
from experiments import shapes, sources
from experiments.catalogue import EXPERIMENTS
from experiments.experiment import Figure, Setting
from experiments.paper import (
    against_paper,
    bounds,
    bounds_histogram,
    bounds_pairs,
    bounds_tree,
    entropy,
    errata,
    errata_statements,
    gini,
    kendall_statements,
    kendall_tripadvisor,
    ratings_population,
)
from experiments.paper.paper_pairs import between, paper_pairs
from experiments.runs import Results, Row, Summary

NOWHERE = Path("no-such-folder")
FEW = 2_000


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


@pytest.fixture(autouse=True)
def forget_ratings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    monkeypatch.setenv("DPAIRS_CACHE", str(tmp_path))
    yield
    ratings_population.population.cache_clear()


def run(experiment: Figure, settings: list[Setting], runs: int = 2) -> Results:
    return Results(
        [
            {**setting, "run": seed, **row}
            for setting in settings
            for seed in range(runs)
            for row in experiment.measure(setting, seed, NOWHERE)
        ]
    )


def changed(results: Results, change: Any) -> Results:
    return Results([change(dict(row)) for row in results])


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


# ---------------------------------------------------------------- bounds


def test_the_density_one_half_plus_x_has_the_mean_difference_that_is_said():
    x = (np.arange(20_000) + 0.5) / 20_000
    below = (x**2 + x) / 2
    assert (2 * below * (1 - below)).mean() == pytest.approx(bounds_histogram.SLOPE_GINI, abs=1e-8)
    drawn = bounds_histogram.slope(200_000, 0)
    assert np.mean(drawn <= 0.5) == pytest.approx(0.375, abs=0.006)


def test_repetitions_of_different_runs_share_no_seed():
    from experiments.paper.bound_case import seeds

    assert [*seeds(0, 3), *seeds(1, 3)] == list(range(6))


def test_the_worst_data_come_to_most_of_the_bound_of_randomized_response():
    (found,) = bounds_histogram.response(True)(0)
    assert 0.8 < found.exact / found.bound <= 1
    (other,) = bounds_histogram.response(False)(0)
    assert other.exact / other.bound < 0.1


def test_people_at_the_ends_of_bins_come_to_the_whole_lipschitz_bound():
    (found,) = bounds_histogram.lipschitz(True)(0)
    assert found.found == pytest.approx(found.bound, rel=1e-12)


def test_every_case_runs_and_gives_the_same_for_the_same_seed():
    for case in (*bounds_histogram.CASES[:5], *bounds_tree.CASES[:2], bounds_pairs.CASES[1]):
        first = list(case.run(2))
        assert first == list(case.run(2))
        assert first
        assert all(each.bound > 0 for each in first)


def test_our_noise_in_a_pair_is_below_the_papers():
    (found,) = bounds_pairs.pairs(1, clamped=True)(0)
    assert found.exact < 0.9 * found.bound


def test_names_of_cases_differ():
    assert len({case.name for case in bounds.CASES}) == len(bounds.CASES)
    assert set(bounds.QUICK) <= {case.name for case in bounds.CASES}


@pytest.fixture(scope="module")
def bound_results() -> Results:
    return run(bounds.EXPERIMENT, bounds.settings(True), runs=6)


def test_bounds_have_findings_and_a_picture(bound_results):
    found = bounds.findings(bound_results)
    assert all(check.holds for check in found.checks), [check for check in found.checks if not check.holds]
    (picture,) = bounds.pictures(bound_results)
    plt.close(picture.figure)


def test_errata_that_need_data_are_left_out_without_them(bound_results):
    cases = bound_results.values("case")
    assert "erratum 9" not in cases
    assert "erratum 8" in cases


def test_an_error_above_its_bound_is_noticed(bound_results):
    def tenfold(row: Row) -> Row:
        return {**row, "measured": 40 * float(row["measured"])} if row["case"] == "krr, even data" else row

    checks = bounds.findings(changed(bound_results, tenfold)).checks
    assert not checks[0].holds
    assert "krr, even data" in checks[0].why


def test_a_theorem_that_is_off_by_half_is_noticed(bound_results):
    def half(row: Row) -> Row:
        return {**row, "printed": float(row["printed"]) / 2} if row["case"] == "pairs, P = 1" else row

    check = bounds.findings(changed(bound_results, half)).checks[1]
    assert not check.holds
    assert "pairs, P = 1" in check.why


@pytest.mark.parametrize("number", [1, 4, 5, 6, 7, 8, 11])
def test_an_erratum_fails_if_the_printed_value_were_right(bound_results, number):
    def printed(row: Row) -> Row:
        if row["case"] != f"erratum {number}":
            return row
        return {**row, "printed": row["right"], "right": row["printed"]}

    told = {
        check.statement: check.holds for check in errata_statements.checks(changed(bound_results, printed))
    }
    (failed,) = [name for name, holds in told.items() if not holds]
    assert failed.startswith(f"Erratum {number},")


def test_erratum_2_and_3_from_the_oracle():
    found = np.concatenate([bounds_tree.node_counts(seed, 100) for seed in range(4)])
    count, variance = bounds_tree.COUNT, theory.oracle_variance(bounds_tree.SIZE, bounds_tree.COUNT, 1.0)
    assert found.mean() == pytest.approx(count, abs=5 * math.sqrt(variance / found.size))
    assert found.var() == pytest.approx(variance, rel=0.3)


def test_a_value_without_chance_must_be_met_exactly():
    erratum = errata.ERRATA[6]
    assert errata_statements.judged(erratum, Summary(0.5, 0, 0), 0.0, 0.5) == (True, True)
    assert errata_statements.judged(erratum, Summary(0.5, 0, 0), 0.5, 0.4999) == (False, False)


def test_the_order_of_the_corollary_is_refused_if_errors_do_not_fall_with_people():
    def results(large: float) -> Results:
        found = {"order, n = 10^4": 1e-4, "order, n = 10^6": large}
        rows: list[Row] = [
            {"case": name, "place": 0, "measured": value * factor, "printed": 0.01, "right": 0.0}
            for name, value in found.items()
            for factor in (0.98, 1.02)
        ]
        rows.append({"case": "smooth data", "place": 0, "measured": 1e-9, "printed": 1.0, "right": 0.0})
        return Results(rows)

    told = [bounds.findings(results(large)).checks[2] for large in (1e-4, 1e-3)]
    assert [check.holds for check in told] == [True, False]
    assert "order" in told[0].statement


def test_a_report_of_a_tree_is_one_bit_because_its_row_is_not_sent():
    study = dpairs.Study.create("auc", protocol="tree", epsilon=1.0, domain=dpairs.Integers(0, 63), seed=0)
    assert study.protocol.symbols == 2


def test_all_eleven_errata_are_there():
    assert [each.number for each in errata.ERRATA] == list(range(1, 12))


@pytest.mark.data
def test_erratum_9_with_the_data():
    place = sources.folder(None)
    assert place is not None
    (row,) = bounds.measure({"case": "erratum 9"}, 0, place)
    assert (round(float(row["printed"]), 4), round(float(row["right"]), 4)) == (0.4354, 0.5857)


# ---------------------------------------------------------------- Gini and entropy


@pytest.mark.parametrize("name", shapes.DOMAINS)
def test_numbers_lie_in_their_domain(name):
    values = shapes.numbers(name, 5_000, 1)
    shapes.DOMAINS[name].check(values, "value")
    assert np.array_equal(values, shapes.numbers(name, 5_000, 1))
    assert not np.array_equal(values, shapes.numbers(name, 5_000, 2))
    # Few are moved to the end of the domain, so that the shape is what its name says.
    assert np.mean(values == values.max()) < 0.02


def test_hospital_counts_have_the_mean_and_deviation_of_the_data():
    values = shapes.numbers("hospital counts", 100_000, 0)
    assert (round(float(values.mean())), round(float(values.std()))) == (16, 8)


@pytest.mark.parametrize("name", shapes.SHARES)
def test_members_have_their_shares(name):
    cells = shapes.members(name, 50_000, 0)
    shares = np.array(shapes.SHARES[name])
    found = np.bincount(cells, minlength=shares.size) / cells.size
    assert found == pytest.approx(shares / shares.sum(), abs=0.012)
    assert shapes.categories(name).size == shares.size


SMALL: dict[str, Setting] = {
    "gini": {"statistic": "gini_mean_difference", "shape": "hospital counts", "epsilon": 1.0, "people": FEW},
    "entropy": {"statistic": "collision_entropy", "shape": "hospital, 9", "epsilon": 1.0, "people": FEW},
}


@pytest.mark.parametrize("experiment", [gini.EXPERIMENT, entropy.EXPERIMENT], ids=lambda each: each.name)
def test_every_way_runs_and_the_same_seed_gives_the_same_rows(experiment):
    setting = SMALL[experiment.name]
    rows = experiment.measure(setting, 5, NOWHERE)
    assert rows == experiment.measure(setting, 5, NOWHERE)
    assert [row["way"] for row in rows] == list(against_paper.WAYS)
    assert all(math.isfinite(float(row["value"])) for row in rows)


@pytest.mark.parametrize("experiment", [gini.EXPERIMENT, entropy.EXPERIMENT], ids=lambda each: each.name)
def test_one_sample_experiments_have_findings_and_a_picture(experiment):
    settings = [{**SMALL[experiment.name], "epsilon": epsilon} for epsilon in (1.0, 4.0)]
    results = run(experiment, settings)
    assert len(experiment.findings(results).checks) == 8
    (picture,) = experiment.pictures(results)
    plt.close(picture.figure)


def test_an_entropy_that_does_not_exist_becomes_the_largest_one(monkeypatch):
    def fail(*arguments: Any, **options: Any) -> None:
        raise NotEstimable("no logarithm")

    monkeypatch.setattr(against_paper, "simulate", fail)
    rows = entropy.measure(SMALL["entropy"], 0, NOWHERE)
    assert {(row["value"], row["exists"], row["held"]) for row in rows} == {(math.log(9), 0, 0)}


def one_sample(ours: float, late: float, held: int) -> Results:
    """Made-up results: errors of ours over the paper's, of the last epsilon over the first's."""
    return Results(
        [
            {
                "statistic": "variance",
                "shape": "Pareto",
                "epsilon": epsilon,
                "run": run,
                "way": way,
                "value": 1
                + sign * (1 if way == against_paper.PAPER else ours) * (late if epsilon == 4 else 1),
                "truth": 1.0,
                "standard_error": 0.1,
                "binning": 0.0,
                "held": held,
                "widened": held,
            }
            for epsilon in (1.0, 4.0)
            for way in (against_paper.PAPER, "projection")
            for run, sign in enumerate((0.09, -0.1, 0.11))
        ]
    )


def test_shared_statements_hold_and_fail_with_the_numbers():
    good, bad = one_sample(0.5, 0.3, 1), one_sample(1.5, 2.0, 0)
    for results, expected in ((good, True), (bad, False)):
        assert against_paper.falls(results, against_paper.relative).holds is expected
        assert against_paper.ours_at_most(results, against_paper.relative, "projection").holds is expected
        assert against_paper.covered(results, "projection").holds is expected
    assert "nothing" in against_paper.where_lost(good, against_paper.relative, "projection")
    assert "Pareto at epsilon 1" in against_paper.where_lost(bad, against_paper.relative, "projection")


def test_more_bins_may_round_a_pareto_tail_worse():
    """What `gini.ROUNDING` says: without noise, 36 bins (epsilon 4) are worse than 25 (epsilon 2)."""
    domain, values = shapes.DOMAINS["Pareto"], shapes.numbers("Pareto", 100_000, 0)
    assert isinstance(domain, dpairs.Interval)
    truth, coefficient = dpairs.exact("gini_coefficient", {"value": values}), statistic("gini_coefficient")
    off = []
    for epsilon, bins in ((2.0, 25), (4.0, 36)):
        study = dpairs.Study.create(
            "gini_coefficient", protocol="histogram", epsilon=epsilon, domain=domain, n=values.size, seed=0
        )
        assert study.protocol.to_json()["bins"] == [bins]
        shares = np.bincount((values / domain.high * bins).astype(int).clip(0, bins - 1), minlength=bins)
        forms = coefficient.forms(Grid((Axis(domain, bins),)), "average")
        found = np.array([shares @ form.matrix @ shares for form in forms]) / values.size**2
        off.append(abs(coefficient.finish(found, {"everybody": values.size}).value - truth) / truth)
    assert 0.05 < off[0] < off[1]
