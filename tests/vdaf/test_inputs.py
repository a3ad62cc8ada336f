"""What a caller, a participant or a file may get wrong: one clear sentence, of a type of `errors`."""

import subprocess
import sys

import numpy as np
import pytest

from dpairs.errors import BadMessage, BadParameter, BadValue, NotVerified, TrailingBytes
from dpairs.vdaf import instances
from dpairs.vdaf.batch.server import Server
from dpairs.vdaf.fields import FIELD64, FIELD128, Field
from dpairs.vdaf.measurements import SumVec, best_chunk
from dpairs.vdaf.polynomials import coefficients, evaluate, values
from dpairs.vdaf.prio3 import Prio3, VerifyState
from dpairs.vdaf.xof import prefix

from ..every import every
from .make_cases import tape

VDAF = instances.one_hot(4)
NONCE, KEY = tape("nonce", 16), tape("key", 32)
PUBLIC, SHARES = VDAF.shard(b"", 2, NONCE, tape("rand", VDAF.rand_size))


@pytest.mark.parametrize(
    ("vdaf", "measurement"),
    [
        (instances.count(), 2),
        (instances.count(), -1),
        (instances.count(), 0.5),
        (instances.count(), None),
        (instances.sum_up(10), 11),
        (instances.sum_up(10), -1),
        (instances.sum_up(10), "3"),
        (instances.sum_up(10), True),
        (instances.sum_vec(2, 3), [1]),
        (instances.sum_vec(2, 3), [1, 4]),
        (instances.sum_vec(2, 3), "11"),
        (instances.sum_vec(2, 3), 5),
        (instances.histogram(4), 4),
        (instances.histogram(4), -1),
        (instances.histogram(4), np.float64(1)),
        (instances.multihot_count_vec(3, 1), [1, 1, 0]),
        (instances.multihot_count_vec(3, 1), [2, 0, 0]),
        (instances.multihot_count_vec(3, 1), [1, 0]),
        (instances.one_hot(4), 4),
    ],
)
def test_measurements_that_are_none(vdaf, measurement):
    with pytest.raises(BadValue) as refused:
        vdaf.shard(b"", measurement, bytes(16), bytes(vdaf.rand_size))
    assert repr(measurement) not in str(refused.value), "a person's value is not repeated"


@every(
    "make",
    [
        lambda: instances.sum_up(0),
        lambda: instances.sum_up(FIELD64.modulus),
        lambda: instances.sum_vec(0, 1),
        lambda: instances.sum_vec(2**20, 3),
        lambda: instances.sum_vec(2, 3, chunk=0),
        lambda: instances.histogram(0),
        lambda: instances.histogram(2**20 + 1),
        lambda: instances.histogram(2.5),  # type: ignore[arg-type]
        lambda: instances.multihot_count_vec(3, 4),
        lambda: instances.multihot_count_vec(3, 0),
        lambda: instances.one_hot(4, proofs=2),
        lambda: instances.sum_vec_with_multiproof(4, 1, proofs=1),
        lambda: instances.one_hot(4, proofs=256),
        lambda: instances.count(1),
        lambda: instances.count(256),
        lambda: Prio3(VDAF.circuit, -1),
        lambda: best_chunk(0),
        lambda: prefix(bytes(65536)),
        lambda: FIELD64.root(3),
        lambda: FIELD64.root(2**33),
        lambda: VDAF.shard(b"", 1, bytes(15), bytes(VDAF.rand_size)),
        lambda: VDAF.shard(b"", 1, bytes(16), bytes(VDAF.rand_size - 1)),
        lambda: VDAF.shard(bytes(65528), 1, bytes(16), bytes(VDAF.rand_size)),
        lambda: VDAF.verify_init(KEY[1:], b"", 0, NONCE, PUBLIC, SHARES[0]),
        lambda: VDAF.verify_init(KEY, b"", 2, NONCE, PUBLIC, SHARES[0]),
        lambda: Server(VDAF, KEY[1:], b"", 0),
        lambda: Server(VDAF, KEY, bytes(65528), 0),
        lambda: Server(VDAF, KEY, b"", 2),
        lambda: Server(Prio3(SumVec(Field("F97", 97, 1, 28, 32), 1, 1, 1), 9), KEY, b"", 0),
    ],
)
def test_parameters_that_are_none(make):
    with pytest.raises(BadParameter):
        make()


def test_bytes_that_are_no_shares():
    too_large = b"\xff" * 8 + SHARES[0][8:]
    for public, share, error in (
        (PUBLIC, SHARES[0] + b"\0", TrailingBytes),
        (PUBLIC, SHARES[0][:-1], BadMessage),
        (PUBLIC, too_large, BadMessage),
        (PUBLIC + b"\0", SHARES[0], TrailingBytes),
        (PUBLIC[:-1], SHARES[0], BadMessage),
        (PUBLIC, None, BadMessage),
        (PUBLIC, SHARES[1], BadMessage),
    ):
        with pytest.raises(error):
            VDAF.verify_init(KEY, b"", 0, NONCE, public, share)  # type: ignore[arg-type]
    with pytest.raises(TrailingBytes):
        VDAF.verify_init(KEY, b"", 1, NONCE, PUBLIC, SHARES[1] + b"\0")
    for nonce in (b"", NONCE + b"\0"):
        with pytest.raises(BadMessage):
            VDAF.verify_init(KEY, b"", 0, nonce, PUBLIC, SHARES[0])


def test_messages_that_are_none():
    said = [VDAF.verify_init(KEY, b"", i, NONCE, PUBLIC, SHARES[i]) for i in range(2)]
    shares = [share for _, share in said]
    message = VDAF.verifier_shares_to_message(b"", shares)
    for wrong in (
        [shares[0]],
        [*shares, shares[0]],
        [shares[0], shares[1][:-1]],
        [shares[0], b"\xff" * len(shares[1])],
    ):
        with pytest.raises(BadMessage):
            VDAF.verifier_shares_to_message(b"", wrong)
    with pytest.raises(NotVerified):
        VDAF.verifier_shares_to_message(b"", shares[::-1][:1] * 2)
    for wrong_message in (message[:-1], message + b"\0", b""):
        with pytest.raises(BadMessage):
            VDAF.verify_next(said[0][0], wrong_message)
    with pytest.raises(NotVerified):
        VDAF.verify_next(said[0][0], bytes(32))
    with pytest.raises(BadMessage):
        VDAF.unshard([bytes(VDAF.share_size)])
    with pytest.raises(BadMessage):
        VDAF.aggregate([bytes(VDAF.share_size - 1)])
    server = Server(VDAF, KEY, b"", 0)
    prepared = server.verify_init([NONCE], [PUBLIC], [SHARES[0]])
    with pytest.raises(BadMessage):
        server.verify_init([NONCE], [PUBLIC], [])
    with pytest.raises(BadMessage):
        server.verify_init([NONCE], np.zeros((1, 3), dtype=np.uint8), [SHARES[0]])
    with pytest.raises(BadMessage):
        server.combine([prepared.verifier_shares])
    with pytest.raises(BadMessage):
        server.verify_next(prepared, [])
    with pytest.raises(BadParameter):
        server.aggregate(prepared, np.ones(2, dtype=bool))


def test_a_state_shows_nothing():
    assert repr(VerifyState(b"secret", b"seed")) == "VerifyState()"


def test_more_servers_than_two():
    vdaf = instances.histogram(3, shares=4)
    public, shares = vdaf.shard(b"", 1, NONCE, tape("four", vdaf.rand_size))
    said = [vdaf.verify_init(KEY, b"", i, NONCE, public, shares[i]) for i in range(4)]
    message = vdaf.verifier_shares_to_message(b"", [share for _, share in said])
    outs = [vdaf.aggregate([vdaf.verify_next(state, message)]) for state, _ in said]
    assert vdaf.unshard(outs) == [0, 1, 0]


@pytest.mark.parametrize("field", [FIELD64, FIELD128], ids=repr)
def test_polynomials_against_their_definition(field):
    p = field.modulus
    poly = field.vector(range(3, 11))
    at_roots = values(field, poly, 8)
    horner = [sum(int(c) * pow(int(x), i, p) for i, c in enumerate(poly)) % p for x in field.roots(8)]
    assert at_roots.tolist() == horner
    assert coefficients(field, at_roots).tolist() == poly.tolist()
    for t in (0, 5, int(field.roots(8)[3]), p - 1):
        expected = sum(int(c) * pow(t, i, p) for i, c in enumerate(poly)) % p
        assert int(evaluate(field, at_roots, t)) == expected


def test_the_best_chunk_is_the_best():
    for bits in [*range(1, 200), 256, 1000, 4096]:
        sizes = {
            chunk: 2 * chunk + 2 * (1 << (-(-bits // chunk)).bit_length()) for chunk in range(1, bits + 1)
        }
        assert sizes[best_chunk(bits)] == min(sizes.values())


def test_a_participant_needs_no_compiler():
    program = (
        "import sys; from dpairs.vdaf import instances, pingpong, hpke;"
        "vdaf = instances.one_hot(8); vdaf.shard(b'', 3, bytes(16), bytes(vdaf.rand_size));"
        "print([name for name in ('numba', 'llvmlite', 'scipy') if name in sys.modules])"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"
