"""The mailbox of pairs: what it never gets to read."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

import pytest

from dpairs.client import Device, Transport, join
from dpairs.client.sealing import SealedChannel, public_key
from dpairs.collector import schema
from dpairs.errors import BadMessage, WrongPartner

from .people import pairwise, tree
from .servers import STUDIES, Caller, collector, unchanged
from .two import ORDER, Two


def file_bytes(database: str) -> bytes:
    """All bytes of an SQLite database, its log included."""
    path = Path(database.removeprefix("sqlite:///"))
    return b"".join(each.read_bytes() for each in sorted(path.parent.glob(f"{path.name}*")))


def holds(haystack: bytes, needle: bytes) -> bool:
    """Whether a part of the needle is there, long enough not to be chance."""
    parts = [needle[place : place + 24] for place in range(0, max(1, len(needle) - 23), 24)]
    return any(part in haystack for part in parts)


def test_the_database_never_holds_a_plain_message_a_token_or_an_address(sqlite, tmp_path, monkeypatch):
    sealed: list[bytes] = []
    plain: list[bytes] = []
    close = SealedChannel.close

    def note(self: SealedChannel, kind: str, text: bytes) -> bytes:
        plain.append(text)
        sealed.append(close(self, kind, text))
        return sealed[-1]

    monkeypatch.setattr(SealedChannel, "close", note)
    with collector(sqlite) as running:
        two = Two(running, tmp_path / "people")
        (code,) = running.analyst().invite(pairwise_invited(running), 1)
        address = "198.51.100.77"
        assert Caller(running.base)("GET", STUDIES, X_Forwarded_For=address, token="forged").status == 401
        seen = []
        for who in (two.garbler, two.evaluator, two.garbler):
            two.go(who)
            seen.append(file_bytes(sqlite))
        in_flight = file_bytes(sqlite)
        two.go(two.evaluator)
        after = file_bytes(sqlite)
        token = running.token
        secrets = [two.secret(who) for who in (0, 1)]
        keys = [two.data(who)["keys"] for who in (0, 1)]
    closed = file_bytes(sqlite)
    assert len(plain) == 3
    # The search finds what is there: the sealed messages, while they wait.
    for message in sealed:
        assert holds(in_flight, message[:100])
    for snapshot in (*seen, after, closed):
        for message in plain:
            # The head of a message is public; what follows is not.
            assert not holds(snapshot, message[34:])
        for word in (token, code, code.replace("-", ""), address, "127.0.0.1", *secrets):
            assert word.encode() not in snapshot
        for each in keys:
            for key in each.values():
                assert key.encode() not in snapshot
                assert bytes.fromhex(key) not in snapshot
    # And would find a planted message.
    place = Path(sqlite.removeprefix("sqlite:///"))
    place.with_name(place.name + "-planted").write_bytes(b"..." + plain[0] + b"...")
    assert holds(file_bytes(sqlite), plain[0][34:])


def pairwise_invited(running: Any) -> str:
    study = pairwise(seed=9)
    running.analyst().begin(study, "Invited", enrolment="invited")
    return study.id


def test_the_schema_has_no_place_for_a_value_or_an_address():
    columns = {f"{table.name}.{column.name}" for table in schema.metadata.sorted_tables for column in table.c}
    assert not [each for each in columns if re.search("address|host|ip$|agent|score|label|secret", each)]
    assert {each for each in columns if each.startswith("reports.")} == {
        "reports.round",
        "reports.stratum",
        "reports.index",
        "reports.symbol",
    }


class Between(Transport):
    """A collector that deals false keys, opens every message, and seals it again for the other."""

    def __init__(self, base: str, two: Two, resealing: bool = True) -> None:
        super().__init__(base)
        self._two, self._resealing = two, resealing
        self._false = bytes(range(32))
        self._keys = {who: public_key(bytes.fromhex(two.data(who)["keys"]["x25519"])) for who in (0, 1)}
        self.read: list[bytes] = []

    def json(self, method: str, path: str, content: Any = None, token: str | None = None) -> Any:
        answer = super().json(method, path, content, token)
        if path.endswith("/pairs"):
            for each in answer["pairs"]:
                each["key"] = public_key(self._false).hex()
        return answer

    def bytes(
        self, method: str, path: str, body: bytes | None = None, token: str | None = None, kind: str = "x/y"
    ) -> bytes:
        answer = super().bytes(method, path, body, token, kind)
        what = path.rpartition("/")[2].partition("?")[0]
        if method == "GET" and what in ORDER and self._resealing:
            two = self._two
            sender, receiver = (
                (two.evaluator, two.garbler) if what == "choice" else (two.garbler, two.evaluator)
            )
            one, other = (
                SealedChannel(self._false, self._keys[who], two.study.id, two.number)
                for who in (sender, receiver)
            )
            self.read.append(one.open(what, answer))
            answer = other.close(what, self.read[-1])
        return answer


def test_somebody_between_the_two_shows_in_the_fingerprints(two):
    between = Between(two.running.base, two)
    for who in (two.garbler, two.evaluator, two.garbler):
        two.go(who, between)
    garbler, evaluator = two.go(two.garbler, between), two.go(two.evaluator, between)
    assert {garbler.state, evaluator.state} == {"done"}
    assert len(between.read) >= 3  # it read them all: the limit of the model, which only fingerprints show
    mine, partner = garbler.fingerprints[two.number]
    theirs, other = evaluator.fingerprints[two.number]
    assert partner != theirs
    assert mine != other
    assert re.fullmatch("([0-9]{5} ){7}[0-9]{5}", mine)


def test_a_message_sealed_for_a_false_key_opens_nowhere(two):
    two.go(two.garbler, Between(two.running.base, two, resealing=False))
    with pytest.raises(BadMessage, match="not sealed by the partner"):
        two.go(two.evaluator)


def test_a_known_partner_s_key_that_changes_is_refused(two):
    two.go(two.garbler)
    with pytest.raises(WrongPartner, match="not the one named before"):
        two.go(two.garbler, Between(two.running.base, two))
    two.finish()
    assert two.analyst.tally(two.study.id).n == 1


@pytest.mark.parametrize("key", ["00" * 32, "01" + "00" * 31, ""])
def test_a_key_that_cannot_be_used_is_refused(key):
    with pytest.raises(WrongPartner, match="cannot be used"):
        SealedChannel(bytes(range(32)), bytes.fromhex(key), "ab" * 32, 0)


def test_a_collector_cannot_choose_who_meets_whom(two):
    class Choosing(Transport):
        change: dict[str, Any]

        def json(self, method: str, path: str, content: Any = None, token: str | None = None) -> Any:
            answer = super().json(method, path, content, token)
            if path.endswith("/pairs"):
                answer["pairs"][0] |= self.change
            return answer

    changes: list[dict[str, Any]] = [
        {"partner": 7},
        {"role": "evaluator"},
        {"number": 5},
        {"people": {"everybody": 3}},
        {"people": {}},
    ]
    for change in changes:
        line = Choosing(two.running.base)
        line.change = change
        with unchanged(two.running.database), pytest.raises(WrongPartner):
            two.go(two.garbler, line)


def test_a_value_reaches_no_file_of_the_collector(sqlite, tmp_path):
    value = 0.7312345678901
    with collector(sqlite) as running:
        link = running.analyst().begin(tree(), "A score")
        device = Device(tmp_path / "device")
        done = join(link, {"score": value}, stratum="positive", device=device, transport=running.transport())
        assert done.state == "counted"
        live = file_bytes(sqlite)
    forms = [repr(value).encode(), struct.pack("<d", value), struct.pack(">d", value)]
    for snapshot in (live, file_bytes(sqlite)):
        assert done.report is not None
        assert tree().id.encode() in snapshot  # the search finds what is there
        for form in forms:
            assert form not in snapshot
    # Nor one of the device's.
    for each in device.home.iterdir():
        assert forms[0] not in each.read_bytes()
