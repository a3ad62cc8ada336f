"""`dpairs pair` and `dpairs decode`: two terminals compute one report, a third reads it."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import BadFile, BadMessage, BadParameter, DpairsError
from ..formats.canonical import canonical
from ..formats.checks import integer
from ..garbled.wire import Pair
from ..protocols import InPairs
from ..protocols.pairwise.protocol import PAIRS
from ..protocols.sides import in_pairs
from ..randomness import SystemRandomness
from ..report import MAX_INDEX, Report
from ..study import Study
from .extras import need
from .report import private_values
from .show import output, print_json, print_table

MAX_MESSAGE = 2**26
"""Longest message that is read from a partner: checked before it is read."""
RETRY = 0.1
"""Seconds between two attempts to reach a partner."""
_LENGTH = struct.Struct(">I")
MAX_TIMEOUT = 86_400.0
MAX_PEOPLE = 10**8
"""Most people whose pairs are listed at once."""
PEOPLE_HELP = "How many people are paired; with two classes, the positives first: --people 70 --people 600."


def pair(
    study_file: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study file of the pairwise protocol.")
    ],
    number: Annotated[int, typer.Option(help="The pair's number; `dpairs study pairs` lists them.")],
    people: Annotated[list[int], typer.Option(help=PEOPLE_HELP)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The file for the message to the collector.")],
    listen: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Garble: wait for the partner here.")
    ] = None,
    connect: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Evaluate: call the partner there.")
    ] = None,
    score: Annotated[str | None, typer.Option(help="The private score.")] = None,
    x: Annotated[str | None, typer.Option("--x", help="The private x.")] = None,
    y: Annotated[str | None, typer.Option("--y", help="The private y.")] = None,
    value: Annotated[str | None, typer.Option(help="The private value.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the partner.")] = 60.0,
) -> None:
    """Compute one report with a partner, in a garbled circuit.

    Neither sees the other's value, and neither knows the noise.

    One of the two listens and garbles, the other connects and evaluates. With public classes the negative
    listens and the positive connects. If you leave a value out, the
    command asks for it without showing it. The connection is not encrypted: use it on one machine or through
    a tunnel.
    """
    if not 0 < timeout <= MAX_TIMEOUT:
        raise BadParameter(f"--timeout must be above 0 and at most {MAX_TIMEOUT:g} seconds, not {timeout:g}")
    study = Study.load(study_file)
    protocol, both = in_pairs(study), _pair(study, number, people)
    need("a pair", "pairs", "dpairs.garbled.session")
    if (listen is None) == (connect is None):
        raise BadParameter("say either --listen HOST:PORT or --connect HOST:PORT")
    values = private_values(study, {"score": score, "x": x, "y": y, "value": value})
    columns = [[values[name]] for name in study.statistic.private_columns]
    coded = protocol.encode(columns, SystemRandomness())[0].tolist()
    try:
        if listen is not None:
            kind, message = "table", _garble(protocol, both, coded, listen, timeout)
        else:
            kind, message = "labels", _evaluate(protocol, both, coded, connect or "", timeout)
    except TimeoutError:
        raise BadMessage(f"the partner did not answer within {timeout:g} seconds") from None
    except (OSError, UnicodeError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadMessage(f"the partner cannot be reached: {why}") from None
    line = {"study": study.id, "pair": number, "kind": kind, "message": message.hex()}
    try:
        with out.open("a", encoding="utf-8") as file:
            file.write(canonical(line) + "\n")
    except OSError as error:
        raise BadFile(f"the message cannot be added to {out}: {error.strerror or error}") from None
    output.print(f"pair {number}: {kind} for the collector added to {out}", highlight=False)


def _garble(protocol: InPairs, both: Pair, coded: list[int], place: str, timeout: float) -> bytes:
    from ..garbled.session import Garbler

    me = Garbler(protocol.function, both, coded)
    with socket.create_server(_address(place)) as server:
        server.settimeout(timeout)
        line, _ = server.accept()
        with line:
            line.settimeout(timeout)
            _send(line, me.offer())
            _send(line, me.answer(_receive(line)))
    return me.table()


def _evaluate(protocol: InPairs, both: Pair, coded: list[int], place: str, timeout: float) -> bytes:
    from ..garbled.session import Evaluator

    me = Evaluator(protocol.function, both, coded)
    with _meet(_address(place), timeout) as line:
        _send(line, me.choose(_receive(line)))
        return me.evaluate(_receive(line))


def _meet(address: tuple[str, int], timeout: float) -> socket.socket:
    """Connect to a partner who may not be there yet."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            return socket.create_connection(address, timeout=timeout)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(RETRY)


def decode(
    study_file: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study file of the pairwise protocol.")
    ],
    files: Annotated[
        list[Path],
        typer.Argument(metavar="MESSAGES", help="Files with the messages of both partners of each pair."),
    ],
    people: Annotated[list[int], typer.Option(help=PEOPLE_HELP)],
    out: Annotated[Path, typer.Option("--out", "-o", help="The report file to write, for `dpairs tally`.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print what became of the pairs as JSON.")] = False,
) -> None:
    """Read the reports of pairs, as their collector.

    Neither partner can read them.

    A pair with only one message has dropped out; it is left out and counted.
    """
    need("a pair", "pairs", "dpairs.garbled.session")
    from ..garbled.session import PairDecoder

    study = Study.load(study_file)
    protocol = in_pairs(study)
    matching = protocol.match(study.coins, _sizes(study, people))
    messages: dict[int, dict[str, bytes]] = {}
    for path in files:
        for number, kind, message in _messages(path, study):
            messages.setdefault(number, {}).setdefault(kind, message)
    lines, outcome = [], {"decoded": 0, "refused": 0, "dropped out": 0}
    for number, sent in sorted(messages.items()):
        if len(sent) < 2:
            outcome["dropped out"] += 1
            continue
        try:
            both = matching.pair(study.id, number, len(study.statistic.strata))
            symbol = PairDecoder(protocol.function, both).decode(sent["table"], sent["labels"])
        except DpairsError:
            outcome["refused"] += 1
            continue
        outcome["decoded"] += 1
        lines.append(canonical(Report(study, PAIRS, number, symbol).to_json()))
    if not lines:
        raise BadFile(f"no pair could be decoded: {', '.join(f'{n} {what}' for what, n in outcome.items())}")
    try:
        out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    except OSError as error:
        raise BadFile(f"the reports cannot be written to {out}: {error.strerror or error}") from None
    if as_json:
        print_json(
            {"reports": str(out), **{name.replace(" ", "_"): count for name, count in outcome.items()}}
        )
    else:
        print_table(("pairs", "number"), list(outcome.items()))
        output.print(f"written to {out}", highlight=False)


def list_pairs(
    study_file: Annotated[
        Path, typer.Argument(metavar="STUDY", help="A study file of the pairwise protocol.")
    ],
    people: Annotated[list[int], typer.Option(help=PEOPLE_HELP)],
    as_json: Annotated[bool, typer.Option("--json", help="Print all pairs as JSON.")] = False,
) -> None:
    """List who computes with whom, from public coins."""
    study = Study.load(study_file)
    matching = in_pairs(study).match(study.coins, _sizes(study, people))
    columns = (matching.numbers, matching.pairings, matching.garblers, matching.evaluators)
    rows = sorted(zip(*(each.tolist() for each in columns), strict=True))
    names = ("pair", "round", "garbler", "evaluator")
    if as_json:
        print_json([dict(zip(names, row, strict=True)) for row in rows])
        return
    print_table(names, rows[:40])
    if len(rows) > 40:
        output.print(f"and {len(rows) - 40:,} more: --json lists all", highlight=False)


def _sizes(study: Study, people: list[int]) -> dict[str, int]:
    strata = study.statistic.strata
    if len(people) != len(strata):
        raise BadParameter(f"--people must be given once for each of {', '.join(strata)}")
    return {
        name: integer("--people", count, 1, MAX_PEOPLE) for name, count in zip(strata, people, strict=True)
    }


def _pair(study: Study, number: int, people: list[int]) -> Pair:
    matching = in_pairs(study).match(study.coins, _sizes(study, people))
    return matching.pair(study.id, integer("--number", number, 0, MAX_INDEX), len(study.statistic.strata))


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdigit() and len(port) <= 5) or not 0 < int(port) < 2**16:
        raise BadParameter(f"an address is HOST:PORT, as in 127.0.0.1:9000, not {text!r}")
    return host or "127.0.0.1", int(port)


def _send(line: socket.socket, message: bytes) -> None:
    line.sendall(_LENGTH.pack(len(message)) + message)


def _receive(line: socket.socket) -> bytes:
    (length,) = _LENGTH.unpack(_exactly(line, _LENGTH.size))
    if length > MAX_MESSAGE:
        raise BadMessage(f"the partner announces a message of {length} bytes; at most {MAX_MESSAGE} are read")
    return _exactly(line, length)


def _exactly(line: socket.socket, count: int) -> bytes:
    parts, missing = [], count
    while missing:
        part = line.recv(min(missing, 2**16))
        if not part:
            raise BadMessage("the partner closed the connection before the message was complete")
        parts.append(part)
        missing -= len(part)
    return b"".join(parts)


def _messages(path: Path, study: Study) -> Iterator[tuple[int, str, bytes]]:
    """Each line's pair, kind and message; lines that are something else are passed over."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadFile(
            f"messages {path} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    for line in text.splitlines():
        with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
            spec: Any = json.loads(line)
            known = spec["study"] == study.id and spec["kind"] in ("table", "labels")
            if known and type(spec["pair"]) is int:
                yield spec["pair"], spec["kind"], bytes.fromhex(spec["message"])
