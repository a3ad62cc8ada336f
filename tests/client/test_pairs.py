"""A person's pairs at a collector that cheats: how many there are, with whom, and what is left afterwards."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import pytest

from dpairs import Levels, Study
from dpairs.client import Device, join
from dpairs.client.sealing import SealedChannel, public_key
from dpairs.errors import BadMessage, DpairsError, NotYet, Unavailable, WrongPartner
from dpairs.garbled.session import Evaluator, Garbler
from dpairs.protocols.pairwise.protocol import Pairwise
from dpairs.randomness import SystemRandomness

from ..collector.two import Two
from .dishonest import Dishonest, link_to, serving

LEVELS = Levels(range(4))
SECRET = bytes(range(32))
"""The collector's own key, which it deals out as every partner's."""


def tau(pairs: int = 1, seed: int = 1) -> Study:
    return Study.create(
        "kendall_tau", protocol="pairwise", epsilon=2.0, domain=(LEVELS, LEVELS), pairs=pairs, seed=seed
    )


def auc(seed: int = 1) -> Study:
    return Study.create("auc", protocol="pairwise", epsilon=2.0, domain=LEVELS, pairs=1, seed=seed)


class PlaysPartners(Dishonest):
    """A collector that deals its own key as the partner's, and plays every partner itself."""

    def __init__(self, study: Study, index: int, stratum: str) -> None:
        self._public = serving(study, index=index, stratum=stratum, state="pairing")
        super().__init__(self._answer)
        self.study, self.index, self.stratum = study, index, stratum
        self.listed: list[dict[str, Any]] = []
        self.key = b""
        self._sizes: dict[int, dict[str, int]] = {}
        self._left: dict[tuple[int, str], bytes] = {}
        self._garblers: dict[int, Garbler] = {}

    def list_pair(self, sizes: dict[str, int], number: int, role: str, partner: int) -> None:
        self.listed = [self.row(sizes, number, role, partner)]

    def row(self, sizes: dict[str, int], number: int, role: str, partner: int) -> dict[str, Any]:
        self._sizes[number] = sizes
        key = public_key(SECRET).hex()
        row = {"number": number, "role": role, "partner": partner, "key": key, "people": sizes}
        return {**row, "state": "waiting", "round": 0}

    @property
    def completed(self) -> set[str]:
        """The pairs for which the device gave its last message away."""
        return {path.split("/")[-2] for path, _ in self.sent if path.endswith(("/table", "/labels"))}

    def _answer(self, method: str, path: str, body: bytes | None) -> Any:
        if path.endswith("/people") and body is not None:
            self.key = bytes.fromhex(json.loads(body)["key"])
        if path.endswith("/pairs"):
            return {"pairs": self.listed}
        if "/pairs/" not in path:
            return self._public(method, path, body)
        number, kind = int(path.split("/")[-2]), path.split("/")[-1].partition("?")[0]
        seal = SealedChannel(SECRET, self.key, self.study.id, number)
        if method == "PUT":
            assert body is not None
            if kind in ("offer", "choice"):
                self._left[number, kind] = seal.open(kind, body)
            return {"state": "waiting"}
        return self._message(number, kind, seal)

    def _message(self, number: int, kind: str, seal: SealedChannel) -> Any:
        protocol = self.study.protocol
        assert isinstance(protocol, Pairwise)
        strata = len(self.study.statistic.strata)
        pair = protocol.match(self.study.coins, self._sizes[number]).pair(self.study.id, number, strata)
        names = self.study.statistic.private_columns
        coded = protocol.code.encode([[1]] * len(names), names, SystemRandomness())[0].tolist()
        if kind == "choice":
            if (number, "offer") not in self._left:
                return NotYet("no offer")
            evaluator = Evaluator(protocol.function, pair, coded)
            return seal.close(kind, evaluator.choose(self._left[number, "offer"]))
        garbler = self._garblers.setdefault(number, Garbler(protocol.function, pair, coded))
        if kind == "offer":
            if (number, "made") not in self._left:
                self._left[number, "made"] = garbler.offer()
            return seal.close(kind, self._left[number, "made"])
        return seal.close(kind, garbler.answer(self._left[number, "choice"]))


def own_pairs(study: Study, sizes: dict[str, int], index: int) -> list[tuple[int, str, int]]:
    """Number, role and partner of every pair that the index is in, as either side."""
    protocol = study.protocol
    assert isinstance(protocol, Pairwise)
    pairs = protocol.match(study.coins, sizes)
    rows = zip(pairs.numbers.tolist(), pairs.garblers.tolist(), pairs.evaluators.tolist(), strict=True)
    found = []
    for number, garbler, evaluator in rows:
        if garbler == index:
            found.append((number, "garbler", evaluator))
        if evaluator == index:
            found.append((number, "evaluator", garbler))
    return found


def attempt(line: PlaysPartners, values: dict[str, Any], device: Device, stratum: str | None = None) -> None:
    for _ in range(3):
        try:
            join(link_to(line.study.id), values, device=device, transport=line, stratum=stratum)
        except (DpairsError, KeyError):
            return


# ---------------------------------------------------------------- hole 5: more than P pairs


def test_a_collector_that_says_other_sizes_gets_no_more_pairs(tmp_path):
    """40 pairs were completed at P = 1, and booked as one: each with sizes of its own."""
    study, device = tau(), Device(tmp_path)
    line = PlaysPartners(study, 0, "everybody")
    numbers: set[int] = set()
    for people in range(2, 400):
        for number, role, partner in own_pairs(study, {"everybody": people}, 0):
            if number not in numbers and len(numbers) < 12:
                numbers.add(number)
                line.list_pair({"everybody": people}, number, role, partner)
                attempt(line, {"x": 1, "y": 2}, device)
    assert len(numbers) >= 10
    assert len(line.completed) == 1


def test_a_list_of_pairs_with_several_sizes_is_refused_whole(tmp_path):
    """Variant: all sizes at once, in one list."""
    study = tau()
    line = PlaysPartners(study, 0, "everybody")
    rows: dict[int, dict[str, Any]] = {}
    for people in range(2, 200):
        for number, role, partner in own_pairs(study, {"everybody": people}, 0):
            rows.setdefault(number, line.row({"everybody": people}, number, role, partner))
    line.listed = list(rows.values())[:8]
    with pytest.raises(WrongPartner, match="numbers of people"):
        join(link_to(study.id), {"x": 1, "y": 2}, device=Device(tmp_path), transport=line)
    assert line.sent == []


def test_a_pair_of_somebody_with_the_same_index_in_the_other_class_is_refused(tmp_path):
    """Variant: in two classes an index is two people's; told the other role, a device played for both."""
    study, sizes, device = auc(), {"positive": 40, "negative": 40}, Device(tmp_path)
    both = next(index for index in range(40) if len(own_pairs(study, sizes, index)) == 2)
    line = PlaysPartners(study, both, "positive")
    for number, role, partner in own_pairs(study, sizes, both):
        line.list_pair(sizes, number, role, partner)
        attempt(line, {"score": 2}, device, "positive")
    assert len(line.completed) == 1


def test_one_pair_named_twice_is_refused(tmp_path):
    study, sizes = tau(), {"everybody": 30}
    line = PlaysPartners(study, 0, "everybody")
    ((number, role, partner),) = own_pairs(study, sizes, 0)
    line.listed = [line.row(sizes, number, role, partner)] * 2
    with pytest.raises(WrongPartner, match="twice"):
        join(link_to(study.id), {"x": 1, "y": 2}, device=Device(tmp_path), transport=line)
    assert line.sent == []


def test_only_the_first_message_of_a_kind_is_answered(tmp_path):
    """Variant: stopped before its circuit left, a garbler is shown another choice than the one it knows."""
    study, device = tau(), Device(tmp_path)
    sizes, number, role, partner = next(
        (sizes, *pair)
        for sizes in ({"everybody": people} for people in range(20, 90))
        for pair in own_pairs(study, sizes, 0)
        if pair[1] == "garbler"
    )

    class Loses(PlaysPartners):
        losing = True

        def _answer(self, method: str, path: str, body: bytes | None) -> Any:
            if self.losing and path.endswith("/circuit"):
                return Unavailable("lost")
            return super()._answer(method, path, body)

    line = Loses(study, 0, "everybody")
    line.list_pair(sizes, number, role, partner)
    with pytest.raises(Unavailable):
        join(link_to(study.id), {"x": 1, "y": 2}, device=device, transport=line)
    line.losing = False
    with pytest.raises(BadMessage, match="two different messages"):
        join(link_to(study.id), {"x": 1, "y": 2}, device=device, transport=line)
    assert line.completed == set()


def test_a_partner_who_sends_rubbish_stops_no_other_pair(tmp_path):
    """Variant: else one liar among a person's partners, by a message that fails, silences all of them."""
    study, sizes = tau(pairs=3), {"everybody": 60}
    own = own_pairs(study, sizes, 0)

    class Rubbish(PlaysPartners):
        def _message(self, number: int, kind: str, seal: SealedChannel) -> Any:
            sound = super()._message(number, kind, seal)
            return seal.close(kind, b"rubbish") if number == own[0][0] else sound

    line = Rubbish(study, 0, "everybody")
    line.listed = [line.row(sizes, *each) for each in own]
    found = join(link_to(study.id), {"x": 1, "y": 2}, device=Device(tmp_path), transport=line)
    assert line.completed == {str(number) for number, _, _ in own[1:]}
    assert found.pairs is not None
    assert found.pairs[own[0][0]].startswith("refused")


# ---------------------------------------------------------------- hole 8: fingerprints


def test_fingerprints_are_of_one_key_each_and_shown_before_anything_is_sent(two):
    shown: list[tuple[int, str, str]] = []

    def refuse(number: int, mine: str, partner: str) -> bool:
        shown.append((number, mine, partner))
        return False

    for who in (two.garbler, two.evaluator):
        found = join(two.link, two.values[who], device=two.devices[who], transport=two.line, confirm=refuse)
        assert found.state == "waiting"
        assert found.pairs == {two.number: "unconfirmed"}
        assert "sent" not in two.data(who)["pairs"][str(two.number)]
    (one, mine, partner), (other, theirs, again) = shown
    assert one == other == two.number
    assert (mine, partner) == (again, theirs)
    assert mine != partner
    # Each is a hash of one key, of more than 2^128 values.
    assert len(mine.replace(" ", "")) == 40
    assert len(mine.split()) == 8
    # What is not confirmed waits also without a question; confirmed, it goes on.
    assert two.go(two.garbler).pairs == {two.number: "unconfirmed"}
    for _ in range(3):
        for who in (two.garbler, two.evaluator):
            join(
                two.link,
                two.values[who],
                device=two.devices[who],
                transport=two.line,
                confirm=lambda *_: True,
            )
    assert two.analyst.tally(two.study.id).n == 1


def test_a_partner_s_fingerprint_shows_a_key_that_was_exchanged(tmp_path):
    """Variant: a collector between the two deals its own key; the partner's own fingerprint is another."""
    study, sizes = tau(), {"everybody": 30}
    line = PlaysPartners(study, 0, "everybody")
    ((number, role, partner),) = own_pairs(study, sizes, 0)
    line.list_pair(sizes, number, role, partner)
    honest = hashlib.sha256(b"somebody else").digest()
    seen: list[str] = []

    def compare(number: int, mine: str, partner: str) -> bool:
        from dpairs.client.sealing import fingerprint

        seen.append(partner)
        return partner == fingerprint(public_key(honest))

    found = join(
        link_to(study.id), {"x": 1, "y": 2}, device=Device(tmp_path), transport=line, confirm=compare
    )
    assert seen
    assert found.state == "waiting"
    assert line.sent == []


# ---------------------------------------------------------------- hole 9: what is left


@pytest.fixture
def two(here, tmp_path: Path) -> Two:
    return Two(here, tmp_path)


def test_nothing_of_the_value_and_no_key_outlives_a_pair(two):
    before = two.data(two.garbler)
    two.finish()
    for who in (two.garbler, two.evaluator):
        kept = two.data(who)
        assert "coded" not in kept
        assert kept["keys"] == {}
        assert two.go(who).state == "done"
        assert two.data(who) == kept
    assert before["keys"]


def test_of_several_pairs_a_session_s_key_goes_with_it_and_the_value_with_the_last(here, tmp_path):
    """Variant: three pairs, of which some are done: what the others need stays, and nothing else."""
    two = Two(here, tmp_path, people=4, pairs=3)
    over = False
    for _ in range(6):
        for who in range(4):
            two.go(who)
            kept = two.data(who)
            done = {number for number, book in kept["pairs"].items() if "state" in book}
            assert not {f"session {number}" for number in done} & kept["keys"].keys()
            if len(done) == len(kept["pairs"]):
                assert "coded" not in kept
                assert kept["keys"] == {}
                over = True
            else:
                assert "coded" in kept
    assert over
    assert two.analyst.tally(two.study.id).n == 6


def test_a_collector_that_calls_one_of_three_pairs_done_does_not_end_the_others(tmp_path):
    study, sizes = tau(3), {"everybody": 30}
    line = PlaysPartners(study, 0, "everybody")
    rows = [line.row(sizes, *each) for each in own_pairs(study, sizes, 0)]
    device = Device(tmp_path)
    line.listed = [{**rows[0], "state": "expired"}]
    attempt(line, {"x": 1, "y": 2}, device)
    kept = json.loads((device.home / f"{study.id}.json").read_text())
    assert "coded" in kept
    line.listed = rows
    attempt(line, {"x": 1, "y": 2}, device)
    # The one that was called over stays over.
    assert line.completed == {str(each["number"]) for each in rows[1:]}


def test_a_rename_is_flushed_with_its_folder(tmp_path, monkeypatch):
    """Without that, a power cut may bring the old file back, and the device would randomize again."""
    steps: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def flushed(handle: int) -> None:
        where = os.readlink(f"/proc/self/fd/{handle}") if os.path.exists("/proc/self/fd") else ""
        steps.append("folder" if where == str(tmp_path) else "file")
        fsync(handle)

    def renamed(self: Path, target: Any) -> Path:
        steps.append("rename")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", flushed)
    monkeypatch.setattr(Path, "replace", renamed)
    from dpairs.client.device import Membership

    me = Membership(tmp_path / "study.json", "study")
    me.save()
    assert steps == ["file", "rename", "folder"]


def test_a_report_of_a_study_that_shares_64_bits_of_its_id_is_not_sent_for_it(tmp_path):
    """Variant of the same hole: what was answered is looked up by its whole id."""
    study = Study.create("gini_mean_difference", epsilon=1.0, domain=LEVELS, seed=1)
    device = Device(tmp_path)
    line = Dishonest(serving(study))
    join(link_to(study.id), {"value": 1}, device=device, transport=line)
    path = device.home / f"{study.id}.json"
    kept = json.loads(path.read_text())
    kept["report"]["study"] = study.id[:16] + "0" * 48
    kept["counted"] = False
    path.write_text(json.dumps(kept))
    line = Dishonest(serving(study))
    with pytest.raises(DpairsError, match="no longer offers the round"):
        join(link_to(study.id), {"value": 1}, device=device, transport=line)
    assert line.sent == []
