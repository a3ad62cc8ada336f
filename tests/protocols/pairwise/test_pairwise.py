"""The `pairwise` protocol: what a pair computes and costs, its files, and real pairs against ideal ones."""

import itertools
import json
import os
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
    Integers,
    Interval,
    Kernel,
    Levels,
    NotAsked,
    Participant,
    Report,
    Study,
    Tally,
    WrongStudy,
)
from dpairs.formats.canonical import canonical, digest
from dpairs.garbled.batch import real
from dpairs.protocols.pairwise.counts import PairCounts
from dpairs.protocols.pairwise.matching import GROUPS
from dpairs.protocols.pairwise.protocol import PAIRS, Pairwise
from dpairs.randomness import SeededRandomness
from dpairs.simulate import simulate_tally

from ...every import every
from .pairs import exchange, symbol_of

FILE = Path(os.environ.get("DPAIRS_DATA", "")) / "tripadvisor_ratings.csv.gz"
GAPS = Levels([-1, 0, 0.5, 10])
MOODS = Categories(["", "good", "bad", "über"])


def pairwise(statistic: Any, domain: Any = None, **options: Any) -> Study:
    return Study.create(
        statistic, **{"epsilon": 2.0, "protocol": "pairwise", "domain": domain, "seed": 1, **options}
    )


def protocol_of(study: Study) -> Pairwise:
    assert isinstance(study.protocol, Pairwise)
    return study.protocol


def one_sentence(error: BaseException) -> str:
    said = str(error)
    assert said
    assert "\n" not in said
    assert ". " not in said
    assert not said.endswith(".")
    return said


# ---------------------------------------------------------------- what a pair computes


def near(a: Any, b: Any) -> Any:
    return np.minimum(np.abs(a - b), 0.5)


def both_equal(a: Any, b: Any) -> Any:
    return 1.0 * (a[0] == b[0]) * (a[1] == b[1])


def same_side(a: Any, b: Any) -> Any:
    one, other = (a[0], b[0]) if isinstance(a, tuple) else (a, b)
    return 1.0 * ((one < 0.5) == (other < 0.5))


def sign(a: float, b: float) -> int:
    return (a > b) - (a < b)


KERNELS: dict[str, tuple[Study, tuple[list[Any], ...], Any]] = {
    # A study, the values of each column, and the kernel of the evaluator's and the garbler's values.
    "auc-half": (
        pairwise("auc", Integers(0, 9)),
        ([0, 1, 5, 9],),
        lambda a, b: 0.5 * (a[0] == b[0]) + (a[0] > b[0]),
    ),
    "auc-zero": (
        pairwise("auc", Levels([1, 3, 7]), ties="zero"),
        ([1, 3, 7],),
        lambda a, b: float(a[0] > b[0]),
    ),
    "auc-interval": (
        pairwise("auc", Interval(-3, 5), bits=64),
        ([-3, 5, 0.1, 0.1 + 1e-15, -2.999],),
        lambda a, b: 0.5 * (a[0] == b[0]) + (a[0] > b[0]),
    ),
    "kendall": (
        pairwise("kendall_tau", (Levels([1, 2, 9]), Integers(-1, 1))),
        ([1, 2, 9], [-1, 0, 1]),
        lambda a, b: sign(a[0], b[0]) * sign(a[1], b[1]),
    ),
    "gini-interval": (
        pairwise("gini_mean_difference", Interval(10, 20), bits=32),
        ([10, 12.5, 13.75, 20],),
        lambda a, b: abs(a[0] - b[0]),
    ),
    "gini-integers": (
        pairwise("gini_mean_difference", Integers(-50, 70)),
        ([-50, 0, 1, 70],),
        lambda a, b: abs(a[0] - b[0]),
    ),
    "variance-interval": (
        pairwise("variance", Interval(-1, 1), bits=20),
        ([-1, 0.25, 1],),
        lambda a, b: (a[0] - b[0]) ** 2 / 2,
    ),
    "variance-integers": (
        pairwise("variance", Integers(0, 255)),
        ([0, 3, 100, 255],),
        lambda a, b: (a[0] - b[0]) ** 2 / 2,
    ),
    "collision": (
        pairwise("collision_entropy", MOODS),
        (["", "good", "bad", "über"],),
        lambda a, b: float(a[0] == b[0]),
    ),
    "collision-integers": (
        pairwise("collision_entropy", Integers(0, 2**32 - 1)),
        ([0, 1, 2**31, 2**32 - 1],),
        lambda a, b: float(a[0] == b[0]),
    ),
    "custom-levels": (
        pairwise(Kernel(near, range=(0, 0.5), domain=Levels([0, 0.25, 1]))),
        ([0, 0.25, 1],),
        lambda a, b: min(abs(a[0] - b[0]), 0.5),
    ),
    "custom-two-columns": (
        pairwise(Kernel(both_equal, range=(0, 1), domain=(Levels([1, 2]), Integers(0, 3)))),
        ([1, 2], [0, 1, 2, 3]),
        lambda a, b: float(a == b),
    ),
}
LISTED: dict[str, tuple[Study, tuple[list[Any], ...], Any]] = {
    # Numbers with gaps go through a table, whose entries are what they are.
    "gini-levels": (
        pairwise("gini_mean_difference", GAPS),
        (list(GAPS.values),),
        lambda a, b: abs(a[0] - b[0]),
    ),
    "gini-far-levels": (
        pairwise("gini_mean_difference", Levels([0, 1, 1_000_000])),
        ([0, 1, 1_000_000],),
        lambda a, b: abs(a[0] - b[0]),
    ),
    "variance-levels": (
        pairwise("variance", GAPS),
        (list(GAPS.values),),
        lambda a, b: (a[0] - b[0]) ** 2 / 2,
    ),
}


def decoded(study: Study, a: tuple[Any, ...], b: tuple[Any, ...]) -> float:
    """The mean of what the collector decodes when a evaluates and b garbles: over the kernel's own coins and
    the noise's exact probabilities."""
    protocol = protocol_of(study)
    names, kernel = study.statistic.private_columns, protocol.code.kernel
    y, x = (protocol.code.encode([[value] for value in side], names, SeededRandomness(1)) for side in (a, b))
    means = []
    for random_bits in itertools.product([0, 1], repeat=kernel.random_bits):
        level = int(kernel.plain(x, y, np.array(random_bits, dtype=np.uint8).reshape(-1, 1))[0])
        chances = [float(chance) for chance in protocol.noise.pmf(level)]
        means.append(float(np.dot(chances, protocol.function.decode)))
    return float(np.mean(means))


@pytest.mark.parametrize("name", [*KERNELS, *LISTED])
def test_decoded_kernels_are_the_statistics_kernels(name):
    """Up to the code's steps on an interval, and half a step of a table."""
    study, columns, kernel = {**KERNELS, **LISTED}[name]
    people = list(itertools.product(*columns))
    low, high = study.statistic.range(study.domains)
    coarse = 2.0**-11 if name in LISTED else protocol_of(study).code.coarseness
    for a, b in itertools.product(people, repeat=2):
        found = decoded(study, a, b)
        assert found == pytest.approx(kernel(a, b), abs=(coarse + 1e-6) * max(1.0, high - low)), (a, b)


@pytest.mark.parametrize("name", LISTED)
def test_what_a_table_rounds_is_said(name):
    """Entries of a table are rounded; an estimate must say by how much, as it does for bins."""
    study, columns, kernel = LISTED[name]
    people = list(itertools.product(*columns))
    off = max(abs(decoded(study, a, b) - kernel(a, b)) for a, b in itertools.product(people, repeat=2))
    tally = Tally(study)
    tally.add_symbols(PAIRS, np.arange(10) % 2)
    bound = tally.estimate().quantization.bound
    assert bound is not None
    assert off <= bound + 1e-9 * kernel(*(tuple(max(column) for column in columns), people[0]))


def test_coarse_codes_stay_within_the_bound_that_is_said():
    for statistic in ("gini_mean_difference", "variance"):
        study = pairwise(statistic, Interval(0, 10), bits=4)
        tally = Tally(study)
        tally.add_symbols(PAIRS, np.arange(10) % 2)
        bound = tally.estimate().quantization.bound
        assert bound is not None
        grid = np.linspace(0, 10, 37).tolist()
        kernel = KERNELS["gini-interval" if statistic.startswith("gini") else "variance-interval"][2]
        off = [abs(decoded(study, (a,), (b,)) - kernel((a,), (b,))) for a in grid for b in grid]
        assert 0.2 * bound < max(off) <= bound * (1 + 1e-9)


def test_a_wrong_kernel_is_noticed():
    """Negative control: the same comparison rejects ties that count zero where half was meant."""
    study, _, kernel = KERNELS["auc-half"]
    assert decoded(study, (5,), (5,)) == pytest.approx(0.5)
    wrong = pairwise("auc", Integers(0, 9), ties="zero")
    assert abs(decoded(wrong, (5,), (5,)) - kernel((5,), (5,))) > 0.4


@pytest.mark.parametrize(
    ("domain", "cells"),
    [
        (Interval(0, 1), 64),
        (Integers(0, 9), 10),
        (Integers(0, 999), 64),
        ((Interval(0, 1), Interval(0, 1)), 64),
        ((Levels(range(5)), Interval(0, 1)), 60),
        ((Levels(range(5)), Integers(0, 1)), 10),
    ],
)
def test_custom_kernels_are_cut_into_as_many_bins_as_fit(domain, cells):
    study = pairwise(Kernel(same_side, range=(0, 1), domain=domain))
    found = protocol_of(study).code.cells
    assert found is not None
    assert found.cells == cells
    assert Study.from_json(study.to_json()) == study


@pytest.mark.parametrize(
    "domain",
    [(Integers(0, 2), Interval(0, 1)), (Integers(0, 15), Integers(0, 3)), (Interval(0, 1), Integers(0, 1))],
)
def test_custom_kernels_of_two_columns_of_different_sizes(domain):
    """A few whole numbers beside an interval: each column has its own number of bins."""
    study = pairwise(Kernel(same_side, range=(0, 1), domain=domain))
    found = protocol_of(study).code.cells
    assert found is not None
    assert 2 <= found.cells <= 64
    assert Study.from_json(study.to_json()) == study


# ---------------------------------------------------------------- what is refused

TWO = (Levels([1, 2]), Levels([1, 2]))
REFUSED: dict[str, tuple[Any, Any, dict[str, Any], str]] = {
    "tau-b": ("kendall_tau", TWO, {"variant": "b"}, "mean of one kernel, which kendall_tau"),
    "gini coefficient": ("gini_coefficient", Integers(0, 9), {}, "mean of one kernel"),
    "private labels": ("auc", Interval(0, 1), {"labels": "private"}, "mean of one kernel"),
    "mann-whitney": ("mann_whitney", Interval(0, 1), {}, "mean of one kernel, which mann_whitney"),
    "vus": ("vus", Interval(0, 1), {}, "mean of one kernel, which vus"),
    "splitting": ("auc", Interval(0, 1), {"splitting": "users"}, "no option 'splitting'"),
    "answer": ("auc", Interval(0, 1), {"answer": "one-bit"}, "no option 'answer'"),
    "rows": ("auc", Interval(0, 1), {"rows": "all"}, "no option 'rows'"),
    "delta of one pair": (
        "auc",
        Interval(0, 1),
        {"delta": 1e-6},
        "delta must be a whole number from 2 to 64",
    ),
    "delta of 1": ("auc", Interval(0, 1), {"delta": 1, "pairs": 2}, "delta"),
    "delta below 0": ("auc", Interval(0, 1), {"delta": -1e-6, "pairs": 2}, "delta"),
    "mechanism": ("auc", Interval(0, 1), {"mechanism": "krr"}, "no option 'mechanism'"),
    "65 levels": ("variance", Levels(range(65)), {}, "at most 64 cells, not 65"),
    "65 cells of a kernel": (
        Kernel(near, range=(0, 0.5), domain=Levels(range(65))),
        None,
        {},
        "at most 64 cells, not 65",
    ),
    "no room for bins": (
        Kernel(both_equal, range=(0, 1), domain=(Levels(range(40)), Interval(0, 1))),
        None,
        {},
        "bins",
    ),
    "bins": ("auc", Interval(0, 1), {"bins": 8}, "only a custom kernel has bins"),
    "constant kernel": (
        Kernel(lambda a, b: 1 + 0 * (a + b), range=(0, 1), domain=Levels([1, 2])),
        None,
        {},
        "all the same",
    ),
    "no pairs": ("auc", Interval(0, 1), {"pairs": 0}, "pairs must be a whole number from 1 to 64"),
    "65 pairs": ("auc", Interval(0, 1), {"pairs": 65}, "pairs must be a whole number from 1 to 64"),
    "pairs of a half": ("auc", Interval(0, 1), {"pairs": 1.5}, "pairs must be a whole number"),
    "no bits": ("auc", Interval(0, 1), {"bits": 0}, "bits must be a whole number from 1 to 64"),
    "65 bits": ("auc", Interval(0, 1), {"bits": 65}, "bits must be a whole number from 1 to 64"),
    "too few bits": ("auc", Integers(0, 256), {"bits": 8}, "257 values, which 8 bits cannot tell apart"),
    "squares of 66 bits": ("variance", Interval(0, 1), {"bits": 33}, "largest"),
    "unknown noise": ("auc", Interval(0, 1), {"noise": "gauss"}, "noise must be one of"),
    "kary of many levels": ("gini_mean_difference", Interval(0, 1), {"noise": "kary"}, "noise top"),
    "too little epsilon": ("auc", Interval(0, 1), {"epsilon": 1e-6, "noise": "response"}, "too small"),
    "too many pairs for epsilon": (
        "auc",
        Interval(0, 1),
        {"epsilon": 1e-3, "pairs": 64, "noise": "response"},
        "too small",
    ),
    "unknown matching": ("variance", Interval(0, 1), {"matching": "friends"}, "matching must be one of"),
    "classes without classes": ("variance", Interval(0, 1), {"matching": "classes"}, "'disjoint', 'permut"),
    "disjoint classes": (
        "auc",
        Interval(0, 1),
        {"matching": "disjoint"},
        "matching must be one of 'classes'",
    ),
    "words": ("variance", Categories(["a", "b"]), {}, "numbers"),
    "one domain of two": ("kendall_tau", Levels([1, 2]), {}, "was given 1"),
}


@every("name", REFUSED)
def test_studies_that_pairs_cannot_do(name):
    statistic, domain, options, said = REFUSED[name]
    with pytest.raises(BadParameter, match=said) as raised:
        pairwise(statistic, domain, **options)
    one_sentence(raised.value)


def test_crypto_is_for_pairs_only():
    study = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=4, seed=1)
    people = {"score": np.linspace(0, 1, 10), "label": np.arange(10) % 2}
    with pytest.raises(BadParameter, match="crypto is for studies of pairs"):
        dpairs.simulate(study, people, seed=1, crypto="ideal")
    with pytest.raises(BadParameter, match="crypto must be one of 'ideal', 'real'"):
        dpairs.simulate(KERNELS["auc-interval"][0], people, seed=1, crypto="fake")


@pytest.mark.parametrize("value", [np.nan, 1.5, -0.1])
def test_a_bad_row_is_named(value):
    study = pairwise("gini_mean_difference", Interval(0, 1))
    column = np.array([0.1, 0.2, value, 0.3], dtype=object)
    with pytest.raises(BadValue, match="row 2"):
        dpairs.simulate(study, {"value": column}, seed=1)


# ---------------------------------------------------------------- epsilon

TOPS = {
    "auc": ("auc", Interval(0, 1), ("response", "laplace")),
    "kendall": ("kendall_tau", TWO, ("response", "kary", "laplace")),
    "gini": ("gini_mean_difference", Interval(0, 1), ("response", "laplace")),
    "variance": ("variance", Integers(0, 2), ("response", "kary", "laplace")),
}
EPSILONS = [0.1, 0.35, 0.7, 1.0, 1.7, 2.0, 3.3, 5.0, 7.3, 7.9, 8.0]


@pytest.mark.parametrize("pairs", [1, 2, 3, 4])
@pytest.mark.parametrize("name", TOPS)
def test_epsilon_is_that_of_all_pairs_and_hardly_below_what_was_asked(name, pairs):
    statistic, domain, noises = TOPS[name]
    for epsilon, noise in itertools.product(EPSILONS, noises):
        study = pairwise(statistic, domain, epsilon=epsilon, pairs=pairs, noise=noise)
        made = protocol_of(study).noise
        assert made.name == noise
        assert study.privacy.epsilon == pairs * made.epsilon <= epsilon
        assert study.privacy.epsilon_asked == epsilon
        if noise != "kary":
            assert study.privacy.epsilon >= 0.99 * epsilon, (epsilon, noise)


@pytest.mark.parametrize("name", TOPS)
def test_epsilon_is_the_largest_ratio_of_a_pairs_probabilities(name):
    """The claim against the exact distribution, at every level where there are few."""
    statistic, domain, noises = TOPS[name]
    for noise in noises:
        protocol = protocol_of(pairwise(statistic, domain, epsilon=1.5, pairs=3, noise=noise))
        top = protocol.code.kernel.top
        levels = range(top + 1) if top < 10 else (0, 1, top // 2, top - 1, top)
        chances = [protocol.noise.pmf(level) for level in levels]
        ratio = max(a / b for column in zip(*chances, strict=True) for a in column for b in column)
        assert protocol.epsilon >= 3 * np.log(float(ratio)) * (1 - 1e-12)
        assert protocol.epsilon == pytest.approx(3 * np.log(float(ratio)), rel=1e-9)


def test_without_a_name_the_noise_of_least_variance_is_taken():
    for statistic, domain, noises in TOPS.values():
        for epsilon in (0.5, 2.0, 8.0):
            best = protocol_of(pairwise(statistic, domain, epsilon=epsilon, pairs=2))
            top = best.code.kernel.top

            def worst(protocol: Pairwise, top: int = top) -> float:
                return max(protocol.noise.variance(level) for level in (0, top // 2, top))

            others = [
                protocol_of(pairwise(statistic, domain, epsilon=epsilon, pairs=2, noise=n)) for n in noises
            ]
            assert worst(best) == min(map(worst, others))


def test_the_privacy_claim_is_computational():
    claim = pairwise("auc", Interval(0, 1), pairs=3).privacy
    assert claim.kind == "computational"
    assert claim.delta == 0
    assert "collude" in claim.trust
    assert "computational differential privacy for any change of one person's score" in str(claim)
    assert "times 3 pair(s)" in claim.theorem


# ---------------------------------------------------------------- real and ideal pairs


def people_for(study: Study, n: int, seed: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    made: dict[str, np.ndarray] = {}
    for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True):
        if isinstance(domain, Interval):
            made[name] = rng.uniform(domain.low, domain.high, n)
        elif isinstance(domain, Integers):
            made[name] = rng.integers(domain.low, domain.high, n, endpoint=True)
        else:
            made[name] = np.array(domain.values)[rng.integers(0, domain.size, n)]
    if "label" in study.statistic.columns:
        made["label"] = np.arange(n) % 3 % 2
    return made


def fits(name: str, noise: str) -> bool:
    return noise != "kary" or protocol_of({**KERNELS, **LISTED}[name][0]).code.kernel.top < 16


@every(
    ("name", "noise"),
    [
        (name, noise)
        for name in [*KERNELS, *LISTED]
        for noise in ("response", "kary", "laplace")
        if fits(name, noise)
    ],
)
def test_real_and_ideal_pairs_give_the_same_tally(name, noise):
    base, *_ = {**KERNELS, **LISTED}[name]
    spec: Any = base.statistic
    domain = base.domains
    if isinstance(spec, dpairs.statistics.TabulatedKernel):
        one = len(domain) == 1
        spec = (
            Kernel(near, range=(0, 0.5), domain=domain)
            if one
            else Kernel(both_equal, range=(0, 1), domain=domain)
        )
        study = Study.create(spec, epsilon=1.0, protocol="pairwise", pairs=2, noise=noise, seed=3)
    else:
        study = Study.create(
            spec,
            epsilon=1.0,
            protocol="pairwise",
            domain=domain,
            pairs=2,
            noise=noise,
            bits=protocol_of(base).bits,
            seed=3,
        )
    people = people_for(study, 41, seed=len(name))
    tallies = {
        crypto: simulate_tally(study, people, seed=5, crypto=crypto) for crypto in ("ideal", "real", None)
    }
    assert tallies["ideal"] == tallies["real"] == tallies[None]
    assert tallies["real"].n > 20
    others = [simulate_tally(study, people, seed=seed, crypto="real") for seed in (6, 7, 8)]
    assert any(other != tallies["real"] for other in others)


@pytest.mark.parametrize("matching", ["permutations", "disjoint"])
def test_real_and_ideal_agree_for_every_matching(matching):
    study = pairwise("variance", Integers(0, 7), matching=matching, pairs=3)
    people = people_for(study, 200, 1)
    assert simulate_tally(study, people, 2, crypto="real") == simulate_tally(study, people, 2)


def test_coins_of_both_parties_matter():
    """Negative control: without the other's coins, the real symbols are other symbols."""
    study = pairwise("gini_mean_difference", Interval(0, 1), noise="laplace", bits=16)
    function = protocol_of(study).function
    bits = SeededRandomness(1)
    x, y = (np.arange(40, dtype=np.uint64).reshape(-1, 1) * step for step in (7, 11))
    mine, theirs = function.tape(40, bits), function.tape(40, bits)
    symbols = real(function, x, y, mine, theirs, bits)
    np.testing.assert_array_equal(symbols, function.ideal(x, y, mine ^ theirs))
    for wrong in (mine, theirs):
        assert (symbols != function.ideal(x, y, wrong)).any()


@pytest.mark.parametrize("name", KERNELS)
def test_a_whole_session_gives_the_symbol_of_a_simulation(name):
    """From two people's values to a counted report, as two devices and a collector do it."""
    study, columns, _ = KERNELS[name]
    protocol, names = protocol_of(study), study.statistic.private_columns
    strata = study.statistic.strata
    pairs = protocol.match(study.coins, dict.fromkeys(strata, 4))
    people = list(itertools.product(*columns))
    coded = [
        protocol.code.encode([[value] for value in people[place % len(people)]], names, SeededRandomness(1))
        for place in range(4)
    ]
    tally, expected = Tally(study), Tally(study)
    for place, number in enumerate(pairs.numbers.tolist()):
        x, y = coded[pairs.garblers[place]], coded[pairs.evaluators[place]]
        pair = pairs.pair(study.id, number, len(strata))
        messages = exchange(protocol.function, x[0].tolist(), y[0].tolist(), place, pair)
        tally.add(Report(study, PAIRS, number, symbol_of(protocol.function, messages, pair)))
        tapes = [protocol.function.tape(1, SeededRandomness(2 * place + side)) for side in (0, 1)]
        expected.add_symbols(PAIRS, protocol.function.ideal(x, y, tapes[0] ^ tapes[1]), number)
    assert tally == expected
    assert tally.n == len(pairs)


@pytest.mark.data
def test_a_thousand_real_pairs_of_hotel_ratings():
    import pandas as pd

    frame = pd.read_csv(FILE, usecols=["rooms", "cleanliness"])
    levels = Levels([-1, 1, 2, 3, 4, 5])
    everybody = {"x": frame["rooms"].to_numpy(), "y": frame["cleanliness"].to_numpy()}
    truth = dpairs.exact("kendall_tau", everybody)
    chosen = np.random.default_rng(1).choice(len(frame), 2000, replace=False)
    people = {name: values[chosen] for name, values in everybody.items()}
    study = pairwise("kendall_tau", (levels, levels), epsilon=2.0)
    found = simulate_tally(study, people, seed=1, crypto="real")
    assert found.n == 1000
    low, high = found.estimate().confidence_interval()
    assert low < truth < high
    assert high - low < 0.3
    assert found == simulate_tally(study, people, seed=1, crypto="ideal")


# ---------------------------------------------------------------- study files


def signed(content: dict[str, Any]) -> str:
    content = {name: value for name, value in content.items() if name != "id"}
    return canonical({**content, "id": digest(content)})


def forged(study: Study, *path: Any, value: Any) -> str:
    """The text of ``study`` with one field replaced and the id made to fit."""
    content = json.loads(study.to_json())
    place = content
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return signed(content)


@pytest.mark.parametrize("name", [*KERNELS, *LISTED])
def test_a_study_is_read_back_as_it_was(name, tmp_path):
    study = {**KERNELS, **LISTED}[name][0]
    again = Study.from_json(study.to_json())
    assert again == study
    assert again.privacy == study.privacy
    assert protocol_of(again).noise == protocol_of(study).noise
    assert protocol_of(again).function.digest == protocol_of(study).function.digest
    study.save(tmp_path / "study.json")
    assert Study.load(tmp_path / "study.json").to_json() == study.to_json()


GINI = pairwise("gini_mean_difference", Interval(0, 1), bits=16, noise="laplace", pairs=2, epsilon=1.0)
AUC = pairwise("auc", Interval(0, 1), epsilon=1.0)
FORGED: dict[str, tuple[Study, tuple[Any, ...], Any, str]] = {
    "pairs of 0": (GINI, ("protocol", "pairs"), 0, "pairs"),
    "pairs of 65": (GINI, ("protocol", "pairs"), 65, "pairs"),
    "pairs true": (GINI, ("protocol", "pairs"), True, "pairs"),
    "pairs text": (GINI, ("protocol", "pairs"), "2", "pairs"),
    "pairs null": (GINI, ("protocol", "pairs"), None, "pairs"),
    "more pairs than epsilon allows": (GINI, ("protocol", "pairs"), 3, "promises epsilon 1"),
    "less epsilon": (GINI, ("epsilon",), 0.5, "promises epsilon 0.5"),
    "a delta": (GINI, ("delta",), 1e-6, "delta"),
    "bits of another kernel": (GINI, ("protocol", "bits"), 15, "does not fit"),
    "bits of 65": (GINI, ("protocol", "bits"), 65, "bits"),
    "bits text": (GINI, ("protocol", "bits"), "16", "bits"),
    "unknown matching": (GINI, ("protocol", "matching"), "friends", "matching"),
    "matching of classes": (GINI, ("protocol", "matching"), "classes", "matching"),
    "matching within classes": (AUC, ("protocol", "matching"), "permutations", "matching"),
    "matching null": (GINI, ("protocol", "matching"), None, "matching"),
    "matching a list": (GINI, ("protocol", "matching"), ["disjoint"], "matching"),
    "noise null": (GINI, ("protocol", "noise"), None, "noise"),
    "noise a name": (GINI, ("protocol", "noise"), "laplace", "noise"),
    "unknown noise": (GINI, ("protocol", "noise", "name"), "gauss", "noise"),
    "noise of more levels": (GINI, ("protocol", "noise", "top"), "65536", "noise|threshold|fit"),
    "noise top as a number": (GINI, ("protocol", "noise", "top"), 65535, "top"),
    "noise that tells more": (AUC, ("protocol", "noise", "floor"), "100", "promises epsilon 1"),
    "noise that tells nothing": (AUC, ("protocol", "noise", "floor"), "32768", "floor"),
    "noise floor 0": (AUC, ("protocol", "noise", "floor"), "0", "floor"),
    "noise floor negative": (AUC, ("protocol", "noise", "floor"), "-1", "floor"),
    "noise of 65 bits": (AUC, ("protocol", "noise", "precision"), 65, "precision"),
    "noise of no thresholds": (GINI, ("protocol", "noise", "thresholds"), [], "thresholds"),
    "thresholds of 2^64": (GINI, ("protocol", "noise", "thresholds", 0), str(2**64), "threshold"),
    "noise with more": (GINI, ("protocol", "noise", "comment"), "hello", "comment"),
    "protocol with more": (GINI, ("protocol", "mechanism"), "krr", "mechanism"),
    "another domain": (GINI, ("domain", 0, "kind"), "circle", "kind|domain"),
    "a statistic of two columns": (GINI, ("statistic",), {"name": "kendall_tau", "variant": "a"}, "domain"),
    "a statistic pairs cannot do": (GINI, ("statistic",), {"name": "gini_coefficient"}, "one kernel"),
    "private labels": (AUC, ("statistic", "labels"), "private", "."),
    "another protocol": (AUC, ("protocol", "name"), "tree", "."),
}


@every("name", FORGED)
def test_changed_studies_are_refused(name):
    """Even where the id was made to fit."""
    study, path, value, said = FORGED[name]
    with pytest.raises(BadFile, match=said) as raised:
        Study.from_json(forged(study, *path, value=value))
    one_sentence(raised.value)


@pytest.mark.parametrize("missing", ["pairs", "matching", "bits", "noise"])
def test_a_study_that_lacks_a_field(missing):
    content = json.loads(GINI.to_json())
    del content["protocol"][missing]
    with pytest.raises(BadFile, match=f"lacks '{missing}'"):
        Study.from_json(signed(content))


@pytest.mark.parametrize("field", ["pairs", "bits"])
def test_a_change_without_a_new_id_is_noticed(field):
    content = json.loads(pairwise("auc", Interval(0, 1), epsilon=1.0, pairs=2).to_json())
    content["protocol"][field] = 1
    with pytest.raises(BadFile, match="changed"):
        Study.from_json(canonical(content))


# ---------------------------------------------------------------- tallies and reports


def counted(study: Study, n: int = 500) -> Tally:
    return simulate_tally(study, people_for(study, n, 1), seed=1)


def test_a_tally_counts_by_group_and_symbol():
    study = pairwise("variance", Integers(0, 1), pairs=2)
    tally = Tally(study)
    for number, symbol in ((0, 1), (64, 1), (1, 0), (65 * 64 + 3, 1)):
        tally.add(Report(study, PAIRS, number, symbol))
    counts = tally.counts(PAIRS)
    assert isinstance(counts, PairCounts)
    assert counts.by_group.shape == (GROUPS, 2)
    assert counts.by_group[:4].tolist() == [[0, 2], [1, 0], [0, 0], [0, 1]]
    assert tally.sizes == {PAIRS: 4}


def test_tallies_add_up_and_are_read_back(tmp_path):
    study = pairwise("gini_mean_difference", Interval(0, 1), pairs=2, noise="laplace")
    whole = counted(study)
    numbered = Tally(study)
    half = Tally(study)
    table = whole.counts(PAIRS).by_group  # type: ignore[attr-defined]
    rows, symbols = np.nonzero(table)
    for place, (row, symbol) in enumerate(zip(rows.tolist(), symbols.tolist(), strict=True)):
        for _ in range(table[row, symbol]):
            (half if place % 2 else numbered).add(Report(study, PAIRS, row, symbol))
    assert half + numbered == numbered + half == whole
    whole.save(tmp_path / "tally.json")
    again = Tally.load(tmp_path / "tally.json", study)
    assert again == whole
    assert again.estimate() == whole.estimate()


def test_tallies_of_other_studies_are_refused():
    study, other = pairwise("variance", Integers(0, 3)), pairwise("variance", Integers(0, 3), pairs=2)
    with pytest.raises(WrongStudy, match="cannot be added"):
        Tally(study) + Tally(other)
    with pytest.raises(WrongStudy, match="belongs to study"):
        Tally.from_json(counted(other).to_json(), study)
    with pytest.raises(WrongStudy):
        Tally(study).add(Report(other, PAIRS, 0, 0))


@pytest.mark.parametrize("symbol", [-1, 2, 2**31])
def test_symbols_that_no_pair_can_have(symbol):
    study = pairwise("auc", Interval(0, 1))
    with pytest.raises(BadParameter, match="symbol must be a whole number from 0 to 1"):
        Report(study, PAIRS, 0, symbol)
    tally = Tally(study)
    with pytest.raises(BadValue, match="symbols of this study are 0 to 1"):
        tally.add_symbols(PAIRS, np.array([0, symbol]))
    assert tally.n == 0
    wire = bytearray(bytes(Report(study, PAIRS, 7, 1)))
    wire[-1] = 2
    with pytest.raises(BadParameter, match="symbol"):
        Report.from_bytes(bytes(wire), study)


@pytest.mark.parametrize(
    "counts",
    [
        {"symbols": [2 * GROUPS], "counts": [1]},
        {"symbols": [-1], "counts": [1]},
        {"symbols": [3, 1], "counts": [1, 1]},
        {"symbols": [1], "counts": [0]},
        {"symbols": [1], "counts": [-3]},
        {"symbols": [1], "counts": [1.5]},
        {"symbols": [1], "counts": [1, 2]},
        {"symbols": [1]},
        [],
    ],
)
def test_tally_files_that_cannot_be(counts):
    study = pairwise("auc", Interval(0, 1))
    content = {**json.loads(Tally(study).to_json()), "counts": {PAIRS: counts}}
    with pytest.raises(BadFile) as raised:
        Tally.from_json(canonical(content), study)
    one_sentence(raised.value)


def test_a_report_of_a_pair_on_the_wire():
    study = pairwise("gini_mean_difference", Interval(0, 1), noise="laplace")
    report = Report(study, PAIRS, 2**53 - 1, protocol_of(study).symbols - 1)
    wire = bytes(report)
    assert len(wire) == 20
    assert Report.from_bytes(wire, study) == report
    assert Report.from_json(report.to_json(), study) == report


@pytest.mark.parametrize("strata", [None, PAIRS])
def test_nobody_answers_a_study_of_pairs_alone(strata):
    for study, values in ((AUC, {"score": 0.5}), (GINI, {"value": 0.5})):
        with pytest.raises(NotAsked, match="two people compute one report together") as raised:
            Participant(study, 0, strata).report(**values)
        one_sentence(raised.value)


def test_a_person_of_a_class_cannot_answer_alone_either():
    with pytest.raises(DpairsError) as raised:
        Participant(AUC, 0, "positive").report(score=0.5)
    one_sentence(raised.value)


def test_an_entropy_without_a_logarithm_is_no_estimate():
    study = pairwise("collision_entropy", Categories(["a", "b"]), epsilon=0.5)
    tally = Tally(study)
    tally.add_symbols(PAIRS, np.zeros(100, dtype=np.int64))
    with pytest.raises(dpairs.NotEstimable, match="logarithm"):
        tally.estimate()


def test_an_estimate_says_what_it_is():
    study = pairwise("collision_entropy", MOODS, pairs=2)
    found = counted(study).estimate()
    assert (found.protocol, found.estimator, found.strata) == ("pairwise", "mean", {PAIRS: 500})
    assert found.quantization == dpairs.estimate.Quantization(0.0, 0.0, 0.0)
    assert found.value == pytest.approx(-np.log(found.details["collision_probability"]))
    with pytest.raises(BadParameter, match="estimator"):
        counted(study).estimate("paper")
