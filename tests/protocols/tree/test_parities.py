"""How many parities a report has: by the exact variances of a level that is much larger than a report."""

from typing import Any

import numpy as np
import pytest

from dpairs import Interval, Study
from dpairs.mechanisms import KaryResponse
from dpairs.protocols.projection.first_round import Projection
from dpairs.protocols.projection.pilot_tree import PilotTree
from dpairs.protocols.tree.oracle import Oracle
from dpairs.protocols.tree.parities import MAX_PARITIES, best_parities
from dpairs.randomness import WORDS

from .outcomes import counts_of

LEVEL = 12
EPSILONS = [1.1, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 8.0]
NUMBERS = range(1, MAX_PARITIES + 1)


def variances(epsilon: float, parities: int) -> tuple[float, float]:
    """Of a node that holds everybody and of an empty one, from the design of one person's report."""
    response = KaryResponse.for_epsilon(2**parities, epsilon)
    gain = WORDS / (response.boost * (2**parities - 1))
    rows = list(range(1, 2**parities))
    oracle = Oracle(counts_of(LEVEL, rows, [0] * len(rows)), gain, "others", 1, parities)
    shares = np.zeros(2**LEVEL)
    shares[0] = 1.0
    full, empty = np.eye(2, 2**LEVEL)
    return oracle.variance(full, shares, resampled=True), oracle.variance(empty, shares, resampled=True)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_one_column_takes_the_least_variance_of_the_worse_node(epsilon):
    worse = {parities: max(variances(epsilon, parities)) for parities in NUMBERS}
    assert worse[best_parities(epsilon, LEVEL)] <= min(worse.values()) * 1.01


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_several_columns_take_the_least_sum_over_one_full_node_and_empty_ones(epsilon):
    found = {parities: variances(epsilon, parities) for parities in NUMBERS}
    together = {parities: full + 63 * empty for parities, (full, empty) in found.items()}
    chosen = best_parities(epsilon, LEVEL, columns=2)
    assert together[chosen] <= min(together.values()) * 1.01
    empty = {parities: each for parities, (_, each) in found.items()}
    assert empty[chosen] <= min(empty.values()) / 0.88
    # Negative control: the number for one column would fail where both differ by two.
    if chosen - best_parities(epsilon, LEVEL) > 1:
        assert together[best_parities(epsilon, LEVEL)] > min(together.values()) * 1.2


def parities(epsilon: float, statistic: str, **options: Any) -> int:
    study = Study.create(statistic, protocol="projection", epsilon=epsilon, n=10_000, **options)
    protocol = study.protocol
    assert isinstance(protocol, Projection)
    assert isinstance(protocol.pilot, PilotTree)
    return protocol.pilot.parities


def test_a_first_round_on_two_columns_sends_more_above_epsilon_1():
    unit = Interval(0, 1)
    sent = [
        parities(epsilon, "kendall_tau", domain=(unit, unit)) for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 8.0)
    ]
    assert sent == [1, 1, 3, 4, 5, 6]


def test_a_private_label_is_no_column_over_which_people_are_spread():
    """On a domain far too wide both its nodes hold everybody."""
    sent = [parities(epsilon, "auc", domain=Interval(0, 1), labels="private") for epsilon in (2.0, 4.0)]
    assert sent == [best_parities(2.0, 17), best_parities(4.0, 17)] == [2, 3]
