"""The examples of federated tools, from their README alone: each in an environment and versions of its own.

They install packages, so they are marked `examples` and run by `make examples`. The environments are kept in
`.cache/`, where another run finds them.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
SAID = re.compile(
    r"average of local AUCs +(?P<local>0\.\d+)\s+"
    r"private AUC over all sites +(?P<value>0\.\d+), from (?P<low>0\.\d+) to (?P<high>0\.\d+)\s+"
    r"the truth +(?P<truth>0\.\d+)"
)
TOOLS = ("flower-auc", "nvflare-auc")
MOST_LINES = 20


def commands(example):
    """The README's indented lines that are commands."""
    text = (EXAMPLES / example / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^    (python3 .+|\.venv/bin/.+)$", text, re.MULTILINE)


@pytest.mark.parametrize("example", TOOLS)
def test_a_readme_installs_and_runs(example):
    lines = commands(example)
    assert lines[0] == "python3 -m venv .venv"
    assert "-c constraints.txt" in lines[1]
    assert len(lines) >= 3
    for line in lines[2:]:
        assert (EXAMPLES / example / line.split()[1]).is_file()


def test_the_private_way_takes_few_lines():
    """Lines of the user's own that name dpairs, or belong to what it is given."""
    for example, files, marks in (
        (
            "flower-auc",
            ("flower_auc/client_app.py", "flower_auc/server_app.py"),
            ("def private", "dpairs.Study"),
        ),
        ("nvflare-auc", ("client.py", "controller.py"), ("if asks", "dpairs.Study")),
    ):
        count = 0
        for name, mark in zip(files, marks, strict=True):
            text = (EXAMPLES / example / name).read_text(encoding="utf-8").splitlines()
            start = next(place for place, line in enumerate(text) if mark in line)
            count += sum("dpairs" in line for line in text[:start])
            calls = [place for place, line in enumerate(text) if re.search(r"\b(ask|answer)\(", line)]
            count += min(place for place in calls if place > start) - start + 1
        assert count <= MOST_LINES


def test_both_examples_have_the_same_task():
    one, other = (EXAMPLES / name for name in ("flower-auc/flower_auc/task.py", "nvflare-auc/task.py"))
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.examples
@pytest.mark.parametrize("example", TOOLS)
def test_an_example_runs_from_its_readme(example):
    """Every command of the README in a copy of the folder; the environment is made once."""
    here = ROOT / ".cache" / "examples" / example
    here.mkdir(parents=True, exist_ok=True)
    for path in (EXAMPLES / example).iterdir():
        if path.name != ".venv":
            if path.is_dir():
                shutil.copytree(path, here / path.name, dirs_exist_ok=True)
            else:
                shutil.copy(path, here / path.name)
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "COV_", "PYTEST"))
    }
    install, *runs = [line.replace("../..", str(ROOT)) for line in commands(example)[1:]]
    if not (here / ".venv" / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", str(here / ".venv")], check=True, env=environment)
    subprocess.run(["bash", "-c", install], cwd=here, check=True, env=environment, timeout=900)
    for line in runs:
        done = subprocess.run(
            ["bash", "-c", line], cwd=here, env=environment, timeout=900, capture_output=True, text=True
        )
        found = SAID.search(done.stdout)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        assert found is not None, done.stdout[-2000:] + done.stderr[-2000:]
        said = {name: float(number) for name, number in found.groupdict().items()}
        assert said["low"] < said["value"] < said["high"]
        # The interval is of 95%; three times as wide it is missed with a chance of 4e-9.
        assert abs(said["value"] - said["truth"]) < 3 * (said["high"] - said["low"]) / 2 + 1e-3
        # The control: the average of local AUCs is another number.
        assert abs(said["local"] - said["truth"]) > 10 * (said["high"] - said["low"])
