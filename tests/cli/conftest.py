"""An empty folder to type commands in, and a study in it."""

from pathlib import Path

import pytest

from dpairs.cli.app import run

from .typed import AUC


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def study(folder) -> Path:
    assert run([*AUC, "-o", "study.json"]) == 0
    return folder / "study.json"
