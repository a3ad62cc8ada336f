"""Real pairs against ideal ones: the same tally."""

import itertools
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import (
    Integers,
    Interval,
    Kernel,
    Levels,
    Report,
    Study,
    Tally,
)
from dpairs.garbled.batch import real
from dpairs.protocols.pairwise.protocol import PAIRS
from dpairs.randomness import SeededRandomness
from dpairs.simulate import simulate_tally

from ...every import every
from .kernels import KERNELS, LISTED, both_equal, near, pairwise, people_for, protocol_of
from .pairs import exchange, symbol_of

FILE = Path(os.environ.get("DPAIRS_DATA", "")) / "tripadvisor_ratings.csv.gz"


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
    others = (simulate_tally(study, people, seed=seed, crypto="real") for seed in (6, 7, 8))
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
