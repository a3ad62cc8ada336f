"""Boxes of the plane between the same two values: shared out alike unless they are told apart."""

import numpy as np

from dpairs.protocols.projection.pilot_descent import told_apart

SLABS = np.repeat(np.arange(8, dtype=np.uint64), 8)
MASS, ERROR = np.full(64, 1 / 64), 0.004
NOISE = np.full(64, ERROR**2)
LEFT = MASS * np.linspace(0.4, 0.6, 8)[SLABS.astype(np.int64)]
"""Every slab has a share of its own, and all of its boxes have it."""


def measured(truth: np.ndarray, seed: int) -> np.ndarray:
    return np.asarray(truth + ERROR * np.random.default_rng(seed).normal(size=64))


def slab_sums(values: np.ndarray) -> np.ndarray:
    return values.reshape(8, 8).sum(axis=1)


def test_columns_that_have_nothing_to_do_with_each_other_are_shared_alike():
    """The sum of a slab stays as measured; its boxes, which differ by noise, do not differ any more.

    Of pure noise, sum D^2 has 64 - 8 degrees of freedom and exceeds its mean by sqrt(2 * 64) in a seventh of
    all rounds: in fewer than half of 100, but for a chance of 1e-15.
    """
    alike = 0
    for seed in range(100):
        here = measured(LEFT, seed)
        shared = told_apart(MASS, here, NOISE, SLABS)
        np.testing.assert_allclose(slab_sums(shared), slab_sums(here), atol=1e-15)
        alike += bool(np.ptp(shared.reshape(8, 8) / MASS.reshape(8, 8), axis=1).max() < 1e-12)
    assert alike > 50


def test_dependence_beyond_noise_is_kept():
    """Boxes three standard errors from their slab's share stay as measured, unless the noise is ten times."""
    given = measured(LEFT + 3 * ERROR * np.tile([1.0, -1.0], 32), 1)
    assert (told_apart(MASS, given, NOISE, SLABS) == given).all()
    assert (told_apart(MASS, given, 100 * NOISE, SLABS) != given).any()


def test_no_box_was_looked_into():
    nothing = np.empty(0)
    assert told_apart(nothing, nothing, nothing, np.empty(0, dtype=np.uint64)).size == 0
