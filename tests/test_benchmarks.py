"""What a run of the benchmarks keeps."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
MEASURED = '''"""Made up."""

from measure import Row


def run(quick):
    return [Row("a thing", "another", 1.0, 2.0, "s", 1.0)]
'''


@pytest.mark.parametrize("flags", [["--quick"], []])
def test_only_a_full_run_replaces_what_was_kept(tmp_path, flags):
    folder = tmp_path / "benchmarks"
    shutil.copytree(BENCHMARKS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "exact.py").write_text(MEASURED)
    results = folder / "results.json"
    before = {"exact": {"title": "as kept"}, "old": {"title": "not run again"}}
    results.write_text(json.dumps(before))
    command = [sys.executable, str(folder / "run.py"), "exact", *flags]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "a thing" in done.stdout, done.stderr
    after = json.loads(results.read_text())
    assert set(after) == set(before)
    assert after["old"] == before["old"]
    assert after["exact"]["title"] == ("as kept" if flags else "Made up.")
