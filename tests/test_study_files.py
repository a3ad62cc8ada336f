"""A study's file: what reading refuses, and writing."""

import json
import os

import numpy as np
import pytest

from dpairs import BadFile, Categories, Participant, Study

from .studies import distance, forged, signed, small

# ---------------------------------------------------------------- what reading refuses


KERNEL_STUDY = Study.create(distance(), epsilon=1.0, bins=3, seed=1)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("statistic",), "auc"),
        (("statistic", "name"), ["auc"]),
        (("statistic", "which"), "auc"),
        (("statistic", "ties"), None),
        (("domain",), {}),
        (("domain",), []),
        (("domain", 0), None),
        (("domain", 0, "kind"), "circle"),
        (("domain", 0, "low"), "0"),
        (("domain", 0, "high"), 0),
        (("domain", 0, "high"), 10**400),
        (("domain", 0, "step"), 1),
        (("protocol",), []),
        (("protocol", "bins"), 4),
        (("protocol", "bins"), [4, 4]),
        (("protocol", "bins"), ["4"]),
        (("protocol", "bins"), [5]),
        (("protocol", "rounding"), None),
        (("protocol", "kernel"), "mean"),
        (("protocol", "mechanism"), None),
        (("protocol", "mechanism", "name"), "bit"),
        (("protocol", "mechanism", "floor"), "0"),
        (("protocol", "mechanism", "floor"), "-1"),
        (("protocol", "mechanism", "floor"), str(2**64)),
        (("protocol", "mechanism", "floor"), "１"),
        (("protocol", "mechanism", "inputs"), "4"),
        (("protocol", "mechanism", "boost"), "4"),
        (("epsilon",), 0),
        (("epsilon",), "1"),
        (("epsilon",), 0.5),
        (("delta",), 1e-9),
        (("delta",), None),
        (("seed",), 1),
        (("seed",), "1"),
        (("seed",), "g" * 32),
        (("seed",), "0x" + "0" * 30),
        (("version",), 2),
        (("version",), True),
        (("format",), "dpairs"),
        (("more",), 1),
    ],
    ids=lambda item: str(item)[:40],
)
def test_contents_that_cannot_be_are_refused_though_the_id_fits(path, value):
    with pytest.raises(BadFile):
        Study.from_json(forged(small(), *path, value=value))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("columns", 1),
        ("columns", "value"),
        ("columns", [["value"]]),
        ("columns", ["x", "y"]),
        ("columns", None),
        ("range", [1, 0]),
        ("range", "01"),
        ("range", None),
        ("kernel", "mean"),
        ("lipschitz", "1"),
        ("matrix", None),
        ("matrix", [0.0, "a", 0, 0, 0, 0]),
        ("matrix", [0.0] * 5),
        ("matrix", [10**400] * 6),
        ("matrix", []),
        ("matrix", [[0.0] * 6]),
        ("spread", [0.0]),
        ("label", 3),
    ],
    ids=lambda item: str(item)[:40],
)
def test_a_kernels_table_that_cannot_be_is_refused(field, value):
    with pytest.raises(BadFile):
        Study.from_json(forged(KERNEL_STUDY, "statistic", field, value=value))


def test_a_kernels_table_must_have_the_studys_cells():
    content = json.loads(KERNEL_STUDY.to_json())
    content["statistic"] |= {"matrix": [1.0], "spread": [0.0]}
    with pytest.raises(BadFile):
        Study.from_json(signed(content))


def test_the_study_promises_at_least_what_its_mechanism_loses():
    study = small()
    least = study.privacy.epsilon
    assert Study.from_json(forged(study, "epsilon", value=least)).epsilon == least
    with pytest.raises(BadFile, match="loses"):
        Study.from_json(forged(study, "epsilon", value=np.nextafter(least, 0).item()))


@pytest.mark.parametrize(
    "text", ["", " ", "null", "3", '"x"', "[]", "{}", "{", "NaN", b"\xff\xfe", b"\0", "\ufeff{}"]
)
def test_what_is_no_study_is_refused(text):
    with pytest.raises(BadFile):
        Study.from_json(text)


def test_half_a_character_in_a_file_is_refused():
    study = Study.create("collision_entropy", epsilon=1.0, domain=Categories(["a", "b"]), seed=1)
    with pytest.raises(BadFile):
        Study.from_json(study.to_json().replace('"a"', '"\\ud800"'))


def test_deep_nesting_is_refused():
    with pytest.raises(BadFile):
        Study.from_json("[" * 100_000)
    nested = "[" * 700 + "]" * 700
    content = json.loads(KERNEL_STUDY.to_json())
    content["statistic"]["label"] = nested
    text = signed(content).replace(f'"{nested}"', nested)
    with pytest.raises(BadFile):
        Study.from_json(text)


def test_a_text_too_long_is_not_parsed():
    with pytest.raises(BadFile, match="bytes long"):
        Study.from_json(" " * (16 * 2**20 + 1))


# ---------------------------------------------------------------- files


def test_save_and_load(tmp_path):
    path = tmp_path / "study.json"
    small().save(path)
    assert Study.load(path) == small()
    assert Study.load(str(path)) == small()
    assert path.read_text().endswith("}\n")
    assert os.listdir(tmp_path) == ["study.json"]


def test_saving_replaces_the_old_file(tmp_path):
    path = tmp_path / "study.json"
    path.write_text("something old and longer than any study" * 100)
    small().save(path)
    assert Study.load(path) == small()


@pytest.mark.parametrize("broken", ["os.fsync", "Path.replace"])
def test_a_failing_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch, broken):
    path = tmp_path / "study.json"
    small().save(path)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(f"dpairs.formats.files.{broken}", fail)
    with pytest.raises(BadFile, match="No space left"):
        small(seed=2).save(path)
    assert Study.load(path) == small()
    assert os.listdir(tmp_path) == ["study.json"]


@pytest.mark.parametrize("place", ["missing/study.json", "file/study.json", "folder", "a" * 300, "nul\0"])
def test_a_place_that_cannot_be_written_is_one_error(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadFile, match="cannot be written"):
        small().save(tmp_path / place)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]


def test_a_name_as_long_as_the_file_system_takes_can_be_written(tmp_path):
    path = tmp_path / ("a" * 250)
    small().save(path)
    assert Study.load(path) == small()


@pytest.mark.parametrize("place", ["", ".", "/"])
def test_a_place_without_a_name_cannot_be_written(place):
    with pytest.raises(BadFile, match="cannot be written"):
        small().save(place)


@pytest.mark.parametrize("place", ["missing", "folder", "file/x", "nul\0"])
def test_a_place_that_cannot_be_read_is_one_error(tmp_path, place):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    with pytest.raises(BadFile, match="cannot be read"):
        Study.load(tmp_path / place)


def test_a_file_too_long_is_not_read(tmp_path):
    path = tmp_path / "study.json"
    with path.open("wb") as file:
        file.truncate(64 * 2**20 + 1)
    with pytest.raises(BadFile, match="at most"):
        Study.load(path)


def test_a_study_from_a_file_can_be_answered(tmp_path):
    KERNEL_STUDY.save(tmp_path / "study.json")
    study = Study.load(tmp_path / "study.json")
    assert Participant(study, 0).report(value=0.5).study == KERNEL_STUDY
