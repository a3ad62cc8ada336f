"""Reports and messages altered in every way: refused, or worth what the honest one is; never a crash.

Per scheme 10,000 with DPAIRS_VALIDATE=1, through the compiled code and one by one, which must come
to the same end.
"""

import os
import random
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from dpairs.vdaf import instances, pingpong
from dpairs.vdaf.batch import pingpong as together
from dpairs.vdaf.batch.server import Server
from dpairs.vdaf.fields import Vector
from dpairs.vdaf.pingpong import Continued, Finished
from dpairs.vdaf.prio3 import Prio3

from .make_cases import tape

FULL = os.environ.get("DPAIRS_VALIDATE") == "1"
MUTATIONS = 10_000 if FULL else 1_000
ALONE = 1 if FULL else 5
"""One of so many is also verified by itself."""
KEY, CONTEXT = tape("key", 32), b"mutations"
SCHEMES: dict[str, tuple[Prio3, list[Any]]] = {
    "count": (instances.count(), [0, 1]),
    "sum_up": (instances.sum_up(1000), [0, 999]),
    "sum_vec": (instances.sum_vec(3, 7), [[0, 7, 3], [1, 1, 1]]),
    "sum_vec_with_multiproof": (instances.sum_vec_with_multiproof(3, 7), [[0, 7, 3], [1, 1, 1]]),
    "histogram": (instances.histogram(7), [0, 6]),
    "multihot_count_vec": (instances.multihot_count_vec(5, 2), [[1, 0, 1, 0, 0], [0, 0, 0, 0, 0]]),
    "one_hot": (instances.one_hot(7), [0, 6]),
}
PARTS = ("leader_nonce", "leader_public", "leader_share", "helper_nonce", "helper_public", "helper_share")
MESSAGES = ("initialize", "finish")


@dataclass(frozen=True)
class Delivery:
    """What arrives at the two servers, and what happens to their messages."""

    leader_nonce: bytes
    leader_public: bytes
    leader_share: bytes
    helper_nonce: bytes
    helper_public: bytes
    helper_share: bytes
    truth: Vector = field(repr=False)
    seed: int = 0
    altered: str = ""

    def message(self, name: str, wire: bytes | None) -> bytes | None:
        if self.altered != name or wire is None:
            return wire
        return mutate(wire, random.Random(self.seed))


def mutate(wire: bytes, rng: random.Random) -> bytes:
    """A bit, a byte, a length, a part from elsewhere, an element that is too large, a block of zeros."""
    changed = bytearray(wire)
    place = rng.randrange(len(wire)) if wire else 0
    match rng.randrange(8 if wire else 1):
        case 0:
            return wire + rng.randbytes(rng.randint(1, 40))
        case 1 | 2:
            changed[place] ^= 1 << rng.randrange(8)
        case 3:
            changed[place] = rng.randrange(256)
        case 4:
            return wire[:place]
        case 5:
            changed[place : place + 16] = b"\xff" * len(changed[place : place + 16])
        case 6:
            changed[place : place + 32] = bytes(len(changed[place : place + 32]))
        case 7:
            other = rng.randrange(len(wire))
            changed[place : place + 8], changed[other : other + 8] = (
                changed[other : other + 8],
                changed[place : place + 8],
            )
    return bytes(changed)


def with_parts(base: Delivery, parts: dict[str, Any]) -> Delivery:
    return replace(base, **parts)


def deliveries(vdaf: Prio3, measurements: list[Any], count: int) -> list[Delivery]:
    """Honest reports, each altered once: in one place, in both copies, or swapped with the other report's."""
    rng, honest = random.Random(1), []
    for i, measurement in enumerate(measurements):
        nonce = tape(f"nonce/{i}", 16)
        public, (first, second) = vdaf.shard(CONTEXT, measurement, nonce, tape(f"rand/{i}", vdaf.rand_size))
        truth = vdaf.circuit.truncate(vdaf.circuit.encode(measurement))
        honest.append(Delivery(nonce, public, first, nonce, public, second, truth=truth))
    made = []
    for number in range(count):
        base, other = rng.sample(honest, 2)
        match rng.randrange(6):
            case 0 | 1:  # one copy
                part = rng.choice(PARTS)
                made.append(with_parts(base, {part: mutate(getattr(base, part), rng)}))
            case 2:  # both copies of what both get
                part = rng.choice(["nonce", "public"])
                wire = mutate(getattr(base, f"leader_{part}"), rng)
                made.append(with_parts(base, {f"leader_{part}": wire, f"helper_{part}": wire}))
            case 3:  # a message on its way
                made.append(replace(base, altered=rng.choice(MESSAGES), seed=number))
            case 4:  # a part of another report, or the shares the wrong way round
                if rng.randrange(4):
                    part = rng.choice(PARTS)
                    made.append(with_parts(base, {part: getattr(other, part)}))
                else:
                    made.append(replace(base, leader_share=base.helper_share, helper_share=base.leader_share))
            case 5:  # another report under a nonce that was used
                made.append(replace(other, leader_nonce=base.leader_nonce, helper_nonce=base.helper_nonce))
    return made


def parse(vdaf: Prio3, share: bytes) -> Vector:
    return vdaf.circuit.field.decode(share, vdaf.circuit.sums, "an output share")


def alone(vdaf: Prio3, sent: Delivery) -> bool:
    """Whether both servers finish, and if so that the report is worth what it should be."""
    leader = pingpong.leader_init(
        vdaf, KEY, CONTEXT, sent.leader_nonce, sent.leader_public, sent.leader_share
    )
    if not isinstance(leader, Continued):
        return False
    inbound = sent.message("initialize", leader.outbound) or b""
    helper = pingpong.helper_init(
        vdaf, KEY, CONTEXT, sent.helper_nonce, sent.helper_public, sent.helper_share, inbound
    )
    if not isinstance(helper, Finished):
        return False
    end = pingpong.leader_continued(vdaf, leader, sent.message("finish", helper.outbound) or b"")
    if not isinstance(end, Finished):
        return False
    total = (parse(vdaf, end.out_share) + parse(vdaf, helper.out_share)) % vdaf.circuit.field.modulus
    assert total.tolist() == sent.truth.tolist(), "accepted wrongly"
    return True


def all_together(vdaf: Prio3, sent: list[Delivery]) -> list[bool]:
    leader, helper = (Server(vdaf, KEY, CONTEXT, i) for i in range(2))
    arrived = {part: [getattr(each, part) for each in sent] for part in PARTS}
    kept, asked = together.leader_init(
        leader, arrived["leader_nonce"], arrived["leader_public"], arrived["leader_share"]
    )
    inbound = [each.message("initialize", wire) for each, wire in zip(sent, asked, strict=True)]
    verified = together.helper_init(
        helper, arrived["helper_nonce"], arrived["helper_public"], arrived["helper_share"], inbound
    )
    answers = [each.message("finish", wire) for each, wire in zip(sent, verified.outbound, strict=True)]
    valid = together.leader_continued(leader, kept, answers)
    modulus = vdaf.circuit.field.modulus
    for i, each in enumerate(sent):
        if valid[i]:
            shares = (kept.out_shares[i].tobytes(), verified.prepared.out_shares[i].tobytes())
            total = (parse(vdaf, shares[0]) + parse(vdaf, shares[1])) % modulus
            assert total.tolist() == each.truth.tolist(), "accepted wrongly"
    return valid.tolist()


@pytest.mark.parametrize("name", SCHEMES)
def test_altered_reports_are_refused_or_harmless(name):
    vdaf, measurements = SCHEMES[name]
    sent = deliveries(vdaf, measurements, MUTATIONS)
    ends = all_together(vdaf, sent)
    # A changed nonce is harmless where nothing but the servers' own randomness follows from it.
    assert sum(ends) < len(ends) * (0.5 if vdaf.circuit.joint == 0 else 0.2)
    for i in range(0, len(sent), ALONE):
        assert alone(vdaf, sent[i]) == ends[i], sent[i]


@pytest.mark.parametrize("name", SCHEMES)
def test_unaltered_reports_are_accepted(name):
    vdaf, measurements = SCHEMES[name]
    sent = []
    for i, measurement in enumerate(measurements):
        nonce = tape(f"nonce/{i}", 16)
        public, (first, second) = vdaf.shard(CONTEXT, measurement, nonce, tape(f"rand/{i}", vdaf.rand_size))
        truth = vdaf.circuit.truncate(vdaf.circuit.encode(measurement))
        sent.append(Delivery(nonce, public, first, nonce, public, second, truth=truth))
    assert all(all_together(vdaf, sent))
    assert all(alone(vdaf, each) for each in sent)


@pytest.mark.parametrize("name", SCHEMES)
def test_another_key_or_context_verifies_nothing_it_should_not(name):
    """Servers that disagree on the key, or a participant of another application: refused."""
    vdaf, measurements = SCHEMES[name]
    nonce = tape("nonce", 16)
    public, shares = vdaf.shard(b"another", measurements[1], nonce, tape("rand", vdaf.rand_size))
    leader = pingpong.leader_init(vdaf, KEY, CONTEXT, nonce, public, shares[0])
    assert isinstance(leader, Continued)
    helper = pingpong.helper_init(vdaf, KEY, CONTEXT, nonce, public, shares[1], leader.outbound)
    assert not isinstance(helper, Finished)
    public, shares = vdaf.shard(CONTEXT, measurements[1], nonce, tape("rand", vdaf.rand_size))
    leader = pingpong.leader_init(vdaf, KEY, CONTEXT, nonce, public, shares[0])
    assert isinstance(leader, Continued)
    helper = pingpong.helper_init(vdaf, tape("other", 32), CONTEXT, nonce, public, shares[1], leader.outbound)
    assert not isinstance(helper, Finished)
