"""A site's answer, exactly: probabilities of neighbouring records differ by at most e^epsilon."""

import base64
import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import Categories, Interval, Levels, SiteAnswer, SiteTally, Study
from dpairs.protocols.sites.by_sites import SiteNumbers
from dpairs.randomness import SeededRandomness
from dpairs.sites import exact_numbers

from ...every import every
from ...mechanisms.exponential import laplace_pmf

UNIT = Interval(0, 1)
SCORES = (0.1, 0.5, 0.95)
STUDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "auc": ("auc", {"domain": UNIT, "bins": 3}),
    "private labels": ("auc", {"domain": UNIT, "bins": 2, "labels": "private"}),
    "tau": ("kendall_tau", {"domain": (Levels([0, 1]),) * 2}),
    "entropy": ("collision_entropy", {"domain": Categories(list("abc"))}),
}
VALUES: dict[str, list[dict[str, Any]]] = {
    "auc": [{"score": score, "label": label} for score in SCORES for label in (0, 1)],
    "private labels": [{"score": score, "label": label} for score in SCORES[::2] for label in (0, 1)],
    "tau": [{"x": x, "y": y} for x in (0, 1) for y in (0, 1)],
    "entropy": [{"value": value} for value in "abc"],
}
PUBLIC = {"auc": "label"}
"""What neighbours share where sizes are public."""


def both_rounds(name, epsilon, **options):
    """A first round, and a second that follows from some answers to it."""
    statistic, given = STUDIES[name]
    study = Study.create(statistic, protocol="sites", epsilon=epsilon, seed=1, **given, **options)
    if study.protocol.rounds == 1:
        return [study]
    tally = SiteTally(study)
    # Enough of them for a function that is steepest where the values are, whatever the noise.
    data = table(VALUES[name] * 4000)
    for number, site in enumerate(("a", "b")):
        tally.add(SiteAnswer.of(study, site, data, bits=SeededRandomness(number)))
    return [study, study.next(tally)]


def table(records):
    columns = {name: np.array([record[name] for record in records]) for name in records[0]}
    return {"person": np.arange(len(records)), **columns}


KNOWN: dict[tuple[str, str], SiteNumbers] = {}
"""Exact numbers of a study's records: every neighbour of theirs asks for them again."""


def numbers(study, records):
    key = study.id, repr(records)
    if key not in KNOWN:
        KNOWN[key] = fresh_numbers(study, records)
    return KNOWN[key]


def fresh_numbers(study, records):
    if records:
        return exact_numbers(study, table(records))
    names = (*study.statistic.columns, "person")
    return exact_numbers(study, {name: np.empty(0) for name in names})


def loss(studies, before, after, shrunk=1.0):
    """The largest log ratio of the probabilities of all answers, as a fraction: L1 distance over scale."""
    total = Fraction(0)
    for study in studies:
        one, other = numbers(study, before), numbers(study, after)
        if one.sizes != other.sizes:
            return math.inf
        moved = sum(int(np.abs(one.numbers[name] - other.numbers[name]).sum()) for name in study.strata)
        total += moved / (Fraction(shrunk) * study.protocol.budget.scale(study.protocol.query))
    return total


def same_class(name, one, other):
    column = PUBLIC.get(name)
    return column is None or one[column] == other[column]


@every("rounds", [1, 2])
@every("epsilon", [0.1, 1.0, 3.0])
@every("name", STUDIES)
def test_any_other_values_of_one_record_lose_at_most_epsilon(name, epsilon, rounds):
    studies = both_rounds(name, epsilon, rounds=rounds)
    worst = control = Fraction(0)
    for records in product(VALUES[name], repeat=2):
        for other in VALUES[name]:
            if same_class(name, records[0], other):
                after = (other, *records[1:])
                worst = max(worst, loss(studies, records, after))
                control = max(control, loss(studies, records, after, shrunk=0.7))
    assert worst <= Fraction(studies[0].privacy.epsilon) <= Fraction(epsilon)
    assert studies[-1].privacy.epsilon == studies[0].privacy.epsilon
    # The same noise 30% smaller breaks the claim.
    assert control > epsilon


@pytest.mark.parametrize("rounds", [1, 2])
@pytest.mark.parametrize("name", STUDIES)
def test_with_hidden_sizes_a_record_may_change_its_class_come_or_go(name, rounds):
    studies = both_rounds(name, 1.0, rounds=rounds, hide_sizes=True)
    worst = control = Fraction(0)
    for records in product(VALUES[name], repeat=2):
        others = [(other, records[1]) for other in VALUES[name]] + [records[1:], (*records, records[0])]
        for after in others:
            worst = max(worst, loss(studies, records, after))
            control = max(control, loss(studies, records, after, shrunk=0.5))
    assert worst <= Fraction(studies[0].privacy.epsilon)
    assert control > 1
    # Control: with public sizes the same neighbours are told apart for certain.
    shown = both_rounds(name, 1.0, rounds=rounds)
    assert loss(shown, VALUES[name][:2], VALUES[name][:1]) == math.inf


@pytest.mark.parametrize("hide_sizes", [False, True])
@pytest.mark.parametrize("rounds", [1, 2])
def test_all_records_of_one_person_lose_at_most_epsilon(rounds, hide_sizes):
    """Two people with up to two records each: everything about one of them changes."""
    options = {"unit": "person", "max_records_per_person": 2, "hide_sizes": hide_sizes}
    studies = both_rounds("auc", 1.0, rounds=rounds, **options)
    alone = both_rounds("auc", 1.0, rounds=rounds, hide_sizes=hide_sizes)
    other = {**VALUES["auc"][0], "person": "q"}
    worst = control = Fraction(0)
    for mine in product(VALUES["auc"], repeat=2):
        for after in product(VALUES["auc"], repeat=2):
            if not hide_sizes and any(a["label"] != b["label"] for a, b in zip(mine, after, strict=True)):
                continue
            one, two = ([other, *({**each, "person": "p"} for each in those)] for those in (mine, after))
            worst = max(worst, loss(studies, one, two))
            control = max(control, loss(alone, one, two))
        if hide_sizes:
            worst = max(worst, loss(studies, one, [other]))
    assert worst <= Fraction(studies[0].privacy.epsilon)
    # Control: noise for one record does not cover two.
    assert control > 1


def test_gaussian_noise_has_the_squared_sensitivity_of_its_unit():
    """Squared L2 distance over twice the variance parameter, added up over rounds, is at most rho."""
    studies = both_rounds("auc", 1.0, noise="gaussian", delta=1e-6, unit="person", max_records_per_person=2)
    rho = studies[0].protocol.budget.total
    worst = Fraction(0)
    for mine in product(VALUES["auc"][::2], repeat=2):
        for after in product(VALUES["auc"][::2], repeat=2):
            spent = Fraction(0)
            for study in studies:
                one, two = (
                    numbers(study, [{**each, "person": 1} for each in those]) for those in (mine, after)
                )
                square = sum(
                    int(((one.numbers[each] - two.numbers[each]) ** 2).sum()) for each in study.strata
                )
                spent += square / (2 * study.protocol.budget.scale(study.protocol.query))
            worst = max(worst, spent)
    assert worst <= rho
    # Control: half the variance breaks the claim.
    assert 2 * worst > rho


def test_a_site_with_one_record_is_as_private_as_promised():
    """The exact pmf of a whole answer: for every output the ratio of two values is at most e^epsilon."""
    (study,) = both_rounds("auc", 1.0, rounds=1)
    scale, reach = float(study.protocol.budget.scale(study.protocol.query)), 60
    pmf = laplace_pmf(scale, reach)
    one, other = (numbers(study, [{"score": score, "label": 1}]) for score in (0.1, 0.95))
    low, high = (each.numbers["positive"] for each in (one, other))
    ratio = 0.0
    for output in product(range(-4, 6), repeat=3):
        ratios = [pmf[y - a + reach] / pmf[y - b + reach] for y, a, b in zip(output, low, high, strict=True)]
        ratio = max(ratio, float(np.prod(ratios)))
    assert math.exp(1) * (1 - 1e-5) < ratio <= math.exp(1) * (1 + 1e-9)
    # Nothing else depends on the record.
    assert one.sizes == other.sizes == {"positive": 1, "negative": 0}


def test_noise_is_on_every_number_but_those_of_a_class_known_to_be_empty():
    """Each count of many draws varies as stated; a control of counts without noise is found out."""
    (study,) = both_rounds("auc", 1.0, rounds=1)
    exact = numbers(study, [{"score": 0.1, "label": 1}] * 3)
    draws = 3000
    bits = SeededRandomness(3)
    found = [study.protocol.with_noise(exact, bits) for _ in range(draws)]
    positive = np.array([each.numbers["positive"] for each in found])
    spread = positive.var(axis=0) / study.protocol.variance
    # Laplace noise: the variance of a sample's variance is 5 v^2 / draws, here 4%; five of those.
    assert np.all(np.abs(spread - 1) < 0.21)
    assert np.abs(positive.mean(axis=0) - [3, 0, 0]).max() < 5 * math.sqrt(study.protocol.variance / draws)
    assert np.abs(np.corrcoef(positive.T) - np.eye(3)).max() < 0.1
    assert not any(each.numbers["negative"].any() for each in found)
    hidden = both_rounds("auc", 1.0, rounds=1, hide_sizes=True)[0]
    noisy = [hidden.protocol.with_noise(SiteNumbers(exact.numbers), bits) for _ in range(200)]
    assert np.array([each.numbers["negative"] for each in noisy]).var(axis=0).min() > 0


def test_a_second_round_of_the_servers_choice_costs_no_more():
    """Whatever functions a server publishes, a record moves a sum by at most its known reach."""
    first, second = both_rounds("auc", 1.0)
    spec = second.protocol.to_json()
    heights = dict(spec["functions"])
    edge = b"\x00\x00\xff\xff" * 8
    for name in heights:
        heights[name] = base64.b64encode(edge[: len(base64.b64decode(heights[name]))]).decode()
    hostile = type(second.protocol).from_json(
        second.statistic,
        second.domains,
        {**spec, "functions": heights, "centres": {"positive": 0, "negative": 65535}},
    )
    study = Study(second.statistic, second.domains, hostile, 1.0, 0.0, first.seed).following(first)
    for label in (0, 1):
        for a, b in product(np.linspace(0, 1, 13), repeat=2):
            before, after = [{"score": a, "label": label}], [{"score": b, "label": label}]
            assert loss([first, study], before, after) <= Fraction(first.privacy.epsilon)


@pytest.mark.parametrize(
    "change",
    [
        {"split": 0.01},
        {"epsilon": 0.5},
        {"unit": "person", "max_records_per_person": 1},
        {"hide_sizes": True},
        {"noise": "gaussian", "delta": 1e-9},
    ],
)
def test_a_second_round_with_other_noise_is_no_second_round(change):
    first, second = both_rounds("auc", 1.0)
    spec = {**second.protocol.to_json(), **change}
    other = type(second.protocol).from_json(second.statistic, second.domains, spec)
    study = Study(second.statistic, second.domains, other, 1.0, other.delta, first.seed)
    with pytest.raises(dpairs.WrongStudy, match="is not what was agreed to"):
        study.following(first)
    assert second.following(first).first == first
