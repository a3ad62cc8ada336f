"""A crowd that no level of the first round shows by itself, and all together do."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Interval
from dpairs.protocols.projection import pilot_tree
from dpairs.protocols.projection.pilot_missed import missed_share
from dpairs.protocols.projection.tied import UnseenTies
from dpairs.protocols.tree.leaves import Leaves

WIDE = Interval(-4000, 4000)
LEAVES = Leaves((WIDE, WIDE), (10, 10))
EVEN = ([np.linspace(0, 1024, 9)] * 2, np.full((8, 8), 1 / 64))


class Noisy:
    """Counts of people at given leaves, by level, with normal noise of a known variance."""

    def __init__(self, level: int, codes: np.ndarray, deviation: float, rng: np.random.Generator):
        self.people, self.parities, self.gain = codes.size, 1, 1.0
        self.answered = codes.size if np.isfinite(deviation) else 0
        self.noise = (deviation * codes.size) ** 2
        self.nodes = codes >> np.uint64(20 - level)
        self.rng = rng
        self.drawn: dict[int, float] = {}

    def __call__(self, nodes: np.ndarray) -> np.ndarray:
        for node in nodes.tolist():
            if node not in self.drawn:
                self.drawn[node] = np.sqrt(self.noise) * self.rng.normal()
        held, counts = np.unique(self.nodes, return_counts=True)
        known = dict(zip(held.tolist(), counts.tolist(), strict=True))
        return np.array([known.get(node, 0) + self.drawn[node] for node in nodes.tolist()])


def found(x: np.ndarray, y: np.ndarray, seed: int, pilot: Any = EVEN) -> float:
    """From every second level, the coarse ones with less noise: as a pilot of epsilon 0.5 has it."""
    rng = np.random.default_rng(seed)
    codes = LEAVES.codes([x, y], ["x", "y"])
    deviations = [np.inf if level % 2 else 0.12 if level <= 8 else 0.2 for level in range(1, 21)]
    oracles: Any = [Noisy(level, codes, each, rng) for level, each in enumerate(deviations, start=1)]
    edges, shares = pilot
    return missed_share([(oracles, shares)], LEAVES, edges)[0]


def test_a_crowd_where_boxes_meet_is_found():
    """Around the middle of the domain four boxes of every level hold a quarter each."""
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 4000))
    shares = [found(x, y, seed) for seed in range(10)]
    assert np.mean(shares) == pytest.approx(0.85, abs=0.15)


def test_a_crowd_within_a_box_is_found():
    rng = np.random.default_rng(2)
    x, y = 1234 + rng.normal(size=4000), -987 + rng.normal(size=4000)
    assert found(x, y, 1) == pytest.approx(0.9, abs=0.2)


def test_people_whom_the_pilot_has_are_no_crowd():
    """A pilot that has them where they are: half in one place, the others anywhere."""
    rng = np.random.default_rng(3)
    x, y = rng.uniform(-4000, 4000, size=(2, 4000))
    x[:2000], y[:2000] = 500 + rng.normal(size=(2, 2000))
    assert sum(found(x, y, seed) > 0.3 for seed in range(10)) == 10
    edges = [np.array([0.0, 560.0, 592.0, 1024.0])] * 2
    shares = np.outer([560, 32, 432], [560, 32, 432]) / 2 / 1024**2
    shares[1, 1] += 0.5
    assert sum(found(x, y, seed, (edges, shares)) > 0.3 for seed in range(10)) == 0


def covered(monkeypatch: pytest.MonkeyPatch, allowed: bool) -> int:
    plan = dpairs.plan("kendall_tau", epsilon=0.5, domain=(WIDE, WIDE), n=20_000, protocol="projection")
    # The allowance for ties would make up for some of it.
    monkeypatch.setattr(UnseenTies, "allowed", lambda _, answer, at_ends: answer)
    if not allowed:
        monkeypatch.setattr(pilot_tree, "missed_share", lambda *_: (0.0, 0.0))
    rng, count = np.random.default_rng(5), 0
    for run in range(24):
        x = rng.normal(size=20_000)
        people = {"x": x, "y": x / 2 + np.sqrt(0.75) * rng.normal(size=20_000)}
        study = replace(plan.options[0].study, seed=run)
        low, high = dpairs.simulate(study, people, seed=run).confidence_interval()
        count += low <= 1 / 3 <= high
    return count


def test_tau_on_a_domain_far_too_wide_is_covered_at_a_small_epsilon(monkeypatch):
    assert covered(monkeypatch, True) >= 22
    assert covered(monkeypatch, False) <= 20, "or the population shows nothing"


def narrow(monkeypatch: pytest.MonkeyPatch, allowed: bool) -> int:
    """Two classes of scores that overlap hardly, and lie in one five-hundredth of the domain."""
    domain, n = Interval(0, 5_000), 4_000
    plan = dpairs.plan("auc", epsilon=0.5, domain=domain, n=n, protocol="projection")
    if not allowed:
        monkeypatch.setattr(pilot_tree, "missed_share", lambda *_: (0.0, 0.0))
    rng, count = np.random.default_rng(6), 0
    for run in range(20):
        label = rng.permutation(n) % 2
        people = {"score": rng.normal(1_000 + 3 * label), "label": label}
        study = replace(plan.options[0].study, seed=run)
        low, high = dpairs.simulate(study, people, seed=run).confidence_interval()
        count += low <= dpairs.exact("auc", people) <= high
    return count


def test_an_auc_of_narrow_classes_is_covered_more_often(monkeypatch):
    """Not always: where the pilot has found half of them, what it lacks is within the noise."""
    assert narrow(monkeypatch, True) >= 16
    assert narrow(monkeypatch, False) <= 13, "or the population shows nothing"
