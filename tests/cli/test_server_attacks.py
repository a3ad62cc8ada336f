"""Everybody who sends bytes to `dpairs server` is hostile: participants, the other server, files."""

import json
import shutil

import numpy as np
import pytest

from dpairs import Interval, Study

pytest.importorskip("numba")
from dpairs.garbled import extension
from dpairs.protocols.two_servers.goldilocks import MODULUS
from dpairs.protocols.two_servers.multiply import MultiplyReceiver, MultiplySender
from dpairs.randomness import SeededRandomness
from dpairs.servers.files import once, read_messages
from dpairs.servers.steps import Server
from dpairs.shares import share_report

from .test_server import MULTIPLIED, refused, steps, verified

PEOPLE = 6


def reports_of(study):
    """The same in every test."""
    return [
        share_report(study, study.strata[place % 2], place, place % 4, SeededRandomness(place))
        for place in range(PEOPLE)
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    """A study of a few people, verified by both servers."""
    monkeypatch.chdir(tmp_path)
    study = Study.create("auc", protocol="two_servers", epsilon=5.0, domain=Interval(0, 1), bins=4, seed=1)
    study.save("study.json")
    steps("server key key")
    (tmp_path / "in").mkdir()
    for server in (0, 1):
        lines = [json.dumps(report.shares[server].to_json()) for report in reports_of(study)]
        (tmp_path / "in" / f"server-{server}.jsonl").write_text("\n".join(lines) + "\n")
    verified()
    capsys.readouterr()
    return tmp_path


def test_a_second_release_is_refused_by_each_server_itself(folder, capsys):
    """Of the same reports under another name, and of all but one of them: the book knows the study."""
    steps(*MULTIPLIED)
    release = "server release study.json --tally {0} --products {1} --book {2} --out {3}"
    steps(release.format("leader.json", "leader.products", "book", "part"))
    shutil.copy("leader.json", "copy.json")
    assert refused(release.format("copy.json", "leader.products", "book", "again"))
    # Without one person: what that person answered would be the difference.
    lines = (folder / "in" / "server-0.jsonl").read_text().splitlines()
    (folder / "in" / "server-0.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    verified("fewer.json", "other.json")
    for line in MULTIPLIED:
        steps(line.replace("leader.json", "fewer.json").replace("helper.json", "other.json"))
    assert refused(release.format("fewer.json", "leader.products", "book", "again"))
    assert "already" in capsys.readouterr().err
    assert not (folder / "again").exists()
    # The other server, whose book is empty, may still release, once.
    steps(release.format("other.json", "helper.products", "other.book", "part-1"))
    assert refused(release.format("other.json", "helper.products", "other.book", "again"))


def test_products_of_other_reports_are_refused(folder, capsys):
    steps(*MULTIPLIED)
    lines = (folder / "in" / "server-0.jsonl").read_text().splitlines()
    (folder / "in" / "server-0.jsonl").write_text("\n".join(lines[:-1]) + "\n")
    verified("fewer.json", "other.json")
    assert refused("server release study.json --tally fewer.json --products leader.products --book b --out p")
    assert "other reports" in capsys.readouterr().err.replace("\n", " ")
    assert refused("server release study.json --tally fewer.json --book b --out p")
    assert not (folder / "b").exists()


def test_one_hostile_line_stops_nobody_else(folder, capsys):
    """Malformed, of another study, for the other server, not JSON, too deep: left out, and said."""
    study = Study.load("study.json")
    other = Study.create("auc", protocol="two_servers", epsilon=4.0, domain=Interval(0, 1), bins=4, seed=1)
    foreign = share_report(other, "positive", 50, 0, SeededRandomness(50)).shares[0].to_json()
    swapped = share_report(study, "positive", 51, 0, SeededRandomness(51)).shares[1].to_json()
    good = share_report(study, "positive", 52, 0, SeededRandomness(52)).shares[0].to_json()
    hostile = [
        "",
        "[]",
        "null",
        "{",
        "[" * 5000,
        "\x1b[31m",
        json.dumps(foreign),
        json.dumps(swapped),
        json.dumps({**good, "index": -1}),
        json.dumps({**good, "index": True}),
        json.dumps({**good, "share": good["share"][:-2]}),
        json.dumps({**good, "nonce": 5}),
        json.dumps({**good, "stratum": ["positive"]}),
        json.dumps({**good, "server": 0.0}),
        json.dumps({**good, "more": 1}),
        json.dumps(good)[:-1] + ', "index": 3}',
    ]
    path = folder / "in" / "server-0.jsonl"
    path.write_text("\n".join(hostile) + "\n" + path.read_text())
    verified("after.json", "helper.json")
    said = capsys.readouterr()
    assert f"{PEOPLE} of {PEOPLE}" in said.out
    assert "left out" in said.err
    assert "\x1b[31m" not in said.err


@pytest.mark.parametrize("change", ["cut", "longer", "empty", "flipped", "swapped", "replayed"])
def test_messages_of_a_hostile_server_leave_reports_out_and_raise_nothing_else(folder, change):
    """Lengths, kinds and contents that verification never sends."""
    study = Study.load("study.json")
    key = bytes.fromhex((folder / "key").read_text())
    leader, helper = Server(study, 0, key), Server(study, 1, key)
    shares = [
        [
            share_report(study, study.strata[place % 2], place, place % 4, SeededRandomness(place)).shares[
                server
            ]
            for place in range(PEOPLE)
        ]
        for server in (0, 1)
    ]

    def changed(messages):
        first, second, *_ = messages
        message = messages[first]
        messages[first] = {
            "cut": message[:-1],
            "longer": message + b"\x00",
            "empty": b"",
            "flipped": bytes([message[0] ^ 0xFF]) + message[1:],
            "swapped": messages[second],
            "replayed": messages[second],
        }[change]
        return messages

    honest = leader.begin(shares[0])
    assert honest == read_messages(folder / "begun", study, 0)
    tally, _ = helper.answer(shares[1], changed(dict(honest)))
    assert tally.n == PEOPLE - 1
    _, answers = helper.answer(shares[1], honest)
    assert leader.finish(shares[0], changed(dict(answers))).n in (PEOPLE - 1, PEOPLE)
    unknown = {b"\x01" * 16: b"\x00" * 40, **honest}
    assert helper.answer(shares[1], unknown)[0].n == PEOPLE


def test_hostile_files_get_a_sentence_from_every_verb(folder, capsys):
    steps(*MULTIPLIED)
    steps("server release study.json --tally leader.json --products leader.products --book zero --out p0")
    steps("server release study.json --tally helper.json --products helper.products --book one --out p1")
    part = json.loads((folder / "p0").read_text())
    bad = {
        "nothing": b"",
        "binary": bytes(range(256)),
        "deep": b'{"a":' * 5000,
        "list": b"[]",
        "twice": (folder / "p0").read_bytes().replace(b'"server":0', b'"server":0,"server":1'),
        "float": json.dumps({**part, "server": 0.5}).encode(),
        "people": json.dumps({**part, "people": {"positive": 10**18, "negative": 3}}).encode(),
        "negative": json.dumps({**part, "people": {"positive": -1, "negative": 3}}).encode(),
        "sizes": json.dumps({**part, "people": {"positive": 4, "negative": 3}}).encode(),
        "batch": json.dumps({**part, "batch": part["batch"][:-2] + "00"}).encode(),
        "numbers": json.dumps({**part, "numbers": {"totals": [str(MODULUS)], "counts": {}}}).encode(),
    }
    lines = (
        "server open study.json {} p1 --out o",
        "server open study.json p1 {} --out o",
        "server verify study.json --server 1 --key key --shares in/server-1.jsonl --inbound {} --out o "
        "--tally t",
        "server verify study.json --server 0 --key key --shares {} --out o",
        "server verify study.json --server 0 --key {} --shares in/server-0.jsonl --out o",
        "server verify {} --server 0 --key key --shares in/server-0.jsonl --out o",
        "server multiply study.json --tally {} --secret s --out o",
        "server multiply study.json --tally leader.json --secret s --inbound {} --out o",
        "server release study.json --tally {} --products leader.products --book b --out o",
        "server release study.json --tally leader.json --products {} --book b --out o",
        "server release study.json --tally leader.json --products leader.products --book {} --out o",
    )
    for name, content in bad.items():
        (folder / name).write_bytes(content)
        for line in lines:
            assert refused(line.format(name)), (name, line)
            assert "Traceback" not in capsys.readouterr().err
    assert not (folder / "o").exists()
    # The parts themselves still open.
    steps("server open study.json p0 p1 --out release.json")
    steps("server open study.json p1 p0 --out again.json")
    assert (folder / "release.json").read_bytes() == (folder / "again.json").read_bytes()


def test_a_server_answers_two_offers_with_different_bits(folder):
    """With the same bits, one seed of every column from each answer gives server 0's shares away.

    The attack is run first on answers with the same bits, where it finds all choices, and then on those of
    the program, where it finds nothing.
    """
    vector = [[int(x) for x in np.random.default_rng(1).integers(0, 2**63, 4)]]
    count = 64 * 4
    choices = np.frombuffer(np.array(vector[0], dtype="<u8").tobytes(), dtype=np.uint8)

    def attack(bits_for):
        known = []
        for seed in (5, 6):
            sender = MultiplySender(b"batch", [[0] * 4], SeededRandomness(seed))
            reply = MultiplyReceiver(b"batch", vector, sender.offer, bits_for(sender.offer)).reply
            _, _, columns, _ = extension._split(reply, count)
            transfer = sender._transfer
            keys = transfer._keys.keys(b"batch", reply[:32])
            rows = np.zeros((extension.BASE, 4, 2, 2), dtype=np.uint64)
            masked = np.frombuffer(reply[32 : 32 + 96 * extension.BASE], dtype="<u8")
            rows[:, 1:] = masked.reshape(extension.BASE, 3, 2, 2)
            pick = transfer._bits[::2] + 2 * transfer._bits[1::2]
            seeds = keys ^ rows[np.arange(extension.BASE), pick]
            expanded = extension._columns(seeds.reshape(extension.COLUMNS, 2), count)
            known.append((transfer._bits, expanded[:, :32], columns[:, :32]))
        (one, mine, sent), (other, theirs, _) = known
        # A column of which the first answer gave seed 0 and the second seed 1: U = T_0 ^ T_1 ^ choices.
        useful = (one == 0) & (other == 1)
        return (mine ^ theirs ^ sent)[useful]

    assert (attack(lambda offer: SeededRandomness(9)) == choices).all(axis=1).all()
    found = attack(lambda offer: once(bytes(32), b"batch", offer))
    assert len(found) > 10
    assert not (found == choices).all(axis=1).any()


def test_a_reply_is_read_once_with_the_same_bits(folder, capsys):
    """A reply that fails is a guess at the difference: the next one meets another difference."""
    steps(*MULTIPLIED[:2])
    reply = (folder / "reply").read_bytes()
    (folder / "bad").write_bytes(reply[:-1] + bytes([reply[-1] ^ 1]))
    guess = MULTIPLIED[2].replace("--inbound reply", "--inbound bad")
    assert refused(guess)
    assert refused(MULTIPLIED[2])
    assert "cannot be read" in capsys.readouterr().err.replace("\n", " ")
    assert not (folder / "helper.secret").exists()
    # From the beginning it works.
    steps(*MULTIPLIED)
