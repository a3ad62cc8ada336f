"""Half-gates: garbling and evaluating many instances of a circuit at once.

Zahur, Rosulek, Evans, "Two halves make a whole: reducing data transfer in garbled circuits using half
gates", EUROCRYPT 2015: two blocks per AND, with free XOR and point-and-permute. A wire has a label of 128
bits for 0 and that label XOR delta for 1; the highest bit of delta is 1, so the highest bit of a label (its
colour) tells the two apart without telling which is which. NOT swaps the two labels: free.

Arrays have an axis for the wires or gates, one for the instances, and one for the two words of a block.
Gates of a level are taken together when instances are few, and one by one when there are many, so that one
pair and a hundred thousand run the same arithmetic.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .blocks import Buffer, Labels, Permutation
from .circuit import Circuit, Gates

BLOCKS_AT_ONCE = 2048
"""AND gates times instances that are hashed together: the work stays in the processor's second cache."""
FEW = 32
"""Up to so many instances a level's wires are gathered by index, above row by row."""
COLOUR = np.uint64(1 << 63)
_SIGN = np.int64(63)


class Hash:
    """H(x, i) of `blocks` on arrays (halves, values, gates, instances), with its working memory."""

    def __init__(self, key: bytes, instances: int) -> None:
        self.instances = instances
        self.gates = max(1, BLOCKS_AT_ONCE // instances)
        self._permutation = Permutation(key)
        size = self.gates * instances
        self._inner, self._outer = Buffer(4 * size), Buffer(4 * size)
        self._tweaks = np.empty((2, self.gates, instances, 2), dtype=np.uint64)
        # The upper word is the instance, so that instances of one key never share a tweak.
        self._tweaks[..., 1] = np.arange(instances, dtype=np.uint64)

    def __repr__(self) -> str:
        return f"Hash(instances={self.instances})"

    def apply(self, blocks: Labels, first: int) -> Labels:
        """Hash the left and right operands of the gates from ``first`` on; overwritten by the next call."""
        count = blocks.shape[2]
        numbers = np.arange(2 * first, 2 * (first + count), dtype=np.uint64).reshape(count, 2)
        tweaks = self._tweaks[:, :count]
        tweaks[..., 0] = numbers.T[:, :, None]
        inner = self._permutation.apply(blocks, self._inner)
        mixed = np.bitwise_xor(inner, tweaks[:, None], out=self._outer.like(blocks))
        # In place: ECB reads each block before it writes it.
        outer = self._permutation.apply(mixed, self._outer)
        return np.bitwise_xor(outer, inner, out=inner)


def masks(blocks: Labels, out: Labels) -> Labels:
    """All ones where a block's colour is 1, else zeros."""
    np.right_shift(blocks[..., 1].view(np.int64), _SIGN, out=out[..., 1].view(np.int64))
    out[..., 0] = out[..., 1]
    return out


def garble(circuit: Circuit, zero: Labels, delta: Labels, key: bytes) -> tuple[Labels, Labels]:
    """The tables (two blocks per AND) and the zero labels of the outputs.

    ``zero`` has the zero labels of all inputs; ``delta`` one block per instance, its colour 1.
    """
    instances = delta.shape[0]
    state = np.empty((circuit.wires, instances, 2), dtype=np.uint64)
    state[: circuit.inputs] = zero
    tables = np.empty((circuit.ands, 2, instances, 2), dtype=np.uint64)
    hashing = Hash(key, instances)
    room = hashing.gates * instances
    operands, colours, product = Buffer(4 * room), Buffer(2 * room), Buffer(room)
    for gates in circuit.levels:
        if gates.kind == "xor":
            _xor(state, gates)
            continue
        for start in range(0, gates.size, hashing.gates):
            part = slice(start, min(start + hashing.gates, gates.size))
            count, first = part.stop - start, gates.first + start
            blocks = operands.shaped(2, 2, count, instances)
            _gather(state, gates.left[part], gates.flip[0, part], delta, blocks[0, 0])
            _gather(state, gates.right[part], gates.flip[1, part], delta, blocks[1, 0])
            np.bitwise_xor(blocks[:, 0], delta, out=blocks[:, 1])
            hashed = hashing.apply(blocks, first)
            left, right = masks(blocks[:, 0], colours.shaped(2, count, instances))
            term = product.shaped(count, instances)
            rows = tables[first : first + count].transpose(1, 0, 2, 3)
            np.bitwise_xor(hashed[:, 0], hashed[:, 1], out=rows)
            out = state[gates.out + start : gates.out + part.stop]
            np.bitwise_xor(hashed[0, 0], hashed[1, 0], out=out)
            # The evaluator's half: its table is still without the left label, as the zero label wants it.
            out ^= np.bitwise_and(rows[1], right, out=term)
            rows[1] ^= blocks[0, 0]
            # The garbler's half.
            rows[0] ^= np.bitwise_and(delta, right, out=term)
            out ^= np.bitwise_and(rows[0], left, out=term)
    ends = state[circuit.outputs]
    ends[circuit.flip] ^= delta
    return tables, ends


def evaluate(circuit: Circuit, active: Labels, tables: Labels, key: bytes) -> Labels:
    """The active labels of the outputs from those of all inputs."""
    instances = active.shape[1]
    state = np.empty((circuit.wires, instances, 2), dtype=np.uint64)
    state[: circuit.inputs] = active
    hashing = Hash(key, instances)
    room = hashing.gates * instances
    operands, colours, product = Buffer(2 * room), Buffer(2 * room), Buffer(room)
    for gates in circuit.levels:
        if gates.kind == "xor":
            _xor(state, gates)
            continue
        for start in range(0, gates.size, hashing.gates):
            part = slice(start, min(start + hashing.gates, gates.size))
            count, first = part.stop - start, gates.first + start
            blocks = operands.shaped(2, 1, count, instances)
            _gather(state, gates.left[part], None, None, blocks[0, 0])
            _gather(state, gates.right[part], None, None, blocks[1, 0])
            hashed = hashing.apply(blocks, first)
            left, right = masks(blocks[:, 0], colours.shaped(2, count, instances))
            term = product.shaped(count, instances)
            rows = tables[first : first + count].transpose(1, 0, 2, 3)
            out = state[gates.out + start : gates.out + part.stop]
            np.bitwise_xor(hashed[0, 0], hashed[1, 0], out=out)
            out ^= np.bitwise_and(rows[0], left, out=term)
            np.bitwise_xor(rows[1], blocks[0, 0], out=term)
            out ^= np.bitwise_and(term, right, out=term)
    ends: Labels = state[circuit.outputs]
    return ends


def _xor(state: Labels, gates: Gates) -> None:
    if state.shape[1] <= FEW:
        np.bitwise_xor(state[gates.left], state[gates.right], out=state[gates.out : gates.out + gates.size])
        return
    for place, (left, right) in enumerate(zip(gates.left.tolist(), gates.right.tolist(), strict=True)):
        np.bitwise_xor(state[left], state[right], out=state[gates.out + place])


def _gather(
    state: Labels,
    wires: NDArray[np.intp],
    flip: NDArray[np.bool_] | None,
    delta: Labels | None,
    out: Labels,
) -> None:
    """The labels of some wires; where an operand is inverted, its two labels swap."""
    if state.shape[1] <= FEW:
        np.take(state, wires, axis=0, out=out, mode="clip")
        if flip is not None and flip.any():
            out[flip] ^= delta
        return
    for place, wire in enumerate(wires.tolist()):
        if flip is not None and delta is not None and flip[place]:
            np.bitwise_xor(state[wire], delta, out=out[place])
        else:
            out[place] = state[wire]
