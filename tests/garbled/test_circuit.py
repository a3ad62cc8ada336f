"""Circuits: every operation equals the plain one, in the clear and garbled; and what each costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpairs import BadParameter
from dpairs.garbled.arithmetic import Bit, Number, Space
from dpairs.garbled.circuit import EVALUATOR, GARBLER, Builder
from tests.protocols.pairwise.pairs import Formulated, every_pair, garbled
from tests.strategies import QUICK

from ..every import every

TABLE = [(place * 7) % 13 - 4 for place in range(31)]
OPERATIONS = {
    "add": (lambda x, y: x + y, lambda x, y: x + y),
    "subtract": (lambda x, y: x - y, lambda x, y: x - y),
    "negate": (lambda x, y: -(x + y), lambda x, y: -(x + y)),
    "scale": (lambda x, y: 3 * x - 2 * y + 1, lambda x, y: 3 * x - 2 * y + 1),
    "from constant": (lambda x, y: 5 - x, lambda x, y: 5 - x),
    "less": (lambda x, y: x < y, lambda x, y: x < y),
    "greater": (lambda x, y: x > y, lambda x, y: x > y),
    "at most": (lambda x, y: x <= y, lambda x, y: x <= y),
    "at least": (lambda x, y: x >= y, lambda x, y: x >= y),
    "less than constant": (lambda x, y: x - y < -3, lambda x, y: x - y < -3),
    "less, both signed": (lambda x, y: x - 4 < y - 9, lambda x, y: x - 4 < y - 9),
    "less, left signed": (lambda x, y: x - 4 < y, lambda x, y: x - 4 < y),
    "less, right signed": (lambda x, y: x < y - 4, lambda x, y: x < y - 4),
    "equal": (lambda x, y: x == y, lambda x, y: x == y),
    "unequal": (lambda x, y: x != y, lambda x, y: x != y),
    "equal, signed": (lambda x, y: x - 4 == y, lambda x, y: x - 4 == y),
    "equal to constant": (lambda x, y: x - y == -3, lambda x, y: x - y == -3),
    "absolute": (lambda x, y: abs(x - y), lambda x, y: abs(x - y)),
    "absolute, lopsided": (lambda x, y: abs(x - y - 9), lambda x, y: abs(x - y - 9)),
    "sign": (lambda x, y: (x - y).sign(), lambda x, y: np.sign(x - y)),
    "multiply": (lambda x, y: x * y, lambda x, y: x * y),
    "multiply signed": (lambda x, y: (x - 5) * (y - 7), lambda x, y: (x - 5) * (y - 7)),
    "square": (lambda x, y: (x - y) * (x - y), lambda x, y: (x - y) ** 2),
    "choose": (lambda x, y: (x < y).choose(x, y - 20), lambda x, y: np.where(x < y, x, y - 20)),
    "clamp": (lambda x, y: (x - y).clamp(-3, 2), lambda x, y: np.clip(x - y, -3, 2)),
    "clamp nothing": (lambda x, y: (x - y).clamp(-15, 15), lambda x, y: x - y),
    "shift right": (lambda x, y: x - y >> 1, lambda x, y: x - y >> 1),
    "shift left": (lambda x, y: x - y << 2, lambda x, y: x - y << 2),
    "look up": (lambda x, y: (x + y).lookup(TABLE), lambda x, y: np.array(TABLE)[x + y]),
    "bits": (lambda x, y: (x < 5) & (y > 3) | ~(x == y), lambda x, y: (x < 5) & (y > 3) | (x != y)),
}


@every("name", OPERATIONS)
def test_every_operation_on_every_input_of_four_bits(name):
    formula, plain = OPERATIONS[name]
    made = Formulated(formula, 15)
    x, y = every_pair(4)
    expected = plain(x.astype(np.int64), y.astype(np.int64)).astype(np.int64)
    np.testing.assert_array_equal(made.clear(x, y), expected)
    np.testing.assert_array_equal(made.garbled(x, y), expected)
    if isinstance(made.result, Number):
        assert made.result.low <= expected.min()
        assert made.result.high >= expected.max()


@given(st.integers(1, 2**64 - 1), st.data())
@QUICK
def test_arithmetic_is_exact_for_any_range(largest, data):
    x, y = (data.draw(st.integers(0, largest)) for _ in range(2))
    shift = data.draw(st.integers(-largest, largest))
    formula = data.draw(
        st.sampled_from(
            [
                lambda a, b: a + b + shift,
                lambda a, b: abs(a - b + shift),
                lambda a, b: (a - shift) * (b + 3),
                lambda a, b: a + shift < b,
                lambda a, b: a - shift == b,
                lambda a, b: (a - b).clamp(-abs(shift) - 1, abs(shift)),
            ]
        )
    )
    plain = {"clamp": min(max(x - y, -abs(shift) - 1), abs(shift))}
    made = Formulated(formula, largest)
    expected = plain["clamp"] if "clamp" in formula.__code__.co_names else formula(x, y)
    found = made.clear(np.array([x], dtype=np.uint64), np.array([y], dtype=np.uint64))
    assert int(found[0]) == int(expected)


def ands(*outputs: Number | Bit) -> int:
    return outputs[0].space.compile(*outputs).ands


def test_gates_cost_what_the_documentation_says():
    space = Space()
    x, y = space.number(GARBLER, 2**32 - 1), space.number(EVALUATOR, 2**32 - 1)
    coin = space.random_bit()
    assert ands(x < y) == 32
    assert ands(x.less(y, tie=coin)) == 32
    assert ands(abs(x - y)) == 63
    assert ands(x == y) == 31
    assert ands(x + y) == ands(x - y) == 32
    assert ands(coin.choose(x, y)) == 32
    assert ands(x << 3, x >> 5, ~coin, coin ^ (x < 2**31)) == 0


def test_constants_fold_and_equal_gates_are_made_once():
    build = Builder()
    x, y = build.input(GARBLER), build.input(EVALUATOR)
    assert build.and_(x, 0) == build.and_(x, x ^ 1) == build.xor(x, x) == 0
    assert build.and_(x, 1) == build.and_(x, x) == build.xor(x, 0) == x
    assert build.xor(x, 1) == x ^ 1
    assert build.and_(x, y) == build.and_(y, x)
    assert build.xor(x, y ^ 1) == build.xor(y, x) ^ 1
    both, neither = build.and_(x, y), build.and_(x ^ 1, y ^ 1)
    assert both != neither
    assert build.compile([both]).ands == 1, "what no output needs is left out"


def test_constant_outputs_have_labels_too():
    build = Builder()
    build.input(GARBLER)
    circuit = build.compile([0, 1])
    inputs = np.array([[0, 1]], dtype=np.uint8)
    assert circuit.run(inputs).tolist() == garbled(circuit, inputs).tolist() == [[0, 0], [1, 1]]


def test_levels_run_in_order():
    """No gate reads a place that its own level writes, and no two of a level write the same."""
    made = Formulated(lambda x, y: abs(x - y) * (x + y), 255)
    written = set(range(made.circuit.inputs))
    for gates in made.circuit.levels:
        out = set(gates.out.tolist())
        read = {*gates.left.tolist(), *gates.right.tolist()}
        assert read <= written
        assert len(out) == gates.size
        assert not out & read
        written |= out
    assert written == set(range(made.circuit.wires))
    assert made.circuit.wires < made.circuit.inputs + sum(gates.size for gates in made.circuit.levels) // 3


def test_a_circuit_shows_its_size():
    made = Formulated(lambda x, y: x < y, 255)
    shown = repr(made.circuit)
    assert "ands=8" in shown
    assert "array" not in shown
    assert repr(made.result) == "Bit()"


@pytest.mark.parametrize(
    ("formula", "error"),
    [
        (lambda x, y: (x - y).lookup([1, 2]), "cannot be read"),
        (lambda x, y: x.lookup([1, 2]), "cannot be read"),
        (lambda x, y: x == "a", "compared with a number"),
    ],
)
def test_nonsense_is_refused(formula, error):
    with pytest.raises(BadParameter, match=error):
        Formulated(formula, 15)


def test_a_circuit_cannot_grow_without_end(monkeypatch):
    monkeypatch.setattr("dpairs.garbled.circuit.MAX_NODES", 50)
    with pytest.raises(BadParameter, match="too large"):
        Formulated(lambda x, y: x * y, 255)
    with pytest.raises(BadParameter, match="at least one input"):
        Builder().compile([0])
    with pytest.raises(BadParameter, match="largest"):
        Space().number(GARBLER, 2**64)
