"""The JavaScript package: its own tests, and what is shipped."""

from __future__ import annotations

import json
import re
import subprocess

from .program import ROOT, node


def test_its_own_tests_pass():
    """In one process: `node --test` starts one for each file, which takes as long as the tests."""
    files = sorted((ROOT / "js" / "test").glob("*.test.js"))
    program = "".join(f"await import({json.dumps(path.as_uri())});" for path in files)
    command = [node(), "--input-type=module", "--eval", program]
    done = subprocess.run(command, cwd=ROOT / "js", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:]
    passed = re.search(r"^# pass (\d+)$", done.stdout, re.MULTILINE)
    assert passed is not None
    assert int(passed[1]) >= len(files) > 10


def test_version_and_licence_are_those_of_the_package():
    package = json.loads((ROOT / "js" / "package.json").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    version = re.search(r'^fallback-version = "(.*)"$', project, re.MULTILINE)
    licence = re.search(r'^license = "(.*)"$', project, re.MULTILINE)
    assert version is not None
    assert licence is not None
    assert package["version"] == version[1]
    assert f'VERSION = "{version[1]}"' in (ROOT / "js" / "src" / "index.js").read_text()
    assert package["license"] == licence[1]
    assert (ROOT / "js" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    # What a user installs is these files alone; linters and types are for working on them.
    assert {key for key in package if key.lower().endswith("dependencies")} <= {"devDependencies"}
