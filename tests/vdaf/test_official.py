"""The draft's vectors, one report at a time: every operation gives the bytes, or is refused where it says."""

from typing import Any

import pytest

from dpairs.errors import BadMessage
from dpairs.vdaf.fields import FIELD128
from dpairs.vdaf.prio3 import Prio3, VerifyState
from dpairs.vdaf.xof import derive_seed, expand

from .official import FEWEST, FILES, FOLDER, instance, load


class Player:
    """Does the operations of one file."""

    def __init__(self, vdaf: Prio3, vector: dict[str, Any]) -> None:
        self.vdaf = vdaf
        self.vector = vector
        self.context = bytes.fromhex(vector["ctx"])
        self.states: dict[tuple[int, int], VerifyState] = {}

    def play(self, step: dict[str, Any]) -> None:
        getattr(self, step["operation"])(step)

    def report(self, step: dict[str, Any]) -> dict[str, Any]:
        return self.vector["reports"][step["report_index"]]

    def shard(self, step: dict[str, Any]) -> None:
        report = self.report(step)
        nonce, rand = bytes.fromhex(report["nonce"]), bytes.fromhex(report["rand"])
        public, shares = self.vdaf.shard(self.context, report["measurement"], nonce, rand)
        assert public.hex() == report["public_share"]
        assert [share.hex() for share in shares] == report["input_shares"]
        assert self.vdaf.report_size == len(public) + sum(map(len, shares))

    def verify_init(self, step: dict[str, Any]) -> None:
        report, server = self.report(step), step["aggregator_id"]
        state, share = self.vdaf.verify_init(
            bytes.fromhex(self.vector["verify_key"]),
            self.context,
            server,
            bytes.fromhex(report["nonce"]),
            bytes.fromhex(report["public_share"]),
            bytes.fromhex(report["input_shares"][server]),
        )
        self.states[step["report_index"], server] = state
        assert share.hex() == report["verifier_shares"][0][server]

    def verifier_shares_to_message(self, step: dict[str, Any]) -> None:
        report = self.report(step)
        shares = [bytes.fromhex(share) for share in report["verifier_shares"][0]]
        message = self.vdaf.verifier_shares_to_message(self.context, shares)
        assert message.hex() == report["verifier_messages"][0]

    def verify_next(self, step: dict[str, Any]) -> None:
        report, server = self.report(step), step["aggregator_id"]
        message = bytes.fromhex(report["verifier_messages"][0])
        out = self.vdaf.verify_next(self.states[step["report_index"], server], message)
        assert out.hex() == report["out_shares"][server]

    def aggregate(self, step: dict[str, Any]) -> None:
        server = step["aggregator_id"]
        outs = [bytes.fromhex(report["out_shares"][server]) for report in self.vector["reports"]]
        assert self.vdaf.aggregate(outs).hex() == self.vector["agg_shares"][server]

    def unshard(self, step: dict[str, Any]) -> None:
        shares = [bytes.fromhex(share) for share in self.vector["agg_shares"]]
        assert self.vdaf.unshard(shares) == self.vector["agg_result"]


def test_there_are_vectors():
    assert len(FILES) >= FEWEST


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_operation(path):
    vector = load(path)
    player = Player(instance(path.stem.split("_")[0], vector), vector)
    assert vector["operations"]
    for step in vector["operations"]:
        if step["success"]:
            player.play(step)
        else:
            with pytest.raises(BadMessage):
                player.play(step)


def test_the_xof():
    vector = load(FOLDER / "XofTurboShake128.json")
    seed, tag, binder = (bytes.fromhex(vector[name]) for name in ("seed", "dst", "binder"))
    assert derive_seed(seed, tag, binder).hex() == vector["derived_seed"]
    expanded = expand(FIELD128, seed, tag, binder, vector["length"])
    assert FIELD128.encode(expanded).hex() == vector["expanded_vec_field128"]
