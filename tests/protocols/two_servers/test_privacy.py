"""What is released, exactly: probabilities of neighbours differ by at most e^epsilon, by one server's noise.

The other server's noise is left out everywhere below, as if it were known.
"""

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from dpairs import BadParameter, Categories, Interval, Levels, NotEnoughData, Study
from dpairs.privacy.concentrated import delta_of
from dpairs.protocols.two_servers.budget import FINEST, NoiseBudget, Query
from dpairs.randomness import SeededRandomness

from ...every import every
from ...mechanisms.exponential import laplace_pmf

UNIT = Interval(0, 1)
STUDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "auc": ("auc", {"domain": UNIT, "bins": 3, "release": "value"}),
    "auc, measured": ("auc", {"domain": UNIT, "bins": 3, "n": 100_000}),
    "private labels, measured": ("auc", {"domain": UNIT, "bins": 2, "labels": "private", "n": 1_000_000}),
    "auc, no counts": ("auc", {"domain": UNIT, "bins": 3, "split": 0}),
    "auc, counts": ("auc", {"domain": UNIT, "bins": 3, "release": "counts"}),
    "private labels": ("auc", {"domain": UNIT, "bins": 2, "labels": "private"}),
    "tau": ("kendall_tau", {"domain": (Levels([0, 1]),) * 2}),
    "tau-b": ("kendall_tau", {"domain": (Levels([0, 1]),) * 2, "variant": "b"}),
    "entropy": ("collision_entropy", {"domain": Categories(list("abc"))}),
    "gini": ("gini_coefficient", {"domain": Levels([0, 1, 5])}),
}


def protocol_of(name, epsilon=1.0, **more):
    statistic, options = STUDIES[name]
    return Study.create(statistic, protocol="two_servers", epsilon=epsilon, **options, **more).protocol


def neighbours(protocol, people=3):
    """Numbers but for the noise, of all people who differ in one value."""
    cells, strata = protocol.cells, protocol.strata
    found = {}
    for values in product(range(cells), repeat=people * len(strata)):
        parts = {
            name: np.bincount(values[place * people : (place + 1) * people], minlength=cells)
            for place, name in enumerate(strata)
        }
        found[values] = protocol.totals(parts)
    for values, numbers in found.items():
        for place in range(len(values)):
            for other in range(values[place]):  # the other way round it is the same pair
                yield numbers, found[(*values[:place], other, *values[place + 1 :])]


def scales_of(protocol, sizes):
    """Of the noise of each total, and of counts where they are released."""
    queries, counts = protocol.queries(sizes)
    totals = [float(protocol.budget.scale(query)) for query in queries]
    return totals, None if counts is None else float(protocol.budget.scale(counts))


def loss(protocol, scales, one, other, shrunk=1.0):
    """The largest log ratio of the probabilities of a release: the sum over independent numbers."""
    scale_of_totals, scale_of_counts = scales
    total = sum(
        abs(a - b) / (shrunk * scale)
        for a, b, scale in zip(one.totals, other.totals, scale_of_totals, strict=True)
    )
    if scale_of_counts is not None:
        moved = sum(int(np.abs(one.counts[name] - other.counts[name]).sum()) for name in protocol.strata)
        total += moved / (shrunk * scale_of_counts)
    return total


@every("epsilon", [0.1, 1.0, 3.0])
@every("name", STUDIES)
def test_one_servers_noise_alone_keeps_the_claim_for_all_neighbours(name, epsilon):
    protocol = protocol_of(name, epsilon)
    scales = scales_of(protocol, dict.fromkeys(protocol.strata, 3))
    pairs = list(neighbours(protocol))
    losses = [loss(protocol, scales, one, other) for one, other in pairs]
    worst = max(losses)
    assert worst <= protocol.epsilon * (1 + 1e-12) <= epsilon * (1 + 1e-12)
    # The same noise 30% smaller breaks the claim wherever the worst case is reached.
    assert (len(protocol.forms) > len(protocol.own_forms)) == ("measured" in name)
    if name in ("auc, no counts", "auc, counts", "auc", "auc, measured", "entropy"):
        one, other = pairs[losses.index(worst)]
        assert loss(protocol, scales, one, other, shrunk=0.7) > epsilon


def test_the_whole_distribution_of_a_release_by_its_probabilities():
    """One total and two counts, summed over all outputs: no tail is worse than the claim."""
    protocol = protocol_of("auc", 1.0)
    sizes = dict.fromkeys(protocol.strata, 2)
    queries, counts = protocol.queries(sizes)
    reach = 60
    noise = laplace_pmf(float(protocol.budget.scale(queries[0])), reach)
    one = protocol.totals({"positive": np.array([2, 0, 0]), "negative": np.array([0, 2, 0])})
    other = protocol.totals({"positive": np.array([1, 0, 1]), "negative": np.array([0, 2, 0])})
    moved = abs(one.totals[0] - other.totals[0])
    ratio = np.abs(np.log(noise[moved:] / noise[: noise.size - moved])).max()
    cell = laplace_pmf(float(protocol.budget.scale(counts)), reach)
    per_cell = np.abs(np.log(cell[1:] / cell[:-1])).max()
    changed = int(np.abs(one.counts["positive"] - other.counts["positive"]).sum())
    assert moved > 0
    assert changed == 2
    assert ratio + changed * per_cell <= 1.0 + 1e-9


def test_gaussian_noise_keeps_its_concentrated_loss():
    """For all neighbours: the sum of squared shifts over twice the parameter stays below rho."""
    for name in STUDIES:
        protocol = protocol_of(name, 1.0, noise="gaussian", delta=1e-6)
        worst, (totals, counts) = 0.0, scales_of(protocol, dict.fromkeys(protocol.strata, 2))
        for one, other in neighbours(protocol, 2):
            shifts = zip(one.totals, other.totals, totals, strict=True)
            rho = sum((a - b) ** 2 / (2 * scale) for a, b, scale in shifts)
            if counts is not None:
                square = sum(
                    int(((one.counts[each] - other.counts[each]) ** 2).sum()) for each in protocol.strata
                )
                rho += square / (2 * counts)
            worst = max(worst, rho)
        assert worst <= float(protocol.budget.total)
        assert delta_of(worst, 1.0) <= 1e-6 < delta_of(worst / 0.49, 1.0) or worst < 0.49 * float(
            protocol.budget.total
        )


def test_second_round_and_pilot_share_the_loss():
    study = Study.create("auc", protocol="two_servers", epsilon=1.0, rounds=2, domain=UNIT, bins=4)
    pilot: Any = study.protocol
    sizes = dict.fromkeys(pilot.strata, 5)
    spent = 2 / float(pilot.budget.scale(pilot.query(sizes)))
    summed = pilot.sum_query(sizes)
    spent += summed.reach / float(pilot.budget.scale(summed))
    assert math.isclose(spent, study.privacy.epsilon, rel_tol=1e-9)
    assert pilot.epsilon < study.privacy.epsilon <= 1.0
    assert study.privacy.rounds == 2
    assert "whatever one of them does" in study.privacy.trust


def test_shares_of_a_loss_are_rounded_down():
    budget = NoiseBudget("laplace", 1.0, 0.0)
    third = Fraction(1, 3)
    assert third - Fraction(1, FINEST) < budget.loss(third) <= third
    with pytest.raises(BadParameter, match="too little"):
        budget.loss(Fraction(1, 2**40))
    assert budget.variance(Query.number(0, third)) == 0
    assert budget.draw(Query.number(0, third), SeededRandomness(1)).tolist() == [0]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"noise": "gaussian"}, "needs a delta"),
        ({"delta": 1e-9}, "has no delta"),
        ({"noise": "uniform"}, "noise must be one of"),
        ({"split": 0.95}, "split"),
        ({"release": "everything"}, "release must be one of"),
        ({"rounds": 3}, "rounds"),
        ({"bins": (3, 4)}, "one number for each"),
        ({"rounds": 2, "release": "counts"}, "for one round"),
    ],
)
def test_bad_options_are_refused(options, why):
    with pytest.raises(BadParameter, match=why):
        Study.create("auc", protocol="two_servers", epsilon=1.0, domain=UNIT, **options)


def test_nothing_is_released_of_one_person():
    protocol = protocol_of("auc")
    with pytest.raises(NotEnoughData):
        protocol.noise({"positive": 1, "negative": 50}, SeededRandomness(1))


def test_too_many_people_for_the_field_are_refused():
    protocol: Any = Study.create(
        "gini_mean_difference", protocol="two_servers", epsilon=1.0, domain=UNIT, bins=64
    ).protocol
    with pytest.raises(BadParameter, match="too many"):
        protocol.queries({"everybody": 10**9})


def test_the_claim_says_whom_it_protects_from():
    value, counts = protocol_of("auc"), protocol_of("auc, counts")
    assert "follows the protocol" in value.privacy(1.0).trust
    assert "whatever one of them does" in counts.privacy(1.0).trust
    assert any("lies about its own sums" in each for each in value.privacy(1.0).not_promised)
    assert not any("lies about its own sums" in each for each in counts.privacy(1.0).not_promised)
