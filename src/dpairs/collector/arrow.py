"""Reading a hostile Arrow stream: two columns of whole numbers, and nothing else of the format.

Arrow's own reader takes a stream at its word: a row count may promise more than a buffer holds, a dictionary
or a compressed buffer may stand for gigabytes. So Arrow only cuts the stream into messages and reads the
schema. Where the columns lie is read here from the head of each message, checked against the bytes that are
there, and numpy, which cannot read past their end, does the rest.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from ..engines.files import STUDY
from ..errors import BadFile, BadValue

NAMES = ("index", "symbol")
INDICES = (pa.int64(), pa.uint64())
MOST_PARTS = 4096
"""Record batches in one stream."""
MOST_HEAD = 2**16
"""Bytes of a message's head: the schema of two columns takes some hundred."""
V5 = 4
"""How a head numbers the version of the format in which compression is declared where it is looked for."""


def read_stream(body: bytes) -> tuple[str, NDArray[Any], NDArray[Any]]:
    """The study's id, the indices and the symbols."""
    try:
        return _read(body)
    except (pa.ArrowException, UnicodeDecodeError, OSError, ValueError, struct.error) as error:
        if isinstance(error, BadValue):
            raise
        reason = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise BadFile(f"the batch cannot be read as an Arrow stream: {reason}") from None


def _read(body: bytes) -> tuple[str, NDArray[Any], NDArray[Any]]:
    messages = pa.ipc.MessageReader.open_stream(pa.BufferReader(body))
    first = next(messages, None)
    if first is None or first.type != "schema":
        raise BadValue("the batch does not begin with a schema")
    if first.metadata.size > MOST_HEAD:
        raise BadValue(f"the schema of a batch has at most {MOST_HEAD} bytes")
    _check_order(_Head(first.metadata.to_pybytes()))
    schema = pa.ipc.read_schema(first)
    types = _types(schema)
    study = (schema.metadata or {}).get(STUDY, b"").decode()
    parts: tuple[list[NDArray[Any]], ...] = ([], [])
    for number, message in enumerate(messages):
        if number >= MOST_PARTS:
            raise BadValue(f"a batch has at most {MOST_PARTS} parts")
        for column, values in zip(parts, _columns(message, types), strict=True):
            column.append(values)
    index, symbol = (
        np.concatenate(column) if column else np.empty(0, dtype=kind)
        for column, kind in zip(parts, types, strict=True)
    )
    return study, index, symbol


def _check_order(head: _Head) -> None:
    # Schema: order of bytes, and what Arrow reads.
    header = head.field(head.offset(0), 2)
    order = head.field(head.offset(header), 0) if header else 0
    if order and head.read("<h", order):
        raise BadValue("the numbers of a batch begin with their lowest byte")


def _types(schema: Any) -> list[np.dtype[Any]]:
    if tuple(schema.names) != NAMES:
        raise BadValue(f"a batch has the columns {' and '.join(NAMES)}, in this order, and no others")
    for field in schema:
        if not pa.types.is_integer(field.type) or field.metadata:
            raise BadValue(f"column {field.name} of a batch must be plain whole numbers, not {field.type}")
    if schema[0].type not in INDICES:
        # Narrower ones would take many times the memory of the body, and name hardly anybody.
        raise BadValue(f"column {NAMES[0]} of a batch has 64 bits, and is not {schema[0].type}")
    return [np.dtype(field.type.to_pandas_dtype()) for field in schema]


def _columns(message: Any, types: list[np.dtype[Any]]) -> list[NDArray[Any]]:
    if message.type != "record batch":
        raise BadValue(f"a batch holds plain columns only, and no {message.type}")
    if message.metadata.size > MOST_HEAD:
        raise BadValue(f"the head of a part of a batch has at most {MOST_HEAD} bytes")
    head = _Head(message.metadata.to_pybytes())
    # Message: version, kind of header, header, length of body, custom metadata.
    root = head.offset(0)
    version, own = head.field(root, 0), head.field(root, 4)
    if not version or head.read("<h", version) != V5 or own:
        raise BadValue("a batch has version 5 of Arrow's format, and no metadata on its parts")
    # RecordBatch: length, nodes (length, nulls), buffers (offset, length), compression, variadic counts.
    header = head.field(root, 2)
    batch = head.offset(header) if header else 0
    if not header or head.field(batch, 3) or head.field(batch, 4):
        raise BadValue("a batch must not be compressed: a few bytes could stand for any number of reports")
    length = head.field(batch, 0)
    rows = head.read("<q", length) if length else 0
    nodes, buffers = head.pairs(head.field(batch, 1)), head.pairs(head.field(batch, 2))
    if rows < 0 or nodes != [(rows, 0)] * len(types) or len(buffers) != 2 * len(types):
        raise BadValue("every column of a batch has as many numbers as the batch has rows, and no gaps")
    body = message.body if message.body is not None else pa.py_buffer(b"")
    columns = []
    (first, least), (second, _) = sorted(buffers[1::2])
    if rows and second < first + least:
        raise BadValue("the columns of a batch must not share bytes")
    for kind, (offset, size) in zip(types, buffers[1::2], strict=True):
        if offset < 0 or size < rows * kind.itemsize or offset + size > body.size:
            raise BadValue(f"a batch claims {rows} rows and does not hold them")
        values = np.frombuffer(body, kind.newbyteorder("<"), rows, offset) if rows else np.empty(0, kind)
        columns.append(values)
    return columns


class _Head:
    """A flatbuffer: a table begins with the distance back to its list of fields, with where they lie."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read(self, form: str, place: int) -> int:
        if place < 0:  # which Python would count from the end
            raise struct.error("a head points before its beginning")
        return int(struct.unpack_from(form, self._data, place)[0])

    def offset(self, place: int) -> int:
        return place + self.read("<I", place)

    def field(self, table: int, number: int) -> int:
        """Where a field of a table lies; 0 where it is not there."""
        fields = table - self.read("<i", table)
        if 4 + 2 * number >= self.read("<H", fields):
            return 0
        place = self.read("<H", fields + 4 + 2 * number)
        return table + place if place else 0

    def pairs(self, field: int) -> list[tuple[int, int]]:
        """A vector of structures of two integers of 64 bits."""
        if not field:
            return []
        start = self.offset(field)
        count = self.read("<I", start)
        if count > len(self._data) // 16:
            raise struct.error("a head lists more than it holds")
        return [
            (self.read("<q", start + 4 + 16 * place), self.read("<q", start + 12 + 16 * place))
            for place in range(count)
        ]
