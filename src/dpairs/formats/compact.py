"""The compact form of a tally's counts: columns of little-endian integers, compressed together.

A column has the smallest width that holds its numbers, the width first; rows of a tree are stored as
differences, and only those that came up, so a deep tree costs no more than its reports.
"""

from __future__ import annotations

import base64
import binascii
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadFile

MAX_BYTES = 512 * 2**20
"""What a tally may unpack to."""
_LENGTH = struct.Struct("<Q")
_LEVEL = ("rows", "zeros", "ones")
_DENSE = ("symbols", "counts")


def packed(numbers: NDArray[np.uint64]) -> bytes:
    """Little-endian integers of the smallest width that holds them all, the width first.

    >>> packed(np.array([1, 256], dtype=np.uint64)).hex()
    '0201000001'
    """
    largest = int(numbers.max(initial=0))
    width = next(size for size in (1, 2, 4, 8) if largest < 2 ** (8 * size))
    return bytes([width]) + numbers.astype(f"<u{width}").tobytes()


def unpacked(raw: bytes) -> NDArray[np.uint64]:
    """The integers again; a ``ValueError`` for what is not such bytes."""
    if not raw or raw[0] not in (1, 2, 4, 8):
        raise ValueError("no width")
    return np.frombuffer(raw[1:], dtype=f"<u{raw[0]}").astype(np.uint64)


def compress(counts: Sequence[Mapping[str, Any]]) -> bytes:
    """The bytes of the strata's counts, given as plain values."""
    columns = [column for each in counts for column in _columns(each)]
    return zlib.compress(b"".join(_LENGTH.pack(len(column)) + column for column in columns), 6)


def _columns(counts: Mapping[str, Any]) -> list[bytes]:
    if "levels" not in counts:
        return [packed(np.array(counts[name], dtype=np.uint64)) for name in _DENSE]
    people = packed(np.array([counts["people"]], dtype=np.uint64))
    return [people, *(base64.b64decode(level[name]) for level in counts["levels"] for name in _LEVEL)]


def expand(body: bytes, like: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The strata's counts as plain values, of the same shape as the empty ones in ``like``."""
    columns = _split(_unzipped(body))
    strata = []
    try:
        for empty in like:
            if "levels" in empty:
                people = int(unpacked(next(columns))[0])
                levels = [
                    {name: base64.b64encode(next(columns)).decode() for name in _LEVEL}
                    for _ in empty["levels"]
                ]
                strata.append({"people": people, "levels": levels})
            else:
                strata.append({name: unpacked(next(columns)).tolist() for name in _DENSE})
    except (StopIteration, IndexError, ValueError, binascii.Error):
        raise BadFile("the tally's columns are not those of its study") from None
    if next(columns, None) is not None:
        raise BadFile("the tally continues after its end")
    return strata


def _unzipped(body: bytes) -> bytes:
    unzip = zlib.decompressobj()
    try:
        raw = unzip.decompress(body, MAX_BYTES)
    except zlib.error:
        raise BadFile("the tally is damaged: it cannot be unpacked") from None
    if unzip.unconsumed_tail:
        raise BadFile(f"the tally unpacks to more than {MAX_BYTES} bytes, which is not read")
    if not unzip.eof:
        raise BadFile("the tally is cut short")
    if unzip.unused_data:
        raise BadFile("the tally continues after its end")
    return raw


def _split(raw: bytes) -> Any:
    start = 0
    while start < len(raw):
        if start + _LENGTH.size > len(raw):
            raise BadFile("the tally is cut short")
        (length,) = _LENGTH.unpack_from(raw, start)
        start += _LENGTH.size
        if length > len(raw) - start:
            raise BadFile("the tally is cut short")
        yield raw[start : start + length]
        start += length
