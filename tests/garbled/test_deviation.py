"""Partners who leave the protocol: what they can make happen, and who gets to see it."""

import pytest

from dpairs.errors import BadMessage, ForgedOutput, OutOfOrder
from dpairs.garbled.extension import BREAK_EVEN, HASHES
from dpairs.garbled.function import PairFunction
from dpairs.garbled.kernels import Distance, LessThan
from dpairs.garbled.laplace import LaplaceNoise
from dpairs.garbled.noise import BitNoise
from dpairs.garbled.session import HASH, Evaluator, Garbler, PairDecoder
from dpairs.garbled.wire import Kind
from dpairs.randomness import SeededRandomness
from tests.protocols.pairwise.pairs import PAIR

AUC = PairFunction(LessThan(255), BitNoise.for_epsilon(1, 1.0, precision=8))
GINI = PairFunction(Distance(255), LaplaceNoise.for_epsilon(255, 1.0, precision=64))


class Spoiler(Garbler):
    """Selective failure: the evaluator's first bit gets a useless label, if it is 1."""

    def _send(self, kind: Kind, payload: bytes) -> bytes:
        if kind == Kind.CIRCUIT:
            spoiled = bytearray(payload)
            for choice in (1, 3):
                spoiled[HASH + 32 * (choice - 1)] ^= 1
            payload = bytes(spoiled)
        return super()._send(kind, payload)


def test_a_garbler_can_make_a_pair_fail_by_a_bit_and_only_the_collector_sees_it():
    """The evaluator sends as much, and nothing else, whether its value was hit or not."""
    sent: dict[int, set[tuple[int, int]]] = {0: set(), 1: set()}
    words: set[str] = set()
    failed: dict[int, set[bool]] = {0: set(), 1: set()}
    for seed in range(12):
        garbler = Spoiler(AUC, PAIR, [3], SeededRandomness(2 * seed))
        evaluator = Evaluator(AUC, PAIR, [17 * seed], SeededRandomness(2 * seed + 1))
        bit = int(evaluator.view.inputs[0])
        labels = evaluator.evaluate(garbler.answer(evaluator.choose(garbler.offer())))
        sent[bit].add((len(evaluator.view.sent), len(labels)))
        try:
            PairDecoder(AUC, PAIR).decode(garbler.table(), labels)
            failed[bit].add(False)
        except ForgedOutput as error:
            failed[bit].add(True)
            words |= set(str(error).split())
    assert failed == {0: {False}, 1: {True}}, "the attack works, as far as the collector"
    assert sent[0] == sent[1]
    assert words
    assert words.isdisjoint({"garbler", "evaluator"}), "no side is named"


def test_a_garbler_who_refuses_choices_sends_nothing_and_never_goes_on():
    """To the evaluator and to the collector that is a device that was lost."""
    assert GINI.circuit.evaluator > BREAK_EVEN
    garbler = Garbler(GINI, PAIR, [3], SeededRandomness(2))
    evaluator = Evaluator(GINI, PAIR, [200], SeededRandomness(3))
    choice = evaluator.choose(garbler.offer())
    wrong = bytearray(choice)
    wrong[len(wrong) - HASHES] ^= 1
    before = garbler.view.sent
    with pytest.raises(BadMessage, match="do not fit together"):
        garbler.answer(bytes(wrong))
    with pytest.raises(OutOfOrder, match="over"):
        garbler.answer(choice)
    with pytest.raises(OutOfOrder):
        garbler.table()
    assert garbler.view.sent == before
