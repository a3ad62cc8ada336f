"""Parameters as large as they may be: time and memory grow with the report, not with its square."""

import copy
import time

import numpy as np
import pytest

from dpairs.vdaf import instances
from dpairs.vdaf.batch import pingpong as together
from dpairs.vdaf.batch.server import Server
from dpairs.vdaf.fields import FIELD64, FIELD128, Field
from dpairs.vdaf.polynomials import extension, values
from dpairs.vdaf.prio3 import Prio3

from .make_cases import tape

KEY = tape("key", 32)
TINY = Field("F97", 97, 1, 28, 32)


@pytest.mark.parametrize("field", [FIELD64, FIELD128, TINY], ids=repr)
@pytest.mark.parametrize("n", [2, 4, 16])
def test_missing_values_follow_from_the_others(field, n):
    for given in range(1, n + 1):
        all_values = values(field, field.vector(range(3, 3 + given)), n)
        rest = extension(field, given, n) * all_values[:given] % field.modulus
        assert (rest.sum(axis=1) % field.modulus).tolist() == all_values[given:].tolist()


def test_a_long_gadget_polynomial_is_completed_at_once():
    """Products over all pairs of 2^17 places would take hours."""
    began = time.process_time()
    assert extension(FIELD64, 2**17 - 1, 2**17).shape == (1, 2**17 - 1)
    assert time.process_time() - began < 60


@pytest.mark.parametrize("vdaf", [instances.count(), instances.one_hot(3), instances.histogram(3)], ids=repr)
def test_a_scheme_that_came_from_another_process(vdaf: Prio3):
    """Its field is equal to Field64 or Field128, and another object."""
    copied = copy.deepcopy(vdaf)
    assert copied.circuit.field is not vdaf.circuit.field
    nonce = tape("nonce", 16)
    public, shares = copied.shard(b"", 1, nonce, tape("rand", vdaf.rand_size))
    kinds = [[Server(scheme, KEY, b"", i) for i in range(2)] for scheme in (vdaf, copied)]
    for leader, helper in kinds:
        kept, asked = together.leader_init(leader, [nonce], [public], [shares[0]])
        verified = together.helper_init(helper, [nonce], [public], [shares[1]], asked)
        valid = together.leader_continued(leader, kept, verified.outbound)
        assert valid.tolist() == [True]
        sums = [leader.aggregate(kept, valid), helper.aggregate(verified.prepared, valid)]
        assert np.sum(vdaf.unshard(sums)) == 1
