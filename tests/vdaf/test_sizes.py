"""Parameters as large as they may be: time and memory grow with the report, not with its square."""

import copy
import time

import numpy as np
import pytest

from dpairs.errors import BadParameter
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


@pytest.mark.parametrize(
    "make",
    [
        lambda: instances.one_hot(2**20, chunk=2**20, proofs=255),
        lambda: instances.one_hot(1, chunk=2**20, proofs=9),
        lambda: instances.sum_vec_with_multiproof(2**20, 1, chunk=1, proofs=4),
    ],
)
def test_reports_that_are_too_large(make):
    """Gigabytes that no one would verify: refused before anything is allocated."""
    with pytest.raises(BadParameter, match="at most 16777216 elements"):
        make()


def test_the_largest_reports():
    for vdaf in (
        instances.histogram(2**20),
        instances.one_hot(2**20, chunk=1),
        instances.one_hot(2**20, proofs=255),
        instances.sum_vec(2**13, FIELD128.modulus - 1),
    ):
        assert vdaf.report_size < 2**28


def test_sums_that_may_not_fit():
    """2^63 + 2^63 is 2^32 - 1 in Field64: a result that looks like one."""
    vdaf = instances.sum_up(2**63)
    share = FIELD64.encode(FIELD64.vector([2**63]))
    zero = bytes(vdaf.share_size)
    assert vdaf.unshard([vdaf.aggregate([share, share]), zero]) == 2**32 - 1
    assert vdaf.most_reports == 1
    assert vdaf.unshard([share, zero], reports=1) == 2**63
    with pytest.raises(BadParameter, match="number of reports"):
        vdaf.unshard([vdaf.aggregate([share, share]), zero], reports=2)
    for scheme in (instances.count(), instances.one_hot(256), instances.multihot_count_vec(9, 5)):
        assert scheme.most_reports == scheme.circuit.field.modulus - 1
    assert instances.sum_vec(3, 1000).most_reports == (FIELD128.modulus - 1) // 1000
