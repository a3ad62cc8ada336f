"""Estimates of pairs against the truth: intervals, drop-outs, and the MSE theorem, over many runs.

With DPAIRS_VALIDATE=1 every interval is tried 400 times (and where it matters, 1,000 times); otherwise 40
times, and 100 times around the people who took part. The limits on coverage are those of the claim, widened
for fewer runs to what a correct 95% interval stays within except with probability FAILURE. Seeds are fixed.
People are drawn anew for each run, or put in another order, so that others meet: the pairing itself belongs
to the study.
"""

import math
import os
from functools import cache
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

import dpairs
from dpairs import Integers, Study, Tally
from dpairs.protocols import theory
from dpairs.protocols.pairwise.counts import PairCounts
from dpairs.protocols.pairwise.matching import match
from dpairs.protocols.pairwise.protocol import PAIRS, Pairwise
from dpairs.randomness import SeededRandomness

from ...every import every
from ...statistics.populations import Population, populations

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
RUNS = 400 if FULL else 40
MORE_RUNS = 400 if FULL else 100
PEOPLE = 4096 if FULL else 2048
FAILURE = 1e-4
EVERY = populations()
THREE = ["tau-a", "gini-mean-difference", "auc-public-half"]
ONE_SAMPLE = ["tau-a", "gini-mean-difference", "entropy"]


def limits(runs: int) -> tuple[float, float]:
    """Between 92% and 98% of 400 runs; for fewer, the matching binomial quantiles."""
    if runs >= 400:
        return 0.92, 0.98
    return stats.binom.ppf(FAILURE, runs, 0.95) / runs, 1.0


def study_of(population: Population, epsilon: float, pairs: int, **options) -> Study:
    # Levels from 0 to 11 as whole numbers: a distance instead of a table.
    gini = population.name == "gini-mean-difference"
    return Study.create(
        population.statistic,
        epsilon=epsilon,
        protocol="pairwise",
        domain=Integers(0, 11) if gini else population.domain,
        pairs=pairs,
        seed=1,
        **{**population.options, **options},
    )


def protocol_of(study: Study) -> Pairwise:
    assert isinstance(study.protocol, Pairwise)
    return study.protocol


def drawn_anew(study: Study, population: Population, n: int, runs: int, seed: int) -> list[dpairs.Estimate]:
    rng = np.random.default_rng(seed)
    return [dpairs.simulate(study, population.draw(rng, n), seed=run) for run in range(runs)]


def right_spread(errors: np.ndarray, values: np.ndarray) -> bool:
    """Whether errors are as large as stated: a spread is off by more than ``slack`` but for FAILURE."""
    slack = stats.norm.isf(FAILURE / 2) / np.sqrt(2 * (values.size - 1))
    low, high = (0.8, 1.25) if FULL else (1 - slack, 1 + slack)
    return bool(low < values.std(ddof=1) / errors.mean() < high)


def covered(found: list[dpairs.Estimate], truth: float, target: str = "population") -> float:
    intervals = [each.confidence_interval(0.95, target) for each in found]
    return float(np.mean([low <= truth <= high for low, high in intervals]))


# ---------------------------------------------------------------- around the population


@pytest.mark.parametrize("pairs", [1, 2, 4])
@pytest.mark.parametrize("name", THREE)
def test_population_interval_covers_and_mean_is_right(name, pairs):
    """At epsilon 8, where what pairs share counts for more than the noise."""
    population = EVERY[name]
    found = drawn_anew(study_of(population, 8.0, pairs), population, PEOPLE, RUNS, seed=pairs)
    low, high = limits(RUNS)
    assert low <= covered(found, population.truth) <= high
    values = np.array([each.value for each in found])
    assert abs(values.mean() - population.truth) < 4 * values.std() / np.sqrt(RUNS)
    errors = np.array([each.standard_error for each in found])
    assert right_spread(errors, values)


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


@pytest.mark.parametrize("pairs", [1, 2, 4])
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


# ---------------------------------------------------------------- the MSE theorem

MSE_RUNS = 4000 if FULL else 150
ERRATUM_RUNS = 4000 if FULL else 400
MSE_PEOPLE = 10_000 if FULL else 2048


def reach(runs: int) -> float:
    """The mean of R squares of a normal variable has a relative deviation of sqrt(2 / R): 2.2% for 4,000."""
    return 0.10 if FULL else NormalDist().inv_cdf(1 - FAILURE / 2) * math.sqrt(2 / runs)


@cache
def cells_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """The kernel's matrix and the people's shares, from 400,000 of them."""
    population = EVERY[name]
    people = population.draw(np.random.default_rng(1), 400_000)
    table = np.stack(list(people.values()), axis=1)
    cells, shares = np.unique(table, axis=0, return_counts=True)
    gap = np.sign if name == "tau-a" else np.abs
    matrix = np.prod([gap(cells[:, None, c] - cells[None, :, c]) for c in range(cells.shape[1])], axis=0)
    if name == "entropy":
        matrix = (cells[:, None, 0] == cells[None, :, 0]).astype(float)
    return matrix.astype(float), shares / shares.sum()


def noise_variance(protocol: Pairwise, matrix: np.ndarray, masses: np.ndarray) -> float:
    """Of a pair, averaged over whom it is made of; from the noise's exact probabilities."""
    kernel, noise = protocol.code.kernel, protocol.noise
    offset, step = float(kernel.offset), float(kernel.step)
    levels, places = np.unique(np.round((matrix - offset) / step).astype(np.int64), return_inverse=True)
    each = np.array([noise.variance(int(level)) for level in levels])
    return step**2 * float(masses @ each[places.reshape(matrix.shape)] @ masses)


def squared_error(study: Study, name: str, runs: int, n: int) -> tuple[float, float]:
    """The mean squared error of the mean over pairs, and by how many standard errors it is off."""
    population, protocol = EVERY[name], protocol_of(study)
    rng, bits, function = np.random.default_rng(n), SeededRandomness(9), protocol.function
    truth = math.exp(-population.truth) if name == "entropy" else population.truth
    names, values = study.statistic.private_columns, []
    pairs = protocol.match(study.coins, {"everybody": n})
    for _ in range(runs):
        people = population.draw(rng, n)
        coded = protocol.code.encode([people[each] for each in names], names, bits)
        tape = function.tape(len(pairs), bits)
        symbols = function.ideal(coded[pairs.garblers], coded[pairs.evaluators], tape)
        values.append(function.decode[symbols].mean())
    errors = np.array(values) - truth
    return float((errors**2).mean()), abs(errors.mean()) / (errors.std() / math.sqrt(runs))


@pytest.mark.parametrize("pairs", [1, 2, 4])
@pytest.mark.parametrize("name", ONE_SAMPLE)
def test_the_mse_theorem(name, pairs):
    study = study_of(EVERY[name], 8.0, pairs)
    protocol, cells = protocol_of(study), cells_of(name)
    noise = noise_variance(protocol, *cells)
    expected = theory.pairs_mse(MSE_PEOPLE, pairs, *theory.zetas(*cells), noise)
    found, deviations = squared_error(study, name, MSE_RUNS, MSE_PEOPLE)
    assert found == pytest.approx(expected, rel=reach(MSE_RUNS)), found / expected
    assert deviations < NormalDist().inv_cdf(1 - FAILURE / 2)


@pytest.mark.parametrize("pairs", [1, 2, 4])
def test_erratum_4_the_printed_noise_term_is_too_small(pairs):
    """Negative control: with 2P / (n eps^2), half of what it is, the same test fails.

    At epsilon 2 for each pair, where the noise is most of the error.
    """
    population, n, epsilon = EVERY["gini-mean-difference"], 1000, 2.0 * pairs
    study, cells = study_of(population, epsilon, pairs, noise="laplace"), cells_of(population.name)
    each, zetas = noise_variance(protocol_of(study), *cells), theory.zetas(*cells)
    printed = theory.pairs_variance(n, pairs, *zetas) + each / (pairs * n)
    found, _ = squared_error(study, population.name, ERRATUM_RUNS, n)
    right = theory.pairs_mse(n, pairs, *zetas, each)
    assert found == pytest.approx(right, rel=reach(ERRATUM_RUNS)), found / right
    assert found != pytest.approx(printed, rel=reach(ERRATUM_RUNS)), found / printed
    # The continuous Laplace noise of the theorem is what a study's noise comes to here.
    assert 2 * each / (pairs * n) == pytest.approx(
        11**2 * theory.pairs_laplace_noise(n, pairs, epsilon), rel=0.25
    )


# ---------------------------------------------------------------- which pairs


@cache
def shared(n: int, pairs: int, matching: str) -> tuple[float, float]:
    """Ordered pairs of pairs that share one person, and that share both, as shares of all."""
    study = study_of(EVERY["tau-a"], 1.0, 1)
    made = match(study.coins, {"everybody": n}, pairs, matching)
    both = np.sort(np.stack([made.garblers, made.evaluators]), axis=0)
    _, often = np.unique(both[0] * n + both[1], return_counts=True)
    twice = float((often.astype(float) ** 2).sum())
    times = np.bincount(both.reshape(-1), minlength=n).astype(float)
    # Counted by person; those that share both count twice there.
    once = float((times**2).sum()) - 2 * twice
    return once / len(made) ** 2, twice / len(made) ** 2


def blom(n: int, pairs: int, matching: str, zeta_1: float, zeta_2: float) -> float:
    """The exact variance of the mean over the pairs that a study makes: 4 / (P n)^2 (f_1 z_1 + f_2 z_2)."""
    once, twice = shared(n, pairs, matching)
    return once * zeta_1 + twice * zeta_2


@pytest.mark.parametrize("n", [2048, 4096, 20_000, 200_000])
@pytest.mark.parametrize("pairs", [1, 2, 4, 16])
@pytest.mark.parametrize(("zeta_1", "zeta_2"), [(0.0, 0.2), (0.05, 0.2), (0.1, 0.2)])
def test_the_pairs_of_a_study_have_the_theorems_variance(n, pairs, zeta_1, zeta_2):
    """For the very pairs that are made, with no simulation, to 10%."""
    found = blom(n, pairs, "permutations", zeta_1, zeta_2)
    assert found == pytest.approx(theory.pairs_variance(n, pairs, zeta_1, zeta_2), rel=0.1)


@every("n", [2048, 20_000])
@every("pairs", [1, 2, 4, 16])
@every(("zeta_1", "zeta_2"), [(0.0, 0.2), (0.05, 0.2), (0.1, 0.2)])
def test_disjoint_pairs_have_the_least_variance(n, pairs, zeta_1, zeta_2):
    """The paper's footnote: less by `pairs_excess`, exactly."""
    least = blom(n, pairs, "disjoint", zeta_1, zeta_2)
    excess = theory.pairs_excess(n, pairs, zeta_1, zeta_2)
    assert least == pytest.approx(theory.pairs_variance(n, pairs, zeta_1, zeta_2) - excess)
    assert blom(n, pairs, "permutations", zeta_1, zeta_2) >= least * (1 - 1e-12)
