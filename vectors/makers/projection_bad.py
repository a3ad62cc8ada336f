"""What must be refused of studies, reports, tallies and people of two rounds."""

from __future__ import annotations

import json
from typing import Any

from dpairs import (
    BadFile,
    BadParameter,
    BadValue,
    Interval,
    NotAsked,
    Report,
    Tally,
    TapeExhausted,
    WrongStudy,
)
from dpairs.formats.canonical import canonical
from dpairs.protocols.sides import of_symbols

from .projection import asked, projection, second_round
from .reports import Reports
from .tree_bad import lower
from .vector import file, forged, tape_of


@file
def bad_first_study() -> Reports:
    study = projection("auc", Interval(0, 1), 1.0, 53, bins=8, pilot_fraction=9 / 64)
    vector, text, content = Reports(study), study.to_json(), json.loads(study.to_json())
    pilot = content["protocol"]["pilot"]

    vector.good("load_study", text=text)
    vector.refuse_study("no round", forged(content, round=...))
    vector.refuse_study("round 0", forged(content, round=0))
    vector.refuse_study("round as text", forged(content, round="1"))
    vector.refuse_study("a second round without a first", forged(content, round=2))
    vector.refuse_study("nobody in the first round", forged(content, share=0))
    vector.refuse_study("nobody in the second round", forged(content, share=64))
    vector.refuse_study("no pilot", forged(content, pilot=None))
    vector.refuse_study("unknown pilot", forged(content, pilot={**pilot, "name": "tree"}))
    vector.refuse_study("an unknown field", forged(content, comment="hello"))
    vector.refuse_study("an unknown field of the pilot", forged(content, pilot={**pilot, "comment": "hello"}))
    vector.refuse_study("more bits than an interval has", forged(content, pilot={**pilot, "bits": [53]}))
    vector.refuse_study("bits for two columns", forged(content, pilot={**pilot, "bits": [2, 1]}))
    vector.refuse_study("no threshold", forged(content, pilot={**pilot, "floors": []}))
    vector.refuse_study(
        "a threshold of one word less: more epsilon than promised",
        forged(content, pilot={**pilot, "floors": [lower(each) for each in pilot["floors"]]}),
    )
    return vector


@file
def bad_levels() -> Reports:
    """Levels that nothing leads to; a deep one far below a tree of others is as it should be."""
    study = projection("auc", Interval(0, 1), 4.0, 59, n=100_000)
    vector, content = Reports(study), json.loads(study.to_json())
    pilot = content["protocol"]["pilot"]

    def dealing(comment: str, levels: Any, floors: Any = pilot["floors"]) -> None:
        vector.refuse_study(comment, forged(content, pilot={**pilot, "levels": levels, "floors": floors}))

    vector.good("load_study", text=study.to_json())
    one = pilot["floors"][:1]
    dealing("no levels", [])
    dealing("levels as text", "2,4")
    dealing("level 0", [0, 2])
    dealing("a level below the leaves", [2, 33])
    dealing("more levels than a tree can have", [2] * 65)
    dealing("one level, far below the root", [32], one)
    dealing("a level far below the first", [31, 1], one)
    dealing("a level far below fewer than a report has parities", [2, 32])
    return vector


@file
def bad_second_study() -> Reports:
    vector = second_round(1.0, 54)
    study, text, content = vector.study, vector.study.to_json(), json.loads(vector.study.to_json())
    protocol = content["protocol"]
    first, heights = protocol["first"], protocol["functions"]["everybody"]

    def edited(function: Any) -> dict[str, Any]:
        return {"functions": {"everybody": function}}

    vector.good("load_study", text=text)
    vector.refuse_study("one digit edited", text.replace('"share":', '"share":1'))
    vector.refuse_study("round 3", forged(content, round=3))
    vector.refuse_study("an unknown field", forged(content, comment="hello"))
    vector.refuse_study("a first round without a name", forged(content, first={**first, "study": ""}))
    vector.refuse_study(
        "a first round's name in capitals", forged(content, first={**first, "study": study.id.upper()})
    )
    vector.refuse_study("everybody was asked first", forged(content, first={**first, "share": 64}))
    vector.refuse_study(
        "an unknown field of the first round", forged(content, first={**first, "comment": "hello"})
    )
    vector.refuse_study("what only the analyst needs", forged(content, remainder=[0, 0]))
    vector.refuse_study("edges on levels", forged(content, edges=[[0, 1, 2]]))
    vector.refuse_study("edges for two columns", forged(content, edges=[None, None]))
    vector.refuse_study("a height too many", forged(content, **edited(heights.rstrip("=") + "AAAA")))
    vector.refuse_study("a height too few", forged(content, **edited(heights[4:])))
    vector.refuse_study("heights that are no base64", forged(content, **edited("!" + heights[1:])))
    vector.refuse_study("heights as a list", forged(content, **edited([0, 1])))
    vector.refuse_study("no function", forged(content, functions={}))
    vector.refuse_study("a function of another class", forged(content, functions={"positive": heights}))
    vector.refuse_study(
        "a function with its range", forged(content, **edited({"low": 0, "high": 1, "heights": heights}))
    )
    vector.refuse_study("no mechanism", forged(content, mechanism=...))
    vector.refuse_study(
        "a mechanism for cells", forged(content, mechanism={"name": "krr", "inputs": 2, "floor": "5"})
    )
    floor = lower(protocol["mechanism"]["floor"])
    vector.refuse_study(
        "a threshold of one word less", forged(content, mechanism={**protocol["mechanism"], "floor": floor})
    )
    return vector


@file
def bad_round() -> Reports:
    """People who act in the other round, and reports that name the other study."""
    vector = second_round(1.0, 55)
    study, earlier = vector.study, vector.first
    mine = asked(study, 0)
    other = asked(earlier, 0)
    person = ("everybody", {"value": 3})
    wire = vector.report(mine, person, tape_of([0]))

    vector.good("read_report", wire=wire.hex(), stratum="everybody", index=str(mine), symbol=wire[-1])
    vector.refuse_person(NotAsked, "asked in the first round", other, person, bytes(8))
    vector.refuse_person(BadValue, "value out of the domain", mine, ("everybody", {"value": 4}), bytes(8))
    vector.refuse_person(TapeExhausted, "no tape", mine, person, b"")
    elsewhere = wire[:10] + other.to_bytes(8, "big") + wire[18:]
    vector.refuse_report(NotAsked, "a report of somebody who was asked in the first round", elsewhere)
    vector.refuse_report(
        WrongStudy, "a report of the first round", bytes(Report(earlier, "everybody", other, 0))
    )
    named = wire[:1] + bytes.fromhex(earlier.id)[:8] + wire[9:]
    vector.refuse_report(WrongStudy, "the first round's name on a report of the second", named)
    vector.refuse_report(BadParameter, "symbol out of range", wire[:18] + b"\2")
    vector.refuse_report(BadValue, "a byte too many", wire + b"\0")
    return vector


@file
def bad_tally() -> Reports:
    vector = second_round(1.0, 56)
    study, earlier = vector.study, vector.first
    for place in range(6):
        vector.report(asked(study, place), ("everybody", {"value": place % 4}), tape_of([0]))
    vector.count()
    text, content = vector.tally.to_json(), json.loads(vector.tally.to_json())

    def counts(symbols: list[Any], numbers: list[Any]) -> str:
        return canonical({**content, "counts": {"everybody": {"symbols": symbols, "counts": numbers}}})

    vector.good("load_tally", text=text)
    vector.refuse_tally(WrongStudy, "the first round's tally", Tally(earlier).to_json())
    vector.refuse_tally(BadFile, "a symbol out of range", counts([0, 2], [1, 1]))
    vector.refuse_tally(BadFile, "a count of zero", counts([0, 1], [1, 0]))
    vector.refuse_tally(BadParameter, "an unknown field", canonical({**content, "round": 2}))
    return vector


@file
def bad_window() -> Reports:
    """A window takes two words."""
    vector = second_round(5.0, 57)
    study, person = vector.study, ("everybody", {"value": 2})
    index = asked(study, 0)
    wire = vector.report(index, person, tape_of([0, 0]))
    vector.refuse_person(TapeExhausted, "one word where two are needed", index, person, bytes(8))
    vector.refuse_report(BadParameter, "symbol out of range", wire[:18] + bytes([of_symbols(study).symbols]))
    return vector


@file
def bad_knots() -> Reports:
    vector = second_round(5.0, 58, levels=8)
    study, content = vector.study, json.loads(vector.study.to_json())
    mechanism = content["protocol"]["mechanism"]
    good = mechanism["knots"]

    def with_knots(comment: str, knots: Any) -> None:
        vector.refuse_study(comment, forged(content, mechanism={**mechanism, "knots": knots}))

    vector.good("load_study", text=study.to_json())
    with_knots("no knots in a list of them", [])
    with_knots("a knot too few", good[1:])
    with_knots("a knot too many", [good[0] - 1, *good])
    with_knots("300 knots", list(range(1, 301)))
    with_knots("knots in the wrong order", good[::-1])
    with_knots("the same knot twice", [good[0], *good[:-1]])
    with_knots("a knot at 0", [0, *good[1:]])
    with_knots("a knot at 1", [*good[:-1], 2**32])
    with_knots("a knot far beyond 1", [*good[:-1], 10**30])
    with_knots("a knot below 0", [-1, *good[1:]])
    with_knots("a knot that is no whole number", [0.5, *good[1:]])
    with_knots("a knot as text", [str(good[0]), *good[1:]])
    with_knots("a knot as a truth value", [True, *good[1:]])
    with_knots("a knot within a list", [[good[0]], *good[1:]])
    with_knots("knots as text", "1,2")
    with_knots("nothing as knots", None)
    bit = {"name": "bit", "floor": "4961093570831980854"}
    vector.refuse_study("knots of a bit", forged(content, mechanism={**bit, "knots": good}))
    return vector
