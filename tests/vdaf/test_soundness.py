"""Cheating, in fields so small that it succeeds often: exactly as often as the bound says.

Exactly, by enumeration of the random point or of the joint randomness; then through the whole of Prio3, where
hashes choose them, against the binomial distribution with a failure probability of `DOUBT`, beside a rate
that must be refused.
"""

import itertools
import os
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from dpairs.errors import NotVerified
from dpairs.vdaf import instances, proofs
from dpairs.vdaf.fields import Field, Vector
from dpairs.vdaf.gadgets import wire_length
from dpairs.vdaf.measurements import Count, Histogram, SumVec
from dpairs.vdaf.polynomials import coefficients, complete, evaluate, next_power_of_2
from dpairs.vdaf.prio3 import Prio3

from .make_cases import tape

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
REPORTS = 20_000 if FULL else 2_000
DOUBT = 1e-9
SMALL = Field("F97", 97, 1, pow(5, 3, 97), 32)
SMALLER = Field("F17", 17, 1, 3, 16)


def test_the_small_fields_have_their_roots():
    for field in (SMALL, SMALLER):
        assert pow(field.generator, field.order, field.modulus) == 1
        assert pow(field.generator, field.order // 2, field.modulus) == field.modulus - 1


def accepts(circuit, measurement: Vector, proof: Vector, random: list[int], joint: Vector) -> bool:
    try:
        verifier = proofs.query(circuit, measurement, proof, circuit.field.vector(random), joint, 1)
    except NotVerified:
        return False
    return proofs.decide(circuit, verifier)


# ---------------------------------------------------------------- the random point


def false_square(field: Field, x: int, roots: tuple[int, int]) -> Vector:
    """What a cheat adds to the gadget polynomial of x x: the result is x, and ``roots`` do not notice."""
    p = field.modulus
    shape = field.vector((node - roots[0]) * (node - roots[1]) for node in field.roots(4)[:3])
    at_call = (p - 1 - roots[0]) * (p - 1 - roots[1])
    return shape * (x - x * x) * field.inverse(at_call) % p


@pytest.mark.parametrize("field", [SMALL, SMALLER], ids=repr)
def test_the_random_point_is_as_unlucky_as_the_bound(field):
    circuit = Count(field)
    x, nothing = field.vector([2]), field.zeros(0)
    honest = proofs.prove(circuit, x, field.vector([3, 5]), nothing)
    cheat = honest.copy()
    cheat[2:] = (cheat[2:] + false_square(field, 2, (7, 9))) % field.modulus
    points = range(field.modulus)
    accepted = [t for t in points if accepts(circuit, x, cheat, [t], nothing)]
    assert accepted == [7, 9]
    allowed = [t for t in points if pow(t, 2, field.modulus) != 1]
    assert Fraction(len(accepted), len(allowed)) == circuit.soundness_error()
    assert not any(accepts(circuit, x, honest, [t], nothing) for t in points), (
        "an honest proof of 2 never passes"
    )


# ---------------------------------------------------------------- the joint randomness


def roots_with_bits(field: Field) -> tuple[list[int], list[int]]:
    """Roots a and b, and three elements with c r (r - a)(r - b) = sum of r^(j+1) x_j (x_j - 1) for some c."""
    p = field.modulus
    of_product = {x * (x - 1) % p: x for x in range(p)}
    for a, b, c in itertools.product(range(1, p), repeat=3):
        wanted = [c * a * b % p, -c * (a + b) % p, c]
        if a < b and all(each in of_product for each in wanted):
            return [a, b], [of_product[each] for each in wanted]
    raise AssertionError("no such roots")


@pytest.mark.parametrize("field", [SMALL, SMALLER], ids=repr)
def test_joint_randomness_is_as_unlucky_as_the_bound(field):
    circuit = SumVec(field, chunk=3, entries=3, largest=1)
    roots, bits = roots_with_bits(field)
    x, seeds = field.vector(bits), field.vector(range(1, 7))
    accepted = []
    for r in range(field.modulus):
        joint = field.vector([r])
        proof = proofs.prove(circuit, x, seeds, joint)
        if accepts(circuit, x, proof, [6], joint):
            accepted.append(r)
    assert accepted == [0, *roots]
    assert Fraction(len(accepted), field.modulus) == circuit.luck


def test_the_combination_of_outputs_is_as_unlucky_as_the_bound():
    """Where both outputs are wrong, one of |F| combinations cancels."""
    field = SMALLER
    circuit = Histogram(field, chunk=2, cells=2)
    x, joint = field.vector([3, 3]), field.vector([4])
    proof = proofs.prove(circuit, x, field.vector([1, 2, 3, 4]), joint)
    pairs = itertools.product(range(field.modulus), repeat=2)
    accepted = sum(accepts(circuit, x, proof, [a, b, 6], joint) for a, b in pairs)
    assert accepted == field.modulus


# ---------------------------------------------------------------- all of it


def consistent(successes: int, reports: int, rate: float) -> bool:
    low, high = (float(binom.ppf(q, reports, rate)) for q in (DOUBT / 2, 1 - DOUBT / 2))
    return low <= successes <= high


def succeeds(vdaf: Prio3, measurement: Vector, alter: Callable[[Vector], Vector], i: int) -> bool:
    """Whether the servers accept a cheat's report, whose leader share is altered."""
    field, nonce = vdaf.circuit.field, tape(f"nonce/{i}", 16)
    public, shares = vdaf.shard_encoded(b"", measurement, nonce, tape(f"rand/{i}", vdaf.rand_size))
    blind = shares[0][vdaf.input_size(0) - 32 :] if vdaf.circuit.joint else b""
    vector = np.frombuffer(shares[0][: vdaf.input_size(0) - len(blind)], dtype=np.uint8).astype(object)
    shares[0] = field.encode(alter(vector)) + blind
    try:
        begun = [
            vdaf.verify_init(bytes(32), b"", server, nonce, public, shares[server]) for server in range(2)
        ]
        message = vdaf.verifier_shares_to_message(b"", [said for _, said in begun])
        for state, _ in begun:
            vdaf.verify_next(state, message)
    except NotVerified:
        return False
    return True


def measure(
    vdaf: Prio3, measurement: Vector, alter: Callable[[Vector], Vector], rate: float, others: list[float]
) -> None:
    """The rate fits, and the same test refuses the ``others``."""
    successes = sum(succeeds(vdaf, measurement, alter, i) for i in range(REPORTS))
    assert consistent(successes, REPORTS, rate), (successes, REPORTS * rate)
    assert not any(consistent(successes, REPORTS, other) for other in others)


def test_cheating_with_the_gadget_polynomial():
    """Two points of 17 pass, two of 17 are refused as roots of unity whatever the proof."""
    field = SMALLER
    extra = np.concatenate([field.zeros(3), false_square(field, 2, (7, 9))])
    vdaf, rate = Prio3(Count(field), 1), 2 / 17
    measure(vdaf, field.vector([2]), lambda share: (share + extra) % 17, rate, [rate / 2, 2 * rate])


LUCKY = 3 / 17 * 15 / 17
"""Three of 17 values of joint randomness pass, unless the random point is one of two roots of unity."""


def test_cheating_with_joint_randomness():
    field = SMALLER
    vdaf = Prio3(SumVec(field, chunk=3, entries=3, largest=1), 3)
    _, bits = roots_with_bits(field)
    measure(vdaf, field.vector(bits), lambda share: share, LUCKY, [LUCKY / 2, 2 * LUCKY])


def test_two_proofs_square_the_rate():
    field = SMALLER
    vdaf = Prio3(SumVec(field, chunk=3, entries=3, largest=1), 3, proofs=2)
    _, bits = roots_with_bits(field)
    measure(vdaf, field.vector(bits), lambda share: share, LUCKY**2, [LUCKY, LUCKY**3])


# ---------------------------------------------------------------- at full size


def test_soundness_in_numbers():
    """The formula of the documentation, from its parts."""
    vdaf = instances.one_hot(256)
    circuit = vdaf.circuit
    assert isinstance(circuit, Histogram)
    p = wire_length(circuit.calls)
    size = 2**64 - 2**32 + 1
    one = Fraction(circuit.chunk, size) + Fraction(1, size) + Fraction(2 * (p - 1), size - p)
    assert vdaf.soundness_error() == one**3
    assert vdaf.soundness_error() < Fraction(1, 2**170)
    assert all(instances.one_hot(2**e).soundness_error() < Fraction(1, 2**155) for e in range(4, 13))
    assert instances.histogram(256).soundness_error() < Fraction(1, 2**120)


def test_the_gadget_polynomial_has_the_degree_of_the_bound():
    """Values at twice as many points follow from those that a proof holds."""
    circuit = Histogram(SMALL, chunk=2, cells=5)
    joint, seeds = SMALL.vector([4, 5, 6]), SMALL.vector([7, 8, 9, 10])
    proof = proofs.prove(circuit, circuit.encode(3), seeds, joint)
    size = next_power_of_2(len(proof) - 4)
    whole = complete(SMALL, proof[4:], size)
    assert coefficients(SMALL, whole)[len(proof) - 4 :].tolist() == [0]
    assert int(evaluate(SMALL, whole, int(SMALL.roots(size)[5]))) == whole[5]
