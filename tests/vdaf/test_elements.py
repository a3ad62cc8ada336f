"""Compiled arithmetic of both fields, against Python's integers, at the edges and at random."""

import random
from typing import Any

import numba
import numpy as np
import pytest

from dpairs.vdaf import instances
from dpairs.vdaf.batch import elements, keccak
from dpairs.vdaf.batch.constants import _lifted, _words
from dpairs.vdaf.batch.server import Server
from dpairs.vdaf.fields import FIELD64, FIELD128, Field
from dpairs.vdaf.gadgets import wire_length
from dpairs.vdaf.xof import derive_seed, expand, prefix

from .make_cases import tape


@numba.njit
def arithmetic(a: Any, b: Any, b_lifted: Any, out: Any) -> None:
    for i in range(len(a)):
        x, y = elements.load(a, i), elements.load(b, i)
        elements.store(out[0], i, elements.add(x, y))
        elements.store(out[1], i, elements.subtract(x, y))
        elements.store(out[2], i, elements.multiply(x, elements.load(b_lifted, i)))
        elements.store(out[3], i, elements.multiply(x, elements.lift(y)))


def edges(field: Field) -> list[int]:
    p = field.modulus
    rng = random.Random(3)
    near = [
        base + d for base in (0, 2**32, 2**63, 2**64, 2**96, 2**127, p // 2, p) for d in (-2, -1, 0, 1, 2)
    ]
    inside = {each % p for each in near} | {p - 2**32, p - 2**64 if p > 2**64 else 5, (p >> 64) << 64}
    return sorted(inside) + [rng.randrange(p) for _ in range(60)]


@pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=repr)
def test_every_pair_of_edges(field):
    p = field.modulus
    pairs = [(x, y) for x in edges(field) for y in edges(field)]
    a, b = (_words(field, [pair[i] for pair in pairs]) for i in range(2))
    out = np.zeros((4, *a.shape), dtype=np.uint64)
    arithmetic(a, b, _lifted(field, [y for _, y in pairs]), out)
    expected = [
        [(x + y) % p for x, y in pairs],
        [(x - y) % p for x, y in pairs],
        [x * y % p for x, y in pairs],
        [x * y % p for x, y in pairs],
    ]
    for made, wanted in zip(out, expected, strict=True):
        assert np.array_equal(made, _words(field, wanted))


@pytest.mark.parametrize("size", [0, 1, 130, 131, 132, 133, 134, 300, 4000])
def test_the_compiled_xof(size):
    """Around the ends of blocks, where padding moves on to the next."""
    count = 5
    seeds = np.frombuffer(tape("seeds", 32 * count), dtype=np.uint8).reshape(count, 32)
    binders = np.frombuffer(tape("binders", size * count), dtype=np.uint8).reshape(count, size)
    messages = keccak.pack([prefix(b"a tag"), seeds, binders], count)
    out = np.zeros((count, 4), dtype=np.uint64)
    keccak.digests(messages, out)
    inputs = [(seeds[i].tobytes(), b"a tag", binders[i].tobytes()) for i in range(count)]
    assert [row.tobytes() for row in out] == [derive_seed(*each) for each in inputs]
    for field in (FIELD64, FIELD128):
        words = field.size // 8
        vectors = np.zeros((count, 50, words), dtype=np.uint64)
        modulus = np.array([field.modulus >> 64 * i & 2**64 - 1 for i in range(words)], dtype=np.uint64)
        keccak.elements(messages, modulus, vectors)
        assert [row.tobytes() for row in vectors] == [
            field.encode(expand(field, *each, 50)) for each in inputs
        ]


@pytest.mark.parametrize("bits", [1, 3])
def test_words_that_are_not_below_the_modulus_are_left_out(bits):
    """In the draft's fields that happens once in 2^32 words; here with a modulus that leaves out many."""
    modulus = 2 ** (64 - bits)
    messages = keccak.pack([b"seed"], 1)
    whole = np.zeros((1, 21), dtype=np.uint64)
    keccak.digests(messages, whole)
    kept = [word for word in whole[0].tolist() if word < modulus]
    out = np.zeros((1, len(kept), 1), dtype=np.uint64)
    keccak.elements(messages, np.array([modulus], dtype=np.uint64), out)
    assert out[0, :, 0].tolist() == kept
    assert len(kept) < 21
    pairs = np.zeros((1, 4, 2), dtype=np.uint64)
    keccak.elements(messages, np.array([5, modulus], dtype=np.uint64), pairs)
    assert (pairs[0, :, 1] < modulus).all()


@pytest.mark.parametrize("size", [8, 16])
@pytest.mark.parametrize("length", [1, 21, 22, 43, 200])
def test_both_paths_leave_out_the_same_words(size, length):
    """With moduli that leave out up to half of all, across the ends of blocks."""
    top, words = 2 ** (8 * size - 1), size // 8
    seeds = np.frombuffer(tape("seeds", 32 * 8), dtype=np.uint8).reshape(8, 32)
    messages = keccak.pack([prefix(b"a tag"), seeds, b"binder"], 8)
    for modulus in (top + 1, top + top // 2 + 7, 2 * top - top // 16 + 9):
        field = Field("leaves out", modulus, size, 1, 1)
        out = np.zeros((8, length, words), dtype=np.uint64)
        parts = [modulus >> 64 * i & 2**64 - 1 for i in range(words)]
        keccak.elements(messages, np.array(parts, dtype=np.uint64), out)
        for seed, vector in zip(seeds, out, strict=True):
            alone = expand(field, seed.tobytes(), b"a tag", b"binder", length)
            assert vector.tobytes() == field.encode(alone)


@pytest.mark.parametrize("vdaf", [instances.count(), instances.histogram(3), instances.one_hot(3)], ids=repr)
def test_a_random_point_that_is_a_root_of_unity_is_refused(vdaf):
    """It would show a wire's value. Hashes do not hit one, so the points are chosen here."""
    circuit, field = vdaf.circuit, vdaf.circuit.field
    server = Server(vdaf, bytes(32), b"", 0)
    p = wire_length(circuit.calls)
    points = [int(field.roots(p)[-1]), 1, 5, int(field.roots(2 * p)[1])]
    random = np.stack([_words(field, [7] * (circuit.query - 1) + [t]) for t in points])
    random = np.concatenate([random] * vdaf.proofs, axis=1)

    def zeros(length: int) -> Any:
        return np.zeros((len(points), length, *random.shape[2:]), dtype=np.uint64)

    good = np.ones(len(points), dtype=bool)
    joint = zeros(circuit.joint * vdaf.proofs)
    server._query(zeros(circuit.length), zeros(vdaf.proofs * circuit.proof), random, joint, good)
    assert good.tolist() == [False, False, True, True]
