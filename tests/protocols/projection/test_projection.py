"""Studies of two rounds: exact privacy, all statistics, files between rounds, and what is refused."""

import base64
import functools
import itertools
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import (
    BadFile,
    BadParameter,
    BadValue,
    Categories,
    DpairsError,
    Estimate,
    Integers,
    Interval,
    Kernel,
    Levels,
    NotEnoughData,
    NotEstimable,
    Participant,
    Study,
    Tally,
    WrongStudy,
    simulate,
    simulate_tally,
)
from dpairs.formats.canonical import canonical, digest
from dpairs.mechanisms import BitResponse, KaryResponse, WindowResponse, largest_ratio
from dpairs.protocols.histogram import Histogram
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.randomness import WORDS, SeededRandomness, TapeRandomness
from dpairs.simulate import simulate_round
from dpairs.statistics import NamedKernel
from tests.mechanisms.exponential import exp_lower_bound

SIGMAS = 4.5
"""A right estimate is further away with probability 7e-6, for a fresh seed."""
UNIT = Interval(0, 1)
LIMIT = 64 * 1024
"""The longest file of a second round."""


def _near(a: Any, b: Any) -> Any:
    return np.exp(-3 * np.abs(a - b))


def _agree(a: Any, b: Any) -> Any:
    return np.abs(a[0] - b[0]) * np.abs(a[1] - b[1])


NEAR = Kernel(_near, range=(0, 1), domain=UNIT, label="near")
AGREE = Kernel(_agree, range=(0, 1), domain=(UNIT, UNIT), label="apart in both")


# ---------------------------------------------------------------- every statistic


@dataclass(frozen=True)
class Case:
    statistic: Any
    domain: Any
    draw: Callable[[np.random.Generator, int], dict[str, np.ndarray]]
    options: dict[str, Any] = field(default_factory=dict)
    protocol: dict[str, Any] = field(default_factory=dict)

    def study(self, epsilon: float = 2.0, seed: int = 1, **more: Any) -> Study:
        return Study.create(
            self.statistic,
            protocol="projection",
            epsilon=epsilon,
            domain=self.domain,
            seed=seed,
            **self.options,
            **self.protocol,
            **more,
        )

    def exact(self, table: dict[str, np.ndarray]) -> float:
        return dpairs.exact(self.statistic, table, domain=self.domain, **self.options)


def scores(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    label = (rng.random(n) < 0.4).astype(int)
    return {"score": np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1), "label": label}


def rounded(scale: int) -> Callable[[np.random.Generator, int], dict[str, np.ndarray]]:
    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        table = scores(rng, n)
        return {**table, "score": np.round(table["score"] * scale).astype(np.int64)}

    return draw


def plane(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    x = rng.normal(0.5, 0.15, n)
    return {"x": np.clip(x, 0, 1), "y": np.clip(0.6 * x + 0.2 + rng.normal(0, 0.12, n), 0, 1)}


def ratings(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {name: np.minimum((5 * values).astype(int), 4) for name, values in plane(rng, n).items()}


def incomes(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {"value": np.minimum(rng.lognormal(0, 0.7, n), 10) / 10}


def whole_incomes(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {"value": np.round(incomes(rng, n)["value"] * 10**6).astype(np.int64)}


def colours(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    return {"value": rng.choice(8, n, p=np.array([8, 7, 6, 5, 4, 3, 2, 1]) / 36)}


def classes(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    label = rng.integers(0, 3, n)
    return {"score": np.clip(rng.normal(0.3 + 0.2 * label, 0.15), 0, 1), "label": label}


FIVE = Levels(range(5))
CASES: dict[str, Case] = {
    "auc": Case("auc", UNIT, scores),
    "auc, ties zero": Case("auc", UNIT, scores, {"ties": "zero"}),
    "auc, levels": Case("auc", Levels(range(11)), rounded(10)),
    "auc, levels, ties zero": Case("auc", Levels(range(11)), rounded(10), {"ties": "zero"}),
    "auc, integers": Case("auc", Integers(0, 10**6), rounded(10**6)),
    "auc, many levels": Case("auc", Levels(range(301)), rounded(300)),
    "auc, histogram pilot": Case("auc", UNIT, scores, {}, {"pilot": "histogram", "bins": 16}),
    "auc, private": Case("auc", UNIT, scores, {"labels": "private"}),
    "auc, private, ties zero": Case("auc", UNIT, scores, {"labels": "private", "ties": "zero"}),
    "auc, private, levels": Case("auc", Levels(range(11)), rounded(10), {"labels": "private"}),
    "auc, private, levels, ties zero": Case(
        "auc", Levels(range(11)), rounded(10), {"labels": "private", "ties": "zero"}
    ),
    "mann_whitney": Case("mann_whitney", UNIT, scores),
    "mann_whitney, private": Case("mann_whitney", UNIT, scores, {"labels": "private"}),
    "mann_whitney, private, levels": Case(
        "mann_whitney", Levels(range(11)), rounded(10), {"labels": "private"}
    ),
    "tau-a": Case("kendall_tau", (UNIT, UNIT), plane),
    "tau-b": Case("kendall_tau", (UNIT, UNIT), plane, {"variant": "b"}),
    "tau-a, ratings": Case("kendall_tau", (FIVE, FIVE), ratings),
    "tau-b, ratings": Case("kendall_tau", (FIVE, FIVE), ratings, {"variant": "b"}),
    "gini mean difference": Case("gini_mean_difference", UNIT, incomes),
    "gini mean difference, integers": Case("gini_mean_difference", Integers(0, 10**6), whole_incomes),
    "gini coefficient": Case("gini_coefficient", UNIT, incomes),
    "gini coefficient, levels": Case("gini_coefficient", Levels(range(8)), colours),
    "variance": Case("variance", UNIT, incomes),
    "variance, deep": Case("variance", UNIT, incomes, {}, {"bins": 2**20}),
    "variance, levels": Case("variance", Levels(range(8)), colours),
    "entropy": Case("collision_entropy", Categories(range(8)), colours),
    "entropy, integers": Case("collision_entropy", Integers(0, 7), colours),
    "vus": Case("vus", UNIT, classes),
    "vus, ties zero": Case("vus", UNIT, classes, {"ties": "zero"}),
    "kernel": Case(NEAR, None, lambda rng, n: incomes(rng, min(n, 8000)), {}, {"bins": 64}),
    "kernel in the plane": Case(AGREE, None, lambda rng, n: plane(rng, min(n, 8000)), {}, {"bins": 8}),
    "tau-a, 8 x 8": Case("kendall_tau", (UNIT, UNIT), plane, {}, {"bins": 8}),
    "tau-b, 8 x 8": Case("kendall_tau", (UNIT, UNIT), plane, {"variant": "b"}, {"bins": 8}),
}
PEOPLE = 40_000
each_case = pytest.mark.parametrize("name", CASES)


@functools.cache
def finished(name: str) -> tuple[dict[str, np.ndarray], Tally]:
    """A population, and the last tally of a simulated study of it."""
    case = CASES[name]
    table = case.draw(np.random.default_rng(1), PEOPLE)
    return table, simulate_tally(case.study(), table, seed=2)


def moved(estimate: Estimate) -> float:
    """What a custom kernel's table may be off by."""
    return estimate.quantization.estimate or 0.0


@each_case
def test_the_estimate_is_near_the_exact_value(name):
    table, tally = finished(name)
    truth = CASES[name].exact(table)
    for estimator in ("combined", "second-round"):
        found = tally.estimate(estimator)
        # Both targets: the sample's error is the noise alone, and never above the population's.
        assert 0 < found.sample_standard_error <= found.standard_error
        assert abs(found.value - truth) < SIGMAS * found.sample_standard_error + moved(found)
        assert found.estimator == estimator
        told(found, len(next(iter(table.values()))), name)
    assert found.standard_error < 0.15 * max(1.0, abs(truth)), "an interval that says nothing proves nothing"


@pytest.mark.parametrize("name", ["auc", "tau-a, ratings", "gini mean difference", "mann_whitney, private"])
def test_a_wrong_value_is_noticed(name):
    """Negative control of the test above: reports of people of whom a third was exchanged."""
    table, tally = finished(name)
    column = next(iter(table))
    changed = table[column].copy()
    changed[::3] = changed.max() if name != "tau-a, ratings" else 4 - changed[::3]
    truth = CASES[name].exact({**table, column: changed})
    found = tally.estimate()
    assert abs(found.value - truth) > SIGMAS * found.sample_standard_error


def told(found: Estimate, people: int, name: str) -> None:
    """What an estimate says of itself."""
    assert found.n == people
    assert found.protocol == "projection"
    assert (found.privacy.rounds, found.privacy.delta) == (2, 0)
    assert 0.999 * 2.0 <= found.privacy.epsilon <= 2.0
    assert (moved(found) > 0) == name.startswith("kernel")
    text = json.dumps(found.to_json(), allow_nan=False)
    assert json.loads(text)["n"] == found.n


def test_mann_whitney_tests_with_the_noise_inside():
    table, tally = finished("mann_whitney")
    found = tally.estimate()
    pairs = math.prod(found.strata.values())
    assert found.details["auc"] == pytest.approx(found.value / pairs)
    assert found.details["z"] == pytest.approx((found.value - pairs / 2) / found.standard_error)
    assert found.details["p_value"] < 1e-6
    assert found.details["auc"] == pytest.approx(dpairs.exact("auc", table), abs=0.05)


def test_entropy_carries_its_collision_probability():
    found = finished("entropy")[1].estimate()
    assert found.details["collision_probability"] == pytest.approx(math.exp(-found.value))


def _atoms(values: list[int], column: str = "score") -> Callable[..., dict[str, np.ndarray]]:
    """A few values, of which positives have the higher ones more often."""

    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        table = scores(rng, n)
        chosen = np.array(values)[np.minimum((table["score"] * len(values)).astype(int), len(values) - 1)]
        return {column: chosen, "label": table["label"]} if column == "score" else {column: chosen}

    return draw


def _both(values: list[int]) -> Callable[..., dict[str, np.ndarray]]:
    """Two columns with the same few values, most people alike in both."""

    def draw(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
        return {
            name: np.array(values)[np.minimum((each * len(values)).astype(int), len(values) - 1)]
            for name, each in plane(rng, n).items()
        }

    return draw


PERCENT, MILLION, TENS = Integers(0, 100), Integers(0, 10**6), list(range(0, 101, 20))
GATHERED: dict[str, Case] = {
    "auc, private, multiples of 20": Case("auc", PERCENT, _atoms(TENS), {"labels": "private"}),
    "auc, private, ties zero": Case("auc", PERCENT, _atoms(TENS), {"labels": "private", "ties": "zero"}),
    "auc, private, single figures": Case("auc", MILLION, _atoms(list(range(8))), {"labels": "private"}),
    "auc, private, a hundredth of the interval": Case(
        "auc",
        UNIT,
        lambda rng, n: {
            name: each / (100 if name == "score" else 1) for name, each in scores(rng, n).items()
        },
        {"labels": "private"},
    ),
    "auc, public, single figures": Case("auc", MILLION, _atoms(list(range(8)))),
    "tau-a, multiples of 20": Case("kendall_tau", (PERCENT, PERCENT), _both(TENS)),
    "tau-b, multiples of 20": Case("kendall_tau", (PERCENT, PERCENT), _both(TENS), {"variant": "b"}),
    "tau-a, single figures": Case("kendall_tau", (MILLION, MILLION), _both(list(range(8)))),
    "entropy, 300 integers": Case("collision_entropy", Integers(0, 299), _atoms(TENS, "value")),
    "entropy, 5000 integers": Case("collision_entropy", Integers(0, 4999), _atoms(TENS, "value")),
    "gini, multiples of 20": Case("gini_mean_difference", PERCENT, _atoms(TENS, "value")),
    "variance, single figures": Case("variance", MILLION, _atoms(list(range(8)), "value")),
}


@pytest.mark.parametrize("name", GATHERED)
def test_people_who_are_not_spread_evenly_within_bins(name):
    """Few values among many, or a vertex of the domain: the interval or the quantization must say so."""
    case = GATHERED[name]
    table = case.draw(np.random.default_rng(1), PEOPLE)
    found = simulate(case.study(), table, seed=2)
    allowed = SIGMAS * found.sample_standard_error + moved(found) + found.bias
    assert abs(found.value - case.exact(table)) < allowed


# ---------------------------------------------------------------- privacy, exactly


def tape(*words: int) -> TapeRandomness:
    return TapeRandomness(b"".join(word.to_bytes(8, "little") for word in words))


def asked_indices(study: Study, stratum: str, count: int) -> list[int]:
    """The first ``count`` people of a stratum who are asked."""
    asked = study.protocol.asked(study.coins, study.strata.index(stratum), 0, 64 * count)
    assert asked is not None
    return np.flatnonzero(asked)[:count].tolist()


def first_round_pmf(study: Study, stratum: int, index: int, columns: list[Any]) -> list[Fraction]:
    """The exact distribution of a tree pilot's symbol, by the words at which answers can change."""
    projection = study.protocol
    assert isinstance(projection, Projection)
    pilot = projection.pilot
    assert isinstance(pilot, PilotTree)
    ends = {0, WORDS}
    for response in pilot.responses:
        ends |= {place * response.floor for place in range(response.inputs + 1)}
    marks = sorted(ends)
    found = [Fraction(0)] * projection.symbols
    for start, end in itertools.pairwise(marks):
        sent = {
            int(projection.randomize(study.coins, stratum, index, columns, tape(word))[0])
            for word in (start, end - 1)
        }
        assert len(sent) == 1
        found[sent.pop()] += Fraction(end - start, WORDS)
    assert sum(found) == 1
    return found


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize(
    ("which", "domain", "people"),
    [
        ("auc", Integers(0, 999), [[[v]] for v in (0, 500, 999)]),
        ("vus", UNIT, [[[v]] for v in (0.0, 0.3, 1.0)]),
        ("kendall_tau", (UNIT, UNIT), [[[0.0], [0.0]], [[0.5], [0.9]], [[1.0], [0.0]]]),
    ],
)
def test_first_round_ratio_is_at_most_e_to_the_epsilon(which, domain, people, epsilon):
    study = Study.create(which, protocol="projection", epsilon=epsilon, domain=domain, seed=4)
    worst = Fraction(1)
    for stratum, name in enumerate(study.strata):
        for index in asked_indices(study, name, 4):
            rows = [first_round_pmf(study, stratum, index, person) for person in people]
            # A level of fewer bits than others has fewer symbols, and nobody gives the rest.
            given = [symbol for symbol in range(study.protocol.symbols) if any(row[symbol] for row in rows)]
            worst = max(worst, largest_ratio([[row[symbol] for symbol in given] for row in rows]))
    assert exp_lower_bound(0.999 * epsilon) <= worst <= exp_lower_bound(epsilon)
    assert worst <= exp_lower_bound(study.protocol.epsilon) * (1 + Fraction(1, 10**40))


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
def test_first_round_ratio_of_a_histogram(epsilon):
    study = Study.create("auc", protocol="projection", epsilon=epsilon, domain=FIVE, seed=4)
    assert isinstance(study.protocol, Projection)
    pilot = study.protocol.pilot
    assert isinstance(pilot, Histogram)
    ratio = largest_ratio([pilot.mechanism.pmf(cell) for cell in range(5)])
    assert exp_lower_bound(0.999 * epsilon) <= ratio <= exp_lower_bound(epsilon)
    for cell in range(5):
        word = SeededRandomness(cell).words(1)
        sent = study.protocol.alone.randomize(study.coins, 0, 3, [[cell]], tape(int(word[0])))
        assert sent.tolist() == pilot.mechanism.randomize(np.array([cell]), tape(int(word[0]))).tolist()


SECOND: dict[str, tuple[str, list[list[Any]]]] = {
    "auc": ("auc", [[[v]] for v in np.linspace(0, 1, 21).tolist()]),
    "auc, private": ("auc, private", [[[v], [y]] for v in (0.0, 0.2, 0.7, 1.0) for y in (0, 1)]),
    "tau-b, ratings": ("tau-b, ratings", [[[x], [y]] for x in range(5) for y in range(5)]),
    "entropy": ("entropy", [[[v]] for v in range(8)]),
    "vus": ("vus", [[[v]] for v in np.linspace(0, 1, 21).tolist()]),
    "kernel in the plane": ("kernel in the plane", [[[x], [y]] for x in (0.0, 0.4, 1.0) for y in (0.1, 1.0)]),
}


@functools.cache
def second_study(name: str, epsilon: float) -> Study:
    case = CASES[name]
    return simulate_tally(case.study(epsilon), case.draw(np.random.default_rng(3), 6000), seed=1).study


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0])
@pytest.mark.parametrize("name", SECOND)
def test_second_round_ratio_is_at_most_e_to_the_epsilon(name, epsilon):
    study = second_study(name, epsilon)
    protocol, people = study.protocol, SECOND[name][1]
    assert isinstance(protocol, SecondRound)
    columns = study.statistic.private_columns
    for influence in protocol.influences.values():
        heights = [float(influence(person, columns)[0]) for person in people]
        rows = [protocol.mechanism.pmf(height) for height in [*heights, 0.0, 1.0]]
        assert all(sum(row) == 1 for row in rows)
        assert largest_ratio(rows) <= exp_lower_bound(epsilon)
        # The function reaches both ends of its range somewhere, so nothing of epsilon is left unused.
        assert largest_ratio(rows) >= exp_lower_bound(0.99 * epsilon)
    assert protocol.epsilon == study.privacy.epsilon <= epsilon


@pytest.mark.parametrize("epsilon", [0.3, 4.0])
@pytest.mark.parametrize("name", SECOND)
def test_a_second_report_is_the_mechanism_at_the_function_and_nothing_else(name, epsilon):
    """The symbol depends on value and words alone: the words at the thresholds decide as the pmf says."""
    study, people = second_study(name, epsilon), SECOND[name][1]
    protocol = study.protocol
    assert isinstance(protocol, SecondRound)
    for place, stratum in enumerate(study.strata):
        for person in people:
            height = protocol.influences[stratum](person, study.statistic.private_columns)
            if isinstance(protocol.mechanism, BitResponse):
                threshold = protocol.mechanism.threshold(float(height[0]))
                words: list[tuple[int, ...]] = [(0,), (threshold - 1,), (threshold,), (WORDS - 1,)]
                expected = [[1], [1], [0], [0]]
            else:
                words = [(1 << 63, 1 << shift) for shift in (0, 55, 60, 63)]
                expected = [protocol.mechanism.randomize(height, tape(*pair)).tolist() for pair in words]
            for index in asked_indices(study, stratum, 2):
                sent = [
                    protocol.randomize(study.coins, place, index, person, tape(*pair)).tolist()
                    for pair in words
                ]
                assert sent == expected


def test_a_large_epsilon_sends_a_window_and_a_small_one_a_bit():
    small, large = (second_study("auc", epsilon).protocol for epsilon in (0.3, 4.0))
    assert isinstance(small, SecondRound)
    assert isinstance(large, SecondRound)
    assert isinstance(small.mechanism, BitResponse)
    assert isinstance(large.mechanism, WindowResponse)


@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_one_word_less_privacy_is_refused(epsilon):
    """Negative control: a file whose threshold is one word lower promises less than it loses."""
    study = second_study("auc", epsilon)
    content = json.loads(study.to_json())
    mechanism = content["protocol"]["mechanism"]
    mechanism["floor"] = str(int(mechanism["floor"]) - 1)
    if mechanism["name"] == "window":
        left = WORDS - mechanism["symbols"] * int(mechanism["floor"])
        mechanism["boost"] = str(left // mechanism["width"])
    with pytest.raises(BadFile, match="promises epsilon"):
        Study.from_json(signed(content))


def test_reports_have_as_few_bytes_as_symbols_need():
    for epsilon in (0.3, 4.0):
        study = second_study("auc", epsilon)
        index = asked_indices(study, "positive", 1)[0]
        assert len(bytes(Participant(study, index, "positive").report(score=0.5))) == 19


# ---------------------------------------------------------------- rounds apart, by files


def signed(content: dict[str, Any]) -> str:
    """A study's text whose id does belong to its contents."""
    content = {name: value for name, value in content.items() if name != "id"}
    return canonical({**content, "id": digest(content)})


def first_tally(study: Study, table: dict[str, np.ndarray], seed: int = 3) -> Tally:
    return simulate_round(study, table, seed)


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
first = Study.load(sys.argv[1])
print(first.next(Tally.load(sys.argv[2], first)).id)
"""


@pytest.mark.parametrize("name", ["auc", "tau-b, ratings"])
def test_the_next_study_does_not_depend_on_the_processor(name, tmp_path: Path):
    """Anybody who has the tally can check the second round: also on a machine that adds in another order.

    OpenBLAS has a kernel for each kind of processor; where numpy has another library this asks nothing.
    """
    case = CASES[name]
    first = case.study(2.0)
    first.save(tmp_path / "first.json")
    first_tally(first, case.draw(np.random.default_rng(5), 4000)).save(tmp_path / "tally.json")
    found = set()
    for kernel in ("", "Nehalem"):
        files = [str(tmp_path / "first.json"), str(tmp_path / "tally.json")]
        command = [sys.executable, "-c", ELSEWHERE, *files]
        environment = {**os.environ, "OPENBLAS_CORETYPE": kernel}
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        found.add(done.stdout.strip())
    assert len(found) == 1


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
    with pytest.raises(BadParameter, match=r"call dpairs\.exact with the Kernel"):
        dpairs.exact(study.statistic, {"x": [0.1, 0.2], "y": [0.1, 0.2]})


def leaves(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The paths of everything in a JSON tree."""
    if path:
        yield path
    if isinstance(tree, dict):
        for key in tree:
            yield from leaves(tree[key], (*path, key))
    elif isinstance(tree, list):
        # All entries of a long list are alike.
        for place in (0, len(tree) - 1) if len(tree) > 1 else range(len(tree)):
            yield from leaves(tree[place], (*path, place))


def other_value(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return 1
    if isinstance(value, (int, float)):
        return value + 1
    if isinstance(value, str):
        return value[:-1] + ("0" if value[-1:] != "0" else "1")
    if isinstance(value, list):
        return [*value, 0]
    return {**value, "more": 0}


def changed(content: Any, path: tuple[Any, ...], value: Any) -> Any:
    copy = json.loads(json.dumps(content))
    box = copy
    for key in path[:-1]:
        box = box[key]
    if value is ...:
        del box[path[-1]]
    else:
        box[path[-1]] = value
    return copy


def lookup(tree: Any, path: tuple[Any, ...]) -> Any:
    return functools.reduce(lambda box, key: box[key], path, tree)


SHORT = Study.create(NEAR, protocol="projection", epsilon=1.0, bins=8, seed=1)
MUTATED = ("auc", "auc, private", "tau-b, ratings", "vus", "kernel")


@pytest.mark.parametrize("name", MUTATED)
@pytest.mark.parametrize("which", ["first", "second"])
def test_every_changed_field_is_refused_in_one_sentence(name, which):
    study = second_study(name, 1.0) if which == "second" else CASES[name].study(1.0)
    content = json.loads(study.to_json())
    if "matrix" in content["statistic"]:
        # A kernel's table is long to read; the tests of studies change every number of a short one.
        content = json.loads(SHORT.to_json())
    paths = list(leaves(content))
    assert len(paths) > 20
    for path in paths:
        value = lookup(content, path)
        for new in (other_value(value), None, ...):
            text = json.dumps(changed(content, path, new))
            if json.loads(text) == content:
                continue
            with pytest.raises(BadFile) as raised:
                Study.from_json(text)
            assert "\n" not in str(raised.value), path


BAD: tuple[Any, ...] = (None, -1, 0, 2**53, 1e308, "x", [], {})


@pytest.mark.parametrize("name", MUTATED)
def test_a_forged_second_round_is_refused_or_works(name):
    """With an id that fits: one sentence, or a study in which people answer and the analyst estimates."""
    study = second_study(name, 1.0)
    content, analysis = json.loads(study.to_json()), analysis_of(study)
    accepted, broken = 0, []
    for path in leaves(content):
        if path[0] == "id":
            continue
        for new in (*BAD, other_value(lookup(content, path)), ...):
            text = signed(changed(content, path, new))
            try:
                made = Study.from_json(text)
            except BadFile as error:
                one_sentence(error)
                continue
            assert made.to_json() == text
            accepted += 1
            try:
                made = made.with_analysis(canonical({**analysis, "study": made.id}))
            except BadFile as error:
                one_sentence(error)
            wrong = used(made, SECOND[name][1][1] if name in SECOND else [[0.25]])
            if wrong is not None:
                broken.append((path, new, wrong))
    assert accepted > 5, "some fields are free: the seed, a label, a height"
    assert broken == []


def used(study: Study, person: list[Any]) -> str | None:
    """What goes wrong when people answer and the analyst estimates, but for errors of ours."""
    tally = Tally(study)
    names = study.statistic.private_columns
    try:
        for stratum in study.strata:
            for index in asked_indices(study, stratum, 2):
                values = {name: column[0] for name, column in zip(names, person, strict=True)}
                tally.add(Participant(study, index, stratum, bits=SeededRandomness(index)).report(**values))
        found = tally.estimate()
    except DpairsError:
        return None
    except Exception as error:
        return repr(error)
    numbers = (found.value, found.standard_error, found.sample_standard_error)
    return None if all(map(math.isfinite, numbers)) else str(numbers)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("protocol", "round"), 3, "projection"),
        (("protocol", "comment"), "hello", "comment"),
        (("protocol", "first", "study"), "0" * 63, "64 hexadecimal"),
        (("protocol", "first", "study"), "G" * 64, "64 hexadecimal"),
        (("protocol", "first", "share"), 64, "share"),
        (("protocol", "first", "share"), 0, "share"),
        (("protocol", "first", "people"), {"positive": 5, "negative": 5}, "no option 'people'"),
        (("protocol", "edges"), [], "edges"),
        (("protocol", "edges"), [None], "edges"),
        (("protocol", "edges", 0), [0, 1, 0.5], "edges"),
        (("protocol", "edges", 0), [0, "0.5", 1], "numbers"),
        (("protocol", "edges", 0), [0, 10**400, 1], "finite"),
        (("protocol", "edges", 0, 0), 0.001, "edges"),
        (("protocol", "edges", 0), list(range(5000)), "list of edges"),
        (("protocol", "functions", "positive"), ..., "functions"),
        (("protocol", "functions"), [], "functions for positive, negative"),
        (("protocol", "functions", "positive"), "AAAA", "heights"),
        (("protocol", "functions", "positive"), "not base64", "heights"),
        (("protocol", "functions", "positive"), [], "heights"),
        (("protocol", "functions", "positive"), {"heights": "AAAA", "low": 0, "high": 1}, "heights"),
        (("protocol", "value"), 0.5, "no option 'value'"),
        (("protocol", "mechanism"), {"name": "krr", "inputs": 2, "floor": "5"}, "mechanism"),
        (("protocol", "mechanism", "floor"), "5", "promises epsilon"),
        (("statistic", "name"), "vus", "."),
        (("domain", 0, "high"), 2, "edges"),
        (("domain"), [{"kind": "categories", "values": ["a", "b"]}], "."),
    ],
    ids=str,
)
def test_forged_second_rounds_are_refused_by_name(path, value, words):
    content = json.loads(second_study("auc", 1.0).to_json())
    path = (path,) if isinstance(path, str) else path
    with pytest.raises(BadFile, match=words) as raised:
        Study.from_json(signed(changed(content, path, value)))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("auc", ("domain",), [{"kind": "categories", "values": ["a", "b"]}]),
        ("auc", ("domain",), [{"kind": "interval", "low": 0, "high": 1}] * 2),
    ],
    ids=str,
)
def test_parts_that_do_not_fit_together_are_refused(name, path, value):
    """Forged files whose every field is well-formed, but which no first round can have led to."""
    content = json.loads(second_study(name, 1.0).to_json())
    content = changed(content, path, value)
    protocol, two = content["protocol"], len(value) == 2
    protocol["edges"] = protocol["edges"] * 2 if two else [None]
    for stratum, heights in protocol["functions"].items():
        vertices = len(base64.b64decode(heights)) // 2
        protocol["functions"][stratum] = base64.b64encode(bytes(2 * (vertices**2 if two else 2))).decode()
    with pytest.raises(BadFile):
        Study.from_json(signed(content))


# ---------------------------------------------------------------- forged files of the analyst


def analysis_of(study: Study) -> dict[str, Any]:
    text = study.analysis_to_json()
    assert text is not None
    content: dict[str, Any] = json.loads(text)
    return content


@pytest.mark.parametrize("name", MUTATED)
def test_a_forged_analysis_is_refused_or_works(name):
    """One sentence, or an analysis from which the analyst estimates."""
    study = second_study(name, 1.0)
    content = analysis_of(study)
    loaded = Study.from_json(study.to_json())
    accepted, broken = 0, []
    for path in leaves(content):
        for new in (*BAD, other_value(lookup(content, path)), ...):
            text = canonical(changed(content, path, new))
            try:
                made = loaded.with_analysis(text)
            except DpairsError as error:
                one_sentence(error)
                continue
            assert made.analysis_to_json() == text
            accepted += 1
            wrong = used(made, SECOND[name][1][1] if name in SECOND else [[0.25]])
            if wrong is not None:
                broken.append((path, new, wrong))
    assert accepted > 5, "some fields are free: people, a remainder, a range"
    assert broken == []


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("format",), "dpairs-study", "not an analysis"),
        (("version",), 2, "not an analysis"),
        (("comment",), "hello", "comment"),
        (("analysis",), [], "JSON object"),
        (("analysis", "comment"), "hello", "comment"),
        (("analysis", "value"), ..., "value"),
        (("analysis", "value"), "0.5", "finite"),
        (("analysis", "value"), 1e101, "beyond all values"),
        (("analysis", "people"), {"positive": 5}, "people for positive, negative"),
        (("analysis", "people"), {"positive": 5, "negative": 5, "neither": 5}, "people for positive"),
        (("analysis", "people", "positive"), 0, "people"),
        (("analysis", "people", "positive"), 2**53, "people"),
        (("analysis", "people", "positive"), 2.5, "people"),
        (("analysis", "alone"), [0.5], "own estimate is two numbers"),
        (("analysis", "alone"), [0.5, -1], "above 0"),
        (("analysis", "alone"), [0.5, 0], "above 0"),
        (("analysis", "forms"), [], r"1 form\(s\)"),
        (("analysis", "forms"), 0.5, r"1 form\(s\)"),
        (("analysis", "forms", 0), None, "finite"),
        (("analysis", "ranges"), {}, "ranges for positive, negative"),
        (("analysis", "ranges", "positive"), [1e9, 1], "must not lie above"),
        (("analysis", "ranges", "positive"), [0], "two numbers"),
        (("analysis", "ranges", "positive"), 1, "two numbers"),
        (("analysis", "means"), {}, "means for positive, negative"),
        (("analysis", "means", "positive"), "0.1", "finite"),
        (("analysis", "variances"), {"everybody": 0.1}, "variances for positive, negative"),
        (("analysis", "variances", "positive"), -0.1, "negative"),
        (("analysis", "variances", "positive"), "0.1", "finite"),
        (("analysis", "remainder"), [0], "remainder is two numbers"),
        (("analysis", "remainder", 1), -1e-9, "negative"),
        (("analysis", "kernel_uncertainty"), -1, "negative"),
        (("analysis", "noises"), {"everybody": 0.1}, "noises for positive, negative"),
        (("analysis", "noises", "positive"), -0.1, "negative"),
        (("analysis", "alone_noise"), -0.1, "negative"),
    ],
    ids=str,
)
def test_forged_analyses_are_refused_by_name(path, value, words):
    study = second_study("auc", 1.0)
    with pytest.raises(BadFile, match=words) as raised:
        study.with_analysis(json.dumps(changed(analysis_of(study), path, value)))
    one_sentence(raised.value)


@pytest.mark.parametrize(
    ("name", "path", "value", "words"),
    [
        ("auc, private", ("forms",), [0.2], r"2 form\(s\)"),
        ("tau-b, ratings", ("forms",), [0.2, 0.1], r"3 form\(s\)"),
        ("auc", ("forms",), [0.2, 0.1], r"1 form\(s\)"),
        ("tau-b, ratings", ("forms",), [0.2, 1.0, 1.0], "give no value"),
        ("auc", ("forms",), [0.2], "give the value 0.2"),
        ("auc, private", ("forms",), [0.1, 0.2], "give the value 0.5"),
        ("auc, private", ("value",), 0.5, "not 0.5"),
        ("auc", ("means", "positive"), 1.01, "from 0 to 1"),
        ("auc", ("means", "negative"), -0.01, "from 0 to 1"),
        ("auc", ("variances", "positive"), 0.26, "cannot have a variance of 0.26"),
        ("auc", ("means", "positive"), 1, "of mean 1 cannot have a variance"),
    ],
    ids=str,
)
def test_parts_of_an_analysis_that_do_not_fit_together_are_refused(name, path, value, words):
    """Every field is well-formed, but no first round can have led to them."""
    study = second_study(name, 1.0)
    with pytest.raises(BadFile, match=words) as raised:
        study.with_analysis(json.dumps(changed(analysis_of(study), ("analysis", *path), value)))
    one_sentence(raised.value)


def test_an_analysis_is_of_its_own_study_alone():
    study, other = second_study("auc", 1.0), second_study("auc", 4.0)
    text = study.analysis_to_json()
    assert text is not None
    with pytest.raises(WrongStudy, match="belongs to study"):
        other.with_analysis(text)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("protocol", "round"), 0, "rounds 1 and 2"),
        (("protocol", "round"), ..., "round"),
        (("protocol", "share"), 0, "share"),
        (("protocol", "share"), 64, "share"),
        (("protocol", "share"), "24", "share"),
        (("protocol", "pilot"), None, "pilot"),
        (("protocol", "pilot", "name"), "krr", "pilot"),
        (("protocol", "pilot", "bits"), [53], "bits"),
        (("protocol", "pilot", "bits"), [0], "bits"),
        (("protocol", "pilot", "bits"), [8, 8], "bits"),
        (("protocol", "pilot", "bits"), 16, "bits"),
        (("protocol", "pilot", "bits"), [], "."),
        (("protocol", "pilot", "floors"), [], "."),
        (("protocol", "pilot", "floors", 0), "0", "."),
        (("protocol", "pilot", "floors", 0), 5, "floors"),
        (("protocol", "pilot", "floors", 0), "5", "promises epsilon"),
        (("protocol", "pilot", "comment"), "hello", "comment"),
        (("protocol", "comment"), "hello", "comment"),
    ],
    ids=str,
)
def test_forged_first_rounds_are_refused_by_name(path, value, words):
    content = json.loads(CASES["auc"].study(1.0).to_json())
    with pytest.raises(BadFile, match=words) as raised:
        Study.from_json(signed(changed(content, path, value)))
    assert "\n" not in str(raised.value)


# ---------------------------------------------------------------- making a study


@pytest.mark.parametrize(
    ("which", "domain", "options", "words"),
    [
        ("auc", UNIT, {"pilot": "sketch"}, "pilot"),
        ("auc", UNIT, {"bins": 100}, "power of 2"),
        ("auc", UNIT, {"bins": 1}, "bins"),
        ("auc", UNIT, {"bins": 2**53}, "bins"),
        ("auc", UNIT, {"bins": [4, 4]}, "one number for each column"),
        ("auc", Integers(0, 9), {"bins": 32}, "bins"),
        ("auc", UNIT, {"n": 1}, "n must be"),
        ("auc", UNIT, {"mechanism": "krr"}, "mechanism"),
        ("auc", UNIT, {"rounding": "random"}, "rounding"),
        ("auc", Categories(["a", "b"]), {}, "ordered"),
        ("collision_entropy", UNIT, {}, "equal values"),
        ("kendall_tau", (UNIT, UNIT), {"bins": 2**17}, r"at most 2\^32"),
        ("kendall_tau", (Levels(range(64)),) * 2, {}, r"at most 2\^10"),
        ("kendall_tau", UNIT, {}, "was given 1"),
        ("gini_coefficient", Interval(-1, 1), {}, "at least 0"),
    ],
)
def test_wrong_studies_are_refused(which, domain, options, words):
    with pytest.raises(BadParameter, match=words) as raised:
        Study.create(which, protocol="projection", epsilon=1.0, domain=domain, **options)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("epsilon", [1e-20, 1e-30])
@pytest.mark.parametrize("domain", [UNIT, FIVE], ids=["tree", "histogram"])
def test_an_epsilon_beyond_64_bits_is_refused_in_one_sentence(domain, epsilon):
    with pytest.raises(BadParameter, match="too small") as raised:
        Study.create("auc", protocol="projection", epsilon=epsilon, domain=domain)
    assert "\n" not in str(raised.value)


def test_an_interval_without_room_for_its_bins_is_refused_before_anybody_answers():
    """Around 10^6 doubles are 10^-10 apart: 64 leaves of an interval of 10^-9 have no edges."""
    with pytest.raises(BadParameter):
        Study.create("variance", protocol="projection", epsilon=1.0, domain=Interval(1e6, 1e6 + 1e-9))


@pytest.mark.parametrize(
    ("which", "domain", "kind"),
    [
        ("auc", Levels(range(64)), Histogram),
        ("auc", Levels(range(65)), PilotTree),
        ("auc", UNIT, PilotTree),
        ("auc", Integers(0, 63), Histogram),
        ("auc", Integers(0, 64), PilotTree),
        ("vus", Levels(range(5)), PilotTree),
        ("collision_entropy", Categories(range(1000)), Histogram),
        ("kendall_tau", (Levels(range(8)), Levels(range(8))), Histogram),
        ("kendall_tau", (Levels(range(8)), Levels(range(9))), PilotTree),
    ],
)
def test_few_cells_are_asked_for_directly(which, domain, kind):
    made = Study.create(which, protocol="projection", epsilon=1.0, domain=domain)
    assert isinstance(made.protocol, Projection)
    assert isinstance(made.protocol.pilot, kind)
    assert (made.protocol.round, made.protocol.rounds) == (1, 2)


def test_a_first_round_asks_fewer_where_people_are_many():
    few, many = (CASES["auc"].study(1.0, n=n).protocol for n in (10**4, 10**8))
    assert isinstance(few, Projection)
    assert isinstance(many, Projection)
    assert 4 <= many.share < few.share <= 24


def test_a_first_round_alone():
    """A histogram has an answer of its own; a tree has none, and says what to do."""
    for name, kind in (("auc, levels", Histogram), ("auc", PilotTree)):
        case = CASES[name]
        study = case.study(4.0)
        table = case.draw(np.random.default_rng(9), 40_000)
        tally = first_tally(study, table)
        if kind is PilotTree:
            with pytest.raises(NotEstimable, match=r"Study\.next"):
                tally.estimate()
            continue
        found = tally.estimate()
        assert found.estimator == "pilot"
        assert found.n == tally.n
        assert abs(found.value - case.exact(table)) < SIGMAS * found.standard_error


# ---------------------------------------------------------------- poor pilots


def one_sentence(error: DpairsError) -> None:
    assert "\n" not in str(error)
    assert len(str(error)) < 400


def quietly(study: Study, table: dict[str, np.ndarray], seed: int) -> Estimate | None:
    """The estimate, all of it numbers, or None when it was refused by an error of ours."""
    try:
        with np.errstate(all="raise", under="ignore"):
            found = simulate(study, table, seed=seed)
    except (NotEnoughData, NotEstimable) as error:
        one_sentence(error)
        return None
    numbers = (found.value, found.standard_error, found.sample_standard_error, *found.details.values())
    assert all(map(math.isfinite, numbers))
    assert found.standard_error >= found.sample_standard_error >= 0
    return found


SMALL = (
    "auc",
    "auc, levels",
    "auc, private",
    "auc, private, levels",
    "mann_whitney",
    "mann_whitney, private, levels",
    "tau-a, 8 x 8",
    "tau-b, 8 x 8",
    "tau-b, ratings",
    "gini mean difference",
    "gini coefficient",
    "gini coefficient, levels",
    "variance, deep",
    "entropy",
    "entropy, integers",
    "vus",
    "kernel",
    "kernel in the plane",
)


@pytest.mark.usefixtures("few_replicates")
@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 50.0])
@pytest.mark.parametrize("name", SMALL)
def test_few_people_give_a_number_or_a_sentence(name, epsilon):
    case = CASES[name]
    study = case.study(epsilon)
    found = [quietly(study, case.draw(np.random.default_rng(n), n), n) for n in (2, 3, 7, 200)]
    if epsilon == 1.0 and name in ("auc, levels", "gini mean difference"):
        assert any(each is not None for each in found), "all refused proves little"


@pytest.mark.usefixtures("few_replicates")
@pytest.mark.parametrize("epsilon", [1.0, 50.0])
@pytest.mark.parametrize("name", SMALL)
def test_everybody_alike(name, epsilon):
    """All mass in one cell: the truth has no spread, and no function a range."""
    case = CASES[name]
    table = case.draw(np.random.default_rng(1), 4000)
    alike = {
        column: values if column == "label" else np.full_like(values, values[0])
        for column, values in table.items()
    }
    quietly(case.study(epsilon), alike, 1)


def test_everybody_alike_is_found_to_be_so():
    study = CASES["gini mean difference"].study(4.0)
    found = quietly(study, {"value": np.full(20_000, 0.3)}, 1)
    assert found is not None
    assert abs(found.value) < SIGMAS * found.standard_error


@pytest.mark.parametrize("name", ["auc", "auc, levels", "vus", "mann_whitney"])
def test_a_class_that_is_absent_is_named(name):
    case = CASES[name]
    table = case.draw(np.random.default_rng(1), 500)
    keep = table["label"] != 1
    with pytest.raises(NotEnoughData, match="middle" if name == "vus" else "positive") as raised:
        simulate(case.study(), {column: values[keep] for column, values in table.items()}, seed=1)
    assert "no pilot" in str(raised.value)


@pytest.mark.usefixtures("few_replicates")
@pytest.mark.parametrize("name", ["auc, private", "auc, private, levels", "mann_whitney, private"])
@pytest.mark.parametrize("epsilon", [1.0, 20.0])
def test_a_private_class_that_is_absent(name, epsilon):
    case = CASES[name]
    table = case.draw(np.random.default_rng(1), 3000)
    quietly(case.study(epsilon), {**table, "label": np.zeros(3000, dtype=int)}, 1)


@pytest.mark.parametrize("name", ["auc", "tau-a, ratings", "gini mean difference", "kernel"])
def test_an_empty_first_round_is_refused(name):
    study = CASES[name].study()
    with pytest.raises(NotEnoughData, match="no pilot"):
        study.next(Tally(study))


@pytest.mark.parametrize("name", ["auc", "tau-a, ratings", "gini mean difference", "kernel"])
def test_an_empty_second_round_is_refused(name):
    study = second_study(name, 1.0)
    with pytest.raises(NotEnoughData, match="second round"):
        Tally(study).estimate()


@pytest.mark.parametrize("name", ["auc", "auc, levels", "gini mean difference", "tau-b, ratings", "vus"])
def test_one_person_in_the_first_round(name):
    """A pilot from one person of each class is poor, and the second round still a study."""
    case = CASES[name]
    first, tally = case.study(1.0), Tally(case.study(1.0))
    for stratum in first.strata:
        index = asked_indices(first, stratum, 1)[0]
        column = first.statistic.private_columns[0]
        special: dict[str, dict[str, Any]] = {"auc, levels": {"score": 3}, "tau-b, ratings": {"x": 1, "y": 4}}
        values = special.get(name, {column: 0.5})
        tally.add(Participant(first, index, stratum, bits=SeededRandomness(1)).report(**values))
    try:
        with np.errstate(all="raise", under="ignore"):
            second = first.next(tally)
    except NotEstimable as error:
        one_sentence(error)
        return
    table = case.draw(np.random.default_rng(1), 5000)
    assert quietly(second, table, 1) is not None


# ---------------------------------------------------------------- simulations


def test_the_same_seed_gives_the_same_estimate():
    case = CASES["auc"]
    table = case.draw(np.random.default_rng(1), 3000)
    study = case.study()
    one, two, other = (simulate(study, table, seed=seed) for seed in (4, 4, 5))
    assert one == two
    assert one.study_id == two.study_id != study.id
    assert one.value != other.value
    assert one.study_id != other.study_id


def test_chunks_are_read_once_for_each_round():
    case = CASES["gini mean difference"]
    table = case.draw(np.random.default_rng(1), 3000)
    chunks = [{"value": table["value"][start : start + 700]} for start in range(0, 3000, 700)]
    study = case.study()
    assert simulate(study, chunks, seed=4) == simulate(study, tuple(chunks), seed=4)
    whole = simulate(study, table, seed=4)
    # Without public classes, chunks do not change who is who; only the order in which noise is drawn.
    assert simulate(study, chunks, seed=4).n == whole.n == 3000
    assert simulate(study, chunks, seed=4).value == whole.value


@pytest.mark.parametrize("as_iterator", [iter, lambda chunks: (each for each in chunks)])
def test_an_iterator_cannot_be_read_twice(as_iterator):
    case = CASES["gini mean difference"]
    chunks = [case.draw(np.random.default_rng(1), 500)]
    with pytest.raises(BadValue, match="list of chunks, not an iterator") as raised:
        simulate(case.study(), as_iterator(chunks), seed=1)
    assert "\n" not in str(raised.value)


def test_a_loaded_second_round_simulates_only_itself():
    case = CASES["auc"]
    table = case.draw(np.random.default_rng(1), 6400)
    made = second_study("auc", 1.0)
    second = Study.from_json(made.to_json()).with_analysis(canonical(analysis_of(made)))
    tally = simulate_tally(second, iter([table]), seed=1)
    assert tally.study == second
    assert isinstance(second.protocol, SecondRound)
    share = second.protocol.earlier_round.share
    expected = 6400 * (64 - share) / 64
    assert abs(tally.n - expected) <= 2 * 64
    found = tally.estimate()
    assert found.n == tally.n + sum(second.protocol.earlier.values())


def test_progress_counts_every_round():
    case = CASES["auc"]
    seen: list[int] = []
    simulate(case.study(), case.draw(np.random.default_rng(1), 1000), seed=1, progress=seen.append)
    assert sum(seen) == 2000


def test_a_value_outside_is_refused_with_its_row():
    study = CASES["gini mean difference"].study()
    values = np.full(1000, 0.5)
    values[777] = 1.5
    with pytest.raises(BadValue, match=r"row 777: 1\.5"):
        simulate(study, {"value": values}, seed=1)


def test_estimators_are_named():
    tally = finished("auc, levels")[1]
    both, second = tally.estimate("combined"), tally.estimate("second-round")
    assert both.standard_error < second.standard_error
    assert finished("auc")[1].estimate("combined").value == finished("auc")[1].estimate("second-round").value
    with pytest.raises(BadParameter, match="'combined', 'second-round'"):
        tally.estimate("pilot")


def test_combining_weighs_by_variance():
    tally = finished("auc, levels")[1]
    protocol = tally.study.protocol
    assert isinstance(protocol, SecondRound)
    assert protocol.analysis is not None
    alone, second = protocol.analysis.alone, tally.estimate("second-round")
    assert alone is not None
    weights = np.array([1 / alone[1], 1 / second.standard_error**2])
    both = tally.estimate("combined")
    assert both.value == pytest.approx(float(weights @ [alone[0], second.value] / weights.sum()))
    assert both.standard_error == pytest.approx(1 / math.sqrt(weights.sum()))


@pytest.mark.parametrize("response", [KaryResponse])
def test_pilots_send_as_many_bits_as_are_best(response):
    low, high = CASES["auc"].study(0.5).protocol, CASES["auc"].study(6.0).protocol
    assert isinstance(low, Projection)
    assert isinstance(high, Projection)
    assert low.symbols == 2
    assert high.symbols > 2
    assert isinstance(low.pilot, PilotTree)
    assert all(isinstance(each, response) for each in low.pilot.responses)
