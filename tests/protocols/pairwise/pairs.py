"""What the tests of pairs share: circuits run in the clear and garbled, and whole exchanges."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dpairs.garbled.arithmetic import Bit, Number, Space
from dpairs.garbled.batch import active, chunk_size, decode
from dpairs.garbled.bits import bits_of
from dpairs.garbled.blocks import COLOUR, expand
from dpairs.garbled.circuit import EVALUATOR, GARBLER, Circuit
from dpairs.garbled.function import PairFunction
from dpairs.garbled.garbling import evaluate, garble
from dpairs.garbled.session import Evaluator, Garbler, PairDecoder
from dpairs.garbled.wire import Pair
from dpairs.randomness import SeededRandomness

PAIR = Pair("5a" * 32, garbler=3, evaluator=8)


def signed(bits: np.ndarray, number: Number | Bit) -> np.ndarray:
    """The numbers that rows of output bits stand for."""
    weights = [1 << place for place in range(len(bits))]
    if isinstance(number, Number) and number.low < 0:
        weights[-1] = -weights[-1]
    kind = object if len(bits) > 62 else np.int64
    return sum(row.astype(kind) * weight for row, weight in zip(bits, weights, strict=True))


def garbled(circuit: Circuit, inputs: np.ndarray) -> np.ndarray:
    """The output bits by garbling and evaluation, in chunks."""
    size, parts = chunk_size(circuit), []
    for start in range(0, inputs.shape[1], size):
        part = inputs[:, start : start + size]
        secret = expand(start.to_bytes(16, "big"), (circuit.inputs + 1) * part.shape[1])
        secret = secret.reshape(circuit.inputs + 1, part.shape[1], 2)
        zero, delta = secret[:-1], secret[-1] | np.array([0, COLOUR], dtype=np.uint64)
        tables, ends = garble(circuit, zero, delta, b"a key of 16 byte")
        labels = evaluate(circuit, active(zero, delta, part), tables, b"a key of 16 byte")
        decode(labels, ends, delta)  # refuses labels that are neither of the two
        parts.append((labels[..., 1] ^ ends[..., 1]) >> np.uint64(63))
    return np.concatenate(parts, axis=1).astype(np.uint8)


Formula = Callable[[Number, Number], Number | Bit]


class Formulated:
    """A circuit of two inputs, from 0 to ``largest`` each."""

    def __init__(self, formula: Formula, largest: int) -> None:
        space = Space()
        x, y = space.number(GARBLER, largest), space.number(EVALUATOR, largest)
        self.width = largest.bit_length()
        self.result = formula(x, y)
        self.circuit = space.compile(self.result)

    def inputs(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return np.concatenate([bits_of(side.astype(np.uint64), self.width) for side in (x, y)])

    def clear(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return signed(self.circuit.run(self.inputs(x, y)), self.result)

    def garbled(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return signed(garbled(self.circuit, self.inputs(x, y)), self.result)


def every_pair(bits: int) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of numbers of so many bits."""
    grid = np.indices((2**bits, 2**bits), dtype=np.uint64).reshape(2, -1)
    return grid[0], grid[1]


def some_pairs(largest: int, count: int, columns: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Random pairs, a third of them near each other, and all pairs of edges; a row each."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, largest, size=(2, count, columns), endpoint=True, dtype=np.uint64)
    third = count // 3
    near = np.minimum(x[:third] + rng.integers(0, 2, size=(third, columns), dtype=np.uint64), largest)
    y[:third] = np.maximum(near, x[:third])  # also when x + 1 wraps around
    marks = {0, 1, 2, largest // 2, largest // 2 + 1, largest - 1, largest}
    edges = np.array(sorted(mark for mark in marks if mark <= largest), dtype=np.uint64)
    ends = np.array(np.meshgrid(*[edges] * (2 * columns))).reshape(2 * columns, -1).T
    return np.concatenate([x, ends[:, :columns]]), np.concatenate([y, ends[:, columns:]])


def exchange(function: PairFunction, x: list[int], y: list[int], seed: int, pair: Pair = PAIR) -> list[bytes]:
    """The five messages of one pair: offer, choice, circuit, table, labels."""
    garbler = Garbler(function, pair, x, SeededRandomness(2 * seed))
    evaluator = Evaluator(function, pair, y, SeededRandomness(2 * seed + 1))
    offer = garbler.offer()
    choice = evaluator.choose(offer)
    circuit = garbler.answer(choice)
    labels = evaluator.evaluate(circuit)
    return [offer, choice, circuit, garbler.table(), labels]


def symbol_of(function: PairFunction, messages: list[bytes], pair: Pair = PAIR) -> int:
    return PairDecoder(function, pair).decode(messages[3], messages[4])
