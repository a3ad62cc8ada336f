"""Write the test vectors of two servers: `python vectors/make_shared_vectors.py [folder]`.

Each file is one study and everything that people and servers make of it, from texts that stand for all random
bits: `stream(name, count)` is SHAKE-128 of the text.

| operation | inputs | result |
| --- | --- | --- |
| `report` | `index`, `stratum`, `values`, `tape_of` | SHA-256 of both shares' wire forms (`wires`) |
| `verify` | the shares so far, `key_of` | `tallies`: SHA-256 of each server's tally |
| `multiply` | the tallies, `tapes_of` of both servers | SHA-256 of the three `messages`; `products` |
| `release` | `tapes_of` of both servers' noise | `parts` as they are handed out, and the `numbers` opened |
| `estimate` | the numbers | `value`, `standard_error`, `sample_standard_error` |
| `read_share` | `wire` | refused with `error` |

A release of counts has nothing to multiply. Everything is derived from the names below, so that a second run
writes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from dpairs import DpairsError, Interval, Levels, Participant, Study
from dpairs.protocols.sides import shared
from dpairs.randomness import TapeRandomness
from dpairs.servers.steps import Multiplication, Server, open_parts, part
from dpairs.shares import Share, SharedReport

FOLDER = Path(__file__).parent
DIGITS = 12
WHOLE_TAPE = 2**20
"""Bytes that are enough for any step here."""
UNIT = Interval(0, 1)
PEOPLE = 10
STUDIES: dict[str, tuple[str, dict[str, Any]]] = {
    "two_servers_auc": ("auc", {"domain": UNIT, "bins": 16, "epsilon": 1.0}),
    "two_servers_auc_counts": ("auc", {"domain": UNIT, "bins": 8, "release": "counts", "epsilon": 2.0}),
    "two_servers_tau": ("kendall_tau", {"domain": (UNIT, Levels(range(4))), "bins": 32, "epsilon": 4.0}),
    "two_servers_variance_gaussian": (
        "variance",
        {"domain": UNIT, "bins": 16, "noise": "gaussian", "delta": 1e-6, "epsilon": 4.0},
    ),
}


def stream(name: str, count: int = WHOLE_TAPE) -> bytes:
    """Bytes that look random and are the same everywhere."""
    return hashlib.shake_128(name.encode()).digest(count)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def values_of(study: Study, place: int) -> dict[str, Any]:
    """One person's values, by column."""
    drawn = stream(f"value {place}", 8)
    numbers = {"score": drawn[0] / 255, "value": drawn[1] / 255, "x": drawn[2] / 255, "y": drawn[3] % 4}
    return {name: numbers[name] for name in study.statistic.private_columns}


def reported(study: Study, step: dict[str, Any]) -> SharedReport:
    bits = TapeRandomness(stream(step["tape_of"]))
    me = Participant(study, step["index"], step["stratum"], max_delta=study.delta, bits=bits)
    made = me.report(**step["values"])
    if not isinstance(made, SharedReport):
        raise TypeError("this study's reports are no shares")
    return made


class Run:
    """A study's servers: every step's result, from the texts that stand for random bits."""

    def __init__(self, study: Study) -> None:
        self.study, self.reports = study, list[SharedReport]()
        self.products: list[list[int]] = [[], []]

    def report(self, step: dict[str, Any]) -> dict[str, Any]:
        self.reports.append(reported(self.study, step))
        return {"wires": [digest(bytes(share)) for share in self.reports[-1].shares]}

    def verify(self, step: dict[str, Any]) -> dict[str, Any]:
        key = stream(step["key_of"], 32)
        leader, helper = (Server(self.study, number, key) for number in (0, 1))
        inboxes = [[report.shares[number] for report in self.reports] for number in (0, 1)]
        second, answers = helper.answer(inboxes[1], leader.begin(inboxes[0]))
        self.tallies = (leader.finish(inboxes[0], answers), second)
        return {"tallies": [digest(tally.to_json().encode()) for tally in self.tallies]}

    def multiply(self, step: dict[str, Any]) -> dict[str, Any]:
        bits = [TapeRandomness(stream(name)) for name in step["tapes_of"]]
        zero, one = (Multiplication(tally, bits[n]) for n, tally in enumerate(self.tallies))
        offer = one.offer()
        reply = zero.reply(offer)
        self.products[1], corrections = one.correct(reply)
        self.products[0] = zero.finish(corrections)
        messages = {"offer": offer, "reply": reply, "corrections": corrections}
        return {
            "messages": {name: digest(content) for name, content in messages.items()},
            "products": [[str(each) for each in found] for found in self.products],
        }

    def release(self, step: dict[str, Any]) -> dict[str, Any]:
        parts = []
        for number, tally in enumerate(self.tallies):
            bits = TapeRandomness(stream(step["tapes_of"][number]))
            noise = shared(self.study).noise(tally.sizes, bits)
            parts.append(part(tally, self.products[number], noise))
        self.opened = open_parts(parts)
        return {
            "parts": [each.numbers.to_json() for each in parts],
            "numbers": self.opened.numbers.to_json(),
        }

    def estimate(self, step: dict[str, Any]) -> dict[str, Any]:
        found = self.opened.estimate()
        names = ("value", "standard_error", "sample_standard_error")
        return {name: rounded(getattr(found, name)) for name in names}


def made(name: str) -> dict[str, Any]:
    statistic, options = STUDIES[name]
    study = Study.create(statistic, protocol="two_servers", seed=7, **options)
    steps: list[dict[str, Any]] = [
        {
            "operation": "report",
            "index": place,
            "stratum": study.strata[place % len(study.strata)],
            "values": values_of(study, place),
            "tape_of": f"{name} report {place}",
        }
        for place in range(PEOPLE)
    ]
    steps.append({"operation": "verify", "key_of": f"{name} key"})
    if options.get("release") != "counts":
        steps.append({"operation": "multiply", "tapes_of": [f"{name} product {n}" for n in (0, 1)]})
    steps.append({"operation": "release", "tapes_of": [f"{name} noise {n}" for n in (0, 1)]})
    steps.append({"operation": "estimate"})
    run = Run(study)
    operations = [{**step, "success": True, **getattr(run, step["operation"])(step)} for step in steps]
    return {"study": study.to_json(), "study_id": study.id, "operations": operations}


def bad() -> dict[str, Any]:
    """Shares that must be refused, beside one that is read."""
    study = Study.create("auc", protocol="two_servers", seed=7, domain=UNIT, bins=2, epsilon=1.0)
    step = {"index": 3, "stratum": "negative", "values": {"score": 0.25}, "tape_of": "bad"}
    wire = bytes(reported(study, step).shares[1])
    wrong = {
        "a share as it should be": wire,
        "cut": wire[:-1],
        "trailing byte": wire + b"\x00",
        "other version": b"\x09" + wire[1:],
        "other study": wire[:1] + bytes(8) + wire[9:],
        "no such stratum": wire[:9] + b"\x02" + wire[10:],
        "no such server": wire[:18] + b"\x02" + wire[19:],
        "empty": b"",
    }
    operations = []
    for comment, content in wrong.items():
        operation: dict[str, Any] = {"operation": "read_share", "comment": comment, "wire": content.hex()}
        try:
            Share.from_bytes(content, study)
            operation["success"] = True
        except DpairsError as error:
            operation |= {"success": False, "error": type(error).__name__}
        operations.append(operation)
    return {"study": study.to_json(), "study_id": study.id, "operations": operations}


def vectors() -> dict[str, dict[str, Any]]:
    return {**{name: made(name) for name in STUDIES}, "two_servers_bad_share": bad()}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    for name, content in vectors().items():
        text = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
        (folder / f"{name}.json").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
