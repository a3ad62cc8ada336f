"""The draft's vectors through the servers' compiled code: all reports of a file at once, the same bytes."""

from typing import Any

import numpy as np
import pytest

from dpairs.vdaf.batch import keccak
from dpairs.vdaf.batch.server import Server
from dpairs.vdaf.fields import FIELD128
from dpairs.vdaf.xof import prefix

from .official import FILES, FOLDER, instance, load


def unhex(reports: list[Any], *names: Any) -> list[bytes]:
    """The bytes at a place of every report."""
    for name in names:
        reports = [report[name] for report in reports]
    return [bytes.fromhex(item) for item in reports]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_all_reports_at_once(path):
    vector = load(path)
    vdaf = instance(path.stem.split("_")[0], vector)
    key, context, reports = (
        bytes.fromhex(vector["verify_key"]),
        bytes.fromhex(vector["ctx"]),
        vector["reports"],
    )
    servers = [Server(vdaf, key, context, i) for i in range(vdaf.shares)]
    nonces, publics = unhex(reports, "nonce"), unhex(reports, "public_share")
    steps = {step["operation"]: step["success"] for step in vector["operations"]}
    prepared = [
        server.verify_init(nonces, publics, unhex(reports, "input_shares", i))
        for i, server in enumerate(servers)
    ]
    for i, each in enumerate(prepared):
        if len(reports[0]["verifier_shares"][0]) > i:
            assert [row.tobytes() for row in each.verifier_shares] == unhex(reports, "verifier_shares", 0, i)
        assert each.good.all()
    messages = unhex(reports, "verifier_messages", 0) if reports[0]["verifier_messages"] else None
    if "verifier_shares_to_message" in steps:
        made, good = servers[0].combine([each.verifier_shares for each in prepared])
        assert good.all() == steps["verifier_shares_to_message"]
        if good.all():
            assert [row.tobytes() for row in made] == messages
    if "verify_next" in steps:
        assert messages is not None
        masks = [server.verify_next(each, messages) for server, each in zip(servers, prepared, strict=True)]
        assert np.all(masks[0]) == steps["verify_next"]
    for i, share in enumerate(vector["agg_shares"] or []):
        assert servers[i].aggregate(prepared[i], masks[i]).hex() == share


def test_the_xof():
    vector = load(FOLDER / "XofTurboShake128.json")
    seed, tag, binder = (bytes.fromhex(vector[name]) for name in ("seed", "dst", "binder"))
    messages = keccak.pack([prefix(tag), seed, binder], 3)
    seeds = np.zeros((3, 4), dtype=np.uint64)
    keccak.digests(messages, seeds)
    assert [row.tobytes().hex() for row in seeds] == [vector["derived_seed"]] * 3
    expanded = np.zeros((3, vector["length"], 2), dtype=np.uint64)
    modulus = np.array([1, FIELD128.modulus >> 64], dtype=np.uint64)
    keccak.elements(messages, modulus, expanded)
    assert [row.tobytes().hex() for row in expanded] == [vector["expanded_vec_field128"]] * 3
