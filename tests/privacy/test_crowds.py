"""In whose company a shuffled report hides: an analyst who knows everybody's public coins sorts them out."""

import math
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import dpairs
from dpairs.privacy.shuffling import shuffled_epsilon
from dpairs.protocols.rounds import asked_first
from dpairs.protocols.sides import of_symbols
from dpairs.protocols.tree.coins import every_row

DELTA = 1e-6
PEOPLE = 5000


def exact_delta(kept: float, others: int, epsilon: float) -> float:
    """The worst delta of the sum of randomized bits, over all values of the others: by summation."""
    worst = 0.0
    for ones in range(others + 1):
        rest = np.convolve(
            binom.pmf(np.arange(ones + 1), ones, kept),
            binom.pmf(np.arange(others - ones + 1), others - ones, 1 - kept),
        )
        views = [np.convolve(rest, [1 - chance, chance]) for chance in (kept, 1 - kept)]
        for first, second in (views, views[::-1]):
            worst = max(worst, float(np.maximum(first - math.exp(epsilon) * second, 0).sum()))
    return worst


def tree(**more: Any) -> dpairs.Study:
    given: dict[str, Any] = {"protocol": "tree", "epsilon": 1.0, "bins": 2**10, "seed": 7} | more
    return dpairs.Study.create("auc", domain=dpairs.Interval(0, 1), **given)


def public_cells(study: dpairs.Study, stratum: int) -> np.ndarray:
    """What everybody knows of each person's report before it is sent: a row of numbers."""
    protocol: Any = study.protocol
    if protocol.everybody_everywhere:
        return every_row(study.coins, stratum, 0, PEOPLE, protocol.depth, protocol.rows)
    levels, rows = protocol._assigned(study.coins, stratum, 0, PEOPLE)
    return np.column_stack([levels.astype(np.uint64), rows])


KINDS: dict[str, dict[str, Any]] = {
    "users": {},
    "users-independent": {"splitting": "users-independent"},
    "budget": {"splitting": "budget"},
    "several bits": {"answer": "several-bits", "epsilon": 3.0},
    "few bins": {"bins": 2**8},
}


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_is_alone_in_a_public_cell_of_a_tree_gains_nothing_and_is_promised_nothing(kind):
    study = tree(**KINDS[kind])
    for stratum in (0, 1):
        _, crowds = np.unique(public_cells(study, stratum), axis=0, return_counts=True)
        alone = int((crowds == 1).sum())
        assert alone > 0, "the attack: the analyst reads these people's reports as if nothing was shuffled"
    # Of a report alone the loss is that of its randomizer, whatever the size of the stratum.
    promised = shuffled_epsilon(study.epsilon, study.protocol.crowd(PEOPLE), DELTA)
    assert promised == study.epsilon
    # What was promised before: the crowd of the whole stratum.
    assert shuffled_epsilon(study.epsilon, PEOPLE, DELTA) < study.epsilon / 4


def test_many_people_of_the_issue_s_tree_are_alone():
    cells = public_cells(tree(), 0)
    _, crowds = np.unique(cells, axis=0, return_counts=True)
    kept = math.e / (1 + math.e)
    assert (crowds == 1).sum() > 300
    assert exact_delta(kept, 0, 0.077) > 0.4, "at the epsilon that was claimed, one person's delta"


@pytest.mark.parametrize("crowd", [1, 2, 5, 20])
@pytest.mark.parametrize("local", [0.5, 1.0, 2.0])
def test_the_promise_for_a_crowd_holds_by_summation(crowd, local):
    kept = math.exp(local) / (1 + math.exp(local))
    promised = shuffled_epsilon(local, crowd, DELTA)
    assert exact_delta(kept, crowd - 1, promised) <= DELTA * (1 + 1e-6)


def test_the_control_a_crowd_that_is_counted_too_large_breaks_the_promise():
    kept = math.e / (1 + math.e)
    assert exact_delta(kept, 0, shuffled_epsilon(1.0, 1000, DELTA)) > 1000 * DELTA


@pytest.mark.parametrize("people", [63, 64, 100, 127, 1000, 5000])
@pytest.mark.parametrize("fraction", [0.05, 0.2, 0.7])
def test_of_two_rounds_the_smaller_crowd_counts_for_any_seed(people, fraction):
    """Partial blocks of people are not counted on: their coins decide how many of them are asked."""
    common: dict[str, Any] = {
        "protocol": "projection",
        "epsilon": 1.0,
        "domain": dpairs.Categories(list("abcd")),
    }
    for seed in range(5):
        study = dpairs.Study.create("collision_entropy", pilot_fraction=fraction, seed=seed, **common)
        protocol: Any = study.protocol
        first = asked_first(study.coins, 0, 0, people, protocol.share)
        there = min(int(first.sum()), int((~first).sum()))
        assert study.protocol.crowd(people) <= max(there, 1)
    assert people < 128 or study.protocol.crowd(people) > 1


def test_a_first_round_on_a_tree_and_pairs_set_people_apart():
    deep = dpairs.Study.create("auc", protocol="projection", epsilon=1.0, domain=dpairs.Interval(0, 1))
    assert deep.protocol.crowd(10**6) == 1
    pairs = dpairs.Study.create("auc", protocol="pairwise", epsilon=1.0, domain=dpairs.Interval(0, 1))
    assert pairs.protocol.crowd(10**6) == 1


def test_the_second_round_alone_hides_its_people_in_their_stratum():
    common: dict[str, Any] = {
        "protocol": "projection",
        "epsilon": 1.0,
        "domain": dpairs.Interval(0, 1),
        "seed": 3,
    }
    study = dpairs.Study.create("auc", pilot_fraction=0.25, **common)
    rng = np.random.default_rng(1)
    tally = dpairs.Tally(study)
    for place, stratum in enumerate(study.strata):
        protocol: Any = study.protocol
        asked = np.flatnonzero(protocol.asked(study.coins, place, 0, 640))
        symbols = rng.integers(0, of_symbols(study).symbols, asked.size)
        tally.add_reports(stratum, asked, symbols)
    second = study.next(tally).protocol
    assert second.crowd(640) == 480
    assert second.crowd(10) == 1
