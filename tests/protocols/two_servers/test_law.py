"""The distribution of an error: exact where a formula is known, by drawing it where none is."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import t

import dpairs
from dpairs import Interval, Study
from dpairs.protocols.two_servers.coarse import coarse_cells
from dpairs.protocols.two_servers.law import ErrorLaw
from dpairs.statistics.kendall import HIDDEN, NEAR

UNIT = Interval(0, 1)


@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_reaches_are_the_exact_ones(level):
    """Two Laplace numbers of scale 1: P(|x| > r) = (1 + r / 2) e^-r; Student; a normal number with a bias."""
    reach = ErrorLaw(noise=(4.0,)).reach(level)
    assert (1 + reach / 2) * math.exp(-reach) == pytest.approx(1 - level, rel=0.03)
    for freedom in (2.0, 5.0, 30.0):
        found = ErrorLaw(sampling=4.0, freedom=freedom).reach(level)
        assert found == pytest.approx(2 * t.ppf((1 + level) / 2, freedom), rel=0.02)
    assert ErrorLaw(known=1.0, bias=5.0).reach(level) == pytest.approx(
        5 + ErrorLaw(known=1.0).reach(2 * level - 1), rel=1e-3
    )
    assert ErrorLaw(bias=0.25).reach(level) == 0.25


def test_a_mixture_reaches_as_far_as_draws_of_it():
    rng, draws = np.random.default_rng(3), 400_000
    drawn = (
        rng.normal(size=draws) * np.sqrt(0.7 * 6 / rng.chisquare(6, draws))
        + rng.laplace(0, 0.5, (2, draws)).sum(axis=0)
        + rng.laplace(0, 0.2, (2, draws)).sum(axis=0)
    )
    law = ErrorLaw(sampling=0.7, freedom=6.0, noise=(1.0, 0.16))
    assert law.reach(0.95) == pytest.approx(np.quantile(np.abs(drawn), 0.95), rel=0.01)
    # The control: as if all were normal.
    assert ErrorLaw(known=0.7 + 1.16).reach(0.95) < 0.95 * law.reach(0.95)


def test_pairs_that_bins_hide_are_made_up_for():
    """Every entry is the sign, or the sign times 1 + 1 / HIDDEN up to NEAR bins apart in either column."""
    study = Study.create("kendall_tau", protocol="two_servers", epsilon=1.0, domain=(UNIT, UNIT), bins=32)
    protocol: Any = study.protocol
    (form,) = protocol.forms
    cells, places = 32 * 32, np.array([0, 5, 37, 500, 777, 1023])
    x, y = np.divmod(np.arange(cells), 32)
    for place in places:
        one = np.zeros(cells, dtype=np.int64)
        one[place] = 1
        across, up = x - x[place], y - y[place]
        near = ((np.abs(across) <= NEAR) & (across != 0)) | ((np.abs(up) <= NEAR) & (up != 0))
        assert (form.kernel.apply(one) == np.sign(across) * np.sign(up) * (HIDDEN + near)).all()
    assert form.kernel.span == 2 * (HIDDEN + 1)
    rng = np.random.default_rng(4)
    first = rng.normal(size=20_000)
    people = {"x": first.clip(-4, 4), "y": (0.9 * first + 0.436 * rng.normal(size=20_000)).clip(-4, 4)}
    fine = Study.create(
        "kendall_tau", protocol="two_servers", epsilon=1e5, domain=(Interval(-4, 4),) * 2, bins=64
    )
    found = dpairs.simulate(fine, people, seed=1).value - dpairs.exact("kendall_tau", people)
    # Signs alone are off by 0.0034 here.
    assert abs(found) < 0.0006


def test_more_people_and_more_epsilon_are_counted_in_more_cells():
    study = Study.create("auc", protocol="two_servers", epsilon=1.0, domain=UNIT, bins=1024)
    protocol: Any = study.protocol
    grid = protocol.grid
    cells = [coarse_cells(grid, people, 20.0) for people in (50, 1000, 10_000, 10**9)]
    assert cells == sorted(cells)
    assert (cells[0], cells[-1]) == (8, 256)
    assert coarse_cells(grid, 1000, 5.0) > coarse_cells(grid, 1000, 20.0)
    assert all(each % 2 == 0 for each in cells)


def test_two_rounds_are_planned_where_they_pay_and_only_there():
    """Private labels and the Gini coefficient are ratios of two forms; the AUC is one form."""
    for statistic, options in (("auc", {"labels": "private"}), ("gini_coefficient", {})):
        asked: dict[str, Any] = {"epsilon": 1.0, "n": 2000, "domain": UNIT, "protocol": "two_servers"} | dict(
            options
        )
        both, once = (dpairs.plan(statistic, rounds=rounds, **asked).options[0] for rounds in (2, 1))
        assert (both.rounds, once.rounds) == (2, 1)
        assert both.error < 0.95 * once.error
    plain = dpairs.plan("auc", epsilon=1.0, n=2000, domain=UNIT, protocol="two_servers").options[0]
    assert plain.rounds == 1
    plane = dpairs.plan("kendall_tau", epsilon=1.0, n=2000, domain=(UNIT, UNIT), protocol="two_servers")
    assert plane.options[0].rounds == 1
