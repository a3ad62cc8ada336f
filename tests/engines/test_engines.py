"""Tallies of Parquet files by DuckDB: the same as in memory, whatever else is in the files."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.engines import ReportWriter, open_files, packing, simulate_reports, simulated, tally_with_duckdb
from dpairs.engines.duckdb_queries import connected
from dpairs.engines.files import find
from dpairs.errors import BadFile, BadParameter
from dpairs.protocols.sides import of_symbols

from .reportfiles import KINDS, OTHER, PEOPLE, TREE, cells_of, messy, spoil, write

pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")
UNIT = dpairs.Interval(0, 1)


def people(n: int) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(4)
    label = rng.integers(0, 2, n)
    return {"score": np.clip(rng.normal(0.4 + 0.2 * label, 0.15), 0, 1), "label": label}


def in_memory(study: dpairs.Study, folder: Path) -> dpairs.Tally:
    """The tally of files that hold nothing bad, row by row group."""
    tally = dpairs.Tally(study)
    for path in folder.rglob("*.parquet"):
        table = pq.read_table(path)
        (stratum,) = table["stratum"].unique().to_pylist()
        symbols = table["symbol"].to_numpy()
        if of_symbols(study).symbols == 2**64:
            symbols = symbols.view(np.uint64)
        tally.add_reports(stratum, table["index"].to_numpy(), symbols)
    return tally


# ---------------------------------------------------------------- the tally


@pytest.mark.parametrize("cells", [False, True])
def test_bad_rows_are_counted_and_not_added(tmp_path, cells):
    tally, reasons = messy(tmp_path, PEOPLE, cells)
    found = tally_with_duckdb(TREE, [f"{tmp_path}/**/*.parquet"])
    assert found.reasons == reasons
    assert found.tally == tally
    assert found.tally.n == PEOPLE - PEOPLE // 1000


def test_threads_share_the_work_and_change_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "BLOCKS", 500)
    tally, reasons = messy(tmp_path, 10**5)
    steps: list[int] = []
    found = tally_with_duckdb(TREE, [f"{tmp_path}/**/*.parquet"], progress=steps.append)
    assert (found.tally, found.reasons) == (tally, reasons)
    assert sum(steps) == reasons.total() - reasons["of another study"]
    assert len(steps) > 2


STUDIES: dict[str, dict[str, Any]] = {
    "histogram": {"bins": 11},
    "tree": {"bins": 2**40},
    "tree in several bits": {"bins": 2**12, "answer": "several-bits", "epsilon": 4.0},
    "tree of all levels": {"bins": 2**12, "splitting": "budget"},
    "projection": {},
}


@pytest.mark.parametrize("name", STUDIES)
def test_every_protocol_is_counted_as_in_memory(tmp_path, name):
    options: dict[str, Any] = {"epsilon": 1.0, **STUDIES[name]}
    study = dpairs.Study.create("auc", protocol=name.split()[0], domain=UNIT, seed=3, **options)
    for number in range(study.protocol.rounds):
        simulate_reports(study, people(30_000), tmp_path / f"round{number}", seed=5, cells=False)
        found = tally_with_duckdb(study, [f"{tmp_path}/round{number}/**/*.parquet"])
        assert found.tally == in_memory(study, tmp_path / f"round{number}")
        assert found.reasons == {"counted": found.tally.n}
        if number + 1 < study.protocol.rounds:
            study = study.next(found.tally)
    assert 0.6 < found.tally.estimate().value < 1


def test_reports_of_64_bits_keep_their_highest_bit(tmp_path):
    study = dpairs.Study.create(
        "auc", protocol="tree", epsilon=1.0, domain=dpairs.Integers(0, 2**64 - 1), splitting="budget", seed=1
    )
    symbols = np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)
    with ReportWriter(tmp_path / "a.parquet", study) as writer:
        writer.write("positive", np.array([63, 2**53 - 1, 64]), symbols)
    tally = dpairs.Tally(study)
    tally.add_reports("positive", np.array([63, 2**53 - 1, 64]), symbols)
    assert tally_with_duckdb(study, [f"{tmp_path}/a.parquet"]).tally == tally


def test_people_of_another_round_are_left_out(tmp_path):
    study = dpairs.Study.create("auc", protocol="projection", epsilon=1.0, domain=UNIT, seed=3)
    n = 64 * 50
    with ReportWriter(tmp_path / "a.parquet", study) as writer:
        writer.write("positive", np.arange(n), np.zeros(n, dtype=np.int64))
    found = tally_with_duckdb(study, [f"{tmp_path}/a.parquet"])
    asked = 50 * study.protocol.share  # type: ignore[attr-defined]
    assert found.reasons == {"counted": asked, "of another round": n - asked}


def test_three_answers_of_one_person(tmp_path):
    rows = [(5, 0), (5, 0), (5, 1), (6, 1), (6, 1), (6, 1), (7, 0)]
    write(tmp_path / "a.parquet", TREE, ["positive"] * 7, *zip(*rows, strict=True))
    found = tally_with_duckdb(TREE, [f"{tmp_path}/a.parquet"])
    assert found.reasons == {"counted": 2, "contradictory": 1, "repeated": 4}
    # The same index in another stratum is another person.
    write(tmp_path / "b.parquet", TREE, ["negative"], [5], [1])
    assert tally_with_duckdb(TREE, [f"{tmp_path}/*.parquet"]).reasons["counted"] == 3


# ---------------------------------------------------------------- files


@pytest.mark.parametrize("cells", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_file_is_named_in_one_sentence(tmp_path, capsys, monkeypatch, kind, cells):
    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    said = cells_of(TREE, [0] * 3, range(3), [0, 1, 1]) if cells else [0, 1, 1]
    write(tmp_path / "r/good.parquet", TREE, ["positive"] * 3, range(3), said, cells)
    spoil(tmp_path / "r/bad.parquet", kind, cells)
    asked = ["tally", "study.json", "r/*.parquet", "--out", "t.tally"]
    assert run(asked) == 2
    err = capsys.readouterr().err
    assert "bad.parquet" in err
    assert kind in err
    assert err.strip().count("\n") == 0
    assert not Path("t.tally").exists()
    assert run([*asked, "--keep-going", "--json"]) == 0
    out, err = capsys.readouterr()
    assert "bad.parquet" in err
    answer = json.loads(out)
    assert answer["reports"] == {"counted": 3}
    assert len(answer["left_out"]) == 1
    assert dpairs.Tally.load("t.tally", TREE).n == 3


def test_no_file_at_all(tmp_path):
    with pytest.raises(BadFile, match="no file matches"):
        find([f"{tmp_path}/*.parquet"])
    with pytest.raises(BadFile, match="cannot be read"):
        open_files([f"{tmp_path}/none.parquet"], TREE)


def test_addresses_of_files_and_of_other_places(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    folder = tmp_path / "two words"
    write(folder / "a.parquet", TREE, ["positive"], [1], [1])
    address = folder.as_uri()
    assert "%20" in address
    assert open_files([f"{address}/*.parquet"], TREE).paths == (str(folder / "a.parquet"),)
    assert run(["tally", "study.json", f"{address}/*.parquet", "--out", "t.json"]) == 0
    capsys.readouterr()
    for place in ("https://host/*.parquet", "ftp://host/a.parquet"):
        with pytest.raises(BadParameter, match="reports are in folders, or at addresses"):
            open_files([place], TREE)
        for engine in ("duckdb", "spark"):
            assert run(["tally", "study.json", place, "--engine", engine, "--out", "t.json"]) == 2
            assert capsys.readouterr().err.strip().count("\n") == 0


def test_a_file_counts_once_however_often_it_is_named(tmp_path):
    write(tmp_path / "a.parquet", TREE, ["positive"], [1], [1])
    assert open_files([f"{tmp_path}/a.parquet", f"{tmp_path}/*.parquet"], TREE).rows == 1


def test_a_writer_that_fails_leaves_no_file(tmp_path):
    with pytest.raises(BadParameter), ReportWriter(tmp_path / "a.parquet", TREE):
        raise BadParameter("something else")
    assert list(tmp_path.iterdir()) == []


# ---------------------------------------------------------------- simulated reports


def test_simulated_reports_depend_on_the_seed_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(simulated, "PART", 5000)
    data = people(30_000)
    chunks = [
        {name: column[start : start + 7001] for name, column in data.items()}
        for start in range(0, 30_000, 7001)
    ]
    simulate_reports(TREE, data, tmp_path / "a", seed=5)
    simulate_reports(TREE, iter(chunks), tmp_path / "b", seed=5, workers=2)
    simulate_reports(TREE, data, tmp_path / "c", seed=6)
    content = {
        name: {
            path.relative_to(tmp_path / name): path.read_bytes()
            for path in (tmp_path / name).rglob("*.parquet")
        }
        for name in "abc"
    }
    assert content["a"] == content["b"] != content["c"]
    assert len(content["a"]) == 7


def test_from_data_to_an_estimate_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    pq.write_table(pa.table(people(40_000)), "people.parquet")
    assert run(["simulate", "study.json", "people.parquet", "--reports", "r", "--seed", "1", "--json"]) == 0
    written = json.loads(capsys.readouterr().out)["reports"]
    assert sum(written.values()) == 40_000
    assert run(["tally", "study.json", "r/**/*.parquet", "--out", "t.json"]) == 0
    for place in (0, 1):
        assert run(["tally", "study.json", f"r/stratum-{place}/*.parquet", "--out", f"{place}.tally"]) == 0
    assert run(["tally", "study.json", "0.tally", "1.tally", "--merge", "--out", "both.tally"]) == 0
    whole = dpairs.Tally.load("t.json", TREE)
    assert dpairs.Tally.load("both.tally", TREE) == whole
    assert whole.sizes == written
    assert Path("both.tally").stat().st_size < Path("t.json").stat().st_size / 2
    assert run(["estimate", "study.json", "both.tally"]) == 0


def test_options_that_do_not_go_together(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    OTHER.save("other.json")
    write(tmp_path / "a.parquet", TREE, ["positive"], [1], [1])
    for more in (
        ["a.parquet", "--merge"],
        ["a.parquet", "b.jsonl"],
        ["b.jsonl", "--keep-going"],
        ["b.jsonl", "--recompute"],
        ["a.parquet", "--engine", "other"],
        ["a.parquet", "--engine", "duckdb", "--master", "local"],
    ):
        assert run(["tally", "study.json", *more, "--out", "t.json"]) == 2
    assert run(["tally", "other.json", "a.parquet", "--out", "t.json"]) == 2
    assert "1 of another study" in capsys.readouterr().err
    assert run(["simulate", "study.json", "a.parquet", "--reports", "r", "--runs", "2"]) == 2
    assert run(["simulate", "study.json", "a.parquet", "--cells"]) == 2


def test_duckdb_keeps_to_its_memory_and_to_its_own_folder():
    """Without these settings it would take most of the memory there is, and write where it was started."""
    asked = "SELECT current_setting('memory_limit'), current_setting('temp_directory')"
    with connected() as connection:
        memory, folder = connection.execute(asked).fetchone()
        assert memory == "667.5 MiB"  # the 700 MB of MEMORY
        assert Path(folder).is_dir()
        assert Path(folder).parent == Path(tempfile.gettempdir())
    assert not Path(folder).exists()
