"""What a pair computes: a kernel with its noise, as one circuit, and directly ("ideal")."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..errors import BadParameter, BadValue
from ..formats.checks import integer
from ..randomness import Randomness
from .arithmetic import Space
from .bits import Bits, Words, bits_of, tape_bits, tape_words
from .circuit import EVALUATOR, GARBLER, Circuit
from .kernels import PairKernel
from .noise import Noise

IDEAL_CHUNK = 2**14
"""Pairs whose random bits are held at once."""


@dataclass(frozen=True)
class PairFunction:
    """symbol = noise(kernel(x, y)), with x the garbler's values and y the evaluator's.

    Each party's inputs are its values, bit by bit, and then its random bits; a random bit of the circuit is
    the XOR of the two parties' bits.
    """

    kernel: PairKernel
    noise: Noise

    def __post_init__(self) -> None:
        """Refuse noise made for other levels."""
        if self.noise.top != self.kernel.top:
            raise BadParameter(
                f"noise made for levels up to {self.noise.top} does not fit a kernel with {self.kernel.top}"
            )

    @cached_property
    def circuit(self) -> Circuit:
        space, kernel = Space(), self.kernel
        x = [space.number(GARBLER, kernel.largest) for _ in range(kernel.columns)]
        y = [space.number(EVALUATOR, kernel.largest) for _ in range(kernel.columns)]
        random_bits = [space.random_bit() for _ in range(self.random_bits)]
        level = kernel.build(x, y, random_bits[: kernel.random_bits])
        return space.compile(self.noise.build(level, random_bits[kernel.random_bits :]))

    @cached_property
    def digest(self) -> bytes:
        """A hash of the circuit: two who disagree about it notice with the first message."""
        circuit = self.circuit
        sizes = (circuit.garbler, circuit.evaluator, circuit.wires, self.symbols)
        summary = hashlib.sha256(np.array(sizes, dtype="<i8").tobytes())
        for gates in circuit.levels:
            wires = np.array([gates.left, gates.right, gates.out], dtype="<i8")
            summary.update(gates.kind.encode() + wires.tobytes() + gates.flip.tobytes())
        summary.update(circuit.outputs.astype("<i8").tobytes() + circuit.flip.tobytes())
        return summary.digest()

    @property
    def random_bits(self) -> int:
        """Random bits that each party contributes."""
        return self.kernel.random_bits + self.noise.random_bits

    @property
    def width(self) -> int:
        return self.kernel.largest.bit_length()

    @property
    def words(self) -> int:
        """Words of tape that one party's random bits take for one pair."""
        return tape_words(self.random_bits)

    @property
    def symbols(self) -> int:
        """How many outputs there are."""
        return self.noise.symbols

    @cached_property
    def decode(self) -> NDArray[np.float64]:
        """The real kernel value that each symbol stands for."""
        return float(self.kernel.offset) + float(self.kernel.step) * self.noise.decode

    def tape(self, pairs: int, bits: Randomness) -> Words:
        """Fresh random bits of one party for several pairs: a row of words each."""
        return bits.words(pairs * self.words).reshape(pairs, self.words)

    def values(self, values: Sequence[int] | NDArray[np.uint64]) -> Words:
        """Encoded values as a table: a row for each pair, a column for each of the kernel's."""
        table = np.asarray(values)
        table = table.reshape(-1, 1) if table.ndim == 1 and self.kernel.columns == 1 else np.atleast_2d(table)
        if table.ndim != 2 or table.shape[1] != self.kernel.columns:
            raise BadValue(f"this kernel takes {self.kernel.columns} encoded values of each person")
        if table.size:
            for end in (table.min(), table.max()):
                integer("an encoded value", end, 0, self.kernel.largest)
        return table.astype(np.uint64)

    def inputs(self, values: Words, tape: Words) -> Bits:
        """One party's input bits: a row for each wire, a column for each pair."""
        rows = [bits_of(values[:, column], self.width) for column in range(self.kernel.columns)]
        return np.concatenate([*rows, tape_bits(tape, self.random_bits)])

    def ideal(self, x: Words, y: Words, tape: Words) -> NDArray[np.int64]:
        """The symbols when the XOR of both parties' random bits is ``tape``, without a circuit."""
        symbols = np.empty(len(x), dtype=np.int64)
        for start in range(0, len(x), IDEAL_CHUNK):
            part = slice(start, start + IDEAL_CHUNK)
            random_bits = tape_bits(tape[part], self.random_bits)
            levels = self.kernel.plain(x[part], y[part], random_bits[: self.kernel.random_bits])
            symbols[part] = self.noise.ideal(levels, random_bits[self.kernel.random_bits :])
        return symbols
