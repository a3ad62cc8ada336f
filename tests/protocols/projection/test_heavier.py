"""What the second round says about tails that the first one hardly saw."""

from dataclasses import replace

import numpy as np
import pytest

import dpairs
from dpairs import Interval
from dpairs.data.grids import CutAxis, Grid
from dpairs.protocols.projection.heavier import NO_TAIL, Heavier
from dpairs.simulate import simulate_tally
from dpairs.statistics.vertices import Vertices

EDGES = [0.0, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0]
GRID = Grid((CutAxis.at(Interval(0, 32), EDGES),))
PLACES = Vertices(GRID.axes[0]).places
TAIL = ((0.1, (2.0, 4.0, 8.0, 16.0, 32.0)),)
MASSES = np.array([0.6, 0.3, 0.1, 0.0, 0.0, 0.0])


def squares(thought: float) -> Heavier:
    """Of the function x^2, level from 8 on."""
    return Heavier.of(GRID, MASSES, PLACES**2, np.minimum(PLACES, 8.0) ** 2, TAIL, thought)


def test_a_tail_that_falls_to_a_quarter_adds_what_is_thought():
    """Shares 0.1, 0.025, ... beyond 2, 4, ...; what lies further out counts as if at the octave's end."""
    shares = 0.1 * 0.25 ** np.arange(4)
    octaves = shares - np.append(shares[1:], 0.0)
    ends = np.array([4.0, 8.0, 16.0, 32.0]) ** 2
    tail = squares(0.0)
    assert tail.added[0] == pytest.approx(octaves @ (ends - np.minimum(ends, 64.0)))
    # The pilot has a tenth between 2 and 4, where the function's mean is 10 (linear between edges).
    assert tail.corrections[0] == pytest.approx(octaves @ (np.minimum(ends, 64.0) - 4) - 0.1 * 6)


def test_everybody_at_the_end_is_the_most():
    tail = squares(0.0)
    assert tail.added[-1] == pytest.approx(0.1 * (32.0**2 - 64.0))
    assert tail.corrections[-1] == pytest.approx(0.1 * 60 - 0.1 * 6)
    assert tail.more(1e9, 0.0) == tail.added[-1]


def test_a_larger_correction_says_more():
    tail = squares(0.0)
    assert tail.more(-1.0, 0.0) < tail.more(3.0, 0.0) < tail.more(3.0, 1.0) == tail.more(4.0, 0.0)


def test_what_is_thought_already_counts_once():
    assert squares(0.5).added[-1] == pytest.approx(squares(0.0).added[-1] - 0.5)
    assert squares(1e6) == NO_TAIL
    assert NO_TAIL.more(1e9, 1.0) == 0.0


def drawn(rng: np.random.Generator, people: int) -> np.ndarray:
    return np.minimum(1000 * np.exp(2 * rng.normal(size=people)), 1e6)


def test_a_heavy_tail_is_covered(monkeypatch):
    """40 studies of the mean difference of a lognormal column of sigma 2, epsilon 2."""
    plan = dpairs.plan(
        "gini_mean_difference", epsilon=2.0, domain=Interval(0, 1e6), n=20_000, protocol="projection"
    )
    rng = np.random.default_rng(7)
    truth = dpairs.exact("gini_mean_difference", {"value": drawn(np.random.default_rng(1), 1_000_000)})
    studies = [replace(plan.options[0].study, seed=run) for run in range(40)]
    tallies = [
        simulate_tally(study, {"value": drawn(rng, 20_000)}, seed=run) for run, study in enumerate(studies)
    ]

    def covered() -> int:
        intervals = [tally.estimate().confidence_interval() for tally in tallies]
        return sum(low <= truth <= high for low, high in intervals)

    assert covered() >= 36
    monkeypatch.setattr(Heavier, "more", lambda *_: 0.0)
    assert covered() <= 34, "or the population shows nothing"
