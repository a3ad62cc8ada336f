"""Multiplication between two servers: right, small, refusing bad bytes, and a view that can be simulated."""

import numpy as np
import pytest
from scipy import stats

from dpairs import BadMessage, BadParameter, OutOfOrder, TrailingBytes
from dpairs.protocols.two_servers import goldilocks
from dpairs.protocols.two_servers.goldilocks import MODULUS
from dpairs.protocols.two_servers.multiply import (
    MultiplyReceiver,
    MultiplySender,
)
from dpairs.randomness import SeededRandomness

FAILURE = 1e-9
WORDS = np.array([0, 1, 2**32 - 1, 2**32, 2**63, MODULUS - 1, MODULUS, 2**64 - 1], dtype=np.uint64)


def vectors(seed, *lengths):
    rng = np.random.default_rng(seed)
    return [[int(x) % MODULUS for x in rng.integers(0, 2**64, k, dtype=np.uint64)] for k in lengths]


def run(u, v, seed=1):
    sender = MultiplySender(b"context", v, SeededRandomness(seed))
    receiver = MultiplyReceiver(b"context", u, sender.offer, SeededRandomness(seed + 1))
    mine, corrections = sender.finish(receiver.reply)
    return mine, receiver.finish(corrections), sender.offer, receiver.reply, corrections


def inner(u, v):
    return sum(a * b for a, b in zip(u, v, strict=True)) % MODULUS


def test_arithmetic_modulo_p_at_its_edges():
    a, b = (grid.ravel() for grid in np.meshgrid(WORDS, WORDS))
    whole = [int(x) + 2**64 * int(y) for x, y in zip(a, b, strict=True)]
    assert goldilocks.reduce(a, b).tolist() == [each % MODULUS for each in whole]
    a, b = a[(a < MODULUS) & (b < MODULUS)], b[(a < MODULUS) & (b < MODULUS)]
    sums = [(int(x) + int(y)) % MODULUS for x, y in zip(a, b, strict=True)]
    differences = [(int(x) - int(y)) % MODULUS for x, y in zip(a, b, strict=True)]
    assert goldilocks.add(a, b).tolist() == sums
    assert goldilocks.subtract(a, b).tolist() == differences
    assert goldilocks.total(a) == sum(map(int, a)) % MODULUS


@pytest.mark.parametrize("lengths", [(1,), (3, 5), (40, 1, 7)])
def test_shares_add_up_to_the_inner_products(lengths):
    u, v = vectors(1, *lengths), vectors(2, *lengths)
    mine, theirs, *_ = run(u, v)
    assert [(a + b) % MODULUS for a, b in zip(mine, theirs, strict=True)] == list(map(inner, u, v))


def test_extreme_elements():
    u, v = [[0, MODULUS - 1, 1, 2**63]], [[MODULUS - 1, MODULUS - 1, 0, 2**32]]
    mine, theirs, *_ = run(u, v)
    assert (mine[0] + theirs[0]) % MODULUS == inner(u[0], v[0])


def test_a_product_of_1024_elements_takes_under_5_megabytes():
    u, v = vectors(3, 1024), vectors(4, 1024)
    mine, theirs, *messages = run(u, v)
    assert sum(map(len, messages)) < 5e6
    assert (mine[0] + theirs[0]) % MODULUS == inner(u[0], v[0])


def test_bad_messages_are_refused():
    u, v = vectors(5, 4), vectors(6, 4)
    sender = MultiplySender(b"context", v, SeededRandomness(1))
    with pytest.raises(BadMessage, match="offer"):
        MultiplyReceiver(b"context", u, sender.offer[:-1], SeededRandomness(2))
    receiver = MultiplyReceiver(b"context", u, sender.offer, SeededRandomness(2))
    with pytest.raises(TrailingBytes):
        sender.finish(receiver.reply + b"x")
    with pytest.raises(BadMessage):
        sender.finish("text")  # type: ignore[arg-type]
    _, corrections = sender.finish(receiver.reply)
    with pytest.raises(OutOfOrder):
        sender.finish(receiver.reply)
    with pytest.raises(BadMessage, match="below the modulus"):
        receiver.finish(corrections[:-8] + b"\xff" * 8)
    with pytest.raises(BadMessage):
        receiver.finish(corrections[:-8])
    with pytest.raises(BadParameter):
        MultiplySender(b"context", [[MODULUS]], SeededRandomness(1))
    with pytest.raises(BadParameter):
        MultiplySender(b"context", [[]], SeededRandomness(1))


def uniform(elements):
    """The p-value of the hypothesis that field elements are uniform."""
    return float(stats.kstest(np.array(elements, dtype=np.float64) / MODULUS, "uniform").pvalue)


def test_shares_of_a_product_are_uniform():
    """Over fresh randomness each server's share says nothing about the product."""
    u, v = [[3, 4]], [[5, 6]]
    shares = np.array([run(u, v, 100 + 2 * seed)[:2] for seed in range(60)], dtype=object)
    assert uniform([int(each[0][0]) for each in shares]) > FAILURE
    assert uniform([int(each[1][0]) for each in shares]) > FAILURE
    assert uniform([39] * 60) < FAILURE
