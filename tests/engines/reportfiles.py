"""Report files for tests: good ones, ones with every kind of bad row, and files that are none."""

import os
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import dpairs
from dpairs.engines.files import CELLS, FORMAT, ROW_GROUP, STUDY, SYMBOLS
from dpairs.protocols.sides import alone, of_symbols

WHOLE = bool(os.environ.get("DPAIRS_VALIDATE"))
PEOPLE = 10**7 if WHOLE else 3 * 10**4
TREE = dpairs.Study.create(
    "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=2**16, seed=1
)
OTHER = dpairs.Study.create(
    "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=2**16, seed=2
)


def write(path: Path, study: dpairs.Study, strata, indices, symbols, cells=False) -> None:
    """A file as another producer would write it."""
    names = {STUDY: study.id.encode(), FORMAT: b"1"} | ({SYMBOLS: CELLS} if cells else {})
    columns = [pa.array(strata, pa.string()), pa.array(indices, pa.int64()), pa.array(symbols, pa.int64())]
    table = pa.table(columns, names=["stratum", "index", "symbol"]).replace_schema_metadata(names)
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=ROW_GROUP, write_page_checksum=True)


def cells_of(study: dpairs.Study, place, index, symbol) -> np.ndarray:
    """The cell of each row; a symbol that is none has a code that is none."""
    place, index, symbol = (np.asarray(each) for each in (place, index, symbol))
    cells = np.where(symbol > 0, 2**62, -1 - symbol.astype(np.int64))
    good = (index >= 0) & (index < 2**53) & (symbol >= 0) & (symbol < of_symbols(study).symbols)
    for number in range(len(study.strata)):
        mine = good & (place == number)
        cells[mine] = alone(study).cells_of(study.coins, number, index[mine], symbol[mine])
    return cells


def messy(folder: Path, people: int, cells: bool = False) -> tuple[dpairs.Tally, Counter[str]]:
    """Files with 1% of repeated rows and 0.1% of each kind of bad row; what must come of them."""
    rng = np.random.default_rng(8)
    some = people // 1000
    place = rng.integers(0, 2, people)
    index, symbol = np.arange(people), rng.integers(0, 2, people)
    repeated = rng.choice(people, 10 * some, replace=False)
    # Of those who contradict themselves some do so twice, and some repeat themselves as well.
    liars = rng.choice(people, some, replace=False)
    stranger, far, wild = (rng.choice(people, some, replace=False) for _ in range(3))
    none = rng.choice(people, 7, replace=False)
    parts = [
        (place, index, symbol),
        (place[repeated], index[repeated], symbol[repeated]),
        (place[liars], index[liars], 1 - symbol[liars]),
        (np.full(some, 2), index[stranger], symbol[stranger]),
        (place[far], np.where(far % 2, -1 - index[far], 2**53 + index[far]), symbol[far]),
        (place[wild], index[wild], np.where(wild % 2, 2 + symbol[wild], -1 - symbol[wild])),
        (np.full(7, 3), index[none], symbol[none]),
    ]
    columns = [np.concatenate(each) for each in zip(*parts, strict=True)]
    order = rng.permutation(columns[0].size)
    strata = np.array([*TREE.strata, "other", None], dtype=object)[columns[0][order]]
    cut = order.size // 3
    for number, part in enumerate((slice(0, cut), slice(cut, None))):
        rows = [each[order][part] for each in columns]
        said = cells_of(TREE, *rows) if cells else rows[2]
        write(folder / f"day={number}" / "part.parquet", TREE, strata[part], rows[1], said, cells)
    write(folder / "strange.parquet", OTHER, [TREE.strata[0]] * some, index[:some], symbol[:some])
    good = np.ones(people, dtype=bool)
    good[liars] = False
    tally = dpairs.Tally(TREE)
    for number, stratum in enumerate(TREE.strata):
        who = np.flatnonzero(good & (place == number))
        tally.add_reports(stratum, index[who], symbol[who])
    reasons = {
        "counted": people - some,
        "repeated": 11 * some,
        "contradictory": some,
        "of an unknown stratum": some + 7,
        "index out of range": some,
        "symbol out of range": some,
        "of another study": some,
    }
    return tally, Counter(reasons)


KINDS = (
    "empty",
    "cut short",
    "not a Parquet",
    "cannot be read",
    "are damaged",
    "have the columns",
    "do not name their study",
    "version",
    "neither reports nor cells",
)
"""Words that the sentence about a bad file must have."""


def spoil(path: Path, kind: str, cells: bool = False) -> None:
    """Make a bad file."""
    good = path.with_suffix(".good")
    rng = np.random.default_rng(2)
    index, symbol = np.arange(5000) * 3 + 10**6, rng.integers(0, 2, 5000)
    said = cells_of(TREE, np.zeros(5000), index, symbol) if cells else symbol
    write(good, TREE, [TREE.strata[0]] * 5000, index, said, cells)
    raw = good.read_bytes()
    good.unlink()
    table = pa.table({"stratum": ["positive"], "index": pa.array([1]), "symbol": pa.array([1])})
    names = {"dpairs-study": TREE.id, "dpairs-reports": "1"} | ({"dpairs-symbols": "cells"} if cells else {})
    if kind == "empty":
        path.write_bytes(b"")
    elif kind == "cut short":
        path.write_bytes(raw[: len(raw) // 2])
    elif kind == "not a Parquet":
        path.write_text("stratum,index,symbol\n")
    elif kind == "cannot be read":
        footer = len(raw) - 8 - int.from_bytes(raw[-8:-4], "little")
        path.write_bytes(raw[:footer] + bytes(32) + raw[footer + 32 :])
    elif kind == "are damaged":
        path.write_bytes(raw[:200] + bytes(500) + raw[700:])
    elif kind == "have the columns":
        pq.write_table(table.set_column(2, "symbol", pa.array([1.5])).replace_schema_metadata(names), path)
    elif kind == "do not name their study":
        pq.write_table(table, path)
    elif kind == "version":
        pq.write_table(table.replace_schema_metadata(names | {"dpairs-reports": "2"}), path)
    elif kind == "neither reports nor cells":
        pq.write_table(table.replace_schema_metadata(names | {"dpairs-symbols": "words"}), path)
    else:
        raise ValueError(kind)


SMALL = dpairs.Study.create("auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=8, seed=1)
FEW = dpairs.Study.create(
    "auc", protocol="histogram", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=3, seed=1
)
Row = tuple[str | None, int | None, int | None]


def random_files(rng: np.random.Generator, study: dpairs.Study, bad: bool) -> list[list[Row]]:
    """Some files, of people who may be there twice, in the same file or in another."""
    files: list[list[Row]] = []
    names: list[str | None] = [*study.strata, "other", None]
    first = 0
    for _ in range(rng.integers(1, 5)):
        rows: list[Row] = []
        first += int(rng.integers(-3, 12)) if bad else 0
        for place in rng.permutation(len(study.strata)).tolist():
            stretch = range(max(0, first), first + int(rng.integers(1, 12)))
            rows += [
                (names[place], index, int(rng.integers(0, of_symbols(study).symbols))) for index in stretch
            ]
        first += 12
        if bad:
            for _ in range(rng.integers(0, 4)):
                index = rng.choice(np.array([None, -1, 2**53, 3, 4], dtype=object))
                symbol = rng.choice(np.array([None, -1, of_symbols(study).symbols, 0, 1], dtype=object))
                name = rng.choice(np.array(names, dtype=object))
                rows.append(
                    (name, None if index is None else int(index), None if symbol is None else int(symbol))
                )
            rows += [rows[place] for place in rng.integers(0, len(rows), rng.integers(0, 3))]
            if rng.random() < 0.5:
                rows = [rows[place] for place in rng.permutation(len(rows))]
        files.append(rows)
    return files


def in_plain_python(study: dpairs.Study, rows: list[Row]) -> tuple[dpairs.Tally, Counter[str]]:
    """What must come of the rows, one after another."""
    said: dict[tuple[str, int], list[int]] = {}
    reasons: Counter[str] = Counter()
    for stratum, index, symbol in rows:
        if stratum is None or stratum not in study.strata:
            reasons["of an unknown stratum"] += 1
        elif index is None or not 0 <= index < 2**53:
            reasons["index out of range"] += 1
        elif symbol is None or not 0 <= symbol < of_symbols(study).symbols:
            reasons["symbol out of range"] += 1
        else:
            said.setdefault((stratum, index), []).append(symbol)
    tally = dpairs.Tally(study)
    for (stratum, index), symbols in said.items():
        reasons["repeated"] += len(symbols) - 1
        if len(set(symbols)) > 1:
            reasons["contradictory"] += 1
        else:
            reasons["counted"] += 1
            tally.add_reports(stratum, np.array([index]), np.array(symbols[:1]))
    return tally, +reasons


def write_rows(
    path: Path, study: dpairs.Study, rows: list[Row], cells: bool, rng: np.random.Generator
) -> None:
    """A file of these rows; a symbol that is none has the code of no cell."""
    symbols: list[int | None] = [symbol for _, _, symbol in rows]
    if cells:
        codes = study.protocol.cell_codes
        assert codes is not None
        none = [-1, 0, 3, codes.last + 1, 2**62, None, *codes.holes]
        for number, (stratum, index, symbol) in enumerate(rows):
            counts = symbol is not None and 0 <= symbol < of_symbols(study).symbols
            if not counts:
                symbols[number] = none[rng.integers(0, len(none))]
            elif stratum in study.strata and index is not None and 0 <= index < 2**53:
                place = study.strata.index(stratum)
                cell = alone(study).cells_of(study.coins, place, np.array([index]), np.array([symbol]))
                symbols[number] = int(cell[0])
    write(path, study, [row[0] for row in rows], [row[1] for row in rows], symbols, cells)
