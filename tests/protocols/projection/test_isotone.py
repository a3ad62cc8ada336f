"""The distribution function nearest to the measured one, as a pilot for distances."""

from dataclasses import dataclass

import numpy as np
import pytest

from dpairs import Integers, Interval
from dpairs.protocols.projection.pilot_descent import Explored, explore
from dpairs.protocols.projection.pilot_isotone import nearest
from dpairs.protocols.tree.hierarchy import Solution
from dpairs.protocols.tree.leaves import Leaves

BITS, PEOPLE = 12, 1000
LEAVES = Leaves((Interval(0.0, 1.0),), (BITS,))
PLACES = np.arange(2**BITS)
POPULATIONS = {
    "even": np.full(2**BITS, 2.0**-BITS),
    "spike": 1.0 * (PLACES == 2**BITS // 3),
    "two ends": 0.5 * np.isin(PLACES, (0, 2**BITS - 1)),
    "skewed": np.diff(np.linspace(0, 1, 2**BITS + 1) ** 0.2),
}


@dataclass(frozen=True)
class Counts:
    """What one level measured: the truth and normal noise."""

    truth: np.ndarray
    error: float
    seed: int
    people: int = PEOPLE
    answered: int = PEOPLE
    parities: int = 1
    scale: float = 1.0

    @property
    def noise(self) -> float:
        return (self.error * self.people) ** 2

    def __call__(self, nodes: np.ndarray) -> np.ndarray:
        drawn = np.random.default_rng(self.seed).normal(size=self.truth.size)
        drawn -= drawn.mean()
        return self.people * (self.truth + self.error * drawn)[nodes.astype(np.int64)]


def explored(leaves: np.ndarray, error: float, seed: int) -> Explored:
    levels = [leaves.reshape(2**level, -1).sum(axis=1) for level in range(1, BITS + 1)]
    return explore([Counts(truth, error, seed + level) for level, truth in enumerate(levels)], LEAVES)


def distance(shares: np.ndarray, truth: np.ndarray, stops: np.ndarray, widths: np.ndarray) -> float:
    """The integral of (F - H)^2 by the trapezoid rule, F having these shares of the nodes that end there."""
    below = np.cumsum(truth)[stops.astype(int) - 1]
    off = (np.cumsum(shares) - below)[:-1]
    return float((widths[:-1] + widths[1:]) / 2 @ off**2)


def how_far(name: str, error: float, seed: int) -> tuple[float, float, float]:
    """From the people: the nearest function, what was measured, and that cut at 0 and made to add up to 1."""
    tree = explored(POPULATIONS[name], error, seed)
    order, starts, stops = tree.line
    there = POPULATIONS[name], stops, stops - starts
    descent, measured = nearest(tree, tree.solution), tree.solution.ends(order)
    levels = zip(descent.masses, descent.levels, strict=True)
    near = np.concatenate([masses[~level.expanded] for masses, level in levels])[order]
    cut = np.maximum(measured, 0.0)
    first, second, third = (distance(each, *there) for each in (near, measured, cut / cut.sum()))
    return first, second, third


@pytest.mark.parametrize("name", POPULATIONS)
@pytest.mark.parametrize("error", [0.002, 0.03, 0.3])
def test_it_is_no_further_from_the_people_than_what_was_measured(name, error):
    """Whatever the noise: a projection on a convex set that the people are in."""
    for seed in range(0, 600, 100):
        near, measured, _ = how_far(name, error, seed)
        assert near <= measured * (1 + 1e-9)


def test_shares_that_are_cut_may_be_further():
    """Negative control: to cut shares at 0 is no projection in this distance."""
    far = [how_far("two ends", 0.03, seed) for seed in range(0, 600, 100)]
    assert any(cut > measured for _, measured, cut in far)


@pytest.mark.parametrize("name", POPULATIONS)
def test_every_level_is_a_distribution_of_which_halves_add_up(name):
    descent = nearest(*_tree(name))
    for masses, level, below in zip(descent.masses, descent.levels, descent.masses[1:], strict=False):
        np.testing.assert_allclose(below.reshape(-1, 2).sum(axis=1), masses[level.expanded], atol=1e-15)
        assert masses.min() >= 0
        assert masses.sum() <= 1 + 1e-12
    assert descent.masses[0] == pytest.approx([1.0])
    assert descent.parts.shares.sum() == pytest.approx(1.0)


def test_nobody_lies_beyond_the_end_of_the_domain():
    """Of 8,192 leaves of 5,000 whole numbers the last ones hold nobody, whatever was measured of them."""
    leaves = Leaves((Integers(0, 4999),), (13,))
    levels = [np.full(2**level, 2.0**-level) for level in range(1, 14)]
    tree = explore([Counts(truth, 0.05, level) for level, truth in enumerate(levels)], leaves)
    order, starts, _ = tree.line
    assert tree.solution.ends(order)[starts >= 5000].sum() > 0.1
    descent = nearest(tree, tree.solution)
    assert descent.parts.on([np.array([0.0, 5000.0])], [5000.0]).sum() == pytest.approx(1.0)
    for level, masses in enumerate(descent.masses):
        assert not masses[tree.levels[level].nodes * 2.0 ** (13 - level) >= 5000].any()


def test_a_distribution_stays_as_it_is():
    tree = explored(POPULATIONS["skewed"], 1e-12, 1)
    given, seen = tree.solution, nearest(tree, tree.solution)
    for measured, masses in zip(given.estimates, seen.masses, strict=True):
        np.testing.assert_allclose(masses, measured, atol=1e-9)


def test_of_several_rounds_each_is_as_if_alone():
    tree, solution = _tree("even")
    normals = [
        np.random.default_rng(level).normal(size=(3, tree.levels[level].nodes.size))
        for level in tree.answered
    ]
    together = nearest(tree, tree.imagine(solution.estimates, normals))
    for row in range(3):
        alone = nearest(tree, tree.imagine(solution.estimates, [each[row : row + 1] for each in normals]))
        for here, there in zip(alone.masses, together.masses, strict=True):
            np.testing.assert_allclose(here[0], there[row], atol=1e-12)


def _tree(name: str) -> tuple[Explored, Solution]:
    tree = explored(POPULATIONS[name], 0.05, 7)
    return tree, tree.solution
