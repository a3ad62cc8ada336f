"""Canonical JSON: RFC 8785's own tables, a JavaScript engine, and the texts that are refused."""

from __future__ import annotations

import json
import math
import shutil
import struct
import subprocess

import numpy as np
import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from dpairs.errors import BadFile
from dpairs.formats.canonical import (
    MAX_TEXT,
    big_integer,
    canonical,
    digest,
    number_text,
    parse,
    read_integer,
)
from tests.strategies import QUICK

from ..every import every

# RFC 8785, appendix B: the bits of a double and its text.
RFC_8785 = {
    "0000000000000000": "0",
    "8000000000000000": "0",
    "0000000000000001": "5e-324",
    "8000000000000001": "-5e-324",
    "7fefffffffffffff": "1.7976931348623157e+308",
    "ffefffffffffffff": "-1.7976931348623157e+308",
    "4340000000000000": "9007199254740992",
    "c340000000000000": "-9007199254740992",
    "4430000000000000": "295147905179352830000",
    "44b52d02c7e14af5": "9.999999999999997e+22",
    "44b52d02c7e14af6": "1e+23",
    "44b52d02c7e14af7": "1.0000000000000001e+23",
    "444b1ae4d6e2ef4e": "999999999999999700000",
    "444b1ae4d6e2ef4f": "999999999999999900000",
    "444b1ae4d6e2ef50": "1e+21",
    "3eb0c6f7a0b5ed8c": "9.999999999999997e-7",
    "3eb0c6f7a0b5ed8d": "0.000001",
    "41b3de4355555553": "333333333.3333332",
    "41b3de4355555554": "333333333.33333325",
    "41b3de4355555555": "333333333.3333333",
    "41b3de4355555556": "333333333.3333334",
    "41b3de4355555557": "333333333.33333343",
    "becbf647612f3696": "-0.0000033333333333333333",
    "43143ff3c1cb0959": "1424953923781206.2",
}

ECMASCRIPT = {
    0.0: "0",
    1.0: "1",
    -1.0: "-1",
    4.50: "4.5",
    2e-3: "0.002",
    0.1: "0.1",
    1e-6: "0.000001",
    1e-7: "1e-7",
    1.5e-7: "1.5e-7",
    1e20: "100000000000000000000",
    1e21: "1e+21",
    1.2e21: "1.2e+21",
    1e30: "1e+30",
    1e-27: "1e-27",
    123456.789: "123456.789",
    333333333.33333329: "333333333.3333333",
    295147905179352830000.0: "295147905179352830000",
    9007199254740992.0: "9007199254740992",
    5e-324: "5e-324",
    2.2250738585072014e-308: "2.2250738585072014e-308",
    1.7976931348623157e308: "1.7976931348623157e+308",
}


@every(("bits", "text"), RFC_8785.items())
def test_numbers_of_the_rfc(bits, text):
    (value,) = struct.unpack(">d", bytes.fromhex(bits))
    assert number_text(value) == text


@every(("value", "text"), ECMASCRIPT.items())
def test_numbers_as_ecmascript_prints_them(value, text):
    assert number_text(value) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
@QUICK
def test_a_number_is_read_back_unchanged(value):
    assert float(number_text(value)) == value


WHOLE = st.integers(-(2**53) + 1, 2**53 - 1)
LEAVES = st.none() | st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | st.text()
TREES = st.recursive(LEAVES, lambda part: st.lists(part) | st.dictionaries(st.text(), part), max_leaves=20)


@given(TREES)
@QUICK
def test_the_bytes_are_those_of_another_program_for_the_same_rfc(value):
    assert canonical(value).encode() == rfc8785.dumps(value)


def test_random_doubles_as_node_prints_them():
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not on PATH, so there is no JavaScript engine to compare with")
    # Random bits, so that every exponent occurs.
    values = np.random.default_rng(8785).integers(0, 2**64, 2000, dtype=np.uint64).view(np.float64)
    values = values[np.isfinite(values)]
    script = (
        "const b = require('fs').readFileSync(0); const out = [];"
        "for (let i = 0; i < b.length; i += 8) out.push(String(b.readDoubleLE(i)));"
        "process.stdout.write(out.join('\\n'))"
    )
    run = subprocess.run(
        [node, "-e", script], input=values.astype("<f8").tobytes(), capture_output=True, check=True
    )
    assert [number_text(value) for value in values.tolist()] == run.stdout.decode().split("\n")


def test_a_numpy_number_has_the_text_of_a_python_number():
    assert canonical({"a": np.float64(1.5)}) == '{"a":1.5}'


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_without_a_json_form_are_refused(value):
    with pytest.raises(ValueError, match="NaN and infinity"):
        canonical([value])


def test_the_example_of_the_rfc():
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"/",
        "literals": [None, True, False],
    }
    assert canonical(value) == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_keys_are_ordered_by_their_utf_16_units():
    # RFC 8785, 3.2.3: U+1F600 begins with the surrogate D83D, so it comes before U+FB33.
    keys = ["\u20ac", "\r", "\ufb33", "1", "\U0001f600", "\u0080", "\u00f6"]
    ordered = ["\r", "1", "\u0080", "\u00f6", "\u20ac", "\U0001f600", "\ufb33"]
    assert list(json.loads(canonical(dict.fromkeys(keys, 0)))) == ordered
    assert ordered != sorted(keys)


def test_order_and_number_style_do_not_change_the_digest():
    assert digest({"b": 1.0, "a": [1e3]}) == digest({"a": [1000], "b": 1})
    assert digest({"a": 1}) != digest({"a": 2})


# Above 2^53 a double's text has no point and is read back as an integer near it, so it stops there.
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(-(2.0**53), 2.0**53)
    | st.text(max_size=5)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.text(max_size=5), TREES, max_size=3))
@QUICK
def test_what_is_written_is_read_back(value):
    text = canonical(value)
    assert parse(text, "text") == value
    assert canonical(parse(text.encode(), "text")) == text


REFUSED: dict[str, tuple[str | bytes, str]] = {
    "a key twice": ('{"a": 1, "a": 2}', "twice"),
    "a key twice, inside": ('{"b": [{"a": 1, "a": 1}]}', "twice"),
    "NaN": ('{"a": NaN}', "NaN is not a JSON number"),
    "Infinity": ('{"a": Infinity}', "Infinity is not a JSON number"),
    "-Infinity": ('{"a": -Infinity}', "-Infinity is not a JSON number"),
    "a number beyond doubles": ('{"a": 1e999}', "tally"),
    "truncated": ('{"a": [1, 2', "only a part"),
    "empty": ("", "only a part"),
    "more after the end": ('{"a": 1} {"b": 2}', "not valid JSON"),
    "a list": ("[1, 2]", "must hold a JSON object, not list"),
    "a number": ("5", "must hold a JSON object, not int"),
    "not UTF-8": (b'{"a": "\xff"}', "not valid JSON"),
    "deep": ("[" * 200_000, "not valid JSON"),
    "long integer": ('{"a": ' + "9" * 5000 + "}", "not valid JSON"),
    "single quotes": ("{'a': 1}", "not valid JSON"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_json_is_refused(name):
    text, message = REFUSED[name]
    with pytest.raises(BadFile, match=message) as caught:
        parse(text, "the tally")
    assert str(caught.value).startswith("the tally")


def test_too_much_is_refused_before_it_is_read():
    with pytest.raises(BadFile, match=f"the tally is {MAX_TEXT + 1} bytes long; at most {MAX_TEXT}"):
        parse(b" " * (MAX_TEXT + 1), "the tally")


@given(st.integers(-(2**64), 2**64))
@QUICK
def test_integers_of_any_size_survive(value):
    assert read_integer(json.loads(canonical(big_integer(value)))) == value


@pytest.mark.parametrize("value", [2**53, -(2**53)])
def test_safe_integers_are_numbers(value):
    assert big_integer(value) == value
    assert big_integer(value + int(math.copysign(1, value))) == str(value + int(math.copysign(1, value)))


@pytest.mark.parametrize(
    "text",
    [
        "5",
        "-",
        "",
        "--9007199254740993",
        "9007199254740993x",
        "²" * 17,
        "9" * 25,
        "+9007199254740993",
        "1e17",
    ],
)
def test_other_texts_are_not_integers(text):
    assert read_integer(text) == text
