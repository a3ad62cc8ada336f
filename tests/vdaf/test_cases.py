"""200 reports of our own for each scheme: the single path and the compiled one give what is written down."""

import json

import numpy as np
import pytest

from dpairs.vdaf.batch.server import Server
from dpairs.vdaf.prio3 import KEY, Prio3

from .make_cases import FOLDER, NAMES, REPORTS, SETS, digest, inputs, scheme, tape, text


@pytest.mark.parametrize("name", NAMES)
def test_the_single_path_writes_them_again_and_a_batch_verifies_the_same_bytes(name, monkeypatch):
    made, shard = {}, Prio3.shard

    def kept(vdaf, context, measurement, nonce, rand):
        made[nonce] = shard(vdaf, context, measurement, nonce, rand)
        return made[nonce]

    monkeypatch.setattr(Prio3, "shard", kept)
    written = (FOLDER / f"cases_{name}.json").read_text(encoding="utf-8")
    assert text(name) == written
    groups = json.loads(written)["groups"]
    assert len(groups) == SETS
    for group in groups:
        vdaf, label = scheme(name, group["parameters"]), group["label"]
        context, reports = f"{label}/context".encode(), group["reports"]
        assert len(reports) == REPORTS
        nonces = [inputs(vdaf, f"{label}/{i}")[0] for i in range(REPORTS)]
        publics, shares = zip(*(made[nonce] for nonce in nonces), strict=True)
        servers = [Server(vdaf, tape(f"{label}/key", KEY), context, i) for i in range(vdaf.shares)]
        prepared = [
            server.verify_init(nonces, publics, [each[i] for each in shares])
            for i, server in enumerate(servers)
        ]
        messages, holds = servers[0].combine([each.verifier_shares for each in prepared])
        for i, report in enumerate(reports):
            said = [each.verifier_shares[i].tobytes() for each in prepared]
            assert digest(*said, messages[i].tobytes()) == report["verification"]
        sums = []
        for server, each in zip(servers, prepared, strict=True):
            valid = server.verify_next(each, messages) & holds
            assert valid.all()
            sums.append(server.aggregate(each, valid))
        assert [digest(each) for each in sums] == group["sums"]
        assert vdaf.unshard(sums) == group["result"]


def test_a_large_batch_is_worked_on_in_steps(monkeypatch):
    """Any step gives the same rows: memory is bounded by it, not by the batch."""
    vdaf = scheme("one_hot", {"cells": 9})
    made = [vdaf.shard(b"", i % 9, bytes([i] * 16), tape(str(i), vdaf.rand_size)) for i in range(23)]
    nonces, publics = [bytes([i] * 16) for i in range(23)], [public for public, _ in made]
    server = Server(vdaf, bytes(KEY), b"", 0)
    whole = server.verify_init(nonces, publics, [shares[0] for _, shares in made])
    monkeypatch.setattr("dpairs.vdaf.batch.server.STEP", 5 * vdaf.input_size(0))
    steps = server.verify_init(nonces, publics, [shares[0] for _, shares in made])
    assert np.array_equal(whole.verifier_shares, steps.verifier_shares)
    assert np.array_equal(whole.out_shares, steps.out_shares)
    assert len(server.verify_init([], [], [])) == 0
