"""What must be refused of studies, reports, tallies and people of a tree."""

from __future__ import annotations

import base64
import json
from typing import Any

from dpairs import BadFile, BadParameter, BadValue, DpairsError, Integers, TapeExhausted
from dpairs.formats.canonical import canonical
from dpairs.randomness import WORDS

from .reports import Reports
from .tree import tree_study
from .vector import file, forged, signed, tape_of


@file
def bad_study() -> Reports:
    study = tree_study(epsilon=1.0, bins=8, seed=29)
    vector, text, content = Reports(study), study.to_json(), json.loads(study.to_json())
    protocol = content["protocol"]

    vector.good("load_study", text=text)
    vector.refuse_study("no levels", forged(content, depth=0))
    vector.refuse_study("more levels than an interval has", forged(content, depth=53))
    vector.refuse_study("more levels than 64", forged(content, depth=65))
    vector.refuse_study("depth as text", forged(content, depth="3"))
    vector.refuse_study("depth is missing", forged(content, depth=...))
    vector.refuse_study("unknown splitting", forged(content, splitting="levels"))
    vector.refuse_study(
        "everybody answers all levels with the whole epsilon", forged(content, splitting="budget")
    )
    vector.refuse_study("composition without a delta", forged(content, splitting="budget-advanced"))
    vector.refuse_study("delta without composition", forged(content, delta=1e-6))
    vector.refuse_study("delta as text", forged(content, delta="0"))
    vector.refuse_study("unknown rows", forged(content, rows="none"))
    vector.refuse_study("no threshold", forged(content, floors=[]))
    vector.refuse_study("a threshold as a number", forged(content, floors=[int(protocol["floors"][0])]))
    vector.refuse_study("a threshold of zero", forged(content, floors=["0"]))
    vector.refuse_study(
        "a threshold of one word less: more epsilon than promised",
        forged(content, floors=[lower(protocol["floors"][0])]),
    )
    vector.refuse_study(
        "a threshold of half of all words: nothing is said", forged(content, floors=[str(2**63)])
    )
    vector.refuse_study(
        "a threshold with a zero in front", forged(content, floors=["0" + protocol["floors"][0]])
    )
    vector.refuse_study(
        "several bits with all rows",
        forged(content, rows="all", floors=[protocol["floors"][0], str(2**62 - 1)]),
    )
    vector.refuse_study("an unknown field", forged(content, comment="hello"))
    other = signed({**content, "statistic": {**content["statistic"], "labels": "private"}})
    vector.refuse_study("private labels", other)
    return vector


def lower(threshold: str) -> str:
    return str(int(threshold) - 1)


@file
def bad_report() -> Reports:
    study = tree_study(epsilon=1.0, bins=8, seed=29)
    vector = Reports(study)
    wire = vector.report(17, ("positive", {"score": 0.5}), tape_of([0]))

    vector.good("read_report", wire=wire.hex(), stratum="positive", index="17", symbol=0)
    vector.good("read_report", wire=(wire[:18] + b"\1").hex(), stratum="positive", index="17", symbol=1)
    vector.refuse_report(BadParameter, "more than one bit", wire[:18] + b"\2")
    vector.refuse_report(BadParameter, "all bits", wire[:18] + b"\xff")
    vector.refuse_report(BadValue, "a byte too many", wire + b"\0")
    vector.refuse_report(BadValue, "no bit", wire[:18])
    return vector


def packed(numbers: list[int], width: int = 1) -> str:
    """A tree's tally holds integers like this: the width, then little-endian, in base64."""
    content = b"".join(number.to_bytes(width, "little") for number in numbers)
    return base64.b64encode(bytes([width]) + content).decode()


@file
def bad_tally() -> Reports:
    study = tree_study(epsilon=1.0, bins=8, seed=29)
    vector = Reports(study)
    for index in range(6):
        vector.report(index, (("positive", "negative")[index % 2], {"score": 0.7}), tape_of([WORDS - 1]))
    vector.count()
    content = json.loads(vector.tally.to_json())
    empty = {"rows": packed([]), "zeros": packed([]), "ones": packed([])}
    good = {"rows": packed([1, 1, 3]), "zeros": packed([3, 1, 0]), "ones": packed([1, 0, 2])}

    def text(last: Any, people: Any = 7, **changes: Any) -> str:
        table = {"people": people, "levels": [empty, empty, last], **changes}
        return canonical({**content, "counts": {**content["counts"], "positive": table}})

    vector.good("load_tally", text=text(good))
    vector.refuse_tally(BadFile, "no base64", text({**good, "rows": "!!!!"}))
    vector.refuse_tally(BadFile, "base64 cut off", text({**good, "rows": good["rows"][:-1]}))
    vector.refuse_tally(BadFile, "integers as a list", text({**good, "zeros": [3, 1, 0]}))
    vector.refuse_tally(
        BadFile, "no such width", text({**good, "ones": base64.b64encode(b"\3" + bytes(9)).decode()})
    )
    vector.refuse_tally(
        BadFile, "half an integer", text({**good, "ones": base64.b64encode(b"\2" + bytes(5)).decode()})
    )
    vector.refuse_tally(BadFile, "wider than needed", text({**good, "zeros": packed([3, 1, 0], 8)}))
    vector.refuse_tally(BadFile, "a row twice", text({**good, "rows": packed([1, 0, 3])}))
    vector.refuse_tally(BadFile, "a row out of range", text({**good, "rows": packed([1, 1, 6])}))
    vector.refuse_tally(
        BadFile, "rows that wrap around", text({**good, "rows": packed([5, 2**64 - 4, 1], 8)})
    )
    vector.refuse_tally(BadFile, "more rows than counts", text({**good, "rows": packed([1, 1, 1, 1])}))
    vector.refuse_tally(
        BadFile,
        "a row without reports",
        text({**good, "zeros": packed([4, 0, 1]), "ones": packed([0, 0, 2])}),
    )
    vector.refuse_tally(
        BadFile, "a count above 2^53", text({**good, "zeros": packed([2**53 + 1, 1, 0], 8)}, 2**53 + 5)
    )
    vector.refuse_tally(BadFile, "too few people", text(good, 6))
    vector.refuse_tally(BadFile, "too many people", text(good, 8))
    vector.refuse_tally(BadFile, "people as text", text(good, "7"))
    vector.refuse_tally(BadFile, "a level is missing", text(good, 0, levels=[empty, empty]))
    vector.refuse_tally(BadFile, "a level too many", text(good, 0, levels=[empty] * 4))
    vector.refuse_tally(
        BadFile, "a level lacks its ones", text({"rows": good["rows"], "zeros": good["zeros"]})
    )
    vector.refuse_tally(BadFile, "an unknown field of a level", text({**good, "twos": good["ones"]}))
    vector.refuse_tally(BadFile, "an unknown field of a stratum", text(good, comment="hello"))
    vector.refuse_tally(BadFile, "a histogram's counts", text(good).replace('"levels"', '"symbols"'))
    return vector


@file
def bad_participant() -> Reports:
    study = tree_study(Integers(-(2**63), 2**63 - 2), epsilon=2.0, bins=8, splitting="budget", seed=30)
    vector = Reports(study)

    def refuse(error: type[DpairsError], why: str, score: int = 0, index: int = 17, size: int = 24) -> None:
        vector.refuse_person(error, why, index, ("negative", {"score": score}), bytes(size))

    vector.report(17, ("negative", {"score": -(2**63)}), tape_of([WORDS - 1] * 3))
    vector.report(18, ("negative", {"score": 2**63 - 2}), tape_of([WORDS - 1] * 3))
    refuse(TapeExhausted, "two words where three levels need three", size=16)
    refuse(TapeExhausted, "tape a byte too short", size=23)
    refuse(BadValue, "value above the domain", score=2**63 - 1)
    refuse(BadValue, "value below the domain", score=-(2**63) - 1)
    refuse(BadParameter, "index of 2^53", index=2**53)
    return vector
