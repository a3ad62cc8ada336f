"""Reports in folders and in object stores: the same tally wherever they are."""

import numpy as np
import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.engines import ReportWriter, places, tally_with_duckdb
from dpairs.errors import BadFile, BadParameter

from . import object_store
from .reportfiles import PEOPLE, TREE, messy, spoil, write

pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")


@pytest.fixture(scope="module", params=["radosgw", "moto"])
def bucket(request, tmp_path_factory):
    """A new bucket, at a server that the variables of the environment name."""
    with object_store.bucket(request.param, tmp_path_factory.mktemp(request.param)) as address:
        yield address


@pytest.mark.parametrize("cells", [False, True])
def test_an_object_store_gives_the_tally_of_the_folder(tmp_path, bucket, cells):
    tally, reasons = messy(tmp_path, PEOPLE, cells)
    home = f"{bucket}/{cells}"
    for path in tmp_path.rglob("*.parquet"):
        places.write(places.join(home, path.relative_to(tmp_path).as_posix()), path.read_bytes())
    for given in (home, f"{home}/**/*.parquet", f"{home}?region=us-east-1"):
        found = tally_with_duckdb(TREE, given)
        assert (found.tally, found.reasons) == (tally, reasons)
    some = tally_with_duckdb(TREE, f"{home}/day=[!1]/p?rt.parquet")
    assert 0 < some.tally.n < tally.n


def test_reports_are_written_to_an_object_store(tmp_path, bucket, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    rng = np.random.default_rng(2)
    rows = "\n".join(f"{score:.5f},{place % 2}" for place, score in enumerate(rng.random(200)))
    (tmp_path / "people.csv").write_text(f"score,label\n{rows}\n")
    words = ["simulate", "study.json", "people.csv", "--seed", "1", "--reports"]
    tallies = []
    for folder in (f"{bucket}/simulated", "simulated"):
        assert run([*words, folder]) == 0
        assert run(["tally", "study.json", folder, "-o", "t.tally"]) == 0
        tallies.append(dpairs.Tally.load("t.tally", TREE))
    assert tallies[0] == tallies[1]
    assert run([*words, f"{bucket}/simulated"]) == 2  # it is not empty any more
    # A file whose writing fails is not there.
    with (
        pytest.raises(ValueError, match="not in tuple"),
        ReportWriter(f"{bucket}/half.parquet", TREE) as writer,
    ):
        writer.write("stranger", np.arange(3), np.zeros(3, dtype=np.int64))
    assert not places.exists(f"{bucket}/half.parquet")


@pytest.mark.parametrize("kind", ["empty", "cut short", "not a Parquet", "are damaged"])
def test_bad_objects_are_named_or_left_out(tmp_path, bucket, kind):
    write(tmp_path / "good.parquet", TREE, ["positive"] * 3, range(3), [0, 1, 1])
    spoil(tmp_path / "bad.parquet", kind)
    home = f"{bucket}/{kind.replace(' ', '-')}"
    for path in tmp_path.glob("*.parquet"):
        places.write(f"{home}/{path.name}", path.read_bytes())
    with pytest.raises(BadFile, match=rf"s3:.*bad\.parquet.*{kind}"):
        tally_with_duckdb(TREE, home)
    rest = tally_with_duckdb(TREE, home, keep_going=True)
    assert (rest.reasons, len(rest.refused)) == ({"counted": 3}, 1)


def test_what_is_not_in_the_store_is_said_in_one_sentence(bucket):
    for name in (f"{bucket}/nothing", f"{bucket}/nothing/*.parquet", "s3://no-such-bucket-here/a.parquet"):
        with pytest.raises(BadFile, match=r"no file matches|cannot be") as refused:
            tally_with_duckdb(TREE, name)
        assert "\n" not in str(refused.value)


def test_folders_on_this_machine(tmp_path):
    tally, reasons = messy(tmp_path / "r", 5000)
    for hidden in ("_temporary/0/part.parquet", ".part.parquet", "_SUCCESS", "notes.txt"):
        (tmp_path / "r" / hidden).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / "r" / hidden).write_text("nothing that is meant")
    with pytest.raises(BadFile, match="no file matches"):
        tally_with_duckdb(TREE, f"{tmp_path}/r/day*")  # a pattern's folders are not opened
    for given in (tmp_path / "r", f"{tmp_path}/r/", (tmp_path / "r").as_uri()):
        found = tally_with_duckdb(TREE, given)
        assert (found.tally, found.reasons) == (tally, reasons)
    (tmp_path / "none").mkdir()
    with pytest.raises(BadFile, match="no file matches"):
        tally_with_duckdb(TREE, tmp_path / "none")


@pytest.mark.parametrize("address", ["https://host/a.parquet", "ftp://host/a", "mock:///a"])
def test_addresses_that_are_not_read(address):
    with pytest.raises(BadParameter, match="reports are in folders, or at addresses with file:, s3:"):
        tally_with_duckdb(TREE, address)


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("a/**/*.parquet", "a/b/c/d.parquet", True),
        ("a/**/*.parquet", "a/d.parquet", True),
        ("a/*.parquet", "a/b/d.parquet", False),
        ("a/**", "a/b/d", True),
        ("a/?.[pq]", "a/x.q", True),
        ("a/[!x].q", "a/x.q", False),
        ("a+(b)/*", "a+(b)/c", True),
    ],
)
def test_patterns_of_stores_are_those_of_folders(pattern, name, matches):
    import re

    assert bool(re.fullmatch(places._translated(pattern), name)) == matches
