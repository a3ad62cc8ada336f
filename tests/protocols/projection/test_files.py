"""Rounds apart, by files: they continue, do not depend on the machine, and are small."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import (
    BadParameter,
    Categories,
    Integers,
    Interval,
    Levels,
    NotEstimable,
    Study,
    Tally,
    simulate_tally,
)
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.statistics import NamedKernel
from dpairs.statistics.domains import WIDEST

from .cases import (
    AGREE,
    CASES,
    NEAR,
    UNIT,
    Case,
    classes,
    first_tally,
    incomes,
    plane,
    rounded,
    scores,
    second_study,
)

LIMIT = 64 * 1024
"""The longest file of a second round."""
SAVED = [
    "auc",
    "auc, levels",
    "auc, private",
    "tau-b, ratings",
    "tau-a, 8 x 8",
    "gini coefficient",
    "entropy",
    "vus",
    "kernel",
    "kernel in the plane",
    "variance, deep",
]


@pytest.mark.parametrize("name", SAVED)
def test_rounds_continue_from_files(name, tmp_path: Path):
    """Everything is written and read between the rounds, and nothing changes by it."""
    case = CASES[name]
    first = case.study(3.0)
    table = case.draw(np.random.default_rng(5), 4000)
    tally = first_tally(first, table)
    first.save(tmp_path / "first.json")
    tally.save(tmp_path / "tally.json")
    again = Study.load(tmp_path / "first.json")
    second = first.next(tally)
    resumed = again.next(Tally.load(tmp_path / "tally.json", again))
    assert resumed.to_json() == second.to_json()
    second.save(tmp_path / "second.json")
    loaded = Study.load(tmp_path / "second.json")
    assert loaded == second
    assert loaded.to_json() == second.to_json()
    assert (tmp_path / "second.json").stat().st_size < LIMIT
    with pytest.raises(NotEstimable, match="participants' file"):
        simulate_tally(loaded, table, seed=6).estimate()
    analysis = second.analysis_to_json()
    assert analysis is not None
    loaded = loaded.with_analysis(analysis)
    assert loaded == second
    assert loaded.analysis_to_json() == analysis
    here, there = (simulate_tally(each, table, seed=6) for each in (second, loaded))
    there.save(tmp_path / "last.json")
    last = Tally.load(tmp_path / "last.json", loaded)
    for estimator in ("combined", "second-round"):
        mine, other = here.estimate(estimator), last.estimate(estimator)
        assert mine.to_json() == other.to_json()
        assert mine == other


def test_the_next_study_does_not_depend_on_how_its_tally_came_about():
    """Reports added in any order, in parts or at once: the same second round, byte for byte."""
    case = CASES["auc"]
    first = case.study(2.0)
    table = case.draw(np.random.default_rng(7), 3000)
    halves = [{name: values[part::2] for name, values in table.items()} for part in (0, 1)]
    one, two = (first_tally(first, half, seed) for seed, half in enumerate(halves))
    assert first.next(one + two).to_json() == first.next(two + one).to_json()
    assert first.next(one).id != first.next(two).id


ELSEWHERE = """
import sys
from dpairs import Study, Tally
for folder in sys.argv[1:]:
    first = Study.load(f"{folder}/first.json")
    print(first.next(Tally.load(f"{folder}/tally.json", first)).id)
"""


def test_the_next_study_does_not_depend_on_the_processor(tmp_path: Path):
    """Anybody who has the tally can check the second round: also on a machine that adds in another order.

    OpenBLAS has a kernel for each kind of processor; where numpy has another library this asks nothing.
    """
    names, here = ("auc", "tau-b, ratings"), []
    for name in names:
        case, folder = CASES[name], tmp_path / name
        folder.mkdir()
        first = case.study(2.0)
        first.save(folder / "first.json")
        tally = first_tally(first, case.draw(np.random.default_rng(5), 4000))
        tally.save(folder / "tally.json")
        here.append(first.next(tally).id)
    command = [sys.executable, "-c", ELSEWHERE, *(str(tmp_path / name) for name in names)]
    environment = {**os.environ, "OPENBLAS_CORETYPE": "Nehalem"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split() == here


FILES: dict[str, Case] = {
    "auc, 32-bit integers": Case("auc", Integers(0, 2**32 - 1), rounded(2**32 - 1)),
    "auc, 64-bit integers": Case("auc", Integers(-(2**63), 2**63 - 1), rounded(2**40)),
    "auc, deep": Case("auc", UNIT, scores, {}, {"bins": 2**20}),
    "variance, deep": CASES["variance, deep"],
    "vus": CASES["vus"],
    "vus, 32-bit integers": Case(
        "vus",
        Integers(0, 2**32 - 1),
        lambda rng, n: {**classes(rng, n), "score": rng.integers(0, 2**32, n)},
    ),
    "tau-a": CASES["tau-a"],
    "kernel": Case(NEAR, None, incomes),
    "kernel in the plane": Case(AGREE, None, plane),
    "auc, private": CASES["auc, private"],
    "tau-b, 64 x 16 levels": Case(
        "kendall_tau",
        (Levels(range(64)), Levels(range(16))),
        lambda rng, n: {"x": rng.integers(0, 64, n), "y": rng.integers(0, 16, n)},
        {"variant": "b"},
    ),
    "gini, 64 levels": Case(
        "gini_mean_difference", Levels(range(64)), lambda rng, n: {"value": rng.integers(0, 64, n)}
    ),
    "entropy, 1000 categories": Case(
        "collision_entropy",
        Categories([f"category {place}" for place in range(1000)]),
        lambda rng, n: {"value": np.array([f"category {place}" for place in rng.integers(0, 1000, n)])},
    ),
    "auc, 2000 levels": Case("auc", Levels(range(2000)), rounded(1999)),
    "entropy, 2000 categories": Case(
        "collision_entropy", Categories(range(2000)), lambda rng, n: {"value": rng.integers(0, 2000, n)}
    ),
}


@pytest.mark.usefixtures("few_replicates")
@pytest.mark.parametrize("name", FILES)
def test_second_rounds_are_small_files(name):
    """At a large epsilon, where pilots have the most cuts."""
    case = FILES[name]
    table = case.draw(np.random.default_rng(8), 10_000)
    study = case.study(8.0)
    second = study.next(first_tally(study, table))
    assert isinstance(second.protocol, SecondRound)
    assert len(second.to_json().encode()) < LIMIT
    assert Study.from_json(second.to_json()) == second


def test_a_second_round_carries_only_a_kernels_name():
    study = second_study("kernel in the plane", 1.0)
    assert isinstance(study.statistic, NamedKernel)
    assert study.statistic.to_json() == {
        "name": "named_kernel",
        "label": "apart in both",
        "columns": ["x", "y"],
        "range": [0.0, 1.0],
    }
    with pytest.raises(BadParameter, match="only the name of a kernel"):
        dpairs.exact(study.statistic, {"x": [0.1, 0.2], "y": [0.1, 0.2]})
    with pytest.raises(BadParameter, match="only the name of a kernel"):
        Study.create(study.statistic, epsilon=1.0, domain=study.domains, protocol="projection")


@pytest.mark.parametrize("name", ["variance", "gini_mean_difference"])
def test_the_widest_domain_fits_into_the_files(name):
    """Variances of squared distances are the largest numbers in them."""
    people = {"value": WIDEST * np.random.default_rng(5).random(3000)}
    asked: dict[str, Any] = {"protocol": "projection", "epsilon": 2.0, "seed": 1}
    study = Study.create(name, domain=Interval(0, WIDEST), **asked)
    tally = simulate_tally(study, people, seed=1)
    analysis = tally.study.analysis_to_json()
    assert analysis is not None
    again = Study.from_json(tally.study.to_json(), first=study).with_analysis(analysis)
    found = Tally.from_json(tally.to_json(), again).estimate()
    assert found.value == tally.estimate().value
    assert abs(found.value - dpairs.exact(name, people)) < 5.5 * found.sample_standard_error
    with pytest.raises(BadParameter, match=r"apart at most"):
        Study.create(name, domain=Interval(0, 1.01 * WIDEST), **asked)
