"""Data of somebody who tries the package, and what they may be told."""

from __future__ import annotations

import numpy as np
import pytest

import dpairs

RNG = np.random.default_rng(7)
N = 4_000
y_true = RNG.integers(0, 2, N)
y_score = np.clip(RNG.normal(0.4 + 0.2 * y_true, 0.15), 0, 1)
x = RNG.normal(size=N)
y = 0.8 * x + RNG.normal(size=N)
incomes = RNG.lognormal(10, 0.7, N)
ages = RNG.integers(18, 90, N)


def sentence(error: pytest.ExceptionInfo[BaseException]) -> str:
    """The message, if it is one sentence of a bearable length."""
    said = str(error.value)
    assert isinstance(error.value, dpairs.DpairsError)
    assert 20 < len(said) < 400
    assert "\n" not in said
    return said
