"""What the compiled code needs to know of a circuit: roots of unity, weights and coefficients, as words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import BadParameter
from ..circuits import InChunks
from ..fields import FIELD64, FIELD128, Field
from ..gadgets import PolynomialOf, wire_length
from ..polynomials import extension, next_power_of_2
from ..prio3 import Prio3
from .keccak import Bytes, Words


@dataclass(frozen=True)
class Constants:
    """Lifted (see `elements`), except ``modulus`` and ``polynomial``."""

    points: tuple[Words, ...]
    equation: Words
    offsets: Words
    weights: Words
    polynomial: Words
    modulus: Words


def constants(vdaf: Prio3) -> Constants:
    circuit, field = vdaf.circuit, vdaf.circuit.field
    if field not in (FIELD64, FIELD128):
        raise BadParameter(f"there is compiled code for Field64 and Field128, not for {field!r}")
    p, sent = wire_length(circuit.calls), circuit.proof - circuit.gadget.arity
    large = next_power_of_2(sent)
    roots, roots_large = field.roots(p), field.roots(large)
    points = (
        _lifted(field, roots),
        _lifted(field, roots * field.inverse(p)),
        _lifted(field, roots_large),
        _lifted(field, roots_large * field.inverse(large)),
        _lifted(field, extension(field, sent, large).ravel()).reshape(large - sent, sent, *_tail(field)),
        _lifted(field, [1]),
    )
    equation = circuit.equation if isinstance(circuit, InChunks) else None
    coefficients, constant = equation or ((), 0)
    share = field.inverse(vdaf.shares)
    offsets = np.concatenate([_lifted(field, [share]), _words(field, [constant * share]), _words(field, [1])])
    gadget = circuit.gadget
    polynomial = gadget.coefficients if isinstance(gadget, PolynomialOf) else ()
    modulus = np.array([field.modulus >> 64 * i & 2**64 - 1 for i in range(field.size // 8)], dtype=np.uint64)
    return Constants(
        points,
        _lifted(field, coefficients),
        offsets,
        _lifted(field, circuit.weights),
        _words(field, polynomial),
        modulus,
    )


def to_elements(field: Field, wires: Bytes) -> tuple[Words, NDArray[np.bool_]]:
    """Rows of encoded elements as words, and which rows have all elements below the modulus."""
    # A copy, so that compiled code sees one kind of array: contiguous and writable.
    words = np.array(wires, order="C").view("<u8")
    if field == FIELD64:
        return words, np.asarray((words < np.uint64(field.modulus)).all(axis=1))
    pairs = words.reshape(len(words), words.shape[1] // 2, 2)
    top, low = np.uint64(field.modulus >> 64), np.uint64(field.modulus & 2**64 - 1)
    below = (pairs[..., 1] < top) | ((pairs[..., 1] == top) & (pairs[..., 0] < low))
    return pairs, np.asarray(below.all(axis=1))


def to_bytes(vectors: Words) -> Bytes:
    width = math.prod(vectors.shape[1:])
    return np.ascontiguousarray(vectors).reshape(len(vectors), width).view(np.uint8)


def _tail(field: Field) -> tuple[int, ...]:
    return () if field == FIELD64 else (2,)


def _words(field: Field, elements: Any) -> Words:
    encoded = field.encode(field.vector(elements))
    return np.frombuffer(encoded, dtype="<u8").astype(np.uint64).reshape(-1, *_tail(field))


def _lifted(field: Field, elements: Any) -> Words:
    scale = 1 if field == FIELD64 else 2**128
    return _words(field, [int(element) * scale for element in elements])
