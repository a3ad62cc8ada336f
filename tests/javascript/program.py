"""The node that runs the JavaScript side."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
OLDEST = 20


def node() -> str:
    """The program, or a reason to skip."""
    found = shutil.which("node")
    if found is None:
        pytest.skip("node is not installed, so the JavaScript side is not checked")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    number = re.match(r"v(\d+)", version)
    if number is None or int(number[1]) < OLDEST:
        pytest.skip(f"node {version.strip()} is older than {OLDEST}, so the JavaScript side is not checked")
    return found
