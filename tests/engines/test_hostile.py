"""Whoever names, writes or describes files may be hostile: names, metadata, and secrets in addresses."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpairs.cli.app import run
from dpairs.engines import lakes, places, postgresql, tally_with_duckdb
from dpairs.errors import BadFile, BadParameter, DpairsError, InvalidInput

from . import laketables
from .reportfiles import FEW, write

pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")


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
