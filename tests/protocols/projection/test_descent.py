"""Boxes of the plane between the same two values: shared out alike unless they are told apart."""

import numpy as np
import pytest

from dpairs import Interval
from dpairs.protocols.projection.pilot_descent import Descent, told_apart
from dpairs.protocols.tree.hierarchy import Level
from dpairs.protocols.tree.leaves import Leaves

SLABS = np.repeat(np.arange(8), 8)
MASS, ERROR = np.full(64, 1 / 64), 0.004
NOISE = np.full(64, ERROR**2)
LEFT = MASS * np.linspace(0.4, 0.6, 8)[SLABS]
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
        shared, _ = told_apart(MASS, here, NOISE, SLABS)
        np.testing.assert_allclose(slab_sums(shared), slab_sums(here), atol=1e-15)
        alike += bool(np.ptp(shared.reshape(8, 8) / MASS.reshape(8, 8), axis=1).max() < 1e-12)
    assert alike > 50


def test_dependence_beyond_noise_is_kept():
    """Boxes three standard errors from their slab's share stay as measured, unless the noise is ten times."""
    given = measured(LEFT + 3 * ERROR * np.tile([1.0, -1.0], 32), 1)
    shared, told = told_apart(MASS, given, NOISE, SLABS)
    assert told
    assert (shared == given).all()
    shared, told = told_apart(MASS, given, 100 * NOISE, SLABS)
    assert not told
    assert (shared != given).any()


def test_rounds_are_looked_at_one_by_one():
    """One of them is told apart and one is not, and boxes that nobody looked into change neither."""
    rounds = np.stack([measured(LEFT + 3 * ERROR * np.tile([1.0, -1.0], 32), 1), measured(LEFT, 1)])
    looked = np.arange(64) % 8 < 6
    mass, left, noise = (np.where(looked, each, 0.0) for each in (MASS, rounds, NOISE))
    both, told = told_apart(mass, left, noise, SLABS)
    assert told.tolist() == [True, False]
    for given, shared in zip(rounds, both, strict=True):
        alone, _ = told_apart(MASS[looked], given[looked], NOISE[looked], SLABS[looked])
        np.testing.assert_allclose(shared[looked], alone, rtol=1e-12)


def test_no_box_was_looked_into():
    nothing = np.empty(0)
    shared, _ = told_apart(nothing, nothing, nothing, np.empty(0, dtype=np.int64))
    assert shared.size == 0


# ---------------------------------------------------------------- pairs that were not told apart


def descent(apart: tuple[int, ...]) -> Descent:
    """A plane of 4 x 4 leaves, two bits of each column, with everybody on the rising diagonal's boxes."""
    counts = [np.ones(1), np.array([0.5, 0.5]), np.array([0.5, 0.0, 0.0, 0.5])]
    counts += [np.repeat(counts[2], 2) / 2]
    counts += [np.repeat(counts[3], 2) / 2]
    levels = [
        Level(np.arange(2**number, dtype=np.uint64), np.full(2**number, number < 4)) for number in range(5)
    ]
    into = [np.full(2**number, number < 4) for number in range(5)]
    unit = Interval(0, 1)
    return Descent(levels, counts, into, Leaves((unit, unit), (2, 2)), [], apart)


def test_boxes_that_were_shared_alike_say_nothing_of_the_pairs_in_them():
    """Two boxes of half the people, all concordant: by Daniels, a third of the half of pairs is missed.

    The quarters of these boxes were shared out alike, so their own ratio, which is 0, is not asked.
    """
    assert descent((2,)).local_concordance() == pytest.approx(2 * 0.5 / 3)
    # Were they told apart, there would be no concordance to expect within them.
    assert descent((2, 4)).local_concordance() == 0.0
    # Nearly everybody in one quarter: what is in the opposite one is noise.
    heavy = descent((2,))
    heavy.masses[2][:] = 0.98, 0.01, 0.01, 0.0
    assert heavy.local_concordance() == 0.0
    # Nothing was told apart, or a level that halves a column twice.
    assert descent(()).local_concordance() == 0.0
    assert descent((1,)).local_concordance() == 0.0


def test_daniels_inequality_holds_within_a_box():
    """What a product of the columns misses of tau is at most a third of the pairs, and a third on a line."""
    rng = np.random.default_rng(3)
    for bend in (0.0, 0.3, 1.0):
        x = rng.random(400)
        y = bend * x + (1 - bend) * rng.random(400)
        tau = float(np.mean(np.sign(x[:, None] - x) * np.sign(y[:, None] - y)))
        ranks = [2 * np.argsort(np.argsort(each)) / 399 - 1 for each in (x, y)]
        missed = tau - 2 * float(np.mean(ranks[0] * ranks[1]))
        assert abs(missed) <= 1 / 3 + 0.01
        if bend == 1.0:
            assert missed == pytest.approx(1 / 3, abs=0.01)
