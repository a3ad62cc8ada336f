"""What one server sees does not depend on the measurement: exactly in a tiny field, then at full size."""

import itertools
import os
from collections import Counter
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from dpairs.vdaf import instances, prio3, proofs
from dpairs.vdaf.fields import FIELD64, FIELD128, Field, Vector
from dpairs.vdaf.measurements import Count, Histogram
from dpairs.vdaf.prio3 import MEAS_SHARE, PROOF_SHARE, Prio3

from .make_cases import tape

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
TINY = Field("F5", 5, 1, 2, 4)
SEVENTEEN = Field("F17", 17, 1, 3, 16)
DOUBT = 1e-9


# ---------------------------------------------------------------- exactly


class ChosenExpansion:
    """Stands in for the XOF: the helper's vectors are chosen, so that all of them can be gone through."""

    def __init__(self, vdaf: Prio3, prove: list[int]) -> None:
        self.chosen: dict[int, list[int]] = {}
        self.tags = {usage: vdaf.tag(usage, b"") for usage in (MEAS_SHARE, PROOF_SHARE)}
        self.prove = prove

    def __call__(self, field: Field, seed: bytes, tag: bytes, binder: bytes, length: int) -> Vector:
        for usage, name in self.tags.items():
            if tag == name:
                return field.vector(self.chosen[usage])
        return field.vector(self.prove)


@pytest.mark.parametrize("prove", [[0, 0], [1, 2], [4, 3]] if FULL else [[1, 2]])
@pytest.mark.parametrize("measurement", [0, 1] if FULL else [1])
def test_the_leaders_share_takes_every_value_once(monkeypatch, measurement, prove):
    """One measurement and five proof elements: each of the 5^6 leader shares comes from one helper share."""
    vdaf = Prio3(Count(TINY), 1)
    expansion = ChosenExpansion(vdaf, prove)
    monkeypatch.setattr(prio3, "expand", expansion)
    seen = set()
    for vector in itertools.product(range(5), repeat=6):
        expansion.chosen = {MEAS_SHARE: list(vector[:1]), PROOF_SHARE: list(vector[1:])}
        seen.add(vdaf.shard(b"", measurement, bytes(16), bytes(64))[1][0])
    assert len(seen) == 5**6


def verifiers(circuit: Any, measurement: Vector, t: int, joint: Vector, seeds: Any) -> Counter:
    """What the servers see together, over all given wire seeds. Own shares hide nothing of it."""
    field, random = circuit.field, circuit.field.vector([1] * (circuit.query - 1) + [t])
    seen: Counter = Counter()
    for each in seeds:
        proof = proofs.prove(circuit, measurement, field.vector(each), joint)
        seen[tuple(proofs.query(circuit, measurement, proof, random, joint, 1))] += 1
    return seen


@pytest.mark.parametrize("t", [0, 2, 3])
def test_what_is_exchanged_does_not_depend_on_the_measurement(t):
    """At every allowed point, over all wire seeds; and it would, were the seeds not random."""
    circuit, nothing = Count(TINY), TINY.zeros(0)
    every = list(itertools.product(range(5), repeat=2))
    of_zero, of_one = (verifiers(circuit, TINY.vector([x]), t, nothing, every) for x in (0, 1))
    assert of_zero == of_one
    assert len(of_zero) == 25
    fixed = [(0, 0)]
    assert verifiers(circuit, TINY.vector([0]), t, nothing, fixed) != verifiers(
        circuit, TINY.vector([1]), t, nothing, fixed
    )


@pytest.mark.parametrize("r", [0, 3])
def test_what_is_exchanged_about_a_cell_does_not_depend_on_it(r):
    """One-hot vectors with joint randomness, in chunks of one: both cells look alike."""
    circuit = Histogram(SEVENTEEN, chunk=1, cells=2)
    joint, every = SEVENTEEN.vector([r, 2]), itertools.product(range(17), repeat=2)
    seeds = list(every)
    first, second = (verifiers(circuit, circuit.encode(cell), 6, joint, seeds) for cell in range(2))
    assert first == second


# ---------------------------------------------------------------- statistically

BINS, REPORTS = 16, 2_000 if FULL else 150


def looks_uniform(elements: Vector, field: Field) -> bool:
    """Chi-square of the elements in equal parts of the field, at a failure probability of `DOUBT`."""
    places = np.array([int(element) * BINS // field.modulus for element in elements])
    counts = np.bincount(places, minlength=BINS)
    expected = len(places) / BINS
    return float(((counts - expected) ** 2 / expected).sum()) < float(chi2.isf(DOUBT, BINS - 1))


@pytest.mark.parametrize(
    "scheme", [instances.one_hot(8), instances.histogram(8)], ids=["Field64", "Field128"]
)
@pytest.mark.parametrize("measurement", [0, 5])
def test_the_leaders_share_looks_uniform(scheme, measurement):
    circuit, field = scheme.circuit, scheme.circuit.field
    assert field in (FIELD64, FIELD128)
    length = circuit.length + scheme.proofs * circuit.proof
    shares = []
    for i in range(REPORTS):
        nonce, rand = tape(f"{measurement}/{i}/nonce", 16), tape(f"{measurement}/{i}", scheme.rand_size)
        leader = scheme.shard(b"", measurement, nonce, rand)[1][0]
        shares.append(field.decode(leader[: field.size * length], length, "a share"))
    table = np.stack(shares)
    assert looks_uniform(table.ravel(), field)
    assert looks_uniform(table[:, measurement], field), "the cell that holds the one"
    first = table[:, measurement]
    assert looks_uniform((first[1:] - first[:-1]) % field.modulus, field), "from report to report"


def test_a_planted_leak_is_found():
    """Masks with one bit missing, and masks used twice, are noticed by the same test."""
    scheme = instances.one_hot(8)
    length = scheme.circuit.length

    def shares(cells: list[int], again: int) -> Vector:
        """Leader shares, where so many reports in a row have the same randomness."""
        rows = []
        for i, cell in enumerate(cells):
            leader = scheme.shard(b"", cell, bytes(16), tape(str(i // again), scheme.rand_size))[1][0]
            rows.append(FIELD64.decode(leader[: 8 * length], length, "a share"))
        return np.stack(rows)

    fresh, twice = shares([0, 5] * (REPORTS // 2), 1), shares([0, 5] * (REPORTS // 2), 2)
    assert looks_uniform(fresh.ravel(), FIELD64)
    assert not looks_uniform(fresh.ravel() % (FIELD64.modulus // 2), FIELD64)
    apart = [(table[1::2] - table[::2]).ravel() % FIELD64.modulus for table in (fresh, twice)]
    assert looks_uniform(apart[0], FIELD64)
    assert not looks_uniform(apart[1], FIELD64)
