"""The exact privacy of both rounds."""

import itertools
import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from dpairs import (
    BadFile,
    Integers,
    Participant,
    Study,
)
from dpairs.mechanisms import BitResponse, WindowResponse, largest_ratio
from dpairs.protocols.histogram import Histogram
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.projection.second_round import SecondRound
from dpairs.protocols.sides import alone, of_symbols
from dpairs.randomness import WORDS, SeededRandomness, TapeRandomness
from tests.mechanisms.exponential import exp_lower_bound

from ...studies import signed
from .cases import FIVE, SECOND, UNIT, asked_indices, second_study


def tape(*words: int) -> TapeRandomness:
    return TapeRandomness(b"".join(word.to_bytes(8, "little") for word in words))


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
            given = [
                symbol for symbol in range(of_symbols(study).symbols) if any(row[symbol] for row in rows)
            ]
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
        sent = alone(study).randomize(study.coins, 0, 3, [[cell]], tape(int(word[0])))
        assert sent.tolist() == pilot.mechanism.randomize(np.array([cell]), tape(int(word[0]))).tolist()


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
