"""Reading a gateway's batch: lines of JSON, or an Arrow stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import BadFile, BadValue
from ..report import MAX_INDEX
from .arrow import read_stream

Column = NDArray[Any]
"""Signed, or unsigned where symbols have 64 bits."""
ARROW = "application/vnd.apache.arrow.stream"
LINES = "application/x-ndjson"
SLICE = 2**16
"""Bytes of lines that are parsed at once: parsing holds the interpreter, and others must get their turns."""
FIELDS = {"study", "stratum", "index", "symbol"}


def read_batch(kind: str, body: bytes, stratum: str) -> tuple[str, Column, Column]:
    """The study's id, the indices and the symbols."""
    if kind == ARROW:
        study, indices, symbols = read_stream(body)
        return study, _indices(indices), _symbols(symbols)
    if kind == LINES:
        return _lines(body, stratum)
    raise BadValue(f"a batch is {LINES} or {ARROW}, not {kind[:60]!r}")


def _indices(values: Column) -> Column:
    bad = (values < 0) | (values > MAX_INDEX)
    if bad.any():
        raise BadValue(f"row {int(np.flatnonzero(bad)[0])} has an index outside 0 to {MAX_INDEX}")
    return values.astype(np.int64)


def _symbols(values: Column) -> Column:
    return values if values.dtype == np.uint64 else values.astype(np.int64)


def _lines(body: bytes, stratum: str) -> tuple[str, Column, Column]:
    study, place = None, 0
    indices: list[Column] = []
    symbols: list[Column] = []
    for lines in _slices(body):
        try:
            rows = json.loads(b"[" + lines.strip().replace(b"\n", b",") + b"]")
        except (ValueError, RecursionError):
            raise BadFile("each line of a batch is a report's JSON") from None
        for row in rows:
            if type(row) is not dict or row.keys() != FIELDS:
                raise BadValue(f"row {place} must have study, stratum, index and symbol")
            if type(row["study"]) is not str:
                raise BadValue(f"row {place} must name its study")
            if study is not None and row["study"] != study:
                raise BadValue(f"row {place} belongs to another study than the rows before")
            study = row["study"]
            _check_row(row, place, stratum)
            place += 1
        indices.append(np.array([row["index"] for row in rows], dtype=np.int64))
        symbols.append(np.array([row["symbol"] for row in rows], dtype=np.uint64))
    if not indices:
        return "", np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
    whole: Column = np.concatenate(symbols)
    if not whole.size or whole.max() < 2**63:
        whole = whole.astype(np.int64)
    return study or "", np.concatenate(indices), whole


def _check_row(row: dict[str, Any], place: int, stratum: str) -> None:
    if row["stratum"] != stratum:
        given = repr(row["stratum"])[:100]
        raise BadValue(f"row {place} belongs to {given}; this gateway reports for {stratum!r}")
    if type(row["index"]) is not int or type(row["symbol"]) is not int:
        raise BadValue(f"row {place} must have whole numbers as index and symbol")
    if not (0 <= row["index"] <= MAX_INDEX and 0 <= row["symbol"] < 2**64):
        raise BadValue(f"row {place} has an index or symbol that no study has")


def _slices(body: bytes) -> Iterator[bytes]:
    """Whole lines of about a slice each; a line longer than that is no report."""
    start = 0
    while start < len(body):
        end = min(len(body), start + SLICE)
        if end < len(body):
            end = body.rfind(b"\n", start, end) + 1
            if end == 0:
                raise BadFile(f"a line of a batch has at most {SLICE} bytes")
        yield body[start:end]
        start = end
