"""Many runs of a whole study against the truth, with limits that a correct estimator misses with FAILURE."""

import os
from collections.abc import Iterable
from itertools import islice

import numpy as np
from scipy import stats

import dpairs

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
FAILURE = 1e-4


def limits(runs: int) -> tuple[float, float]:
    """Between 92% and 98% of 400 runs; for fewer, the matching binomial quantiles."""
    if runs >= 400:
        return 0.92, 0.98
    return stats.binom.ppf(FAILURE, runs, 0.95) / runs, 1.0


def counted_to(enough: int, outcomes: Iterable[bool]) -> int:
    """How many outcomes hold, up to ``enough``: no study is run once it can no longer change a verdict.

    "At most 6 of 16 hold" is the same as "at least 10 do not".
    """
    return sum(islice(filter(None, outcomes), enough))


def covered(found: list[dpairs.Estimate], truth: float, target: str = "population") -> float:
    intervals = [each.confidence_interval(0.95, target) for each in found]
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def check(found: list[dpairs.Estimate], truth: float) -> None:
    """Intervals cover the population's truth, and the mean is right.

    Errors are as large as stated: a spread is off by more than ``slack`` but for FAILURE.
    """
    low, high = limits(len(found))
    assert low <= covered(found, truth) <= high
    values = np.array([each.value for each in found])
    assert abs(values.mean() - truth) < 4 * values.std() / np.sqrt(len(found))
    slack = stats.norm.isf(FAILURE / 2) / np.sqrt(2 * (len(found) - 1))
    low, high = (0.8, 1.25) if FULL else (1 - slack, 1 + slack)
    assert low < values.std(ddof=1) / np.mean([each.standard_error for each in found]) < high
