"""Noise inside the circuit: its distribution is counted from the circuit, over all random bits."""

import json
import math
import os
from fractions import Fraction

import numpy as np
import pytest

from dpairs import BadFile, BadParameter
from dpairs.garbled.arithmetic import Bit, Space
from dpairs.garbled.bits import bits_of, from_bits
from dpairs.garbled.circuit import EVALUATOR, GARBLER, Circuit
from dpairs.garbled.function import PairFunction
from dpairs.garbled.kary import KaryNoise
from dpairs.garbled.kernels import Concordance, Distance, LessThan
from dpairs.garbled.laplace import LaplaceNoise
from dpairs.garbled.noise import BitNoise, Noise
from dpairs.garbled.noise_registry import best_noise, candidates, noise, noise_from_json
from dpairs.mechanisms import largest_ratio
from tests.mechanisms.exponential import exp_lower_bound

from ..every import every

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
EPSILONS = (0.1, 1.0, 5.0)
SMALL: list[Noise] = [
    BitNoise(1, floor=5, precision=5),
    BitNoise(2, floor=3, precision=4),
    BitNoise(5, floor=2, precision=3),
    KaryNoise(1, floor=5, precision=5),
    KaryNoise(2, floor=3, precision=4),
    KaryNoise(3, floor=3, precision=4),
    KaryNoise(4, floor=1, precision=2),
    KaryNoise(6, floor=2, precision=4),
    LaplaceNoise.for_epsilon(1, 1.0, precision=4),
    LaplaceNoise.for_epsilon(2, 1.0, precision=4),
    LaplaceNoise(3, 0, (7, 5, 3), precision=4),
    LaplaceNoise(4, 0, (3, 2, 3), precision=3),
    LaplaceNoise(7, 2, (3, 2), precision=3),
    LaplaceNoise(5, 1, (3, 2, 1), precision=2),
]
NAMES = [f"{each.name}-{each.top}" for each in SMALL]


def compiled(made: Noise) -> Circuit:
    """The noise alone: the level is an input of the garbler."""
    space = Space()
    level = space.number(GARBLER, made.top)
    symbol = made.build(level, [space.random_bit() for _ in range(made.random_bits)])
    assert (symbol.low, symbol.high) == (0, made.symbols - 1)
    return space.compile(symbol)


def counted(
    circuit: Circuit, made: Noise, level: int, mine: np.ndarray, theirs: np.ndarray
) -> list[Fraction]:
    """How often the circuit gives each symbol, for given bits of garbler and evaluator (a column each)."""
    wide = bits_of(np.full(mine.shape[1], level, dtype=np.uint64), made.top.bit_length())
    symbols = from_bits(circuit.run(np.concatenate([wide, mine, theirs])))
    counts = np.bincount(symbols.astype(np.int64), minlength=made.symbols)
    return [Fraction(int(count), symbols.size) for count in counts]


def every_bit(count: int) -> np.ndarray:
    return bits_of(np.arange(2**count, dtype=np.uint64), count)


def adversaries(count: int) -> np.ndarray:
    """Bits that one party may fix: none, all, every second, random ones. A row each."""
    fixed = [np.zeros(count), np.ones(count), np.arange(count) % 2]
    return np.array([*fixed, *np.random.default_rng(1).integers(0, 2, size=(5, count))], dtype=np.uint8)


def is_exact_whoever_cheats(circuit: Circuit, made: Noise, level: int) -> bool:
    """The distribution is the exact one over one party's random bits, whatever the other's are."""
    free = every_bit(made.random_bits)
    for fixed in adversaries(made.random_bits):
        constant = np.repeat(fixed[:, None], free.shape[1], axis=1)
        if counted(circuit, made, level, free, constant) != made.pmf(level):
            return False
        if counted(circuit, made, level, constant, free) != made.pmf(level):
            return False
    return True


@pytest.mark.parametrize("made", SMALL, ids=NAMES)
def test_the_circuit_has_exactly_the_stated_distribution(made):
    circuit, random_bits = compiled(made), made.random_bits
    for level in range(made.top + 1):
        assert is_exact_whoever_cheats(circuit, made, level)
    if 2 * random_bits <= 16:  # and over all bits of both
        both = every_bit(2 * random_bits)
        for level in range(made.top + 1):
            assert counted(circuit, made, level, both[:random_bits], both[random_bits:]) == made.pmf(level)


@pytest.mark.parametrize("ignored", [GARBLER, EVALUATOR])
@pytest.mark.parametrize("made", SMALL, ids=NAMES)
def test_one_party_whose_bits_are_ignored_is_noticed(made, ignored, monkeypatch):
    """Negative control: a bit of one party alone is not random for that party."""

    def lone_bit(space: Space) -> Bit:
        bits = {party: Bit(space, space.builder.input(party)) for party in (GARBLER, EVALUATOR)}
        return bits[EVALUATOR if ignored == GARBLER else GARBLER]

    monkeypatch.setattr(Space, "random_bit", lone_bit)
    circuit = compiled(made)
    assert not is_exact_whoever_cheats(circuit, made, 0)
    # With both parties honest nobody would notice: the distribution is right.
    free = every_bit(made.random_bits)
    assert counted(circuit, made, 0, free, free) == made.pmf(0)


@pytest.mark.parametrize("ties", ["half", "zero"])
def test_a_tie_of_scores_is_tossed_exactly(ties):
    """The whole function of a pair, kernel and noise, over every bit of one party and some of the other."""
    function = PairFunction(LessThan(3, ties), BitNoise(1, floor=3, precision=4))
    won, lost = function.noise.pmf(1), function.noise.pmf(0)
    tied = [Fraction(1, 2)] * 2 if ties == "half" else lost
    width, free = 2, every_bit(function.random_bits)
    for x in range(4):
        for y in range(4):
            expected = won if x < y else lost if x > y else tied
            sides = [bits_of(np.full(free.shape[1], value, dtype=np.uint64), width) for value in (x, y)]
            for fixed in adversaries(function.random_bits):
                constant = np.repeat(fixed[:, None], free.shape[1], axis=1)
                for mine, theirs in ((free, constant), (constant, free)):
                    inputs = np.concatenate([sides[0], mine, sides[1], theirs])
                    ones = int(function.circuit.run(inputs).sum())
                    assert Fraction(ones, free.shape[1]) == expected[1]


@pytest.mark.parametrize("made", SMALL, ids=NAMES)
def test_ideal_gives_what_the_circuit_gives(made):
    circuit, free = compiled(made), every_bit(made.random_bits)
    other = np.random.default_rng(2).integers(0, 2, size=free.shape, dtype=np.uint8)
    for level in range(made.top + 1):
        levels = np.full(free.shape[1], level, dtype=np.uint64)
        wide = bits_of(levels, made.top.bit_length())
        symbols = from_bits(circuit.run(np.concatenate([wide, free, other])))
        np.testing.assert_array_equal(made.ideal(levels, free ^ other), symbols.astype(np.int64))


def spread(top: int) -> list[int]:
    """All levels when they are few, else some, the ends among them."""
    return sorted({*range(min(top, 40 if FULL else 16) + 1), top // 3, top // 2, top - 1, top})


CASES = [("response", 1), ("response", 2), ("response", 100), ("response", 2**64 - 1)]
CASES += [("kary", 1), ("kary", 2), ("kary", 5), ("kary", 15)]
CASES += [("laplace", 1), ("laplace", 2), ("laplace", 5), ("laplace", 100), ("laplace", 300)]


@every("epsilon", EPSILONS)
@every(("name", "top"), CASES)
def test_exact_ratio_is_at_most_e_to_the_epsilon(name, top, epsilon):
    made = noise(name, top, epsilon)
    rows = [made.pmf(level) for level in spread(top)]
    assert all(sum(row) == 1 for row in rows)
    ratio = largest_ratio(rows)
    assert ratio <= exp_lower_bound(epsilon)
    assert 0.97 * epsilon <= made.epsilon <= epsilon
    assert made.delta == 0
    # Derived, not asserted: the claim is the ratio of the exact probabilities, rounded up.
    assert ratio <= exp_lower_bound(made.epsilon) * (1 + Fraction(1, 10**40))
    if name != "laplace":
        assert float(ratio) == pytest.approx(math.exp(made.epsilon), rel=1e-12)


@pytest.mark.parametrize("top", [2**16 - 1, 2**32 - 1, 10**6])
def test_laplace_of_a_rounded_level_keeps_epsilon(top):
    made = LaplaceNoise.for_epsilon(top, 1.0, resolution=5)
    size = 2**made.shift
    levels = sorted({0, 1, size - 1, size, size + 1, top // 2, top - 1, top})
    assert largest_ratio([made.pmf(level) for level in levels]) <= exp_lower_bound(1.0)
    assert made.symbols <= 34


@pytest.mark.parametrize("made", [BitNoise.for_epsilon(1, 1.0), KaryNoise.for_epsilon(2, 1.0)])
def test_one_step_less_noise_is_noticed(made):
    """Negative control: a threshold lower by one breaks the exact inequality."""
    less = type(made)(made.top, made.floor - 1, made.precision)
    assert largest_ratio([less.pmf(0), less.pmf(made.top)]) > exp_lower_bound(1.0)
    laplace = LaplaceNoise.for_epsilon(8, 1.0, precision=16)
    lower = LaplaceNoise(8, 0, (*laplace.thresholds[:-1], laplace.thresholds[-1] - 1), precision=16)
    assert largest_ratio([lower.pmf(level) for level in range(9)]) > exp_lower_bound(1.0)


@every("epsilon", EPSILONS)
@every(("name", "top"), CASES)
def test_decoding_is_unbiased(name, top, epsilon):
    made = noise(name, top, epsilon)
    for level in spread(top):
        bias = made.bias(level)
        if name == "laplace":
            assert abs(bias) <= top * Fraction(2) ** (1 - made.precision) * math.ceil(1 + 1 / epsilon)
            assert bias == 0 or level not in (0, top)
        else:
            assert bias == 0


def test_laplace_is_unbiased_at_the_ends_and_in_the_middle_whatever_its_thresholds():
    for made in SMALL:
        if isinstance(made, LaplaceNoise) and made.shift == 0:
            assert made.bias(0) == made.bias(made.top) == 0
            assert made.top % 2 or made.bias(made.top // 2) == 0


@pytest.mark.parametrize(("name", "top"), [("response", 2), ("kary", 2), ("laplace", 6)])
def test_variance_is_that_of_the_exact_distribution(name, top):
    made = noise(name, top, 1.0)
    for level in range(top + 1):
        chances, worths = made.pmf(level), [made.worth(symbol) for symbol in range(made.symbols)]
        mean = sum(p * w for p, w in zip(chances, worths, strict=True))
        exact = sum(p * (w - mean) ** 2 for p, w in zip(chances, worths, strict=True))
        assert made.variance(level) == pytest.approx(float(exact), rel=1e-12)
        np.testing.assert_allclose(made.decode, [float(worth) for worth in worths])


def test_clamping_takes_nothing_but_variance_away_from_laplace():
    """Unclamped noise of scale M/epsilon has variance 2 (M/epsilon)^2; ours is below it at every level."""
    top, epsilon = 2**32 - 1, 1.0
    made = LaplaceNoise.for_epsilon(top, epsilon)
    for level in (0, top // 4, top // 2, top):
        assert made.variance(level) < 1.45 * (top / epsilon) ** 2
    rounding = LaplaceNoise.for_epsilon(top, epsilon, resolution=14)
    assert made.variance(top // 2) == pytest.approx(rounding.variance(top // 2), rel=1e-3)


def test_one_bit_beats_laplace_at_small_epsilon_only():
    top = 2**32 - 1
    assert [best_noise(top, epsilon).name for epsilon in (0.1, 0.5, 1.0, 2.0, 8.0)] == [
        "response",
        "response",
        "response",
        "laplace",
        "laplace",
    ]
    assert [best_noise(2, epsilon).name for epsilon in (0.5, 1.0, 2.0, 8.0)] == [
        "response",
        "response",
        "kary",
        "kary",
    ]
    assert best_noise(1, 1.0).name == "response"
    assert "kary" not in candidates(1, 1.0)
    # Where the levels are known to lie at the ends, the worst case in the middle does not count.
    assert best_noise(2, 1.0, levels=[1]).name == "kary"


def test_circuits_cost_what_the_documentation_says():
    assert compiled(BitNoise.for_epsilon(1, 1.0, precision=16)).ands <= 15
    assert compiled(KaryNoise.for_epsilon(2, 1.0, precision=16)).ands <= 26
    laplace = LaplaceNoise.for_epsilon(2**32 - 1, 1.0, precision=40)
    assert compiled(laplace).ands <= 11 * 45 + 32


@pytest.mark.parametrize("made", SMALL, ids=NAMES)
def test_json_round_trip(made):
    assert noise_from_json(json.loads(json.dumps(made.to_json()))) == made


@pytest.mark.parametrize(
    "change",
    [
        {"name": "gauss"},
        {"name": None},
        {"floor": 3},
        {"floor": "-3"},
        {"floor": "9" * 30},
        {"floor": None},
        {"top": "1.5"},
        {"precision": "4"},
        {"precision": True},
        {"more": 1},
    ],
)
def test_damaged_json_is_refused(change):
    spec = {**BitNoise(2, floor=3, precision=4).to_json(), **change}
    with pytest.raises((BadFile, BadParameter)):
        noise_from_json(spec)


@pytest.mark.parametrize("thresholds", ["753", [7, 5, 3], ["7"] * 99, [["7"]], ["7", "5"], None])
def test_damaged_thresholds_are_refused(thresholds):
    spec = {**LaplaceNoise(3, 0, (7, 5, 3), 4).to_json(), "thresholds": thresholds}
    with pytest.raises((BadFile, BadParameter)):
        noise_from_json(spec)


@pytest.mark.parametrize(("spec", "error"), [({"name": "response"}, "lacks"), ([], "JSON object")])
def test_what_is_no_noise_is_refused(spec, error):
    with pytest.raises(BadFile, match=error):
        noise_from_json(spec)


def test_the_decoded_symbol_is_the_kernels_value_on_average():
    kernels = (Concordance(7), Distance(100, step=Fraction(1, 4)), LessThan(255))
    for kernel in kernels:
        for name in candidates(kernel.top, 1.0):
            function = PairFunction(kernel, noise(name, kernel.top, 1.0))
            assert function.symbols == function.decode.size
            for level in spread(kernel.top):
                chances = np.array([float(p) for p in function.noise.pmf(level)])
                assert chances @ function.decode == pytest.approx(kernel.value(level), abs=1e-9)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: BitNoise(0, 1), "top"),
        (lambda: BitNoise(1, 0), "floor"),
        (lambda: BitNoise(1, 2**15), "floor"),
        (lambda: BitNoise(1, 1, precision=65), "precision"),
        (lambda: BitNoise.for_epsilon(1, 1e-5), "too small"),
        (lambda: BitNoise.for_epsilon(1, -1.0), "epsilon"),
        (lambda: KaryNoise(16, 1), "top"),
        (lambda: KaryNoise(3, 14, precision=4), "floor"),
        (lambda: KaryNoise(3, 4, precision=4), "favours"),
        (lambda: KaryNoise.for_epsilon(2, 1e-5), "too small"),
        (lambda: LaplaceNoise(4, 0, (3, 3), precision=3), "needs 3 thresholds"),
        (lambda: LaplaceNoise(4, 0, (3, 8, 3), precision=3), "threshold"),
        (lambda: LaplaceNoise(2**20, 0, (1,) * 21), "steps"),
        (lambda: LaplaceNoise.for_epsilon(4, math.nan), "epsilon"),
        (lambda: LaplaceNoise.for_epsilon(2**16, 1e-9, precision=8), "out of reach"),
        (lambda: noise("gauss", 1, 1.0), "noise"),
        (lambda: best_noise(1, 1e-20), "no noise"),
    ],
)
def test_noise_that_makes_no_sense_is_refused(make, error):
    with pytest.raises(BadParameter, match=error):
        make()
