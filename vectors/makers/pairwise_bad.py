"""What must be refused of studies, pairs, messages and tallies."""

from __future__ import annotations

import json
from typing import Any

from dpairs import (
    BadFile,
    BadMessage,
    BadParameter,
    BadValue,
    DpairsError,
    ForgedOutput,
    Interval,
    NotAsked,
    NotEnoughData,
    OutOfOrder,
    Replayed,
    Report,
    Study,
    TapeExhausted,
    TrailingBytes,
    WrongPartner,
    WrongStudy,
)
from dpairs.formats.canonical import canonical
from dpairs.garbled.session import PairDecoder
from dpairs.garbled.wire import HEAD, Pair
from dpairs.protocols.pairwise.protocol import PAIRS

from .pairwise import (
    WHOLE_TAPE,
    Exchanges,
    create,
    ideal_symbol,
    named,
    pairs_of,
    protocol_of,
    session,
)
from .vector import Values, file, forged, signed, stream


def small_study() -> Study:
    return create("auc", Interval(0, 1), epsilon=1.0, bits=8, pairs=2, seed=50)


def small_people() -> dict[str, int]:
    return {"positive": 3, "negative": 4}


@file
def bad_study() -> Exchanges:
    study = small_study()
    vector = Exchanges(study, small_people())
    content = json.loads(study.to_json())

    noise = content["protocol"]["noise"]
    vector.good("load_study", text=study.to_json())
    vector.refuse_study("one pair more than epsilon pays for", forged(content, pairs=3))
    vector.refuse_study("no pairs", forged(content, pairs=0))
    vector.refuse_study("65 pairs", forged(content, pairs=65))
    vector.refuse_study("pairs as a text", forged(content, pairs="2"))
    vector.refuse_study("a matching that classes do not have", forged(content, matching="permutations"))
    vector.refuse_study("no bits", forged(content, bits=0))
    vector.refuse_study("65 bits", forged(content, bits=65))
    vector.refuse_study("noise that tells more than promised", forged(content, noise={**noise, "floor": "1"}))
    vector.refuse_study("noise that tells nothing", forged(content, noise={**noise, "floor": "32768"}))
    vector.refuse_study("noise for three levels", forged(content, noise={**noise, "top": "2"}))
    vector.refuse_study(
        "a threshold as a number", forged(content, noise={**noise, "floor": int(noise["floor"])})
    )
    vector.refuse_study(
        "a threshold with a sign", forged(content, noise={**noise, "floor": "-" + noise["floor"]})
    )
    vector.refuse_study("noise with a field too many", forged(content, noise={**noise, "sigma": 1}))
    vector.refuse_study(
        "noise without precision", forged(content, noise={k: v for k, v in noise.items() if k != "precision"})
    )
    vector.refuse_study("unknown noise", forged(content, noise={**noise, "name": "gauss"}))
    vector.refuse_study("a field too many", forged(content, mechanism="krr"))
    vector.refuse_study("less epsilon than is used", signed({**content, "epsilon": 0.5}))
    vector.refuse_study("a delta", signed({**content, "delta": 1e-6}))
    vector.refuse_study(
        "private labels, which pairs cannot do",
        signed({**content, "statistic": {**content["statistic"], "labels": "private"}}),
    )
    vector.refuse_study(
        "changed without a new id", canonical({**content, "protocol": {**content["protocol"], "bits": 9}})
    )
    vector.refuse_study("cut off", study.to_json()[:-1])
    return vector


@file
def bad_pair() -> Exchanges:
    study, people = small_study(), small_people()
    vector = Exchanges(study, people)
    first = int(pairs_of(study, people).numbers[0])
    size = 8 * protocol_of(study).function.words
    tape = stream("bad_pair", size)

    def refuse(
        error: type[DpairsError],
        why: str,
        number: int = first,
        garbler: Values | None = None,
        evaluator: Values | None = None,
        other: bytes = tape,
    ) -> None:
        values = (garbler or {"score": 0.25}, evaluator or {"score": 0.75})

        def act() -> None:
            named(study, people, number)
            ideal_symbol(study, values, (tape, other))

        sides = [
            {"values": each, "tape": side.hex()} for each, side in zip(values, (tape, other), strict=True)
        ]
        vector.bad("pair", error, why, act, number=number, garbler=sides[0], evaluator=sides[1])

    vector.pair(first, ({"score": 0.25}, {"score": 0.75}), (tape, tape))
    refuse(NotAsked, "no such pair", number=first + 1)
    refuse(NotAsked, "negative pair", number=-1)
    refuse(BadValue, "value above the domain", garbler={"score": 1.0000000000000002})
    refuse(BadValue, "value below the domain", evaluator={"score": -5e-324})
    refuse(BadValue, "value that is no number", garbler={"score": "0.5"})
    refuse(BadValue, "null", evaluator={"score": None})
    refuse(TapeExhausted, "no coins", other=b"")
    refuse(TapeExhausted, "coins a byte too short", other=tape[:-1])

    def no_match(why: str, sizes: dict[str, int]) -> None:
        vector.bad("match", NotEnoughData, why, lambda: pairs_of(study, sizes), people=sizes)

    no_match("no positives", {"positive": 0, "negative": 4})
    no_match("no negatives", {"positive": 4, "negative": 0})
    return vector


@file
def bad_message() -> Exchanges:
    study, people = small_study(), small_people()
    vector = Exchanges(study, people)
    numbers = pairs_of(study, people).numbers.tolist()
    values = ({"score": 0.25}, {"score": 0.75})
    messages = vector.session(numbers[0], values, "bad_message")
    table, labels = messages["table"], messages["labels"]
    again = session(
        study,
        named(study, people, numbers[0]),
        values,
        (stream("bad_message more", WHOLE_TAPE), stream("bad_message again", WHOLE_TAPE)),
    )[0]
    other = create("auc", Interval(0, 1), epsilon=1.0, bits=8, pairs=2, seed=51)
    foreign = session(
        other,
        Pair(other.id, *_people(named(study, people, numbers[0]))),
        values,
        (stream("a", WHOLE_TAPE), stream("b", WHOLE_TAPE)),
    )[0]
    function = protocol_of(study).function

    def refuse(
        error: type[DpairsError],
        why: str,
        number: int = numbers[0],
        table: bytes = table,
        labels: bytes = labels,
    ) -> None:
        def act() -> None:
            PairDecoder(function, named(study, people, number)).decode(table, labels)

        vector.bad("decode", error, why, act, number=number, table=table.hex(), labels=labels.hex())

    def flipped(wire: bytes, place: int) -> bytes:
        place %= len(wire)
        return wire[:place] + bytes([wire[place] ^ 1]) + wire[place + 1 :]

    symbol = PairDecoder(function, named(study, people, numbers[0])).decode(table, labels)
    vector.good("decode", number=numbers[0], table=table.hex(), labels=labels.hex(), symbol=symbol)
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
    refuse(WrongPartner, "another pair's number", number=numbers[1])
    refuse(NotAsked, "a number that no pair has", number=numbers[0] + 1)
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


@file
def bad_tally() -> Exchanges:
    study, people = small_study(), small_people()
    vector = Exchanges(study, people)
    size = 8 * protocol_of(study).function.words
    for number in pairs_of(study, people).numbers.tolist():
        tapes = stream(f"bad_tally {number}", 2 * size)
        vector.pair(number, ({"score": 0.25}, {"score": 0.75}), (tapes[:size], tapes[size:]))
    vector.answer()
    text = vector.tally.to_json()
    content = json.loads(text)
    vector.good("load_tally", text=text)

    def counts(why: str, symbols: list[Any], numbers: list[Any]) -> None:
        table = {PAIRS: {"symbols": symbols, "counts": numbers}}
        vector.refuse_tally(BadFile, why, canonical({**content, "counts": table}))

    counts("a symbol after the last group's last", [128], [1])
    counts("a negative symbol", [-1], [1])
    counts("a symbol twice", [1, 1], [1, 1])
    counts("symbols that descend", [1, 0], [1, 1])
    counts("a count of zero", [1], [0])
    counts("a count of a half", [1], [0.5])
    counts("more symbols than counts", [0, 1], [1])
    vector.refuse_tally(
        BadFile, "counts of people instead of pairs", canonical({**content, "counts": {"positive": {}}})
    )
    vector.refuse_tally(WrongStudy, "another study's", canonical({**content, "study": "0" * 64}))
    vector.refuse_tally(BadParameter, "an unknown field", canonical({**content, "comment": "hello"}))

    wire = bytes(Report(study, PAIRS, 64, 1))
    vector.good("read_report", wire=wire.hex(), stratum=PAIRS, index="64", symbol=1)
    vector.refuse_report(BadParameter, "a symbol that no pair has", wire[:-1] + b"\x02")
    vector.refuse_report(BadValue, "a class instead of pairs", wire[:9] + b"\x01" + wire[10:])
    vector.refuse_report(BadValue, "a byte too many", wire + b"\x00")
    vector.refuse_report(WrongStudy, "another study", wire[:1] + bytes(8) + wire[9:])
    return vector
