"""The history of an estimate: what its chart draws is the interval that the page names."""

from __future__ import annotations

import numpy as np

import dpairs
from dpairs.collector import estimate_history
from dpairs.collector.live_study import Round
from dpairs.protocols.sides import alone
from dpairs.randomness.private import source


def few_people() -> Round:
    """A round in which 30 people of each class have answered, nearly all told apart."""
    study = dpairs.Study.create(
        "auc", protocol="tree", epsilon=4.0, domain=dpairs.Interval(0, 1), bins=16, seed=1
    )
    asked = Round(1, study)
    bits = source(7)
    for stratum, score in enumerate((0.9, 0.1)):
        symbols = alone(study).randomize(study.coins, stratum, 0, [np.full(30, score)], bits)
        asked.count(stratum, np.arange(30), symbols.astype(np.int64))
    return asked


def test_a_point_has_the_interval_that_the_page_names():
    asked = few_people()
    estimate = asked.estimate()
    low, high = estimate.confidence_interval()
    point = estimate_history.measure(asked)
    assert (point.reports, point.value, point.low, point.high) == (60, estimate.value, low, high)
    assert 0 <= low <= high <= 1
    # Standard errors alone would leave the range of an AUC.
    assert estimate.value + 1.96 * estimate.standard_error > 1


def test_a_round_without_an_estimate_has_a_point_without_one():
    asked = Round(1, few_people().study)
    asked.count(0, np.arange(2), np.zeros(2, dtype=np.int64))
    point = estimate_history.measure(asked)
    assert (point.reports, point.value, point.low, point.high) == (2, None, None, None)


def test_a_point_has_the_number_of_reports_that_its_estimate_is_from(monkeypatch):
    """Reports that came after they were counted, and before the estimate, were in the one alone."""
    asked = few_people()

    class Clock:
        @staticmethod
        def time() -> float:
            asked.count(0, np.arange(30, 40), np.zeros(10, dtype=np.int64))
            return 0.0

    monkeypatch.setattr(estimate_history, "time", Clock)
    point = estimate_history.measure(asked)
    assert asked.estimate().value == point.value
    assert point.reports == 70
