"""A round's reports as a report file, for tallies elsewhere: streamed, or in parts to be asked for again."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..engines.files import CELLS, FORMAT, SCHEMA, STUDY, SYMBOLS, VERSION, encodings
from ..errors import BadParameter
from ..protocols.sides import alone, of_symbols
from ..tally import NO_CELLS
from .database import Database
from .live_study import Column, Round, following

Place = tuple[int, int]
"""A stratum and an index: reports are in the order of these."""
Part = tuple[int, Column, Column]
"""A stratum, indices and symbols."""
BEGINNING: Place = (0, -1)
PART = 2**18
"""Reports in a part, and in a row group."""


class _Sink(io.RawIOBase):
    """Takes what is written, and gives it away piece by piece."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._parts.append(bytes(data))
        self._size += len(data)
        return len(data)

    def tell(self) -> int:
        return self._size

    def given(self) -> bytes:
        parts, self._parts = self._parts, []
        return b"".join(parts)


def part(database: Database, asked: Round, after: Place, size: int) -> Part | None:
    """The next stored reports after a place, read on a connection that is let go again."""
    with database.reading() as connection:
        return following(connection, asked, after, size)


def stream(database: Database, asked: Round, cells: bool) -> Iterator[bytes]:
    """A Parquet file of all that is stored, a row group at a time."""
    return _written(asked, cells, _parts(database, asked))


def one_part(database: Database, asked: Round, cells: bool, after: Place) -> tuple[bytes, Place | None]:
    """A file of the part after a place, and where it ends: nothing after the last one.

    The end is that of the very rows in the file: others may arrive meanwhile.
    """
    rows = part(database, asked, after, PART)
    body = b"".join(_written(asked, cells, [] if rows is None else [rows]))
    end = None if rows is None else _end(rows)
    return body, end if end is not None and part(database, asked, end, 1) is not None else None


def _end(rows: Part) -> Place:
    return rows[0], int(rows[1][-1])


def _parts(database: Database, asked: Round) -> Iterator[Part]:
    after = BEGINNING
    while (rows := part(database, asked, after, PART)) is not None:
        yield rows
        after = _end(rows)


def _written(asked: Round, cells: bool, parts: Iterable[Part]) -> Iterator[bytes]:
    study = asked.study
    check(asked, cells)
    by_cell = cells and study.protocol.uses_coins
    metadata = {STUDY: study.id.encode(), FORMAT: VERSION.encode()}
    metadata |= {SYMBOLS: CELLS} if by_cell else {}
    names, sink = pa.array(study.strata, pa.string()), _Sink()
    options: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True, **encodings(by_cell)}
    with contextlib.closing(pq.ParquetWriter(sink, SCHEMA.with_metadata(metadata), **options)) as writer:
        for stratum, indices, symbols in parts:
            if by_cell:
                symbols = alone(study).cells_of(study.coins, stratum, indices, symbols)
            columns = [
                pa.DictionaryArray.from_arrays(pa.array(np.full(len(indices), stratum, np.int8)), names),
                pa.array(indices),
                pa.array(symbols.astype(np.uint64).view(np.int64)),
            ]
            writer.write_table(pa.table(columns, schema=writer.schema), row_group_size=PART)
            yield sink.given()
    yield sink.given()


def check(asked: Round, cells: bool) -> None:
    """Refuse cells where a study has none, and reports where sites answer."""
    protocol = of_symbols(asked.study)
    if cells and protocol.cell_codes is None:
        raise BadParameter(NO_CELLS)
