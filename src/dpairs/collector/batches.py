"""Reading a gateway's batch: lines of JSON, or an Arrow stream."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..engines.files import STUDY
from ..errors import BadFile, BadValue
from ..report import MAX_INDEX

Column = NDArray[Any]
"""Signed, or unsigned where symbols have 64 bits."""
ARROW = "application/vnd.apache.arrow.stream"
LINES = "application/x-ndjson"
NAMES = ("index", "symbol")


def read_batch(kind: str, body: bytes, stratum: str) -> tuple[str, Column, Column]:
    """The study's id, the indices and the symbols."""
    if kind == ARROW:
        return _arrow(body)
    if kind == LINES:
        return _lines(body, stratum)
    raise BadValue(f"a batch is {LINES} or {ARROW}, not {kind[:60]!r}")


def _arrow(body: bytes) -> tuple[str, Column, Column]:
    try:
        if any(map(_compressed, pa.ipc.MessageReader.open_stream(body))):
            raise BadValue(
                "a batch must not be compressed: a few bytes could stand for any number of reports"
            )
        table = pa.ipc.open_stream(pa.BufferReader(body)).read_all()
        study = (table.schema.metadata or {}).get(STUDY, b"").decode()
        columns = [table.column(name) for name in NAMES]
    except BadValue:
        raise
    except (pa.ArrowException, UnicodeDecodeError, KeyError, OSError, ValueError, struct.error) as error:
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise BadFile(f"the batch cannot be read as an Arrow stream: {reason}") from None
    for name, column in zip(NAMES, columns, strict=True):
        if not pa.types.is_integer(column.type) or column.null_count:
            raise BadValue(f"column {name} of a batch must be whole numbers without gaps, not {column.type}")
    index, symbol = (_numbers(name, each.to_numpy()) for name, each in zip(NAMES, columns, strict=True))
    return study, index, symbol


def _compressed(message: Any) -> bool:
    """Whether the buffers of a record batch are compressed, read from its head before anything is unpacked.

    The head is a flatbuffer: a table begins with the distance back to its list of fields, which says where
    each field lies, or 0 where there is none. A message's third field is a record batch, whose fourth field
    is its compression.
    """
    if message.type != "record batch":
        return False
    head = message.metadata.to_pybytes()

    def field(table: int, number: int) -> int:
        fields = table - struct.unpack_from("<i", head, table)[0]
        if 4 + 2 * number >= struct.unpack_from("<H", head, fields)[0]:
            return 0
        place = struct.unpack_from("<H", head, fields + 4 + 2 * number)[0]
        return table + int(place) if place else 0

    header = field(struct.unpack_from("<I", head, 0)[0], 2)
    batch = header + struct.unpack_from("<I", head, header)[0]
    return field(batch, 3) != 0


def _numbers(name: str, values: Any) -> Any:
    """As integers of 64 bits: indices signed, symbols as they are."""
    if name == "index":
        bad = (values < 0) | (values > MAX_INDEX)
        if bad.any():
            raise BadValue(f"row {int(np.flatnonzero(bad)[0])} has an index outside 0 to {MAX_INDEX}")
        return values.astype(np.int64)
    return values if values.dtype == np.uint64 else values.astype(np.int64)


def _lines(body: bytes, stratum: str) -> tuple[str, Column, Column]:
    try:
        rows = json.loads(b"[" + body.strip().replace(b"\n", b",") + b"]")
    except (ValueError, RecursionError):
        raise BadFile("each line of a batch is a report's JSON") from None
    names = {"study", "stratum", "index", "symbol"}
    study = ""
    for place, row in enumerate(rows):
        if type(row) is not dict or row.keys() != names:
            raise BadValue(f"row {place} must have study, stratum, index and symbol")
        if place and row["study"] != study:
            raise BadValue(f"row {place} is of another study than the rows before")
        study = row["study"]
        if row["stratum"] != stratum:
            raise BadValue(f"row {place} is of {row['stratum']!r}; this gateway reports for {stratum!r}")
        if type(row["index"]) is not int or type(row["symbol"]) is not int:
            raise BadValue(f"row {place} must have whole numbers as index and symbol")
        if not (0 <= row["index"] <= MAX_INDEX and 0 <= row["symbol"] < 2**64):
            raise BadValue(f"row {place} has an index or symbol that no study has")
    if type(study) is not str:
        raise BadValue("row 0 must name its study")
    symbols: Column = np.array([row["symbol"] for row in rows], dtype=np.uint64)
    if not symbols.size or symbols.max() < 2**63:
        symbols = symbols.astype(np.int64)
    return study, np.array([row["index"] for row in rows], dtype=np.int64), symbols
