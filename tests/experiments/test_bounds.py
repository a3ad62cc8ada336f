"""Experiments on bounds and errata: formulas, seeds, checks that can fail."""

from __future__ import annotations

import math

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dpairs
from dpairs.protocols import theory
from dpairs.protocols.sides import of_symbols
from experiments import sources
from experiments.paper import (
    bounds,
    bounds_histogram,
    bounds_pairs,
    bounds_tree,
    errata,
    errata_statements,
)
from experiments.runs import Results, Row, Summary

from .measured import changed, run

pytestmark = pytest.mark.usefixtures("forget_ratings")


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
    assert of_symbols(study).symbols == 2


def test_all_eleven_errata_are_there():
    assert [each.number for each in errata.ERRATA] == list(range(1, 12))


@pytest.mark.data
def test_erratum_9_with_the_data():
    place = sources.folder(None)
    assert place is not None
    (row,) = bounds.measure({"case": "erratum 9"}, 0, place)
    assert (round(float(row["printed"]), 4), round(float(row["right"]), 4)) == (0.4354, 0.5857)
