"""Write the test vectors of pairs: `python vectors/make_pair_vectors.py [folder]`.

Each file is one study and the operations on it, as in vectors/README.md, with four more:

| operation | inputs | result |
| --- | --- | --- |
| `match` | `people` of each stratum | `pairs`: number, round, garbler, evaluator of each |
| `pair` | `number`; values and coins of `garbler`, `evaluator` | `symbol`, `wire` (the report) |
| `session` | the same with the text that each whole `tape_of` is made of | `messages`, `symbol` |
| `decode` | `number`, `table`, `labels` | `symbol` |

A whole tape is 6,000 bytes of SHAKE-128 of a text; a party's coins come first on it. Long messages are given
by their SHA-256. A tally counts the `wire` of every successful `pair` so far. The people of a file are those
of its first `match`. Everything is derived from the names below, so that a second run writes the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpairs import (
    BadFile,
    BadMessage,
    BadParameter,
    BadValue,
    Categories,
    DpairsError,
    ForgedOutput,
    Integers,
    Interval,
    Kernel,
    Levels,
    NotAsked,
    NotEnoughData,
    OutOfOrder,
    Replayed,
    Report,
    Study,
    Tally,
    TapeExhausted,
    TrailingBytes,
    WrongPartner,
    WrongStudy,
)
from dpairs.formats.canonical import canonical, digest
from dpairs.garbled.session import Collector, Evaluator, Garbler
from dpairs.garbled.wire import HEAD, Pair
from dpairs.protocols.pairwise.matching import Pairs
from dpairs.protocols.pairwise.protocol import PAIRS, Pairwise
from dpairs.randomness import TapeRandomness

FOLDER = Path(__file__).parent
PEOPLE = 24
DIGITS = 13
"""Estimates are written to so many digits: the last ones depend on the processor."""
WHOLE_TAPE = 6000
"""Bytes that are enough for a party of any session here."""
LONG = 4000
"""Messages of more bytes are written as their hash."""

Values = dict[str, Any]


def stream(name: str, count: int) -> bytes:
    """Bytes that look random and are the same everywhere."""
    return hashlib.shake_128(name.encode()).digest(count)


def protocol_of(study: Study) -> Pairwise:
    if not isinstance(study.protocol, Pairwise):
        raise TypeError("this is no study of pairs")
    return study.protocol


def pairs_of(study: Study, people: dict[str, int]) -> Pairs:
    return protocol_of(study).match(study.coins, people)


def named(study: Study, people: dict[str, int], number: int) -> Pair:
    return pairs_of(study, people).pair(study.id, number, len(study.statistic.strata))


def encoded(study: Study, values: Values) -> list[int]:
    """A person's values as they go into the circuit; no code of a study of pairs takes random bits."""
    names = study.statistic.private_columns
    columns = [np.array([values[name]], dtype=object) for name in names]
    found = protocol_of(study).code.encode(columns, names, TapeRandomness(b""))
    return [int(value) for value in found[0]]


def ideal_symbol(study: Study, values: tuple[Values, Values], tapes: tuple[bytes, bytes]) -> int:
    """From the coins of both, without a circuit."""
    function = protocol_of(study).function
    x, y = (function.values(np.array([encoded(study, each)], dtype=object)) for each in values)
    mine, theirs = (function.tape(1, TapeRandomness(tape)) for tape in tapes)
    return int(function.ideal(x, y, mine ^ theirs)[0])


def session(
    study: Study, pair: Pair, values: tuple[Values, Values], tapes: tuple[bytes, bytes]
) -> tuple[dict[str, bytes], int]:
    """All five messages and the symbol, by a real exchange."""
    function = protocol_of(study).function
    garbler = Garbler(function, pair, encoded(study, values[0]), TapeRandomness(tapes[0]))
    evaluator = Evaluator(function, pair, encoded(study, values[1]), TapeRandomness(tapes[1]))
    offer = garbler.offer()
    choice = evaluator.choose(offer)
    circuit = garbler.answer(choice)
    labels = evaluator.evaluate(circuit)
    messages = {
        "offer": offer,
        "choice": choice,
        "circuit": circuit,
        "table": garbler.table(),
        "labels": labels,
    }
    return messages, Collector(function, pair).decode(messages["table"], labels)


def written(study: Study, values: Values) -> Values:
    """Values as JSON: whole numbers of an `integers` domain have up to 64 bits, so they are strings."""
    kinds = {
        name: domain.kind for name, domain in zip(study.statistic.domain_columns, study.domains, strict=True)
    }
    return {name: str(value) if kinds[name] == "integers" else value for name, value in values.items()}


def rounded(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


def shown(message: bytes) -> dict[str, str]:
    if len(message) > LONG:
        return {"sha256": hashlib.sha256(message).hexdigest()}
    return {"hex": message.hex()}


# ---------------------------------------------------------------- operations


class Vector:
    """A study and the operations on it, run as they are written down."""

    def __init__(self, study: Study, people: dict[str, int]) -> None:
        self.study, self.people = study, people
        self.tally = Tally(study)
        self.operations: list[dict[str, Any]] = []
        self.match(people)

    def good(self, operation: str, **fields: Any) -> None:
        self.operations.append({"operation": operation, "success": True, **fields})

    def bad(
        self, operation: str, error: type[DpairsError], why: str, act: Callable[[], Any], **fields: Any
    ) -> None:
        """An operation that must fail, and does."""
        try:
            act()
        except error as raised:
            if type(raised) is not error:
                raise
        else:
            raise AssertionError(f"{why}: accepted")
        self.operations.append(
            {"operation": operation, "success": False, "error": error.__name__, "comment": why, **fields}
        )

    def match(self, people: dict[str, int]) -> None:
        found = pairs_of(self.study, people)
        columns = (found.numbers, found.pairings, found.garblers, found.evaluators)
        rows = [list(row) for row in zip(*(each.tolist() for each in columns), strict=True)]
        self.good("match", people=people, pairs=sorted(rows))

    def pair(self, number: int, values: tuple[Values, Values], tapes: tuple[bytes, bytes]) -> None:
        symbol = ideal_symbol(self.study, values, tapes)
        report = Report(self.study, PAIRS, number, symbol)
        self.tally.add(report)
        sides = [
            {"values": written(self.study, each), "tape": tape.hex()}
            for each, tape in zip(values, tapes, strict=True)
        ]
        self.good(
            "pair",
            number=number,
            garbler=sides[0],
            evaluator=sides[1],
            symbol=symbol,
            wire=bytes(report).hex(),
        )

    def session(self, number: int, values: tuple[Values, Values], name: str) -> dict[str, bytes]:
        tapes = (stream(f"{name} garbler", WHOLE_TAPE), stream(f"{name} evaluator", WHOLE_TAPE))
        messages, symbol = session(self.study, named(self.study, self.people, number), values, tapes)
        sides = [
            {"values": written(self.study, each), "tape_of": f"{name} {side}"}
            for each, side in zip(values, ("garbler", "evaluator"), strict=True)
        ]
        self.good(
            "session",
            number=number,
            garbler=sides[0],
            evaluator=sides[1],
            messages={name: shown(message) for name, message in messages.items()},
            symbol=symbol,
        )
        return messages

    def answer(self) -> None:
        """The tally of all pairs above and its estimate."""
        self.good("tally", tally=self.tally.to_json())
        estimate = self.tally.estimate()
        self.good(
            "estimate",
            value=rounded(estimate.value),
            standard_error=rounded(estimate.standard_error),
            sample_standard_error=rounded(estimate.sample_standard_error),
        )

    def text(self) -> str:
        content = {"study": self.study.to_json(), "study_id": self.study.id, "operations": self.operations}
        return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


# ---------------------------------------------------------------- good ones


def create(statistic: Any, domain: Any = None, **options: Any) -> Study:
    return Study.create(statistic, protocol="pairwise", domain=domain, **options)


def answers(name: str, study: Study, people: dict[str, list[Values]]) -> Vector:
    """Every pair of these people, and one of them with all of its messages."""
    vector = Vector(study, {stratum: len(each) for stratum, each in people.items()})
    size = 8 * protocol_of(study).function.words
    found, sides = pairs_of(study, vector.people), list(people.values())
    chosen: list[tuple[int, tuple[Values, Values]]] = []
    for place, number in enumerate(found.numbers.tolist()):
        values = (sides[-1][found.garblers[place]], sides[0][found.evaluators[place]])
        tapes = stream(f"{name} {number}", 2 * size)
        vector.pair(number, values, (tapes[:size], tapes[size:]))
        chosen.append((number, values))
    vector.answer()
    vector.session(*chosen[-1], name)
    return vector


def numbers(name: str, count: int, *edges: float) -> list[float]:
    """Numbers of [0, 1]: the edges, then any."""
    drawn = struct.unpack(f">{count}H", stream(name + " values", 2 * count))
    return [*edges, *(round(each / 65535, 4) for each in drawn)][:count]


def picks(name: str, values: list[Any], count: int = PEOPLE) -> list[Any]:
    return [values[byte % len(values)] for byte in stream(name + " values", count)]


def everybody(**columns: list[Any]) -> dict[str, list[Values]]:
    rows = zip(*columns.values(), strict=True)
    return {"everybody": [dict(zip(columns, row, strict=True)) for row in rows]}


def auc() -> Vector:
    study = create("auc", Interval(0, 1), epsilon=2.0, seed=41)
    people = {
        "positive": [{"score": score} for score in numbers("auc positive", 8, 0.0, 1.0, 0.5)],
        "negative": [{"score": score} for score in numbers("auc negative", 13, 0.0, 1.0, 0.5)],
    }
    return answers("auc", study, people)


def auc_ties_zero() -> Vector:
    moods = ["awful", "bad", "so-so", "über"]
    study = create("auc", Levels(moods), epsilon=1.0, ties="zero", pairs=2, noise="laplace", seed=42)
    people = {
        stratum: [{"score": score} for score in picks(f"auc_ties_zero {stratum}", moods, count)]
        for stratum, count in (("positive", 9), ("negative", 6))
    }
    return answers("auc_ties_zero", study, people)


def kendall_tau() -> Vector:
    levels = Levels(range(1, 6))
    study = create("kendall_tau", (levels, levels), epsilon=4.0, pairs=2, noise="kary", seed=43)
    x, y = (picks(f"kendall_tau {side}", [1, 2, 3, 4, 5]) for side in "xy")
    return answers("kendall_tau", study, everybody(x=x, y=y))


def gini_interval() -> Vector:
    study = create("gini_mean_difference", Interval(0, 1), epsilon=2.0, bits=16, noise="laplace", seed=44)
    return answers("gini_interval", study, everybody(value=numbers("gini_interval", PEOPLE, 0.0, 1.0)))


def gini_integers_64_bits() -> Vector:
    low, high = -(2**63), 2**63 - 1
    study = create(
        "gini_mean_difference", Integers(low, high), epsilon=1.0, bits=64, noise="response", seed=45
    )
    name = "gini_integers_64_bits"
    drawn = struct.unpack(f">{PEOPLE}q", stream(name + " values", 8 * PEOPLE))
    return answers(name, study, everybody(value=[low, high, -1, 0, *drawn][:PEOPLE]))


def variance_disjoint() -> Vector:
    study = create(
        "variance", Integers(0, 99), epsilon=6.0, pairs=3, matching="disjoint", noise="response", seed=46
    )
    values = [round(99 * number) for number in numbers("variance_disjoint", 11, 0.0, 1.0)]
    return answers("variance_disjoint", study, everybody(value=values))


def collision_entropy() -> Vector:
    words = ["", "straße", "日本", "𝄞 clef"]
    study = create("collision_entropy", Categories(words), epsilon=3.0, seed=47)
    return answers("collision_entropy", study, everybody(value=picks("collision_entropy", words[:2] + words)))


def custom_kernel() -> Vector:
    within = Kernel(
        lambda a, b: 1.0 * (np.abs(a[0] - b[0]) < 1) * (np.abs(a[1] - b[1]) < 2),
        range=(0, 1),
        domain=(Levels([0, 1, 2]), Levels([0, 1, 2, 3])),
        label="near",
    )
    study = create(within, epsilon=2.0, seed=48)
    x, y = picks("custom_kernel x", [0, 1, 2]), picks("custom_kernel y", [0, 1, 2, 3])
    return answers("custom_kernel", study, everybody(x=x, y=y))


# ---------------------------------------------------------------- bad ones


def small_study() -> Study:
    return create("auc", Interval(0, 1), epsilon=1.0, bits=8, pairs=2, seed=50)


def small_people() -> dict[str, int]:
    return {"positive": 3, "negative": 4}


def signed(content: dict[str, Any]) -> str:
    """A study's text whose id belongs to its contents."""
    content = {name: value for name, value in content.items() if name != "id"}
    return canonical({**content, "id": digest(content)})


def bad_study() -> Vector:
    study = small_study()
    vector = Vector(study, small_people())
    content = json.loads(study.to_json())

    def refuse(why: str, text: str) -> None:
        vector.bad("load_study", BadFile, why, lambda: Study.from_json(text), text=text)

    def forge(why: str, **fields: Any) -> None:
        refuse(why, signed({**content, "protocol": {**content["protocol"], **fields}}))

    noise = content["protocol"]["noise"]
    vector.good("load_study", text=study.to_json())
    forge("one pair more than epsilon pays for", pairs=3)
    forge("no pairs", pairs=0)
    forge("65 pairs", pairs=65)
    forge("pairs as a text", pairs="2")
    forge("a matching that classes do not have", matching="permutations")
    forge("no bits", bits=0)
    forge("65 bits", bits=65)
    forge("noise that tells more than promised", noise={**noise, "floor": "1"})
    forge("noise that tells nothing", noise={**noise, "floor": "32768"})
    forge("noise for three levels", noise={**noise, "top": "2"})
    forge("a threshold as a number", noise={**noise, "floor": int(noise["floor"])})
    forge("a threshold with a sign", noise={**noise, "floor": "-" + noise["floor"]})
    forge("noise with a field too many", noise={**noise, "sigma": 1})
    forge("noise without precision", noise={k: v for k, v in noise.items() if k != "precision"})
    forge("unknown noise", noise={**noise, "name": "gauss"})
    forge("a field too many", mechanism="krr")
    refuse("less epsilon than is used", signed({**content, "epsilon": 0.5}))
    refuse("a delta", signed({**content, "delta": 1e-6}))
    refuse(
        "private labels, which pairs cannot do",
        signed({**content, "statistic": {**content["statistic"], "labels": "private"}}),
    )
    refuse("changed without a new id", canonical({**content, "protocol": {**content["protocol"], "bits": 9}}))
    refuse("cut off", study.to_json()[:-1])
    return vector


def bad_pair() -> Vector:
    study, people = small_study(), small_people()
    vector = Vector(study, people)
    first = int(pairs_of(study, people).numbers[0])
    size = 8 * protocol_of(study).function.words
    tape = stream("bad_pair", size)

    def refuse(
        error: type[DpairsError],
        why: str,
        number: int = first,
        garbler: Values | None = None,
        evaluator: Values | None = None,
        coins: bytes = tape,
    ) -> None:
        values = (garbler or {"score": 0.25}, evaluator or {"score": 0.75})

        def act() -> None:
            named(study, people, number)
            ideal_symbol(study, values, (tape, coins))

        sides = [
            {"values": each, "tape": side.hex()} for each, side in zip(values, (tape, coins), strict=True)
        ]
        vector.bad("pair", error, why, act, number=number, garbler=sides[0], evaluator=sides[1])

    vector.pair(first, ({"score": 0.25}, {"score": 0.75}), (tape, tape))
    refuse(NotAsked, "no such pair", number=first + 1)
    refuse(NotAsked, "negative pair", number=-1)
    refuse(BadValue, "value above the domain", garbler={"score": 1.0000000000000002})
    refuse(BadValue, "value below the domain", evaluator={"score": -5e-324})
    refuse(BadValue, "value that is no number", garbler={"score": "0.5"})
    refuse(BadValue, "null", evaluator={"score": None})
    refuse(TapeExhausted, "no coins", coins=b"")
    refuse(TapeExhausted, "coins a byte too short", coins=tape[:-1])

    def no_match(why: str, sizes: dict[str, int]) -> None:
        vector.bad("match", NotEnoughData, why, lambda: pairs_of(study, sizes), people=sizes)

    no_match("no positives", {"positive": 0, "negative": 4})
    no_match("no negatives", {"positive": 4, "negative": 0})
    return vector


def bad_message() -> Vector:
    study, people = small_study(), small_people()
    vector = Vector(study, people)
    found = pairs_of(study, people).numbers.tolist()
    values = ({"score": 0.25}, {"score": 0.75})
    messages = vector.session(found[0], values, "bad_message")
    table, labels = messages["table"], messages["labels"]
    again = session(
        study,
        named(study, people, found[0]),
        values,
        (stream("bad_message more", WHOLE_TAPE), stream("bad_message again", WHOLE_TAPE)),
    )[0]
    other = create("auc", Interval(0, 1), epsilon=1.0, bits=8, pairs=2, seed=51)
    foreign = session(
        other,
        Pair(other.id, *_people(named(study, people, found[0]))),
        values,
        (stream("a", WHOLE_TAPE), stream("b", WHOLE_TAPE)),
    )[0]
    function = protocol_of(study).function

    def refuse(
        error: type[DpairsError],
        why: str,
        number: int = found[0],
        table: bytes = table,
        labels: bytes = labels,
    ) -> None:
        def act() -> None:
            Collector(function, named(study, people, number)).decode(table, labels)

        vector.bad("decode", error, why, act, number=number, table=table.hex(), labels=labels.hex())

    def flipped(wire: bytes, place: int) -> bytes:
        place %= len(wire)
        return wire[:place] + bytes([wire[place] ^ 1]) + wire[place + 1 :]

    symbol = Collector(function, named(study, people, found[0])).decode(table, labels)
    vector.good("decode", number=found[0], table=table.hex(), labels=labels.hex(), symbol=symbol)
    refuse(ForgedOutput, "a flipped bit in the output label", labels=flipped(labels, -1))
    refuse(ForgedOutput, "a flipped bit in the commitment", labels=flipped(labels, HEAD.size))
    refuse(ForgedOutput, "a flipped bit in the table's first hash", table=flipped(table, HEAD.size))
    refuse(ForgedOutput, "a flipped bit in the table's second hash", table=flipped(table, -1))
    refuse(Replayed, "a flipped bit in the link", labels=flipped(labels, 20))
    refuse(Replayed, "labels of another exchange", labels=again["labels"])
    refuse(Replayed, "a table of another exchange", table=again["table"])
    refuse(WrongStudy, "a flipped bit in the study", table=flipped(table, 2))
    refuse(WrongStudy, "another study's messages", table=foreign["table"], labels=foreign["labels"])
    refuse(WrongPartner, "a flipped bit in the pair", labels=flipped(labels, 10))
    refuse(WrongPartner, "another pair's number", number=found[1])
    refuse(NotAsked, "a number that no pair has", number=found[0] + 1)
    refuse(OutOfOrder, "labels in the table's place", table=labels)
    refuse(OutOfOrder, "a table in the labels' place", labels=table)
    refuse(OutOfOrder, "the offer", table=messages["offer"])
    refuse(BadMessage, "another version", table=b"\x02" + table[1:])
    refuse(BadMessage, "no such kind", table=table[:1] + b"\x09" + table[2:])
    refuse(BadMessage, "a byte too short", labels=labels[:-1])
    refuse(BadMessage, "a head alone", labels=labels[: HEAD.size])
    refuse(BadMessage, "nothing", labels=b"")
    refuse(TrailingBytes, "a byte too many", table=table + b"\x00")
    return vector


def _people(pair: Pair) -> tuple[int, int, int]:
    return pair.garbler, pair.evaluator, pair.pairing


def bad_tally() -> Vector:
    study, people = small_study(), small_people()
    vector = Vector(study, people)
    size = 8 * protocol_of(study).function.words
    for number in pairs_of(study, people).numbers.tolist():
        tapes = stream(f"bad_tally {number}", 2 * size)
        vector.pair(number, ({"score": 0.25}, {"score": 0.75}), (tapes[:size], tapes[size:]))
    vector.answer()
    text = vector.tally.to_json()
    content = json.loads(text)
    vector.good("load_tally", text=text)

    def refuse(error: type[DpairsError], why: str, text: str) -> None:
        vector.bad("load_tally", error, why, lambda: Tally.from_json(text, study), text=text)

    def counts(why: str, symbols: list[Any], numbers: list[Any]) -> None:
        table = {PAIRS: {"symbols": symbols, "counts": numbers}}
        refuse(BadFile, why, canonical({**content, "counts": table}))

    counts("a symbol after the last group's last", [128], [1])
    counts("a negative symbol", [-1], [1])
    counts("a symbol twice", [1, 1], [1, 1])
    counts("symbols that descend", [1, 0], [1, 1])
    counts("a count of zero", [1], [0])
    counts("a count of a half", [1], [0.5])
    counts("more symbols than counts", [0, 1], [1])
    refuse(BadFile, "counts of people instead of pairs", canonical({**content, "counts": {"positive": {}}}))
    refuse(WrongStudy, "another study's", canonical({**content, "study": "0" * 64}))
    refuse(BadParameter, "an unknown field", canonical({**content, "comment": "hello"}))

    def refuse_report(error: type[DpairsError], why: str, wire: bytes) -> None:
        vector.bad("read_report", error, why, lambda: Report.from_bytes(wire, study), wire=wire.hex())

    wire = bytes(Report(study, PAIRS, 64, 1))
    vector.good("read_report", wire=wire.hex(), stratum=PAIRS, index="64", symbol=1)
    refuse_report(BadParameter, "a symbol that no pair has", wire[:-1] + b"\x02")
    refuse_report(BadValue, "a class instead of pairs", wire[:9] + b"\x01" + wire[10:])
    refuse_report(BadValue, "a byte too many", wire + b"\x00")
    refuse_report(WrongStudy, "another study", wire[:1] + bytes(8) + wire[9:])
    return vector


VECTORS: dict[str, Callable[[], Vector]] = {
    "pairwise_auc": auc,
    "pairwise_auc_ties_zero": auc_ties_zero,
    "pairwise_kendall_tau": kendall_tau,
    "pairwise_gini_interval": gini_interval,
    "pairwise_gini_integers_64_bits": gini_integers_64_bits,
    "pairwise_variance_disjoint": variance_disjoint,
    "pairwise_collision_entropy": collision_entropy,
    "pairwise_custom_kernel": custom_kernel,
    "pairwise_bad_study": bad_study,
    "pairwise_bad_pair": bad_pair,
    "pairwise_bad_message": bad_message,
    "pairwise_bad_tally": bad_tally,
}


def main() -> None:
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, make in VECTORS.items():
        (folder / f"{name}.json").write_text(make().text(), encoding="utf-8")
    print(f"{len(VECTORS)} files written to {folder}")


if __name__ == "__main__":
    main()
