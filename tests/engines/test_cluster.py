"""A cluster of several processes: executors without dpairs, one that sees less, one that dies."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from .reportfiles import PEOPLE, TREE, messy
from .spark_cluster import Cluster, hiding, python_without_dpairs

pytest.importorskip("pyspark", reason="Spark is not installed: the extra 'spark' has it.")
if shutil.which("java") is None:
    pytest.skip("Spark needs Java, which is not installed.", allow_module_level=True)

HERE = os.path.dirname(__file__)


def test_two_workers_without_dpairs_of_which_one_sees_less_and_dies(tmp_path):
    TREE.save(tmp_path / "study.json")
    tally, reasons = messy(tmp_path / "seen", PEOPLE // 10)
    shutil.copytree(tmp_path / "seen", tmp_path / "unseen")
    hidden = hiding(tmp_path / "unseen")
    with Cluster(tmp_path) as cluster:
        cluster.worker("whole")
        blind = cluster.worker("blind", hidden or [])
        asked = {
            "study": str(tmp_path / "study.json"),
            "seen": str(tmp_path / "seen"),
            "unseen": str(tmp_path / "unseen") if hidden else None,
            "worker": blind,
            "marker": str(tmp_path / "killed"),
        }
        ran = subprocess.run(
            [sys.executable, os.path.join(HERE, "cluster_driver.py"), cluster.address, json.dumps(asked)],
            env=dict(os.environ) | {"PYSPARK_PYTHON": str(python_without_dpairs(tmp_path))},
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    assert ran.returncode == 0, ran.stderr
    said = json.loads(ran.stdout.splitlines()[-1])
    assert said["with dpairs"] == 0
    right = {"reasons": dict(reasons), "tally": tally.to_json()}
    assert said["files"] == right
    if hidden:
        for name in ("unseen", "unseen, going on"):
            assert "are not visible on worker" in said[name]
            assert "\n" not in said[name]
    assert (tmp_path / "killed").exists()
    assert said["killed"] == right
