"""Canonical JSON: one text for one meaning, so that a hash names a study in every language.

The form is that of RFC 8785: keys sorted, no spaces, numbers as ECMAScript prints them. A browser
gets the same text from ``JSON.stringify`` with sorted keys. Integers beyond 2^53, which JavaScript
cannot hold, are written as decimal strings by `big_integer` and read back by `read_integer`.

The package rfc8785 writes the same bytes, which the tests check. It is not used here because the core of a
participant's device is numpy and scipy, and because it refuses 2^53 itself, which studies may hold.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from json.encoder import encode_basestring
from typing import Any

from ..errors import BadFile

SAFE_INTEGER = 2**53
_DECIMAL = re.compile("-?[0-9]{1,20}")
MAX_TEXT = 16 * 2**20
"""Longest text that is parsed (16 MiB): checked before parsing."""


def number_text(value: float) -> str:
    """The shortest decimal text of a double, as ECMAScript's ``Number::toString`` gives it.

    >>> [number_text(x) for x in (1.0, 0.1, 1e-7, 1e21, -2.5e-10, 123456789012345680000.0)]
    ['1', '0.1', '1e-7', '1e+21', '-2.5e-10', '123456789012345680000']
    """
    if not math.isfinite(value):
        raise ValueError("NaN and infinity have no JSON form")
    if value == 0:
        return "0"
    shortest = repr(float(value))
    if "e" not in shortest:  # from 0.0001 to 10^16 both write the same digits
        return shortest.removesuffix(".0")
    sign = "-" if value < 0 else ""
    mantissa, _, exponent = shortest.lstrip("-").partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = (whole + fraction).lstrip("0")
    point = int(exponent or 0) + len(whole) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    count = len(digits)
    if count <= point <= 21:
        text = digits + "0" * (point - count)
    elif 0 < point <= 21:
        text = f"{digits[:point]}.{digits[point:]}"
    elif -6 < point <= 0:
        text = "0." + "0" * -point + digits
    else:
        tail = f".{digits[1:]}" if count > 1 else ""
        text = f"{digits[0]}{tail}e{'+' if point > 0 else '-'}{abs(point - 1)}"
    return sign + text


def canonical(value: Any) -> str:
    """The canonical text of a tree of dicts, lists, strings, numbers, booleans and None."""
    if isinstance(value, str):
        return encode_basestring(value)
    if isinstance(value, int) and value is not True and value is not False:
        return int.__repr__(value)
    if isinstance(value, dict):
        pairs = sorted(value.items(), key=lambda item: item[0].encode("utf-16-be"))
        return "{" + ",".join(f"{canonical(key)}:{canonical(item)}" for key, item in pairs) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float):
        return number_text(value)
    return json.dumps(value, ensure_ascii=False)


def digest(value: Any) -> str:
    """SHA-256 of the canonical text, in hexadecimal."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def parse(text: str | bytes, what: str, limit: int = MAX_TEXT) -> dict[str, Any]:
    """Read one JSON object strictly: bounded size, no duplicate keys, no NaN."""
    if len(text) > limit:
        raise BadFile(f"{what} is {len(text)} bytes long; at most {limit} are read")
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse, parse_float=_float)
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{what} is not valid JSON, or only a part of it: {error}") from None
    if not isinstance(value, dict):
        raise BadFile(f"{what} must hold a JSON object, not {type(value).__name__}")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) != len(pairs):
        raise ValueError("a key appears twice in one object")
    return table


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")


def _float(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refuse(text[:40])


def agreed(value: float) -> float:
    """The number to nine digits: on those, processors that sum in different orders agree.

    >>> agreed(0.1 + 0.2)
    0.3
    """
    return float(f"{value:.9g}")


def big_integer(value: int) -> int | str:
    """An integer as JSON can carry it everywhere: a number up to 2^53, then a decimal string."""
    return value if abs(value) <= SAFE_INTEGER else str(value)


def read_integer(value: Any) -> Any:
    """Undo `big_integer`; anything else is left for the caller's check to refuse."""
    if isinstance(value, str) and _DECIMAL.fullmatch(value) and abs(int(value)) > SAFE_INTEGER:
        return int(value)
    return value
