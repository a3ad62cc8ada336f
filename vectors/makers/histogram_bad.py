"""What must be refused of studies, reports, tallies and people of a histogram."""

from __future__ import annotations

import json
import math
from typing import Any

from dpairs import (
    BadFile,
    BadParameter,
    BadValue,
    DpairsError,
    Integers,
    Interval,
    Kernel,
    Levels,
    Report,
    Study,
    TapeExhausted,
    WrongStudy,
)
from dpairs.data.domains import Domain
from dpairs.formats.canonical import canonical
from dpairs.randomness import WORDS
from dpairs.statistics.domains import WIDEST

from .reports import Reports
from .vector import file, forged, signed, tape_of


def small_study(seed: int = 15) -> Study:
    return Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=5, mechanism="krr", seed=seed)


@file
def bad_study() -> Reports:
    study = small_study()
    vector, text, content = Reports(study), study.to_json(), json.loads(study.to_json())
    protocol = content["protocol"]

    vector.good("load_study", text=text)
    vector.good("load_study", comment="spaces and the order of keys mean nothing", text=spaced(content))
    vector.refuse_study("cut off", text[: len(text) // 2])
    vector.refuse_study("empty", "")
    vector.refuse_study("text after the end", text + "}")
    vector.refuse_study("one digit edited", text.replace('"epsilon":1,', '"epsilon":2,'))
    vector.refuse_study("a digit of the id edited", text.replace(study.id, study.id[:-1] + "x"))
    vector.refuse_study("a key twice", text.replace('"epsilon":1,', '"epsilon":1,"epsilon":1,'))
    vector.refuse_study("an unknown field", signed({**content, "comment": "hello"}))
    vector.refuse_study("an unknown field of the protocol", forged(content, x=1))
    vector.refuse_study(
        "a field is missing", signed({name: content[name] for name in content if name != "seed"})
    )
    vector.refuse_study("another version", signed({**content, "version": 2}))
    vector.refuse_study("another format", signed({**content, "format": "dpairs-tally"}))
    vector.refuse_study(
        "promises less epsilon than its mechanism loses", signed({**content, "epsilon": 0.99})
    )
    vector.refuse_study("delta that no protocol uses", signed({**content, "delta": 0.1}))
    vector.refuse_study("unknown protocol", forged(content, name="raw"))
    floor = {**protocol["mechanism"], "floor": int(protocol["mechanism"]["floor"])}
    vector.refuse_study("a threshold as a number", forged(content, mechanism=floor))
    inputs = {**protocol["mechanism"], "inputs": 4}
    vector.refuse_study("a mechanism for other cells", forged(content, mechanism=inputs))
    vector.refuse_study("a list", "[]")
    return vector


def spaced(content: dict[str, Any]) -> str:
    return json.dumps(dict(sorted(content.items(), reverse=True)), indent=2)


@file
def bad_statistic() -> Reports:
    """Distances are squared, so a domain has a widest extent; a study begins with a whole kernel."""

    def made(of: str | Kernel, domain: Domain | None) -> Study:
        return Study.create(of, epsilon=1.0, domain=domain, bins=4, mechanism="krr", seed=15)

    def content(of: str | Kernel, domain: Domain | None = None) -> dict[str, Any]:
        read: dict[str, Any] = json.loads(made(of, domain).to_json())
        return read

    widest = made("variance", Interval(0, WIDEST))
    vector, beyond = Reports(widest), math.nextafter(WIDEST, math.inf)
    vector.good("load_study", text=widest.to_json())

    def wide(of: str, narrow: Domain, why: str, **spec: Any) -> None:
        study = content(of, narrow)
        vector.refuse_study(why, signed({**study, "domain": [{**study["domain"][0], **spec}]}))

    wide("variance", Interval(0, 1), "an interval a hair too wide", high=beyond)
    wide("gini_mean_difference", Interval(0, 1), "wide by both ends", low=-WIDEST, high=WIDEST)
    wide("variance", Levels([1, 2, 4, 8]), "levels too far apart", values=[-WIDEST, 0, 1, WIDEST])
    whole = Integers(2**60 - 2**28, 2**60)
    wide("variance", whole, "whole numbers whose distances doubles do not keep", low=str(2**60 - 2**27))
    kernel = Kernel(lambda a, b: abs(a - b), range=(0, 1), lipschitz=1.0, domain=Interval(0, 1))
    custom = content(kernel)
    table = {**custom["statistic"], "range": [0, math.nextafter(WIDEST**2, math.inf)]}
    vector.refuse_study("a kernel of values too large", signed({**custom, "statistic": table}))
    name = {"name": "named_kernel", "label": "distance", "columns": ["value"], "range": [0, 1]}
    vector.refuse_study("only the name of a kernel", signed({**custom, "statistic": name}))
    return vector


@file
def bad_report() -> Reports:
    study, other = small_study(), small_study(seed=16)
    vector = Reports(study)
    wire = vector.report(17, ("positive", {"score": 0.5}), tape_of([0]))
    foreign = bytes(Report(other, "positive", 17, 0))

    def edited(place: int, value: int) -> bytes:
        return wire[:place] + bytes([value]) + wire[place + 1 :]

    vector.good("read_report", wire=wire.hex(), stratum="positive", index="17", symbol=0)
    vector.refuse_report(BadValue, "a byte too many", wire + b"\0")
    vector.refuse_report(BadValue, "cut off", wire[:-1])
    vector.refuse_report(BadValue, "empty", b"")
    vector.refuse_report(BadValue, "another wire version", edited(0, 2))
    vector.refuse_report(WrongStudy, "another study's report", foreign)
    vector.refuse_report(BadValue, "unknown stratum", edited(9, 2))
    vector.refuse_report(BadParameter, "symbol out of range", edited(18, 5))
    vector.refuse_report(BadParameter, "index of 2^53", wire[:10] + (2**53).to_bytes(8, "big") + wire[18:])
    return vector


@file
def bad_tally() -> Reports:
    study, other = small_study(), small_study(seed=16)
    vector = Reports(study)
    for index, word in enumerate((0, 0, WORDS - 1)):
        vector.report(index, ("positive", {"score": 0.9}), tape_of([word]))
    vector.report(3, ("negative", {"score": 0.1}), tape_of([WORDS - 1]))
    vector.count()
    text, content = vector.tally.to_json(), json.loads(vector.tally.to_json())

    def positive(symbols: list[Any], counts: list[Any]) -> str:
        table = {"symbols": symbols, "counts": counts}
        return canonical({**content, "counts": {**content["counts"], "positive": table}})

    vector.good("load_tally", text=text)
    vector.refuse_tally(WrongStudy, "another study's tally", text.replace(study.id, other.id))
    vector.refuse_tally(BadFile, "a negative count", positive([0, 4], [2, -1]))
    vector.refuse_tally(BadFile, "a count of zero", positive([0, 4], [2, 0]))
    vector.refuse_tally(BadFile, "a count that is no whole number", positive([0, 4], [2, 1.5]))
    vector.refuse_tally(BadFile, "a count of 2^53", positive([0, 4], [2, 2**53]))
    vector.refuse_tally(BadFile, "symbols out of order", positive([4, 0], [1, 2]))
    vector.refuse_tally(BadFile, "a symbol twice", positive([0, 0], [1, 1]))
    vector.refuse_tally(BadFile, "a symbol out of range", positive([0, 5], [2, 1]))
    vector.refuse_tally(BadFile, "a negative symbol", positive([-1, 0], [2, 1]))
    vector.refuse_tally(BadFile, "more symbols than counts", positive([0, 4], [2]))
    counts = {**content["counts"], "unsure": {"symbols": [], "counts": []}}
    vector.refuse_tally(BadFile, "unknown stratum", canonical({**content, "counts": counts}))
    only = {"positive": content["counts"]["positive"]}
    vector.refuse_tally(BadFile, "a stratum is missing", canonical({**content, "counts": only}))
    vector.refuse_tally(BadFile, "another version", canonical({**content, "version": 2}))
    vector.refuse_tally(BadFile, "a study instead", study.to_json())
    vector.refuse_tally(BadFile, "a key twice", text.replace('"version":1', '"version":1,"version":1'))
    vector.refuse_tally(BadFile, "cut off", text[:-1])
    vector.refuse_tally(BadParameter, "an unknown field", canonical({**content, "comment": "hello"}))
    return vector


@file
def bad_participant() -> Reports:
    study = small_study()
    vector = Reports(study)

    def refuse(
        error: type[DpairsError],
        why: str,
        *,
        index: int = 17,
        stratum: str = "positive",
        values: dict[str, Any] | None = None,
        words: int = 1,
        cut: int = 0,
    ) -> None:
        given = {"score": 0.5} if values is None else values
        vector.refuse_person(error, why, index, (stratum, given), bytes(8 * words - cut))

    vector.report(17, ("positive", {"score": 0.5}), tape_of([0]))
    refuse(TapeExhausted, "no tape", words=0)
    refuse(TapeExhausted, "tape a byte too short", cut=1)
    refuse(BadValue, "value above the domain", values={"score": 1.0000000000000002})
    refuse(BadValue, "value below the domain", values={"score": -5e-324})
    refuse(BadValue, "value that is no number", values={"score": "0.5"})
    refuse(BadValue, "value missing", values={})
    refuse(BadValue, "a value too many", values={"score": 0.5, "label": 1})
    refuse(BadValue, "null", values={"score": None})
    refuse(BadParameter, "unknown stratum", stratum="unsure")
    refuse(BadParameter, "negative index", index=-1)
    refuse(BadParameter, "index of 2^53", index=2**53)
    return vector


@file
def bad_random_rounding() -> Reports:
    """Random rounding takes a word of its own, so one word is not enough."""
    study = Study.create(
        "gini_mean_difference", epsilon=1.0, domain=Interval(0, 1), bins=5, rounding="random", seed=17
    )
    vector, person = Reports(study), ("everybody", {"value": 0.5})
    vector.report(0, person, tape_of([0, 0]))
    vector.refuse_person(TapeExhausted, "one word where two are needed", 0, person, bytes(8))
    return vector


@file
def bad_scale() -> Reports:
    """Edges say what distances are only where values are rounded to them."""
    money = Interval(0, 1e6, edges=(1e3, 1e4, 1e5))
    study = Study.create("variance", epsilon=1.0, domain=money, bins=4, mechanism="krr", seed=29)
    vector = Reports(study)
    vector.good("load_study", text=study.to_json())
    content = json.loads(study.to_json())
    protocol = content["protocol"]
    vector.refuse_study(
        "more points than edges and ends", signed({**content, "protocol": {**protocol, "bins": [6]}})
    )
    vector.refuse_study(
        "bins of positions", signed({**content, "protocol": {**protocol, "rounding": "simple"}})
    )
    agreed = {**content, "statistic": {"name": "collision_entropy"}}
    vector.refuse_study("a statistic of equal values", signed(agreed))
    return vector


@file
def bad_whole_numbers_random_rounding() -> Reports:
    """Points between whole numbers, of which there are more than points."""
    whole = Study.create(
        "variance", epsilon=1.0, domain=Integers(0, 9), bins=4, rounding="random", mechanism="krr", seed=17
    )
    vector = Reports(whole)
    vector.good("load_study", text=whole.to_json())
    content = json.loads(whole.to_json())
    for why, high in (
        ("as many points as whole numbers", 3),
        ("whole numbers that are no doubles", 2**52 + 1),
    ):
        (domain,) = content["domain"]
        vector.refuse_study(why, signed({**content, "domain": [{**domain, "high": high}]}))
    compared = {**content, "statistic": {"name": "collision_entropy"}}
    vector.refuse_study("whole numbers whose distances do not count", signed(compared))
    return vector
