"""The `pairwise` protocol: what a pair computes, and studies that pairs cannot do."""

import itertools
from typing import Any

import numpy as np
import pytest

import dpairs
from dpairs import (
    BadParameter,
    BadValue,
    Categories,
    Integers,
    Interval,
    Kernel,
    Levels,
    Study,
    Tally,
)
from dpairs.protocols.pairwise.protocol import PAIRS
from dpairs.randomness import SeededRandomness

from ...every import every
from .kernels import KERNELS, LISTED, TWO, both_equal, near, one_sentence, pairwise, protocol_of

# ---------------------------------------------------------------- what a pair computes


def same_side(a: Any, b: Any) -> Any:
    one, other = (a[0], b[0]) if isinstance(a, tuple) else (a, b)
    return 1.0 * ((one < 0.5) == (other < 0.5))


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
        grid = np.linspace(0, 10, 19).tolist()
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
