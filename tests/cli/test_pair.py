"""`dpairs study pairs`, `pair`, `decode`: two terminals compute one report, a third reads it."""

import json
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.garbled.session import Collector, Evaluator, Garbler
from dpairs.garbled.wire import HEAD
from dpairs.protocols.pairwise.protocol import Pairwise

TAU = ["study", "create", "kendall_tau", "-e", "4", "-d", "levels:1,2,3", "-d", "levels:1,2,3"]
PAIRWISE = ["--protocol", "pairwise", "--seed", "1"]
PEOPLE = ["--people", "6"]
VALUES = ["--x", "1", "--y", "3"]
FIRST = ["pair", "study.json", "--number", "0", *PEOPLE, *VALUES, "--out", "mine.jsonl"]
DPAIRS = [sys.executable, "-c", "from dpairs.cli import main; main()"]


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def study(folder, capsys) -> dpairs.Study:
    assert run([*TAU, *PAIRWISE, "--pairs", "2", "-o", "study.json"]) == 0
    capsys.readouterr()
    return dpairs.Study.load(folder / "study.json")


def said(capsys) -> tuple[str, str]:
    captured = capsys.readouterr()
    return captured.out, captured.err


def one_error(text: str, *words: str) -> None:
    """One line, one sentence, with these words."""
    assert "Traceback" not in text
    assert text.strip().count("\n") == 0
    assert text.startswith("error: ")
    for word in words:
        assert word in text


def refused(capsys, arguments: list[str], *words: str) -> None:
    """Exit code 2 and one sentence that holds the words."""
    capsys.readouterr()
    assert run(arguments) == 2
    out, err = said(capsys)
    assert out == ""
    one_error(err, *words)


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def protocol_of(study: dpairs.Study) -> Pairwise:
    assert isinstance(study.protocol, Pairwise)
    return study.protocol


# ---------------------------------------------------------------- two processes


def test_from_the_study_to_the_estimate(folder, capsys):
    """Four people in two pairs: four processes, then a collector and an analyst."""
    assert run([*TAU, *PAIRWISE, "-o", "study.json"]) == 0
    capsys.readouterr()
    assert run(["study", "pairs", "study.json", "--people", "4", "--json"]) == 0
    pairs = json.loads(said(capsys)[0])
    assert len(pairs) == 2
    values = [(1, 3), (2, 2), (3, 1), (1, 1)]
    processes = []
    for each in pairs:
        port = free_port()
        # Who connects comes first and waits for the other.
        for role, way in (("evaluator", "--connect"), ("garbler", "--listen")):
            x, y = values[each[role]]
            arguments = ["pair", "study.json", "--number", str(each["pair"]), "--people", "4"]
            where = [way, f"127.0.0.1:{port}", "--x", str(x), "--y", str(y), "-o", f"{role}.jsonl"]
            processes.append(
                subprocess.Popen(
                    [*DPAIRS, *arguments, *where], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
                )
            )
    ends = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, ends
    for place, (out, err) in enumerate(ends):
        number, kind = pairs[place // 2]["pair"], ("labels", "table")[place % 2]
        assert err == ""
        assert f"pair {number}: {kind} for the collector added" in out
    lines = [json.loads(line) for line in (folder / "garbler.jsonl").read_text().splitlines()]
    assert [set(line) for line in lines] == [{"study", "pair", "kind", "message"}] * 2
    decode = [
        "decode",
        "study.json",
        "garbler.jsonl",
        "evaluator.jsonl",
        "--people",
        "4",
        "-o",
        "reports.jsonl",
    ]
    assert run([*decode, "--json"]) == 0
    outcome = json.loads(said(capsys)[0])
    assert outcome == {"reports": "reports.jsonl", "decoded": 2, "refused": 0, "dropped_out": 0}
    assert run(["tally", "study.json", "reports.jsonl", "-o", "tally.json", "--json"]) == 0
    assert json.loads(said(capsys)[0])["people"] == {"pairs": 2}
    assert run(["estimate", "study.json", "tally.json", "--json"]) == 0
    estimate = json.loads(said(capsys)[0])
    tally = dpairs.Tally.load("tally.json", dpairs.Study.load("study.json"))
    assert estimate["value"] == tally.estimate().value
    assert estimate["n"] == 2
    assert run(["estimate", "study.json", "tally.json"]) == 0
    assert run(decode) == 0
    assert "written to reports.jsonl" in said(capsys)[0]


def together(study: dpairs.Study, number: int, **columns: tuple[object, object]) -> tuple[str, str]:
    """Both partners' lines for one pair, without a network."""
    protocol, names = protocol_of(study), study.statistic.private_columns
    strata = study.statistic.strata
    sizes = {"everybody": 6} if len(strata) == 1 else dict.fromkeys(strata, 4)
    pair = protocol.match(study.coins, sizes).pair(study.id, number, len(strata))
    coded = [
        protocol.code.encode(
            [[columns[name][side]] for name in names], names, dpairs.randomness.SystemRandomness()
        )
        for side in (0, 1)
    ]
    garbler = Garbler(protocol.function, pair, coded[0][0].tolist())
    evaluator = Evaluator(protocol.function, pair, coded[1][0].tolist())
    labels = evaluator.evaluate(garbler.answer(evaluator.choose(garbler.offer())))
    return tuple(  # type: ignore[return-value]
        json.dumps({"study": study.id, "pair": number, "kind": kind, "message": wire.hex()})
        for kind, wire in (("table", garbler.table()), ("labels", labels))
    )


def numbers_of(study: dpairs.Study, people: int = 6) -> list[int]:
    return protocol_of(study).match(study.coins, {"everybody": people}).numbers.tolist()


# ---------------------------------------------------------------- lists of pairs


def test_pairs_are_listed_for_everybody_alike(study, folder, capsys):
    assert run(["study", "pairs", "study.json", *PEOPLE]) == 0
    text = said(capsys)[0]
    for word in ("pair", "round", "garbler", "evaluator"):
        assert word in text
    assert run(["study", "pairs", "study.json", "--people", "1000"]) == 0
    assert "and 960 more: --json lists all" in said(capsys)[0]
    assert run(["study", "pairs", "study.json", "--people", "1000", "--json"]) == 0
    listed = json.loads(said(capsys)[0])
    pairs = protocol_of(study).match(study.coins, {"everybody": 1000})
    assert sorted(each["pair"] for each in listed) == sorted(pairs.numbers.tolist())
    found = pairs.pair(study.id, listed[500]["pair"], 1)
    assert (found.garbler, found.evaluator) == (listed[500]["garbler"], listed[500]["evaluator"])


def test_classes_are_counted_apart(folder, capsys):
    made = ["study", "create", "auc", "-e", "1", "-d", "interval:0,1", *PAIRWISE, "-o", "auc.json"]
    assert run(made) == 0
    capsys.readouterr()
    assert run(["study", "pairs", "auc.json", "--people", "3", "--people", "5", "--json"]) == 0
    listed = json.loads(said(capsys)[0])
    assert sorted(each["evaluator"] for each in listed) == [0, 1, 2]
    assert max(each["garbler"] for each in listed) < 5
    auc = dpairs.Study.load("auc.json")
    number = protocol_of(auc).match(auc.coins, {"positive": 4, "negative": 4}).numbers.tolist()[0]
    (folder / "m.jsonl").write_text("\n".join(together(auc, number, score=(0.2, 0.9))) + "\n")
    both = ["--people", "4", "--people", "4"]
    assert run(["decode", "auc.json", "m.jsonl", *both, "-o", "r.jsonl", "--json"]) == 0
    assert json.loads(said(capsys)[0])["decoded"] == 1
    for people in (["--people", "4"], [*both, "--people", "4"]):
        refused(capsys, ["study", "pairs", "auc.json", *people], "once for each of positive, negative")
        refused(capsys, ["decode", "auc.json", "m.jsonl", *people, "-o", "x"], "positive, negative")


def test_numbers_of_people_that_make_no_pairs(study, folder, capsys):
    for command in (["study", "pairs", "study.json"], ["decode", "study.json", "none.jsonl", "-o", "x"]):
        refused(capsys, [*command, "--people", "0"], "--people must be a whole number from 1")
        refused(capsys, [*command, "--people", "1"], "no pair can be made of 1 people")
        refused(capsys, [*command, "--people", "3", "--people", "3"], "once for each of everybody")
    assert run(["study", "pairs", "study.json"]) == 2
    assert "people" in said(capsys)[1]


def test_more_people_than_fit_into_memory(study, capsys):
    refused(capsys, ["study", "pairs", "study.json", "--people", str(2**53 - 1)], "people")


def test_other_protocols_have_no_pairs(folder, capsys):
    assert run([*TAU, "-o", "alone.json"]) == 0
    (folder / "m.jsonl").write_text("")
    for arguments in (
        ["study", "pairs", "alone.json", *PEOPLE],
        ["pair", "alone.json", "--number", "0", *PEOPLE, *VALUES, "-o", "x", "--listen", ":9"],
        ["decode", "alone.json", "m.jsonl", *PEOPLE, "-o", "x"],
    ):
        refused(capsys, arguments, "histogram protocol, in which nobody has a partner")


def test_nobody_reports_alone(study, folder, capsys):
    refused(
        capsys, ["report", "study.json", "--index", "1", *VALUES], "two people compute one report together"
    )
    refused(capsys, ["report", "study.json", "--index", "1", *VALUES, "--append", "r"], "two people")
    assert not (folder / "r").exists()


# ---------------------------------------------------------------- a person's mistakes

MISTAKES: dict[str, tuple[list[str], tuple[str, ...]]] = {
    "no such pair": (
        ["--number", "1", "--connect", ":9000"],
        ("there is no pair 1", "the 6 pairs are 0, 64"),
    ),
    "negative pair": (["--number", "-1", "--connect", ":9000"], ("--number",)),
    "neither side": ([], ("either --listen HOST:PORT or --connect",)),
    "both sides": (["--listen", ":9000", "--connect", ":9000"], ("either --listen HOST:PORT or --connect",)),
    "too many people": (["--people", "7", "--connect", ":9000"], ("once for each of everybody",)),
    "no port": (["--connect", "127.0.0.1"], ("HOST:PORT",)),
    "port 0": (["--listen", "127.0.0.1:0"], ("HOST:PORT",)),
    "port 65536": (["--listen", "127.0.0.1:65536"], ("HOST:PORT",)),
    "port of letters": (["--connect", "127.0.0.1:http"], ("HOST:PORT",)),
    "port squared": (["--connect", "127.0.0.1:9²"], ("HOST:PORT",)),
    "host too long": (["--connect", "a" * 70 + ":9000"], ()),
    "value outside": (["--x", "9", "--connect", ":9000"], ("x must be a whole number from 1 to 3, not 9",)),
    "value of another study": (["--value", "1", "--connect", ":9000"], ("needs x and y, not value",)),
    "timeout negative": (["--listen", "127.0.0.1:{port}", "--timeout", "-1"], ("timeout",)),
    "timeout nan": (["--listen", "127.0.0.1:{port}", "--timeout", "nan"], ("timeout",)),
    "timeout infinite": (["--listen", "127.0.0.1:{port}", "--timeout", "inf"], ("timeout",)),
    "timeout nan, connecting": (["--connect", "127.0.0.1:{port}", "--timeout", "nan"], ("timeout",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_wrong_pairs(name, study, folder, capsys):
    more, words = MISTAKES[name]
    port = str(free_port())
    refused(capsys, [*FIRST, *(each.replace("{port}", port) for each in more)], *words)
    assert not (folder / "mine.jsonl").exists()


def test_a_missing_value_is_not_guessed(study, folder, capsys):
    refused(capsys, [*FIRST[:-4], "-o", "mine.jsonl", "--connect", ":9"], "y is missing")


def test_the_partner_does_not_come(study, folder, capsys):
    port = free_port()
    refused(
        capsys,
        [*FIRST, "--listen", f"127.0.0.1:{port}", "--timeout", "0.3"],
        "did not answer within 0.3 seconds",
    )
    refused(capsys, [*FIRST, "--connect", f"127.0.0.1:{port}", "--timeout", "0.3"], "partner", "refused")
    assert not (folder / "mine.jsonl").exists()


def test_an_address_of_somebody_else(study, folder, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused(capsys, [*FIRST, "--listen", f"127.0.0.1:{port}"], "in use")


def test_a_folder_that_is_not_there(study, folder, capsys):
    with partner(study, honest_garbler) as port:
        out = [*FIRST[:-1], "no/such/mine.jsonl", "--connect", f"127.0.0.1:{port}"]
        refused(capsys, out, "no/such/mine.jsonl")


def test_real_pairs_say_which_packages_they_need(study, folder):
    """Without the extra `pairs` there is a sentence, not a traceback."""
    for arguments in (
        [*FIRST, "--connect", "127.0.0.1:9", "--timeout", "0.1"],
        ["decode", "study.json", "study.json", *PEOPLE, "-o", "x"],
    ):
        code = (
            "import sys; sys.modules['rbcl'] = sys.modules['cryptography'] = None\n"
            f"from dpairs.cli.app import run; sys.exit(run({arguments!r}))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert done.returncode == 2, done.stderr[-300:]
        one_error(done.stderr, "pairs")


# ---------------------------------------------------------------- hostile partners

Line = socket.socket


def framed(message: bytes) -> bytes:
    return struct.pack(">I", len(message)) + message


def read_message(line: Line) -> bytes:
    file = line.makefile("rb")
    (length,) = struct.unpack(">I", file.read(4))
    return file.read(length)


def honest_garbler(study: dpairs.Study, line: Line, number: int = 0) -> None:
    protocol = protocol_of(study)
    pair = protocol.match(study.coins, {"everybody": 6}).pair(study.id, number, 1)
    me = Garbler(protocol.function, pair, [0, 0])
    line.sendall(framed(me.offer()))
    line.sendall(framed(me.answer(read_message(line))))


def honest_evaluator(study: dpairs.Study, line: Line, number: int = 0) -> None:
    protocol = protocol_of(study)
    pair = protocol.match(study.coins, {"everybody": 6}).pair(study.id, number, 1)
    me = Evaluator(protocol.function, pair, [0, 0])
    line.sendall(framed(me.choose(read_message(line))))
    me.evaluate(read_message(line))


class partner:  # noqa: N801 - used as a word
    """Somebody who listens and then does ``act`` to whoever connects."""

    def __init__(self, study: dpairs.Study, act: Callable[[dpairs.Study, Line], None]) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self._server.settimeout(60)
        self._thread = threading.Thread(target=self._run, args=(study, act))

    def _run(self, study: dpairs.Study, act: Callable[[dpairs.Study, Line], None]) -> None:
        line, _ = self._server.accept()
        with line:
            line.settimeout(60)
            try:
                act(study, line)
            except (OSError, struct.error, dpairs.DpairsError):
                return

    def __enter__(self) -> int:
        self._thread.start()
        return int(self._server.getsockname()[1])

    def __exit__(self, *_: object) -> None:
        self._thread.join(60)
        self._server.close()


class caller:  # noqa: N801 - used as a word
    """Somebody who connects as soon as a pair listens and then does ``act``."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, study: dpairs.Study, act: Callable[[dpairs.Study, Line], None]
    ) -> None:
        self.port = free_port()
        self._thread: threading.Thread | None = None
        create = socket.create_server

        def listening(*arguments: object, **options: object) -> socket.socket:
            server = create(*arguments, **options)  # type: ignore[arg-type]
            self._thread = threading.Thread(target=self._run, args=(study, act))
            self._thread.start()
            return server

        monkeypatch.setattr(socket, "create_server", listening)

    def _run(self, study: dpairs.Study, act: Callable[[dpairs.Study, Line], None]) -> None:
        with socket.create_connection(("127.0.0.1", self.port), timeout=60) as line:
            try:
                act(study, line)
            except (OSError, struct.error, dpairs.DpairsError):
                return

    def join(self) -> None:
        assert self._thread is not None
        self._thread.join(60)


def closes(study: dpairs.Study, line: Line) -> None:
    """At once."""


def closes_within(study: dpairs.Study, line: Line) -> None:
    line.sendall(struct.pack(">I", 100) + bytes(50))


def closes_within_the_length(study: dpairs.Study, line: Line) -> None:
    line.sendall(b"\x00\x00")


def garbage(study: dpairs.Study, line: Line) -> None:
    line.sendall(framed(bytes(range(256)) * 4))


def nothing_but_a_head(study: dpairs.Study, line: Line) -> None:
    line.sendall(framed(b""))


def huge(study: dpairs.Study, line: Line) -> None:
    line.sendall(b"\xff\xff\xff\xff" + bytes(100))


def a_web_browser(study: dpairs.Study, line: Line) -> None:
    line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")


HOSTILE: dict[str, tuple[Callable[[dpairs.Study, Line], None], str]] = {
    "closes": (closes, "closed the connection"),
    "closes within a message": (closes_within, "closed the connection"),
    "closes within a length": (closes_within_the_length, "closed the connection"),
    "garbage": (garbage, "version"),
    "an empty message": (nothing_but_a_head, "head of 34 bytes"),
    "a huge length": (huge, "4294967295 bytes; at most 67108864 are read"),
    "a web browser": (a_web_browser, "announces a message"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_partner_who_listens(name, study, folder, capsys):
    act, words = HOSTILE[name]
    with partner(study, act) as port:
        refused(capsys, [*FIRST, "--connect", f"127.0.0.1:{port}", "--timeout", "30"], words)
    assert not (folder / "mine.jsonl").exists()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_partner_who_connects(name, study, folder, capsys, monkeypatch):
    act, words = HOSTILE[name]
    other = caller(monkeypatch, study, act)
    capsys.readouterr()
    assert run([*FIRST, "--listen", f"127.0.0.1:{other.port}", "--timeout", "30"]) == 2
    other.join()
    out, err = said(capsys)
    assert out == ""
    # A partner who is gone may also be noticed while sending.
    one_error(err, *([] if "partner cannot be reached" in err and name.startswith("closes") else [words]))
    assert not (folder / "mine.jsonl").exists()


@pytest.mark.parametrize("sent", [b"", b"\x00\x00\x01\x00", b"\x00\x00\x01\x00" + bytes(10)])
def test_a_partner_who_falls_silent(sent, study, folder, capsys):
    done = threading.Event()

    def silent(study: dpairs.Study, line: Line) -> None:
        line.sendall(sent)
        done.wait(60)

    with partner(study, silent) as port:
        refused(
            capsys,
            [*FIRST, "--connect", f"127.0.0.1:{port}", "--timeout", "0.3"],
            "did not answer within 0.3 sec",
        )
        done.set()
    assert not (folder / "mine.jsonl").exists()


def test_a_partner_of_another_pair(study, folder, capsys):
    other = numbers_of(study)[1]
    with partner(study, lambda study, line: honest_garbler(study, line, other)) as port:
        refused(capsys, [*FIRST, "--connect", f"127.0.0.1:{port}"], "another pair of this study")
    assert not (folder / "mine.jsonl").exists()


def test_a_partner_of_another_study(study, folder, capsys):
    other = dpairs.Study.create(
        "kendall_tau", epsilon=4.0, protocol="pairwise", domain=study.domains, pairs=2, seed=2
    )
    with partner(other, honest_garbler) as port:
        refused(capsys, [*FIRST, "--connect", f"127.0.0.1:{port}"], "belongs to study")
    assert not (folder / "mine.jsonl").exists()


def test_a_partner_who_counts_other_people(study, folder, capsys):
    """The pairing depends on how many there are: two who disagree notice it."""
    with partner(study, honest_garbler) as port:
        arguments = ["pair", "study.json", "--number", "0", "--people", "8", *VALUES, "-o", "mine.jsonl"]
        refused(capsys, [*arguments, "--connect", f"127.0.0.1:{port}"], "another pair")
    assert not (folder / "mine.jsonl").exists()


# ---------------------------------------------------------------- honest partners, one in this process


def test_who_connects_waits_until_the_other_is_there(study, folder, capsys, monkeypatch):
    """The first attempt is refused; only then does the partner begin to listen."""
    port, waits, threads = free_port(), [], []

    def late(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 2:
            server = socket.create_server(("127.0.0.1", port))

            def serve() -> None:
                with server:
                    line, _ = server.accept()
                    with line:
                        honest_garbler(study, line)

            threads.append(threading.Thread(target=serve))
            threads[0].start()

    monkeypatch.setattr("dpairs.cli.pair.time", SimpleNamespace(monotonic=time.monotonic, sleep=late))
    assert run([*FIRST, "--connect", f"127.0.0.1:{port}"]) == 0
    threads[0].join(60)
    assert len(waits) >= 2
    assert "labels for the collector" in said(capsys)[0]


def test_both_sides_add_to_their_files(study, folder, capsys, monkeypatch):
    for _ in range(2):
        with partner(study, honest_garbler) as port:
            assert run([*FIRST, "--connect", f"127.0.0.1:{port}"]) == 0
    with monkeypatch.context() as patch:
        other = caller(patch, study, honest_evaluator)
        assert run([*FIRST, "--listen", f"127.0.0.1:{other.port}"]) == 0
        other.join()
    lines = [json.loads(line) for line in (folder / "mine.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == ["labels", "labels", "table"]
    assert lines[0]["message"] != lines[1]["message"]
    text = "".join(said(capsys))
    assert "3" not in text.replace("mine.jsonl", "")  # y's value is nowhere


# ---------------------------------------------------------------- the collector


def decoded(capsys, *files: str) -> dict[str, int]:
    capsys.readouterr()
    assert run(["decode", "study.json", *files, *PEOPLE, "-o", "reports.jsonl", "--json"]) == 0
    outcome = json.loads(said(capsys)[0])
    return {name: outcome[name] for name in ("decoded", "refused", "dropped_out")}


@pytest.fixture
def messages(study, folder) -> list[str]:
    """The lines of three pairs, tables and labels by turns."""
    return [line for number in numbers_of(study)[:3] for line in together(study, number, x=(1, 3), y=(2, 1))]


def write(path: str, lines: list[str]) -> None:
    Path(path).write_text("\n".join(lines) + "\n")


def test_one_message_alone_is_a_drop_out(study, messages, capsys):
    write("m.jsonl", messages[:-1])
    assert decoded(capsys, "m.jsonl") == {"decoded": 2, "refused": 0, "dropped_out": 1}
    write("m.jsonl", [*messages[:4], messages[5]])
    assert decoded(capsys, "m.jsonl") == {"decoded": 2, "refused": 0, "dropped_out": 1}
    reports = [json.loads(line) for line in Path("reports.jsonl").read_text().splitlines()]
    assert [each["index"] for each in reports] == sorted(numbers_of(study)[:2])
    assert all(each["stratum"] == "pairs" and each["study"] == study.id for each in reports)


def test_the_symbol_is_the_sessions(study, messages, capsys):
    write("m.jsonl", messages)
    assert decoded(capsys, "m.jsonl")["decoded"] == 3
    protocol = protocol_of(study)
    pairs = protocol.match(study.coins, {"everybody": 6})
    expected = []
    for place, number in enumerate(numbers_of(study)[:3]):
        table, labels = (
            bytes.fromhex(json.loads(line)["message"]) for line in messages[2 * place : 2 * place + 2]
        )
        symbol = Collector(protocol.function, pairs.pair(study.id, number, 1)).decode(table, labels)
        expected.append((number, symbol))
    found = [json.loads(line) for line in Path("reports.jsonl").read_text().splitlines()]
    assert sorted(expected) == [(each["index"], each["symbol"]) for each in found]


@pytest.mark.parametrize("which", [0, 1])
def test_a_flipped_digit_is_refused_and_counted(study, messages, capsys, which):
    """Wherever it is: each digit of a message is flipped once, in the head, the link and the payload."""
    rng = np.random.default_rng(which)
    spec = json.loads(messages[which])
    size = len(spec["message"])
    for place in {0, 2, 4, 20, 40, 2 * HEAD.size, size - 1, *rng.integers(0, size, 12).tolist()}:
        digit = f"{int(spec['message'][place], 16) ^ 1:x}"
        changed = {**spec, "message": spec["message"][:place] + digit + spec["message"][place + 1 :]}
        write("m.jsonl", [json.dumps(changed), *(line for line in messages if line != messages[which])])
        assert decoded(capsys, "m.jsonl") == {"decoded": 2, "refused": 1, "dropped_out": 0}, place


def test_messages_of_different_exchanges_or_pairs_are_refused(study, messages, capsys):
    first, second, _ = numbers_of(study)[:3]
    again = together(study, first, x=(1, 3), y=(2, 1))
    write("m.jsonl", [messages[0], again[1], *messages[2:]])
    assert decoded(capsys, "m.jsonl") == {"decoded": 2, "refused": 1, "dropped_out": 0}
    # The first pair's messages under the second's number.
    moved = [json.dumps({**json.loads(line), "pair": second}) for line in messages[:2]]
    write("m.jsonl", [*moved, *messages[4:]])
    assert decoded(capsys, "m.jsonl") == {"decoded": 1, "refused": 1, "dropped_out": 0}
    unknown = [json.dumps({**json.loads(line), "pair": 10**30}) for line in messages[:2]]
    write("m.jsonl", [*unknown, *messages[4:]])
    assert decoded(capsys, "m.jsonl") == {"decoded": 1, "refused": 1, "dropped_out": 0}
    # A table in the place of labels.
    swapped = [json.dumps({**json.loads(messages[0]), "kind": "labels"}), messages[0]]
    write("m.jsonl", [*swapped, *messages[4:]])
    assert decoded(capsys, "m.jsonl") == {"decoded": 1, "refused": 1, "dropped_out": 0}


def test_a_wrong_count_of_people_refuses_all(study, messages, capsys, folder):
    write("m.jsonl", messages)
    refused(
        capsys,
        ["decode", "study.json", "m.jsonl", "--people", "8", "-o", "r.jsonl"],
        "no pair could be decoded",
    )
    assert not (folder / "r.jsonl").exists()


def test_another_studys_messages(study, messages, capsys, folder):
    assert run([*TAU, *PAIRWISE[:-1], "2", "--pairs", "2", "-o", "other.json"]) == 0
    write("m.jsonl", messages)
    refused(capsys, ["decode", "other.json", "m.jsonl", *PEOPLE, "-o", "r.jsonl"], "no pair could be decoded")
    assert not (folder / "r.jsonl").exists()
    # With the other study's id written over it, the message itself tells.
    other = dpairs.Study.load("other.json")
    renamed = [json.dumps({**json.loads(line), "study": other.id}) for line in messages]
    write("m.jsonl", renamed)
    refused(capsys, ["decode", "other.json", "m.jsonl", *PEOPLE, "-o", "r.jsonl"], "refused")
    assert not (folder / "r.jsonl").exists()


ODD_LINES = [
    "",
    "not json",
    "[1]",
    "null",
    "7",
    "{}",
    '"text"',
    "9" * 9000,
    "[" * 100_000,
    '{"study": 1, "pair": [], "kind": {}, "message": null}',
]


def test_lines_that_are_no_messages_are_passed_over(study, messages, capsys):
    spec = json.loads(messages[0])
    odd = [
        {**spec, "message": "xyz"},
        {**spec, "message": 7},
        {**spec, "kind": "offer"},
        {**spec, "kind": ["table"]},
        {**spec, "pair": "first"},
        {**spec, "pair": None},
        {**spec, "pair": [0]},
        {"study": study.id},
    ]
    write("m.jsonl", [*ODD_LINES, *map(json.dumps, odd), *messages])
    assert decoded(capsys, "m.jsonl") == {"decoded": 3, "refused": 0, "dropped_out": 0}


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN"])
def test_a_pair_that_is_no_number_is_passed_over(study, messages, capsys, number):
    spec = json.dumps({**json.loads(messages[0]), "pair": 0})
    odd = spec.replace('"pair": 0', f'"pair": {number}')
    assert number in odd
    write("m.jsonl", [odd, *messages])
    assert decoded(capsys, "m.jsonl") == {"decoded": 3, "refused": 0, "dropped_out": 0}


def test_a_spoiled_copy_does_not_undo_a_good_message(study, messages, capsys):
    """Anybody can add a line. The first message stays, as the first answer does in a tally."""
    forged = json.dumps({**json.loads(messages[0]), "message": "00"})
    write("m.jsonl", [*messages, forged])
    assert decoded(capsys, "m.jsonl")["decoded"] == 3


def test_files_that_cannot_be_read_or_written(study, messages, capsys, folder):
    write("m.jsonl", messages)
    (folder / "binary.jsonl").write_bytes(b"\xff\xfe\x00")
    decode = ["decode", "study.json", "m.jsonl", *PEOPLE]
    refused(
        capsys, ["decode", "study.json", "none.jsonl", *PEOPLE, "-o", "r.jsonl"], "none.jsonl cannot be read"
    )
    refused(
        capsys, ["decode", "study.json", "binary.jsonl", *PEOPLE, "-o", "r.jsonl"], "binary.jsonl cannot be"
    )
    refused(capsys, [*decode, "-o", "no/such/r.jsonl"], "no/such/r.jsonl")
    refused(capsys, ["decode", "m.jsonl", "m.jsonl", *PEOPLE, "-o", "r.jsonl"], "study")
    assert not (folder / "r.jsonl").exists()


# ---------------------------------------------------------------- studies of pairs on the command line


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (["--pairs", "0"], ["pairs", "from 1 to 64"]),
        (["--noise", "gauss"], ["noise", "'laplace'"]),
        (["--bits", "0"], ["bits", "from 1 to 64"]),
        (["--matching", "classes"], ["matching", "'disjoint'"]),
        (["--variant", "b"], ["mean of one kernel"]),
        (["--bins", "4"], ["only a custom kernel has bins"]),
        (["--splitting", "users"], ["splitting"]),
        (["--mechanism", "krr"], ["mechanism"]),
    ],
)
def test_wrong_studies_of_pairs(folder, capsys, change, words):
    refused(capsys, [*TAU, *PAIRWISE, "-o", "study.json", *change], *words)
    assert not (folder / "study.json").exists()


def test_all_keywords_reach_the_study(folder, capsys):
    more = ["--pairs", "3", "--noise", "response", "--bits", "5", "--matching", "disjoint"]
    assert run([*TAU, *PAIRWISE, *more, "-o", "study.json", "--json"]) == 0
    assert json.loads(said(capsys)[0])["privacy"]["kind"] == "computational"
    made = protocol_of(dpairs.Study.load("study.json"))
    assert (made.pairs, made.noise.name, made.bits, made.matching) == (3, "response", 5, "disjoint")


def test_simulating_pairs_from_a_file(study, folder, capsys):
    rng = np.random.default_rng(1)
    rows = "\n".join(f"{x},{y}" for x, y in rng.integers(1, 4, (500, 2)))
    (folder / "data.csv").write_text(f"x,y\n{rows}\n")
    assert run(["simulate", "study.json", "data.csv", "--seed", "3", "--json"]) == 0
    result = json.loads(said(capsys)[0])
    assert result["runs"][0]["n"] == 500
