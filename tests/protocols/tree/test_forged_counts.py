"""Files of tree counts: the written form, and forged ones that are refused."""

import base64
import json
from typing import Any

import numpy as np
import pytest

from dpairs import BadFile, DpairsError, Interval, Study, Tally
from dpairs.formats.canonical import canonical
from dpairs.protocols.tree.counts import DENSE_LEVELS

from ...every import every
from .tallies import STRATA, cells, filled, level_of, packed, study, with_level


def test_the_written_form_is_the_documented_one():
    made = study(3)
    tally = filled(made, "users", 50, 6)
    content = json.loads(tally.to_json())
    for stratum in STRATA:
        by_level = cells(tally.counts(stratum))
        for level, table in enumerate(content["counts"][stratum]["levels"], start=1):
            rows = sorted({row for at, row, _ in by_level if at == level})
            counted = [[by_level[level, row, bit] for row in rows] for bit in (0, 1)]
            assert table == level_of(rows, *counted)


GOOD = level_of([1, 2, 5], [3, 1, 0], [1, 0, 2])


def changed(stratum: dict[str, Any]) -> str:
    made = study(3)
    content = json.loads(Tally(made).to_json())
    content["counts"]["positive"] = {**content["counts"]["positive"], **stratum}
    return canonical(content)


def last_level(table: Any, people: Any = 7) -> str:
    empty = level_of([], [], [])
    return changed({"people": people, "levels": [empty, empty, table]})


def test_the_good_form_is_accepted():
    """Negative control of the refusals below."""
    assert Tally.from_json(last_level(GOOD), study(3)).sizes == {"positive": 7, "negative": 0}


def raw(content: bytes) -> str:
    return base64.b64encode(content).decode()


HOSTILE: dict[str, str] = {
    "not base64": last_level({**GOOD, "rows": "!!!!"}),
    "base64 cut off": last_level({**GOOD, "rows": GOOD["rows"][:-1]}),
    "base64 with a space": last_level({**GOOD, "rows": GOOD["rows"] + " "}),
    "base64 with a line end": last_level({**GOOD, "rows": GOOD["rows"] + "\n"}),
    "not ASCII": last_level({**GOOD, "rows": "é" * 4}),
    "empty text": last_level({**GOOD, "zeros": ""}),
    "a number": last_level({**GOOD, "zeros": 5}),
    "a list": last_level({**GOOD, "zeros": [1, 2, 3]}),
    "null": last_level({**GOOD, "ones": None}),
    "true": last_level({**GOOD, "ones": True}),
    "an object": last_level({**GOOD, "ones": {}}),
    "no such width": last_level({**GOOD, "ones": raw(b"\x03" + bytes(9))}),
    "width 0": last_level({**GOOD, "ones": raw(b"\x00" + bytes(3))}),
    "half an integer": last_level({**GOOD, "ones": raw(b"\x02" + bytes(5))}),
    "wider than needed": last_level({**GOOD, "zeros": packed([3, 1, 0], 8)}),
    "a row twice": last_level({**GOOD, "rows": packed([1, 0, 3])}),
    "a row out of range": last_level({**GOOD, "rows": packed([1, 1, 6])}),
    "rows that wrap around": last_level({**GOOD, "rows": packed([5, 2**64 - 4, 1])}),
    "a row that wraps to itself": last_level({**GOOD, "rows": packed([2**64 - 1, 2, 1])}),
    "more rows than counts": last_level({**GOOD, "rows": packed([1, 1, 1, 1])}),
    "more zeros than ones": last_level({**GOOD, "zeros": packed([3, 1, 0, 4])}),
    "a row without reports": last_level({**GOOD, "zeros": packed([3, 0, 0]), "ones": packed([1, 0, 2])}, 6),
    "a count of 2^53": last_level(level_of([1], [2**53], [0]), 2**53),
    "a count of 2^63": last_level(level_of([1], [2**63], [0]), 2**63),
    "a count of 2^64 - 1": last_level(level_of([1], [2**64 - 1], [0]), 2**64 - 1),
    "counts that wrap to zero": last_level(level_of([1], [2**63], [2**63]), 0),
    "too few people": last_level(GOOD, 6),
    "too many people": last_level(GOOD, 8),
    "people as text": last_level(GOOD, "7"),
    "people as null": last_level(GOOD, None),
    "people as a list": last_level(GOOD, [7]),
    "a level is missing": changed({"people": 0, "levels": [level_of([], [], [])] * 2}),
    "a level too many": changed({"people": 0, "levels": [level_of([], [], [])] * 4}),
    "levels as an object": changed({"people": 0, "levels": {}}),
    "levels as null": changed({"people": 0, "levels": None}),
    "a level as a list": last_level([]),
    "a level as null": last_level(None),
    "a level as text": last_level("rows"),
    "a level lacks ones": last_level({name: GOOD[name] for name in ("rows", "zeros")}),
    "a level has more": last_level({**GOOD, "twos": GOOD["ones"]}),
    "a stratum has more": changed({"comment": "hello"}),
}


@every("name", HOSTILE)
def test_hostile_files_are_refused(name):
    with pytest.raises(BadFile):
        Tally.from_json(HOSTILE[name], study(3))


@pytest.mark.parametrize("level", [1, DENSE_LEVELS, DENSE_LEVELS + 1, 40, 63])
def test_rows_out_of_range_are_refused_at_every_level(level):
    made = study(64)
    assert Tally.from_json(with_level(made, level, [2**level - 1], [1], [0], 1), made).n == 1
    with pytest.raises(BadFile, match="ascend below"):
        Tally.from_json(with_level(made, level, [2**level], [1], [0], 1), made)


def test_budget_levels_must_have_everybody():
    made = study(3, "budget")
    text = filled(made, "budget", 9, 1).to_json()
    content = json.loads(text)
    assert Tally.from_json(text, made).n == 18
    content["counts"]["positive"]["levels"][1] = content["counts"]["positive"]["levels"][0]
    content["counts"]["positive"]["levels"][2] = level_of([1], [1], [0])
    with pytest.raises(BadFile, match="number of people"):
        Tally.from_json(canonical(content), made)


@pytest.mark.parametrize(("level", "each"), [(11, 2**53 - 1), (11, 2**53), (13, 2**51), (21, 2**43)])
def test_people_beyond_all_bounds_are_refused_and_do_not_wrap(level, each):
    """Each row's count is possible; their sum has 64 bits or more, and is not the sum modulo 2^64."""
    made = study(level)
    rows = 2**level
    steps = np.ones(rows, dtype="<u1")
    steps[0] = 0
    content = json.loads(Tally(made).to_json())
    content["counts"]["positive"]["levels"][level - 1] = {
        "rows": raw(b"\x01" + steps.tobytes()),
        "zeros": raw(b"\x08" + np.full(rows, each, dtype="<u8").tobytes()),
        "ones": raw(b"\x01" + bytes(rows)),
    }
    wrapped = (rows * each + 2**63) % 2**64 - 2**63
    for people in (rows * each, wrapped):
        content["counts"]["positive"]["people"] = people
        with pytest.raises(BadFile):
            Tally.from_json(canonical(content), made)


@pytest.mark.parametrize("level", [2, DENSE_LEVELS + 1])
def test_a_sum_of_tallies_that_no_file_can_hold_is_refused(level):
    """As for histograms: fewer than 2^53 reports, so that a written tally can always be read."""
    made = study(level)
    tally = Tally.from_json(with_level(made, level, [1], [2**52 + 1], [0], 2**52 + 1), made)
    with pytest.raises(DpairsError, match=r"2\^53"):
        tally + tally


def test_a_tally_is_not_a_histograms():
    other = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=8, seed=1)
    table: dict[str, list[int]] = {"symbols": [], "counts": []}
    made = study(3)
    content = {**json.loads(Tally(made).to_json()), "counts": dict.fromkeys(STRATA, table)}
    with pytest.raises(BadFile, match="people"):
        Tally.from_json(canonical(content), made)
    with pytest.raises(BadFile):
        Tally.from_json(Tally(made).to_json().replace(made.id, other.id), other)
