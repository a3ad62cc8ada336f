"""A report and its bytes."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpairs import BadFile, BadParameter, BadValue, Interval, InvalidInput, Levels, Report, Study, WrongStudy
from tests.strategies import QUICK

from .every import every

STUDY = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=5, mechanism="krr", seed=1)
OTHER = Study.create("auc", epsilon=1.0, domain=Interval(0, 1), bins=5, mechanism="krr", seed=2)
WIDE = Study.create("variance", epsilon=1.0, domain=Interval(0, 1), bins=300, mechanism="krr", seed=1)
HEAD = 18


def wire_of(symbol=3, index=17, stratum="positive", study=STUDY):
    return bytes(Report(study, stratum, index, symbol))


# ---------------------------------------------------------------- there and back


@QUICK
@given(st.sampled_from(STUDY.strata), st.integers(0, 2**53 - 1), st.integers(0, 4))
def test_any_report_comes_back(stratum, index, symbol):
    report = Report(STUDY, stratum, index, symbol)
    assert Report.from_bytes(bytes(report), STUDY) == report
    assert Report.from_json(json.loads(json.dumps(report.to_json())), STUDY) == report


@QUICK
@given(st.binary(max_size=24))
def test_any_bytes_are_a_report_or_refused(tail):
    wire = (wire_of()[:9] + tail)[: HEAD + 1]
    try:
        report = Report.from_bytes(wire, STUDY)
    except InvalidInput:
        return
    assert bytes(report) == wire


def test_the_layout():
    wire = wire_of(symbol=3, index=258, stratum="negative")
    assert wire == b"\x01" + bytes.fromhex(STUDY.id)[:8] + b"\x01" + (258).to_bytes(8, "big") + b"\x03"


@pytest.mark.parametrize(("cells", "size"), [(2, 1), (256, 1), (257, 2), (300, 2)])
def test_a_symbol_takes_as_few_bytes_as_it_needs(cells, size):
    study = Study.create("variance", epsilon=1.0, domain=Levels(range(cells)), mechanism="krr", seed=1)
    wire = bytes(Report(study, "everybody", 0, cells - 1))
    assert len(wire) == HEAD + size
    assert wire[HEAD:] == (cells - 1).to_bytes(size, "big")


def test_whole_numbers_of_numpy_are_whole_numbers():
    index: Any = np.int64(17)
    symbol: Any = np.uint8(3)
    report = Report(STUDY, "positive", index, symbol)
    assert bytes(report) == wire_of()
    assert json.dumps(report.to_json()) == json.dumps(Report(STUDY, "positive", 17, 3).to_json())


def test_bytes_may_come_as_any_buffer():
    for kind in (bytearray, memoryview):
        wire: Any = kind(wire_of())
        assert Report.from_bytes(wire, STUDY) == Report(STUDY, "positive", 17, 3)


# ---------------------------------------------------------------- refused


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("stratum", "everybody"),
        ("stratum", 0),
        ("index", -1),
        ("index", 2**53),
        ("index", 1.0),
        ("index", "1"),
        ("index", True),
        ("symbol", -1),
        ("symbol", 5),
        ("symbol", 1.0),
        ("symbol", None),
    ],
)
def test_what_the_study_cannot_have_produced(field, value):
    with pytest.raises(BadParameter, match=f"{field} must be"):
        Report(STUDY, **{"stratum": "positive", "index": 1, "symbol": 1, field: value})
    content = {**Report(STUDY, "positive", 1, 1).to_json(), field: value}
    with pytest.raises(InvalidInput, match=field):
        Report.from_json(content, STUDY)


@every("length", [*range(HEAD + 1), HEAD + 2, HEAD + 9])
def test_cut_and_grown_wires(length):
    with pytest.raises(BadValue, match=f"19 bytes, not {length}"):
        Report.from_bytes((wire_of() + bytes(9))[:length], STUDY)


@pytest.mark.parametrize(
    ("place", "value", "error", "said"),
    [
        (0, 0, BadValue, "version 0"),
        (0, 2, BadValue, "version 2"),
        (9, 2, BadValue, "stratum 2"),
        (9, 255, BadValue, "stratum 255"),
        (10, 128, InvalidInput, "index"),
        (18, 5, InvalidInput, "symbol"),
        (18, 255, InvalidInput, "symbol"),
    ],
)
def test_wires_with_one_wrong_byte(place, value, error, said):
    wire = bytearray(wire_of())
    wire[place] = value
    with pytest.raises(error, match=said):
        Report.from_bytes(bytes(wire), STUDY)


def test_another_studys_wire():
    with pytest.raises(WrongStudy, match=OTHER.id[:16]):
        Report.from_bytes(wire_of(study=OTHER), STUDY)
    with pytest.raises(WrongStudy):
        Report.from_json(Report(OTHER, "positive", 1, 1).to_json(), STUDY)


@pytest.mark.parametrize("place", range(1, 9))
def test_each_byte_of_the_studys_name_counts(place):
    wire = bytearray(wire_of())
    wire[place] ^= 1
    with pytest.raises(WrongStudy):
        Report.from_bytes(bytes(wire), STUDY)


def test_json_with_a_field_missing_or_too_many():
    content = Report(STUDY, "positive", 1, 1).to_json()
    for name in content:
        with pytest.raises(BadFile, match=name):
            Report.from_json({key: content[key] for key in content if key != name}, STUDY)
    with pytest.raises(InvalidInput, match="value"):
        Report.from_json({**content, "value": 0.5}, STUDY)


def test_reports_do_not_change():
    with pytest.raises(AttributeError):
        Report(STUDY, "positive", 1, 1).symbol = 2  # type: ignore[misc]
    assert len({Report(STUDY, "positive", 1, 1), Report(STUDY, "positive", 1, 1)}) == 1


def test_a_report_carries_no_more_than_it_must():
    assert set(Report(WIDE, "everybody", 1, 299).to_json()) == {"study", "stratum", "index", "symbol"}
    assert len(bytes(Report(WIDE, "everybody", 1, 299))) == HEAD + 2
