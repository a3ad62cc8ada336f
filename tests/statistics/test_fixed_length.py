"""Intervals around a value that may be biased: exact against the folded normal distribution."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dpairs.statistics.fixed_length import FAR, critical_value, reach, relative_reach
from tests.strategies import QUICK

LEVELS = st.floats(1e-3, 1 - 1e-9)


@given(st.floats(0, 1.5 * FAR), LEVELS)
@QUICK
def test_the_critical_value_is_the_folded_normal_quantile(ratio, level):
    c = critical_value(ratio, level)
    missed = stats.norm.cdf(ratio - c) + stats.norm.cdf(-ratio - c)
    assert missed == pytest.approx(1 - level, rel=1e-7)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("ratio", [0.1, 0.7, 2.0, 6.0])
def test_it_agrees_with_the_noncentral_chi_squared(ratio, level):
    assert critical_value(ratio, level) == pytest.approx(
        math.sqrt(stats.ncx2.ppf(level, 1, ratio**2)), rel=1e-8
    )


def test_both_ends_of_the_scale():
    assert critical_value(0, 0.95) == pytest.approx(stats.norm.ppf(0.975), rel=1e-14)
    assert critical_value(30, 0.95) == pytest.approx(30 + stats.norm.ppf(0.95), rel=1e-14)
    assert critical_value(-1, 0.95) == critical_value(1, 0.95)


@given(st.floats(0, 10), st.floats(0, 10), LEVELS)
@QUICK
def test_more_bias_reaches_further_and_never_further_than_both_added(one, other, level):
    small, large = sorted((one, other))
    assert critical_value(small, level) <= critical_value(large, level) * (1 + 1e-12)
    usual = critical_value(0, level)
    assert usual <= critical_value(large, level) * (1 + 1e-12) <= (large + usual) * (1 + 1e-9)


@pytest.mark.parametrize("bias", [0.0, 0.3, 1.0, 3.0])
def test_coverage_is_exact_at_the_largest_bias_and_larger_below(bias):
    """Negative control: the interval that ignores the bias covers less."""
    far = reach(0.5, bias, 0.95)

    def covered(off: float, half: float) -> float:
        return float(stats.norm.cdf((half - off) / 0.5) - stats.norm.cdf((-half - off) / 0.5))

    assert covered(bias, far) == pytest.approx(0.95, abs=1e-9)
    assert covered(-bias, far) == pytest.approx(0.95, abs=1e-9)
    assert covered(bias / 2, far) >= 0.95 - 1e-9
    if bias:
        assert covered(bias, reach(0.5, 0.0, 0.95)) < 0.92


def test_without_noise_the_interval_is_the_bias():
    assert reach(0.0, 0.2, 0.95) == 0.2
    assert reach(1e-320, 0.2, 0.95) == 0.2
    assert reach(1e-14, 0.2, 0.95) == 0.2
    assert reach(0.0, 0.0, 0.95) == 0.0


def test_what_is_not_known_reaches_everywhere():
    assert reach(math.inf, 0.0, 0.95) == math.inf
    assert reach(0.1, math.inf, 0.95) == math.inf


@pytest.mark.parametrize("centre", [0.5, 2.0, 4.0, 6.0])
def test_a_lower_limit_holds_among_estimates_that_are_told(centre):
    """Of those that are told 2.5% have a limit above the truth; a normal quantile below, many more would."""
    least = 3.09
    chances = 1 - (np.arange(2_000) + 0.5) / 2_000 * stats.norm.sf(least - centre)
    told = centre + stats.norm.ppf(chances)
    limits = np.array([each - each * relative_reach(each, 1.0, least, 0.95) for each in told])
    assert np.mean(limits > centre) == pytest.approx(0.025, abs=0.001)
    assert (np.mean(told - 1.96 > centre) > 0.05) == (centre < 4)
    assert relative_reach(1.0, 0.0, least, 0.95) == 0
