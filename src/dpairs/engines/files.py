"""Report files: Parquet with a stratum, an index and a symbol in each row, of one study in each file."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ..errors import BadFile, BadParameter
from ..protocols.sides import alone
from ..study import Study
from ..tally import NO_CELLS
from . import places
from .places import first_sentence

VERSION = "1"
STUDY, FORMAT = b"dpairs-study", b"dpairs-reports"
"""Keys of a file's metadata: the study's id, and the version of the format."""
SYMBOLS, REPORTS, CELLS = b"dpairs-symbols", b"reports", b"cells"
"""What the column ``symbol`` holds: what people sent (also when nothing is said), or what that counts in."""
ROW_GROUP = 2**20
MAX_FOOTER = 2**26
"""Bytes in which a file may describe its columns: a few thousand of them, or thousands of row groups."""
SMALL, WIDEST = 2**16, 256
"""Bytes of a column that are always read, and bytes for each row."""
MAGIC = b"PAR1"
COLUMNS = ("stratum", "index", "symbol")
SCHEMA = pa.schema(
    [
        pa.field(name, kind, nullable=False)
        for name, kind in zip(
            COLUMNS, (pa.dictionary(pa.int8(), pa.string()), pa.int64(), pa.int64()), strict=True
        )
    ]
)
"""Symbols of 2^63 and more are stored as their value minus 2^64, as the bits of an int64 are.

No column has missing values: readers then need not look for them.
"""
WANTED = "a report file has the columns stratum (text), index (int64) and symbol (int64)"


class ReportWriter:
    """Writes the reports of one study into one file, in row groups; the file appears when it is closed.

    With ``cells`` the file holds each report's cell instead of its symbol: the same where there are no
    coins, and for a tree the code of level, row and bit. Counting such files needs no coins.
    """

    def __init__(self, path: str | os.PathLike[str], study: Study, *, cells: bool = False) -> None:
        if cells and study.protocol.cell_codes is None:
            raise BadParameter(NO_CELLS)
        self._name = os.fspath(path)
        self._cells = cells and study.protocol.uses_coins
        metadata = {STUDY: study.id.encode(), FORMAT: VERSION.encode()}
        metadata |= {SYMBOLS: CELLS} if self._cells else {}
        self._strata = pa.array(study.strata, pa.string())
        self._study = study
        self._staged = places.staged(path)
        with self._named():
            self._writer = pq.ParquetWriter(
                self._staged.__enter__(),
                SCHEMA.with_metadata(metadata),
                compression="zstd",
                write_page_checksum=True,
                **encodings(self._cells),
            )

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or first_sentence(error)
            raise BadFile(f"reports {self._name} cannot be written: {why}") from None

    def write(self, stratum: str, indices: NDArray[np.int64], symbols: NDArray[Any]) -> None:
        """Add reports of one stratum: one row group for each 2^20, and one for the rest."""
        if self._cells:
            place = self._study.strata.index(stratum)
            symbols = alone(self._study).cells_of(self._study.coins, place, indices, symbols)
        self.write_column(stratum, indices, symbols)

    def write_column(self, stratum: str, indices: NDArray[np.int64], symbols: NDArray[Any]) -> None:
        """Add reports with a ready column ``symbol``: symbols, or cells in a file of cells."""
        place = self._study.strata.index(stratum)
        codes = pa.array(np.full(len(indices), place, dtype=np.int8))
        columns = [
            pa.DictionaryArray.from_arrays(codes, self._strata),
            pa.array(indices),
            pa.array(symbols.astype(np.uint64).view(np.int64)),
        ]
        self._writer.write_table(pa.table(columns, schema=self._writer.schema), row_group_size=ROW_GROUP)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._named():
            self._writer.close()
            self._staged.__exit__(kind, error, trace)


def has_cells(study: Study) -> bool:
    """Whether files of cells are counted faster than files of symbols, and can be written."""
    return study.protocol.cell_codes is not None and study.protocol.uses_coins


def encodings(cells: bool) -> dict[str, Any]:
    """How the columns are stored: indices ascend by small steps, and a step costs less than an index.

    Symbols are few; cells are many, of few bits.
    """
    if not cells:
        return {
            "use_dictionary": ["stratum", "symbol"],
            "column_encoding": {"index": "DELTA_BINARY_PACKED"},
        }
    packed = dict.fromkeys(("index", "symbol"), "DELTA_BINARY_PACKED")
    return {"use_dictionary": ["stratum"], "column_encoding": packed}


@dataclass(frozen=True)
class Opened:
    """What was found of the files: those to be counted, and why the others are not."""

    paths: tuple[str, ...]
    rows: int
    elsewhere: int = 0
    """Rows in files of another study."""
    refused: tuple[str, ...] = field(default=())
    """A sentence for each file that cannot be used."""
    cells: frozenset[str] = frozenset()
    """Those of the files that hold cells in place of symbols."""


Files: TypeAlias = "Opened | str | os.PathLike[str] | Sequence[str | os.PathLike[str]]"


def patterns(names: Any) -> list[str]:
    """Names of files or patterns, whether one is given or several."""
    several = [names] if isinstance(names, (str, os.PathLike)) else names
    if not isinstance(several, Sequence) or not all(isinstance(name, (str, os.PathLike)) for name in several):
        raise BadParameter(
            "reports are files, given by their names, or a table that Arrow can read, "
            f"not {type(names).__name__}"
        )
    return [os.fspath(name) for name in several]


def find(patterns: Iterable[str]) -> list[str]:
    """The files that match, each once, in order."""
    paths: dict[str, None] = {}
    for pattern in patterns:
        paths.update(dict.fromkeys(places.find(pattern)))
    return list(paths)


def open_files(patterns: Sequence[str], study: Study, keep_going: bool = False) -> Opened:
    """Look at the ends of the files, which say what they hold; the first that is not one is an error.

    With ``keep_going`` such files are left out instead.
    """
    paths: list[str] = []
    cells: list[str] = []
    refused: list[str] = []
    rows = elsewhere = 0
    for path in find(patterns):
        try:
            of, count, form = look(path)
            if of == study.id and form == CELLS and study.protocol.cell_codes is None:
                raise BadFile(f"reports {path} hold cells, but {NO_CELLS}")
        except BadFile as error:
            if not keep_going:
                raise
            refused.append(str(error))
            continue
        if of != study.id:
            elsewhere += count
        elif count:
            paths.append(path)
            cells += [path] if form == CELLS else []
            rows += count
    return Opened(tuple(paths), rows, elsewhere, tuple(refused), frozenset(cells))


def look(path: str) -> tuple[str, int, bytes]:
    """The study, the number of rows and the form of a report file, or why it is not one."""
    try:
        with places.opened(path) as file:
            check_ends(path, file)
        with places.parquet(path) as parquet:
            schema, rows = parquet.schema_arrow, parquet.metadata.num_rows
            _check(path, schema)
            _check_sizes(path, parquet.metadata)
    except BadFile:
        raise
    except (pa.ArrowException, OSError) as error:
        raise BadFile(f"reports {path} cannot be read: {first_sentence(error)}") from None
    return schema.metadata[STUDY].decode(errors="replace"), rows, schema.metadata.get(SYMBOLS, REPORTS)


def check_ends(path: str, file: Any) -> None:
    """Whether a file begins and ends as Parquet does, and says at its end no more than is read."""
    size = file.size()
    if size == 0:
        raise BadFile(f"reports {path} are an empty file")
    if file.read(len(MAGIC)) != MAGIC:
        raise BadFile(f"reports {path} are not a Parquet file")
    file.seek(max(0, size - 8))
    tail = file.read(8)
    if tail[4:] != MAGIC or size < 12:
        raise BadFile(f"reports {path} are cut short: the end of the Parquet file is missing")
    if int.from_bytes(tail[:4], "little") > MAX_FOOTER:
        raise BadFile(
            f"reports {path} describe too many columns: {MAX_FOOTER // 2**20} MB of descriptions are read"
        )


def _check_sizes(path: str, metadata: Any) -> None:
    """Refuse a small file that says it becomes a large one: numbers and names of strata are short.

    And a file that says in one place that it has more rows than in another: readers believe either.
    """
    names = [metadata.schema.column(place).path for place in range(metadata.num_columns)]
    places_of = [names.index(name) for name in COLUMNS]
    total = 0
    for group in map(metadata.row_group, range(metadata.num_row_groups)):
        total += group.num_rows
        for column in map(group.column, places_of):
            size, rows = column.total_uncompressed_size, group.num_rows
            if not 0 <= rows == column.num_values:
                raise BadFile(damage(path, f"{column.num_values:,} values cannot be of {rows:,} rows"))
            if size > SMALL + WIDEST * rows:
                raise BadFile(
                    f"reports {path} take {size:,} bytes of memory for {rows:,} rows of "
                    f"{column.path_in_schema!r}: at most {WIDEST} bytes a row are read"
                )
    check_number(path, total, metadata)


def check_number(path: str, rows: int, metadata: Any) -> None:
    """Refuse a file that has not as many rows as it says."""
    if rows != metadata.num_rows:
        raise BadFile(damage(path, f"it has {rows:,} rows, and says that it has {metadata.num_rows:,}"))


def _check(path: str, schema: Any) -> None:
    # SQL takes capital letters for small ones: two columns that differ in them are one name twice.
    times = Counter(name.lower() for name in schema.names)
    names = {name: schema.field(name).type for name in schema.names if times[name.lower()] == 1}
    text = names.get("stratum")
    if isinstance(text, pa.DictionaryType):
        text = text.value_type
    good = text is not None and (pa.types.is_string(text) or pa.types.is_large_string(text))
    if not good or names.get("index") != pa.int64() or names.get("symbol") != pa.int64():
        listed = ", ".join(f"{name} ({kind})" for name, kind in list(names.items())[:8]) or "none"
        raise BadFile(f"reports {path} have the columns {listed}; {WANTED}")
    metadata = schema.metadata or {}
    if STUDY not in metadata:
        raise BadFile(f"reports {path} do not name their study: the metadata lack {STUDY.decode()!r}")
    if metadata.get(FORMAT) != VERSION.encode():
        raise BadFile(f"reports {path} are not of version {VERSION}, which is all that this program reads")
    if metadata.get(SYMBOLS, REPORTS) not in (REPORTS, CELLS):
        raise BadFile(
            f"reports {path} hold neither reports nor cells: see {SYMBOLS.decode()!r} in the metadata"
        )


def damage(path: str, why: str) -> str:
    """The sentence about a file whose pages cannot be read."""
    return f"reports {path} are damaged: {why}"


def not_visible(path: str, host: str) -> str:
    """The sentence about a file that is here, and not on another machine."""
    return (
        f"reports {path} are not visible on worker {host}: "
        "all machines must see the files under the same names"
    )
