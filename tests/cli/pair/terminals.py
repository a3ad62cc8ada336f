"""What both people of a pair type, and what they are told."""

import json
import socket
import struct
import threading
from collections.abc import Callable

import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.garbled.session import Evaluator, Garbler
from dpairs.protocols.pairwise.protocol import Pairwise

from ...ports import free_port

TAU = ["study", "create", "kendall_tau", "-e", "4", "-d", "levels:1,2,3", "-d", "levels:1,2,3"]
PAIRWISE = ["--protocol", "pairwise", "--seed", "1"]
PEOPLE = ["--people", "6"]
VALUES = ["--x", "1", "--y", "3"]
FIRST = ["pair", "study.json", "--number", "0", *PEOPLE, *VALUES, "--out", "mine.jsonl"]
Line = socket.socket


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


def protocol_of(study: dpairs.Study) -> Pairwise:
    assert isinstance(study.protocol, Pairwise)
    return study.protocol


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
