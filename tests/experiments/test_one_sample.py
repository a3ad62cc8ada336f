"""Experiments on Gini and entropy: numbers, seeds, checks that can fail."""

from __future__ import annotations

import math
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest

import dpairs
from dpairs.data.grids import Axis, Grid
from dpairs.errors import NotEstimable
from dpairs.statistics import statistic
from experiments import shapes
from experiments.experiment import Setting
from experiments.paper import (
    against_paper,
    entropy,
    gini,
)
from experiments.runs import Results

from .measured import FEW, NOWHERE, run

pytestmark = pytest.mark.usefixtures("forget_ratings")


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
