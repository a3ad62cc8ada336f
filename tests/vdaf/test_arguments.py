"""A caller's numbers: numpy's are as good as Python's, and those without end get one sentence."""

from typing import Any

import numpy as np
import pytest

from dpairs.errors import BadParameter, BadValue
from dpairs.vdaf import instances
from dpairs.vdaf.fields import FIELD64
from dpairs.vdaf.measurements import Count
from dpairs.vdaf.prio3 import Prio3

from .make_cases import tape

KINDS = [np.int8, np.uint8, np.int64, np.uint64]
NONCE, KEY = tape("nonce", 16), tape("key", 32)


def result(vdaf: Prio3, measurement: Any) -> Any:
    public, shares = vdaf.shard(b"", measurement, NONCE, tape("rand", vdaf.rand_size))
    said = [vdaf.verify_init(KEY, b"", i, NONCE, public, shares[i]) for i in range(2)]
    message = vdaf.verifier_shares_to_message(b"", [share for _, share in said])
    return vdaf.unshard([vdaf.verify_next(state, message) for state, _ in said])


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_of_numpy(kind):
    two, three, hundred = kind(2), kind(3), kind(100)
    pairs = [
        (instances.count(two), instances.count(), kind(1)),
        (instances.sum_up(hundred), instances.sum_up(100), hundred),
        (instances.sum_vec(two, hundred), instances.sum_vec(2, 100), np.array([1, 100], dtype=kind)),
        (instances.sum_vec(two, hundred, three), instances.sum_vec(2, 100, 3), [hundred, two]),
        (instances.histogram(hundred), instances.histogram(100), three),
        (instances.one_hot(hundred, three, two, three), instances.one_hot(100, 3), kind(99)),
        (
            instances.multihot_count_vec(three, two),
            instances.multihot_count_vec(3, 2),
            np.array([1, 0, 1], dtype=kind),
        ),
        (Prio3(Count(FIELD64), kind(1)), instances.count(), kind(0)),
    ]
    for given, plain, measurement in pairs:
        assert given == plain
        assert repr(given) == repr(plain)
        assert result(given, measurement) == result(plain, np.asarray(measurement).tolist())


def test_truths_of_numpy():
    assert result(instances.count(), np.bool_(True)) == 1
    assert result(instances.multihot_count_vec(3, 2), np.array([True, False, True])) == [1, 0, 1]


@pytest.mark.parametrize("number", [10**5000, -(10**5000), [10**5000], "4" * 10**6], ids=type)
def test_numbers_without_end(number):
    for make in (
        lambda: instances.sum_up(number),
        lambda: instances.sum_vec(number, 3),
        lambda: instances.sum_vec(3, number),
        lambda: instances.histogram(number),
        lambda: instances.histogram(4, chunk=number),
        lambda: instances.multihot_count_vec(number, 3),
        lambda: instances.one_hot(4, proofs=number),
        lambda: instances.count(number),
        lambda: instances.count().verify_init(KEY, b"", number, NONCE, b"", bytes(48)),
    ):
        with pytest.raises(BadParameter) as refused:
            make()
        assert len(str(refused.value)) < 200
    with pytest.raises(BadValue):
        instances.histogram(4).shard(b"", number, NONCE, bytes(128))


@pytest.mark.parametrize("shape", [(), (1, 2), (2, 1)])
def test_an_array_that_is_no_list(shape):
    with pytest.raises(BadValue):
        instances.sum_vec(2, 3).shard(b"", np.ones(shape, dtype=int), NONCE, bytes(128))
