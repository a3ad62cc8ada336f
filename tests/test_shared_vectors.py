"""The vectors of two servers: this program gives the bytes and numbers written down, and refuses the rest."""

import json
from pathlib import Path
from typing import Any

import pytest

from dpairs import DpairsError, Study

pytest.importorskip("numba")
from dpairs.shares import Share
from vectors.make_shared_vectors import Run, vectors

ROOT = Path(__file__).parent.parent
FILES = sorted((ROOT / "vectors").glob("two_servers_*.json"))
NUMBERS = ("value", "standard_error", "sample_standard_error")
FEWEST = 5
"""How many files there are at least: an empty folder must not pass."""


def load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", [each for each in FILES if "_bad_" not in each.stem], ids=lambda p: p.stem)
def test_a_study_gives_what_is_written(path):
    vector = load(path)
    run = Run(Study.from_json(vector["study"]))
    assert run.study.id == vector["study_id"]
    done = []
    for step in vector["operations"]:
        for name, value in getattr(run, step["operation"])(step).items():
            if name in NUMBERS:
                assert value == pytest.approx(step[name], rel=1e-9)
            else:
                assert value == step[name], (step["operation"], name)
        done.append(step["operation"])
    assert {"report", "verify", "release", "estimate"} <= set(done)


def test_bad_shares_are_refused_as_written():
    vector = load(ROOT / "vectors" / "two_servers_bad_share.json")
    study = Study.from_json(vector["study"])
    refused = 0
    for step in vector["operations"]:
        if step["success"]:
            assert bytes(Share.from_bytes(bytes.fromhex(step["wire"]), study)).hex() == step["wire"]
            continue
        with pytest.raises(DpairsError) as caught:
            Share.from_bytes(bytes.fromhex(step["wire"]), study)
        assert type(caught.value).__name__ == step["error"]
        refused += 1
    assert refused >= FEWEST


def test_the_command_writes_these_files():
    assert {path.stem for path in FILES} == set(vectors())
    assert len(FILES) >= FEWEST
