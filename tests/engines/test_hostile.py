"""Whoever names, writes or describes files may be hostile: names, metadata, and secrets in addresses."""

import json
import os
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.engines import lakes, places, postgresql, tally_with_duckdb
from dpairs.engines.files import FORMAT, STUDY
from dpairs.engines.inspecting import inspect
from dpairs.errors import BadFile, BadParameter, BadValue, DpairsError, InvalidInput

from . import laketables
from .reportfiles import FEW, SMALL, TREE, cells_of, write

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")


def tabled(name: str | Path) -> dict[str, int]:
    """What a table of any writer holds."""
    with lakes.table(FEW, [os.fspath(name)], {}, cells=False) as rows:
        return tally_with_duckdb(FEW, rows).reasons


# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    "names",
    [
        ("a[1].parquet", "a1.parquet"),
        ("b*.parquet", "bx.parquet"),
        ("c?.parquet", "cy.parquet"),
        ("d\\e.parquet", "de.parquet"),
        ("f[1]/g.parquet", "f1/g.parquet"),
        ('it\'s; DROP "x" --.parquet', "day=1/%41.parquet"),
    ],
)
def test_names_that_engines_take_for_patterns(tmp_path, names):
    for number, name in enumerate(names):
        write(tmp_path / name, FEW, ["positive"] * 3, range(3 * number, 3 * number + 3), [0, 1, 2])
    assert tally_with_duckdb(FEW, tmp_path).reasons == {"counted": 6}
    assert tabled(tmp_path) == {"counted": 6}
    for name in names:
        # Who names a file means that file, and not the files that its name would match.
        only = tally_with_duckdb(FEW, tmp_path / name)
        assert only.reasons == {"counted": 3}
    assert len(places.find(f"{tmp_path}/**/*.parquet")) == 2


def test_links_in_circles_and_things_that_are_no_files(tmp_path):
    write(tmp_path / "a.parquet", FEW, ["positive"] * 3, range(3), [0, 1, 2])
    for number in range(2):
        (tmp_path / f"loop{number}").symlink_to(".")
    os.mkfifo(tmp_path / "pipe.parquet")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden/b.parquet").write_bytes(b"")
    for given in (tmp_path, f"{tmp_path}/**/*.parquet", f"{tmp_path}/*.parquet"):
        assert tally_with_duckdb(FEW, given).reasons == {"counted": 3}


@pytest.mark.parametrize("name", [b"a\nb.parquet", b"\xff.parquet", b"\x1b[2J.parquet"])
def test_names_that_cannot_be_printed(tmp_path, name):
    with open(os.path.join(os.fsencode(tmp_path), name), "wb"):
        pass
    with pytest.raises(BadFile, match="cannot be printed") as refused:
        tally_with_duckdb(FEW, tmp_path)
    assert str(refused.value).isprintable()


# ---------------------------------------------------------------- metadata


def test_columns_that_differ_in_capital_letters_only(tmp_path):
    write(tmp_path / "a.parquet", FEW, ["positive"] * 3, range(3), [0, 1, 2])
    table = pq.read_table(tmp_path / "a.parquet")
    pq.write_table(table.add_column(0, "INDEX", pa.array([7, 7, 7])), tmp_path / "a.parquet")
    with pytest.raises(BadFile, match="have the columns"):
        tally_with_duckdb(FEW, tmp_path)
    with pytest.raises(InvalidInput, match="column"):
        tabled(tmp_path)


def test_a_small_file_that_unpacks_to_a_large_one(tmp_path):
    write(tmp_path / "a.parquet", FEW, ["positive"] * 3, range(3), [0, 1, 2])
    table = pq.read_table(tmp_path / "a.parquet")
    table = table.set_column(0, "stratum", pa.array(["x" * 10**6] * 3)).replace_schema_metadata(
        table.schema.metadata
    )
    pq.write_table(table, tmp_path / "a.parquet", compression="zstd", use_dictionary=False)
    assert (tmp_path / "a.parquet").stat().st_size < 10_000
    with pytest.raises(BadFile, match="bytes of memory for 3 rows of 'stratum': at most 256 bytes a row"):
        tally_with_duckdb(FEW, tmp_path)


BAD = [
    ("positive", -5, 1),
    ("positive", 2**53, 1),
    ("positive", 60, 7),
    ("stranger", 3, 1),
    ("negative", 9, 1),
]
FINE = [("positive", number, 1) for number in range(5)]


def plain(path: Path, study: dpairs.Study, rows: list[tuple[str, int, int]]) -> bytes:
    """A file whose pages have the same places for all rows of the same length."""
    metadata = {STUDY: study.id.encode(), FORMAT: b"1"}
    columns = [pa.array([row[place] for row in rows]) for place in range(3)]
    table = pa.table(columns, names=["stratum", "index", "symbol"]).replace_schema_metadata(metadata)
    pq.write_table(table, path, compression="none", use_dictionary=False)
    return path.read_bytes()


@pytest.mark.parametrize("study", [FEW, SMALL], ids=["histogram", "tree"])
def test_what_a_file_says_of_its_smallest_and_largest_values_is_not_believed(tmp_path, study):
    path = tmp_path / "a.parquet"
    fine, bad = plain(path, study, FINE), plain(path, study, BAD)
    assert len(fine) == len(bad)
    end = len(fine) - 8 - int.from_bytes(fine[-8:-4], "little")
    path.write_bytes(bad[:end] + fine[end:])
    right = {
        "counted": 1,
        "index out of range": 2,
        "symbol out of range": 1,
        "of an unknown stratum": 1,
    }
    assert tally_with_duckdb(study, path).reasons == right
    with lakes.table(study, [str(path)], {}, cells=False) as rows:
        assert tally_with_duckdb(study, rows, keep_going=True).reasons == right
    with duckdb.connect() as connection:
        connection.execute("SET disabled_optimizers = 'join_order'")
        relation = connection.read_parquet(str(path))
        assert tally_with_duckdb(study, relation, keep_going=True).reasons == right
        with pytest.raises(BadValue, match="out of range"):
            tally_with_duckdb(study, relation)
        setting = connection.execute("SELECT current_setting('disabled_optimizers')").fetchone()
        assert setting == ("join_order",), "a user's connection gets its setting back"


def test_a_file_that_says_it_has_fewer_rows_hides_no_wrong_cells(tmp_path):
    """Only rows that a file says it has are drawn for comparison with the coins."""
    path, index = tmp_path / "a.parquet", np.arange(3000)
    cells = cells_of(TREE, np.zeros(3000), index, index % 2)
    cells[100:] ^= 4
    write(path, TREE, ["positive"] * 3000, index, cells, cells=True)
    content = path.read_bytes()
    # Thrift's field 3, a number of 64 bits: 3,000 and 100, each times two, in seven bits a byte.
    assert content.count(b"\x16\xf0\x2e\x19") == 1
    path.write_bytes(content.replace(b"\x16\xf0\x2e\x19", b"\x16\xc8\x01\x19"))
    with pytest.raises(BadFile, match="are damaged: it has 3,000 rows, and says that it has 100"):
        tally_with_duckdb(TREE, path)


def test_pages_with_fewer_rows_than_the_files_end_says(tmp_path):
    path = tmp_path / "a.parquet"
    (tmp_path / "b").mkdir()
    write(tmp_path / "b/b.parquet", SMALL, ["negative"] * 3, range(3), [0, 1, 1])
    content = plain(path, SMALL, FINE)
    end = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    # Each number of rows or values is field 3 or 5: 5, times two.
    path.write_bytes(content[:end] + content[end:].replace(b"\x16\x0a", b"\x16\x0e"))
    with pytest.raises(BadFile, match="are damaged: it has 5 rows, and says that it has 7"):
        tally_with_duckdb(SMALL, path)
    found = tally_with_duckdb(SMALL, tmp_path, keep_going=True)
    assert (found.reasons, len(found.refused)) == ({"counted": 3}, 1)


def test_a_file_that_changes_while_it_is_counted(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    write(path, FEW, ["positive"] * 3, range(3), [0, 1, 2])

    def looked(study, wanted):
        file = inspect(study, wanted)
        write(path, FEW, ["positive"] * 4, range(4), [0, 1, 2, 2])
        return file

    monkeypatch.setattr("dpairs.engines.on_duckdb.inspect", looked)
    with pytest.raises(BadFile, match="3 rows were looked at and 4 were counted"):
        tally_with_duckdb(FEW, path)


@pytest.mark.parametrize("study", [FEW, SMALL], ids=["histogram", "tree"])
@pytest.mark.parametrize("name", ["a.parquet", "a[1].parquet"])  # DuckDB reads the first, Arrow the second
@pytest.mark.parametrize(
    ("text", "words"),
    [(b"\xff\xfe", "UTF8"), (b"x" * 5000, "a text of 5,000 bytes in 'stratum': at most 4,096")],
)
def test_texts_that_no_stratum_has(tmp_path, study, name, text, words):
    texts = pa.array([b"positive", text, b"negative"] * 9).view(pa.string())
    table = pa.table({"stratum": texts, "index": range(27), "symbol": [0, 1, 1] * 9})
    metadata = {STUDY: study.id.encode(), FORMAT: b"1"}
    pq.write_table(table.replace_schema_metadata(metadata), tmp_path / name)
    with pytest.raises(BadFile, match=words):
        tally_with_duckdb(study, tmp_path)
    with pytest.raises(BadFile, match=words), lakes.table(study, [str(tmp_path)], {}, cells=False):
        pass


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("index", [4.4, 5.5], "'index' holds double in .*b.parquet, and whole numbers in"),
        ("symbol", [True, False], "'symbol' holds bool in"),
        ("stratum", [1, 2], "'stratum' holds whole numbers in .*, and text in"),
    ],
)
def test_the_second_file_of_a_table_is_not_converted(tmp_path, column, values, words):
    table = {"stratum": ["positive"] * 2, "index": [1, 2], "symbol": [0, 1]}
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    pq.write_table(pa.table(table | {column: values}), tmp_path / "b.parquet")
    with pytest.raises(BadFile, match=words):
        tabled(tmp_path)


def test_a_lakes_table_is_not_read_file_by_file(tmp_path, iceberg):
    delta = laketables.delta(tmp_path, TABLE)
    for name, words in (
        (f"{delta}/*.parquet", "delta is a table .* name its folder alone"),
        (tmp_path / "delta/..", "is a table"),
        (iceberg.parents[1], "name its newest metadata file"),
    ):
        with pytest.raises(BadParameter, match=words):
            tabled(name)


def test_a_column_s_name_is_no_sql():
    name = 'x" FROM y; DROP TABLE z; --'
    table = pa.table({"stratum": ["positive"], name: [1], "symbol": [0]})
    assert tally_with_duckdb(FEW, table, columns={"index": name}).reasons == {"counted": 1}


TABLE = pa.table({"stratum": ["positive"] * 3, "index": [1, 2, 3], "symbol": [0, 1, 2]})
LOGS = {
    "nothing": lambda text: "",
    "no JSON": lambda text: "{",
    "no object": lambda text: "null\n",
    "a later version": lambda text: text.replace('"minReaderVersion":1', '"minReaderVersion":99'),
    "a file outside": lambda text: text.replace('"path":"', '"path":"../../'),
    "a file that is gone": lambda text: text.replace('"path":"part', '"path":"trap'),
    "a server": lambda text: text.replace('"path":"', '"path":"http://127.0.0.1:1/'),
    "another type": lambda text: text.replace("long", "string"),
}


@pytest.mark.parametrize("kind", LOGS)
def test_a_delta_tables_log(tmp_path, kind):
    lake = Path(laketables.delta(tmp_path, TABLE))
    (log,) = (lake / "_delta_log").glob("*.json")
    log.write_text(LOGS[kind](log.read_text()))
    with pytest.raises(DpairsError) as refused:
        tabled(lake)
    assert "\n" not in str(refused.value)


@pytest.fixture
def iceberg(tmp_path):
    """The metadata file of an Iceberg table."""
    return Path(laketables.iceberg(tmp_path, TABLE).removeprefix("file://"))


def test_an_iceberg_tables_metadata(iceberg):
    content = json.loads(iceberg.read_text())
    lists = [
        content | {"snapshots": [content["snapshots"][-1] | {"manifest-list": place}]}
        for place in ("/nowhere.avro", "/etc/passwd", "http://127.0.0.1:1/x", "gopher://x")
    ]
    for wrong in ("", "{", None, [], 5, {}, "[" * 10**5, content | {"schemas": []}, *lists):
        iceberg.write_text(wrong if isinstance(wrong, str) else json.dumps(wrong))
        with pytest.raises(BadFile) as refused:
            tabled(iceberg)
        assert "\n" not in str(refused.value)


def test_an_iceberg_tables_metadata_name_no_code(iceberg, tmp_path, monkeypatch):
    """pyiceberg would make an object of any class that the properties name."""
    (tmp_path / "hostile.py").write_text("raise SystemExit('this code must not run')")
    monkeypatch.syspath_prepend(tmp_path)
    properties = {"py-io-impl": "hostile.Files", "s3.endpoint": "http://127.0.0.1:1"}
    iceberg.write_text(json.dumps(json.loads(iceberg.read_text()) | {"properties": properties}))
    assert tabled(iceberg) == {"counted": 3}


@pytest.mark.parametrize("ending", ["avro", "parquet"])
def test_an_iceberg_tables_files(iceberg, ending):
    for path in iceberg.parents[1].rglob(f"*.{ending}"):
        content = path.read_bytes()
        for wrong in (b"", content[: len(content) // 2], bytes(500), b"\xff" * 500):
            path.write_bytes(wrong)
            with pytest.raises(DpairsError) as refused:
                tabled(iceberg)
            assert "\n" not in str(refused.value)
        path.write_bytes(content)


# ---------------------------------------------------------------- secrets


@pytest.mark.parametrize(
    "address",
    [
        "s3://KEY:hidden@bucket/a.parquet",
        "s3://bucket/a.parquet?secret_key=hidden",
        "s3://bucket/a.parquet?region=here&token=hidden",
        "s3://KEY:hidden@bucket/a.metadata.json",
        "abfss://files@account.dfs.core.windows.net/a?client_secret=hidden",
        "abfss://:hidden@account.blob.core.windows.net/files/a",
        "abfss://files@account.dfs.core.windows.net/a?sig=hidden",
    ],
)
def test_addresses_hold_no_keys(address):
    for count in (lambda: tally_with_duckdb(FEW, address), lambda: tabled(address)):
        with pytest.raises(BadParameter, match="may hold no key and no password") as refused:
            count()
        assert "hidden" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hidden@127.0.0.1:1/x",
        "postgresql://me:a/hidden@127.0.0.1:1/x",
        "postgresql://me:a@hidden@127.0.0.1:1/x",
        "postgresql://me:%hidden@127.0.0.1:1/x",
        "postgresql://me:hidden@[::1/x",
        "postgresql://127.0.0.1:1/x?password=hidden",
        "postgresql://127.0.0.1:1/x?hidden",
        "postgresql+psycopg://me:hidden@127.0.0.1:1/x",
    ],
)
def test_passwords_are_in_no_message(tmp_path, monkeypatch, capsys, address):
    pytest.importorskip("adbc_driver_postgresql", reason="ADBC is not installed: the extra 'adbc' has it.")
    ways = (lambda: postgresql.collected(address, FEW).__enter__(), lambda: postgresql.jdbc(address, FEW))
    for read in ways:
        with pytest.raises(BadFile, match="cannot be read") as refused:
            read()
        assert "hidden" not in str(refused.value)
        assert "\n" not in str(refused.value)
    monkeypatch.chdir(tmp_path)
    FEW.save("study.json")
    for words in (["study.json", address], ["--study", "study.json", address]):
        assert run(["tally", *words, "-o", "t.tally"]) == 2
    if not address.endswith("?hidden"):
        assert run(["tally", address, "study.json", "-o", "t.tally"]) == 2  # the wrong way round
    out, err = capsys.readouterr()
    assert "hidden" not in out + err
