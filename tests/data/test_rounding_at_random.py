"""Rounding at random: a value goes to one of its two neighbouring points, and the mean is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpairs import Integers, Interval
from dpairs.data.grids import Axis
from dpairs.randomness import SeededRandomness, TapeRandomness

FAILURE = 1e-9
"""The probability with which a correct random rounding fails its test."""


def keeps_the_mean(points, value, step):
    """Hoeffding: a mean of n rounded values, each in an interval of length step, errs more with
    probability below FAILURE.
    """
    allowed = step * math.sqrt(math.log(2 / FAILURE) / (2 * points.size))
    return abs(points.mean() - value) <= allowed


@pytest.mark.parametrize("value", [-1.0, -0.9, 0.123, 1.4, 1.999, 2.0])
def test_random_rounding_keeps_the_mean(value):
    axis = Axis(Interval(-1, 2), 5, "random")
    places = axis.place(np.full(100_000, value), "value", SeededRandomness(11))
    assert keeps_the_mean(axis.centres[places], value, axis.width)


@pytest.mark.parametrize("value", [-0.9, 0.123, 1.4])
def test_rounding_to_the_nearest_point_does_not_keep_the_mean(value):
    axis = Axis(Interval(-1, 2), 5, "random")
    nearest = np.abs(axis.centres - value).argmin()
    assert not keeps_the_mean(np.full(100_000, axis.centres[nearest]), value, axis.width)


def test_random_rounding_keeps_the_mean_exactly_over_all_words():
    words = np.arange(256, dtype="<u8") << np.uint64(56)  # evenly spread over all 64-bit words
    axis = Axis(Interval(0, 1), 5, "random")
    for numerator in range(257):
        values = np.full(256, numerator / 256)
        places = axis.place(values, "value", TapeRandomness(words.tobytes()))
        # 256 people at numerator/256, on points a quarter apart.
        assert places.sum() == 4 * numerator


@pytest.mark.parametrize(("domain", "value"), [(Integers(-3, 9), 2), (Integers(0, 10**6), 123_457)])
def test_random_rounding_keeps_the_mean_of_whole_numbers(domain, value):
    axis = Axis(domain, 4, "random")
    places = axis.place(np.full(100_000, value), "value", SeededRandomness(11))
    assert keeps_the_mean(axis.centres[places], value, axis.width)
    assert not keeps_the_mean(axis.centres[places], value + 0.02 * axis.width, axis.width)


def test_whole_numbers_at_points_are_not_moved():
    axis = Axis(Integers(-6, 6), 5, "random")
    assert axis.describe() == [-6.0, -3.0, 0.0, 3.0, 6.0]
    places = axis.place(np.array([-6, -3, 0, 3, 6] * 200), "value", SeededRandomness(1))
    assert places.tolist() == [0, 1, 2, 3, 4] * 200


def test_random_rounding_goes_to_a_neighbour():
    axis = Axis(Interval(0, 1), 6, "random")
    values = np.random.default_rng(3).uniform(0, 1, 10_000)
    places = axis.place(values, "value", SeededRandomness(3))
    assert (np.abs(axis.centres[places] - values) <= axis.width).all()
