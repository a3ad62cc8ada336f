"""Columns from CSV and Parquet files, in batches, through Arrow."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from ..data.domains import Domain, Integers
from ..data.tables import LABEL, is_positive
from ..errors import BadFile, BadParameter, BadValue
from ..formats.checks import did_you_mean
from ..statistics import Statistic
from .assignments import assignments

BATCH_BYTES = 2**24
SUFFIXES = (".csv", ".csv.gz", ".parquet", ".pq")
MOST_COLUMNS = 10_000
"""Columns of a CSV file; Arrow takes minutes for a million."""


class Asks(Protocol):
    """What says which columns a file must have: a study, or a plan for one."""

    @property
    def statistic(self) -> Statistic: ...

    @property
    def domains(self) -> tuple[Domain, ...]: ...


def column_names(study: Asks, renames: Sequence[str] | None, more: Sequence[str] = ()) -> dict[str, str]:
    """Which column of the file holds which column of the statistic, from ``name=column`` options."""
    wanted = (*study.statistic.columns, *more)
    given = assignments("--column", "COLUMN", renames)
    for name in given:
        if name not in wanted:
            raise BadParameter(f"--column is NAME=COLUMN with NAME one of {', '.join(wanted)}, not {name!r}")
    return {name: given.get(name, name) for name in wanted}


def batches(
    study: Asks, path: Path, names: dict[str, str], positive: str | None = None
) -> Iterator[dict[str, Any]]:
    """The file's rows, batch by batch, with the statistic's column names."""
    lower = path.name.lower()
    if not lower.endswith(SUFFIXES):
        raise BadFile(f"data {path} must be a file of the kinds {', '.join(SUFFIXES)}")
    if not path.is_file():
        why = "it is a folder" if path.is_dir() else "there is no such file"
        raise BadFile(f"data {path} cannot be read: {why}")
    reader = (
        _parquet(path, names)
        if lower.endswith((".parquet", ".pq"))
        else _csv(path, names, _types(study, names))
    )
    try:
        for batch in reader:
            table = {name: batch.column(column) for name, column in names.items()}
            if positive is not None and LABEL in table:
                table[LABEL] = is_positive(
                    np.array([str(each) for each in table[LABEL].to_pylist()]), positive
                )
            yield table
    except pa.ArrowInvalid as error:
        raise BadFile(f"data {path}: {_place(path, error) or _sentence(error)}") from None
    except pa.ArrowKeyError as error:
        raise BadFile(f"data {path}: {_sentence(error)}") from None
    except UnicodeDecodeError:
        raise BadFile(f"data {path} is not UTF-8 text: save it as UTF-8") from None
    except (pa.ArrowException, OSError) as error:
        raise BadFile(f"data {path} cannot be read: {_sentence(error)}") from None


def rows_of(path: Path) -> int | None:
    """How many rows a Parquet file says it has; None for other files, and for damaged ones."""
    if not path.name.lower().endswith((".parquet", ".pq")):
        return None
    try:
        return int(pyarrow.parquet.read_metadata(path).num_rows)
    except (pa.ArrowException, OSError):
        return None


def _csv(path: Path, names: dict[str, str], types: dict[str, pa.DataType]) -> Iterator[Any]:
    delimiter = _delimiter(path)
    with pa.input_stream(str(path), compression="detect") as file:
        reader = pyarrow.csv.open_csv(
            file,
            read_options=pyarrow.csv.ReadOptions(block_size=BATCH_BYTES),
            parse_options=pyarrow.csv.ParseOptions(delimiter=delimiter),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types=types, strings_can_be_null=False, null_values=[""]
            ),
        )
        _check(path, names, reader.schema.names)
        yield from reader


def _delimiter(path: Path) -> str:
    """What stands between the columns of a CSV file: a comma, a semicolon or a tab, by its first line."""
    with pa.input_stream(str(path), compression="detect") as file:
        start = file.read(2**16)
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadFile(f"data {path} is UTF-16 text: save it as UTF-8")
    if b"\0" in start:
        raise BadFile(f"data {path} is not a text file")
    head = start.partition(b"\n")[0].decode(errors="replace")
    delimiter = next((sign for sign in ",;\t" if sign in head), ",")
    if head.count(delimiter) >= MOST_COLUMNS:
        raise BadFile(f"data {path} has more than {MOST_COLUMNS:,} columns: keep those that the study needs")
    return delimiter


def _parquet(path: Path, names: dict[str, str]) -> Iterator[Any]:
    with pyarrow.parquet.ParquetFile(path) as file:
        _check(path, names, file.schema_arrow.names)
        yield from file.iter_batches(columns=sorted(set(names.values())))


def _check(path: Path, names: dict[str, str], present: Sequence[str]) -> None:
    for name, column in names.items():
        if column not in present:
            listed = ", ".join(map(repr, list(present)[:12]))
            near = did_you_mean(column, present) or f"; say which one it is: --column {name}=..."
            raise BadFile(f"data {path} has no column {column!r} for {name}; its columns are {listed}{near}")
        if present.count(column) > 1:
            raise BadFile(f"data {path} has {present.count(column)} columns {column!r}: rename all but one")


def _types(study: Asks, names: dict[str, str]) -> dict[str, pa.DataType]:
    """Types follow the domains, not the first rows; labels are left to Arrow."""
    pairs = zip(study.statistic.domain_columns, study.domains, strict=True)
    return {names[name]: _type(domain) for name, domain in pairs}


def _type(domain: Domain) -> pa.DataType:
    if not domain.numeric:
        return pa.string()
    if isinstance(domain, Integers) and max(abs(domain.low), abs(domain.high)) > 2**53:
        return pa.int64() if domain.high < 2**63 else pa.uint64()
    return pa.float64()


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """A CSV file's rows that are not blank, with their lines as a spreadsheet counts them; the head first."""
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8-sig", errors="replace", newline="") as text:
        rows = enumerate(csv.reader(text, delimiter=_delimiter(path)), 1)
        yield from ((line, row) for line, row in rows if row)


def _place(path: Path, error: Exception) -> str:
    """Where a CSV file has a word for a number, or too few columns; nothing where the error is another."""
    word = re.search(r"In CSV column #(\d+): .*invalid value '(.*)'", str(error), re.DOTALL)
    columns = re.search(r"Expected (\d+) columns?, got", str(error))
    try:
        if word is not None:
            place, value = int(word[1]), word[2]
            records = _records(path)
            _, head = next(records)
            line = next((line for line, row in records if len(row) > place and row[place] == value), None)
            where = "" if line is None else f" in line {line}"
            return f"column {head[place]!r} has {value!r}{where}, but needs a number"
        if columns is not None:
            wanted = int(columns[1])
            line, row = next((line, row) for line, row in _records(path) if len(row) != wanted)
            return f"line {line} has {len(row)} columns, and the first has {wanted}"
    except (csv.Error, OSError, StopIteration, IndexError):
        pass
    return ""


@contextmanager
def counted_in_lines(path: Path) -> Iterator[None]:
    """Tell errors by lines of a CSV file, as a spreadsheet counts them: the head is line 1."""
    try:
        yield
    except BadValue as error:
        words = str(error)
        if not path.name.lower().endswith((".csv", ".csv.gz")) or "(chunk" in words:
            raise
        words = re.sub(r"\bat row (\d+)", lambda row: f"in line {_line(path, int(row[1]))}", words)
        raise BadValue(re.sub(r": nan$", ": no number", words)) from None


def _line(path: Path, row: int) -> int:
    """The line of a CSV file's row of data, counted from 0."""
    try:
        return next(islice(_records(path), row + 1, None))[0]
    except (csv.Error, OSError, StopIteration):
        return row + 2


def _sentence(error: Exception) -> str:
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
