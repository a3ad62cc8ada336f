"""A user's script as type checkers see it: every keyword is known, and every mistake is found."""

from __future__ import annotations

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dpairs
from dpairs.planning.one_call import Choices
from dpairs.protocols import PROTOCOLS
from dpairs.statistics import STATISTICS

ROOT = Path(__file__).parents[1]
SCRIPTS = Path(__file__).parent / "typing"
GOOD, WRONG = SCRIPTS / "user_script.py", SCRIPTS / "wrong_script.py"
CACHE = ROOT / ".mypy_cache" / "user_script"
"""mypy's, kept from run to run: most of its time goes to the types of numpy and of ours."""
PYRIGHT = ROOT / "js/node_modules/.bin/pyright"
ONE_CALL = {
    "auc": {"positive", "labels", "ties"},
    "mann_whitney": {"alternative", "labels"},
    "kendall_tau": {"variant"},
    "gini": set(),
    "gini_mean_difference": set(),
    "variance": set(),
    "collision_entropy": set(),
}

Errors = set[tuple[str, int, str]]


def expected(checker: str) -> Errors:
    """What the wrong script says about itself, line by line."""
    told = [re.search(rf"# .*{checker}: ([\w-]+)", line) for line in WRONG.read_text().splitlines()]
    return {(WRONG.name, number, found[1]) for number, found in enumerate(told, 1) if found}


def by_mypy(_: Path) -> Errors:
    folder = CACHE / "scripts"  # always the same: mypy knows again what it has checked
    folder.mkdir(parents=True, exist_ok=True)
    for script in (GOOD, WRONG):
        shutil.copy2(script, folder)
    said = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", "", "--cache-dir", str(CACHE)]
        + [str(folder / each.name) for each in (GOOD, WRONG)],
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert not said.stderr, said.stderr
    lines = re.findall(r"^(.*):(\d+): error: .*\[([\w-]+)\]$", said.stdout, re.MULTILINE)
    return {(Path(path).name, int(line), code) for path, line, code in lines}


def by_pyright(folder: Path) -> Errors:
    for script in (GOOD, WRONG):
        shutil.copy(script, folder)
    (folder / "pyrightconfig.json").write_text(
        json.dumps(
            {
                "include": [GOOD.name, WRONG.name],
                "extraPaths": [str(ROOT / "src")],
                "typeCheckingMode": "strict",
            }
        )
    )
    said = subprocess.run(
        [str(PYRIGHT), "--project", str(folder), "--pythonpath", sys.executable, "--outputjson"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    return {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1, each["rule"])
        for each in json.loads(said.stdout)["generalDiagnostics"]
        # What follows from a mistake within its line, and that a lone attribute does nothing.
        if not each["rule"].startswith("reportUnknown") and each["rule"] != "reportUnusedExpression"
    }


@pytest.mark.parametrize("checker", ["mypy", "pyright"])
def test_strict_checkers_take_the_script_and_find_every_mistake(checker, tmp_path):
    if checker == "mypy":
        pytest.importorskip("mypy")
    elif not PYRIGHT.exists() or shutil.which("node") is None:
        pytest.skip("pyright is not installed (npm ci in js/, which make test does where npm is installed)")
    assert len(expected(checker)) >= 35
    found = (by_mypy if checker == "mypy" else by_pyright)(tmp_path)
    assert sorted({each[:2] for each in found}) == sorted(each[:2] for each in expected(checker))
    assert expected(checker) <= found


def calls(name: str) -> list[tuple[set[str], str | None]]:
    """Of each call of that function in the script: its keywords, and the protocol that it names."""
    made = []
    for node in ast.walk(ast.parse(GOOD.read_text())):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name:
            given = {word.arg: word.value for word in node.keywords if word.arg is not None}
            protocol = given.get("protocol")
            made.append((set(given), str(protocol.value) if isinstance(protocol, ast.Constant) else None))
    return made


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_script_has_every_keyword_of(protocol):
    used = set().union(*(words for words, named in calls("create") if named == protocol))
    assert set(PROTOCOLS[protocol].options) <= used


def test_the_script_has_every_option_of_statistics():
    used = set().union(*(words for words, _ in calls("create")))
    assert {name for each in STATISTICS.values() for name in each.option_names()} <= used


@pytest.mark.parametrize("function", ONE_CALL)
def test_the_script_has_every_keyword_of_one_call(function):
    used = set().union(*(words for words, _ in calls(function)))
    assert {*Choices.__annotations__, "epsilon", *ONE_CALL[function]} <= used
    assert function in dpairs.__all__


@pytest.mark.usefixtures("few_bins", "few_runs")
def test_the_script_runs():
    runpy.run_path(str(GOOD), run_name="__main__")
