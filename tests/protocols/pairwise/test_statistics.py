"""Estimates of pairs against the truth: intervals and drop-outs, over many runs.

With DPAIRS_VALIDATE=1 every interval is tried 400 times (and where it matters, 1,000 times); otherwise 40
times, and 100 times around the people who took part. The limits on coverage are those of the claim, widened
for fewer runs to what a correct 95% interval stays within except with probability FAILURE. Seeds are fixed.
People are drawn anew for each run, or put in another order, so that others meet: the pairing itself belongs
to the study.
"""

import math

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs import Study, Tally
from dpairs.protocols.pairwise.counts import PairCounts
from dpairs.protocols.pairwise.protocol import PAIRS
from dpairs.randomness import SeededRandomness

from ...against_truth import FAILURE, FULL, check, covered, limits
from ...statistics.populations import Population
from .studies import EVERY, protocol_of, study_of

RUNS = 400 if FULL else 40
MORE_RUNS = 400 if FULL else 100
PEOPLE = 4096 if FULL else 2048
PAIRINGS = [1, 2, 4] if FULL else [1, 4]
THREE = ["tau-a", "gini-mean-difference", "auc-public-half"]


def drawn_anew(study: Study, population: Population, n: int, runs: int, seed: int) -> list[dpairs.Estimate]:
    rng = np.random.default_rng(seed)
    return [dpairs.simulate(study, population.draw(rng, n), seed=run) for run in range(runs)]


# ---------------------------------------------------------------- around the population


@pytest.mark.parametrize("pairs", PAIRINGS)
@pytest.mark.parametrize("name", THREE)
def test_population_interval_covers_and_mean_is_right(name, pairs):
    """At epsilon 8, where what pairs share counts for more than the noise."""
    population = EVERY[name]
    found = drawn_anew(study_of(population, 8.0, pairs), population, PEOPLE, RUNS, seed=pairs)
    check(found, population.truth)


@pytest.mark.parametrize("name", THREE)
def test_population_interval_covers_at_little_epsilon(name):
    population = EVERY[name]
    found = drawn_anew(study_of(population, 1.0, 2), population, PEOPLE, RUNS, seed=10)
    low, high = limits(RUNS)
    assert low <= covered(found, population.truth) <= high


@pytest.mark.parametrize("pairs", [2, 4])
def test_population_interval_of_disjoint_pairs(pairs):
    population = EVERY["tau-a"]
    study = study_of(population, 8.0, pairs, matching="disjoint")
    found = drawn_anew(study, population, PEOPLE, RUNS, seed=20 + pairs)
    low, high = limits(RUNS)
    assert low <= covered(found, population.truth) <= high


def test_pairs_that_share_people_are_no_independent_pairs():
    """Negative control: without the groups' spread, the interval of eight rounds is far too short."""
    population = EVERY["auc-public-half"]
    study = study_of(population, 32.0, 8)
    alone = study_of(population, 4.0, 1)
    assert protocol_of(study).noise == protocol_of(alone).noise
    rng, hits = np.random.default_rng(5), 0
    for run in range(RUNS):
        tally = dpairs.simulate_tally(study, population.draw(rng, PEOPLE), seed=run)
        as_if = Tally(alone)
        counts = np.asarray(tally.counts(PAIRS).by_group)  # type: ignore[attr-defined]
        for group, row in enumerate(counts):
            as_if.add_reports(PAIRS, np.full(row.sum(), group), np.repeat(np.arange(row.size), row))
        low, high = as_if.estimate().confidence_interval()
        hits += low <= population.truth <= high
    assert hits / RUNS < limits(RUNS)[0]


def test_wrong_noise_is_noticed():
    """Negative control: pairs with the noise of epsilon 0.7, decoded as if it were 1, lie outside."""
    population = EVERY["tau-a"]
    claimed, used = (study_of(population, epsilon, 1, noise="response") for epsilon in (1.0, 0.7))
    rng, hits = np.random.default_rng(3), 0
    for run in range(RUNS):
        drawn = dpairs.simulate_tally(used, population.draw(rng, 10_000), seed=run)
        tally = Tally(claimed)
        symbols = np.asarray(drawn.counts(PAIRS).by_group).sum(axis=0)  # type: ignore[attr-defined]
        tally.add_symbols(PAIRS, np.repeat([0, 1], symbols))
        low, high = tally.estimate().confidence_interval()
        hits += low <= population.truth <= high
    assert hits / RUNS < 0.6


# ---------------------------------------------------------------- around the people who took part


@pytest.mark.parametrize("pairs", PAIRINGS)
@pytest.mark.parametrize(
    ("name", "n", "epsilon"),
    [
        ("tau-a", 200, 8.0),
        ("auc-public-half", 1000, 8.0),
        ("tau-a", 2048, 1.0),
        pytest.param("tau-a", 1000, 8.0, marks=pytest.mark.long),
        pytest.param("entropy", 2048, 8.0, marks=pytest.mark.long),
        pytest.param("gini-mean-difference", 4096, 8.0, marks=pytest.mark.long),
    ],
)
def test_sample_interval_never_covers_too_little(name, n, epsilon, pairs):
    """The very same people, in another order each time, so that others meet."""
    population = EVERY[name]
    study, rng = study_of(population, epsilon, pairs), np.random.default_rng(7)
    people = population.draw(rng, n)
    truth = dpairs.exact(population.statistic, people, **population.options)
    found = []
    for run in range(MORE_RUNS):
        order = rng.permutation(n)
        found.append(
            dpairs.simulate(study, {each: values[order] for each, values in people.items()}, seed=run)
        )
    assert covered(found, truth, "sample") >= limits(MORE_RUNS)[0]


def test_the_two_targets_differ_where_they_should():
    """Negative control: with many rounds the sample's interval is too short for the population."""
    population = EVERY["tau-a"]
    found = drawn_anew(study_of(population, 64.0, 8), population, PEOPLE, RUNS, seed=30)
    assert covered(found, population.truth, "sample") < 0.88
    assert all(each.sample_standard_error < each.standard_error for each in found)


def test_other_seeds_are_other_pairings():
    """Runs of one study on one population differ in all that is random about it: noise, and who meets whom.

    With next to no noise, the runs' spread is that of the pairing, and a sample interval covers as it says.
    """
    population = EVERY["tau-a"]
    study, rng = study_of(population, 16.0, 1), np.random.default_rng(8)
    people = population.draw(rng, 2000)
    found = [dpairs.simulate(study, people, seed=run) for run in range(40)]
    values = np.array([each.value for each in found])
    assert values.std() > 0.5 * np.mean([each.sample_standard_error for each in found])


# ---------------------------------------------------------------- few people


@pytest.mark.parametrize("pairs", [2, 4])
def test_one_group_falls_back_to_the_larger_bound(pairs):
    """Below 64 people there is one group and no spread: zeta_1 is taken as large as it can be."""
    population = EVERY["tau-a"]
    study = study_of(population, 8.0, pairs)
    found = drawn_anew(study, population, 40, 400, seed=40)
    values = np.array([each.value for each in found])
    assert all(each.standard_error > each.sample_standard_error for each in found)
    assert np.mean([each.standard_error for each in found]) > values.std()
    assert covered(found, population.truth) >= 0.92
    # The bound itself: variance / pairs, and P - 1 times what of it is not noise.
    protocol, rng = protocol_of(study), np.random.default_rng(1)
    tally = dpairs.simulate_tally(study, population.draw(rng, 40), seed=1)
    symbols = np.asarray(tally.counts(PAIRS).by_group).sum(axis=0)  # type: ignore[attr-defined]
    each = np.repeat(protocol.function.decode, symbols)
    noise = min(protocol.noise.variance(level) for level in (0, 1, 2))
    bound = each.var(ddof=1) + (pairs - 1) * max(each.var(ddof=1) - noise, 0)
    assert tally.estimate().standard_error == pytest.approx(math.sqrt(bound / each.size))
    assert tally.estimate().sample_standard_error == pytest.approx(math.sqrt(each.var(ddof=1) / each.size))


@pytest.mark.parametrize(
    "n", [200, pytest.param(100, marks=pytest.mark.long), pytest.param(500, marks=pytest.mark.long)]
)
@pytest.mark.parametrize("name", ["tau-a", "auc-public-half"])
def test_population_interval_of_few_groups(name, n):
    """From two groups on, their spread is known badly; the interval must not be short for that."""
    population, runs = EVERY[name], 1000
    found = drawn_anew(study_of(population, 8.0, 4), population, n, runs, seed=n)
    assert covered(found, population.truth) >= 0.92


# ---------------------------------------------------------------- drop-outs


def symbols_of(study: Study, people: dict[str, np.ndarray], seed: int):
    """All pairs of a population with their symbols, one by one."""
    protocol, bits = protocol_of(study), SeededRandomness(seed)
    names, statistic = study.statistic.private_columns, study.statistic
    coded = {
        stratum: protocol.code.encode(columns, names, bits) for stratum, columns in statistic.split(people)
    }
    groups = [coded[stratum] for stratum in statistic.strata]
    pairs = protocol.match(study.coins, {name: len(each) for name, each in coded.items()})
    x, y = groups[-1][pairs.garblers], groups[0][pairs.evaluators]
    return pairs, protocol.function.ideal(x, y, protocol.function.tape(len(pairs), bits))


def counted(study: Study, numbers: np.ndarray, symbols: np.ndarray) -> Tally:
    tally = Tally(study)
    counts = tally.counts(PAIRS)
    assert isinstance(counts, PairCounts)
    counts.add_at(numbers, numbers, symbols)
    return tally


@pytest.mark.parametrize("who", ["pairs", "people"])
@pytest.mark.parametrize("pairs", [1, 4])
@pytest.mark.parametrize("name", ["tau-a", "auc-public-half"])
def test_drop_outs_keep_the_coverage(name, pairs, who):
    """A third of the pairs did not finish, at random; or a fifth of the people never came."""
    population = EVERY[name]
    study, rng, found = study_of(population, 8.0, pairs), np.random.default_rng(50 + pairs), []
    for run in range(RUNS):
        made, symbols = symbols_of(study, population.draw(rng, PEOPLE), run)
        if who == "pairs":
            left = rng.random(len(made)) > 1 / 3
        else:
            gone = rng.random((2, PEOPLE)) < 0.2
            apart = name.startswith("auc")  # a number of each class
            left = ~(gone[0][made.garblers] | gone[int(apart)][made.evaluators])
        assert 0.5 < left.mean() < 0.8
        found.append(counted(study, made.numbers[left], symbols[left]).estimate())
    assert covered(found, population.truth) >= stats.binom.ppf(FAILURE, RUNS, 0.95) / RUNS
    assert all(each.n < 0.85 * pairs * PEOPLE / 2 for each in found)


def test_drop_outs_that_depend_on_the_outcome_are_noticed():
    """Negative control: who leaves because of the result moves the estimate out of its interval."""
    population = EVERY["tau-a"]
    study, rng, found = study_of(population, 8.0, 1), np.random.default_rng(60), []
    for run in range(RUNS):
        made, symbols = symbols_of(study, population.draw(rng, PEOPLE), run)
        left = (symbols > 0) | (rng.random(len(made)) > 1 / 2)
        found.append(counted(study, made.numbers[left], symbols[left]).estimate())
    assert covered(found, population.truth) < 0.5
