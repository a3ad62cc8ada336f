"""Many pairs in one process, garbled and evaluated: what a simulation with real cryptography runs.

The labels go from hand to hand, without transfers; all else is as in a session: garbling, evaluation, and
the collector's check of every output label. Memory is bounded by the chunk, whatever the number of pairs.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import ForgedOutput
from ..randomness import Randomness
from .bits import Bits, Words, from_bits
from .blocks import BLOCK, COLOUR, Labels, expand
from .circuit import Circuit
from .function import PairFunction
from .garbling import evaluate, garble

CHUNK_BYTES = 3 * 2**23
"""Memory for the labels of one chunk: small enough that the allocator keeps it between chunks."""
MOST = 8192


def chunk_size(circuit: Circuit) -> int:
    """Pairs that are garbled together: 8,192, or fewer when the circuit is large."""
    return max(1, min(MOST, CHUNK_BYTES // (BLOCK * circuit.wires)))


def real(
    function: PairFunction, x: Words, y: Words, garbler: Words, evaluator: Words, bits: Randomness
) -> NDArray[np.int64]:
    """The symbol of each pair, by garbling.

    ``x``, ``y`` are tables of encoded values (`PairFunction.values`); ``garbler`` and ``evaluator`` are the
    random_bits of the two parties (`PairFunction.tape`); ``bits`` gives what garbling itself needs. Equal to
    ``function.ideal(x, y, garbler ^ evaluator)``.
    """
    size = chunk_size(function.circuit)
    symbols = np.empty(len(x), dtype=np.int64)
    for start in range(0, len(x), size):
        part = slice(start, start + size)
        inputs = [function.inputs(x[part], garbler[part]), function.inputs(y[part], evaluator[part])]
        symbols[part] = _chunk(function.circuit, np.concatenate(inputs), bits)
    return symbols


def _chunk(circuit: Circuit, inputs: Bits, bits: Randomness) -> NDArray[np.int64]:
    count = inputs.shape[1]
    key, seed = bits.words(2).tobytes(), bits.words(2).tobytes()
    secret = expand(seed, (circuit.inputs + 1) * count).reshape(circuit.inputs + 1, count, 2)
    zero, delta = secret[:-1], secret[-1] | np.array([0, COLOUR], dtype=np.uint64)
    tables, ends = garble(circuit, zero, delta, key)
    labels = evaluate(circuit, active(zero, delta, inputs), tables, key)
    return decode(labels, ends, delta)


def active(zero: Labels, delta: Labels, inputs: Bits) -> Labels:
    """The label of each input bit."""
    labels = zero.copy()
    for row, bits in zip(labels, inputs, strict=True):
        row ^= delta & np.repeat(np.negative(bits.astype(np.uint64)), 2).reshape(-1, 2)
    return labels


def decode(labels: Labels, zero: Labels, delta: Labels) -> NDArray[np.int64]:
    """The symbols, if every label is one of the two that its wire has."""
    ones = (labels[..., 1] ^ zero[..., 1]) >> np.uint64(63)
    expected = active(zero, delta, ones.astype(np.uint8))
    if not np.array_equal(labels, expected):
        raise ForgedOutput("an output has a label that the circuit did not give")
    return from_bits(ones.astype(np.uint8)).astype(np.int64)
