"""The fully linear proof that a shared vector satisfies a circuit (section 7.3 of the draft).

The prover sends the gadget polynomial, whose values at roots of unity are the gadget's results. Each server
evaluates shares of it, of the wires and of the outputs: all of that is linear, so shares add up.

Boneh, Boyle, Corrigan-Gibbs, Gilboa, Ishai, "Zero-Knowledge Proofs on Secret-Shared Data via Fully Linear
PCPs", CRYPTO 2019, theorem 4.3.
"""

from __future__ import annotations

import numpy as np

from ..errors import NotVerified
from .circuits import Circuit
from .fields import Vector
from .gadgets import gadget_length, wire_length
from .polynomials import coefficients, complete, evaluate, next_power_of_2, values


def prove(circuit: Circuit, measurement: Vector, seeds: Vector, joint: Vector) -> Vector:
    """The proof: a random value for every wire, and the gadget polynomial.

    The random values (``seeds``) are the wires' values at 1; those of the calls follow, then zeros.
    """
    field, length = circuit.field, gadget_length(circuit.gadget, circuit.calls)
    wires = _wires(circuit, measurement, seeds, joint, 1)
    points = values(field, coefficients(field, wires), next_power_of_2(length))
    return np.concatenate([seeds, circuit.gadget.apply(field, points)[:length]])


def query(
    circuit: Circuit, measurement: Vector, proof: Vector, random: Vector, joint: Vector, shares: int
) -> Vector:
    """A share of what decides: the combined outputs, and wires and gadget polynomial at a random point.

    A point that is a root of unity would show the wires' values to the other server, so it is refused. That
    happens with probability p / |F|.
    """
    field, gadget = circuit.field, circuit.gadget
    modulus, p = field.modulus, wire_length(circuit.calls)
    seeds, first = proof[: gadget.arity], proof[gadget.arity :]
    size = next_power_of_2(len(first))
    polynomial = complete(field, first, size)
    results = polynomial[:: size // p][1 : 1 + circuit.calls]
    outputs = circuit.check(measurement, results, shares)
    t = int(random[-1])
    combined = int((outputs * random[:-1]).sum()) if circuit.outputs > 1 else int(outputs[0])
    if pow(t, p, modulus) == 1:
        raise NotVerified("the random point of this report is a root of unity; it cannot be verified")
    wires = _wires(circuit, measurement, seeds, joint, shares)
    at_point = [combined % modulus, *evaluate(field, wires, t), int(evaluate(field, polynomial, t))]
    return field.vector(at_point)


def decide(circuit: Circuit, verifier: Vector) -> bool:
    """Whether the outputs are zero and the gadget polynomial is the gadget's at the random point."""
    output, wires, gadget = verifier[0], verifier[1:-1], verifier[-1]
    expected = circuit.gadget.apply(circuit.field, wires)
    return int(output) == 0 and int(expected) == int(gadget)


def _wires(circuit: Circuit, measurement: Vector, seeds: Vector, joint: Vector, shares: int) -> Vector:
    wires = circuit.field.zeros(circuit.gadget.arity, wire_length(circuit.calls))
    wires[:, 0] = seeds
    wires[:, 1 : 1 + circuit.calls] = circuit.wires(measurement, joint, shares)
    return wires
