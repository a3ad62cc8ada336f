"""Damaged messages of a pair: each ends in an error of ours, none crashes, hangs or takes memory."""

import copy
import os
import random
import tracemalloc
from typing import Any

import pytest

from dpairs import BadMessage, WrongStudy
from dpairs.garbled.extension import BREAK_EVEN
from dpairs.garbled.function import PairFunction
from dpairs.garbled.kernels import Distance, LessThan
from dpairs.garbled.laplace import LaplaceNoise
from dpairs.garbled.noise import BitNoise
from dpairs.garbled.session import Evaluator, Garbler, PairDecoder
from dpairs.randomness import SeededRandomness
from tests.protocols.pairwise.pairs import PAIR, exchange

SMALL = PairFunction(LessThan(15), BitNoise.for_epsilon(1, 1.0, precision=4))
EXTENDED = PairFunction(Distance(15), LaplaceNoise.for_epsilon(15, 1.0, precision=40))
STEPS = ("offer", "choice", "circuit", "table", "labels")
FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
ROUNDS = 10_000 if FULL else 1_500
PEAK = 2**21
"""Bytes that reading one damaged message may take: a small circuit's arrays, not the message's claims."""


class Exchange:
    """Every state of one honest exchange, so that a damaged message can be given to it at its step."""

    def __init__(self, function: PairFunction) -> None:
        self.function = function
        garbler = Garbler(function, PAIR, [3], SeededRandomness(1))
        evaluator = Evaluator(function, PAIR, [9], SeededRandomness(2))
        self.states: dict[str, Any] = {"offer": copy.deepcopy(evaluator)}
        offer = garbler.offer()
        self.states["choice"] = copy.deepcopy(garbler)
        choice = evaluator.choose(offer)
        self.states["circuit"] = copy.deepcopy(evaluator)
        circuit = garbler.answer(choice)
        labels = evaluator.evaluate(circuit)
        self.wires = dict(zip(STEPS, (offer, choice, circuit, garbler.table(), labels), strict=True))

    def give(self, step: str, wire: bytes) -> None:
        """Hand a message over, and go on to the collector with the others as they were."""
        wires = {**self.wires, step: wire}
        if step == "offer":
            wires["choice"] = copy.deepcopy(self.states["offer"]).choose(wire)
        if step in ("offer", "choice"):
            garbler = copy.deepcopy(self.states["choice"])
            wires["circuit"] = garbler.answer(wires["choice"])
            wires["table"] = garbler.table()
        if step in ("offer", "choice", "circuit"):
            evaluator = copy.deepcopy(self.states["circuit"])
            wires["labels"] = evaluator.evaluate(wires["circuit"])
        PairDecoder(self.function, PAIR).decode(wires["table"], wires["labels"])


def damaged(rng: random.Random, wire: bytes, others: list[bytes]) -> bytes:
    """Flipped bits, cut, grown, with a part moved, or with a part of another message."""
    data = bytearray(wire)
    how = rng.randrange(8)
    if how == 0:
        for _ in range(rng.randrange(1, 9)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif how == 1:
        data[rng.randrange(min(40, len(data)))] ^= 1 << rng.randrange(8)
    elif how == 2:
        del data[rng.randrange(len(data)) :]
    elif how == 3:
        data += rng.randbytes(rng.choice((1, 2, 16, 34, 1000)))
    elif how == 4:
        start, end = sorted(rng.sample(range(len(data) + 1), 2))
        data[start:end] = data[start:end][::-1]
    elif how == 5:
        size = min(16, len(data) // 2)
        a, b = rng.randrange(len(data) - size), rng.randrange(len(data) - size)
        data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]
    elif how == 6:
        other = rng.choice(others)
        place = rng.randrange(min(len(other), len(data)))
        data[place:] = other[place:]
    else:
        start = rng.randrange(len(data))
        data[start : start + 32] = rng.choice((bytes(32), b"\xff" * 32, rng.randbytes(32)))
    return bytes(data)


def outcomes(function: PairFunction, rounds: int, seed: int, steps: tuple[str, ...] = STEPS) -> set[str]:
    honest, rng = Exchange(function), random.Random(seed)
    others = [*honest.wires.values(), *exchange(function, [5], [2], seed=7)]
    errors = set()
    for count in range(rounds):
        step = steps[count % len(steps)]
        wire = damaged(rng, honest.wires[step], others)
        if wire == honest.wires[step]:
            continue
        with pytest.raises((BadMessage, WrongStudy)) as caught:
            honest.give(step, wire)
        errors.add(type(caught.value).__name__)
    return errors


def test_thousands_of_damaged_messages():
    kinds = outcomes(SMALL, ROUNDS, seed=1)
    assert {"BadMessage", "WrongStudy", "WrongPartner", "Replayed", "OutOfOrder", "TrailingBytes"} <= kinds
    assert "ForgedOutput" in kinds


def test_damaged_messages_of_extended_transfers():
    assert EXTENDED.circuit.evaluator > BREAK_EVEN
    assert {"BadMessage", "Replayed", "TrailingBytes"} <= outcomes(EXTENDED, 400 if FULL else 150, seed=2)


def test_the_honest_exchange_is_accepted():
    """Negative control of the tests above: what is not damaged is decoded."""
    for function in (SMALL, EXTENDED):
        honest = Exchange(function)
        for step, wire in honest.wires.items():
            honest.give(step, wire)


def test_memory_is_bounded_by_the_circuit_not_by_the_message():
    honest, rng = Exchange(SMALL), random.Random(3)
    others = list(honest.wires.values())
    huge = {step: wire + bytes(2**22) for step, wire in honest.wires.items()}
    tracemalloc.start()
    try:
        for count in range(300):
            step = STEPS[count % len(STEPS)]
            wire = huge[step] if count < len(STEPS) else damaged(rng, honest.wires[step], others)
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            if wire != honest.wires[step]:
                with pytest.raises((BadMessage, WrongStudy)):
                    honest.give(step, wire)
            assert tracemalloc.get_traced_memory()[1] - before < PEAK
    finally:
        tracemalloc.stop()
