"""Vectors of pairs.

Each file is one study and the operations on it, as in vectors/README.md, with four more:

| operation | inputs | result |
| --- | --- | --- |
| `match` | `people` of each stratum | `pairs`: number, pairing, garbler, evaluator of each |
| `pair` | `number`; values and random bits of `garbler`, `evaluator` | `symbol`, `wire` (the report) |
| `session` | the same with the text that each whole `tape_of` is made of | `messages`, `symbol` |
| `decode` | `number`, `table`, `labels` | `symbol` |

A whole tape is 6,000 bytes of SHAKE-128 of a text; a party's random bits come first on it. Long messages are
given by their SHA-256. A tally counts the `wire` of every successful `pair` so far. The people of a file are
those of its first `match`.
"""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from dpairs import Categories, Integers, Interval, Kernel, Levels, Report, Study
from dpairs.garbled.session import Evaluator, Garbler, PairDecoder
from dpairs.garbled.wire import Pair
from dpairs.protocols.pairwise.matching import Pairs
from dpairs.protocols.pairwise.protocol import PAIRS, Pairwise
from dpairs.randomness import TapeRandomness

from .vector import Values, Vector, file, integers, numbers, picks, stream, written

PEOPLE = 24
WHOLE_TAPE = 6000
"""Bytes that are enough for a party of any session here."""
LONG = 4000
"""Messages of more bytes are written as their hash."""


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
    return messages, PairDecoder(function, pair).decode(messages["table"], labels)


def shown(message: bytes) -> dict[str, str]:
    if len(message) > LONG:
        return {"sha256": hashlib.sha256(message).hexdigest()}
    return {"hex": message.hex()}


class Exchanges(Vector):
    """A study of pairs."""

    def __init__(self, study: Study, people: dict[str, int]) -> None:
        super().__init__(study)
        self.people = people
        self.match(people)

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


def create(statistic: Any, domain: Any = None, **options: Any) -> Study:
    return Study.create(statistic, protocol="pairwise", domain=domain, **options)


def answers(name: str, study: Study, people: dict[str, list[Values]]) -> Exchanges:
    """Every pair of these people, and one of them with all of its messages."""
    vector = Exchanges(study, {stratum: len(each) for stratum, each in people.items()})
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


def everybody(**columns: list[Any]) -> dict[str, list[Values]]:
    rows = zip(*columns.values(), strict=True)
    return {"everybody": [dict(zip(columns, row, strict=True)) for row in rows]}


@file
def auc() -> Exchanges:
    study = create("auc", Interval(0, 1), epsilon=2.0, seed=41)
    people = {
        "positive": [{"score": score} for score in numbers("auc positive", 0.0, 1.0, 0.5, count=8)],
        "negative": [{"score": score} for score in numbers("auc negative", 0.0, 1.0, 0.5, count=13)],
    }
    return answers("auc", study, people)


@file
def auc_ties_zero() -> Exchanges:
    moods = ["awful", "bad", "so-so", "über"]
    study = create("auc", Levels(moods), epsilon=1.0, ties="zero", pairs=2, noise="laplace", seed=42)
    people = {
        stratum: [{"score": score} for score in picks(f"auc_ties_zero {stratum}", moods, count)]
        for stratum, count in (("positive", 9), ("negative", 6))
    }
    return answers("auc_ties_zero", study, people)


@file
def kendall_tau() -> Exchanges:
    levels = Levels(range(1, 6))
    study = create("kendall_tau", (levels, levels), epsilon=4.0, pairs=2, noise="kary", seed=43)
    x, y = (picks(f"kendall_tau {side}", [1, 2, 3, 4, 5], PEOPLE) for side in "xy")
    return answers("kendall_tau", study, everybody(x=x, y=y))


@file
def gini_interval() -> Exchanges:
    study = create("gini_mean_difference", Interval(0, 1), epsilon=2.0, bits=16, noise="laplace", seed=44)
    return answers("gini_interval", study, everybody(value=numbers("gini_interval", 0.0, 1.0, count=PEOPLE)))


@file
def gini_integers_64_bits() -> Exchanges:
    low, high = -(2**63), 2**63 - 1
    study = create(
        "gini_mean_difference", Integers(low, high), epsilon=1.0, bits=64, noise="response", seed=45
    )
    name = "gini_integers_64_bits"
    return answers(name, study, everybody(value=integers(name, low, high, -1, 0, count=PEOPLE)))


@file
def variance_disjoint() -> Exchanges:
    study = create(
        "variance", Integers(0, 99), epsilon=6.0, pairs=3, matching="disjoint", noise="response", seed=46
    )
    values = [round(99 * number) for number in numbers("variance_disjoint", 0.0, 1.0, count=11)]
    return answers("variance_disjoint", study, everybody(value=values))


@file
def collision_entropy() -> Exchanges:
    words = ["", "straße", "日本", "𝄞 clef"]
    study = create("collision_entropy", Categories(words), epsilon=3.0, seed=47)
    return answers(
        "collision_entropy", study, everybody(value=picks("collision_entropy", words[:2] + words, PEOPLE))
    )


@file
def custom_kernel() -> Exchanges:
    within = Kernel(
        lambda a, b: 1.0 * (np.abs(a[0] - b[0]) < 1) * (np.abs(a[1] - b[1]) < 2),
        range=(0, 1),
        domain=(Levels([0, 1, 2]), Levels([0, 1, 2, 3])),
        label="near",
    )
    study = create(within, epsilon=2.0, seed=48)
    x, y = picks("custom_kernel x", [0, 1, 2], PEOPLE), picks("custom_kernel y", [0, 1, 2, 3], PEOPLE)
    return answers("custom_kernel", study, everybody(x=x, y=y))
