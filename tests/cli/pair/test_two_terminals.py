"""Two terminals compute one report, a third reads it."""

import json
import socket
import threading
import time
from types import SimpleNamespace

import dpairs
from dpairs.cli.app import run
from dpairs.garbled.session import Evaluator

from ...ports import free_port
from ...processes import Child
from .terminals import (
    FIRST,
    PAIRWISE,
    TAU,
    Line,
    caller,
    framed,
    honest_garbler,
    partner,
    protocol_of,
    read_message,
    said,
)

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
            said_by = folder / f"{port}-{role}.out", folder / f"{port}-{role}.err"
            processes.append((Child([*arguments, *where], folder, *said_by), *said_by))
    codes = [child.wait(120) for child, *_ in processes]
    ends = [(out.read_text(), err.read_text()) for _, out, err in processes]
    assert codes == [0] * 4, ends
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


# ---------------------------------------------------------------- hostile partners


def honest_evaluator(study: dpairs.Study, line: Line, number: int = 0) -> None:
    protocol = protocol_of(study)
    pair = protocol.match(study.coins, {"everybody": 6}).pair(study.id, number, 1)
    me = Evaluator(protocol.function, pair, [0, 0])
    line.sendall(framed(me.choose(read_message(line))))
    me.evaluate(read_message(line))


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
