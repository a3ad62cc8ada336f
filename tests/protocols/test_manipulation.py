"""What liars can do: against all replacements on small tallies, and against built attacks on large ones.

With DPAIRS_VALIDATE=1 there are 1,000 runs of 10^5 people, otherwise 40.
"""

import math
import os
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs.errors import BadParameter, NotEstimable
from dpairs.estimate import Manipulation
from dpairs.protocols.counts import DenseCounts
from dpairs.protocols.manipulation import linear, taken
from dpairs.protocols.pairwise.counts import PairCounts
from dpairs.protocols.sides import of_symbols
from dpairs.randomness import SeededRandomness
from dpairs.statistics import AUC, statistic

FULL = bool(os.environ.get("DPAIRS_VALIDATE"))
RUNS = 1000 if FULL else 40
PEOPLE = 10**5
ROUNDING = 1e-9


def replaced(counts: np.ndarray, groups: list[range], most: int) -> set[tuple[int, ...]]:
    """All counts that at most so many replacements within groups lead to."""
    seen = {tuple(counts.tolist())}
    edge = seen
    for _ in range(most):
        further = set()
        for state in edge:
            for group in groups:
                for here, there in product(group, group):
                    if here != there and state[here]:
                        moved = list(state)
                        moved[here] -= 1
                        moved[there] += 1
                        further.add(tuple(moved))
        edge = further - seen
        seen |= edge
    return seen


def answers(study: dpairs.Study, tally: dpairs.Tally, estimator: str, most: int) -> list[float]:
    """The answers after any ``most`` replacements, by brute force; infinite where there is none."""
    _protocol, strata = study.protocol, study.strata
    counts: dict[str, Any] = {stratum: tally.counts(stratum) for stratum in strata}
    joint = np.concatenate([counts[stratum].array for stratum in strata])
    groups, start, ends = [], 0, [0]
    for stratum in strata:
        size = counts[stratum].array.size
        step = counts[stratum].symbols if isinstance(counts[stratum], PairCounts) else size
        groups += [range(place, place + step) for place in range(start, start + size, step)]
        start += size
        ends.append(start)
    found = []
    for state in replaced(joint, groups, most):
        made: dict[str, Any] = {}
        for place, stratum in enumerate(strata):
            made[stratum] = study.empty_counts(stratum)
            made[stratum].array[:] = state[ends[place] : ends[place + 1]]
        try:
            found.append(of_symbols(study).estimate(made, estimator).value)
        except NotEstimable:
            found += [math.inf, -math.inf]
    return found


def unmoved(
    study: dpairs.Study, tally: dpairs.Tally, estimator: str, people: int
) -> tuple[float, Manipulation]:
    """The answer before it is moved into the statistic's range, and what liars can do to that."""
    protocol, counts = of_symbols(study), {stratum: tally.counts(stratum) for stratum in study.strata}
    return protocol.estimate(counts, estimator).value, protocol.manipulation(counts, estimator, people)


def test_taken_is_the_sum_of_the_largest():
    rng = np.random.default_rng(1)
    for _ in range(200):
        gains, counts = rng.random(6), rng.integers(0, 4, 6).astype(float)
        most = int(rng.integers(0, 12))
        every = sorted(np.repeat(gains, counts.astype(int)), reverse=True)
        assert taken(gains, counts, most) == pytest.approx(sum(every[:most]))


@pytest.mark.parametrize("most", [0, 1, 2, 3])
def test_linear_equals_brute_force(most):
    rng = np.random.default_rng(most)
    for _ in range(20):
        weights = rng.normal(size=5)
        counts = rng.integers(0, 3, 5)
        groups = [range(0, 2), range(2, 5)]
        values = [float(weights @ state) for state in map(np.array, replaced(counts, groups, most))]
        now = float(weights @ counts)
        reach = linear([(weights[list(each)], counts[list(each)].astype(float)) for each in groups], most)
        assert now + reach.up == pytest.approx(max(values))
        assert now - reach.down == pytest.approx(min(values))


def filled(study: dpairs.Study, people: int, seed: int) -> dpairs.Tally:
    """A tally of so many random reports of each stratum, of those who are asked."""
    rng = np.random.default_rng(seed)
    tally = dpairs.Tally(study)
    protocol: Any = study.protocol
    for place, stratum in enumerate(study.strata):
        asked = protocol.asked(study.coins, place, 0, 64 * people)
        indices = np.arange(people) if asked is None else np.flatnonzero(asked)[:people]
        tally.add_reports(stratum, indices, rng.integers(0, protocol.symbols, people))
    return tally


def second_round(statistic: Any, domain: Any, seed: int, **options: Any) -> dpairs.Study:
    for attempt in range(50):
        first = dpairs.Study.create(
            statistic, protocol="projection", epsilon=1.0, domain=domain, seed=seed + 100 * attempt, **options
        )
        try:
            return first.next(filled(first, 60, seed + attempt))
        except NotEstimable:
            continue
    raise AssertionError("no pilot")


SIX = dpairs.Levels([0, 1, 2, 3, 4, 5])
EXACT = {
    "auc": ("auc", dpairs.Interval(0, 1), {"bins": 8}),
    "gini mean difference": ("gini_mean_difference", dpairs.Interval(0, 1), {"bins": 8}),
    "tau": ("kendall_tau", (SIX, SIX), {}),  # 24 symbols: 221,537 ways to replace four of seven
    "tau of eight symbols": ("kendall_tau", (SIX, dpairs.Levels([0, 1, 2])), {}),
    "entropy": ("collision_entropy", dpairs.Categories(list("abc")), {}),
    "gini coefficient": ("gini_coefficient", dpairs.Levels([1, 2, 3]), {}),
    "mann whitney": ("mann_whitney", SIX, {}),
}


@pytest.mark.parametrize(
    ("kind", "most"), [(kind, most) for kind in EXACT for most in ((1, 2) if kind == "tau" else (1, 2, 4))]
)
def test_a_second_round_alone_is_exact(kind, most):
    statistic, domain, options = EXACT[kind]
    study = second_round(statistic, domain, 3, **options)
    assert of_symbols(study).symbols == {"tau": 24, "tau of eight symbols": 8}.get(kind, 2)
    tally = filled(study, 7, seed=most)
    value, found = unmoved(study, tally, "second-round", most)
    all_answers = answers(study, tally, "second-round", most)
    assert found.exact
    assert value + found.up == pytest.approx(max(all_answers), abs=ROUNDING)
    assert value - found.down == pytest.approx(min(all_answers), abs=ROUNDING)
    assert found.change > 0


@pytest.mark.parametrize("most", [1, 3])
@pytest.mark.parametrize("kind", ["tau", "entropy", "gini coefficient", "mann whitney"])
def test_with_the_first_round_mixed_in_it_is_a_bound(kind, most):
    statistic, domain, options = EXACT[kind]
    study = second_round(statistic, domain, 5, pilot="histogram", **options)
    assert study.protocol.analysis.alone is not None  # type: ignore[attr-defined]
    tally = filled(study, 7, seed=most)
    value, found = unmoved(study, tally, "combined", most)
    all_answers = answers(study, tally, "combined", most)
    assert not found.exact
    assert value + found.up >= max(all_answers) - ROUNDING
    assert value - found.down <= min(all_answers) + ROUNDING
    assert found.change <= 3 * max(max(all_answers) - value, value - min(all_answers))


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("statistic", ["collision_entropy", "kendall_tau", "gini_mean_difference"])
def test_pairs_are_exact(statistic, most):
    domain = (dpairs.Levels([0, 1]),) * 2 if statistic == "kendall_tau" else dpairs.Levels([0, 1, 2])
    given: Any = domain
    study = dpairs.Study.create(statistic, protocol="pairwise", epsilon=2.0, domain=given, noise="response")
    tally = dpairs.Tally(study)
    rng = np.random.default_rng(0)
    tally.add_symbols("pairs", rng.permutation(np.arange(12) % of_symbols(study).symbols))
    value, found = unmoved(study, tally, "mean", most)
    all_answers = answers(study, tally, "mean", most)
    assert (found.exact, found.reports) == (True, most)
    assert value + found.up == pytest.approx(max(all_answers), abs=ROUNDING)
    assert value - found.down == pytest.approx(min(all_answers), abs=ROUNDING)


def test_a_liar_in_several_pairs_spoils_all_of_them():
    domain = dpairs.Interval(0, 1)
    study = dpairs.Study.create("auc", protocol="pairwise", epsilon=2.0, domain=domain, pairs=4)
    tally = dpairs.Tally(study)
    tally.add_symbols("pairs", np.arange(400) % of_symbols(study).symbols)
    estimate = tally.estimate()
    assert estimate.manipulation(people=3).reports == 12
    assert estimate.manipulation(share=0.5).reports == 400, "half of 200 people are in all of 400 pairs"


def test_pairs_that_share_people_are_a_bound():
    """Four people in two pairs each: no one of them is in both of the two pairs that count most."""
    domain = dpairs.Levels([0, 1, 2])
    study = dpairs.Study.create(
        "gini_mean_difference", protocol="pairwise", epsilon=2.0, domain=domain, pairs=2, matching="disjoint"
    )
    protocol: Any = study.protocol
    pairs = protocol.match(study.coins, {"everybody": 4})
    meets = list(zip(pairs.garblers.tolist(), pairs.evaluators.tolist(), strict=True))
    apart = next(other for other in range(1, 4) if not set(meets[0]) & set(meets[other]))
    symbols = np.full(4, int(protocol.function.decode.argmax()))
    symbols[[0, apart]] = int(protocol.function.decode.argmin())
    tally = dpairs.Tally(study)
    tally.add_reports("pairs", pairs.numbers, symbols)
    value, found = unmoved(study, tally, "mean", 1)
    reached = []
    for liar in range(4):
        false = symbols.copy()
        false[[liar in both for both in meets]] = int(protocol.function.decode.argmax())
        other = dpairs.Tally(study)
        other.add_reports("pairs", pairs.numbers, false)
        reached.append(unmoved(study, other, "mean", 1)[0] - value)
    assert max(reached) < 0.6 * found.up
    assert not found.exact


def test_what_liars_can_do_to_an_estimate_ends_at_its_range():
    study = second_round("auc", dpairs.Interval(0, 1), 3, bins=8)
    moved = 0
    for seed in range(8):
        tally = filled(study, 7, seed)
        estimate, (value, found) = tally.estimate("second-round"), unmoved(study, tally, "second-round", 2)
        ends = [min(max(end, 0.0), 1.0) for end in (value - found.down, value + found.up)]
        seen = estimate.manipulation(people=2)
        assert [estimate.value - seen.down, estimate.value + seen.up] == pytest.approx(ends, abs=ROUNDING)
        moved += found.change > seen.change
    assert moved, "some answer would leave the range"


HISTOGRAMS: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "auc": ("auc", dpairs.Levels([0, 1, 2]), {}),
    "auc krr": ("auc", dpairs.Levels([0, 1, 2]), {"mechanism": "krr"}),
    "entropy": ("collision_entropy", dpairs.Categories(list("abc")), {"mechanism": "krr"}),
    "gini coefficient": ("gini_coefficient", dpairs.Levels([5, 6]), {"mechanism": "krr"}),
    "variance": ("variance", dpairs.Levels([0, 1, 3]), {"mechanism": "krr"}),
    "tau b": (statistic("kendall_tau", variant="b"), (dpairs.Levels([0, 1]),) * 2, {"mechanism": "krr"}),
    "private labels": (AUC(labels="private"), dpairs.Levels([0, 1]), {"mechanism": "krr"}),
}


@pytest.mark.parametrize("most", [1, 2])
@pytest.mark.parametrize("kind", HISTOGRAMS)
def test_a_histogram_is_bounded(kind, most):
    statistic, domain, options = HISTOGRAMS[kind]
    study = dpairs.Study.create(statistic, protocol="histogram", epsilon=4.0, domain=domain, **options)
    for seed in range(40 if FULL or most == 1 else 15):
        tally = filled(study, 9, seed)
        try:
            value, found = unmoved(study, tally, "paper", most)
        except NotEstimable:
            continue
        all_answers = answers(study, tally, "paper", most)
        assert not found.exact
        # Liars can also cause a refusal: an answer less, and none that is moved.
        given = [each for each in all_answers if math.isfinite(each)]
        assert value + found.up >= max(given) - ROUNDING
        assert value - found.down <= min(given) + ROUNDING
        if study.statistic.form_count == 1 and math.isfinite(found.change):
            furthest = max(max(all_answers) - value, value - min(all_answers))
            assert found.change <= 2.5 * furthest, "the bound is not idle"


def honest_counts(study: dpairs.Study, sizes: dict[str, int], seed: int) -> dict[str, DenseCounts]:
    """Counts of honest reports of people whose function lies evenly between its ends."""
    rng = np.random.default_rng(seed)
    protocol: Any = study.protocol
    chances = np.mean(
        [[float(p) for p in protocol.mechanism.pmf(value)] for value in np.linspace(0, 1, 21)], axis=0
    )
    made = {}
    for stratum, people in sizes.items():
        made[stratum] = DenseCounts(protocol.symbols)
        made[stratum].array[:] = rng.multinomial(people, chances / chances.sum())
    return made


def attacks(
    protocol: Any, counts: dict[str, DenseCounts], liars: int, seed: int
) -> Iterator[tuple[str, dict[str, DenseCounts]]]:
    """Counts after attacks: the two that are built to be worst, and some that are not."""
    rng = np.random.default_rng(seed)
    decode = protocol.mechanism.decode
    extents = {name: high - low for name, (low, high) in protocol.analysis.ranges.items()}
    for direction in (1, -1):
        made = {name: DenseCounts(protocol.symbols) for name in counts}
        moves = []
        for name, each in counts.items():
            made[name].array[:] = each.array
            weights = direction * extents[name] * decode / each.people
            moves += [
                (weights.max() - weights[y], name, y, int(weights.argmax())) for y in range(decode.size)
            ]
        left = liars
        for _, name, symbol, best in sorted(moves, reverse=True):
            some = min(left, int(counts[name].array[symbol]))
            made[name].array[symbol] -= some
            made[name].array[best] += some
            left -= some
        yield "worst", made
    for _ in range(2):
        made = {name: DenseCounts(protocol.symbols) for name in counts}
        share = int(rng.integers(0, liars + 1))
        for (name, each), some in zip(counts.items(), (share, liars - share), strict=True):
            gone = rng.multivariate_hypergeometric(each.array, some)
            made[name].array[:] = each.array - gone
            made[name].array[rng.integers(decode.size)] += some
        yield "any", made


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 5.0])
def test_a_hundredth_of_many_people_reaches_the_band_and_never_leaves_it(epsilon):
    first = dpairs.Study.create("auc", protocol="projection", epsilon=epsilon, domain=SIX, seed=1, n=PEOPLE)
    rng = np.random.default_rng(1)
    data = {"score": np.minimum(rng.poisson(2, PEOPLE), 5), "label": rng.integers(0, 2, PEOPLE)}
    pilot = dpairs.Tally(first)
    protocol: Any = first.protocol
    for place, (stratum, columns) in enumerate(
        (name, data["score"][data["label"] == 1 - place]) for place, name in enumerate(first.strata)
    ):
        asked = np.flatnonzero(protocol.asked(first.coins, place, 0, columns.size))
        symbols = protocol.randomize(first.coins, place, 0, (columns[asked],), SeededRandomness(place))
        pilot.add_reports(stratum, asked, symbols)
    study = first.next(pilot)
    second: Any = study.protocol
    sizes = {stratum: (45_000, 40_000)[place] for place, stratum in enumerate(study.strata)}
    liars = sum(sizes.values()) // 100
    outside_half = 0
    for run in range(RUNS):
        counts = honest_counts(study, sizes, run)
        value = second.estimate(counts, "second-round").value
        band = second.manipulation(counts, "second-round", liars)
        for kind, made in attacks(second, counts, liars, run):
            moved = second.estimate(made, "second-round").value - value
            assert -band.down - ROUNDING <= moved <= band.up + ROUNDING
            if kind == "worst":
                assert abs(moved) >= 0.9 * (band.up if moved > 0 else band.down)
                outside_half += abs(moved) > 0.5 * band.change
    # The negative control: a band of half the width is left by every worst attack.
    assert outside_half == 2 * RUNS


def test_tallies_that_grow_are_estimated_again():
    study = dpairs.Study.create(
        "collision_entropy", epsilon=2.0, domain=dpairs.Categories(list("ab")), seed=1
    )
    tally = filled(study, 50, 1)
    estimate = tally.estimate()
    assert estimate.manipulation(people=1).people == 1
    tally.add_symbols("everybody", np.array([0]))
    with pytest.raises(BadParameter, match="estimate it again"):
        estimate.manipulation(people=1)


@pytest.mark.parametrize(
    "asked", [{}, {"people": 1, "share": 0.1}, {"people": -1}, {"people": 51}, {"share": 2}]
)
def test_wrong_questions_are_refused(asked):
    study = dpairs.Study.create(
        "collision_entropy", epsilon=2.0, domain=dpairs.Categories(list("ab")), seed=1
    )
    with pytest.raises(BadParameter):
        filled(study, 50, 1).estimate().manipulation(**asked)


def test_more_liars_do_more_and_nobody_does_nothing():
    study = dpairs.Study.create("auc", protocol="histogram", epsilon=1.0, domain=SIX, seed=1)
    estimate = filled(study, 500, 2).estimate()
    changes = [estimate.manipulation(people=people).change for people in (0, 1, 2, 10, 100)]
    assert changes[0] == 0
    assert changes == sorted(set(changes))
    assert estimate.to_json()["manipulation"]["change"] == estimate.manipulation(share=0.01).change
    assert "If 1% of participants (10) lie, this answer moves by at most" in estimate.notes()[-1]


def test_the_multiplier_is_that_of_randomized_response():
    study = dpairs.Study.create("auc", epsilon=1.0, domain=dpairs.Levels([0, 1]), mechanism="krr", seed=1)
    found = filled(study, 500, 2).estimate().manipulation(share=0.01)
    assert found.multiplier == pytest.approx((math.e + 1) / (math.e - 1), rel=1e-6)
