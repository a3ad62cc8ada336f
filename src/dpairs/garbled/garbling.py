"""Half-gates: garbling and evaluating many instances of a circuit at once.

Zahur, Rosulek, Evans, "Two halves make a whole: reducing data transfer in garbled circuits using half
gates", EUROCRYPT 2015: two blocks per AND, with free XOR and point-and-permute. A wire has a label of 128
bits for 0 and that label XOR delta for 1; the highest bit of delta is 1, so the highest bit of a label (its
colour) tells the two apart without telling which is which. NOT swaps the two labels: free.

Arrays have an axis for the wires or gates, one for the instances, and one for the two words of a block. One
pair and a hundred thousand run the same arithmetic; only how operands are fetched depends on the shape:
wires of a wide level of few instances are gathered by index, all others are copied row by row. A session,
which has one instance, uses `single`: the same garbling without arrays.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .blocks import Buffer, Labels, permutation
from .circuit import Circuit, Gates

BLOCKS_AT_ONCE = 2048
"""AND gates times instances that are hashed together: the work stays in the processor's second cache."""
FEW = 32
"""Up to so many instances, a level of more than `NARROW` gates is gathered by index."""
NARROW = 4
_SIGN = np.int64(63)


class Desk:
    """Working memory for a number of gates of one level, with every part of it at hand.

    The axes are (left or right operand, value 0 or 1, gate, instance, word); an evaluator holds one value.
    """

    def __init__(self, memory: Sequence[Buffer], values: int, gates: int, instances: int) -> None:
        shape = (2, values, gates, instances)
        self.blocks, self.inner, self.outer = (each.shaped(*shape) for each in memory[:3])
        self.raw_blocks, self.raw_outer = self.blocks.data.cast("B"), self.outer.data.cast("B")
        self.room_inner, self.room_outer = (each.room(self.blocks.nbytes) for each in memory[1:3])
        self.held, self.other = self.blocks[:, 0], self.blocks[:, -1]
        self.hashed, self.hashed_other = self.inner[:, 0], self.inner[:, -1]
        colours = memory[3].shaped(2, gates, instances)
        self.left, self.right = colours
        self.signs = self.held[..., 1].view(np.int64)
        self.low, self.high = (colours[..., word].view(np.int64) for word in (0, 1))
        self.term, self.out = (each.shaped(gates, instances) for each in memory[4:])

    def colour(self) -> None:
        """Set ``left`` and ``right`` to all ones where the held operand's colour is 1, else to zeros."""
        np.right_shift(self.signs, _SIGN, self.high)
        np.copyto(self.low, self.high)


class Hash:
    """H(x, i) of `blocks` for the operands of some gates, with its working memory."""

    def __init__(self, key: bytes, circuit: Circuit, instances: int, values: int) -> None:
        self._instances, self._values = instances, values
        widest = max((gates.size for gates in circuit.levels if gates.kind == "and"), default=1)
        self.gates = min(widest, max(1, BLOCKS_AT_ONCE // instances))
        size = self.gates * instances
        self._memory = [Buffer(blocks * size) for blocks in (*[2 * values] * 3, 2, 1, 1)]
        self._desks: dict[int, Desk] = {}
        self._encrypt = permutation(key)
        # Few instances: every gate's tweak at once. Many: the lower words are written when they are needed.
        self._all = instances <= FEW
        kept = circuit.ands if self._all else self.gates
        self._tweaks = np.empty((2, 1, kept, instances, 2), dtype=np.uint64)
        # The upper word is the instance, so that instances of one key never share a tweak.
        self._tweaks[..., 1] = np.arange(instances, dtype=np.uint64)
        if self._all:
            self._number(0, self._tweaks)

    def __repr__(self) -> str:
        return f"Hash(instances={self._instances})"

    def desk(self, gates: int) -> Desk:
        """Where so many gates are worked on."""
        if gates not in self._desks:
            self._desks[gates] = Desk(self._memory, self._values, gates, self._instances)
        return self._desks[gates]

    def _number(self, first: int, tweaks: Labels) -> None:
        """The lower word is twice the gate's number, plus one for the right operand."""
        numbers = np.arange(2 * first, 2 * (first + tweaks.shape[2]), dtype=np.uint64)
        tweaks[..., 0] = numbers.reshape(-1, 2).T[:, None, :, None]

    def apply(self, desk: Desk, first: int, count: int) -> None:
        """Hash the desk's blocks, which belong to the gates from ``first`` on, into ``desk.inner``."""
        start = first if self._all else 0
        tweaks = self._tweaks[:, :, start : start + count]
        if not self._all:
            self._number(first, tweaks)
        self._encrypt(desk.raw_blocks, desk.room_inner)
        np.bitwise_xor(desk.inner, tweaks, desk.outer)
        # In place: ECB reads each block before it writes it.
        self._encrypt(desk.raw_outer, desk.room_outer)
        np.bitwise_xor(desk.outer, desk.inner, desk.inner)


class State:
    """The labels of all wires, while a circuit is garbled or evaluated."""

    def __init__(self, circuit: Circuit, inputs: Labels) -> None:
        self.labels = np.empty((circuit.wires, *inputs.shape[1:]), dtype=np.uint64)
        self.labels[: circuit.inputs] = inputs
        self._rows = list(self.labels)
        self._few = inputs.shape[1] <= FEW

    def __repr__(self) -> str:
        return f"State(wires={len(self._rows)})"

    def xor(self, gates: Gates) -> None:
        if self._few and gates.size > NARROW:
            self.labels[gates.out] = self.labels[gates.left] ^ self.labels[gates.right]
            return
        rows = self._rows
        for out, left, right, _, _ in gates.rows:
            np.bitwise_xor(rows[left], rows[right], rows[out])

    def operands(self, gates: Gates, start: int, stop: int, delta: Labels | None, out: Labels) -> None:
        """The labels of both operands; those that are inverted have their two labels swapped by ``delta``."""
        if self._few and stop - start > NARROW:
            np.take(self.labels, gates.left[start:stop], axis=0, out=out[0], mode="clip")
            np.take(self.labels, gates.right[start:stop], axis=0, out=out[1], mode="clip")
            if delta is not None:
                out ^= np.where(gates.flip[:, start:stop, None, None], delta, np.uint64(0))
            return
        rows = self._rows
        for place, (_, left, right, *flips) in enumerate(gates.rows[start:stop]):
            for side, wire in enumerate((left, right)):
                if delta is not None and flips[side]:
                    np.bitwise_xor(rows[wire], delta, out[side, place])
                else:
                    out[side, place] = rows[wire]

    def store(self, gates: Gates, start: int, stop: int, labels: Labels) -> None:
        """The labels of the gates' outputs."""
        if self._few and stop - start > NARROW:
            self.labels[gates.out[start:stop]] = labels
            return
        for place, row in enumerate(gates.rows[start:stop]):
            self._rows[row[0]][...] = labels[place]


def garble(circuit: Circuit, zero: Labels, delta: Labels, key: bytes) -> tuple[Labels, Labels]:
    """The tables (two blocks per AND) and the zero labels of the outputs.

    ``zero`` has the zero labels of all inputs; ``delta`` one block per instance, its colour 1.
    """
    instances = delta.shape[0]
    state, hashing = State(circuit, zero), Hash(key, circuit, instances, values=2)
    tables = np.empty((2, circuit.ands, instances, 2), dtype=np.uint64)
    xor, conjunction = np.bitwise_xor, np.bitwise_and
    for gates in circuit.levels:
        if gates.kind == "xor":
            state.xor(gates)
            continue
        for start in range(0, gates.size, hashing.gates):
            stop = min(start + hashing.gates, gates.size)
            first, desk = gates.first + start, hashing.desk(stop - start)
            state.operands(gates, start, stop, delta, desk.held)
            xor(desk.held, delta, desk.other)
            hashing.apply(desk, first, stop - start)
            desk.colour()
            term, out = desk.term, desk.out
            rows = tables[:, first : first + stop - start]
            xor(desk.hashed, desk.hashed_other, rows)
            garbler, evaluator = rows
            xor(desk.hashed[0], desk.hashed[1], out)
            # The evaluator's half: its table is still without the left label, as the zero label wants it.
            xor(out, conjunction(evaluator, desk.right, term), out)
            xor(evaluator, desk.held[0], evaluator)
            # The garbler's half.
            xor(garbler, conjunction(delta, desk.right, term), garbler)
            xor(out, conjunction(garbler, desk.left, term), out)
            state.store(gates, start, stop, out)
    ends = state.labels[circuit.outputs]
    ends[circuit.flip] ^= delta
    return tables, ends


def evaluate(circuit: Circuit, active: Labels, tables: Labels, key: bytes) -> Labels:
    """The active labels of the outputs from those of all inputs."""
    instances = active.shape[1]
    state, hashing = State(circuit, active), Hash(key, circuit, instances, values=1)
    xor, conjunction = np.bitwise_xor, np.bitwise_and
    for gates in circuit.levels:
        if gates.kind == "xor":
            state.xor(gates)
            continue
        for start in range(0, gates.size, hashing.gates):
            stop = min(start + hashing.gates, gates.size)
            first, desk = gates.first + start, hashing.desk(stop - start)
            state.operands(gates, start, stop, None, desk.held)
            hashing.apply(desk, first, stop - start)
            desk.colour()
            term, out = desk.term, desk.out
            garbler, evaluator = tables[:, first : first + stop - start]
            xor(desk.hashed[0], desk.hashed[1], out)
            xor(out, conjunction(garbler, desk.left, term), out)
            xor(evaluator, desk.held[0], term)
            xor(out, conjunction(term, desk.right, term), out)
            state.store(gates, start, stop, out)
    ends: Labels = state.labels[circuit.outputs]
    return ends
