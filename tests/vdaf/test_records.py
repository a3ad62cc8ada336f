"""Counts of a site's records: valid exactly when they add up to what it declared, in both paths alike."""

from itertools import product

import numpy as np
import pytest

from dpairs.errors import BadParameter
from dpairs.vdaf import instances
from dpairs.vdaf.batch.pingpong import helper_init, leader_continued, leader_init
from dpairs.vdaf.batch.server import Server
from dpairs.vdaf.fields import FIELD64
from dpairs.vdaf.measurements import Records

KEY, CONTEXT = bytes(range(32)), b"records"


def test_the_equation_holds_for_the_declared_number_alone():
    """All bits of two counts of 0 to 5."""
    circuit = Records(FIELD64, chunk=2, entries=2, largest=5)
    good = 0
    for bits in product((0, 1), repeat=circuit.length):
        encoded = FIELD64.vector(bits)
        _, equation = circuit.check(encoded, FIELD64.zeros(circuit.calls), 1)
        total = sum(int(number) for number in circuit.truncate(encoded))
        assert (equation == 0) == (total == 5)
        good += total == 5
    assert good > 5


@pytest.mark.parametrize("size", [1, 6, 1000])
def test_a_batch_adds_up_what_is_valid(size):
    vdaf = instances.records(4, size)
    honest = [[size, 0, 0, 0], [0, size - 1, 0, 1]]
    reports = []
    for place, measurement in enumerate(honest):
        nonce = bytes([place]) * 16
        reports.append((nonce, *vdaf.shard(CONTEXT, measurement, nonce, bytes([place]) * vdaf.rand_size)))
    # One record more than it says, in bits as they should be: only the equation notices.
    encoded = vdaf.circuit.encode(honest[0])
    encoded[len(vdaf.circuit.weights)] = 1
    nonce = b"n" * 16
    reports.append((nonce, *vdaf.shard_encoded(CONTEXT, encoded, nonce, bytes(vdaf.rand_size))))
    nonces, publics, parts = zip(*reports, strict=True)
    leader, helper = (Server(vdaf, KEY, CONTEXT, number) for number in (0, 1))
    first, sent = leader_init(leader, nonces, publics, [each[0] for each in parts])
    verified = helper_init(helper, nonces, publics, [each[1] for each in parts], sent)
    valid = leader_continued(leader, first, verified.outbound)
    assert valid.tolist() == verified.valid.tolist() == [True, True, False]
    shares = [leader.aggregate(first, valid), helper.aggregate(verified.prepared, verified.valid)]
    assert vdaf.unshard(shares) == np.sum(honest, axis=0).tolist()


def test_its_soundness_and_its_limits():
    assert instances.records(1024, 10**6).soundness_error() < 2**-150
    with pytest.raises(BadParameter, match="too many for the field"):
        Records(FIELD64, 8, 2**13, 2**52)
    with pytest.raises(BadParameter):
        instances.records(2**20, 10**6)
