"""Estimates from trees: nearly without noise, the paper's experiments, and whole studies with fixed seeds."""

import functools
import math
import os
import warnings
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Integers, Levels, NotEnoughData, Tally, simulate, simulate_tally
from dpairs.protocols import theory
from dpairs.protocols.tree.answers import SPLITTINGS

from ...every import every
from .perfect import ESTIMATORS, HALF, NORMALS, answer, check_parts, people, study

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"

# ---------------------------------------------------------------- nearly no noise


def binned(data: dict[str, np.ndarray], depth: int) -> dict[str, np.ndarray]:
    return {**data, "score": np.minimum(np.floor(data["score"] * 2**depth), 2**depth - 1)}


@pytest.mark.parametrize("ties", ["half", "zero"])
@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("estimator", HALF)
def test_with_a_huge_epsilon_estimates_approach_the_exact_value(estimator, rows, ties):
    """Nobody lies; what is left is that each person answers about one row of each level."""
    depth = 5
    truth = dpairs.exact("auc", binned(NORMALS, depth), ties=ties)
    made = study(None, 30.0 * depth, bins=2**depth, splitting="budget", rows=rows, ties=ties)
    found = simulate(made, NORMALS, seed=2, estimator=estimator)
    assert found.sample_standard_error < 0.02
    assert abs(found.value - truth) < 5 * found.sample_standard_error
    many = {name: np.tile(column, 16) for name, column in NORMALS.items()}
    closer = simulate(made, many, seed=2, estimator=estimator)
    assert closer.sample_standard_error == pytest.approx(found.sample_standard_error / 4, rel=0.35)
    assert abs(closer.value - truth) < 5 * closer.sample_standard_error


def test_ties_of_the_data_count_as_asked():
    """Half of each class at the same value, the rest at two others: AUC 1/2 or 3/8 more or less."""
    data = people(np.repeat([0.3, 0.8], 20_000), np.repeat([0.3, 0.1], 20_000))
    for ties in ("half", "zero"):
        truth = dpairs.exact("auc", data, ties=ties)
        found = simulate(study(None, 4.0, bins=2**8, ties=ties), data, seed=3)
        assert abs(found.value - truth) < 4 * found.standard_error < 0.1


def test_levels_are_not_binned():
    """Nothing is discarded and every level is a leaf: no pair's order was lost, and none is in doubt."""
    rng = np.random.default_rng(5)
    data = people(rng.integers(0, 8, 20_000), rng.integers(0, 8, 20_000))
    for domain in (Levels(range(8)), Integers(0, 7)):
        found = simulate(study(domain, 90.0, splitting="budget"), data, seed=1)
        assert not found.explain().discarded.any()
        assert found.quantization.estimate == 0
        assert found.quantization.delta == 0
        assert not any("binning" in note for note in found.notes())


def test_intervals_are_binned():
    """Negative control of the test above: pairs that share a leaf are in doubt, half of their number."""
    data = people(np.tile(np.linspace(0, 1, 1000), 20), np.tile(np.linspace(0, 1, 1000), 20))
    found = simulate(study(None, 90.0, bins=8, splitting="budget"), data, seed=1)
    assert not found.explain().discarded.any()
    assert found.quantization.estimate == pytest.approx(1 / 16, rel=0.05)
    assert found.quantization.delta == pytest.approx(1 / 32, rel=0.05)


# ---------------------------------------------------------------- the paper's experiments


def auc_one(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return people(np.ones(n), np.zeros(n))


def ur(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return people(rng.random(n), rng.random(n))


def ithdigit(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return people(np.full(n, 1e-4), np.zeros(n))


@pytest.mark.parametrize("make", [auc_one, ur, ithdigit])
def test_recursed_nodes_stay_below_the_lemmas_bound(make):
    """Lemma "recursed" bounds the expectation at every level; here the mean of some runs."""
    n, depth, runs = 100_000, 12, 20 if FULL else 8
    made, rng = study(bins=2**depth), np.random.default_rng(6)
    constant = theory.oracle_gain(1.0) ** 2
    nodes: dict[str, list[tuple[int, ...]]] = {"paper": [], "paper-zero": []}
    for run in range(runs):
        tally = simulate_tally(made, make(rng, n), seed=run)
        for name, found in nodes.items():
            found.append(tally.estimate(name).explain().recursed_nodes)
    for name, choose in (("paper", theory.tree_factor), ("paper-zero", theory.tree_factor_zero)):
        factor = choose(n, n, depth, constant)
        bound = theory.recursed_bound(n, n, depth, constant, factor)
        mean = np.mean(nodes[name], axis=0)
        assert mean.size == depth
        assert (mean <= bound).all(), (name, mean, bound)
        assert bound < 2 ** (depth - 1)


def test_without_the_threshold_the_bound_is_exceeded(monkeypatch):
    """Negative control: a walk that recurses into every node visits far more than the bound."""
    n, depth = 100_000, 12
    tally = simulate_tally(study(bins=2**depth), ur(np.random.default_rng(6), n), seed=1)
    monkeypatch.setattr(
        "dpairs.protocols.tree.estimate.worth",
        lambda floors, factor: lambda h, g: np.ones(h.size, dtype=bool),
    )
    constant = theory.oracle_gain(1.0) ** 2
    bound = theory.recursed_bound(n, n, depth, constant, theory.tree_factor(n, n, depth, constant))
    assert max(tally.estimate("paper").explain().recursed_nodes) > bound


@pytest.mark.parametrize("estimator", HALF)
@pytest.mark.parametrize(("depth", "truth"), [(10, 0.5), (13, 0.5), (14, 1.0), (16, 1.0), (20, 1.0)])
def test_ithdigit_is_learnt_from_14_levels_on(depth, truth, estimator):
    """1e-4 and 0 share a leaf of up to 2^13, so all pairs are ties; with 2^14 they do not."""
    found = ithdigit_tally(depth).estimate(estimator)
    assert found.standard_error < 0.1
    assert abs(found.value - truth) < 4 * found.standard_error


@functools.cache
def ithdigit_tally(depth: int) -> Tally:
    data = ithdigit(np.random.default_rng(1), 300_000)
    return simulate_tally(study(bins=2**depth), data, seed=7)


# ---------------------------------------------------------------- whole studies


@pytest.mark.parametrize("rows", ["all", "others"])
@pytest.mark.parametrize("splitting", SPLITTINGS)
def test_every_splitting_estimates_within_its_error(splitting, rows):
    depth = 6
    data = {name: np.tile(column, 3) for name, column in NORMALS.items()}
    truth = dpairs.exact("auc", binned(data, depth))
    tally = simulate_tally(study(bins=2**depth, splitting=splitting, rows=rows), data, seed=8)
    for name in ESTIMATORS:
        found = tally.estimate(name)
        assert abs(found.value - truth) < 4 * found.standard_error
        assert found.standard_error < 0.6
        assert 0 < found.sample_standard_error <= found.standard_error
        assert found.strata == {"positive": 60_000, "negative": 60_000}
        assert found.estimator == name
    assert tally.estimate() == tally.estimate("pruned")


def test_several_bits_estimate_within_their_error():
    data = {name: np.tile(column, 3) for name, column in NORMALS.items()}
    truth = dpairs.exact("auc", binned(data, 8))
    errors = {}
    for kind in ("one-bit", "several-bits"):
        tally = simulate_tally(study(None, 4.0, bins=2**8, answer=kind), data, seed=8)
        for name in ESTIMATORS:
            found = tally.estimate(name)
            assert abs(found.value - truth) < 4 * found.standard_error
        errors[kind] = tally.estimate().standard_error
    assert errors["several-bits"] < 0.8 * errors["one-bit"]


def test_classes_of_different_size():
    rng = np.random.default_rng(9)
    data = people(rng.beta(3, 2, 4000), rng.beta(2, 3, 150_000))
    truth = dpairs.exact("auc", data)
    tally = simulate_tally(study(None, 3.0), data, seed=1)
    for name in HALF:
        found = tally.estimate(name)
        assert abs(found.value - truth) < 4 * found.standard_error < 1


def test_swapping_the_classes_turns_the_auc_around():
    """The same counts with the classes' roles exchanged: A(+,-) + A(-,+) = 1 with ties half."""
    positive = 1000 * np.array([1, 5, 2, 8, 30, 2, 7, 40])
    negative = 1000 * np.array([30, 2, 9, 9, 4, 1, 2, 3])
    for estimator in HALF:
        both = answer(positive, negative, estimator).value + answer(negative, positive, estimator).value
        assert both == pytest.approx(1, abs=1e-12)


def test_the_same_seed_gives_the_same_estimate():
    made = study(bins=2**10)
    first, again, other = (simulate(made, NORMALS, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first.value != other.value
    for name in ESTIMATORS:
        assert simulate(made, NORMALS, seed=1, estimator=name) == simulate(
            made, NORMALS, seed=1, estimator=name
        )


def test_estimating_changes_nothing():
    tally = simulate_tally(study(bins=2**10), NORMALS, seed=1)
    before = tally.to_json()
    first = [tally.estimate(name) for name in ESTIMATORS]
    assert [tally.estimate(name) for name in ESTIMATORS] == first
    assert tally.to_json() == before


def test_adjacent_64_bit_numbers_can_be_told_apart():
    """Positives one above negatives, in a domain of 2^64: only the last level differs."""
    n = 120_000
    for low in (2**63, 2**64 - 2):
        data = people(np.full(n, low + 1, dtype=np.uint64), np.full(n, low, dtype=np.uint64))
        tally = simulate_tally(study(Integers(0, 2**64 - 1), 4.0), data, seed=2)
        for name in HALF:
            found = tally.estimate(name)
            assert found.standard_error < 0.2
            assert abs(found.value - 1) < 4 * found.standard_error


def test_parts_of_64_bit_domains_stay_in_order():
    """Ends of parts are doubles, so neighbours may meet in one number; none comes before the last."""
    rng = np.random.default_rng(3)
    data = people(
        rng.integers(2**63, 2**64, 30_000, dtype=np.uint64), np.full(30_000, 2**64 - 1, dtype=np.uint64)
    )
    for name in ESTIMATORS:
        found = simulate(study(Integers(0, 2**64 - 1), 3.0), data, seed=2, estimator=name).explain()
        assert (np.diff(found.low) >= 0).all()
        assert (np.diff(found.high) >= 0).all()
        assert (found.low[0], found.high[-1]) == (0.0, 2.0**64)


@pytest.mark.parametrize("splitting", ["budget", "budget-advanced"])
@pytest.mark.parametrize("depth", [17, 32, 52])
def test_deep_trees_can_be_simulated_with_every_seed(depth, splitting):
    made = study(None, 8.0, bins=2**depth, splitting=splitting)
    data = people([0.9, 0.8, 0.7], [0.1, 0.2, 0.3])
    for seed in range(5):
        assert math.isfinite(simulate(made, data, seed=seed).value)


# ---------------------------------------------------------------- hardly anybody


@pytest.mark.parametrize("splitting", SPLITTINGS)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_an_empty_class_is_refused(estimator, splitting):
    made = study(bins=2**8, splitting=splitting)
    for data, name in ((people([0.5], []), "negative"), (people([], [0.5]), "positive")):
        with pytest.raises(NotEnoughData, match=f"the {name} class is empty"):
            simulate_tally(made, data, seed=1).estimate(estimator)
    with pytest.raises(NotEnoughData, match="empty"):
        Tally(made).estimate(estimator)


@every("count", [1, 3, 7])
@every("splitting", [*SPLITTINGS, "several-bits"])
def test_fewer_people_than_levels_get_a_number_or_a_clear_error(splitting, count):
    """Never a NaN or a warning, whichever levels nobody answered."""
    options: dict[str, Any] = (
        {"answer": splitting} if splitting == "several-bits" else {"splitting": splitting}
    )
    rng = np.random.default_rng(count)
    for depth in (1, 8, 16):
        epsilon = 0.5 if "paper" in splitting else 3.0
        made = study(None, epsilon, bins=2**depth, **options)
        for seed in range(4 if FULL else 2):
            tally = simulate_tally(made, people(rng.random(count), rng.random(count)), seed=seed)
            for estimator in ESTIMATORS:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    try:
                        found = tally.estimate(estimator)
                    except NotEnoughData:
                        continue
                numbers = (found.value, found.standard_error, found.sample_standard_error)
                assert all(map(math.isfinite, numbers)), estimator
                assert found.to_json()["value"] is not None
                check_parts(found.explain(), 0.0, 1.0)


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("count", [1, 3])
def test_few_people_never_look_certain(count, estimator):
    """So few people at epsilon 1 say next to nothing: no interval may leave out 1/2, not even by bad luck."""
    made = study(bins=2**16)
    for seed in range(10):
        data = people(np.full(count, 0.9), np.full(count, 0.1))
        try:
            found = simulate(made, data, seed=seed, estimator=estimator)
        except NotEnoughData:
            continue
        low, high = found.confidence_interval(0.9999)
        assert low <= 0.5 <= high, (found.value, found.standard_error)


def test_unknown_estimators_are_refused():
    tally = simulate_tally(study(bins=2**4), NORMALS, seed=1)
    with pytest.raises(dpairs.BadParameter, match="estimator"):
        tally.estimate("plugin")
