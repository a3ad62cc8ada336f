"""Kernels: the circuit equals the plain function, in the clear and garbled, on random and edge inputs."""

import os
from fractions import Fraction

import numpy as np
import pytest

from dpairs import BadParameter, BadValue, Categories, Integers, Interval, Levels
from dpairs.garbled.arithmetic import Space
from dpairs.garbled.bits import bits_of, from_bits, tape_bits
from dpairs.garbled.circuit import EVALUATOR, GARBLER, Circuit
from dpairs.garbled.custom import Expression, Table
from dpairs.garbled.encoding import FixedPoint
from dpairs.garbled.kernels import Concordance, Distance, Equal, LessThan, PairKernel, SquaredDistance
from tests.protocols.pairwise.pairs import every_pair, garbled, some_pairs

MANY = 10**5 if os.environ.get("DPAIRS_VALIDATE") == "1" else 10**4
LARGE = 2**32 - 1
RAGGED = ((0, 3, 1), (3, 7, 2), (1, 2, 5))


def signs(x, y):
    return np.sign(x.astype(object) - y.astype(object)).astype(np.int64)


def absolute(x, y):
    return np.abs(x[:, 0].astype(object) - y[:, 0].astype(object)).astype(np.uint64)


def wins(x, y, coin):
    return np.where(x[:, 0] == y[:, 0], coin, x[:, 0] < y[:, 0])


PLAIN = {
    "auc": (lambda largest: LessThan(largest), wins),
    "auc, ties zero": (lambda largest: LessThan(largest, ties="zero"), lambda x, y, c: x[:, 0] < y[:, 0]),
    "collision": (lambda largest: Equal(largest), lambda x, y, c: x[:, 0] == y[:, 0]),
    "gini": (lambda largest: Distance(largest), lambda x, y, c: absolute(x, y)),
    "variance": (lambda largest: SquaredDistance(largest), lambda x, y, c: absolute(x, y) ** 2),
    "kendall": (lambda largest: Concordance(largest), lambda x, y, c: 1 + signs(x, y).prod(axis=1)),
    "expression": (
        lambda largest: Expression(lambda a, b: (a < b).choose(b - a, 3 * (b - a)), largest),
        lambda x, y, c: np.where(x < y, y - x, 3 * (y - x))[:, 0] + np.uint64(3) * x.max(),
    ),
}


def compiled(kernel: PairKernel) -> Circuit:
    space = Space()
    x = [space.number(GARBLER, kernel.largest) for _ in range(kernel.columns)]
    y = [space.number(EVALUATOR, kernel.largest) for _ in range(kernel.columns)]
    random_bits = [space.random_bit() for _ in range(kernel.random_bits)]
    level = kernel.build(x, y, random_bits)
    assert level.low == 0
    assert level.high == kernel.top
    return space.compile(level)


def check(kernel, plain, x, y, seed=1):
    rng = np.random.default_rng(seed)
    mine, theirs = rng.integers(0, 2, size=(2, kernel.random_bits, len(x)), dtype=np.uint8)
    width = kernel.largest.bit_length()
    sides = [
        np.concatenate([*(bits_of(side[:, column], width) for column in range(kernel.columns)), random_bits])
        for side, random_bits in ((x, mine), (y, theirs))
    ]
    circuit, inputs = compiled(kernel), np.concatenate(sides)
    random_bits = mine ^ theirs
    expected = plain(x, y, random_bits[0] if kernel.random_bits else None).astype(np.uint64)
    np.testing.assert_array_equal(from_bits(circuit.run(inputs)), expected)
    np.testing.assert_array_equal(from_bits(garbled(circuit, inputs)), expected)
    np.testing.assert_array_equal(kernel.plain(x, y, random_bits), expected)
    assert int(expected.max()) <= kernel.top


@pytest.mark.parametrize("name", PLAIN)
def test_kernels_on_many_random_and_all_edge_inputs(name):
    make, plain = PLAIN[name]
    largest = {"kendall": 255, "variance": 2**12 - 1, "expression": 2**12 - 1}.get(name, LARGE)
    kernel = make(largest)
    check(kernel, plain, *some_pairs(largest, MANY, kernel.columns, seed=2))


@pytest.mark.parametrize("name", PLAIN)
def test_kernels_on_every_input_of_four_bits(name):
    make, plain = PLAIN[name]
    kernel = make(15)
    x, y = every_pair(4 * kernel.columns)
    split = [
        np.stack([side >> np.uint64(4 * c) & np.uint64(15) for c in range(kernel.columns)], 1)
        for side in (x, y)
    ]
    for part in range(0, len(x), 2**16):
        check(kernel, plain, split[0][part : part + 2**16], split[1][part : part + 2**16])


@pytest.mark.parametrize("largest", [1, 2, 100, 2**31, 2**63, 2**64 - 1])
@pytest.mark.parametrize("name", ["auc", "collision", "gini"])
def test_kernels_of_any_width_up_to_64_bits(name, largest):
    make, plain = PLAIN[name]
    check(make(largest), plain, *some_pairs(largest, 300, 1, seed=3))


def test_the_square_of_32_bits_fits_64():
    check(SquaredDistance(LARGE), lambda x, y, c: absolute(x, y) ** 2, *some_pairs(LARGE, 200, 1, seed=3))


@pytest.mark.parametrize("table", [RAGGED, ((0, 1), (1, 0)), tuple(tuple(range(k, k + 9)) for k in range(9))])
def test_tables(table):
    side = len(table)
    rows = np.array([[a, b] for a in range(side) for b in range(side)], dtype=np.uint64)
    levels = np.array(table)
    check(
        Table(table),
        lambda x, y, c: levels[x[:, 0].astype(int), y[:, 0].astype(int)],
        rows[:, :1],
        rows[:, 1:],
    )


def test_a_table_of_real_numbers_is_moved_to_the_nearest_levels():
    matrix = np.array([[-1.0, 0.5], [0.5, 2.0]])
    kernel = Table.of(matrix, levels=6)
    assert kernel.table == ((0, 3), (3, 6))
    values = np.array([[kernel.value(level) for level in row] for row in kernel.table])
    np.testing.assert_array_equal(values, matrix)


def test_an_expression_of_several_columns():
    kernel = Expression(lambda a, b: (a[0] < b[0]).number() + (a[1] == b[1]).number(), 15, columns=2)
    x, y = some_pairs(15, 500, 2, seed=5)
    check(kernel, lambda x, y, c: (x[:, 0] < y[:, 0]).astype(int) + (x[:, 1] == y[:, 1]), x, y)


def test_gate_counts():
    assert compiled(LessThan(LARGE)).ands == compiled(LessThan(LARGE, "zero")).ands == 32
    assert compiled(Distance(LARGE)).ands == 63
    assert compiled(Concordance(255)).ands == 32
    assert compiled(Equal(LARGE)).ands == 31


def test_values_of_levels():
    assert [Concordance(7).value(level) for level in range(3)] == [-1.0, 0.0, 1.0]
    assert Distance(255, step=Fraction(1, 8)).value(16) == 2.0
    assert SquaredDistance(15).value(9) == 4.5
    moved = Expression(lambda a, b: a - b, largest=10, step=Fraction(1, 2))
    assert (moved.top, moved.value(0), moved.value(20)) == (20, -5.0, 5.0)


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: LessThan(255, ties="random"), "ties"),
        (lambda: LessThan(2**64), "largest"),
        (lambda: SquaredDistance(2**33), "largest"),
        (lambda: Table(((0, 1), (1,))), "square"),
        (lambda: Table(((0, 0), (0, 0))), "nothing to compute"),
        (lambda: Table(((0, -1), (1, 0))), "level"),
        (lambda: Table.of(np.ones((3, 3))), "all the same"),
        (lambda: Expression(lambda a, b: a * b * b, largest=2**32).top, "too large"),
    ],
)
def test_kernels_that_make_no_sense_are_refused(make, error):
    with pytest.raises(BadParameter, match=error):
        make()


# ---------------------------------------------------------------- encoding


def test_whole_numbers_and_levels_are_encoded_exactly():
    assert FixedPoint.of(Integers(-5, 10), 8).encode([-5, 0, 10], "x").tolist() == [0, 5, 15]
    assert FixedPoint.of(Levels([1, 2, 5]), 8).encode([5, 1], "x").tolist() == [2, 0]
    assert FixedPoint.of(Categories(["a", "b"]), 1).encode(["b", "a"], "x").tolist() == [1, 0]
    wide = FixedPoint.of(Integers(0, 2**64 - 1), 64)
    assert wide.encode([2**64 - 1], "x").tolist() == [2**64 - 1]


@pytest.mark.parametrize("bits", [1, 8, 32, 52, 53, 54, 60, 64])
def test_an_interval_is_cut_into_equal_steps(bits):
    code = FixedPoint.of(Interval(-2, 6), bits)
    values = np.linspace(-2, 6, 1001)
    encoded = code.encode(values, "x")
    assert (encoded[0], encoded[-1]) == (0, 2**bits - 1)
    assert (np.diff(encoded.astype(float)) >= 0).all()
    back = np.array([float(-2 + int(level) * code.unit) for level in encoded])
    np.testing.assert_allclose(back, values, atol=float(code.unit) / 2 + 1e-14)


def test_values_and_widths_that_do_not_fit_are_refused():
    with pytest.raises(BadParameter, match="cannot tell apart"):
        FixedPoint.of(Integers(0, 256), 8)
    with pytest.raises(BadParameter, match="bits"):
        FixedPoint.of(Interval(0, 1), 65)
    with pytest.raises(BadValue, match=r"\[0, 1\]"):
        FixedPoint.of(Interval(0, 1), 8).encode([1.5], "score")


def test_bits_and_numbers_are_each_others_inverse():
    words = np.random.default_rng(1).integers(0, 2**64, size=50, dtype=np.uint64)
    np.testing.assert_array_equal(from_bits(bits_of(words, 64)), words)
    np.testing.assert_array_equal(tape_bits(words.reshape(25, 2), 128)[64:], bits_of(words[1::2], 64))
