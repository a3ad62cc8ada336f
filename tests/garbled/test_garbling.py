"""Half-gates: what garbling hides and protects, and that its shape does not matter."""

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy import stats

from dpairs import ForgedOutput
from dpairs.garbled import batch, garbling
from dpairs.garbled.blocks import COLOUR, expand, from_bytes, to_bytes
from dpairs.garbled.circuit import EVALUATOR, GARBLER, Builder
from dpairs.garbled.function import PairFunction
from dpairs.garbled.garbling import evaluate, garble
from dpairs.garbled.kernels import Concordance, Distance, LessThan
from dpairs.garbled.laplace import LaplaceNoise
from dpairs.garbled.noise import BitNoise
from dpairs.garbled.single import evaluate_one, garble_one
from dpairs.randomness import SeededRandomness, SystemRandomness
from tests.protocols.pairwise.pairs import Formulated, some_pairs

FAILURE = 1e-9
"""Probability that a correct program fails one of the statistical tests below, for a fresh seed."""
KEY = bytes(range(16))
AUC = PairFunction(LessThan(2**32 - 1), BitNoise.for_epsilon(1, 1.0))
GINI = PairFunction(Distance(2**12 - 1), LaplaceNoise.for_epsilon(2**12 - 1, 1.0, precision=20, resolution=6))
KENDALL = PairFunction(Concordance(7), BitNoise.for_epsilon(2, 1.0))


def secrets(circuit, instances, seed=b"0123456789abcdef"):
    blocks = expand(seed, (circuit.inputs + 1) * instances).reshape(circuit.inputs + 1, instances, 2)
    return blocks[:-1], blocks[-1] | np.array([0, COLOUR], dtype=np.uint64)


def test_one_and_gate_by_hand():
    """The tables and labels of the half-gates paper, computed block by block."""
    build = Builder()
    circuit = build.compile([build.and_(build.input(GARBLER), build.input(EVALUATOR))])
    zero, delta = secrets(circuit, 1)
    tables, ends = garble(circuit, zero, delta, KEY)

    aes = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()

    def permuted(number: int) -> int:
        return int.from_bytes(aes.update(number.to_bytes(16, "little")), "little")

    def hashed(label: int, tweak: int) -> int:
        return permuted(permuted(label) ^ tweak) ^ permuted(label)

    def number(block: np.ndarray) -> int:
        return int.from_bytes(to_bytes(block), "little")

    a, b, d = (number(block) for block in (zero[0, 0], zero[1, 0], delta[0]))
    colour_a, colour_b = a >> 127, b >> 127
    garbler = hashed(a, 0) ^ hashed(a ^ d, 0) ^ (d if colour_b else 0)
    evaluator = hashed(b, 1) ^ hashed(b ^ d, 1) ^ a
    out = hashed(a, 0) ^ (garbler if colour_a else 0) ^ hashed(b, 1) ^ ((evaluator ^ a) if colour_b else 0)
    assert [number(tables[0, 0, 0]), number(tables[1, 0, 0]), number(ends[0, 0])] == [garbler, evaluator, out]
    for x in (0, 1):
        for y in (0, 1):
            inputs = np.array([[x], [y]], dtype=np.uint8)
            label = evaluate(circuit, batch.active(zero, delta, inputs), tables, KEY)
            assert number(label[0, 0]) == out ^ (d if x & y else 0)


@pytest.mark.parametrize("function", [AUC, GINI, KENDALL], ids=["auc", "gini", "kendall"])
@pytest.mark.parametrize("instances", [1, 2, 31, 33, 200])
def test_the_number_of_instances_changes_no_label(function, instances, monkeypatch):
    """Few or many, by index or by row, in large or small portions: the same tables and labels."""
    circuit = function.circuit
    zero, delta = secrets(circuit, instances)
    tables, ends = garble(circuit, zero, delta, KEY)
    for few, narrow, portion in ((0, 4, 1), (10**6, 0, 10**6), (10**6, 10**6, 7)):
        monkeypatch.setattr(garbling, "FEW", few)
        monkeypatch.setattr(garbling, "NARROW", narrow)
        monkeypatch.setattr(garbling, "BLOCKS_AT_ONCE", portion)
        again, same_ends = garble(circuit, zero, delta, KEY)
        np.testing.assert_array_equal(again, tables)
        np.testing.assert_array_equal(same_ends, ends)
        inputs = np.random.default_rng(1).integers(0, 2, size=zero.shape[:2], dtype=np.uint8)
        labels = evaluate(circuit, batch.active(zero, delta, inputs), tables, KEY)
        symbols = batch.decode(labels, ends, delta)
        bits = circuit.run(inputs)
        np.testing.assert_array_equal(symbols, (bits.T.astype(int) << np.arange(len(bits))).sum(axis=1))


@pytest.mark.parametrize("function", [AUC, GINI, KENDALL], ids=["auc", "gini", "kendall"])
def test_integers_give_the_same_labels_as_arrays(function):
    circuit = function.circuit
    zero, delta = secrets(circuit, 3)
    for instance in range(3):
        alone = zero[:, instance : instance + 1]
        tables, ends = garble(circuit, alone, delta[instance : instance + 1], KEY)
        stream, same_ends = garble_one(circuit, alone[:, 0], delta[instance], KEY)
        assert stream == to_bytes(tables)
        np.testing.assert_array_equal(same_ends, ends[:, 0])
        inputs = np.random.default_rng(instance).integers(0, 2, size=(circuit.inputs, 1), dtype=np.uint8)
        labels = batch.active(alone, delta[instance : instance + 1], inputs)
        expected = evaluate(circuit, labels, tables, KEY)[:, 0]
        np.testing.assert_array_equal(evaluate_one(circuit, labels[:, 0], stream, KEY), expected)


def test_instances_and_gates_never_share_a_tweak():
    """The same labels in two instances, or at two gates, give different tables."""
    build = Builder()
    a, b, c = build.input(GARBLER), build.input(EVALUATOR), build.input(EVALUATOR)
    circuit = build.compile([build.and_(a, b), build.and_(a, c)])
    block = np.array([7, 9], dtype=np.uint64)
    zero = np.broadcast_to(block, (3, 2, 2))
    delta = np.broadcast_to(block | np.array([0, COLOUR], dtype=np.uint64), (2, 2))
    tables, _ = garble(circuit, zero, delta, KEY)
    rows = {to_bytes(row) for row in tables.reshape(-1, 2)}
    assert len(rows) == tables.size // 2


def test_another_key_gives_another_circuit():
    zero, delta = secrets(AUC.circuit, 1)
    tables, ends = garble(AUC.circuit, zero, delta, KEY)
    wrong = evaluate(AUC.circuit, zero, tables, KEY[::-1])
    with pytest.raises(ForgedOutput):
        batch.decode(wrong, ends, delta)


@pytest.mark.parametrize("place", ["table", "input", "output"])
def test_a_changed_bit_is_noticed(place):
    circuit = AUC.circuit
    zero, delta = secrets(circuit, 64)
    tables, ends = garble(circuit, zero, delta, KEY)
    # At colour 0 a garbled row is not used, so the row is changed for every instance at once.
    changed, held = tables.copy(), zero.copy()
    if place == "table":
        changed[:, -1] ^= np.uint64(1)
    if place == "input":
        held[0] ^= np.uint64(1)
    labels = evaluate(circuit, held, changed, KEY)
    if place == "output":
        labels[0, 5, 0] ^= np.uint64(1)
    with pytest.raises(ForgedOutput):
        batch.decode(labels, ends, delta)


def test_colours_say_nothing_about_bits():
    """The colour of an active output label is independent of the bit; a garbler without colours is caught."""
    made = Formulated(lambda x, y: x < y, 255)
    x, y = some_pairs(255, 20_000, 1, seed=4)
    inputs = made.inputs(x[:, 0], y[:, 0])
    zero, delta = secrets(made.circuit, len(x))
    bits = made.circuit.run(inputs)[0]
    for careless in (False, True):
        start = zero & ~np.array([0, COLOUR], dtype=np.uint64) if careless else zero
        shown = batch.active(start, delta, inputs)
        colours = (shown[7, :, 1] >> np.uint64(63)).astype(int)
        table = np.histogram2d(colours, inputs[7], bins=2)[0]
        p_value = stats.chi2_contingency(table).pvalue
        assert (p_value < FAILURE) == careless
    tables, _ = garble(made.circuit, zero, delta, KEY)
    ends = evaluate(made.circuit, batch.active(zero, delta, inputs), tables, KEY)
    table = np.histogram2d((ends[0, :, 1] >> np.uint64(63)).astype(int), bits, bins=2)[0]
    assert stats.chi2_contingency(table).pvalue > FAILURE


@pytest.mark.parametrize("function", [AUC, GINI, KENDALL], ids=["auc", "gini", "kendall"])
def test_real_and_ideal_give_the_same_symbols_from_the_same_tapes(function):
    kernel = function.kernel
    x, y = some_pairs(kernel.largest, 5_000, kernel.columns, seed=6)
    garbler = function.tape(len(x), SeededRandomness(1))
    evaluator = function.tape(len(x), SeededRandomness(2))
    real = batch.real(function, x, y, garbler, evaluator, SystemRandomness())
    np.testing.assert_array_equal(real, function.ideal(x, y, garbler ^ evaluator))
    assert real.max() < function.symbols
    # Negative control: other random bits, other symbols.
    assert (real != function.ideal(x, y, garbler)).any()


def test_memory_of_a_chunk_is_bounded():
    for function in (AUC, GINI, KENDALL):
        size = batch.chunk_size(function.circuit)
        assert 1 <= size <= batch.MOST
        assert size * function.circuit.wires * 16 <= batch.CHUNK_BYTES


def test_no_secrets_are_shown():
    zero, _ = secrets(AUC.circuit, 1)
    shown = repr(garbling.State(AUC.circuit, zero)) + repr(garbling.Hash(KEY, AUC.circuit, 1, 2))
    assert str(int(zero[0, 0, 0])) not in shown
    assert "array" not in shown


def test_blocks_as_bytes():
    blocks = expand(KEY, 6).reshape(2, 3, 2)
    np.testing.assert_array_equal(from_bytes(to_bytes(blocks), 2, 3), blocks)
    assert to_bytes(blocks[:1]) == to_bytes(expand(KEY, 3)), "a longer stream starts like a shorter one"
