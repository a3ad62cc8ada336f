"""The two servers' messages: one report and a batch, and what is refused."""

import numpy as np
import pytest

from dpairs.errors import BadMessage, BadParameter, OutOfOrder
from dpairs.vdaf import instances, pingpong
from dpairs.vdaf.batch import pingpong as together
from dpairs.vdaf.batch.server import Server
from dpairs.vdaf.pingpong import Continued, Finished, Kind, Rejected, decode, encode

from .make_cases import tape

KEY, CONTEXT = bytes(range(32)), b"a survey"
VDAF = instances.one_hot(6)
CELLS = [0, 3, 3, 5]
NONCES = [tape(f"nonce {i}", 16) for i in range(len(CELLS))]
REPORTS = [
    VDAF.shard(CONTEXT, cell, nonce, tape(f"rand {i}", VDAF.rand_size))
    for i, (cell, nonce) in enumerate(zip(CELLS, NONCES, strict=True))
]
PUBLICS = [public for public, _ in REPORTS]
SHARES = [[shares[server] for _, shares in REPORTS] for server in range(2)]


def talk(i: int) -> tuple[Finished, Finished]:
    leader = pingpong.leader_init(VDAF, KEY, CONTEXT, NONCES[i], PUBLICS[i], SHARES[0][i])
    assert isinstance(leader, Continued)
    helper = pingpong.helper_init(VDAF, KEY, CONTEXT, NONCES[i], PUBLICS[i], SHARES[1][i], leader.outbound)
    assert isinstance(helper, Finished)
    assert helper.outbound is not None
    end = pingpong.leader_continued(VDAF, leader, helper.outbound)
    assert isinstance(end, Finished)
    assert end.outbound is None
    return end, helper


def test_one_by_one():
    ends = [talk(i) for i in range(len(CELLS))]
    sums = [VDAF.aggregate(pair[server].out_share for pair in ends) for server in range(2)]
    assert VDAF.unshard(sums) == [1, 0, 0, 2, 0, 1]


def test_together_with_the_same_messages():
    leader, helper = (Server(VDAF, KEY, CONTEXT, i) for i in range(2))
    kept, asked = together.leader_init(leader, NONCES, PUBLICS, SHARES[0])
    verified = together.helper_init(helper, NONCES, PUBLICS, SHARES[1], asked)
    valid = together.leader_continued(leader, kept, verified.outbound)
    assert valid.all()
    for i in range(len(CELLS)):
        begun = pingpong.leader_init(VDAF, KEY, CONTEXT, NONCES[i], PUBLICS[i], SHARES[0][i])
        assert isinstance(begun, Continued)
        assert begun.outbound == asked[i]
        assert talk(i)[1].outbound == verified.outbound[i]
    sums = [leader.aggregate(kept, valid), helper.aggregate(verified.prepared, verified.valid)]
    assert VDAF.unshard(sums) == [1, 0, 0, 2, 0, 1]


def test_a_bad_report_among_good_ones():
    """One with a cut share, one with an altered share, one whose message is lost on the way."""
    shares = [SHARES[0][0][:-1], SHARES[0][1], bytes([SHARES[0][2][0] ^ 1]) + SHARES[0][2][1:], SHARES[0][3]]
    leader, helper = (Server(VDAF, KEY, CONTEXT, i) for i in range(2))
    kept, asked = together.leader_init(leader, NONCES, PUBLICS, shares)
    assert asked[0] is None
    assert kept.good.tolist() == [False, True, True, True]
    verified = together.helper_init(helper, NONCES, PUBLICS, SHARES[1], asked)
    assert verified.valid.tolist() == [False, True, False, True]
    answers = [*verified.outbound[:3], b"\x02\x00\x00\x00\x00"]
    valid = together.leader_continued(leader, kept, answers)
    assert valid.tolist() == [False, True, False, False]
    sums = [leader.aggregate(kept, valid), helper.aggregate(verified.prepared, valid)]
    assert VDAF.unshard(sums) == [0, 0, 0, 1, 0, 0]
    with pytest.raises(BadMessage):
        leader.aggregate(kept, np.ones(4, dtype=bool))


@pytest.mark.parametrize(
    "wire",
    [
        b"",
        b"\x00",
        b"\x03\x00\x00\x00\x00",
        b"\x00\x00\x00\x00\x02a",
        b"\x00\x00\x00\x00\x01ab",
        b"\x00\xff\xff\xff\xff",
    ],
)
def test_messages_that_are_none(wire):
    with pytest.raises(BadMessage):
        decode(wire, Kind.INITIALIZE)
    answer = pingpong.helper_init(VDAF, KEY, CONTEXT, NONCES[0], PUBLICS[0], SHARES[1][0], wire)
    assert isinstance(answer, Rejected)
    assert answer.reason


def test_messages_of_another_kind():
    share = tape("share", VDAF.verifier_size)
    for kind, items in ((Kind.CONTINUE, [share, share]), (Kind.FINISH, [share])):
        answer = pingpong.helper_init(
            VDAF, KEY, CONTEXT, NONCES[0], PUBLICS[0], SHARES[1][0], encode(kind, *items)
        )
        assert isinstance(answer, Rejected)
    assert decode(encode(Kind.CONTINUE, b"a", b""), Kind.CONTINUE) == [b"a", b""]


def test_two_servers_and_their_places():
    three = instances.count(3)
    with pytest.raises(BadParameter):
        pingpong.leader_init(three, KEY, CONTEXT, NONCES[0], b"", b"")
    with pytest.raises(BadParameter):
        together.leader_init(Server(VDAF, KEY, CONTEXT, 1), NONCES, PUBLICS, SHARES[1])


def test_nothing_secret_is_shown():
    leader = pingpong.leader_init(VDAF, KEY, CONTEXT, NONCES[0], PUBLICS[0], SHARES[0][0])
    server = Server(VDAF, KEY, CONTEXT, 0)
    prepared = server.verify_init(NONCES, PUBLICS, SHARES[0])
    for text in (repr(leader), repr(talk(0)), repr(server), repr(prepared)):
        assert "x00" not in text
        assert "b'" not in text
        assert "uint" not in text
        assert "array([[" not in text


def test_a_leader_that_does_not_wait_reads_no_answer():
    for state in (pingpong.Rejected("why"), pingpong.Finished(b"share"), None):
        with pytest.raises(OutOfOrder):
            pingpong.leader_continued(instances.count(), state, b"\2\0\0\0\0")  # type: ignore[arg-type]
