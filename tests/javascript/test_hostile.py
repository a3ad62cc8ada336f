"""The hostile collector's sessions, played by the JavaScript package, and judged by the same exact losses."""

from __future__ import annotations

import json
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from dpairs import Ledger

from ..client.hostility import Served, Table, session, within
from ..client.test_hostile_collector import SECRET, SERVED, table_of

NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="Node is not installed.")
def test_no_session_reveals_more_than_the_person_s_limit(tmp_path):
    rng = random.Random(22)
    sessions: list[tuple[float, float, list[Served]]] = []
    while sum(len(served) for _, _, served in sessions) < SERVED:
        sessions.append(session(rng))
    told = [
        {
            "limit": limit,
            "delta": delta,
            "served": [
                {
                    "link": each.link,
                    "now": each.now.hex(),
                    "first": each.first.hex(),
                    "index": each.index,
                    "stratum": each.stratum,
                    "values": {each.column: SECRET},
                }
                for each in served
            ],
        }
        for limit, delta, served in sessions
    ]
    path = tmp_path / "sessions.json"
    path.write_text(json.dumps(told))
    script = Path(__file__).parent / "hostile.mjs"
    done = subprocess.run(
        [str(NODE), str(script), str(path)], capture_output=True, text=True, check=False, timeout=900
    )
    assert done.returncode == 0, done.stderr[-2000:]
    several = beyond = 0
    for (limit, delta, served), found in zip(sessions, json.loads(done.stdout), strict=True):
        tables: dict[str, Table] = {}
        for each, wire in zip(served, found["sent"], strict=True):
            if wire is not None and wire not in tables:
                tables[wire] = table_of(bytes.fromhex(wire), each)
        assert within(list(tables.values()), limit, delta), (limit, delta)
        assert found["size"] == len(tables)
        assert found["total"] <= limit
        several += len(tables) > 1
        beyond += not within(list(tables.values()), limit / 5, 0.0)
    assert several > len(sessions) / 20
    assert beyond > len(sessions) / 20


@pytest.mark.skipif(NODE is None, reason="Node is not installed.")
def test_both_languages_read_one_ledger(tmp_path):
    book = Ledger(limit=3.5, delta=1e-6)
    script = """
    import { Ledger } from "./js/src/index.js";
    process.stdout.write(Ledger.fromJson(process.argv[1]).toJson());
    """
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [str(NODE), "--input-type=module", "-e", script, book.to_json()],
        capture_output=True,
        text=True,
        check=True,
        cwd=root,
    )
    assert Ledger.from_json(done.stdout) == book
    assert done.stdout == book.to_json()
