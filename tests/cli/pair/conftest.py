"""A study of pairs in an empty folder."""

import pytest

import dpairs
from dpairs.cli.app import run

from .terminals import PAIRWISE, TAU


@pytest.fixture
def study(folder, capsys) -> dpairs.Study:
    assert run([*TAU, *PAIRWISE, "--pairs", "2", "-o", "study.json"]) == 0
    capsys.readouterr()
    return dpairs.Study.load(folder / "study.json")
