"""Tables as users have them: the same tally and counts as report files, and one sentence on wrong ones."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.engines import lakes, tally_with_duckdb
from dpairs.engines.tables import MAX_COLUMNS, Field, choose
from dpairs.errors import BadFile, BadParameter, BadValue, InvalidInput, WrongStudy

from . import laketables
from .reportfiles import FEW, OTHER, PEOPLE, SMALL, TREE, cells_of, in_plain_python, messy, random_files

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")
KINDS = ("table", "reader", "dataset", "batch", "polars", "pandas", "relation", "another connection's")


def as_users_have_it(kind: str, table: pa.Table) -> Any:
    if kind == "relation":
        return duckdb.from_arrow(table)
    if kind == "another connection's":
        connection = duckdb.connect()
        connection.register("mine", table)
        return connection.sql("SELECT * FROM mine WHERE true")
    ways = {
        "table": lambda: table,
        "reader": lambda: table.to_reader(1000),
        "dataset": lambda: ds.dataset(table),
        "batch": lambda: table.combine_chunks().to_batches()[0],
        "polars": lambda: pl.from_arrow(table),
        "pandas": lambda: table.to_pandas(types_mapper={pa.int64(): pd.Int64Dtype()}.get),
    }
    return ways[kind]()


@pytest.fixture(scope="module", params=[False, True], ids=["symbols", "cells"])
def rows(request, tmp_path_factory):
    """Reports of all kinds, good and bad, as one table without a word on what it is."""
    folder = tmp_path_factory.mktemp("rows")
    tally, reasons = messy(folder, 20_000, request.param)
    parts = [pq.read_table(path) for path in sorted(folder.glob("day*/*.parquet"))]
    del reasons["of another study"]
    return pa.concat_tables(parts).replace_schema_metadata(None), request.param, tally, reasons


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_tally_of_the_files(rows, kind):
    table, cells, tally, reasons = rows
    given = as_users_have_it(kind, table)
    found = tally_with_duckdb(TREE, given, cells=cells, keep_going=True)
    assert (found.tally, found.reasons) == (tally, reasons)
    with pytest.raises(BadValue, match="nothing was counted: 20 index out of range, 27 of an unknown"):
        tally_with_duckdb(TREE, as_users_have_it(kind, table), cells=cells)


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("kind", ["table", "reader", "relation"])
def test_wrong_cells_of_a_table_are_found(kind, recompute):
    index = np.arange(500)
    cells = cells_of(TREE, np.zeros(500), index, index % 2)
    cells[np.argmax(cells)] ^= 4
    table = pa.table({"stratum": ["positive"] * 500, "index": index, "symbol": cells})
    with pytest.raises(BadValue, match=r"cells that are not those .* 1 of 500 "):
        tally_with_duckdb(TREE, as_users_have_it(kind, table), cells=True, recompute=recompute)


def test_nobody_can_write_wrong_cells_where_no_sample_is_drawn():
    """2,000 wrong rows of 131,072 pass with probability 10^-7, also those that a known hash puts together."""
    query = "SELECT i, hash(i, 0) < CAST(18446744073709551615 AS UBIGINT) // 64 FROM range(131072) t(i)"
    index, wrong = (np.asarray(column) for column in duckdb.sql(query).fetchnumpy().values())
    assert 1500 < np.count_nonzero(wrong) < 2600
    cells = cells_of(TREE, np.zeros(index.size), index, index % 2)
    high = cells >= 2**10
    table = pa.table(
        {"stratum": ["positive"] * index.size, "index": index, "symbol": cells ^ 4 * (wrong & high)}
    )
    with pytest.raises(BadValue, match="cells that are not those"):
        tally_with_duckdb(TREE, table, cells=True)


@pytest.mark.parametrize("study", [SMALL, FEW], ids=["tree", "histogram"])
@pytest.mark.parametrize("seed", range(6))
def test_random_tables_are_counted_as_one_would_by_hand(study, seed):
    rng = np.random.default_rng(seed)
    rows = [row for file in random_files(rng, study, bad=seed > 0) for row in file]
    stratum, index, symbol = (list(column) for column in zip(*rows, strict=True))
    table = pa.table(
        {"class": stratum, "person": pa.array(index, pa.int64()), "answer": pa.array(symbol, pa.int32())}
    )
    columns = {"stratum": "class", "index": "person", "symbol": "answer"}
    tally, reasons = in_plain_python(study, rows)
    found = tally_with_duckdb(study, table, columns=columns, keep_going=True)
    assert (found.tally, found.reasons) == (tally, reasons)


def test_a_table_of_several_studies_is_told_apart_by_a_column():
    table = {
        "study": np.array([TREE.id, TREE.id, OTHER.id, OTHER.id]),
        "stratum": np.array(["positive"] * 4),
        "index": np.array([1, 2, 1, 3]),
        "symbol": np.array([0, 1, 1, 9]),
    }
    found = tally_with_duckdb(TREE, table, columns={"study": "study"})
    assert found.reasons == {"counted": 2, "of another study": 2}
    with pytest.raises(BadValue, match="none of the table's 4 rows is of this study"):
        tally_with_duckdb(SMALL, table, columns={"study": "study"})


def test_a_study_of_one_stratum_needs_no_column_for_it():
    study = dpairs.Study.create(
        "collision_entropy", epsilon=2.0, domain=dpairs.Categories(["a", "b", "c"]), seed=1
    )
    table = {"index": np.arange(4), "symbol": np.array([0, 1, 2, 2])}
    assert tally_with_duckdb(study, table, columns={"stratum": None}).tally.n == 4
    with pytest.raises(BadParameter, match="need a column for the stratum"):
        tally_with_duckdb(TREE, table, columns={"stratum": None})


def test_symbols_of_64_bits_without_a_sign():
    study = dpairs.Study.create(
        "auc", protocol="tree", epsilon=1.0, domain=dpairs.Integers(0, 2**64 - 1), splitting="budget", seed=1
    )
    symbols = np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)
    tally = dpairs.Tally(study)
    tally.add_reports("positive", np.array([5, 6, 7]), symbols)
    table = {"stratum": np.array(["positive"] * 3), "index": np.array([5, 6, 7]), "symbol": symbols}
    assert tally_with_duckdb(study, table).tally == tally
    wide = pa.table(table | {"symbol": pa.array([-1, 2**64, 2**64 - 1], pa.decimal128(21, 0))})
    assert tally_with_duckdb(study, wide, keep_going=True).reasons == {"counted": 1, "symbol out of range": 2}


def good(**changed: Any) -> dict[str, Any]:
    table = {
        "stratum": pa.array(["positive"] * 3),
        "index": pa.array([1, 2, 3]),
        "symbol": pa.array([0, 1, 1]),
    }
    return {name: column for name, column in (table | changed).items() if column is not None}


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "missing column": (
        good(symbol=None),
        "no column 'symbol' for the symbol; its columns are",
    ),
    "nulls": (good(symbol=pa.array([0, None, 1])), "1 symbol out of range"),
    "only nulls": (good(index=pa.nulls(3, pa.int64())), "3 index out of range"),
    "no type": (good(index=pa.nulls(3)), "column 'index' holds"),
    "texts": (
        good(symbol=pa.array(["0", "1", "1"])),
        "column 'symbol' holds varchar, but the symbol is",
    ),
    "fractions": (good(index=pa.array([1.0, 2.0, 3.0])), "column 'index' holds double"),
    "numbers for strata": (good(stratum=pa.array([0, 1, 1])), "column 'stratum' holds bigint"),
    "negative symbols": (good(symbol=pa.array([0, -1, 1])), "1 symbol out of range"),
    "huge symbols": (good(symbol=pa.array([0, 2**62, 1])), "1 symbol out of range"),
    "symbols beyond 64 bits": (
        good(symbol=pa.array([0, 10**30, 1], pa.decimal128(38, 0))),
        "1 symbol out of",
    ),
    "huge indices": (good(index=pa.array([1, 2, 2**64 - 1], pa.uint64())), "1 index out of range"),
    "strange strata": (good(stratum=pa.array(["positive", "x'; --", "y"])), "2 of an unknown stratum"),
}


def refused(given: Any, words: str) -> None:
    with pytest.raises(BadValue) as refusal:
        tally_with_duckdb(TREE, given)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 300


@pytest.mark.parametrize("kind", ["table", "reader", "relation", "polars", "pandas"])
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_table_is_refused_in_one_sentence(name, kind):
    columns, words = WRONG[name]
    refused(as_users_have_it(kind, pa.table(columns)), words)


def parquet(folder: Path, table: pa.Table) -> str:
    (folder / "plain").mkdir()
    pq.write_table(table, folder / "plain/a.parquet")
    return str(folder / "plain")


@pytest.mark.parametrize("written", [parquet, laketables.delta, laketables.iceberg])
@pytest.mark.parametrize("name", ["missing column", "nulls", "texts", "negative symbols", "huge symbols"])
def test_a_wrong_table_of_a_lake_is_refused_in_one_sentence(tmp_path, name, written):
    columns, words = WRONG[name]
    with lakes.table(TREE, [written(tmp_path, pa.table(columns))], {}, cells=False) as rows:
        refused(rows, words)


def test_missing_numbers_of_pandas_are_fractions():
    refused(pd.DataFrame({"stratum": ["positive"] * 2, "index": [1, None], "symbol": [0, 1]}), "holds double")


def test_another_studys_table_and_form():
    table = pa.table(good())
    with pytest.raises(WrongStudy, match="belong to study"):
        tally_with_duckdb(TREE, table.replace_schema_metadata({"dpairs-study": OTHER.id}))
    with pytest.raises(BadParameter, match="cells=True"):
        tally_with_duckdb(TREE, table.replace_schema_metadata({"dpairs-symbols": "cells"}))


def test_a_million_columns_are_not_looked_at(tmp_path):
    frame = pd.DataFrame(np.zeros((1, 10**6), dtype=np.int8))
    for wide in (frame, dict.fromkeys(map(str, range(10**6)), ())):
        with pytest.raises(BadValue, match="1,000,000 columns, more than the 10,000"):
            tally_with_duckdb(TREE, wide)
    wide_as = min(PEOPLE, 10**6)
    many = pa.schema([pa.field(f"c{number}", pa.int8()) for number in range(wide_as)])
    with pytest.raises(BadValue, match=f"{wide_as:,} columns, more than the 10,000"):
        tally_with_duckdb(TREE, pa.RecordBatchReader.from_batches(many, []))
    with pytest.raises(BadValue, match="1,000,000 columns"):
        choose(TREE, [Field("c", "bigint")] * 10**6, None)
    some = pa.schema([many.field(number) for number in range(MAX_COLUMNS + 1)]).empty_table()
    pq.write_table(some, tmp_path / "some.parquet")
    TREE.save(tmp_path / "study.json")
    words = ["tally", "--study", str(tmp_path / "study.json"), str(tmp_path / "some.parquet")]
    assert run([*words, "-o", str(tmp_path / "t.json")]) == 2
    # The description of more columns is not even read.
    (tmp_path / "long.parquet").write_bytes(b"PAR1" + bytes(8) + (2**31 - 1).to_bytes(4, "little") + b"PAR1")
    with pytest.raises(BadFile, match="too many columns"):
        tally_with_duckdb(TREE, tmp_path / "long.parquet")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (5, "not int"),
        ([1, 2], "not list"),
        (None, "not NoneType"),
        ({"index": [[1], [2, 3]]}, "cannot be read as Arrow"),
    ],
)
def test_what_is_neither_files_nor_a_table(given, words):
    with pytest.raises(InvalidInput, match=words):
        tally_with_duckdb(TREE, given)


@pytest.mark.parametrize("kind", ["table", "reader"])
@pytest.mark.parametrize("again", ["index", "INDEX"])
def test_a_name_that_is_there_twice(kind, again):
    columns = [*good().values(), pa.array([7, 8, 9])]
    refused(as_users_have_it(kind, pa.table(columns, [*good(), again])), "2 columns called 'index'")


def test_masked_numbers_are_missing():
    masked = np.ma.array([1, 2, 3], mask=[False, True, False])
    refused(good(index=masked), "1 index out of range")
    with pytest.raises(BadValue, match="some are masked"):
        dpairs.Tally(TREE).add_reports("positive", masked, [0, 1, 1])


def test_whoever_exports_a_table_may_fail():
    class Broken:
        def __arrow_c_stream__(self, _schema: Any = None) -> Any:
            raise RuntimeError("no stream")

    refused(Broken(), "cannot be read as Arrow's: no stream")
    refused(good(index=[1, 2**70, 3]), "cannot be read as Arrow's")


@pytest.mark.parametrize("kind", ["table", "reader"])
def test_numbers_beyond_64_bits_are_no_cells(kind):
    cells = cells_of(TREE, np.zeros(3), np.arange(3), np.zeros(3, dtype=int)).tolist()
    symbols = pa.array([*cells[:2], cells[2] + 2**64 + 4], pa.decimal128(38, 0))
    table = pa.table({"stratum": ["positive"] * 3, "index": range(3), "symbol": symbols})
    found = tally_with_duckdb(TREE, as_users_have_it(kind, table), cells=True, keep_going=True)
    assert found.reasons == {"counted": 2, "symbol out of range": 1}


def test_roles_are_checked():
    for columns in ({"stratums": "x"}, {"index": 5}, {"index": None}):
        with pytest.raises(BadParameter):
            tally_with_duckdb(TREE, good(), columns=columns)  # type: ignore[arg-type]
    with pytest.raises(BadParameter, match="for tables"):
        tally_with_duckdb(TREE, ["a.parquet"], cells=True)


@pytest.mark.parametrize(
    "column", [pl.Series, pa.array, pd.Series, list], ids=["polars", "arrow", "pandas", "list"]
)
def test_columns_of_frames_are_added_to_a_tally(column):
    tally, right = dpairs.Tally(TREE), dpairs.Tally(TREE)
    tally.add_reports("positive", column([3, 1, 2]), column([0, 1, 1]))
    right.add_reports("positive", np.array([3, 1, 2]), np.array([0, 1, 1]))
    assert tally == right
    for bad in ([1, None, 2], ["a", "b", "c"], [0.5, 1.0, 2.0]):
        with pytest.raises(BadValue, match="whole numbers"):
            tally.add_reports("positive", column(bad), column([0, 1, 1]))
    assert tally == right


def test_tables_on_the_command_line(tmp_path, capsys, monkeypatch):
    """One command with --json, as a scheduler runs it: Parquet of any writer, Delta and Iceberg."""
    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    rng = np.random.default_rng(3)
    index = rng.permutation(3000) // 2
    table = pa.table({"class": ["positive"] * 3000, "person": index, "answer": rng.integers(0, 2, 3000)})
    pq.write_table(table, "plain.parquet")
    more = pa.concat_tables([table.slice(2000), table.slice(0, 9)])
    sources = [
        "plain.parquet",
        laketables.delta(tmp_path, table.slice(0, 2000), more),
        laketables.iceberg(tmp_path, table),
    ]
    import deltalake

    deltalake.write_deltalake("deleted", pa.concat_tables([table, table]))
    deltalake.DeltaTable("deleted").delete("person >= 0")
    deltalake.write_deltalake("deleted", table, mode="append")
    named = ["-c", "stratum=class", "-c", "index=person", "-c", "symbol=answer"]
    tallies = set()
    for source in [*sources, "deleted"]:
        capsys.readouterr()
        assert run(["tally", "--study", "study.json", source, *named, "-o", "t.tally", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["reports"]["contradictory"] > 500
        tallies.add((tmp_path / "t.tally").read_bytes())
    assert len(tallies) == 1
    for wrong in (["plain.parquet"], ["plain.parquet", "-c", "class"], ["nowhere.parquet"], ["."]):
        assert run(["tally", "--study", "study.json", *wrong, "-o", "u.tally"]) == 2
    assert run(["tally", "study.json", "plain.parquet", "-c", "index=person", "-o", "u.tally"]) == 2
    assert run(["tally", "study.json", "-o", "u.tally"]) == 2
    assert not (tmp_path / "u.tally").exists()
