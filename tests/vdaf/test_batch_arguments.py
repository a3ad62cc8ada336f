"""What a caller of the compiled path may get wrong, and what a report may not do to its batch."""

import numpy as np
import pytest

from dpairs.errors import BadParameter
from dpairs.vdaf import instances
from dpairs.vdaf.batch import keccak
from dpairs.vdaf.batch import server as batch_server
from dpairs.vdaf.batch.server import Server
from dpairs.vdaf.fields import FIELD64
from dpairs.vdaf.proofs import prove

from .make_cases import tape

KEY = tape("key", 32)


@pytest.mark.parametrize("number", [True, 0.0, 0.5, 1.0, "0", None, b"\0", [0], -1, 2, 10**5000], ids=type)
def test_a_server_that_is_none(number):
    with pytest.raises(BadParameter):
        Server(instances.count(), KEY, b"", number)


def test_masks_that_are_none():
    vdaf = instances.count()
    server = Server(vdaf, KEY, b"", np.uint8(1))  # type: ignore[arg-type]
    prepared = server.verify_init([bytes(16)], [b""], [bytes(32)])
    for chosen in ([True], None, True, np.array([1]), np.array(True), np.ones(2, dtype=bool)):
        with pytest.raises(BadParameter):
            server.aggregate(prepared, chosen)


def test_a_batch_of_another_kind():
    count, cells = instances.count(), instances.one_hot(3)
    prepared = Server(count, KEY, b"", 1).verify_init([bytes(16)], [b""], [bytes(32)])
    with pytest.raises(BadParameter, match="another kind"):
        Server(cells, KEY, b"", 1).verify_next(prepared, [bytes(32)])


@pytest.mark.parametrize("context", [None, "text", 5, bytes(65528)], ids=type)
def test_a_context_that_is_none(context):
    vdaf = instances.one_hot(3)
    with pytest.raises(BadParameter):
        vdaf.verifier_shares_to_message(context, [bytes(vdaf.verifier_size)] * 2)


def test_a_long_context_takes_no_memory_for_each_report(monkeypatch):
    """Each hash repeats the context; the reports of one step together must not."""
    sizes = []
    pack = keccak.pack

    def measured(parts, count):
        packed = pack(parts, count)
        sizes.append(packed.nbytes)
        return packed

    vdaf, count = instances.one_hot(2), 300
    contexts = [bytes(65527), b""]
    nonces = [tape(f"nonce/{i}", 16) for i in range(count)]
    monkeypatch.setattr(batch_server, "pack", measured)
    for context in contexts:
        made = [vdaf.shard(context, i % 2, nonces[i], tape(f"{i}", vdaf.rand_size)) for i in (0, 1)]
        server = Server(vdaf, KEY, context, 0)
        prepared = server.verify_init(
            nonces, [made[i % 2][0] for i in range(count)], [made[i % 2][1][0] for i in range(count)]
        )
        for i in (0, 1):
            state, said = vdaf.verify_init(KEY, context, 0, nonces[i], made[i][0], made[i][1][0])
            assert prepared.verifier_shares[i].tobytes() == said
            assert prepared.seeds[i].tobytes() == state.seed
        others = np.zeros_like(prepared.verifier_shares)
        message, _ = server.combine([prepared.verifier_shares, others])
        assert len(np.unique(message, axis=0)) == count
    assert max(sizes) <= batch_server.STEP


def test_a_report_that_cannot_be_read_is_no_verifier_share():
    """5 + p fits into 64 bits and would be reduced to 5: a valid report, in another encoding."""
    vdaf, nonce, seed = instances.count(), tape("nonce", 16), tape("seed", 32)
    circuit, p = vdaf.circuit, FIELD64.modulus
    encoded, helpers = circuit.encode(1), vdaf._proof_share(b"", 1, seed)
    seeds = (helpers[: circuit.gadget.arity] + 5) % p
    proof = (prove(circuit, encoded, seeds, FIELD64.zeros(0)) - helpers) % p
    measurement = (encoded - vdaf._measurement_share(b"", 1, seed)) % p
    leader, helper = (Server(vdaf, KEY, b"", i) for i in range(2))
    other = helper.verify_init([nonce], [b""], [seed])
    for element, good in ((5, True), (5 + p, False)):
        wire = FIELD64.encode(np.array([*measurement, element, *proof[1:]], dtype=object))
        kept = leader.verify_init([nonce], [b""], [wire])
        assert kept.good.tolist() == [good]
        assert leader.combine([kept.verifier_shares, other.verifier_shares])[1].tolist() == [good]
