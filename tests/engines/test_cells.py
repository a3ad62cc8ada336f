"""Files of cells: the same tally in every group, and files that say what the coins do not."""

import json
import threading
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

import dpairs
from dpairs.cli.app import run
from dpairs.engines import ReportWriter, open_files, simulate_reports, tally_with_duckdb
from dpairs.engines.deduplication import Deduplication, deduplication, wanted
from dpairs.engines.inspecting import SAMPLE, Inspected, Wanted, inspect
from dpairs.engines.meter import Meter, watched
from dpairs.errors import BadFile, BadParameter
from dpairs.protocols.sides import alone

from .reportfiles import (
    FEW,
    SMALL,
    TREE,
    WHOLE,
    Row,
    cells_of,
    in_plain_python,
    random_files,
    write,
    write_rows,
)

pytest.importorskip("duckdb", reason="DuckDB is not installed: the extra 'duckdb' has it.")
FORMS = {"symbols": (SMALL, False), "cells": (SMALL, True), "histogram": (FEW, False)}
SEEDS = range(20) if WHOLE else range(10, 16)
"""Of random files, which take every lane: a test below says so."""


def lanes_of(study: dpairs.Study, folder: Path) -> Deduplication:
    opened = open_files([f"{folder}/*.parquet"], study)
    return deduplication(study, opened, [inspect(study, each) for each in wanted(study, opened, False)])


# ---------------------------------------------------------------- every group


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("bad", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_random_files_are_counted_as_one_would_by_hand(tmp_path, form, bad, seed):
    study, cells = FORMS[form]
    rng = np.random.default_rng(seed)
    files = random_files(rng, study, bad)
    for number, rows in enumerate(files):
        write_rows(tmp_path / f"{number}.parquet", study, rows, cells, rng)
    tally, reasons = in_plain_python(study, [row for rows in files for row in rows])
    found = tally_with_duckdb(study, [f"{tmp_path}/*.parquet"])
    assert found.reasons == reasons
    assert found.tally == tally
    if not bad and form != "symbols":
        assert len(lanes_of(study, tmp_path).straight) == len(files)


def test_a_stratum_is_told_apart_only_where_a_file_has_several(tmp_path):
    rng = np.random.default_rng(1)
    one, two = SMALL.strata
    rows: dict[str, list[Row]] = {
        "alone": [(one, index, 0) for index in range(5)],
        "both": [(one, 10, 0), (two, 10, 1)],
        "unknown": [(two, 20, 0), ("neither", 21, 0)],
    }
    for name, each in rows.items():
        write_rows(tmp_path / f"{name}.parquet", SMALL, each, True, rng)
    found = lanes_of(SMALL, tmp_path)
    assert len(found.straight) == 3
    assert {Path(path).stem: stratum for path, stratum in found.only.items()} == {"alone": one}
    assert tally_with_duckdb(SMALL, [f"{tmp_path}/*.parquet"]).reasons == {
        "counted": 8,
        "of an unknown stratum": 1,
    }


def test_the_random_files_take_every_lane(tmp_path):
    seen = set()
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        folder = tmp_path / str(seed)
        for number, rows in enumerate(random_files(rng, SMALL, True)):
            write_rows(folder / f"{number}.parquet", SMALL, rows, True, rng)
        asked = lanes_of(SMALL, folder)
        seen |= {(bool(asked.straight), bool(asked.tangled))}
    assert seen == {(True, False), (False, True), (True, True)}


@pytest.mark.parametrize(
    ("files", "straight"),
    [
        ({"a": [("positive", 1), ("positive", 2)], "b": [("positive", 3)]}, "ab"),
        ({"a": [("positive", 1), ("positive", 2)], "b": [("negative", 1)]}, "ab"),
        # Both strata in one file, one after the other, or in turn.
        ({"a": [("positive", 5), ("negative", 1), ("negative", 2), ("positive", 6)]}, "a"),
        ({"a": [("positive", 1), ("positive", 1)], "b": [("positive", 3)]}, "b"),
        ({"a": [("positive", 2), ("positive", 1)], "b": [("positive", 3)]}, "b"),
        ({"a": [("positive", 1), ("positive", 9)], "b": [("positive", 9)], "c": [("positive", 10)]}, "c"),
        # A file within the reach of another, which reaches into a third.
        ({"a": [("positive", 1), ("positive", 9)], "b": [("positive", 3)], "c": [("positive", 8)]}, ""),
        # Rows that do not count do not disturb, unless their index cannot be told from others.
        ({"a": [("positive", 1), ("other", 1)], "b": [("other", 1), (None, 1), ("positive", 2)]}, "ab"),
        ({"a": [("positive", -1), ("positive", 1)], "b": [("positive", None)], "c": [("positive", 2)]}, "c"),
        ({"a": [("positive", 1), ("positive", 2**53)], "b": [("positive", 2)]}, "b"),
    ],
)
def test_only_people_who_cannot_be_twice_go_straight(tmp_path, files, straight):
    for name, rows in files.items():
        strata, indices = zip(*rows, strict=True)
        write(tmp_path / f"{name}.parquet", FEW, strata, indices, [0] * len(rows))
    asked = lanes_of(FEW, tmp_path)
    assert [Path(path).stem for path in asked.straight] == list(straight)
    assert len(asked.paths) == len(files)


def test_what_is_known_of_a_file_travels_as_text(tmp_path):
    write(tmp_path / "a.parquet", SMALL, ["positive", "negative", "positive"], [3, 4, 9], [0, 0, 1])
    found = inspect(SMALL, Wanted(f"{tmp_path}/a.parquet", cells=False))
    assert (found.rows, found.reach, found.wrong) == (3, {"positive": (3, 9), "negative": (4, 4)}, None)
    assert Inspected.from_json(found.to_json()) == found


def test_both_forms_in_one_run(tmp_path):
    index, symbol = np.arange(50), np.arange(50) % 2
    cells = cells_of(SMALL, np.zeros(50), index, symbol)
    name = SMALL.strata[0]
    write(tmp_path / "a.parquet", SMALL, [name] * 20, index[:20], cells[:20], cells=True)
    write(tmp_path / "b.parquet", SMALL, [name] * 30, index[20:], symbol[20:])
    tally = dpairs.Tally(SMALL)
    tally.add_reports(name, index, symbol)
    found = tally_with_duckdb(SMALL, [f"{tmp_path}/*.parquet"])
    assert found.tally == tally
    # A person who may be in both cannot be looked for.
    write(tmp_path / "c.parquet", SMALL, [name] * 2, [5, 60], symbol[:2])
    with pytest.raises(BadFile, match="share indices") as refused:
        tally_with_duckdb(SMALL, [f"{tmp_path}/*.parquet"], keep_going=True)
    assert "a.parquet" in str(refused.value)
    assert "c.parquet" in str(refused.value)


def test_progress_adds_up_in_every_lane(tmp_path):
    rng = np.random.default_rng(3)
    files = random_files(rng, SMALL, True)
    for form in FORMS:
        study, cells = FORMS[form]
        for number, rows in enumerate(files):
            write_rows(tmp_path / form / f"{number}.parquet", study, rows, cells, rng)
        steps: list[int] = []
        tally_with_duckdb(study, [f"{tmp_path}/{form}/*.parquet"], progress=steps.append)
        assert sum(steps) == sum(map(len, files))
        assert min(steps) > 0


def test_a_query_s_progress_is_told_while_it_runs():
    class Query:
        def query_progress(self) -> float:
            return 40.0

    steps: list[int] = []
    meter, looked = Meter(steps.append, 1000), threading.Event()
    stage = meter.stage(0.5, 1.0)

    def tell(part: float) -> None:
        stage(part)
        looked.set()

    with watched(Query(), tell):
        assert looked.wait(60)
        assert steps == [700]
    assert steps == [700, 300]
    # A second run over fewer files tells nothing twice.
    meter.stage(0.0, 1.0)(0.3)
    assert steps == [700, 300]


# ---------------------------------------------------------------- trust


def wrong_file(path: Path, rows: int, wrong: int) -> None:
    """Cells of which some say another row than the coins do."""
    index, symbol = np.arange(rows), np.zeros(rows, dtype=np.int64)
    cells = cells_of(TREE, np.zeros(rows), index, symbol)
    some = np.random.default_rng(1).choice(np.flatnonzero(cells >= 64), wrong, replace=False)
    cells[some] ^= 4
    write(path, TREE, [TREE.strata[0]] * rows, index, cells, cells=True)


def test_a_file_of_wrong_cells_is_named_and_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    # One in ten is wrong: that a sample shows none has a chance of 0.9^1024, below 10^-46.
    wrong_file(tmp_path / "r/bad.parquet", 20 * SAMPLE, 2 * SAMPLE)
    said = cells_of(TREE, [1] * 3, range(3), [0, 1, 1])
    write(tmp_path / "r/good.parquet", TREE, [TREE.strata[1]] * 3, range(3), said, cells=True)
    asked = ["tally", "study.json", "r/*.parquet", "--out", "t.tally"]
    assert run(asked) == 2
    err = capsys.readouterr().err
    assert "bad.parquet hold cells that are not those of the study's coins" in err
    assert err.strip().count("\n") == 0
    assert run([*asked, "--keep-going", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["reports"] == {"counted": 3}


def test_one_wrong_cell_is_found_when_all_are_looked_at(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    wrong_file(tmp_path / "few.parquet", SAMPLE, 1)
    with pytest.raises(BadFile, match=r"few\.parquet hold cells .* 1 of 1,024"):
        tally_with_duckdb(TREE, [f"{tmp_path}/few.parquet"])
    wrong_file(tmp_path / "many.parquet", 50 * SAMPLE, 1)
    assert run(["tally", "study.json", "many.parquet", "--recompute", "--out", "t.tally"]) == 2
    assert "1 of 51,200 that were compared" in capsys.readouterr().err
    wrong_file(tmp_path / "none.parquet", 50 * SAMPLE, 0)
    assert run(["tally", "study.json", "none.parquet", "--recompute", "--out", "t.tally"]) == 0


def test_a_changed_byte_that_still_decodes_is_noticed(tmp_path):
    path = tmp_path / "a.parquet"
    index = np.arange(5000)
    with ReportWriter(path, TREE, cells=True) as writer:
        writer.write(TREE.strata[0], index, index % 2)
    raw = bytearray(path.read_bytes())
    for column in range(3):
        with pq.ParquetFile(path) as parquet:
            chunk = parquet.metadata.row_group(0).column(column)
        changed = raw.copy()
        # The last byte of the column's last page.
        changed[chunk.data_page_offset + chunk.total_compressed_size - 1 - _before(chunk)] ^= 1
        (tmp_path / "b.parquet").write_bytes(changed)
        with pytest.raises(BadFile, match=r"b\.parquet are damaged"):
            tally_with_duckdb(TREE, [f"{tmp_path}/b.parquet"])


def _before(chunk) -> int:
    """Bytes of the dictionary's page, which comes first."""
    return chunk.data_page_offset - chunk.dictionary_page_offset if chunk.has_dictionary_page else 0


# ---------------------------------------------------------------- writers


@pytest.mark.parametrize("study", [SMALL, FEW], ids=["tree", "histogram"])
def test_simulated_cells_are_those_of_the_simulated_reports(tmp_path, study):
    rng = np.random.default_rng(4)
    data = {"score": rng.random(3000), "label": rng.integers(0, 2, 3000)}
    for cells in (False, True):
        simulate_reports(study, data, tmp_path / str(cells), seed=5, cells=cells)
    tables = {
        cells: [pq.read_table(path) for path in sorted((tmp_path / str(cells)).rglob("*.parquet"))]
        for cells in (False, True)
    }
    for number, (reports, coded) in enumerate(zip(tables[False], tables[True], strict=True)):
        assert reports["index"] == coded["index"]
        said = alone(study).cells_of(
            study.coins, number, reports["index"].to_numpy(), reports["symbol"].to_numpy()
        )
        assert coded["symbol"].to_numpy().tolist() == said.tolist()
    found = [tally_with_duckdb(study, [f"{tmp_path}/{cells}/**/*.parquet"]) for cells in (False, True)]
    assert found[0].tally == found[1].tally
    assert found[0].reasons == found[1].reasons == {"counted": 3000}


def test_a_study_without_cells_says_so(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    study = dpairs.Study.create(
        "auc", protocol="tree", epsilon=1.0, domain=dpairs.Interval(0, 1), bins=8, splitting="budget", seed=1
    )
    study.save("study.json")
    with pytest.raises(BadParameter, match="cannot be told by one cell"):
        ReportWriter(tmp_path / "a.parquet", study, cells=True)
    Path("people.csv").write_text("score,label\n0.5,1\n0.25,0\n")
    assert run(["simulate", "study.json", "people.csv", "--reports", "r", "--cells"]) == 2
    assert "cannot be told by one cell" in capsys.readouterr().err
    assert not Path("r").exists()
    write(tmp_path / "b.parquet", study, ["positive"], [1], [6], cells=True)
    assert run(["tally", "study.json", "b.parquet", "--out", "t.json"]) == 2
    assert "b.parquet hold cells, but" in capsys.readouterr().err


def test_from_data_to_an_estimate_by_cells_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    TREE.save("study.json")
    rng = np.random.default_rng(4)
    rows = "\n".join(
        f"{score:.6f},{label}" for score, label in zip(rng.random(500), [0, 1] * 250, strict=True)
    )
    Path("people.csv").write_text(f"score,label\n{rows}\n")
    for more in (["--symbols"], []):
        folder = f"r{len(more)}"
        assert run(["simulate", "study.json", "people.csv", "--reports", folder, "--seed", "1", *more]) == 0
        assert run(["tally", "study.json", f"{folder}/**/*.parquet", "--out", f"{folder}.tally"]) == 0
    assert dpairs.Tally.load("r0.tally", TREE) == dpairs.Tally.load("r1.tally", TREE)
    assert dpairs.Tally.load("r1.tally", TREE).n == 500
