"""Boxes of the plane between the same two values: shared out alike unless they are told apart."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpairs import Interval
from dpairs.protocols.projection.pilot_boxes import Boxes
from dpairs.protocols.projection.pilot_copula import beyond_function
from dpairs.protocols.projection.pilot_descent import FAR, Descent, explore, told_apart
from dpairs.protocols.projection.remainder import Remainder
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
    leaves = Leaves((unit, unit), (2, 2))
    boxes = [Boxes.of(leaves, number, level) for number, level in enumerate(levels)]
    return Descent(levels, counts, into, leaves, boxes, apart)


def test_pairs_beside_each_other_are_not_told_apart():
    """Two boxes of half the people: pairs of both are told apart, those within one are not.

    Had their quarters been told apart too, one of four pairs within a box would be in opposite quarters.
    """
    assert descent((2,)).beside() == pytest.approx(0.5)
    assert descent((2, 3, 4)).beside() == pytest.approx(0.5 * 3 / 4)
    # Nothing was told apart but halves: whoever is in one of them may be anywhere in the other column.
    assert descent(()).beside() == pytest.approx(1.0)
    # A level that differs far below others that do not is noise.
    assert descent((6,)).beside() == pytest.approx(1.0)


def test_a_wide_box_lies_beside_a_narrow_one_in_part():
    """People of the half that was not split are in the other's quarter of the second column half the time."""
    half = descent((2,))
    half.into[1][:] = True, False
    half.masses[2][:] = 0.0, 0.5, 0.25, 0.25
    # Within the first column's halves all pairs, between them those that overlap in the second column: half.
    assert half.beside() == pytest.approx(0.5 + 0.5 * 0.5)


def test_hidden_dependence_is_a_third_on_a_curve_and_nothing_without_any():
    curve = Remainder(0.0, 0.0, beside=0.3)
    # The function saw all but what pairs that were not told apart add: a third of them.
    assert curve.hidden(0.9) == pytest.approx(0.05)  # half of 1 - 0.9, which is all there is room for
    assert curve.hidden(-0.9) == pytest.approx(-0.05)
    assert curve.hidden(0.0) == 0.0
    assert curve.hidden(1.2) == 0.0
    assert Remainder(0.0, 0.0).hidden(0.9) == 0.0
    # What is found is at its own tau: 0.5 + 0.3 m(tau) = tau.
    hidden = curve.hidden(0.5)
    assert hidden == pytest.approx(0.3 * beyond_function(0.5 + hidden))
    values = [value + curve.hidden(value) for value in np.linspace(-1, 1, 201)]
    assert (np.diff(values) > 0).all(), "manipulation is bounded at the ends of what liars reach"


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


@dataclass(frozen=True)
class Everybody:
    """A level with everybody in its first node, if anybody answered about it."""

    answered: int
    people: int = 1000
    parities: int = 1
    scale: float = 1.0

    @property
    def noise(self) -> float:
        return 1.0 if self.answered else np.inf

    def __call__(self, nodes: np.ndarray) -> np.ndarray:
        return np.where(nodes == 0, 1000.0 * bool(self.answered), 0.0)


@pytest.mark.parametrize(("deep", "last"), [(10 + FAR, 10 + FAR), (11 + FAR, 10)])
def test_a_walk_does_not_go_on_over_many_levels_that_nobody_answered_about(deep, last):
    """It looks into every node of them, and never ended where few people answered about a deep tree."""
    levels = [Everybody(number in (10, deep)) for number in range(1, 41)]
    assert len(explore(levels, Leaves((Interval(0, 1),), (40,))).levels) == last + 1
