"""One pair from the first message to the symbol: what each party may do, sees and refuses."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from dpairs import (
    BadMessage,
    BadParameter,
    BadValue,
    ForgedOutput,
    OutOfOrder,
    Replayed,
    TrailingBytes,
    WrongPartner,
    WrongStudy,
)
from dpairs.garbled.bits import tape_bits
from dpairs.garbled.custom import Table
from dpairs.garbled.function import PairFunction
from dpairs.garbled.kernels import Concordance, Distance, Equal, LessThan
from dpairs.garbled.laplace import LaplaceNoise
from dpairs.garbled.noise import BitNoise
from dpairs.garbled.session import HASH, Evaluator, Garbler, PairDecoder
from dpairs.garbled.wire import HEAD, Kind, Pair
from dpairs.randomness import SeededRandomness, TapeRandomness
from tests.protocols.pairwise.pairs import PAIR, exchange, symbol_of

AUC = PairFunction(LessThan(255), BitNoise.for_epsilon(1, 1.0, precision=8))
GINI = PairFunction(Distance(255), LaplaceNoise.for_epsilon(255, 1.0, precision=16))
KENDALL = PairFunction(Concordance(7), BitNoise.for_epsilon(2, 1.0))
TABLE = PairFunction(Table(((0, 2), (2, 1))), LaplaceNoise.for_epsilon(2, 1.0, precision=8))


@pytest.mark.parametrize("function", [AUC, GINI, KENDALL, TABLE], ids=["auc", "gini", "kendall", "table"])
def test_the_collector_decodes_what_ideal_says(function):
    rng = np.random.default_rng(5)
    for seed in range(12):
        x, y = rng.integers(0, function.kernel.largest, size=(2, 1, function.kernel.columns), endpoint=True)
        messages = exchange(function, x[0].tolist(), y[0].tolist(), seed)
        tapes = [function.tape(1, SeededRandomness(2 * seed + side)) for side in (0, 1)]
        expected = function.ideal(x.astype(np.uint64), y.astype(np.uint64), tapes[0] ^ tapes[1])
        assert symbol_of(function, messages) == expected[0]


def test_the_operating_systems_bits_are_the_default():
    symbols = []
    for _ in range(3):
        garbler, evaluator = Garbler(AUC, PAIR, [3]), Evaluator(AUC, PAIR, [200])
        labels = evaluator.evaluate(garbler.answer(evaluator.choose(garbler.offer())))
        symbols.append(PairDecoder(AUC, PAIR).decode(garbler.table(), labels))
    assert set(symbols) <= {0, 1}


def test_a_pair_of_32_bits_is_small_on_the_wire():
    auc = PairFunction(LessThan(2**32 - 1), BitNoise.for_epsilon(1, 1.0, precision=16))
    assert auc.circuit.ands <= 47
    assert sum(map(len, exchange(auc, [1], [2], 1))) <= 5000
    gini = PairFunction(Distance(2**32 - 1), LaplaceNoise.for_epsilon(2**32 - 1, 1.0, precision=40))
    assert sum(map(len, exchange(gini, [1], [2], 1))) <= 60_000


# ---------------------------------------------------------------- the wrong message


def parties(seed=1):
    return (
        Garbler(AUC, PAIR, [3], SeededRandomness(2 * seed)),
        Evaluator(AUC, PAIR, [200], SeededRandomness(2 * seed + 1)),
    )


def test_another_study():
    other = replace(PAIR, study="a5" * 32)
    garbler, evaluator = parties()
    with pytest.raises(WrongStudy, match="a5a5"):
        evaluator.choose(Garbler(AUC, other, [3]).offer())
    messages, others = exchange(AUC, [3], [200], 1), exchange(AUC, [3], [200], 1, other)
    garbler.offer()
    with pytest.raises(WrongStudy):
        garbler.answer(others[1])
    for table, labels in ((messages[3], others[4]), (others[3], messages[4])):
        with pytest.raises(WrongStudy):
            PairDecoder(AUC, PAIR).decode(table, labels)


def test_a_study_whose_id_only_starts_alike():
    """The head has eight bytes of the id; the link holds all of it."""
    alike = replace(PAIR, study=PAIR.study[:16] + "0" * 48)
    with pytest.raises(BadMessage, match="another exchange"):
        Evaluator(AUC, alike, [200]).choose(Garbler(AUC, PAIR, [3]).offer())


@pytest.mark.parametrize(
    "change", [{"evaluator": 9}, {"garbler": 2}, {"pairing": 1}, {"garbler": 8, "evaluator": 3}]
)
def test_another_pair(change):
    other = replace(PAIR, **change)
    _, evaluator = parties()
    with pytest.raises(WrongPartner):
        evaluator.choose(Garbler(AUC, other, [3]).offer())
    messages, others = exchange(AUC, [3], [200], 1), exchange(AUC, [3], [200], 1, other)
    with pytest.raises(WrongPartner):
        PairDecoder(AUC, PAIR).decode(messages[3], others[4])


def test_another_circuit():
    other = PairFunction(LessThan(255), BitNoise.for_epsilon(1, 2.0, precision=8))
    with pytest.raises(BadMessage, match="another exchange"):
        Evaluator(other, PAIR, [200]).choose(Garbler(AUC, PAIR, [3]).offer())


def test_a_message_twice():
    garbler, evaluator = parties()
    offer = garbler.offer()
    choice = evaluator.choose(offer)
    with pytest.raises(Replayed, match="used before"):
        evaluator.choose(offer)
    circuit = garbler.answer(choice)
    with pytest.raises(Replayed, match="used before"):
        garbler.answer(choice)
    labels = evaluator.evaluate(circuit)
    with pytest.raises(Replayed, match="used before"):
        evaluator.evaluate(circuit)
    with pytest.raises(Replayed, match="used before"):
        evaluator.evaluate(offer)
    collector, table = PairDecoder(AUC, PAIR), garbler.table()
    collector.decode(table, labels)
    with pytest.raises(Replayed, match="decoded before"):
        collector.decode(table, labels)


def test_a_message_of_an_earlier_exchange_of_the_same_pair():
    old = exchange(AUC, [3], [200], seed=1)
    garbler, evaluator = parties(seed=2)
    choice = evaluator.choose(garbler.offer())
    with pytest.raises(Replayed, match="another exchange"):
        garbler.answer(old[1])
    with pytest.raises(Replayed, match="another exchange"):
        evaluator.evaluate(old[2])
    labels, table = evaluator.evaluate(garbler.answer(choice)), garbler.table()
    for pair in ((old[3], labels), (table, old[4])):
        with pytest.raises(Replayed, match="different exchanges"):
            PairDecoder(AUC, PAIR).decode(*pair)
    assert PairDecoder(AUC, PAIR).decode(table, labels) in (0, 1), "and the good ones still decode"


def test_messages_out_of_order():
    old = exchange(AUC, [3], [200], seed=1)
    garbler, evaluator = parties()
    with pytest.raises(OutOfOrder, match="before OFFER was sent"):
        garbler.answer(old[1])
    with pytest.raises(OutOfOrder, match="before CHOICE was sent"):
        evaluator.evaluate(old[2])
    with pytest.raises(OutOfOrder, match="expected, not CIRCUIT"):
        evaluator.choose(old[2])
    with pytest.raises(OutOfOrder, match="expected, not LABELS"):
        PairDecoder(AUC, PAIR).decode(old[4], old[3])
    with pytest.raises(OutOfOrder, match="after CIRCUIT"):
        garbler.table()
    offer = garbler.offer()
    with pytest.raises(OutOfOrder, match="made before"):
        garbler.offer()
    with pytest.raises(Replayed):  # one's own message, sent back
        garbler.answer(offer)
    evaluator.choose(offer)


def deliver(kind, wire):
    """Give a message to the one who expects it, all others being as they should."""
    messages = exchange(AUC, [3], [200], seed=1)
    garbler, evaluator = parties()
    if kind == Kind.OFFER:
        evaluator.choose(wire)
    elif kind == Kind.CHOICE:
        garbler.offer()
        garbler.answer(wire)
    elif kind == Kind.CIRCUIT:
        evaluator.choose(messages[0])
        evaluator.evaluate(wire)
    elif kind == Kind.TABLE:
        PairDecoder(AUC, PAIR).decode(wire, messages[4])
    else:
        PairDecoder(AUC, PAIR).decode(messages[3], wire)


@pytest.mark.parametrize("kind", Kind)
def test_a_message_with_trailing_bytes_or_cut(kind):
    order = [Kind.OFFER, Kind.CHOICE, Kind.CIRCUIT, Kind.TABLE, Kind.LABELS]
    wire = exchange(AUC, [3], [200], seed=1)[order.index(kind)]
    deliver(kind, wire)
    with pytest.raises(TrailingBytes, match="1 bytes follow"):
        deliver(kind, wire + b"\x00")
    for end in (len(wire) - 1, HEAD.size, HEAD.size - 1, 0):
        with pytest.raises(BadMessage, match="bytes"):
            deliver(kind, wire[:end])


def test_a_refused_message_changes_nothing():
    """The right message is still taken after a wrong one."""
    garbler, evaluator = parties()
    offer = garbler.offer()
    with pytest.raises(BadMessage):
        evaluator.choose(offer[: HEAD.size] + b"\xff" * 32)
    choice = evaluator.choose(offer)
    with pytest.raises(BadMessage):
        garbler.answer(choice[: HEAD.size] + b"\xff" * 32 + choice[HEAD.size + 32 :])
    circuit = garbler.answer(choice)
    with pytest.raises(TrailingBytes):
        evaluator.evaluate(circuit + b"\x00")
    labels = evaluator.evaluate(circuit)
    assert PairDecoder(AUC, PAIR).decode(garbler.table(), labels) in (0, 1)


@pytest.mark.parametrize("wire", [b"", b"\x01", bytes(34), b"\x02" + bytes(33), "text", None, bytearray(40)])
def test_what_is_no_message(wire):
    with pytest.raises((BadMessage, WrongStudy)):
        Evaluator(AUC, PAIR, [200]).choose(wire)


# ---------------------------------------------------------------- forged outputs


def test_a_forged_label_is_refused():
    *_, table, labels = exchange(GINI, [3], [200], seed=1)
    start = HEAD.size + HASH
    for forged in (
        labels[:start] + bytes(16) + labels[start + 16 :],
        labels[:-1] + bytes([labels[-1] ^ 1]),
        labels[:start] + labels[start + 16 : start + 32] + labels[start : start + 16] + labels[start + 32 :],
    ):
        with pytest.raises(ForgedOutput, match="did not give"):
            PairDecoder(GINI, PAIR).decode(table, forged)
    assert PairDecoder(GINI, PAIR).decode(table, labels) < GINI.symbols


def test_a_changed_table_is_refused():
    """Even where no label points to: the evaluator was told which table it would be."""
    *_, table, labels = exchange(AUC, [3], [200], seed=1)
    for place in (HEAD.size, HEAD.size + HASH):
        changed = table[:place] + bytes([table[place] ^ 1]) + table[place + 1 :]
        with pytest.raises(ForgedOutput, match="decoding table"):
            PairDecoder(AUC, PAIR).decode(changed, labels)


def test_the_evaluator_cannot_flip_the_output_without_delta():
    """What it has seen holds no label of another output: all its blocks are tried."""
    garbler, evaluator = parties()
    labels = evaluator.evaluate(garbler.answer(evaluator.choose(garbler.offer())))
    table = garbler.table()
    PairDecoder(AUC, PAIR).decode(table, labels)
    seen = b"".join(wire[HEAD.size :] for wire in evaluator.view.received)
    for place in range(0, len(seen) - 15, 16):
        forged = labels[:-16] + seen[place : place + 16]
        with pytest.raises(ForgedOutput):
            PairDecoder(AUC, PAIR).decode(table, forged)


# ---------------------------------------------------------------- what each party sees


def test_views_are_separate_and_hold_nothing_of_the_others():
    x, y = 0x5A5A1234, 0x3C3C9876
    auc = PairFunction(LessThan(2**32 - 1), BitNoise.for_epsilon(1, 1.0, precision=48))
    for seed in range(20):
        garbler = Garbler(auc, PAIR, [x], SeededRandomness(2 * seed))
        evaluator = Evaluator(auc, PAIR, [y], SeededRandomness(2 * seed + 1))
        collector = PairDecoder(auc, PAIR)
        labels = evaluator.evaluate(garbler.answer(evaluator.choose(garbler.offer())))
        collector.decode(garbler.table(), labels)
        views = [garbler.view, evaluator.view, collector.view]
        assert [view.role for view in views] == ["garbler", "evaluator", "collector"]
        tapes = [auc.tape(1, SeededRandomness(2 * seed + side)) for side in (0, 1)]
        random_bits = [tape_bits(tape, auc.random_bits)[:, 0] for tape in tapes]
        noise = (
            np.packbits(random_bits[0] ^ random_bits[1]).tobytes()[:6],
            (tapes[0] ^ tapes[1]).tobytes()[:6],
        )
        own = [(x, tapes[0]), (y, tapes[1]), (None, None)]
        for view, (value, _) in zip(views, own, strict=True):
            held = b"".join((*view.sent, *view.received, np.packbits(view.inputs).tobytes()))
            for number in {x, y} - {value}:
                assert number.to_bytes(4, "big") not in held
                assert number.to_bytes(4, "little") not in held
            assert all(part not in held for part in noise)
        # The noise is the XOR of two tapes, and each party has one of them only.
        for view, mine in zip(views[:2], random_bits, strict=True):
            np.testing.assert_array_equal(view.inputs[-auc.random_bits :], mine)
            assert (mine != random_bits[0] ^ random_bits[1]).any()
        assert collector.view.inputs.size == 0
        assert collector.view.received == (garbler.view.sent[-1], evaluator.view.sent[-1])
        assert set(evaluator.view.received) == set(garbler.view.sent[:2])


def test_no_secrets_are_shown():
    tape = bytes(range(64, 64 + 8 * 200 % 190)) * 40
    garbler = Garbler(AUC, PAIR, [123], TapeRandomness(tape))
    evaluator = Evaluator(AUC, PAIR, [231], SeededRandomness(1))
    labels = evaluator.evaluate(garbler.answer(evaluator.choose(garbler.offer())))
    collector = PairDecoder(AUC, PAIR)
    symbol = collector.decode(garbler.table(), labels)
    for item in (garbler, evaluator, collector, garbler.view, evaluator.view, collector.view):
        shown = repr(item) + str(item)
        assert "123" not in shown
        assert "231" not in shown
        assert "array" not in shown
        assert "\\x" not in shown
        assert f"symbol={symbol}" not in shown
    assert "circuit" in repr(garbler)


# ---------------------------------------------------------------- what cannot be a pair


@pytest.mark.parametrize(
    "change",
    [
        {"study": "ab"},
        {"study": "zz" * 32},
        {"study": 7},
        {"garbler": -1},
        {"evaluator": 3},
        {"pairing": 2**60},
    ],
)
def test_pairs_that_make_no_sense(change):
    with pytest.raises(BadParameter, match="pair"):
        replace(PAIR, **change)


@pytest.mark.parametrize("values", [[256], [-1], [1, 2], [], [1.5]])
def test_values_that_do_not_fit(values):
    with pytest.raises((BadValue, BadParameter), match="encoded value"):
        Garbler(AUC, PAIR, values)


def test_noise_of_another_kernel_is_refused():
    with pytest.raises(BadParameter, match="does not fit"):
        PairFunction(Equal(7), BitNoise.for_epsilon(2, 1.0))


def test_kinds_of_message_keep_their_numbers():
    assert [kind.name for kind in Kind] == ["OFFER", "CHOICE", "CIRCUIT", "LABELS", "TABLE"]
    assert HEAD.size == 34


def test_the_core_needs_no_cryptography():
    """A participant without pairs installs numpy and scipy only; so does an ideal simulation."""
    code = (
        "import sys, dpairs, dpairs.garbled.function, dpairs.garbled.custom, dpairs.garbled.noise_registry;"
        "print([name for name in ('cryptography', 'rbcl') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_pair_is_known_by_its_people_and_round():
    names = {Pair("5a" * 32, a, b, r).name for a, b, r in ((3, 8, 0), (8, 3, 0), (3, 8, 1), (3, 9, 0))}
    assert len(names) == 4
