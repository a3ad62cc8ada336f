"""Queries and decisions of `dpairs.vdaf.proofs` for many reports, compiled.

Vectors have the report as their first axis. Constants and random elements are lifted (see `elements`), shares
are plain. The wires at the random point t are sums of shares with the Lagrange weights of t, so neither the
wires nor the polynomials are written down.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .compiling import compiled
from .elements import add, is_zero, lift, load, multiply, store, subtract, zero


@compiled
def _lagrange(roots: Any, scaled: Any, one: Any, t: Any, out: Any) -> Any:
    """Weights of the values at ``roots``, for t; the product of all t - root."""
    running = one
    for i in range(len(roots)):
        store(out, i, running)
        running = multiply(running, subtract(t, load(roots, i)))
    product, running = running, one
    for i in range(len(roots) - 1, -1, -1):
        store(out, i, multiply(multiply(load(out, i), running), load(scaled, i)))
        running = multiply(running, subtract(t, load(roots, i)))
    return product


@compiled
def _dot(plain: Any, start: int, lifted: Any, length: int) -> Any:
    total = zero(plain)
    for i in range(length):
        total = add(total, multiply(load(plain, start + i), load(lifted, i)))
    return total


@compiled
def _result(proof: Any, start: int, length: int, extension: Any, place: int) -> Any:
    """A value of the gadget polynomial, sent or completed."""
    if place < length:
        return load(proof, start + place)
    return _dot(proof, start, extension[place - length], length)


@compiled
def _weights(constants: Any, length: int, t: Any, small: Any, large: Any) -> Any:
    """Weights of the wires' values and of the sent values of the gadget polynomial; whether t is allowed."""
    roots, scaled, roots_large, scaled_large, extension, ones = constants
    one = load(ones, 0)
    product = _lagrange(roots, scaled, one, t, small)
    _lagrange(roots_large, scaled_large, one, t, large)
    for row in range(len(extension)):
        weight = load(large, length + row)
        for i in range(length):
            store(large, i, add(load(large, i), multiply(weight, load(extension[row], i))))
    return not is_zero(product)


@compiled
def query_chunks(
    measurements: Any,
    proofs: Any,
    random: Any,
    joint: Any,
    constants: Any,
    equation: Any,
    offsets: Any,
    sizes: Any,
    out: Any,
    good: Any,
) -> None:
    """Range checks in chunks. ``offsets``: 1 / shares, lifted, and the equation's constant of one share."""
    chunk, calls, count, length = sizes
    p, large = len(constants[0]), len(constants[2])
    arity, step = 2 * chunk, large // p
    each_random, each_joint = random.shape[1] // count, calls
    at_wires = np.empty_like(constants[0])
    at_gadget = np.empty_like(constants[2])
    wires = np.empty_like(out[0])
    for report in range(len(measurements)):
        measurement, proof, verifier = measurements[report], proofs[report], out[report]
        for k in range(count):
            start, base = k * (arity + length), k * (arity + 2)
            t = lift(load(random[report], (k + 1) * each_random - 1))
            good[report] &= _weights(constants, length, t, at_wires, at_gadget)
            for wire in range(arity):
                store(wires, wire, multiply(load(proof, start + wire), load(at_wires, 0)))
            checked, taken = zero(measurement), zero(measurement)
            for i in range(calls):
                weight = load(at_wires, i + 1)
                taken = add(taken, weight)
                r = lift(load(joint[report], k * each_joint + i))
                power = multiply(r, weight)
                for j in range(min(chunk, len(measurement) - i * chunk)):
                    x = load(measurement, i * chunk + j)
                    store(wires, 2 * j, add(load(wires, 2 * j), multiply(x, power)))
                    store(wires, 2 * j + 1, add(load(wires, 2 * j + 1), multiply(x, weight)))
                    power = multiply(power, r)
                checked = add(checked, _result(proof, start + arity, length, constants[4], step * (i + 1)))
            # Every call subtracts 1 / shares from each x, those that only fill up the last chunk included.
            taken = multiply(taken, load(offsets, 0))
            taken = multiply(taken, load(offsets, 2))
            for j in range(chunk):
                store(wires, 2 * j + 1, subtract(load(wires, 2 * j + 1), taken))
            if len(equation):
                total = add(_dot(measurement, 0, equation, len(measurement)), load(offsets, 1))
                first = multiply(checked, lift(load(random[report], k * each_random)))
                second = multiply(total, lift(load(random[report], k * each_random + 1)))
                checked = add(first, second)
            store(verifier, base, checked)
            for wire in range(arity):
                store(verifier, base + 1 + wire, load(wires, wire))
            store(verifier, base + 1 + arity, _dot(proof, start + arity, at_gadget, length))


@compiled
def query_each(
    measurements: Any, proofs: Any, random: Any, constants: Any, sizes: Any, out: Any, good: Any
) -> None:
    """The gadget at each element. ``sizes``: arity, calls, proofs, sent values, whether x is subtracted."""
    arity, calls, count, length, minus = sizes
    p, large = len(constants[0]), len(constants[2])
    step, each_random = large // p, random.shape[1] // count
    at_wires = np.empty_like(constants[0])
    at_gadget = np.empty_like(constants[2])
    for report in range(len(measurements)):
        measurement, proof, verifier = measurements[report], proofs[report], out[report]
        for k in range(count):
            start, base = k * (arity + length), k * (arity + 2)
            t = lift(load(random[report], (k + 1) * each_random - 1))
            good[report] &= _weights(constants, length, t, at_wires, at_gadget)
            checked, at_point = zero(measurement), zero(measurement)
            for i in range(calls):
                x = load(measurement, i)
                at_point = add(at_point, multiply(x, load(at_wires, i + 1)))
                output = _result(proof, start + arity, length, constants[4], step * (i + 1))
                if minus:
                    output = subtract(output, x)
                if calls > 1:
                    output = multiply(output, lift(load(random[report], k * each_random + i)))
                checked = add(checked, output)
            store(verifier, base, checked)
            for wire in range(arity):
                seed = multiply(load(proof, start + wire), load(at_wires, 0))
                store(verifier, base + 1 + wire, add(seed, at_point))
            store(verifier, base + 1 + arity, _dot(proof, start + arity, at_gadget, length))


@compiled
def decide(verifiers: Any, polynomial: Any, arity: int, count: int, good: Any) -> None:
    """Whether outputs are zero and gadgets agree: sums of products, or a polynomial of one wire."""
    for report in range(len(verifiers)):
        verifier = verifiers[report]
        for k in range(count):
            base = k * (arity + 2)
            expected = zero(verifier)
            if len(polynomial):
                x = lift(load(verifier, base + 1))
                for i in range(len(polynomial) - 1, -1, -1):
                    expected = add(multiply(expected, x), load(polynomial, i))
            else:
                for j in range(arity // 2):
                    left = load(verifier, base + 1 + 2 * j)
                    right = lift(load(verifier, base + 2 + 2 * j))
                    expected = add(expected, multiply(left, right))
            agrees = is_zero(subtract(expected, load(verifier, base + 1 + arity)))
            good[report] &= agrees and is_zero(load(verifier, base))


@compiled
def truncate(measurements: Any, weights: Any, out: Any) -> None:
    """Weighted sums of neighbouring elements."""
    bits = len(weights)
    for report in range(len(measurements)):
        for j in range(out.shape[1]):
            store(out[report], j, _dot(measurements[report], j * bits, weights, bits))


@compiled
def add_vectors(left: Any, right: Any) -> None:
    """``left += right``, report by report."""
    for report in range(len(left)):
        for i in range(left.shape[1]):
            store(left[report], i, add(load(left[report], i), load(right[report], i)))


@compiled
def add_up(vectors: Any, chosen: Any, total: Any) -> None:
    """``total += `` the chosen vectors."""
    for report in range(len(vectors)):
        if chosen[report]:
            for i in range(vectors.shape[1]):
                store(total, i, add(load(total, i), load(vectors[report], i)))
