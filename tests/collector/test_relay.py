"""The mailbox of pairs: what it refuses, what it forgets, and what it never gets to read."""

from __future__ import annotations

import json
import re
import struct
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, update

from dpairs.client import Device, Transport, join
from dpairs.client.sealing import Seal, public_key
from dpairs.collector import schema
from dpairs.errors import BadMessage, WrongPartner
from dpairs.garbled.session import message_sizes
from dpairs.garbled.wire import Kind

from .people import pairwise, tree
from .servers import STUDIES, Caller, collector, contents, unchanged, until

ORDER = ("offer", "choice", "circuit", "table", "labels")


class Two:
    """A study of one pair, matched, with the devices of both."""

    def __init__(self, running: Any, folder: Path, people: int = 2, pairs: int = 1) -> None:
        self.study = pairwise(pairs=pairs)
        self.running, self.analyst = running, running.analyst()
        self.link = self.analyst.begin(self.study, "Two people")
        self.devices = [Device(folder / f"device{who}") for who in range(people)]
        self.values = [{"x": who % 4, "y": (3 * who + 1) % 4} for who in range(people)]
        self.line = running.transport()
        for who in range(people):
            assert self.go(who).state == "waiting"
        assert self.analyst.advance(self.study.id) == "pairing"
        sizes = {"everybody": people}
        self.pairs = self.study.protocol.match(self.study.coins, sizes)  # type: ignore[attr-defined]
        self.number = int(self.pairs.numbers[0])
        index = {self.data(who)["index"]: who for who in range(people)}
        self.garbler, self.evaluator = (
            index[int(self.pairs.garblers[0])],
            index[int(self.pairs.evaluators[0])],
        )

    def go(self, who: int, line: Transport | None = None) -> Any:
        return join(self.link, self.values[who], device=self.devices[who], transport=line or self.line)

    def data(self, who: int) -> dict[str, Any]:
        """What a device has written down."""
        return json.loads((self.devices[who].home / f"{self.study.id}.json").read_text())

    def secret(self, who: int) -> str:
        return str(self.data(who)["secret"])

    def path(self, kind: str, number: int | None = None) -> str:
        return f"{STUDIES}/{self.study.id}/pairs/{self.number if number is None else number}/{kind}"

    def finish(self) -> None:
        for _ in range(3):
            for who in (self.garbler, self.evaluator):
                self.go(who)


@pytest.fixture
def two(running, tmp_path) -> Two:
    return Two(running, tmp_path)


def test_a_pair_takes_its_turns_without_ever_meeting(two):
    kinds = []
    for who in (two.garbler, two.evaluator, two.garbler, two.evaluator):
        before = two.go(who)
        engine = create_engine(two.running.database)
        with engine.connect() as connection:
            kinds.append(sorted(Kind(row.kind).name for row in connection.execute(schema.messages.select())))
        engine.dispose()
    assert kinds == [["OFFER"], ["CHOICE", "OFFER"], ["CHOICE", "CIRCUIT", "OFFER", "TABLE"], []]
    assert before.state == "done"
    assert two.analyst.tally(two.study.id).n == 1
    assert two.go(two.garbler).state == "done"
    assert list(two.go(two.garbler).pairs.values()) == ["done"]
    mine, theirs = (two.go(who).fingerprints[two.number] for who in (two.garbler, two.evaluator))
    assert mine == theirs[::-1]


def test_messages_of_somebody_else_or_of_another_kind_are_refused(running, tmp_path):
    two = Two(running, tmp_path, people=4)
    call = Caller(running.base)
    with unchanged(running.database):
        for kind in ORDER:
            sender = two.evaluator if kind in ("choice", "labels") else two.garbler
            for who in range(4):
                if who != sender:
                    answer = call("PUT", two.path(kind), body=b"x", token=two.secret(who))
                    assert answer.error == (403, "NotYours"), (kind, who)
            assert call("PUT", two.path(kind), body=b"x").error == (401, "NotAllowed")
        for kind in ORDER[:3]:
            receiver = two.garbler if kind == "choice" else two.evaluator
            for who in range(4):
                error = call("GET", two.path(kind), token=two.secret(who)).error
                assert error == ((404, "NotYet") if who == receiver else (403, "NotYours"))
        for kind in ("table", "labels", "other", "OFFER", "1"):
            assert call("GET", two.path(kind), token=two.secret(two.evaluator)).status == 422
        assert call("PUT", two.path("other"), body=b"x", token=two.secret(two.garbler)).status == 422
        for number in (99, 2**53 - 1):
            answer = call("PUT", two.path("offer", number), body=b"x", token=two.secret(two.garbler))
            assert answer.error == (404, "NotFound")
        for number in (-1, 2**53):
            answer = call("PUT", two.path("offer", number), body=b"x", token=two.secret(two.garbler))
            assert answer.status == 422


def test_a_message_that_is_too_large_or_other_than_before_is_refused(two):
    call, token = Caller(two.running.base), two.secret(two.garbler)
    limit = message_sizes(two.study.protocol.function)[Kind.OFFER] + 64
    with unchanged(two.running.database):
        answer = call("PUT", two.path("offer"), body=b"x" * (limit + 1), token=token)
        assert answer.error == (413, "TooLarge")
    assert call("PUT", two.path("offer"), body=b"x" * limit, token=token).json == {"state": "waiting"}
    with unchanged(two.running.database):
        assert call("PUT", two.path("offer"), body=b"x" * limit, token=token).json == {"state": "waiting"}
        assert call("PUT", two.path("offer"), body=b"y" * limit, token=token).error == (409, "Conflict")
    # What comes out is what went in, and it is no message of the partner's.
    assert call("GET", two.path("offer"), token=two.secret(two.evaluator)).body == b"x" * limit
    with pytest.raises(BadMessage, match="not sealed by the partner"):
        two.go(two.evaluator)


def test_a_pair_that_is_done_takes_no_more(two):
    two.finish()
    call = Caller(two.running.base)
    with unchanged(two.running.database):
        for kind in ORDER:
            token = two.secret(two.evaluator if kind in ("choice", "labels") else two.garbler)
            assert call("PUT", two.path(kind), body=b"x", token=token).json == {"state": "done"}
        for kind in ORDER[:3]:
            token = two.secret(two.garbler if kind == "choice" else two.evaluator)
            assert call("GET", two.path(kind), token=token).error == (404, "NotYet")
    assert two.analyst.tally(two.study.id).n == 1


def test_garbage_for_the_collector_ends_the_pair_and_counts_nothing(two):
    call = Caller(two.running.base)
    assert call("PUT", two.path("table"), body=b"x", token=two.secret(two.garbler)).status == 200
    answer = call("PUT", two.path("labels"), body=b"x", token=two.secret(two.evaluator))
    assert answer.json == {"state": "done"}
    assert contents(two.running.database)["messages"] == []
    assert two.analyst.progress(two.study.id)["pairs"]["refused"] == 1
    assert two.analyst.tally(two.study.id).n == 0
    with unchanged(two.running.database):
        answer = call("PUT", two.path("offer"), body=b"x", token=two.secret(two.garbler))
        assert answer.json == {"state": "done"}
    assert list(two.go(two.garbler).pairs.values()) == ["done"]


def all_that_the_garbler_sees(two, spoil: bool) -> list[object]:
    """Both take their turns; a spoiled pair's evaluator got labels that the circuit cannot give."""
    call, token = Caller(two.running.base), two.secret(two.garbler)
    for who in (two.garbler, two.evaluator, two.garbler):
        two.go(who)
    if spoil:
        sizes = message_sizes(two.study.protocol.function)
        call("PUT", two.path("labels"), body=bytes(sizes[Kind.LABELS]), token=two.secret(two.evaluator))
    else:
        two.go(two.evaluator)
    seen: list[object] = [
        call("PUT", two.path(kind), body=b"x", token=token).json for kind in ("offer", "table")
    ]
    seen.append(call("GET", two.path("choice"), token=token).error)
    mine = call("GET", f"{STUDIES}/{two.study.id}/pairs", token=token).json["pairs"]
    seen += [each["state"] for each in mine]
    return [*seen, list(two.go(two.garbler).pairs.values())]


def test_a_garbler_does_not_learn_whether_its_pair_was_refused(running, tmp_path):
    """Selective failure: a garbler who makes a pair fail for some values sees nothing that tells."""
    two = Two(running, tmp_path, people=4)
    index = {two.data(who)["index"]: who for who in range(4)}
    seen, counted = [], []
    for place, spoil in enumerate((False, True)):
        two.number = int(two.pairs.numbers[place])
        two.garbler = index[int(two.pairs.garblers[place])]
        two.evaluator = index[int(two.pairs.evaluators[place])]
        seen.append(all_that_the_garbler_sees(two, spoil))
        counted.append(two.analyst.tally(two.study.id).n)
    assert seen[0] == seen[1]
    assert counted == [1, 1], "the control: the first was counted, and the second was not"


def test_pairs_before_they_are_formed_and_after_the_end(running, tmp_path):
    study = pairwise()
    link = running.analyst().begin(study, "Not yet")
    device, call = Device(tmp_path / "early"), Caller(running.base)
    join(link, {"x": 1, "y": 1}, device=device, transport=running.transport())
    token = json.loads((device.home / f"{study.id}.json").read_text())["secret"]
    with unchanged(running.database):
        assert call("GET", f"{STUDIES}/{study.id}/pairs", token=token).error == (404, "NotYet")
        path = f"{STUDIES}/{study.id}/pairs/0/offer"
        assert call("PUT", path, body=b"x", token=token).error == (404, "NotFound")
        body = {"study": study.id, "stratum": "pairs", "index": 0, "symbol": 0}
        assert call("POST", f"{STUDIES}/{study.id}/reports", body, token=token).status == 422


def test_a_closed_study_takes_no_messages(two):
    two.go(two.garbler)
    two.analyst.close(two.study.id)
    with unchanged(two.running.database):
        token = two.secret(two.evaluator)
        answer = Caller(two.running.base)("PUT", two.path("choice"), body=b"x", token=token)
        assert answer.error == (409, "Closed")


def test_a_message_that_nobody_fetches_expires_and_the_pair_is_reported(database, tmp_path):
    with collector(database) as first:
        two = Two(first, tmp_path)
        two.go(two.garbler)
        progress = two.analyst.progress(two.study.id)["pairs"]
        assert progress["waiting for the evaluator"] == 1
    engine = create_engine(database)
    with engine.begin() as connection:  # as if it had been sent a day ago
        at = schema.messages.c.at
        connection.execute(update(schema.messages).values(at=at - 24 * 3600))
    engine.dispose()
    with collector(database, first.token, message_hours=25.0) as patient:
        assert patient.analyst().progress(two.study.id)["pairs"]["waiting for the evaluator"] == 1
    with collector(database, first.token, message_hours=23.0) as strict:
        analyst = strict.analyst()
        until(lambda: "expired" in analyst.progress(two.study.id)["pairs"], "the expiry")
        progress = analyst.progress(two.study.id)["pairs"]
        assert progress["expired"] == 1
        assert progress["waiting for the evaluator"] == progress["waiting for the garbler"] == 0
        assert contents(database)["messages"] == []
        late = two.go(0, strict.transport())
        assert list((late.pairs or {}).values()) == ["expired"]


def test_people_who_never_come_are_counted_by_whose_turn_it_is(running, tmp_path):
    two = Two(running, tmp_path, people=6)
    index = {two.data(who)["index"]: who for who in range(6)}
    garblers = [index[int(each)] for each in two.pairs.garblers]
    evaluators = [index[int(each)] for each in two.pairs.evaluators]
    two.go(garblers[0])
    two.go(garblers[1])
    two.go(evaluators[1])
    progress = two.analyst.progress(two.study.id)["pairs"]
    assert progress["pairs"] == 3
    assert progress["waiting for the garbler"] == 2
    assert progress["waiting for the evaluator"] == 1
    assert progress["done"] == 0


# ---------------------------------------------------------------- privacy


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
    close = Seal.close

    def note(self: Seal, kind: str, text: bytes) -> bytes:
        plain.append(text)
        sealed.append(close(self, kind, text))
        return sealed[-1]

    monkeypatch.setattr(Seal, "close", note)
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
                Seal(self._false, self._keys[who], two.study.id, two.number) for who in (sender, receiver)
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
        Seal(bytes(range(32)), bytes.fromhex(key), "ab" * 32, 0)


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
