"""Half-gates for one instance, in Python's integers.

The same tables and labels as `garbling` gives, to the bit. One pair has one or two gates in most levels, too
few to fill an array, and an operation on an array takes longer than on an integer: a comparison of 32 bits
is garbled four times faster here. A label is a number of 128 bits; its highest bit is the colour. All four
hashes of a gate go through AES as one number of 512 bits.

Its time depends on secret colours, by less than a microsecond for each gate. A partner sees one message for
the whole circuit and cannot measure that; a program beside it on the same processor might.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from .blocks import BLOCK, Labels, from_bytes
from .circuit import Circuit, Gates

_BITS = 128
_LABEL = (1 << _BITS) - 1
_COLOUR = 127


def garble_one(circuit: Circuit, zero: Labels, delta: Labels, key: bytes) -> tuple[bytes, Labels]:
    """The tables as bytes, and the zero labels of the outputs; see `garbling.garble`."""
    hashed, state = _hash(key, blocks=4), _state(circuit, zero)
    (difference,) = _numbers(delta[None])
    garbler, evaluator = [], []
    for gates in circuit.levels:
        if gates.kind == "xor":
            _xor(state, gates)
            continue
        for number, (out, left, right, flip_left, flip_right) in enumerate(gates.rows, gates.first):
            a = state[left] ^ difference if flip_left else state[left]
            b = state[right] ^ difference if flip_right else state[right]
            packed = a | (a ^ difference) << _BITS | b << 2 * _BITS | (b ^ difference) << 3 * _BITS
            first, second = 2 * number, 2 * number + 1
            tweak = first | first << _BITS | second << 2 * _BITS | second << 3 * _BITS
            four = hashed(packed, tweak)
            a_hash, b_hash = four & _LABEL, four >> 2 * _BITS & _LABEL
            row_a, row_b = a_hash ^ four >> _BITS & _LABEL, b_hash ^ four >> 3 * _BITS
            label = a_hash ^ b_hash
            if b >> _COLOUR:
                label ^= row_b
                row_a ^= difference
            if a >> _COLOUR:
                label ^= row_a
            garbler.append(row_a)
            evaluator.append(row_b ^ a)
            state[out] = label
    ends = [
        state[wire] ^ difference if flip else state[wire]
        for wire, flip in zip(circuit.outputs.tolist(), circuit.flip.tolist(), strict=True)
    ]
    return _stream(garbler + evaluator), from_bytes(_stream(ends), len(ends))


def evaluate_one(circuit: Circuit, active: Labels, tables: bytes, key: bytes) -> Labels:
    """The active labels of the outputs; see `garbling.evaluate`."""
    hashed, state = _hash(key, blocks=2), _state(circuit, active)
    rows = _numbers(from_bytes(tables, 2 * circuit.ands))
    for gates in circuit.levels:
        if gates.kind == "xor":
            _xor(state, gates)
            continue
        for number, (out, left, right, _, _) in enumerate(gates.rows, gates.first):
            a, b = state[left], state[right]
            both = hashed(a | b << _BITS, 2 * number | (2 * number + 1) << _BITS)
            label = (both ^ both >> _BITS) & _LABEL
            if a >> _COLOUR:
                label ^= rows[number]
            if b >> _COLOUR:
                label ^= rows[circuit.ands + number] ^ a
            state[out] = label
    ends = [state[wire] for wire in circuit.outputs.tolist()]
    return from_bytes(_stream(ends), len(ends))


def _hash(key: bytes, blocks: int) -> Callable[[int, int], int]:
    """H of `blocks` on several labels side by side in one number."""
    # The bare permutation, block by block: see `blocks.permutation`.
    encrypt = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update  # noqa: S305
    size, number = BLOCK * blocks, int.from_bytes

    def hashed(labels: int, tweaks: int) -> int:
        inner = number(encrypt(labels.to_bytes(size, "little")), "little")
        return inner ^ number(encrypt((inner ^ tweaks).to_bytes(size, "little")), "little")

    return hashed


def _state(circuit: Circuit, inputs: Labels) -> list[int]:
    return _numbers(inputs) + [0] * (circuit.wires - circuit.inputs)


def _xor(state: list[int], gates: Gates) -> None:
    for out, left, right, _, _ in gates.rows:
        state[out] = state[left] ^ state[right]


def _numbers(labels: Labels) -> list[int]:
    return [low | high << 64 for low, high in labels.reshape(-1, 2).tolist()]


def _stream(labels: Sequence[int]) -> bytes:
    return b"".join([label.to_bytes(BLOCK, "little") for label in labels])
